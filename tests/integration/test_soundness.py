"""Answers that look right to a part of the checks are not called verified."""

from __future__ import annotations

import pytest
import sympy

from service.integration.agreement import unreal
from service.integration.definite import Definite, behaviour, solve_definite
from service.integration.parametric import solve_parametric
from service.integration.prove import UNREAL, prove_antiderivative
from service.integration.search import solve_by_rules
from service.verification.convert import to_sympy
from tokenizer.parse import parse

LIMIT = 10.0
#: Seconds for an antiderivative, which the integrals here mostly have none of.
SEARCH = 3.0


def integral(integrand: str, lower: str, upper: str, *, fallback: bool = False) -> Definite:
    trees = [parse(text, variables=("x",)) for text in (integrand, lower, upper)]
    found = solve_by_rules(trees[0], "x", True, SEARCH)
    parametric = any(set(tree.symbols()) - {"x"} for tree in trees)
    solve = solve_parametric if parametric else solve_definite
    certain = found is not None and found.status == "proved"
    return solve(
        trees[0], "x", trees[1], trees[2], found.tree if found else None, certain, fallback, LIMIT
    )


@pytest.mark.parametrize(
    ("integrand", "lower", "upper"), [("Mod(x, 2)", "0", "2"), ("factorial(x)", "0", "1")]
)
def test_a_function_without_numbers_is_not_zero(integrand: str, lower: str, upper: str) -> None:
    """What quadrature cannot evaluate is left unsolved."""
    found = integral(integrand, lower, upper, fallback=True)
    assert found.tree is None
    assert found.value is None


@pytest.mark.parametrize(
    ("integrand", "lower", "upper", "expected"),
    [
        ("exp(-10^6*(x - 1/3)^2)", "0", "1", "sqrt(pi)/1000"),
        ("sech(10^4*(x - 1/3))^2", "0", "1", "1/5000"),
        ("exp(-(x - 1000)^2)", "-oo", "oo", "sqrt(pi)"),
        ("exp(-10^6*(x - 1/3)^2) + 1", "0", "1", "1 + sqrt(pi)/1000"),
    ],
)
def test_a_narrow_peak_is_seen(integrand: str, lower: str, upper: str, expected: str) -> None:
    """Quadrature finds the whole area although the peak lies between its first nodes."""
    found = integral(integrand, lower, upper)
    assert found.value is not None
    assert abs(float(found.value) - float(sympy.N(to_sympy(parse(expected))))) < 1e-12


def test_nothing_seen_is_not_zero() -> None:
    """An integrand below all thresholds at every node does not have a verified integral of 0."""
    found = integral("exp(-10^9*(x^2 + sin(x)^2 + 1))", "0", "1", fallback=True)
    assert found.status is None


@pytest.mark.parametrize("integrand", ["(1/x)*sin(1/x)", "sin(1/x)/x^(3/2)", "cos(1/x)/x^2"])
def test_oscillation_at_an_end_is_not_divergence(integrand: str) -> None:
    """Sign changes that accumulate may cancel, so no infinity is claimed."""
    found = integral(integrand, "0", "1")
    assert found.convergence != "divergent"
    assert found.tree is None or found.tree.head != "oo"


@pytest.mark.parametrize(
    ("integrand", "antiderivative"),
    [
        # so small at many points that floating point takes it for zero, and zero is real
        ("(asin(2) - sinh(x))*exp(x*asin(2) - cosh(x))", "exp(x*asin(2) - cosh(x))"),
        ("(2 - exp(x))*exp(acos(3) + 2*x - exp(x))", "exp(acos(3) + 2*x - exp(x))"),
        ("asin(2)", "x*asin(2)"),
    ],
)
def test_a_number_too_small_for_floating_point_is_not_real(
    integrand: str, antiderivative: str
) -> None:
    """An integrand that is real nowhere has no answer over the reals, only a complex one."""
    f, big = (parse(text, variables=("x",)) for text in (integrand, antiderivative))
    assert prove_antiderivative(f, "x", big, LIMIT).method == UNREAL
    assert unreal(f, "x")
    assert prove_antiderivative(f, "x", big, LIMIT, over_reals=False).status == "proved"


def test_reality_is_found_beside_numbers_too_small() -> None:
    """A short real stretch counts although all the rest of the grid looks like a real zero."""
    f, big = (
        parse(text, variables=("x",))
        for text in (
            "exp(asin(1000*x - 1700) - (1000*x - 1700)**2)"
            "*(1000/sqrt(1 - (1000*x - 1700)**2) - 2000*(1000*x - 1700))",
            "exp(asin(1000*x - 1700) - (1000*x - 1700)**2)",
        )
    )
    assert not unreal(f, "x")
    assert prove_antiderivative(f, "x", big, LIMIT).status == "proved"


