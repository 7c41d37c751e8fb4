"""Definite integrals: jumps, poles, infinite bounds, divergence, quadrature."""

from __future__ import annotations

import mpmath
import pytest
import sympy

from service.evaluation.independent import check_definite
from service.integration.definite import Definite, solve_definite
from service.integration.parametric import solve_parametric
from service.integration.search import solve_by_rules
from service.verification.convert import to_sympy
from tokenizer.parse import parse
from tokenizer.render import to_text

LIMIT = 60.0


def integral(
    integrand: str, lower: str, upper: str, *, fallback: bool = True, variable: str = "x"
) -> Definite:
    trees = [parse(text, variables=(variable,)) for text in (integrand, lower, upper)]
    found = solve_by_rules(trees[0], variable, True, LIMIT)
    names = {name for tree in trees for name in tree.symbols()} - {variable}
    solve = solve_parametric if names else solve_definite
    return solve(
        trees[0],
        variable,
        trees[1],
        trees[2],
        found.tree if found else None,
        found is not None and found.status == "proved",
        fallback,
        LIMIT,
    )


@pytest.mark.parametrize(
    ("integrand", "lower", "upper", "expected", "convergence"),
    [
        ("1/(2 + cos(x))", "0", "2*pi", "2*pi/sqrt(3)", "proper"),
        ("-2/(sin(x)**2 + 4*cos(x)**2)", "-1", "1", "-2*atan(tan(1)/2)", "proper"),
        ("abs(sin(x))", "-2*pi", "0", "4", "proper"),
        ("x*sqrt(2*x + 3)", "1", "-1", "-2/5", "proper"),
        ("log(x/(1 - x))", "0", "1", "0", "improper"),
        ("sqrt(1 - x**2)", "-1", "1", "pi/2", "proper"),
        ("1/Max(x, 1)**2", "0", "oo", "2", "improper"),
        ("exp(-x**2)", "-oo", "oo", "sqrt(pi)", "improper"),
        ("1/(1 + x**3)", "0", "oo", "2*sqrt(3)*pi/9", "improper"),
        ("sin(x)/x", "0", "oo", "pi/2", "improper"),
        ("x**2", "3", "3", "0", "proper"),
    ],
)
def test_values_are_exact_and_proved(
    integrand: str, lower: str, upper: str, expected: str, convergence: str
) -> None:
    """Jumps, kinks, singular ends and infinite bounds do not change the value."""
    found = integral(integrand, lower, upper)
    assert found.status == "proved"
    assert found.convergence == convergence
    assert found.tree is not None
    difference = to_sympy(found.tree) - to_sympy(parse(expected))
    assert abs(sympy.N(difference, 40)) < 1e-30


@pytest.mark.parametrize(
    ("integrand", "lower", "upper", "answer", "principal"),
    [
        ("1/x**2", "-2", "1", "oo", None),
        ("-1/x**2", "-2", "1", "-oo", None),
        ("1/cos(x)**2", "0", "2*pi", "oo", None),
        ("tan(x)", "0", "pi/2", "oo", None),
        ("1/x", "1", "oo", "oo", None),
        ("1/x", "-1", "2", None, "log(2)"),
        ("1/(x**2 - 1)", "0", "2", None, "-log(3)/2"),
        ("x", "-oo", "oo", None, "0"),
    ],
)
def test_divergence_is_said(
    integrand: str, lower: str, upper: str, answer: str | None, principal: str | None
) -> None:
    """A pole inside, at an end, or a heavy tail; the principal value where there is one."""
    found = integral(integrand, lower, upper)
    assert found.convergence == "divergent"
    assert (found.tree and to_text(found.tree)) == answer
    if principal is None:
        assert found.principal_value is None
    else:
        assert found.principal_value is not None
        gap = to_sympy(found.principal_value) - to_sympy(parse(principal))
        assert abs(sympy.N(gap, 30)) < 1e-20


def test_an_integral_without_a_closed_form_still_has_its_value() -> None:
    """Quadrature gives the value and an estimate of its error."""
    found = integral("sin(x**2)*exp(sqrt(x))", "1", "2", fallback=False)
    assert found.status is None
    assert found.value == "1.48254829467529"
    assert found.error is not None
    assert found.error < 1e-20


def test_a_wrong_antiderivative_does_not_pass() -> None:
    """Quadrature has the last word, whatever was claimed about the antiderivative."""
    args = [parse(text) for text in ("cos(x)", "0", "1")]
    found = solve_definite(args[0], "x", args[1], args[2], parse("cos(x)"), True, False, LIMIT)
    assert found.status is None
    assert found.value is not None
    assert abs(float(found.value) - 0.8414709848) < 1e-9


def test_the_independent_check_agrees() -> None:
    """mpmath's quadrature, split at the kink, gives the same value."""
    found = integral("x*sqrt(abs(x))", "-1", "1/2")
    assert found.tree is not None
    answer = to_text(found.tree)
    assert check_definite("x*sqrt(abs(x))", "x", "-1", "1/2", answer, (0.0,)) == "right"
    assert check_definite("x*sqrt(abs(x))", "x", "-1", "1/2", "1/3", (0.0,)) == "wrong"


def test_parameters_come_with_their_conditions() -> None:
    """The formula, the signs it needs, and what happens otherwise."""
    found = integral("x*exp(-x**2/t)", "0", "oo")
    assert found.tree is not None
    assert to_text(found.tree) == "t/2"
    assert found.assumptions == ("t > 0",)
    assert found.cases == (("t < 0", None, "divergent"),)


