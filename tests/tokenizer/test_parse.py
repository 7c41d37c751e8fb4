from __future__ import annotations

import pickle

import pytest

from tokenizer.errors import ParseError
from tokenizer.limits import Limits
from tokenizer.parse import detect, parse, parse_name
from tokenizer.render import to_text

#: Spelling -> the same in plain SymPy text; each row is one rule of tokenizer/README.md.
TEXT = {
    # products without a sign
    "2x": "2*x",
    "3 sin x": "3*sin(x)",
    "x(x+1)": "x*(x + 1)",
    "(x+1)(x-1)": "(x + 1)*(x - 1)",
    "xsin(x)": "x*sin(x)",
    "xsinxcosx": "x*sin(x)*cos(x)",
    "2xy": "2*x*y",
    "2pix": "2*pi*x",
    "omegat": "omega*t",
    "(x+1)2": "(x + 1)*2",
    "v_0t": "v_0*t",
    "1/2x": "1/2*x",
    "6/2(1+2)": "6/2*(1 + 2)",
    "ax^2+bx+c": "a*x**2 + b*x + c",
    # names
    "velocity": "velocity",
    "theta + θ + x_1 + x₁ + x1": "theta + theta + x_1 + x_1 + x1",
    "lambda*lamda": "lamda*lamda",
    "i(x+1)+j(2x+3)": "i*(x + 1) + j*(2*x + 3)",
    "𝑥 + ｘ": "x + x",
    # numbers
    "0.5x": "1/2*x",
    "1e-3": "1/1000",
    "2.50": "5/2",
    ".5": "1/2",
    "2.": "2",
    "½x": "1/2*x",
    "x**2.0": "x**2",
    "2ex": "2*E*x",
    # constants
    "e^x": "exp(x)",
    "E**(2x)": "exp(2*x)",
    "exp(1)": "E",
    "e": "E",
    "π r²": "pi*r**2",
    "∞": "oo",
    "I": "I",
    # powers and signs
    "x²": "x**2",
    "x⁻¹²": "x**(-12)",
    "xⁿ": "x**n",
    "e²ˣ": "exp(2*x)",
    "xₙ": "x_n",
    "2^3^2": "2**3**2",
    "-x^2": "-x**2",
    "x^-2": "x**(-2)",
    "2**-x**2": "2**(-x**2)",
    "a/-b": "a/(-b)",
    "x^2y": "x**2*y",
    "x − 1 – 2": "x - 1 - 2",
    "2×3·x÷4": "2*3*x/4",
    "x!": "factorial(x)",
    "2^3!": "2**factorial(3)",
    # functions
    "sin^2 x": "sin(x)**2",
    "sin²x": "sin(x)**2",
    "cos^2 (x)": "cos(x)**2",
    "sin^n(x)": "sin(x)**n",
    "sin(x)^2": "sin(x)**2",
    "sin x^2": "sin(x**2)",
    "sin^-1 x": "asin(x)",
    "sin⁻¹(x)": "asin(x)",
    "tanh^(-1)(x)": "atanh(x)",
    "arcsin(x)+asin x": "asin(x) + asin(x)",
    "arsinh x + arcsinh x": "asinh(x) + asinh(x)",
    "sin 2x": "sin(2*x)",
    "sin2x": "sin(2*x)",
    "sin -x": "sin(-x)",
    "sin x/2": "sin(x)/2",
    "sin x*y": "sin(x)*y",
    "3 sin 2x cos x": "3*sin(2*x)*cos(x)",
    "sin 2(x+1)": "sin(2*(x + 1))",
    "sin 2sqrt(x)": "sin(2*sqrt(x))",
    "cos sin ln log exp tan x": "cos(sin(log(log(exp(tan(x))))))",
    "ln|x|": "log(Abs(x))",
    "log_2 x": "log(x)/log(2)",
    "log_b(x)": "log(x)/log(b)",
    "log10(x) + log(x, 10)": "log(x)/log(10) + log(x)/log(10)",
    "log2(x)": "log(x)/log(2)",
    "xln(2)": "x*log(2)",
    "pow(x, 2) + root(x, 3) + cbrt(x)": "x**2 + x**(1/3) + x**(1/3)",
    "root(x, 2)": "sqrt(x)",
    "√x + √(x+1) + ∛x": "sqrt(x) + sqrt(x + 1) + x**(1/3)",
    "2√x": "2*sqrt(x)",
    "abs(x) + |x|": "Abs(x) + Abs(x)",
    "||x|-1|": "Abs(Abs(x) - 1)",
    "2|x||y|": "2*Abs(x)*Abs(y)",
    "sgn(x) + max(x, y) + Min(x, 1)": "sign(x) + Max(x, y) + Min(x, 1)",
    "atan2(y, x) + Mod(x, 1)": "atan2(y, x) + Mod(x, 1)",
    "Sin(x) + COS(x) + Log(x)": "sin(x) + cos(x) + log(x)",
    "Si(x) + li(x) + gamma(x) + gamma": "Si(x) + li(x) + gamma(x) + gamma",
    "Rational(1, 2)": "1/2",
    "Piecewise((1, 0 < x < 1), (2, x >= 3 or x < -1), (0, True))": (
        "Piecewise((1, And(0 < x, x < 1)), (2, Or(x >= 3, x < -1)), (0, True))"
    ),
    "piecewise((0, x = 0), (1, x != 0))": "Piecewise((0, Eq(x, 0)), (1, Ne(x, 0)))",
    # tasks
    "∫_0^1 x² dx": "Integral(x**2, (x, 0, 1))",
    "int x dx": "Integral(x, x)",
    "∫ dx/(1+x^2)": "Integral(1/(1 + x**2), x)",
    "integrate(x, (x, 0, oo))": "Integral(x, (x, 0, oo))",
    "integrate(sin(t))": "Integral(sin(t), t)",
    "d/dx x^2": "Derivative(x**2, x)",
    "d^2/dx^2 (x^3 + x)": "Derivative(x**3 + x, x, 2)",
    "d(x^(-1))/dx": "Derivative(x**(-1), x)",
    "diff(x^3, x, x)": "Derivative(x**3, x, 2)",
    "Derivative(x^3, (x, 3))": "Derivative(x**3, x, 3)",
}

