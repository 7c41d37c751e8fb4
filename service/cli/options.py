"""What the commands share: exit codes, choices, options and how arguments are read."""

from __future__ import annotations

import difflib
import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from pydantic import ValidationError
from rich.console import Console
from typer.core import TyperCommand

from service.settings import Settings

#: Exit codes, from good to bad; of several expressions the worst one counts.
SOLVED, UNSOLVED, REFUSED, UNREACHABLE = 0, 1, 2, 3

#: What ``--plot`` takes for a file; a formula does not end like this.
_FILE: Final = re.compile(r"[^.]\.[a-z]{3,4}$", re.IGNORECASE)
PICTURES: Final = (".png", ".svg")
#: Where ``--plot`` without a file draws.
TERMINAL: Final = Path("-")


class EngineName(StrEnum):
    """Who answers."""

    auto = "auto"
    model = "model"
    sympy = "sympy"


class HeatEngine(StrEnum):
    """Who solves the heat equation."""

    auto = "auto"
    model = "model"
    spectral = "spectral"


class Syntax(StrEnum):
    """How to read an expression."""

    auto = "auto"
    text = "text"
    latex = "latex"


class Domain(StrEnum):
    """What the answer of an integral may be."""

    real = "real"
    complex = "complex"


class Kind(StrEnum):
    """Boundary conditions."""

    dirichlet = "dirichlet"
    neumann = "neumann"
    periodic = "periodic"
    mixed = "mixed"


class Contract(StrEnum):
    """What samples stand for."""

    piecewise_linear = "piecewise_linear"
    cell_average = "cell_average"


class QuestionCommand(TyperCommand):
    """A command about formulas, which may begin with a minus: ``calcert differentiate -x^2``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse unknown options, which would else be read as formulas; complete ``--plot``."""
        known = [name for parameter in self.get_params(ctx) for name in parameter.opts]
        options = args[: args.index("--")] if "--" in args else args
        for word in options:
            name = word.partition("=")[0]
            if re.match(r"--[a-z]", word) and name not in known:
                near = difflib.get_close_matches(name, known, 1)
                ctx.fail(f"No such option: {name}" + (f". Did you mean {near[0]}?" if near else ""))
        complete: list[str] = []
        for place, word in enumerate(args):
            complete.append(word)
            following = args[place + 1] if place + 1 < len(args) else ""
            if word == "--plot" and not (following == "-" or _FILE.search(following)):
                complete.append("-")
        return super().parse_args(ctx, complete)


#: The formulas of a question; none or ``-``: one a line from standard input.
Expressions = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[EXPR]...",
        show_default=False,
        help="Formulas, as text or LaTeX; - or none: one a line from standard input.",
    ),
]
VariableOption = Annotated[
    str | None, typer.Option("--variable", help="Absent: the only symbol, else x.")
]
EngineOption = Annotated[
    EngineName, typer.Option("--engine", help="Who answers: auto, model or sympy.")
]
SyntaxOption = Annotated[
    Syntax, typer.Option("--format", help="How to read formulas: auto, text or latex.")
]
TimeoutOption = Annotated[
    float, typer.Option("--timeout", min=0.01, help="Seconds for each formula.")
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print the service's JSON, one object a line.")
]
LatexOption = Annotated[bool, typer.Option("--latex", help="Print LaTeX.")]
StepsOption = Annotated[bool, typer.Option("--steps", help="Show the derivation, step by step.")]
PlotOption = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="[FILE]",
        help="Draw into a .png or .svg file; without a file: in the terminal.",
    ),
]
RangeOption = Annotated[
    tuple[float, float] | None,
    typer.Option("--range", metavar="FROM TO", help="Interval of the plot; -5 5 unless given."),
]
ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server",
        envvar="CALCERT_SERVER",
        metavar="URL",
        help="Ask this service; absent: models are loaded here.",
    ),
]
KeyOption = Annotated[
    str | None,
    typer.Option("--key", envvar="CALCERT_KEY", help="Key of the service, where it needs one."),
]


def error_console() -> Console:
    """What is not an answer goes to standard error."""
    return Console(stderr=True, soft_wrap=True)


def settings_of(**given: Any) -> Settings:
    """The settings; a wrong one is named and ends the command."""
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        for fault in error.errors():
            name = str(fault["loc"][0]) if fault["loc"] else ""
            error_console().print(
                f"[red]CALCERT_{name.upper()}[/]: {fault['msg']}", highlight=False
            )
        raise typer.Exit(REFUSED) from None
