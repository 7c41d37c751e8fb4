"""The command ``calcert``."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from enum import StrEnum
from importlib import import_module
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.console import Console

from service import version
from service.settings import Settings

app = typer.Typer(
    help="Calculus with a certificate: Transformers answer, SymPy proves.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
_out = Console()
_err = Console(stderr=True)

#: Exit codes: the answer was found; there is none; the question or the set-up is wrong.
UNSOLVED, REFUSED = 1, 2


class EngineName(StrEnum):
    """Who answers."""

    auto = "auto"
    model = "model"
    sympy = "sympy"


class Syntax(StrEnum):
    """How to read an expression."""

    auto = "auto"
    text = "text"
    latex = "latex"


def _settings(**given: Any) -> Settings:
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        for fault in error.errors():
            name = str(fault["loc"][0]) if fault["loc"] else ""
            _err.print(f"[red]CALCERT_{name.upper()}[/]: {fault['msg']}", highlight=False)
        raise typer.Exit(REFUSED) from None


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="TCP port; 8000 unless set.")] = None,
) -> None:
    """Serve over HTTP. Everything else is set by CALCERT_ environment variables."""
    from service import server

    settings = _settings(host=host, port=port)
    _refuse_taken_port(settings)
    _err.print(
        f"Calcert {version()} on [bold]http://{settings.host}:{settings.port}[/] "
        f"(interactive documentation at /docs; Ctrl-C stops)",
        highlight=False,
    )
    server.run(settings)


def _refuse_taken_port(settings: Settings) -> None:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            _err.print(
                f"[red]Cannot listen on {settings.host}:{settings.port}[/]: {error.strerror}.\n"
                f"Another port: calcert serve --port {settings.port + 1}",
                highlight=False,
            )
            raise typer.Exit(REFUSED) from None


@app.command()
def differentiate(
    expression: Annotated[str, typer.Argument(help="A formula, as text or LaTeX.")],
    variable: Annotated[str | None, typer.Option(help="Absent: the only symbol, else x.")] = None,
    order: Annotated[int, typer.Option(min=1, max=10, help="How many times.")] = 1,
    engine: Annotated[EngineName, typer.Option(help="Who answers.")] = EngineName.auto,
    syntax: Annotated[
        Syntax, typer.Option("--format", help="How to read the expression.")
    ] = Syntax.auto,
    timeout_s: Annotated[float, typer.Option("--timeout", min=0.01, help="Seconds.")] = 10.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the service's JSON.")] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX.")] = False,
) -> None:
    """Differentiate an expression here, without a server.

    Exits with 0 for an answer, 1 when nothing could be verified, 2 when the
    question was not understood.
    """
    from service.metrics import Metrics
    from service.problems import Problem
    from service.resources import open_resources
    from service.schemas import DifferentiateRequest, Solved, Unsolved
    from service.solvers.differentiate import differentiate as solve
    from service.solvers.differentiate import understand
    from tokenizer.errors import ParseError

    settings = _settings(workers=1)

    async def answer() -> Solved | Unsolved:
        request = DifferentiateRequest(
            expression=expression,
            variable=variable,
            order=order,
            format=syntax.value,
            engine=engine.value,
            timeout_s=timeout_s,
        )
        understand(request)  # a mistake should not wait until the models are loaded
        async with open_resources(settings, Metrics()) as resources:
            return await solve(request, resources)

    try:
        found = asyncio.run(answer())
    except (Problem, ParseError) as error:
        problem = error if isinstance(error, Problem) else Problem.from_parse_error(error)
        _print_problem(problem, as_json)
        raise typer.Exit(REFUSED) from None
    except ValidationError as error:
        for fault in error.errors():
            _err.print(f"[red]{fault['loc'][0]}[/]: {fault['msg']}", highlight=False)
        raise typer.Exit(REFUSED) from None
    _print_answer(found.model_dump(), as_json=as_json, as_latex=as_latex)
    if found.status == "unsolved":
        raise typer.Exit(UNSOLVED)


def _print_problem(problem: object, as_json: bool) -> None:
    from service.problems import Problem

    assert isinstance(problem, Problem)
    if as_json:
        print(json.dumps(problem.body()))
        return
    _err.print(f"[red]{problem.title}:[/] ", end="", highlight=False)
    _err.print(problem.detail, markup=False, highlight=False)
    for name in ("caret", "hint"):
        if problem.extra.get(name):
            _err.print(problem.extra[name], markup=False, highlight=False)


def _print_answer(found: dict[str, object], *, as_json: bool, as_latex: bool) -> None:
    answer, verification = found["answer"], found["verification"]
    if as_json:
        print(json.dumps(found))
        return
    if not isinstance(answer, dict) or not isinstance(verification, dict):
        _err.print(f"[yellow]not solved[/]: {found['reason']}", highlight=False)
        return
    if as_latex or not sys.stdout.isatty():
        print(answer["latex" if as_latex else "text"])
        return
    _out.print(answer["text"], style="bold", markup=False, highlight=False)
    _out.print(
        f"[green]{verification['status']}[/] by {verification['method']}, "
        f"answered by {found['source']}",
        highlight=False,
    )


def _delegate(name: str, module: str, summary: str) -> None:
    """Add the command ``name`` of another module, which is loaded when it is used."""

    @app.command(
        name,
        help=f"{summary} Needs the train extra.",
        context_settings={
            "allow_extra_args": True,
            "ignore_unknown_options": True,
            "help_option_names": [],
        },
    )
    def delegate(context: typer.Context) -> None:
        try:
            commands = import_module(module).app
            commands([name, *context.args], prog_name="calcert")
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] in {"calcert", "models", "service"}:
                raise
            _err.print(
                f"`calcert {name}` needs the package {error.name}: "
                "pip install 'calcert[cpu,train]'",
                markup=False,
            )
            raise typer.Exit(REFUSED) from None


_delegate("train", "models.cli", "Train a model.")
_delegate("export", "models.cli", "Export a trained model to ONNX.")
_delegate("evaluate", "service.evaluation.cli", "Measure a task and write the tables.")

if __name__ == "__main__":
    app()