LATEX = {
    r"\frac ab": "a/b",
    r"\frac12x": "1/2*x",
    r"\dfrac{1}{x} + \tfrac1x": "1/x + 1/x",
    r"\frac\frac123": "1/2/3",
    r"x^2 + {x}^{2} + x²": "x**2 + x**2 + x**2",
    r"x^{-1} + x^-1 + x^\frac12": "x**(-1) + x**(-1) + x**(1/2)",
    r"\sqrt[3]{x} + \sqrt2 + \sqrt x + \sqrt(x+1)": "x**(1/3) + sqrt(2) + sqrt(x) + sqrt(x + 1)",
    r"\left|x\right| + |x| + \lvert x \rvert": "Abs(x) + Abs(x) + Abs(x)",
    r"\left\{x\right\}^2 + [x]": "x**2 + x",
    r"\lfloor x \rfloor + \left\lceil x \right\rceil": "floor(x) + ceiling(x)",
    r"2 \cdot 3 \times x \div y": "2*3*x/y",
    r"x\,y\;z\quad t \! u": "x*y*z*t*u",
    r"\theta_1 + \theta_{1} + x_{max} + x_{\alpha}": "theta_1 + theta_1 + x_max + x_alpha",
    r"A_{BC} x^2": "A_BC*x**2",
    r"x_{1}^{2} + x_{i,j} + x_{1a}": "x_1**2 + x_i_j + x_1_a",
    r"\mathrm{rate} t": "rate*t",
    r"\sin x \cos x + \sin{2x} + \sin{\left(x \right)}": "sin(x)*cos(x) + sin(2*x) + sin(x)",
    r"\sin^{-1} x + \arcsin x + \operatorname{asin}(x)": "asin(x) + asin(x) + asin(x)",
    r"\sin^2\theta + \ln^{2} x": "sin(theta)**2 + log(x)**2",
    r"\sin\frac{x}{2} + \sin 2\pi x": "sin(x/2) + sin(2*pi*x)",
    r"\log_{22}5 + \log_2 x + \log_{10}(x)": "log(5)/log(22) + log(x)/log(2) + log(x)/log(10)",
    r"\operatorname{erf}(x) + \Gamma(x) + \Gamma": "erf(x) + gamma(x) + Gamma",
    r"\max(a, b) + \binom{n}{k}": "Max(a, b) + binomial(n, k)",
    r"e^{2x} + \mathrm{e}^x + \exp x": "exp(2*x) + exp(x) + exp(x)",
    r"\mathrm{i} + i + \infty": "I + i + oo",
    r"$x^{2}$": "x**2",
    r"\begin{cases} 0 & x < 0 \\ 1, & \text{if } x \geq 1 \\ x & \text{otherwise} \end{cases}": (
        "Piecewise((0, x < 0), (1, x >= 1), (x, True))"
    ),
    r"\int x \text{d}x": "Integral(x, x)",
    r"\int_0^52xdx": "Integral(2*x, (x, 0, 5))",
    r"\int\limits^{1}_{0} d{x}": "Integral(1, (x, 0, 1))",
    r"\int \frac{x\,dx}{x^2+1}": "Integral(x/(x**2 + 1), x)",
    r"\int_{-\infty}^{\infty} e^{-x^2} \, \mathrm{d} x": "Integral(exp(-x**2), (x, -oo, oo))",
    r"\frac{d}{dx}\left[x^2\right]": "Derivative(x**2, x)",
    r"\frac{d^{2}}{d\theta^{2}} \sin\theta": "Derivative(sin(theta), theta, 2)",
    r"\frac{\partial}{\partial x} x y": "Derivative(x*y, x)",
    r"\frac{d \sin x}{dx}": "Derivative(sin(x), x)",
}