@pytest.mark.parametrize(
    ("integrand", "antiderivative"),
    [("Max(x, 0)", "x*Max(x, 0)/2"), ("exp(-exp(x))*exp(x)", "-exp(-exp(x))")],
)
def test_a_real_zero_is_real(integrand: str, antiderivative: str) -> None:
    """What vanishes on a part of the axis, or nearly, is answered as before."""
    f, big = (parse(text, variables=("x",)) for text in (integrand, antiderivative))
    assert not unreal(f, "x")
    assert prove_antiderivative(f, "x", big, LIMIT).holds


def test_a_pole_without_closed_form_is_found() -> None:
    """A simple pole inside of the interval makes the integral divergent."""
    assert integral("1/(x - cos(x))", "0", "1").convergence == "divergent"


def test_breaks_without_closed_form_are_no_error() -> None:
    """Steps at places without a closed form leave at most the number."""
    found = integral("floor(x^2)", "0", "2")
    exact = 5 - 2**0.5 - 3**0.5
    assert found.value is None or abs(float(found.value) - exact) < 1e-12


@pytest.mark.parametrize("integrand", ["1/(x - a)^2", "1/(x - a)"])
def test_a_sign_does_not_decide_divergence(integrand: str) -> None:
    """No case for a > 0: a pole inside of the interval depends on the size of a."""
    found = integral(integrand, "0", "1")
    assert "a > 0" not in [condition for condition, _, _ in found.cases]


@pytest.mark.parametrize(
    ("integrand", "antiderivative", "jumps"),
    [
        ("abs(sin(x))", "-cos(x)*sign(sin(x))", True),
        ("abs(x^2 - 1)", "(x^3/3 - x)*sign(x^2 - 1)", True),
        ("abs(x)", "x*abs(x)/2", False),
        ("1/x", "log(abs(x))", False),
        ("sqrt(1 - cos(x))", "-2*sin(x)/sqrt(1 - cos(x))", True),
        ("floor(x)", "x*floor(x)", True),
        ("floor(x)", "x*floor(x) - floor(x)*(floor(x) + 1)/2", False),
        ("sec(x)^2", "tan(x)", False),
    ],
)
def test_a_jump_is_told(integrand: str, antiderivative: str, jumps: bool) -> None:
    """An antiderivative with jumps holds between them, and says so."""
    verdict = prove_antiderivative(parse(integrand), "x", parse(antiderivative), LIMIT)
    assert verdict.status in ("proved", "numeric")
    told = ("keeps its sign", "between the zeros")
    assert any(part in text for text in verdict.assumptions for part in told) is (
        jumps and verdict.status == "proved"
    )


@pytest.mark.parametrize(
    ("integrand", "antiderivative"),
    [
        ("acosh(x)*acos(x)/x", "log(abs(x))*acosh(x)*acos(x)"),
        ("sqrt(-1 - x^2)", "I*(x*sqrt(x^2 + 1) + asinh(x))/2"),
        ("log(-x^2)/x", "log(-x^2)^2/4"),
    ],
)
def test_nothing_real_is_nothing_proved(integrand: str, antiderivative: str) -> None:
    """Over the reals an integrand that is real nowhere has no antiderivative."""
    verdict = prove_antiderivative(parse(integrand), "x", parse(antiderivative), LIMIT)
    assert verdict.status == "refuted"


def test_complex_values_are_compared_when_asked() -> None:
    """Beyond the reals the derivative counts wherever the integrand has a value."""
    integrand, right = parse("sqrt(-1 - x^2)"), parse("I*(x*sqrt(x^2 + 1) + asinh(x))/2")
    assert prove_antiderivative(integrand, "x", right, LIMIT, over_reals=False).holds
    wrong = parse("x*abs(sqrt(-1 - x^2))/2")
    assert not prove_antiderivative(integrand, "x", wrong, LIMIT, over_reals=False).holds


@pytest.mark.parametrize(
    ("integrand", "antiderivative"),
    [
        ("sqrt(x - 5000)", "2*(x - 5000)^(3/2)/3"),
        ("sqrt(1/100000 - (x - 3)^2)*(x - 3)", "-(1/100000 - (x - 3)^2)^(3/2)/3"),
    ],
)
def test_a_small_or_distant_real_domain_is_found(integrand: str, antiderivative: str) -> None:
    """Being real in a short interval, or far from the origin, is enough."""
    assert prove_antiderivative(parse(integrand), "x", parse(antiderivative), LIMIT).holds


