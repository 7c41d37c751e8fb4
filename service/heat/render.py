"""An answer as a table or as a picture."""

from __future__ import annotations

import csv
import io
from typing import Literal

import numpy as np

from models.heat.boundary import Array

Picture = Literal["png", "svg"]

#: Profiles drawn at most; more times still fill the space–time map.
_PROFILES = 8


def table(x: Array, times: Array, u: Array) -> str:
    """CSV with a row a point: x, then u at each time. Digits read back to the same number."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(["x", *(f"t={time!r}" for time in times.tolist())])
    writer.writerows(zip(x.tolist(), *u.tolist(), strict=True))
    return out.getvalue()


def picture(x: Array, times: Array, u: Array, title: str, kind: Picture) -> bytes:
    """Profiles u(x) at the times asked, and the space–time map of all of them.

    For a worker process: Matplotlib is slow to import and not safe in threads.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - see above
    from matplotlib.figure import Figure  # noqa: PLC0415 - see above

    order = np.argsort(x, kind="stable")
    x, u = x[order], u[:, order]
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    profiles, space_time = figure.subplots(1, 2)
    shown = np.unique(np.linspace(0, len(times) - 1, _PROFILES).astype(int))
    for place, m in enumerate(shown):
        shade = 0.15 + 0.75 * place / max(1, len(shown) - 1)
        profiles.plot(x, u[m], color=(shade, 0.25, 1 - shade), label=f"t = {times[m]:.4g}")
    profiles.set_xlabel("x")
    profiles.set_ylabel("u")
    profiles.grid(alpha=0.3)
    profiles.legend(fontsize="small")
    rank = np.argsort(times, kind="stable")
    rows = [m for at, m in enumerate(rank) if at == 0 or times[m] > times[rank[at - 1]]]
    if len(rows) > 1 and len(np.unique(x)) == len(x):
        mesh = space_time.pcolormesh(x, times[rows], u[rows], shading="gouraud", cmap="inferno")
        if times[rows[0]] > 0 and times[rows[-1]] / times[rows[0]] > 50:
            space_time.set_yscale("log")
        space_time.set_ylabel("t")
    else:
        stripe = np.array([0.0, 1.0])
        mesh = space_time.pcolormesh(
            x, stripe, np.stack([u[rows[0]], u[rows[0]]]), shading="gouraud", cmap="inferno"
        )
        space_time.set_yticks([])
        space_time.set_ylabel(f"t = {times[rows[0]]:.4g}")
    space_time.set_xlabel("x")
    figure.colorbar(mesh, ax=space_time, label="u")
    figure.suptitle(
        title if len(title) <= 90 else title[:87] + "…", fontsize="medium", parse_math=False
    )
    out = io.BytesIO()
    figure.savefig(out, format=kind, dpi=110)
    return out.getvalue()
