"""``python -m service.cli`` is the command ``calcert``."""

from __future__ import annotations

from service.cli import app

app(prog_name="calcert")
