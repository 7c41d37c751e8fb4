from __future__ import annotations

import pytest
import sympy
from sympy import Abs, DiracDelta, Mod, Piecewise, cos, exp, floor, log, sign, sin, sqrt

from service.verification.convert import ConversionError, from_sympy, to_sympy
from service.verification.derivative import (
    check_derivative,
    differentiate_symbolically,
    tidy,
    undefined_everywhere,
)
from service.verification.differentiation import derivative, slope_counterexample
from service.verification.equivalence import prove_equal
from service.verification.gathering import gather
from tests.cases import Case, parameters
from tokenizer.parse import parse
from tokenizer.tree import call, integer, symbol

X = symbol("x")
x, a, n = sympy.symbols("x a n", real=True)

#: What the reports call right, where that can be written as one expression.
CASE_ANSWERS = {
    "diff-01": "sign(x)",
    "diff-02": "1/x",
    "diff-05": "1",
    "diff-10": "1",
    "diff-12": "x**(1/x) * (1 - log(x))/x**2",
    "diff-14": "1/(x*log(10))",
    "diff-18": "2*x",
    "diff-19": "(x**3+x)**(5*x+2) * (5*log(x**3+x) + (5*x+2)*(3*x**2+1)/(x**3+x))",
    "diff-23": "(x + 3)/8",
    "diff-27": "3*x**2",
    "diff-28": "(a**2 - 2*x**2)/sqrt(a**2 - x**2) + a/sqrt(1 - x**2/a**2)",
    "diff-29": "-y*sign(x)/(x**2 + y**2)",
    "diff-30": "sign(x)",
    "diff-33": "0",
    "diff-34": "gamma(x + 1)*digamma(x + 1)",
}


@pytest.mark.parametrize("case", parameters("diff"))
def test_cases(case: Case) -> None:
    """The symbolic fallback differentiates the expressions of the bug reports rightly."""
    order = case.record.get("order", 1)
    outcome = differentiate_symbolically(parse(case.source), case.variable, order, 20)
    assert outcome.verdict.status == "proved"
    assert outcome.answer is not None
    if case.id in CASE_ANSWERS:
        expected = parse(CASE_ANSWERS[case.id])
        assert prove_equal(expected, outcome.answer, deadline_s=20).status == "proved"
    else:
        result = to_sympy(outcome.answer)
        away = -sin(x) / x - 2 * cos(x) / x**2 + 2 * sin(x) / x**3
        assert result.subs(x, 0) == -sympy.Rational(1, 3)
        assert prove_equal(away, result.args[0].args[0], deadline_s=20).status == "proved"


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (Abs(log(x)), sign(log(x)) / x),
        (sign(sin(x)), sympy.Integer(0)),
        (floor(x) * x, floor(x)),
        (Mod(x**2, 3), 2 * x),
        (log(Abs(cos(x))), -sin(x) / cos(x)),
        (Abs(x) * sign(x), sympy.Integer(1)),
        (x**n, n * x ** (n - 1)),
        (sqrt(x**2 - a**2), x / sqrt(x**2 - a**2)),
        (Piecewise((x**2, x < 0), (x**3, True)), Piecewise((2 * x, x < 0), (3 * x**2, True))),
        (
            Piecewise((x**2 * sin(1 / x), sympy.Ne(x, 0)), (0, True)),
            2 * x * sin(1 / x) - cos(1 / x),
        ),
    ],
)
def test_reference_over_the_reals(expr: sympy.Expr, expected: sympy.Expr) -> None:
    """Derivatives hold for real symbols, without re, im or delta distributions."""
    result = derivative(expr, x)
    assert not result.has(sympy.re, sympy.im, sympy.Derivative, sympy.Subs, DiracDelta)
    if isinstance(result, Piecewise) and not isinstance(expected, Piecewise):
        result = result.args[0].args[0]
    assert prove_equal(result, expected, deadline_s=10).holds