@pytest.mark.parametrize(
    ("integrand", "antiderivative", "holds"),
    [
        ("abs(sqrt(x - 1))", "2*(x - 1)^(3/2)/3", False),
        ("abs(sqrt(x - 1))", "2*(x - 1)*abs(sqrt(x - 1))/3", True),
        ("abs((-1)^x)", "x", True),
    ],
)
def test_the_absolute_value_of_complex_values(
    integrand: str, antiderivative: str, holds: bool
) -> None:
    """It is their modulus, not what a sign makes of their real part."""
    verdict = prove_antiderivative(parse(integrand), "x", parse(antiderivative), LIMIT)
    assert verdict.holds is holds


@pytest.mark.parametrize(
    ("integrand", "lower", "upper", "expected"),
    [
        ("abs(sqrt(x - 1))", "0", "2", "4/3"),
        ("abs((-1)^x)", "0", "2", "2"),
        ("abs(x^(1/3))", "-1", "1", "3/2"),
    ],
)
def test_integrals_of_the_modulus(integrand: str, lower: str, upper: str, expected: str) -> None:
    """Where its argument is complex, too."""
    found = integral(integrand, lower, upper, fallback=True)
    assert found.value is not None
    assert abs(float(found.value) - float(sympy.N(to_sympy(parse(expected))))) < 1e-12


@pytest.mark.parametrize(
    "integrand", ["sin(x)/log(x)", "sin(x)/log(log(x + 20))", "sin(x)*exp(-x/10^9)"]
)
def test_slow_decay_is_not_divergence(integrand: str) -> None:
    """An oscillation that falls however slowly has an integral."""
    assert integral(integrand, "2", "oo").convergence != "divergent"


@pytest.mark.parametrize(
    ("integrand", "lower", "upper", "diverges"),
    [
        ("1/(x*log(x)^2)", "2", "oo", False),
        ("1/(x*log(x))", "2", "oo", True),
        ("1/(x*log(x)^2)", "0", "1/2", False),
        ("x^(-101/100)", "1", "oo", False),
        ("x^(-99/100)", "1", "oo", True),
        ("x/(x^2 + 1)", "-oo", "oo", True),
        ("tanh(x)/x", "1", "oo", True),
        ("exp(1/x)", "0", "1", True),
        ("1/(x + 10^(-150))", "0", "1", False),
        ("1/sqrt(x*(x + 10^(-150)))", "0", "1", False),
        ("exp(-x/10^20)/sqrt(x)", "0", "oo", False),
        ("sin(x)*(1 + 1/x)", "1", "oo", True),
    ],
)
def test_the_border_of_convergence(integrand: str, lower: str, upper: str, diverges: bool) -> None:
    """Neither a logarithm nor a constant of any size moves it."""
    x = sympy.Symbol("x", real=True)
    bounds = [to_sympy(parse(text)) for text in (lower, upper)]
    seen = behaviour(parse(integrand, variables=("x",)), x, *bounds)
    assert seen is not None
    assert not seen.unsettled
    assert bool(seen.divergent) is diverges


@pytest.mark.parametrize(
    ("integrand", "antiderivative"),
    [
        ("abs(x + 3000)", "x^2/2 + 3000*x"),
        ("abs(x - 10^20)", "10^20*x - x^2/2"),
        ("max(x, 10^9)", "10^9*x"),
        ("log((x - 2000)^2)", "2*(x - 2000)*log(2000 - x) - 2*x"),
        ("sqrt(cos(x/1000)^2)", "1000*sin(x/1000)"),
        ("heaviside(x - 1/2)*heaviside(1/2 + 10^(-6) - x) + 1", "x"),
        ("exp(-10^8*(x - 1/3)^2) + x", "x^2/2"),
    ],
)
def test_a_difference_off_the_grid_is_found(integrand: str, antiderivative: str) -> None:
    """Beyond the last change of a sign, between two close ones, and under a peak."""
    verdict = prove_antiderivative(parse(integrand), "x", parse(antiderivative), LIMIT)
    assert verdict.status == "refuted"


