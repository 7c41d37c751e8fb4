"""Exact zero tests in a field of kernels."""

from __future__ import annotations

import time

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import exp, log, sin, sqrt, tan

from service.integration.domain import real_test
from service.integration.kernels import KernelField, OutOfTime, Unsupported
from service.verification.convert import from_sympy

x, a, b, n = sympy.symbols("x a b n", real=True)


def derivative_is(antiderivative: sympy.Expr, integrand: sympy.Expr, *, real: bool = True) -> bool:
    test = real_test(from_sympy(integrand), "x") if real else None
    field = KernelField(
        [antiderivative, integrand], x, deadline=time.monotonic() + 20, is_real=test
    )
    difference = field.derivative(field.convert(antiderivative)) - field.convert(integrand)
    return difference.is_zero


TRUE = [
    (log(sympy.Abs(x)), 1 / x),
    (x ** (n + 1) / (n + 1), x**n),
    (x * sympy.Abs(x) / 2, sympy.Abs(x)),
    (tan(x / 2), 1 / (1 + sympy.cos(x))),
    (2 / sqrt(3) * sympy.atan((2 * tan(x / 2) + 1) / sqrt(3)), 1 / (2 + sin(x))),
    (exp(a * x) * (a * sin(b * x) - b * sympy.cos(b * x)) / (a**2 + b**2), exp(a * x) * sin(b * x)),
    (x * sympy.asin(x) + sqrt(1 - x**2), sympy.asin(x)),
    (x - 3 * log(1 + 2 ** (2 * x / 3)) / (2 * log(2)), 1 / (2 ** (2 * x / 3) + 1)),
    (sympy.asin(2 * x - 5) / 2, 1 / (2 * sqrt(3 - x) * sqrt(x - 2))),
    (sympy.acosh(x), 1 / (sqrt(x - 1) * sqrt(x + 1))),
    (sympy.asin(x), exp(sympy.atanh(x)) / (1 + x)),
    (sympy.Ei(2 * x), exp(2 * x) / x),
]


@pytest.mark.parametrize(("antiderivative", "integrand"), TRUE)
def test_derivatives_reduce_to_the_integrand(
    antiderivative: sympy.Expr, integrand: sympy.Expr
) -> None:
    """Each function family differentiates correctly and its relations are known."""
    assert derivative_is(antiderivative, integrand)


@pytest.mark.parametrize(("antiderivative", "integrand"), TRUE)
def test_a_changed_integrand_is_not_proved(
    antiderivative: sympy.Expr, integrand: sympy.Expr
) -> None:
    """What is false is never shown to be zero."""
    assert not derivative_is(antiderivative, integrand + sympy.Rational(1, 10**9) * sin(x))
    assert not derivative_is(antiderivative, 2 * integrand)


def test_a_root_of_a_product_splits_only_where_the_factors_are_positive() -> None:
    """sqrt(x*x) is |x|, not x."""
    root = sympy.Pow(x**2, sympy.Rational(1, 2), evaluate=False)
    assert not derivative_is(x**2 / 2, sympy.Abs(x))
    assert derivative_is(sympy.sign(x) * x**2 / 2, root)


def test_a_power_without_end_is_refused() -> None:
    """Exact arithmetic is bounded; what is too large says so."""
    with pytest.raises(Unsupported):
        derivative_is((x + sin(x)) ** 10_007, x)


def test_the_deadline_interrupts() -> None:
    """A deadline in the past stops the arithmetic."""
    field = KernelField([x], x, deadline=time.monotonic() + 20)
    field.deadline = time.monotonic() - 1
    with pytest.raises(OutOfTime):
        field.convert(x + sin(x) * exp(x) + 2)


LEAVES = st.sampled_from([x, x + 1, 2 * x, sympy.Integer(2), sympy.Integer(3)])
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(sum),
        st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1]),
        inner.map(sin),
        inner.map(lambda u: exp(u / 2)),
        inner.map(lambda u: log(u**2 + 1)),
        inner.map(sympy.atan),
        inner.map(lambda u: sqrt(u**2 + 1)),
    ),
    max_leaves=5,
)


@settings(max_examples=25, deadline=None)
@given(EXPRESSIONS)
def test_the_derivation_agrees_with_sympy(expression: sympy.Expr) -> None:
    """D of an element is what SymPy differentiates to."""
    assert derivative_is(expression, expression.diff(x), real=False)
