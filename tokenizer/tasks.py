r"""Integrals and derivatives, which stand at the root of an input or nowhere.

Read are ``\int_a^b f dx`` with its variants (``∫``, ``\frac{dx}{x}``, bounds in
either order), ``\frac{d^n}{dx^n} f`` and ``d/dx f``, and the calls
``integrate(f, (x, a, b))`` and ``diff(f, x, n)``.
"""

from __future__ import annotations

from typing import Final

from tokenizer.atoms import Atom
from tokenizer.errors import ParseError
from tokenizer.functions import TASK_WORDS
from tokenizer.heads import RELATIONS
from tokenizer.names import leaf
from tokenizer.structure import POSTFIX, PRODUCT, Structure
from tokenizer.tree import Tree, call, integer
from tokenizer.words import looks_like_differential

_SIGNS: Final = frozenset(RELATIONS.values())
_ONE: Final = integer(1)


def read(structure: Structure) -> Tree:
    """The whole input: a task, or an expression. Raises :class:`ParseError`."""
    _refuse_equation(structure)
    first = structure.atom
    if first.kind == "function" and first.text in TASK_WORDS and _spans_all(structure):
        return _call(structure, TASK_WORDS[first.text], first)
    if first.kind == "integral":
        if _spans_all(structure) and structure.has_comma(1):
            return _call(structure, "integral", first)
        return _integral(structure)
    tree = _derivative(structure)
    return structure.expression() if tree is None else tree


def _refuse_equation(structure: Structure) -> None:
    index = 0
    while index < len(structure.atoms):
        atom = structure.atoms[index]
        if atom.kind == "operator" and atom.text in _SIGNS:
            raise ParseError(
                "an equation or inequality is not an expression",
                position=atom.position,
                hint="send one side of it",
                code="relation",
            )
        index = structure.partner.get(index, index) + 1


def _spans_all(structure: Structure) -> bool:
    """Whether the first atom is followed by one bracket that reaches to the end."""
    return structure.partner.get(1) == len(structure.atoms) - 2


# integrals


def _integral(structure: Structure) -> Tree:
    sign = structure.atom
    structure.at += 1
    bounds: dict[str, Tree] = {}
    while structure.is_operator("_", "^") and structure.atom.text not in bounds:
        which = structure.atom
        structure.at += 1
        bounds[which.text] = structure.script()
    if len(bounds) == 1:
        raise ParseError(
            "the integral has one bound only",
            position=sign.position,
            hint="give both, \\int_{0}^{1} x dx, or none",
            code="bounds",
        )
    variable = _take_differential(structure, sign)
    if structure.atom.kind == "differential":
        integrand = _ONE
    else:
        integrand = structure.number(structure.expression(), sign.position)
    structure.expect("differential", str(variable.value))
    limits = (bounds["_"], bounds["^"]) if bounds else ()
    return structure.checked(call("integral", integrand, variable, *limits), sign.position)


def _take_differential(structure: Structure, sign: Atom) -> Tree:
    """Find the last ``dx``, and make it the one differential atom at the end.

    A ``dx`` in front of a slash or in a numerator is moved there as well: the
    integrand is what remains, with 1 in its place where nothing would be left.
    """
    atoms = structure.atoms
    index = len(atoms) - 2
    while index >= structure.at and differential(structure, index) is None:
        index -= 1
    found = differential(structure, index) if index >= structure.at else None
    if found is None:
        raise ParseError(
            "the integral has no differential",
            position=sign.position,
            hint="say by which variable: end with dx",
            code="differential",
        )
    variable, end = found
    last = atoms[end].kind == "end"
    if not last and not _is_factor(structure, index, end):
        raise ParseError(
            f"something follows the differential d{variable.value}",
            position=atoms[end].position,
            hint="an integral is the whole input and ends with its differential",
            code="differential",
        )
    for other in range(structure.at, index):
        second = differential(structure, other)
        if second and looks_like_differential(str(second[0].value), structure.declared):
            touching = atoms[other].position + 1 == atoms[other + 1].position
            if touching or atoms[other].kind == "d":
                raise ParseError(
                    "the integral has two differentials",
                    position=atoms[other].position,
                    hint="integrate over one variable at a time; for a product write d*x",
                    code="differential",
                )
    before, after = atoms[index - 1], atoms[end]
    if last and before.kind == "operator" and before.text == "," and index > structure.at:
        index -= 1  # a comma typed for a thin space
    empty = not last and (index == structure.at or before.kind == "open")
    filler = [Atom("number", "1", after.position, _ONE)] if empty else []
    mark = Atom("differential", str(variable.value), atoms[index].position, variable)
    structure.replace([*atoms[:index], *filler, *atoms[end:-1], mark])
    return variable


