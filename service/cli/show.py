"""Answers as people or programs want to see them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from service.cli.drawing import curves, space_time
from service.cli.options import error_console
from service.client import Refused, Unreachable

if TYPE_CHECKING:
    from service.cli.asking import Outcome

#: Badge of a verification: its sign, words and colour.
_BADGES: Final = {
    "proved": ("✓ proved", "bold green"),
    "numeric": ("≈ checked to 30 digits", "bold yellow"),
    "refuted": ("✗ refuted", "bold red"),
    "unsolved": ("✗ not found", "bold red"),
}
_CHECKS: Final = {"proved": "✓", "numeric": "≈", "unchecked": " "}
_SPECTRAL: Final = "exact formulas"
#: Rows of a table of values on a terminal.
_ROWS: Final = 17


class Form(StrEnum):
    """How answers are printed."""

    rich = "rich"
    text = "text"
    json = "json"
    latex = "latex"
    csv = "csv"


class Printer:
    """Prints outcomes: answers to standard output, everything else to standard error."""

    def __init__(self, task: str, form: Form, *, several: bool) -> None:
        self._task = task
        self._form = form
        self._several = several
        self._first = True
        self.out = Console(soft_wrap=True)
        self._err = error_console()

    def show(self, outcome: Outcome) -> None:
        """Print one outcome; without an answer a line stays empty, so that lines still match."""
        if self._form is Form.json:
            self._json(outcome)
            return
        if outcome.answer is None:
            self._error(outcome)
            self._nothing()
        elif outcome.answer["status"] != "solved":
            self._unsolved(outcome, outcome.answer)
            self._nothing()
        elif self._form is Form.rich:
            self._rich(outcome, outcome.answer)
        elif self._task == "heat":
            self._heat_line(outcome, outcome.answer)
            self._draw(outcome, outcome.answer)
        else:
            answer = outcome.answer["answer"]
            name = "latex" if self._form is Form.latex else "text"
            print(answer[name] if answer else "divergent")
            self._plain_extras(outcome)
            self._draw(outcome, outcome.answer)
        if outcome.missing:
            self._err.print(outcome.missing, style="yellow", markup=False, highlight=False)

    def _nothing(self) -> None:
        if self._several and self._form is not Form.rich:
            print()

    def _json(self, outcome: Outcome) -> None:
        if outcome.answer is not None:
            extra = {"steps": outcome.steps} if outcome.steps is not None else {}
            print(json.dumps({**outcome.answer, **extra}))
        elif isinstance(outcome.error, Refused):
            print(json.dumps(outcome.error.problem))
        else:
            self._error(outcome)
            print(
                json.dumps({"title": "The service cannot be reached", "detail": str(outcome.error)})
            )

    def _where(self, outcome: Outcome) -> str:
        question = outcome.question
        if question.line is not None:
            return f"line {question.line}: "
        return f"{question.expression}: " if self._several else ""

    def _error(self, outcome: Outcome) -> None:
        error = outcome.error
        said = Text(self._where(outcome), "bold")
        if isinstance(error, Unreachable):
            said.append(str(error))
        elif isinstance(error, Refused):
            problem = error.problem
            said.append(f"{problem.get('title', error.status)}: ", "red")
            said.append(str(problem.get("detail", "")))
            caret, hint = problem.get("caret"), problem.get("hint")
            if caret:
                source, _, mark = str(caret).rpartition("\n")
                said.append(f"\n  {source}\n")
                said.append(f"  {mark}", "bold red")
            if hint:
                said.append(f"\n{hint}", "dim")
        self._err.print(said)

    def _unsolved(self, outcome: Outcome, answer: Mapping[str, Any]) -> None:
        said = Text(self._where(outcome), "bold")
        said.append(_BADGES["unsolved"][0], _BADGES["unsolved"][1])
        said.append(f": {answer['reason']}")
        if answer.get("value") is not None:
            error = answer.get("error_estimate")
            said.append(
                f"\nby quadrature alone: {answer['value']}" + f" ± {error:.1g}" * bool(error)
            )
        self._err.print(said)

    # --- for people --------------------------------------------------------------

    def _rich(self, outcome: Outcome, answer: Mapping[str, Any]) -> None:
        if self._several and not self._first:
            self.out.print()
        self._first = False
        if self._task == "heat":
            self._rich_heat(answer)
        else:
            self._rich_formula(outcome, answer)
        self._print(_badge(answer))
        if outcome.steps is not None:
            self._rich_steps(outcome.steps)
        self._draw(outcome, answer)

    def _draw(self, outcome: Outcome, answer: Mapping[str, Any]) -> None:
        if outcome.drawn and self._task == "heat":
            self._draw_heat(answer)
        elif outcome.drawn and outcome.curves is not None:
            self._draw_curves(outcome.curves)

    def _rich_formula(self, outcome: Outcome, answer: Mapping[str, Any]) -> None:
        found, constant = answer["answer"], answer.get("constant")
        order = outcome.question.body.get("order", 1)
        line = Text(f"{_question(self._task, answer, order)} = ", "dim")
        if found is None:
            line.append("divergent", "bold")
        else:
            line.append(found["text"] + (f" + {constant}" if constant else ""), "bold")
        self._print(line)
        value = answer.get("value")
        if value is not None and str(value) != (found or {}).get("text"):
            self._print(Text(f"≈ {value}"))
        if answer.get("convergence") in ("improper", "divergent"):
            self._print(Text(f"{answer['convergence']} integral", "yellow"))
        if answer.get("principal_value"):
            self._print(Text(f"principal value {answer['principal_value']['text']}"))
        conditions = [*answer.get("assumptions", []), *answer["verification"]["assumptions"]]
        if conditions:
            self._print(Text(f"where {', '.join(dict.fromkeys(conditions))}"))
        for case in answer.get("cases", []):
            said = case["answer"]["text"] if case["answer"] else case["note"]
            self._print(Text(f"if {case['condition']}: {said}"))

    def _rich_heat(self, answer: Mapping[str, Any]) -> None:
        closed = answer["closed_form"]
        if closed:
            line = Text(f"u(x, t) {'=' if closed['exact'] else '≈'} ", "dim")
            line.append(closed["text"], "bold")
            self._print(line)
        for note in answer["input"]["notes"]:
            self._print(Text(note, "dim"))
        x, times, u = answer["x"], answer["times"], answer["u"]
        rows = sorted({round(k * (len(x) - 1) / (_ROWS - 1)) for k in range(_ROWS)})
        table = Table(
            "x", *(f"t = {time:.4g}" for time in times[:8]), box=None, padding=(0, 2, 0, 0)
        )
        for q in rows:
            table.add_row(f"{x[q]:.4g}", *(f"{values[q]:.6g}" for values in u[:8]))
        self.out.print(Padding(table, (1, 0)))

    def _draw_heat(self, answer: Mapping[str, Any]) -> None:
        x, times, u = answer["x"], answer["times"], answer["u"]
        order = sorted(range(len(x)), key=lambda q: x[q])
        x = [x[q] for q in order]
        u = [[values[q] for q in order] for values in u]
        width = max(20, min(72, self.out.width - 16))
        labels = [f"t = {time:.4g}" for time in times[:8]]
        self._print(curves(x, u[:8], labels, width=width))
        self.out.print()
        coloured = self.out.color_system is not None
        self._print(space_time(x, times, u, width=width, coloured=coloured))

    def _rich_steps(self, steps: Mapping[str, Any]) -> None:
        for section in steps["sections"]:
            self._print(Text(f"\n{section['title']}", "bold"))
            for step in section["steps"]:
                line = Text("  " * (step["depth"] + 1))
                line.append(_CHECKS.get(step["check"], " ") + " ", "green")
                line.append(f"{step['rule']}: ", "dim")
                line.append(step["text"])
                self._print(line)
        for note in steps["notes"]:
            self._print(Text(note, "dim"))

    def _draw_curves(self, sampled: Mapping[str, Any]) -> None:
        series = [c["values"] or [None] * len(sampled["x"]) for c in sampled["curves"]]
        width = max(20, min(72, self.out.width - 16))
        self.out.print()
        self._print(curves(sampled["x"], series, sampled["labels"], width=width))

    def _print(self, text: Text) -> None:
        self.out.print(text, highlight=False)

    # --- for programs ------------------------------------------------------------

    def _plain_extras(self, outcome: Outcome) -> None:
        if outcome.steps is not None:
            for section in outcome.steps["sections"]:
                for step in section["steps"]:
                    name = "latex" if self._form is Form.latex else "text"
                    print(f"{'  ' * (step['depth'] + 1)}{step['rule']}: {step[name]}")

    def _heat_line(self, outcome: Outcome, answer: Mapping[str, Any]) -> None:
        if self._form is not Form.latex:
            print(table_of(answer), end="\n" if self._several else "")
        elif answer["closed_form"]:
            print(answer["closed_form"]["latex"])
        else:
            outcome.missing = "There is no closed form; --csv prints the values."
            self._nothing()


def table_of(answer: Mapping[str, Any]) -> str:
    """CSV as the service writes it: a row a point, x and then u at each time."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["x", *(f"t={time!r}" for time in answer["times"])])
    writer.writerows(zip(answer["x"], *answer["u"], strict=True))
    return out.getvalue()


