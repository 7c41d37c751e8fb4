"""Slots expand to terms that complete to antiderivatives."""

from __future__ import annotations

import pytest

from service.integration.complete import complete
from service.integration.slots import expand
from tokenizer.ansatz import Term
from tokenizer.parse import parse
from tokenizer.render import to_text


def term(source: str) -> Term:
    """``"3 : exp(x)"`` is exp(x) times a polynomial of degree 3."""
    degree, _, factor = source.rpartition(":")
    return Term(parse(factor), int(degree or 0))


@pytest.mark.parametrize(
    ("integrand", "terms"),
    [
        ("(1-2*x)**3/((2+3*x)**8*(3+5*x)**2)",
         ["4: 1/((2+3*x)**8*(3+5*x)**2)", "log((2+3*x)**8*(3+5*x)**2)"]),
        ("(1-2*x)**3*(2+3*x)**8*(3+5*x)**9", ["12: 1"]),
        ("1/(1+x**4)", ["log(1+x**4)"]),
        ("1/(1+x**5)", ["log(1+x**5)"]),
        ("1/(2*x**3-1)", ["log(2*x**3-1)"]),
        ("1/(1+x**8)", ["log(1+x**8)"]),
        ("1/((9+x**2)*(1+x**2)**(1/3))", ["log((1+x**2)**(1/3)/(9+x**2))"]),
        ("1/((3-x**2)*(1+x**2)**(1/3))", ["log((1+x**2)**(1/3)/(3-x**2))"]),
        ("1/((1-x)*(1+x**3)**(1/3))", ["log((1+x**3)**(1/3)/(1-x))"]),
        ("1/((1+2*x)*(1+4*x**3)**(1/3))", ["log((1+4*x**3)**(1/3)/(1+2*x))"]),
        ("x/((4+x**3)*sqrt(1+x**3))", ["log(sqrt(1+x**3)/(4+x**3))"]),
        ("x/((8-x**3)*sqrt(1+x**3))", ["log(sqrt(1+x**3)/(8-x**3))"]),
        ("x**2/(2-x**7)", ["log(2-x**7)"]),
        ("1/(2*x+sqrt(1+x**2))**2",
         ["1: 1/(2*x+sqrt(1+x**2))**2", "log(2*x+sqrt(1+x**2))"]),
        ("x/(4*sqrt(x)-sqrt(x-1))",
         ["2: 1/(4*sqrt(x)-sqrt(x-1))", "log(4*sqrt(x)-sqrt(x-1))"]),
        ("1/(sqrt(x)+sqrt(x+1))**3", ["1: 1/(sqrt(x)+sqrt(x+1))**3"]),
        ("x**2/(1+x**6)", ["log(1+x**6)"]),
        ("1/((15+2/x**2+13/x)*x)", ["log(15+2/x**2+13/x)"]),
        ("1/(p+q*x**2)", ["log(p+q*x**2)"]),
        ("(2+3*x)**2*sqrt(1-2*x)/(3+5*x)", ["4: sqrt(1-2*x)", "log(sqrt(1-2*x)/(3+5*x))"]),
        ("sqrt(1-2*x)/((2+3*x)*sqrt(3+5*x))",
         ["log(x+sqrt(1-2*x)*sqrt(3+5*x))", "log(sqrt(1-2*x)*sqrt(3+5*x)/(2+3*x))"]),
        ("1/((x**2+1)*sqrt(1+x+x**2))", ["log(sqrt(1+x+x**2)/(x**2+1))"]),
        ("x/sqrt(9+12*x+4*x**2)", ["3: 1/sqrt(9+12*x+4*x**2)", "log(x+sqrt(9+12*x+4*x**2))"]),
        ("1/(x*sqrt(2+x**6))", ["log(sqrt(2+x**6)/x)"]),
        ("x**4/sqrt(x**10-2)", ["log(x**5+sqrt(x**10-2))"]),
        ("1/(x*(x-1)**(1/3))", ["log((x-1)**(1/3)/x)"]),
        ("1/(1-x**3)**(1/3)", ["log(x/(1-x**3)**(1/3))"]),
        ("(1+x)**(1/4)/((1-x)**(1/4)*x)", ["log((1+x)**(1/4)/((1-x)**(1/4)*x))"]),
        ("1/(x-sqrt(2+x))", ["log(x-sqrt(2+x))"]),
        ("1/(exp(2*x)+exp(x)+1)", ["x", "log(exp(2*x)+exp(x)+1)"]),
        ("sqrt(1+exp(x))", ["sqrt(1+exp(x))", "log(sqrt(1+exp(x))/exp(x))"]),
        ("sin(x)**8", ["x", "(1+sin(x))**7*cos(x)"]),
        ("1/(2+cos(x))", ["log(2+cos(x))"]),
        ("1/(1+sin(x)**2)", ["log(1+sin(x)**2)"]),
        ("sqrt(tan(x))", ["log(sqrt(tan(x))/(1+tan(x)**2))"]),
        ("1/(1+3*cosh(x))", ["log(1+3*cosh(x))"]),
    ],
)  # fmt: skip
def test_slots_hold_the_antiderivative(integrand: str, terms: list[str]) -> None:
    """The terms that slots stand for span an antiderivative of the integrand."""
    tree = parse(integrand)
    expanded = expand([term(t) for t in terms], tree, "x")
    assert complete(tree, "x", expanded, deadline_s=20) is not None


def test_roots_of_a_product_stay_apart() -> None:
    """sqrt(x)*sqrt(1+x) is real for x < -1, too, and negative there."""
    integrand = parse("sqrt(x)*sqrt(1+x)")
    terms = expand([term("1: sqrt(x)*sqrt(1+x)"), term("log(x+sqrt(x)*sqrt(1+x))")], integrand, "x")
    found = complete(integrand, "x", terms, 10)
    assert found is not None
    assert found.proved


def test_a_term_without_slots_is_left_alone() -> None:
    """A term that stands for itself comes out as it went in."""
    terms = [term("2: exp(x)"), term("sin(x)*cos(x)"), term("atan(x)")]
    assert expand(terms, parse("x*exp(x)"), "x") == terms


def test_a_power_of_a_sum_stands_for_its_powers() -> None:
    """``(1 + u)**n`` is split into 1, u, …, u**n, since each has its own coefficient."""
    found = expand([term("(1+log(x))**2*x")], parse("log(x)**2"), "x")
    assert {to_text(t.factor) for t in found} == {"x", "log(x)*x", "log(x)**2*x"}


def test_a_power_of_a_sum_that_is_asked_for_stays_whole_first() -> None:
    """A power that occurs in the integrand is tried before its parts, for a shorter answer."""
    found = expand([term("(1+exp(x))**3")], parse("exp(x)*(1+exp(x))**3"), "x")
    assert found[0] == term("(1+exp(x))**3")


@pytest.mark.parametrize("source", ["log(gamma(x))", "log(x**x-1)", "1/(x**41-x-1)", "log(Abs(x))"])
def test_what_cannot_be_expanded_stays(source: str) -> None:
    """A slot outside of the convention is kept as it is written, and nothing is raised."""
    assert term(source) in expand([term(source)], parse("x"), "x")