#: Input -> code of its refusal and its place.
REFUSED = {
    "": ("empty", 0),
    " \t": ("empty", 0),
    "(x+1": ("unbalanced", 0),
    "x)": ("unbalanced", 1),
    r"\left[x\right)": ("unbalanced", 7),
    "|x": ("unbalanced", 0),
    "x+": ("syntax", 2),
    "x***2": ("syntax", 3),
    "a^0_0": ("syntax", 3),
    "1,5": ("syntax", 1),
    "()": ("empty-group", 0),
    "2 3": ("adjacent-numbers", 2),
    "1.2.3": ("forbidden", 3),
    "x=2": ("relation", 1),
    "f(x) = x^2": ("relation", 5),
    "x\ny": ("two-expressions", 2),
    "0x10": ("unsupported", 0),
    "2½": ("adjacent-numbers", 1),
    r"2\frac{1}{2}": ("adjacent-numbers", 1),
    r"\left\|x\right\|": ("unknown-command", 5),
    r"\|x\|": ("unknown-command", 0),
    "C(5, 2)": ("unknown-function", 0),
    "Piecewise((1, x and y), (2, True))": ("relation", 16),
    "x + (x<2)": ("relation", 2),
    "sin": ("no-argument", 0),
    "sin(x, y)": ("arity", 0),
    "atan2(x)": ("arity", 0),
    "foo(x)": ("unknown-function", 0),
    "2+zeros(9)": ("unknown-function", 2),
    "m(0)": ("unknown-function", 0),
    "f(x+1)": ("unknown-function", 0),
    r"\operatorname{foo}(x)": ("unknown-function", 14),
    r"\foo x": ("unknown-command", 0),
    r"\lim x": ("unsupported", 0),
    "x deg": ("degrees", 2),
    "30°": ("degrees", 2),
    r"30^\circ": ("degrees", 3),
    "d x^4 dx": ("differential", 6),
    r"\int x": ("differential", 0),
    r"\int x dx + 1": ("differential", 10),
    r"\int x\,dx\,dy": ("differential", 8),
    r"\int_0 x dx": ("bounds", 0),
    "2*integrate(x, x)": ("task-inside", 2),
    r"\frac{dy}{dx}": ("derivative", 6),
    r"\frac{d^2}{dx} x": ("derivative", 6),
    "d/dx x^2 + 1": ("ambiguous", 9),
    "√x^2": ("ambiguous", 2),
    "sin x(x+1)": ("ambiguous", 5),
    "log^-1(x)": ("ambiguous", 0),
    "sin2(x)": ("ambiguous", 3),
    "x^{10}^{2}": ("ambiguous", 6),
    r"\frac{x^10}{2}": ("ambiguous", 8),
    r"\int_0^10 x dx": ("ambiguous", 7),
    r"\frac{1e3}{x}": ("ambiguous", 6),
    "x.y": ("forbidden", 1),
    "x; y": ("forbidden", 1),
    "'x'": ("forbidden", 0),
    "x[0]": ("forbidden", 1),
    "lambda x: x": ("forbidden", 8),
    "for": ("keyword", 0),
    "what is 2+2": ("prose", 0),
    "x\0": ("control-character", 1),
    "1 \times 2": ("lost-backslash", 2),
    "\frac{1}{2}": ("lost-backslash", 0),
    "x/0": ("division-by-zero", 1),
    "1/(x-x)": ("division-by-zero", 1),
    "0^-1": ("division-by-zero", 1),
    "9" * 401: ("number-too-long", 0),
    "1e1000": ("number-too-long", 0),
    "9**9**9": ("number-too-large", 1),
    "(2x)^100000": ("number-too-large", 4),
    "10000000000!": ("number-too-large", 11),
    "gamma(10^9)": ("number-too-large", 0),
    "x" * 4001: ("too-long", 4000),
    "x" * 65: ("name", 0),
    "(" * 101 + "x" + ")" * 101: ("too-deep", 100),
    "-" * 4000: ("too-deep", 200),
    "max(" + "x," * 1500 + "x)": ("too-many-nodes", 0),
}


