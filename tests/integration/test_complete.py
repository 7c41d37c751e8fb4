"""Ansätze are completed or rejected."""

from __future__ import annotations

import pytest
import sympy

from service.integration.complete import complete
from service.verification.convert import to_sympy
from tokenizer.ansatz import Term, ansatz_of
from tokenizer.parse import parse

x = sympy.Symbol("x", real=True)


def completed(integrand: str, *terms: str | tuple[str, int]) -> sympy.Expr | None:
    listed = [Term(parse(t)) if isinstance(t, str) else Term(parse(t[0]), t[1]) for t in terms]
    found = complete(parse(integrand), "x", listed, 20.0)
    return None if found is None else found.antiderivative


@pytest.mark.parametrize(
    ("integrand", "terms", "expected"),
    [
        ("x*exp(x)", [("exp(x)", 1)], "(x - 1)*exp(x)"),
        ("x**2/(a + b*x)", [("1", 2), "log(a + b*x)"],
         "x**2/(2*b) - a*x/b**2 + a**2*log(a + b*x)/b**3"),
        ("exp(x)*sin(pi*x)", ["exp(x)*sin(pi*x)", "exp(x)*cos(pi*x)"],
         "exp(x)*(sin(pi*x) - pi*cos(pi*x))/(1 + pi**2)"),
        ("83*sin(10391*x)", ["cos(10391*x)"], "-83*cos(10391*x)/10391"),
        ("x**10007", ["x**10008"], "x**10008/10008"),
        ("1/(1 + x + x**2)", ["atan((2*x + 1)/sqrt(3))"], "2*atan((2*x + 1)/sqrt(3))/sqrt(3)"),
        ("1/(x**2 - 2)", ["log(x - sqrt(2))", "log(x + sqrt(2))"],
         "sqrt(2)*(log(x - sqrt(2)) - log(x + sqrt(2)))/4"),
        ("1/abs(x)", ["log(x)*sign(x)"], "log(x)*sign(x)"),
    ],
)  # fmt: skip
def test_coefficients_are_found_exactly(
    integrand: str, terms: list[str | tuple[str, int]], expected: str
) -> None:
    """Rational, algebraic, transcendental and parametric coefficients alike."""
    found = completed(integrand, *terms)
    assert found is not None
    assert sympy.simplify(found - to_sympy(parse(expected))) == 0


@pytest.mark.parametrize(
    ("integrand", "terms"),
    [
        ("cos(x)", ["sin(2*x)", "x"]),
        ("exp(x**2)", [("exp(x**2)", 12)]),
        ("1/x", [("1", 12)]),
        ("a*x", ["exp(a*x)"]),
    ],
)
def test_a_wrong_ansatz_is_rejected(integrand: str, terms: list[str | tuple[str, int]]) -> None:
    """A good approximation is not a solution."""
    assert completed(integrand, *terms) is None


def test_terms_of_many_hypotheses_pool() -> None:
    """Of superfluous terms the first ones that suffice are used."""
    found = complete(
        parse("x*exp(x) + cos(x)"),
        "x",
        [Term(parse(t), d) for t, d in [
            ("sin(x)", 0), ("tan(x)", 3), ("exp(x)", 1), ("log(x)", 2), ("exp(x)*sin(x)", 0),
            ("exp(2*x)", 0), ("cosh(x)", 1), ("sinh(x)", 1),
        ]],
        20.0,
    )  # fmt: skip
    assert found is not None
    assert found.proved
    assert set(found.used) == {parse("sin(x)"), parse("exp(x)")}


def test_a_term_that_cannot_be_evaluated_is_left_out() -> None:
    """One odd hypothesis does not spoil the pool."""
    assert completed("cos(x)", "binomial(x, 3)", "sin(x)") == sympy.sin(x)


@pytest.mark.parametrize(
    "antiderivative",
    [
        "sqrt(1 - x**2)*(x + 3) + asin(x)",
        "x**3*log(x)**2/5 - 7*log(x) + x",
        "(2*x - 1)*exp(-x)*sin(3*x)/11",
        "atan(sqrt(x + 2)) - 1372*(x + 2)**(7/2)/59049",
        "log((1 + sqrt(x))/(1 - sqrt(x))) + x**(1/3)",
    ],
)
def test_a_known_antiderivative_is_recovered_from_its_form(antiderivative: str) -> None:
    """Dropping the numbers loses nothing: they come back up to a constant."""
    big = to_sympy(parse(antiderivative))
    terms = ansatz_of(parse(antiderivative), "x")
    from service.verification.convert import from_sympy

    integrand = from_sympy(sympy.simplify(big.diff(x)))
    found = complete(integrand, "x", terms, 20.0)
    assert found is not None
    difference = found.antiderivative - big
    points = [0.21, 0.43, 0.77]
    values = [complex(difference.subs(x, p)) for p in points]
    assert max(abs(v - values[0]) for v in values) < 1e-9
