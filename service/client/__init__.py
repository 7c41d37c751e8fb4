"""A client for Python programs and notebooks.

>>> from service.client import Calcert
>>> with Calcert("http://127.0.0.1:8000") as calcert:  # doctest: +SKIP
...     calcert.differentiate("sin(x^2)").sympy()
2*x*cos(x**2)
"""

from service.client.answers import (
    CalcertError,
    Derivative,
    HeatSolution,
    Integral,
    NotSolved,
    Refused,
    Unreachable,
)
from service.client.connection import AsyncCalcert, Calcert

__all__ = [
    "AsyncCalcert",
    "Calcert",
    "CalcertError",
    "Derivative",
    "HeatSolution",
    "Integral",
    "NotSolved",
    "Refused",
    "Unreachable",
]
