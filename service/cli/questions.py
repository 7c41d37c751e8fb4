"""The commands that ask: differentiate, integrate, heat."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.cli.options import (
    PICTURES,
    REFUSED,
    TERMINAL,
    Contract,
    Domain,
    EngineName,
    EngineOption,
    Expressions,
    HeatEngine,
    JsonOption,
    KeyOption,
    Kind,
    LatexOption,
    PlotOption,
    QuestionCommand,
    RangeOption,
    ServerOption,
    StepsOption,
    Syntax,
    SyntaxOption,
    TimeoutOption,
    VariableOption,
    error_console,
)

if TYPE_CHECKING:
    from service.cli.asking import Question

_EPILOG = (
    "Exits with 0 when every formula has an answer, 1 when one has none that could be verified, "
    "2 when one was not understood, 3 when the service cannot be reached; the worst one counts."
)


def add_questions(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    for name, command in (
        ("differentiate", differentiate),
        ("integrate", integrate),
        ("heat", heat),
    ):
        app.command(
            name,
            cls=QuestionCommand,
            epilog=_EPILOG,
            context_settings={"ignore_unknown_options": True},
        )(command)


def differentiate(
    expressions: Expressions = None,
    variable: VariableOption = None,
    order: Annotated[
        int | None, typer.Option(min=1, max=10, show_default="1", help="How many times.")
    ] = None,
    engine: EngineOption = EngineName.auto,
    syntax: SyntaxOption = Syntax.auto,
    timeout_s: TimeoutOption = 10.0,
    as_json: JsonOption = False,
    as_latex: LatexOption = False,
    steps: StepsOption = False,
    plot: PlotOption = None,
    interval: RangeOption = None,
    server: ServerOption = None,
    key: KeyOption = None,
) -> None:
    """Differentiate formulas, each answer verified."""
    fields = {"variable": variable, "order": order, "engine": engine.value}
    _run(
        "differentiate",
        _questions(expressions, {**fields, "format": syntax.value, "timeout_s": timeout_s}),
        as_json=as_json,
        as_latex=as_latex,
        steps=steps,
        plot=plot,
        interval=interval,
        server=server,
        key=key,
    )


def integrate(
    expressions: Expressions = None,
    variable: VariableOption = None,
    lower: Annotated[
        str | None,
        typer.Option("--from", "--lower", help="Lower bound of a definite integral; -oo works."),
    ] = None,
    upper: Annotated[str | None, typer.Option("--to", "--upper", help="Upper bound.")] = None,
    engine: EngineOption = EngineName.auto,
    domain: Annotated[
        Domain, typer.Option(help="real: an answer is real where the integrand is.")
    ] = Domain.real,
    beam: Annotated[
        int | None, typer.Option(min=1, max=64, help="Hypotheses of the first round.")
    ] = None,
    syntax: SyntaxOption = Syntax.auto,
    timeout_s: TimeoutOption = 10.0,
    as_json: JsonOption = False,
    as_latex: LatexOption = False,
    steps: StepsOption = False,
    plot: PlotOption = None,
    interval: RangeOption = None,
    server: ServerOption = None,
    key: KeyOption = None,
) -> None:
    """Integrate formulas, between bounds or without, each answer verified."""
    fields = {
        "variable": variable,
        "lower": lower,
        "upper": upper,
        "engine": engine.value,
        "domain": domain.value,
        "beam": beam,
    }
    _run(
        "integrate",
        _questions(expressions, {**fields, "format": syntax.value, "timeout_s": timeout_s}),
        as_json=as_json,
        as_latex=as_latex,
        steps=steps,
        plot=plot,
        interval=interval,
        server=server,
        key=key,
    )


def heat(
    expressions: Expressions = None,
    times: Annotated[
        list[str] | None,
        typer.Option(
            help="Times, separated by commas or given several times.",
            show_default="0.01,0.02,0.05,0.1",
        ),
    ] = None,
    alpha: Annotated[str, typer.Option(help="Diffusivity.")] = "1",
    length: Annotated[str, typer.Option(help="Length of the interval.")] = "1",
    boundary: Annotated[
        Kind,
        typer.Option(help="At the ends: dirichlet (values), neumann (slopes), periodic or mixed."),
    ] = Kind.dirichlet,
    left: Annotated[
        str | None,
        typer.Option(help="Value or slope on the left, 0 unless given; mixed: u=0 or u_x=0."),
    ] = None,
    right: Annotated[str | None, typer.Option(help="The same on the right.")] = None,
    source: Annotated[str, typer.Option(help="Source term in x and t.")] = "0",
    points: Annotated[int, typer.Option(min=2, max=4097, help="Points, both ends included.")] = 129,
    samples: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Initial values in place of a formula: numbers, or lines with x and u; - reads "
            "standard input.",
        ),
    ] = None,
    contract: Annotated[
        Contract, typer.Option(help="What samples stand for: piecewise_linear or cell_average.")
    ] = Contract.piecewise_linear,
    engine: Annotated[
        HeatEngine, typer.Option(help="Who answers: auto, model or spectral.")
    ] = HeatEngine.auto,
    syntax: SyntaxOption = Syntax.auto,
    timeout_s: TimeoutOption = 10.0,
    as_json: JsonOption = False,
    as_latex: Annotated[
        bool, typer.Option("--latex", help="Print the closed form in LaTeX.")
    ] = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print a table: x, then u at each time.")
    ] = False,
    plot: PlotOption = None,
    server: ServerOption = None,
    key: KeyOption = None,
) -> None:
    """Solve the heat equation u_t = alpha u_xx + source from initial conditions u(x, 0)."""
    ends = {"kind": boundary.value, "left": left, "right": right}
    fields: dict[str, Any] = {
        "times": [
            one.strip()
            for given in times or ["0.01,0.02,0.05,0.1"]
            for one in given.split(",")
            if one.strip()
        ],
        "alpha": alpha,
        "length": length,
        "boundary": {name: value for name, value in ends.items() if value is not None},
        "points": points,
        "source_term": source,
        "contract": contract.value,
        "engine": engine.value,
        "format": syntax.value,
        "timeout_s": timeout_s,
    }
    if samples is None:
        questions = _questions(expressions, fields, name="initial_condition")
    else:
        if expressions:
            _refuse("Give a formula or --samples, not both.")
        from service.cli.asking import Question

        body = {"initial_condition": read_samples(samples), **fields}
        questions = [Question(str(samples), body)]
    _run(
        "heat",
        questions,
        as_json=as_json,
        as_latex=as_latex,
        as_csv=as_csv,
        plot=plot,
        server=server,
        key=key,
    )


def _run(
    task: str,
    questions: Sequence[Question],
    *,
    as_json: bool,
    as_latex: bool,
    as_csv: bool = False,
    steps: bool = False,
    plot: Path | None = None,
    interval: tuple[float, float] | None = None,
    server: str | None,
    key: str | None,
) -> None:
    from service.cli.asking import Extras, run
    from service.cli.show import Form

    chosen = [
        form
        for form, given in ((Form.json, as_json), (Form.latex, as_latex), (Form.csv, as_csv))
        if given
    ]
    if len(chosen) > 1:
        _refuse("Choose one of " + ", ".join(f"--{form.value}" for form in chosen) + ".")
    form = chosen[0] if chosen else Form.rich if sys.stdout.isatty() else Form.text
    if plot is not None and plot != TERMINAL:
        if plot.suffix.lower() not in PICTURES:
            _refuse(f"--plot draws .png and .svg, not {plot.name}.")
        if len(questions) > 1:
            _refuse("--plot FILE is for one formula.")
        if not plot.resolve().parent.is_dir():
            _refuse(f"There is no folder {plot.parent}.")
    if interval is not None and not interval[0] < interval[1]:
        _refuse("--range: the first end must be less than the second.")
    code = run(task, questions, form, Extras(steps, plot, interval), server=server, key=key)
    if code:
        raise typer.Exit(code)


def _questions(
    expressions: list[str] | None, fields: dict[str, Any], name: str = "expression"
) -> list[Question]:
    """One question a formula; those of standard input know their line."""
    from service.cli.asking import Question

    given = {field: value for field, value in fields.items() if value is not None}
    if expressions and expressions != ["-"]:
        return [Question(one, {name: one, **given}) for one in expressions]
    if sys.stdin.isatty() and not expressions:
        _refuse("Give a formula, or - to read formulas from standard input; --help tells more.")
    lines = [line.strip() for line in sys.stdin.read().removeprefix("\ufeff").splitlines()]
    questions = [
        Question(line, {name: line, **given}, number)
        for number, line in enumerate(lines, 1)
        if line
    ]
    if not questions:
        _refuse("There is no formula on standard input.")
    return questions


def read_samples(path: Path) -> list[float] | dict[str, list[float]]:
    """Numbers of a file: values, or x and u where each line has two; a heading is skipped."""
    try:
        text = sys.stdin.read() if path == TERMINAL else path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        _refuse(f"{path} cannot be read: {error}")
    rows: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.replace(",", " ").replace(";", " ").split()
        try:
            row = [float(word) for word in words]
        except ValueError:
            if rows or number > 1:
                _refuse(f"{path}, line {number}: not numbers: {line[:60]!r}")
            continue
        if row:
            rows.append(row)
    if not rows:
        _refuse(f"There are no numbers in {path}.")
    if len(rows) > 1 and all(len(row) == 2 for row in rows):
        x, u = zip(*rows, strict=True)
        return {"x": list(x), "u": list(u)}
    return [value for row in rows for value in row]


def _refuse(message: str) -> Any:
    error_console().print(message, markup=False, highlight=False)
    raise typer.Exit(REFUSED)
