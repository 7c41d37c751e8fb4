"""Curves as a picture for ``--plot FILE``."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from service.cli.drawing import visible


def picture(sampled: Mapping[str, Any], title: str, kind: str) -> bytes:
    """A ``kind`` (png, svg) of the curves; ``shade`` is filled between its ends."""
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    x = np.array(sampled["x"])
    series = [curve["values"] or [None] * len(x) for curve in sampled["curves"]]
    low, high = visible(series)
    for number, (label, values) in enumerate(zip(sampled["labels"], series, strict=True)):
        y = np.array([np.nan if value is None else value for value in values])
        # nothing is drawn from one side of a pole to the other
        jumps = (np.abs(np.diff(y)) > high - low) & (np.diff(np.sign(y)) != 0)
        y[1:][jumps] = np.nan
        axes.plot(x, y, label=label, linestyle="--" if number else "-")
        if number == 0 and sampled["shade"]:
            a, b = sampled["shade"]
            ends = sorted((-np.inf if a is None else a, np.inf if b is None else b))
            axes.fill_between(x, y, where=(x >= ends[0]) & (x <= ends[1]), alpha=0.25)
    axes.set_ylim(low, high)
    axes.set_xlabel(sampled["variable"])
    axes.grid(alpha=0.3)
    axes.legend()
    axes.set_title(title if len(title) <= 90 else title[:87] + "…", parse_math=False, fontsize=11)
    out = io.BytesIO()
    figure.savefig(out, format=kind, dpi=120)
    return out.getvalue()