def _is_factor(structure: Structure, start: int, end: int) -> bool:
    """Whether ``dx`` from ``start`` to ``end`` is a factor of the whole integrand.

    So it is in front of a slash or as the end of a numerator, when no sum is
    around it.
    """
    atoms = structure.atoms
    after = atoms[end]
    if after.kind == "close" and after.text == "}":
        opening = next(i for i, close in structure.partner.items() if close == end)
        numerator = atoms[opening - 1].kind == "fraction"
        inside = range(opening + 1, start)
        return numerator and not (
            _has_sum(structure, inside) or _has_sum(structure, range(structure.at, opening))
            or _has_sum(structure, range(end + 1, len(atoms)))
        )  # fmt: skip
    slash = after.kind == "operator" and after.text == "/"
    return slash and not _has_sum(structure, range(structure.at, len(atoms)))


def _has_sum(structure: Structure, span: range) -> bool:
    """Whether a plus or minus stands in ``span`` outside the brackets that open in it."""
    index = span.start
    while index < span.stop:
        atom = structure.atoms[index]
        if atom.kind == "operator" and atom.text in ("+", "-") and index > span.start:
            return True
        index = structure.partner.get(index, index) + 1
    return False


def differential(structure: Structure, index: int) -> tuple[Tree, int] | None:
    """The variable of a ``dx`` that starts at ``index`` and the index after it, or None."""
    atoms = structure.atoms
    atom = atoms[index]
    if atom.kind == "differential":
        assert atom.tree is not None
        return atom.tree, index + 1
    if not _is_d(structure, index):
        return None
    following = atoms[index + 1]
    if following.kind == "symbol":
        return leaf(following.text), index + 2
    if following.kind == "open" and following.text == "{":
        inside = atoms[index + 2]
        if inside.kind == "symbol" and structure.partner[index + 1] == index + 3:
            return leaf(inside.text), index + 4
    return None


def _is_d(structure: Structure, index: int) -> bool:
    """Whether a d that makes a differential is at ``index``; a declared d is a symbol."""
    atom = structure.atoms[index]
    italic = atom.kind == "symbol" and atom.text == "d" and "d" not in structure.declared
    return italic or atom.kind == "d"


# derivatives


