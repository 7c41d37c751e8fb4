"""The judge that every verified answer of an evaluation has to pass."""

from __future__ import annotations

import pytest

from service.evaluation.independent import check_antiderivative, check_definite

#: Their values have more digits than a computer could hold at most points.
TOWERS = [
    (
        "(1 + cosh(x + sqrt(x))*(1 + 1/(2*sqrt(x)))*cosh(sinh(x + sqrt(x))))"
        "*cos(x + sinh(sinh(x + sqrt(x))))",
        "sin(x + sinh(sinh(x + sqrt(x))))",
    ),
    ("exp(x + exp(x) + exp(exp(x)))/(1 + exp(2*exp(exp(x))))", "atan(exp(exp(exp(x))))"),
    (
        "sinh(2*x + cosh(x + tan(acosh(x))))"
        "*(2 + sinh(x + tan(acosh(x)))*(1 + (1 + tan(acosh(x))**2)/sqrt(-1 + x**2)))",
        "cosh(2*x + cosh(x + tan(acosh(x))))",
    ),
]


@pytest.mark.parametrize(
    ("integrand", "answer"),
    [
        ("1/x", "log(Abs(x))"),
        ("exp(-x**2)", "sqrt(pi)*erf(x)/2"),
        ("x**n", "x**(n + 1)/(n + 1)"),
        ("sqrt(1 - x**2)", "x*sqrt(1 - x**2)/2 + asin(x)/2"),
        ("sqrt(x**2 - 10**8)/x", "sqrt(x**2 - 10**8) - 10**4*acos(10**4/abs(x))"),
        ("sqrt(1/100000 - (x - 3)**2)*(x - 3)", "-(1/100000 - (x - 3)**2)**(3/2)/3"),
        ("log(-log(x))/x", "log(x)*log(-log(x)) - log(x)"),
        ("exp(I*x)", "-I*exp(I*x)"),
        ("acos(-4 - x/16)", "16*sqrt(1 - (-x/16 - 4)**2) + (x + 64)*acos(-x/16 - 4)"),
        # far out it turns faster than any step can follow
        ("x - cosh(x)*cos(sinh(x))", "x**2/2 - sin(sinh(x))"),
        # real on (3, 5) only
        (
            "cos((5 - cosh(x))*atanh(4 - x)/x)*(-sinh(x)*atanh(4 - x)/x"
            " - (5 - cosh(x))*(1/(x*(1 - (4 - x)**2)) + atanh(4 - x)/x**2))",
            "sin((5 - cosh(x))*atanh(4 - x)/x)",
        ),
        *TOWERS,
    ],
)
def test_right_answers_are_right(integrand: str, answer: str) -> None:
    """Real stretches only, parameters included."""
    assert check_antiderivative(integrand, answer, "x") == "right"


@pytest.mark.parametrize(
    ("integrand", "answer"),
    [
        ("1/x", "log(2*x)/2"),
        ("cos(x)", "sin(x) + x/10**15"),
        ("sqrt(x**2)", "x**2/2"),
        ("1/(2 + cos(x))", "2*atan(tan(x/2)/sqrt(3))"),
        *((integrand, f"{answer} + x/10**9") for integrand, answer in TOWERS),
    ],
)
def test_wrong_answers_are_wrong(integrand: str, answer: str) -> None:
    """A factor, a trace of another term, a sign on half of the axis."""
    assert check_antiderivative(integrand, answer, "x") == "wrong"


@pytest.mark.parametrize(
    ("integrand", "answer"),
    [
        ("sqrt(-1 - x**2)", "-x*abs(x)/2"),
        ("acosh(x)*acos(x)", "x*acosh(x)*acos(x)"),
        ("asin(2 + x**2)", "x*asin(2 + x**2)"),
        ("exp(exp(x**2)*asin(cosh(1)))*x*exp(x**2)", "exp(exp(x**2)*asin(cosh(1)))"),
    ],
)
def test_an_answer_where_nothing_is_real_is_wrong(integrand: str, answer: str) -> None:
    """Over the reals there is nothing to answer."""
    assert check_antiderivative(integrand, answer, "x") == "wrong"


def test_nothing_to_judge_is_unknown() -> None:
    """An integrand without a value anywhere is left unjudged."""
    assert check_antiderivative("Piecewise((x, x > 10**9))", "x**2/2", "x") == "unknown"


@pytest.mark.parametrize(("answer", "verdict"), [("2/5", "right"), ("3/5", "wrong")])
def test_definite_integrals_are_compared_with_quadrature(answer: str, verdict: str) -> None:
    """By value, whatever the antiderivative was."""
    assert check_definite("x*sqrt(2*x + 3)", "x", "-1", "1", answer) == verdict