def _question(task: str, answer: Mapping[str, Any], order: int) -> str:
    understood = answer["input"]
    text, variable = understood["text"], understood["variable"]
    if task == "differentiate":
        times = f"^{order}" if order > 1 else ""
        return text if text.startswith("Derivative(") else f"d{times}/d{variable}{times} [{text}]"
    lower, upper = understood.get("lower"), understood.get("upper")
    bounds = f"[{lower['text']}, {upper['text']}] " if lower and upper else ""
    return f"∫ {bounds}{text} d{variable}"


def _badge(answer: Mapping[str, Any]) -> Text:
    """How sure, how checked, from whom, how long."""
    verification = answer["verification"]
    words, style = _BADGES.get(verification["status"], _BADGES["unsolved"])
    if answer["source"] == "spectral" or "relative_l2" in verification:
        words = words if verification["status"] != "numeric" else "≈ checked against exact values"
    line = Text()
    line.append(words, style)
    line.append(f"  {verification['method']}", "dim")
    model = answer.get("model") or {}
    source = (
        f"Transformer {model.get('name', '')} {model.get('version', '')}"
        if answer["source"] == "model"
        else _SPECTRAL
        if answer["source"] == "spectral"
        else "SymPy"
    )
    line.append(f"\nanswered by {source} in {_duration(answer['timing_ms']['total'])}", "dim")
    if answer["cached"]:
        line.append(", remembered", "dim")
    return line


def _duration(ms: float) -> str:
    return f"{ms / 1000:.1f} s" if ms >= 1000 else f"{ms:.0f} ms"
