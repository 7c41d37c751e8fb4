"""What a worker does for an indefinite integral."""

from __future__ import annotations

import re

import pytest

from service.evaluation.independent import check_antiderivative
from service.integration.search import solve_by_rules, solve_by_sympy, solve_from_hypotheses
from tokenizer.ansatz import Term
from tokenizer.parse import parse
from tokenizer.render import to_text

LIMIT = 60.0


@pytest.mark.parametrize(
    "integrand",
    [
        "x*exp(x)", "log(x)", "sin(x)**3*cos(x)**4", "1/(1 - x**3)", "sqrt(x**2 + 1)",
        "x**2*atan(x)", "sec(x)", "tan(x)**3", "exp(a*x)*sin(b*x)", "1/(2 + sin(x))",
        "abs(x - 1)", "x**5*log(x)**3", "1/(x*log(x))", "Max(x, 1)",
    ],
)  # fmt: skip
def test_guessed_forms_solve_common_integrals(integrand: str) -> None:
    """Without a model, and each answer passes the independent check."""
    found = solve_by_rules(parse(integrand), "x", True, LIMIT)
    assert found is not None
    assert found.status == "proved"
    assert check_antiderivative(integrand, to_text(found.tree), "x") == "right"


@pytest.mark.parametrize(
    ("integrand", "function"),
    [
        ("exp(-x**2)", "erf"), ("sin(x)/x", "Si"), ("cos(x)/x", "Ci"), ("exp(x)/x", "Ei"),
        ("1/log(x)", "li"), ("sin(x**2)", "fresnels"), ("log(1 - x)/x", "polylog"),
        ("sinh(x)/x", "Shi"), ("exp(x)/sqrt(x)", "erfi"), ("x**2*exp(-x**2)", "erf"),
    ],
)  # fmt: skip
def test_known_non_elementary_integrals_are_named(integrand: str, function: str) -> None:
    """The answer says which function is in it, in words."""
    found = solve_by_rules(parse(integrand), "x", True, LIMIT)
    assert found is not None
    assert any(name.startswith(f"{function}: ") for name in found.functions)
    assert check_antiderivative(integrand, to_text(found.tree), "x") == "right"


def test_an_answer_over_the_reals_is_real() -> None:
    """1/x integrates to log|x|, and over the complex numbers to log(x)."""
    real = solve_by_rules(parse("1/x"), "x", True, LIMIT)
    complex_ = solve_by_rules(parse("1/x"), "x", False, LIMIT)
    assert real is not None
    assert complex_ is not None
    assert to_text(real.tree) == "log(Abs(x))"
    assert to_text(complex_.tree) == "log(x)"


def test_the_special_case_stands_beside_the_general_one() -> None:
    """x**n needs n != -1, and says what holds at n = -1."""
    found = solve_by_rules(parse("x**n"), "x", True, LIMIT)
    assert found is not None
    assert found.assumptions == ("n != -1",)
    assert [(c.condition, to_text(c.tree)) for c in found.cases] == [("n = -1", "log(Abs(x))")]


def test_an_antiderivative_has_no_jump_where_the_integrand_has_none() -> None:
    """The half-angle substitution is mended by a step function."""
    found = solve_by_rules(parse("1/(2 + cos(x))"), "x", True, LIMIT)
    assert found is not None
    from service.verification.convert import to_sympy

    big = to_sympy(found.tree)
    (x,) = big.free_symbols
    across = [float(big.subs(x, 3.14159265 + d)) for d in (-1e-6, 1e-6)]
    assert abs(across[1] - across[0]) < 1e-4


def test_hypotheses_are_tried_alone_and_pooled() -> None:
    """Two wrong ansätze may hold a right one between them."""
    integrand = parse("x*exp(x)*sin(x)")
    halves = [
        [Term(parse("exp(x)*sin(x)"), 1)],
        [Term(parse("exp(x)*cos(x)"), 1)],
    ]
    alone = solve_from_hypotheses(integrand, "x", halves, (), False, True, LIMIT)
    outcome = solve_from_hypotheses(integrand, "x", halves, (), True, True, LIMIT)
    assert alone.found is None
    assert outcome.found is not None
    assert outcome.hypotheses == 2
    assert check_antiderivative("x*exp(x)*sin(x)", to_text(outcome.found.tree), "x") == "right"


def test_no_hypothesis_that_fits_is_no_answer() -> None:
    """A wrong model gives nothing, never something wrong."""
    wrong = [[Term(parse("exp(x)"))]]
    outcome = solve_from_hypotheses(parse("sin(x)"), "x", wrong, (), True, True, LIMIT)
    assert outcome.found is None


@pytest.mark.parametrize("integrand", ["x/sqrt(1 - x**4)", "1/(x**2*sqrt(4 - x**2))"])
def test_sympy_answers_pass_the_same_proof(integrand: str) -> None:
    """What SymPy says is an answer only once it is verified."""
    found = solve_by_sympy(parse(integrand), "x", True, LIMIT)
    assert found is not None
    assert check_antiderivative(integrand, to_text(found.tree), "x") == "right"


def test_what_has_no_closed_form_has_no_answer() -> None:
    """An elliptic integral is not answered by something else."""
    assert solve_by_rules(parse("1/sqrt(1 + x**3)"), "x", True, LIMIT) is None


@pytest.mark.parametrize(
    ("integrand", "wrong"),
    [("cos(x)", "sin(x) + x/1000000000"), ("1/x", "log(x**2)"), ("abs(x)", "x**2/2")],
)
def test_the_independent_check_finds_wrong_answers(integrand: str, wrong: str) -> None:
    """The judge of the answers above is not blind."""
    assert check_antiderivative(integrand, wrong, "x") == "wrong"


@pytest.mark.parametrize(
    ("integrand", "polynomial"),
    [("1/(1 + x**8)", "1 + x**8"), ("(1 - x**4)/(1 - 4*x**4 + x**8)", "1 - 4*x**4 + x**8")],
)
def test_factors_of_eighth_degree_split_over_radicals(integrand: str, polynomial: str) -> None:
    """The model copies the polynomial; its real factors are found here."""
    hypothesis = [Term(parse(f"log({polynomial})"))]
    outcome = solve_from_hypotheses(parse(integrand), "x", [hypothesis], (), False, True, LIMIT)
    assert outcome.found is not None
    assert outcome.found.status == "proved"


@pytest.mark.parametrize(
    ("integrand", "needs", "conditions"),
    [
        ("1/(x^2 + a)", "a > 0", ["a < 0", "a = 0"]),
        ("1/(1 + a*x^2)", "a > 0", ["a < 0", "a = 0"]),
        ("sin(a*x)", "a != 0", ["a = 0"]),
        ("x^n", "n != -1", ["n = -1"]),
    ],
)
def test_cases_stand_beside_the_conditions(
    integrand: str, needs: str, conditions: list[str]
) -> None:
    """Where a condition on a parameter fails, another antiderivative is given, and is one."""
    found = solve_by_rules(parse(integrand, variables=("x",)), "x", True, 20.0)
    assert found is not None
    assert needs in found.assumptions
    assert [case.condition for case in found.cases] == conditions
    for case in found.cases:
        name, sign, _ = case.condition.split()
        value = "(-3/4)" if sign == "<" else "0" if name == "a" else "(-1)"
        special, answer = (
            re.sub(rf"\b{name}\b", value, text) for text in (integrand, to_text(case.tree))
        )
        assert check_antiderivative(special, answer, "x") == "right"
