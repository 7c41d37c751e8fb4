"""Imported once by the fork server, so that every worker is born able to solve and draw.

A first request would otherwise pay for importing SciPy and Matplotlib.
"""

from __future__ import annotations

import numpy as np

from service.heat.closed_form import closed_form
from service.heat.question import understand
from service.heat.reference import analyse
from service.heat.render import picture
from service.heat.schema import HeatRequest


def warm_up() -> None:
    """Solve and draw one small problem."""
    question = understand(HeatRequest(initial_condition="sin(pi*x) + x", times=0.1, points=5))
    analyse(question, 1e-4, True)
    closed_form(question)
    picture(question.x, question.times, np.zeros((1, 5)), "", "png")


warm_up()
