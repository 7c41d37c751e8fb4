"""High-precision quadrature."""

from __future__ import annotations

import time

import mpmath
import pytest
from sympy import S

from service.integration.quadrature import oscillating_tail, quadrature
from service.verification.convert import to_sympy
from tokenizer.parse import parse


@pytest.mark.parametrize(
    ("integrand", "lower", "upper", "value"),
    [
        ("x**(-3/4)*(1 - x)**(-1/2)", "0", "1", "beta(1/4, 1/2)"),
        ("log(x)", "0", "1", "-1"),
        ("exp(-x)*sin(10*x)", "0", "oo", "10/101"),
        ("1/(1 + x**2)", "-oo", "oo", "pi"),
        ("exp(x)", "-oo", "1", "exp(1)"),
    ],
)
def test_thirty_digits_with_singular_and_infinite_ends(
    integrand: str, lower: str, upper: str, value: str
) -> None:
    """Singular ends cost no digits, and the error estimate is honest."""
    ends = [to_sympy(parse(e)) for e in (lower, upper)]
    found = quadrature(parse(integrand), "x", ends[0], ends[1], [], time.monotonic() + 120)
    assert found is not None
    with mpmath.workdps(45):
        exact = mpmath.mpf(str(to_sympy(parse(value)).evalf(42)))
        assert abs(found.value - exact) < mpmath.mpf(10) ** -30
    assert found.digits >= 30


def test_what_does_not_settle_says_so() -> None:
    """A slowly convergent integral has few digits, and a matching estimate."""
    found = quadrature(parse("1/(x*log(x)**2)"), "x", S(2), S.Infinity, [], time.monotonic() + 120)
    assert found is not None
    with mpmath.workdps(30):
        assert found.digits < 15
        assert abs(found.value - 1 / mpmath.log(2)) < 1000 * found.error


def test_an_oscillating_tail_is_summed() -> None:
    """sin(x)/x decays too slowly for quadrature, but its periods make a smooth series."""
    found = oscillating_tail(parse("sin(x)/x"), "x", S.One, 1.0, time.monotonic() + 120)
    assert found is not None
    with mpmath.workdps(40):
        assert abs(found.value - (mpmath.pi / 2 - mpmath.si(1))) < mpmath.mpf(10) ** -28