@pytest.mark.parametrize(
    ("integrand", "antiderivative", "assumptions"),
    [
        ("1/sqrt(a^2 - x^2)", "asin(x/a)", ("a > 0",)),
        ("log(a*x)", "x*log(a) + x*log(x) - x", ("a > 0",)),
        ("abs(a)*x", "a*x^2/2", ("a > 0",)),
        ("abs(a)*x", "abs(a)*x^2/2", ()),
        ("1/(x^2 + a^2)", "atan(x/a)/a", ()),
        ("b*exp(a*x)", "b*exp(a*x)/a", ()),
    ],
)
def test_a_sign_that_is_needed_is_told(
    integrand: str, antiderivative: str, assumptions: tuple[str, ...]
) -> None:
    """What holds only for positive parameters says so."""
    verdict = prove_antiderivative(parse(integrand), "x", parse(antiderivative), LIMIT)
    assert verdict.holds
    assert verdict.assumptions == assumptions


def test_a_function_with_gaps_is_no_error() -> None:
    """Where a search for zeros meets values that do not exist it goes on."""
    integrand = parse("gamma(x + 1)/gamma(x)", variables=("x",))
    assert not prove_antiderivative(integrand, "x", parse("x^3"), LIMIT).holds


def test_what_looks_real_beside_a_pole_is_not_real() -> None:
    """Near x = 1 the imaginary part drowns in rounding; the roots are real on no common stretch."""
    integrand = parse("1/(x - 1) + 1/sqrt(x - 1) + 1/sqrt(1 - 2*x - x^2)")
    answer = parse("log(x - 1) + 2*sqrt(x - 1) + asin((x + 1)/sqrt(2))")
    verdict = prove_antiderivative(integrand, "x", answer, LIMIT)
    assert not verdict.holds
    assert "real nowhere" in verdict.method


@pytest.mark.parametrize(
    ("integrand", "lower", "upper", "sign"),
    [
        ("x - 1500000", "0", "oo", 1),
        ("x^2 - 10^20", "0", "oo", 1),
        ("Heaviside(x - 10^9)", "0", "oo", 1),
        ("1/x - 1/10^8", "1", "oo", -1),
        ("(log(x) + 28)/x", "0", "1", -1),
        ("1/x^2 - 10^30", "0", "1", 1),
        ("exp(-x/10^9)*x - 1", "0", "oo", -1),
        ("x^0.001 - 2", "1", "oo", 0),
        ("x^0.00001 - 2", "1", "oo", 0),
    ],
)
def test_an_infinity_has_the_sign_of_the_tail(
    integrand: str, lower: str, upper: str, sign: int
) -> None:
    """However far out it is decided; where that cannot be told, there is no sign."""
    found = integral(integrand, lower, upper)
    assert found.convergence == "divergent"
    assert found.value == {1: "oo", -1: "-oo", 0: None}[sign]


@pytest.mark.parametrize(
    ("integrand", "lower", "upper"),
    [
        ("x^(-0.9999)", "0", "1"),
        ("x^(-1.0001)", "1", "oo"),
        ("1/(x^0.9999999*(1 + x))", "0", "oo"),
        ("x^(-0.9999999)*cos(x)", "0", "1"),
        ("x^(1/10^20)/x", "0", "1"),
    ],
)
def test_slow_convergence_is_not_divergence(integrand: str, lower: str, upper: str) -> None:
    """A power that is hardly more than -1 is integrable."""
    assert integral(integrand, lower, upper).convergence != "divergent"


@pytest.mark.parametrize(
    ("integrand", "lower", "upper"),
    [
        ("exp(-x/10^8)*Heaviside(x - 10^7)", "0", "oo"),
        ("Heaviside(x - 3)*Heaviside(3.0000000001 - x)*10^10", "0", "10"),
        ("Piecewise((0, x < 10^7), (1/x^2, True))", "1", "oo"),
        ("Max(0, x - 10^7)/x^3", "1", "oo"),
        ("floor(sin(x) + 1/10^9)", "0", "3"),
        ("1 + Heaviside(sin(x) - 0.99999999999)", "0", "3"),
        ("Heaviside(1/10^9 - x)/sqrt(x)", "0", "1"),
    ],
)
def test_a_piece_that_is_not_seen_is_not_taken_for_none(
    integrand: str, lower: str, upper: str
) -> None:
    """Where jumps may have been missed there is no verified answer."""
    assert integral(integrand, lower, upper, fallback=True).status is None


@pytest.mark.parametrize(
    ("integrand", "lower", "upper"),
    [("1/log(x)", "0", "2"), ("1/(tan(x) - 2)", "0", "pi/2"), ("1/(2 - 3*sin(x))", "0", "pi")],
)
def test_a_principal_value_is_real(integrand: str, lower: str, upper: str) -> None:
    """What a branch leaves over is not part of it."""
    found = integral(integrand, lower, upper)
    assert found.convergence == "divergent"
    assert found.principal_value is None
    assert integral("1/x", "-1", "2").principal_value == parse("log(2)")