def test_value_at_a_jump_is_no_slope() -> None:
    """A single point off the curve has no derivative there."""
    result = derivative(Piecewise((5, sympy.Eq(x, 0)), (x, True)), x)
    assert result.subs(x, 0) is sympy.nan
    assert result.subs(x, 2) == 1


@pytest.mark.parametrize(
    ("expr", "wrong"),
    [
        (sin(x), -cos(x)),
        (x**2000, 2000 * x**2000),
        (sin(10391 * x), 10391 * sin(10391 * x)),
        (Abs(x), sympy.Integer(1)),
        (exp(-x) * x, exp(-x)),
        (log(x), 1 / x + sympy.Rational(1, 10**3)),
        (x**a, a * x**a),
        (sqrt(1 - x**2), x / sqrt(1 - x**2)),
    ],
)
def test_numeric_differentiation_finds_mistakes(expr: sympy.Expr, wrong: sympy.Expr) -> None:
    """A wrong slope is caught by differences alone, the right one never is."""
    assert slope_counterexample(expr, wrong, x) is not None
    assert slope_counterexample(expr, derivative(expr, x), x) is None


def test_first_true_hypothesis_wins() -> None:
    """Wrong hypotheses are passed over; the answer says which one it came from."""
    expression = parse("sin(exp(x**2))")
    hypotheses = [X, parse("cos(exp(x**2))"), parse("2*x*cos(exp(x**2))*exp(x**2)")]
    outcome = check_derivative(expression, "x", hypotheses, 10)
    assert outcome.index == 2
    assert outcome.verdict.status == "proved"
    assert outcome.answer is not None
    assert prove_equal(hypotheses[2], outcome.answer, deadline_s=10).holds


def test_no_hypothesis_holds() -> None:
    """Nothing is answered when nothing holds, and the verdict says why."""
    outcome = check_derivative(parse("log(x)"), "x", [parse("log(x)"), parse("1/x**2")], 10)
    assert (outcome.answer, outcome.index) == (None, None)
    assert outcome.verdict.status == "refuted"
    assert outcome.verdict.witness is not None
    assert check_derivative(X, "x", [], 10).verdict.status == "undecided"


def test_broken_hypotheses_are_refuted() -> None:
    """A hypothesis that SymPy cannot build does not stop the others."""
    hypotheses = [call("pow", integer(9), call("pow", integer(9), integer(9))), parse("2*x")]
    assert check_derivative(parse("x**2"), "x", hypotheses, 10).index == 1


def test_huge_powers_are_not_multiplied_out() -> None:
    """Powers in the thousands are verified and answered as powers."""
    expression = parse("(x**2000 - (x+1)**2000)/x**1999")
    reference = from_sympy(derivative(to_sympy(expression), x))
    outcome = check_derivative(expression, "x", [reference], 20)
    assert outcome.verdict.status == "proved"
    assert outcome.answer is not None
    assert outcome.answer.size < 60


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x*exp(x) + exp(x)", "(x+1)*exp(x)"),
        ("sin(x)**2 + cos(x)**2 - 1", "0"),
        ("2*x/(2*x**2 + 2)", "x/(x**2+1)"),
        ("-sin(x)/cos(x)", "-tan(x)"),
        ("x**1500*(x+1)**1500", "x**1500*(x+1)**1500"),
    ],
)
def test_tidy_answers(source: str, expected: str) -> None:
    """A tidied answer is the same function and no longer than what a person would write."""
    given = to_sympy(parse(source))
    tree = tidy(given, deadline_s=30)
    assert prove_equal(given, tree, deadline_s=10).status == "proved"
    assert tree.size <= parse(expected).size


def test_unwritable_derivative_is_an_error() -> None:
    """A derivative that has no head here (trigamma) is refused, not mangled."""
    with pytest.raises(ConversionError):
        differentiate_symbolically(parse("digamma(x)"), "x", 1, 10)