@pytest.mark.parametrize(("source", "text"), TEXT.items(), ids=TEXT)
def test_text_spellings(source: str, text: str) -> None:
    """What people type as text is read by the documented rules and echoed as SymPy text."""
    assert to_text(parse(source, syntax="text")) == text


@pytest.mark.parametrize(("source", "text"), LATEX.items(), ids=LATEX)
def test_latex_spellings(source: str, text: str) -> None:
    """LaTeX as people and editors write it comes to the same Trees as text."""
    tree = parse(source, syntax="latex")
    assert to_text(tree) == text
    assert tree == parse(text, syntax="text", variables=tree.symbols())


@pytest.mark.parametrize(
    ("source", "outcome"), REFUSED.items(), ids=[repr(key)[:30] for key in REFUSED]
)
def test_refusals(source: str, outcome: tuple[str, int]) -> None:
    """What cannot be read is refused with a stable code, its place and a way out."""
    with pytest.raises(ParseError) as caught:
        parse(source)
    error = caught.value
    assert (error.code, error.position) == outcome
    assert error.hint
    assert error.source == source


@pytest.mark.parametrize(
    "opening", ["(", "-", "2^", "sin ", "sin -", "|", "√", "x^(", "sin(", "2("]
)
def test_nesting_is_refused_before_it_is_built(opening: str) -> None:
    """However an input nests, the refusal is the limit's and never Python's."""
    with pytest.raises(ParseError) as caught:
        parse(opening * 1000 + "x", limits=Limits(characters=10_000))
    assert caught.value.code in ("too-deep", "unbalanced")


def test_declared_names_stay_whole() -> None:
    """A name that the caller declares is one symbol, wherever letters would be multiplied."""
    assert to_text(parse("abx", variables=["ab"])) == "ab*x"
    assert to_text(parse("E*A", variables=["E"])) == "E*A"
    assert parse("E*A", variables=["E"]) != parse("E*A")
    assert to_text(parse("f(x+1)", variables=["f"])) == "f*(x + 1)"
    assert to_text(parse("xyzt", variables=["x", "y", "z", "t"])) == "x*y*z*t"


def test_euler_number_beside_a_symbol_e() -> None:
    """Where E is a symbol, Euler's number is written so that it reads back as itself."""
    tree = parse("E + e", variables=["E"])
    assert to_text(tree) == "E + exp(1)"
    assert parse(to_text(tree), variables=["E"]) == tree


def test_names_have_one_canonical_form() -> None:
    """Both syntaxes and Unicode name the same symbol."""
    for source in ("theta_1", "θ_1", "θ₁", r"\theta_{1}", r"\theta_1", " theta_{1} "):
        assert parse_name(source) == "theta_1"
    assert parse_name(r"\mathrm{rate}") == "rate"
    assert parse_name("A_{BC}") == "A_BC"


@pytest.mark.parametrize("source", ["", "x+1", "pi", "sin", "I", "class", "1x", "x y(", "x" * 99])
def test_names_that_are_none_are_refused(source: str) -> None:
    """A variable is a name that means nothing else."""
    with pytest.raises(ParseError):
        parse_name(source)


def test_syntax_is_detected() -> None:
    """A backslash, a brace or a dollar sign tells LaTeX from text."""
    assert [detect(source) for source in ("x^2", r"\sin x", "x^{2}", "$x$")] == [
        "text",
        "latex",
        "latex",
        "latex",
    ]


def test_errors_show_the_place() -> None:
    """The caret points at the offending character, also far into a long line."""
    with pytest.raises(ParseError) as caught:
        parse("x+" * 200 + "?")
    line, caret = caught.value.caret().split("\n")
    assert line[len(caret) - 1] == "?"


def test_trees_travel_between_processes() -> None:
    """A Tree survives pickling with its equality and hash."""
    tree = parse("sin(exp(x**2)) + theta")
    copy = pickle.loads(pickle.dumps(tree))
    assert (copy, hash(copy)) == (tree, hash(tree))


@pytest.mark.parametrize("source", [r"j\sqrt5.", r"\sqrt\sqrt5.", r"\frac12."])
def test_a_point_without_digits_is_refused(source: str) -> None:
    """What a command leaves of a number is read as a number, or refused with its place."""
    with pytest.raises(ParseError) as refused:
        parse(source)
    assert refused.value.position == len(source) - 1
