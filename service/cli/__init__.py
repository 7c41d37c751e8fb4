"""The command ``calcert``."""

from __future__ import annotations

import socket
from importlib import import_module
from typing import Annotated

import typer

from service import version
from service.cli.options import REFUSED, error_console, settings_of
from service.cli.questions import add_questions
from service.settings import Settings

app = typer.Typer(
    help="Calculus with a certificate: Transformers answer, SymPy proves.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
add_questions(app)


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="TCP port; 8000 unless set.")] = None,
) -> None:
    """Serve over HTTP. Everything else is set by CALCERT_ environment variables."""
    from service.allocator import bound_memory

    bound_memory()  # what is imported next starts threads
    from service import server

    settings = settings_of(host=host, port=port)
    _refuse_taken_port(settings)
    error_console().print(
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
            error_console().print(
                f"[red]Cannot listen on {settings.host}:{settings.port}[/]: {error.strerror}.\n"
                f"Another port: calcert serve --port {settings.port + 1}",
                highlight=False,
            )
            raise typer.Exit(REFUSED) from None


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
            error_console().print(
                f"`calcert {name}` needs the package {error.name}: pip install '.[cpu,train]'",
                markup=False,
            )
            raise typer.Exit(REFUSED) from None


_delegate("train", "models.cli", "Train a model.")
_delegate("export", "models.cli", "Export a trained model to ONNX.")
_delegate("evaluate", "service.evaluation.cli", "Measure a task and write the tables.")