@pytest.mark.parametrize("source", ["x/(sin(x)^2 + cos(x)^2 - 1)", "log(0)*x"])
def test_what_has_no_value_has_no_derivative(source: str) -> None:
    """An expression that is undefined everywhere is refused, whatever the rules say of it."""
    expression = parse(source)
    assert differentiate_symbolically(expression, "x", 1, 5.0).answer is None
    assert check_derivative(expression, "x", [integer(0)], 5.0).answer is None


def test_tiny_divisors_are_not_zero() -> None:
    """A divisor that is small at every sample point still has a quotient."""
    expression = parse("1/(exp(-10^6*x^2) + exp(-10^7*x^2))")
    assert not undefined_everywhere(to_sympy(expression))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a*x + b*x**2", "x*(a + b*x)"),
        ("1/x + 1/x**2", "(x + 1)/x**2"),
        ("x/2 + 1/3 + y/x", "(3*x**2 + 2*x + 6*y)/(6*x)"),
        ("sqrt(x) + 1/sqrt(x)", "(x + 1)/sqrt(x)"),
        ("exp(x)/(x+1) - exp(x)/(x+1)**2", "x*exp(x)/(x+1)**2"),
        ("sin(2*x + 4*x**2)", "sin(2*x*(2*x + 1))"),
        ("x + y", "x + y"),
    ],
)
def test_sums_are_gathered(source: str, expected: str) -> None:
    """Common factors and denominators are taken out, and the function stays the same."""
    given = to_sympy(parse(source))
    gathered = gather(given)
    assert prove_equal(given, gathered, deadline_s=10).status == "proved"
    assert from_sympy(gathered).size <= parse(expected).size


@pytest.mark.parametrize(
    ("expression", "slope", "assumptions"),
    [
        ("abs(sqrt(x))", "sign(sqrt(x))/(2*sqrt(x))", ("sqrt(x) is real",)),
        ("abs(log(x))", "sign(log(x))/x", ("log(x) is real",)),
        ("abs(x + I)", "x/sqrt(x^2 + 1)", ()),
        ("abs(sin(x))", "cos(x)*sign(sin(x))", ()),
    ],
)
def test_the_modulus_of_complex_values_is_another_function(
    expression: str, slope: str, assumptions: tuple[str, ...]
) -> None:
    """Where the rule for Abs fails, for its argument is not real, the answer says so."""
    trees = [parse(text, variables=("x",)) for text in (expression, slope)]
    outcome = check_derivative(trees[0], "x", trees[1:], 10)
    assert outcome.verdict.status == "proved"
    assert outcome.verdict.assumptions == assumptions


@pytest.mark.parametrize(
    "source", ["(x - x)^(x^(1/3)) - x/coth(x)", "log(sec(x^2) + (x - x)^sqrt(x))"]
)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_derivative_that_is_no_number_is_not_differentiated(source: str, order: int) -> None:
    """SymPy's derivative of 0^u is nan, and that of nan is 0."""
    assert differentiate_symbolically(parse(source), "x", order, 10.0).answer is None


@pytest.mark.parametrize(
    ("source", "slope"),
    [
        ("asin(x/x)", "(x - x)/x**2/sqrt(1 - (x/x)**2)"),
        ("acosh(x/x)", "(x - x)/x**2/(sqrt(x/x - 1)*sqrt(x/x + 1))"),
    ],
)
def test_a_derivative_without_values_is_refuted(source: str, slope: str) -> None:
    """What the rules write for a constant in disguise may be 0/0 everywhere."""
    expression = parse(source)
    assert check_derivative(expression, "x", [parse(slope)], 10.0).answer is None
    assert differentiate_symbolically(expression, "x", 1, 10.0).answer == integer(0)


def test_an_impulse_is_no_matter_of_numbers() -> None:
    """A derivative that leaves it out is equal wherever one looks."""
    expression = parse("Heaviside(x - 1)*x^2")
    assert check_derivative(expression, "x", [parse("2*x*Heaviside(x - 1)")], 10.0).answer is None
    with pytest.raises(ConversionError):
        differentiate_symbolically(expression, "x", 2, 10.0)