def _derivative(structure: Structure) -> Tree | None:
    """``\\frac{d}{dx} f``, ``\\frac{d f}{dx}``, ``d/dx f``, ``d(f)/dx``; None for anything else."""
    atoms = structure.atoms
    fraction = atoms[0].kind == "fraction" and atoms[1].kind == "open"
    start = 2 if fraction else 0
    atom = atoms[start]
    # dy/dx: the grammar takes dy for a differential
    function = atom.tree if atom.kind == "differential" else None
    if function is None and not _is_d(structure, start):
        return None
    order, at = _order(structure, start + 1)
    if fraction:
        end = structure.partner[1]
        below = end + 2
    else:
        end = structure.partner.get(at, at - 1) + 1  # d/dx or d(…)/dx
        if atoms[end].kind != "operator" or atoms[end].text != "/":
            return None
        below = end + 1
    found = differential(structure, below)
    if found is None:
        return None
    variable, after = found
    order_below, after = _order(structure, after)
    if order != order_below:
        raise ParseError(
            "the orders above and below do not agree",
            position=atom.position,
            hint="write \\frac{d^{2}}{dx^{2}} for the second derivative",
            code="derivative",
        )
    after += fraction  # its closing brace
    if function is not None or (at + 1 == end and atoms[at].kind == "symbol"):
        name = atom.text if function is not None else atoms[at].text
        raise ParseError(
            f"{name} is not given as an expression in {variable.value}",
            position=atom.position,
            hint=f"write the expression after \\frac{{d}}{{d{variable.value}}}",
            code="derivative",
        )
    if at == end:
        structure.at = after
        expression = structure.expression(PRODUCT)
        if structure.is_operator("+", "-"):
            raise ParseError(
                "it is unclear where the derivative ends",
                position=structure.atom.position,
                hint="put what is to be differentiated in parentheses",
                code="ambiguous",
            )
    else:
        structure.at = at
        expression = structure.expression() if fraction else structure.operand(POSTFIX)
        if structure.at != end:
            raise structure.unexpected(structure.atom)
        structure.at = after
    return _make_derivative(structure, expression, variable, order, atom.position)


def _order(structure: Structure, at: int) -> tuple[Tree, int]:
    """The order in ``d^2`` or ``dx^2`` from ``at``, 1 if none, and the index after it."""
    atoms = structure.atoms
    if atoms[at].kind == "superscript":
        tree = atoms[at].tree
        assert tree is not None
        return tree, at + 1
    if atoms[at].kind == "operator" and atoms[at].text == "^":
        grouped = atoms[at + 1].kind == "open"
        tree = atoms[at + 1 + grouped].tree
        if tree is not None:
            return tree, at + 2 + 2 * grouped
    return _ONE, at


def _make_derivative(
    structure: Structure, expression: Tree, variable: Tree, order: Tree, position: int
) -> Tree:
    structure.number(expression, position)
    if order.head != "integer" or order.value == 0:
        raise ParseError(
            "the order of a derivative is a positive whole number",
            position=position,
            hint="write diff(f, x, 2)",
            code="derivative",
        )
    return structure.checked(call("derivative", expression, variable, order), position)


# calls


def _call(structure: Structure, head: str, function: Atom) -> Tree:
    """``integrate(f, x)``, ``integrate(f, (x, a, b))``, ``diff(f, x, n)``."""
    structure.at = 2
    expression = structure.number(structure.expression(), function.position)
    rest: list[Tree] = []
    while structure.is_operator(","):
        structure.at += 1
        if structure.is_open("(") and structure.has_comma(structure.at):
            structure.at += 1
            rest.append(structure.expression())
            while structure.is_operator(","):
                structure.at += 1
                rest.append(structure.expression())
            structure.expect("close", ")")
        else:
            rest.append(structure.expression())
    structure.expect("close", ")")
    variable = rest[0] if rest else _only_symbol(expression, function)
    bounds = rest[1:]
    if variable.head == "symbol" and head == "integral" and len(bounds) in (0, 2):
        for bound in bounds:
            structure.number(bound, function.position)
        tree = call("integral", expression, variable, *bounds)
        return structure.checked(tree, function.position)
    if variable.head == "symbol" and head == "derivative":
        order = integer(1 + len(bounds)) if set(bounds) <= {variable} else bounds[0]
        if len(bounds) <= 1 or set(bounds) == {variable}:
            return _make_derivative(structure, expression, variable, order, function.position)
    raise ParseError(
        f"the arguments of {function.text} are not understood",
        position=function.position,
        hint="write integrate(f, x), integrate(f, (x, 0, 1)), diff(f, x) or diff(f, x, 2)",
        code="arity",
    )


def _only_symbol(expression: Tree, function: Atom) -> Tree:
    names = expression.symbols()
    if len(names) == 1:
        return leaf(names[0])
    raise ParseError(
        f"{function.text} needs its variable",
        position=function.position,
        hint=f"write {function.text}(f, x); symbols here: {', '.join(names[:10]) or 'none'}",
        code="arity",
    )
