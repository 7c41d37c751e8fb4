"""What the client gives back: typed answers that know SymPy and notebooks, and errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from service.heat.schema import HeatAnswer, HeatUnsolved
from service.schemas import Formula, Solved, Unsolved
from service.solvers.integrate_schema import IntegralSolved, IntegralUnsolved
from tokenizer.parse import parse

if TYPE_CHECKING:
    import numpy as np
    import sympy
    from numpy.typing import NDArray


class CalcertError(Exception):
    """What the service said instead of an answer."""


class Refused(CalcertError):
    """A problem (RFC 9457): ``status``, ``slug`` and ``problem``, the whole object."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        hint = problem.get("hint")
        caret = problem.get("caret")
        lines = [str(problem.get("detail") or problem.get("title") or status), caret, hint]
        super().__init__("\n".join(line for line in lines if line))
        self.status = status
        self.problem = dict(problem)
        self.slug = str(problem.get("type", "")).rsplit("/", 1)[-1]


class Unreachable(CalcertError):
    """No answer came back: no connection, or none in time."""


class NotSolved(CalcertError):
    """Nothing could be verified in time; ``answer`` has what is known, such as a value."""

    def __init__(self, answer: Unsolved | IntegralUnsolved | HeatUnsolved) -> None:
        super().__init__(answer.reason)
        self.answer = answer


class _Shown:
    """What a notebook shows, and the way to SymPy."""

    answer: Formula | None

    def sympy(self) -> sympy.Expr:
        """The answer as a SymPy expression with real symbols; nothing is evaluated.

        Raises ``ValueError`` where there is no formula.
        """
        # a client that only prints should not wait for SymPy
        from service.verification.convert import to_sympy  # noqa: PLC0415 - see above

        if self.answer is None:
            raise ValueError("there is no formula")
        expression: sympy.Expr = to_sympy(parse(self.answer.text, syntax="text"))
        return expression

    def __str__(self) -> str:
        return self.answer.text if self.answer else "no formula"


class Derivative(_Shown, Solved):
    """An answer of POST /differentiate."""

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.answer.latex}$"


class Integral(_Shown, IntegralSolved):
    """An answer of POST /integrate."""

    def _repr_latex_(self) -> str:
        if self.answer is None:
            return "$\\displaystyle \\text{divergent}$"
        return f"$\\displaystyle {self.answer.latex}{' + C' if self.constant else ''}$"


class HeatSolution(HeatAnswer):
    """An answer of POST /pde/heat."""

    def array(self) -> NDArray[np.float64]:
        """u as an array (M, Q): M times, Q points."""
        import numpy  # noqa: PLC0415 - a client that only prints should not wait for it

        return numpy.array(self.u)

    def sympy(self) -> sympy.Expr:
        """The closed form in x and t. Raises ``ValueError`` where there is none."""
        if self.closed_form is None:
            raise ValueError("there is no closed form")
        shown = _Shown()
        shown.answer = self.closed_form
        return shown.sympy()

    def _repr_latex_(self) -> str:
        if self.closed_form is None:
            return f"$u$: {len(self.times)} times, {len(self.x)} points"
        sign = "=" if self.closed_form.exact else "\\approx"
        return f"$\\displaystyle u(x, t) {sign} {self.closed_form.latex}$"


def read_derivative(found: Mapping[str, Any]) -> Derivative:
    """A derivative, or :class:`NotSolved` raised."""
    if found["status"] == "unsolved":
        raise NotSolved(Unsolved.model_validate(found))
    return Derivative.model_validate(found)


def read_integral(found: Mapping[str, Any]) -> Integral:
    """An integral, or :class:`NotSolved` raised."""
    if found["status"] == "unsolved":
        raise NotSolved(IntegralUnsolved.model_validate(found))
    return Integral.model_validate(found)


def read_heat(found: Mapping[str, Any]) -> HeatSolution:
    """A solution, or :class:`NotSolved` raised."""
    if found["status"] == "unsolved":
        raise NotSolved(HeatUnsolved.model_validate(found))
    return HeatSolution.model_validate(found)


#: What reads the answer of each task.
READERS: Final[dict[str, Callable[[Mapping[str, Any]], Derivative | Integral]]] = {
    "differentiate": read_derivative,
    "integrate": read_integral,
}
