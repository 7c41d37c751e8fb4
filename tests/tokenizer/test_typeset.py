from __future__ import annotations

import pytest

from tokenizer.parse import parse
from tokenizer.typeset import to_latex

SET = {
    "2x": r"2 x",
    "2*3": r"2 \cdot 3",
    "x*2": r"x \cdot 2",
    "-n/m": r"-\frac{n}{m}",
    "a - (b - c)": r"a - \left(b - c\right)",
    "x(x+1)": r"x \left(x + 1\right)",
    "sin(x)^2": r"\sin^{2}\left(x\right)",
    "sin(x)^-1": r"\left(\sin\left(x\right)\right)^{-1}",
    "asin(x) + acosh(x)": r"\arcsin\left(x\right) + \operatorname{arcosh}\left(x\right)",
    "log(x)": r"\ln\left(x\right)",
    "exp(2x)": r"e^{2 x}",
    "sqrt(x) + x^(1/3) + x^(1/2)": r"\sqrt{x} + \sqrt[3]{x} + x^{\frac{1}{2}}",
    "(x/y)^2": r"\left(\frac{x}{y}\right)^{2}",
    "abs(x) + floor(x)": r"\left|x\right| + \left\lfloor x \right\rfloor",
    "(x+1)!": r"\left(x + 1\right)!",
    "theta_1 + x1 + velocity": r"\theta_{1} + \mathit{x1} + \mathrm{velocity}",
    "binomial(n, k) + gamma(x)": r"\binom{n}{k} + \Gamma\left(x\right)",
    "Piecewise((0, x < 1), (x, True))": (
        r"\begin{cases} 0 & \text{for}\: x < 1 \\ x & \text{otherwise} \end{cases}"
    ),
    "integrate(x + 1, (x, 0, pi))": r"\int_{0}^{\pi} \left(x + 1\right) \, dx",
    "diff(sin(theta), theta, 2)": r"\frac{d^{2}}{d\theta^{2}} \sin\left(\theta\right)",
}


@pytest.mark.parametrize(("source", "latex"), SET.items(), ids=SET)
def test_expressions_are_set_as_in_a_book(source: str, latex: str) -> None:
    """Each construct has the form that mathematicians write."""
    assert to_latex(parse(source)) == latex


def test_a_symbol_d_is_told_from_a_differential() -> None:
    """With a symbol d about, products get a dot and differentials stand upright."""
    assert to_latex(parse("d*x", variables=["d"])) == r"d \cdot x"
    assert to_latex(parse("integrate(d, x)", variables=["d"])) == r"\int d \, \mathrm{d}x"
