from __future__ import annotations

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from service.verification.convert import (
    CONSTRUCTORS,
    ConversionError,
    NumberTooLargeError,
    from_sympy,
    to_sympy,
)
from service.verification.equivalence import prove_equal
from tokenizer.heads import ARITY, ELEMENTARY, LEAVES, SPECIAL, TASKS
from tokenizer.tree import Tree, call, constant, integer, rational, symbol

X = symbol("x")
x, y, n = sympy.symbols("x y n", real=True)


def test_every_head_has_a_constructor() -> None:
    """Each head that is not a leaf or a task can be built in SymPy."""
    assert set(CONSTRUCTORS) == set(ARITY) - set(LEAVES) - set(TASKS)


@pytest.mark.parametrize("head", [*ELEMENTARY, *SPECIAL])
def test_functions_survive_the_round_trip(head: str) -> None:
    """A function of distinct symbols comes back as itself, or as a known equivalent."""
    arity = ARITY[head]
    assert arity is not None
    tree = call(head, *(symbol(name) for name in ("u", "v")[:arity]))
    expr = to_sympy(tree)
    assert to_sympy(from_sympy(expr)) == expr


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (1 - x, call("sub", integer(1), X)),
        (-x / 2, call("neg", call("div", X, integer(2)))),
        (1 / x, call("div", integer(1), X)),
        (sympy.sqrt(x), call("sqrt", X)),
        (x * sympy.exp(-x), call("mul", X, call("exp", call("neg", X)))),
        (sympy.Rational(-3, 4), rational(-3, 4)),
        (-sympy.oo, call("neg", constant("oo"))),
        (x ** sympy.Rational(2, 3), call("pow", X, rational(2, 3))),
        (x**-n, call("pow", X, call("neg", symbol("n")))),
        (
            sympy.Piecewise((0, sympy.Eq(x, 0)), (x, True)),
            call(
                "Piecewise",
                integer(0),
                call("Eq", X, integer(0)),
                X,
                Tree("boolean", (), "True"),
            ),
        ),
    ],
)
def test_arrangement(expr: sympy.Expr, expected: Tree) -> None:
    """Negative coefficients, powers and exponents take the form a person would write."""
    assert from_sympy(expr) == expected


def test_symbols_are_real_unless_asked() -> None:
    """sqrt(x**2) is Abs(x) for real symbols and stays as it is for complex ones."""
    tree = call("sqrt", call("pow", X, integer(2)))
    assert to_sympy(tree) == sympy.Abs(x)
    assert to_sympy(tree, real=False) == sympy.sqrt(sympy.Symbol("x") ** 2)


def test_factorial_of_a_variable_is_gamma() -> None:
    """factorial is evaluated at whole numbers and read as gamma elsewhere."""
    assert to_sympy(call("factorial", integer(5))) == 120
    assert to_sympy(call("factorial", X)) == sympy.gamma(x + 1)


@pytest.mark.parametrize(
    "tree",
    [
        call("pow", integer(9), call("pow", integer(9), integer(9))),
        call("pow", call("pow", integer(10), integer(1000)), integer(1000)),
        call("factorial", integer(10**9)),
        call("gamma", rational(10**9, 7)),
        call("binomial", X, integer(10**6)),
    ],
)
def test_huge_numbers_are_refused(tree: Tree) -> None:
    """Numbers that nobody could write down are refused before they are computed."""
    with pytest.raises(NumberTooLargeError):
        to_sympy(tree)


def test_names_are_only_names() -> None:
    """A symbol called like a Python or SymPy object is a plain symbol."""
    for name in ("exit", "__import__", "gamma", "S", "lambda"):
        assert to_sympy(symbol(name)) == sympy.Symbol(name, real=True)


@pytest.mark.parametrize(
    "expr",
    [sympy.Integral(x, x), sympy.zoo, sympy.nan, sympy.hyper([1], [2], x), sympy.polygamma(2, x)],
)
def test_what_has_no_head_is_refused(expr: sympy.Basic) -> None:
    """Objects without a head raise an error that names them."""
    with pytest.raises(ConversionError, match="no way to write"):
        from_sympy(expr)


def test_conditions_are_no_numbers() -> None:
    """Arithmetic with a condition is an error of ours, not one from inside SymPy."""
    with pytest.raises(ConversionError):
        to_sympy(call("add", X, call("Lt", X, integer(1))))


leaves = st.one_of(
    st.integers(0, 9).map(integer),
    st.sampled_from(["x", "y", "theta"]).map(symbol),
    st.sampled_from(["pi", "E"]).map(constant),
)


def grow(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    unary = st.sampled_from(["neg", "sin", "exp", "atan", "cosh", "Abs", "erf", "asinh"])
    binary = st.sampled_from(["add", "sub", "mul", "div"])
    small = st.integers(-3, 3).map(integer)
    return st.one_of(
        st.tuples(unary, children).map(lambda t: call(*t)),
        st.tuples(binary, children, children).map(lambda t: call(*t)),
        st.tuples(children, small).map(lambda t: call("pow", *t)),
    )


@settings(max_examples=60, deadline=None)
@given(st.recursive(leaves, grow, max_leaves=8))
def test_round_trip_keeps_the_meaning(tree: Tree) -> None:
    """from_sympy(to_sympy(tree)) is the same function, and a fixed point of the conversion."""
    expr = to_sympy(tree)
    if expr.has(sympy.zoo, sympy.nan, sympy.oo, -sympy.oo):
        return
    if expr.has(sympy.AccumBounds):  # SymPy's sin(1/0): no number, either, and never an answer
        with pytest.raises(ConversionError):
            from_sympy(expr)
        return
    back = from_sympy(expr)
    assert prove_equal(expr, to_sympy(back), deadline_s=10).status in ("proved", "undecided")
    assert from_sympy(to_sympy(back)) == from_sympy(to_sympy(from_sympy(to_sympy(back))))