def test_a_special_value_of_a_parameter_is_a_case() -> None:
    """Where the general formula divides by zero, the special value stands beside it."""
    found = integral("x*cos(n*x)", "0", "2*pi")
    assert found.assumptions == ("n != 0",)
    assert [(c, tree and to_text(tree)) for c, tree, _ in found.cases] == [("n = 0", "2*pi**2")]


def test_divergence_for_every_parameter() -> None:
    """Symbolic bounds around a pole diverge whatever the parameter; the principal value is 0."""
    found = integral("1/x", "-t", "t")
    assert found.convergence == "divergent"
    assert found.tree is None
    assert found.principal_value == parse("0")


def test_complex_values() -> None:
    """A complex integrand has a complex value, of the right branch."""
    found = integral("1/(2*x - 1 - I)", "0", "1")
    with mpmath.workdps(20):
        wanted = mpmath.quad(lambda x: 1 / (2 * x - 1 - 1j), [0, 0.5, 1])
    assert found.tree is not None
    assert abs(complex(to_sympy(found.tree)) - complex(wanted)) < 1e-12
    assert found.value is not None
    assert found.value.endswith("*I")


@pytest.mark.parametrize(
    ("integrand", "convergence", "answer"),
    [
        ("cos(x)", "divergent", None),
        ("x*sin(x)", "divergent", None),
        ("sin(x)**2/x**2", "improper", "pi/2"),
        ("sin(x)**2", "divergent", "oo"),
        ("exp(-x)*sin(x)", "improper", "1/2"),
    ],
)
def test_oscillation_is_not_mistaken_for_convergence(
    integrand: str, convergence: str, answer: str | None
) -> None:
    """A series of periods may be summable although the integral has no limit."""
    found = integral(integrand, "0", "oo")
    assert found.convergence == convergence
    assert (found.tree and to_text(found.tree)) == answer


def test_slow_convergence_is_decided_by_proof() -> None:
    """1/(x*log(x)**2) converges, 1/(x*log(x)) does not, and quadrature cannot tell."""
    found = integral("1/(x*log(x)**2)", "2", "oo")
    assert (found.status, found.tree and to_text(found.tree)) == ("proved", "1/log(2)")
    assert integral("1/(x*log(x))", "2", "oo").convergence == "divergent"


def test_a_sign_says_what_is_not_zero() -> None:
    """Under a > 0 nothing is said about a != 0, and a = 0 is a case of its own."""
    trees = [parse(text, variables=("x",)) for text in ("exp(-a*x)", "0", "oo")]
    big = parse("-exp(-a*x)/a", variables=("x",))
    found = solve_parametric(trees[0], "x", trees[1], trees[2], big, True, False, 30.0)
    assert found.assumptions == ("a > 0",)
    assert [condition for condition, _, _ in found.cases] == ["a < 0", "a = 0"]


@pytest.mark.parametrize(
    ("integrand", "lower", "upper", "expected"),
    [
        ("1/(x*log(x)^2)", "0", "1/2", "1/log(2)"),
        ("1/(x*log(x)^2)", "2", "oo", "1/log(2)"),
        ("1/(x*(log(x)^2 + 1))", "0", "1", "pi/2"),
    ],
)
def test_slow_convergence_is_exact(integrand: str, lower: str, upper: str, expected: str) -> None:
    """A proved antiderivative gives the value that quadrature sees only roughly."""
    trees = [parse(text, variables=("x",)) for text in (integrand, lower, upper)]
    big = solve_by_rules(trees[0], "x", True, 20.0)
    assert big is not None
    found = solve_definite(trees[0], "x", trees[1], trees[2], big.tree, True, False, 20.0)
    assert found.status == "proved"
    assert found.tree is not None
    difference = to_sympy(found.tree) - to_sympy(parse(expected))
    assert abs(sympy.N(difference, 30)) < 1e-20


@pytest.mark.parametrize(
    ("integrand", "lower", "upper", "expected"),
    [
        ("sin(x**2)", "0", "oo", "sqrt(2*pi)/4"),
        ("cos(x**2)", "-oo", "oo", "sqrt(2*pi)/2"),
        ("cos(2*x**2)", "-oo", "0", "sqrt(pi)/4"),
    ],
)
def test_waves_that_quicken_are_summed_to_infinity(
    integrand: str, lower: str, upper: str, expected: str
) -> None:
    """Fresnel's integrals: in x**2 the waves have one length."""
    big = parse("sqrt(pi/2)*fresnels(x*sqrt(2/pi))")
    if integrand != "sin(x**2)":
        scale = "2*" if "2*x" in integrand else ""
        big = parse(f"sqrt(pi/(2*{scale}1))*fresnelc(x*sqrt({scale}2/pi))")
    found = solve_definite(parse(integrand), "x", parse(lower), parse(upper), big, True, False, 10)
    assert found.status == "proved"
    assert found.tree is not None
    assert abs(float(to_sympy(found.tree)) - float(to_sympy(parse(expected)))) < 1e-12


def test_halves_that_diverge_are_not_folded() -> None:
    """x*sin(x**2) is odd, and yet has no integral over the whole line."""
    big = parse("-cos(x**2)/2")
    found = solve_definite(
        parse("x*sin(x**2)"), "x", parse("-oo"), parse("oo"), big, True, False, 10
    )
    assert found.convergence != "improper" or found.tree is None
