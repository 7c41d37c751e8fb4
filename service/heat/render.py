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
    rows, label = _rows(times)
    # even spacing both ways, for an image that every format draws alike
    across = np.linspace(x[0], x[-1], 256)
    level, first = np.unique(rows[np.isfinite(rows)], return_index=True)
    first = np.flatnonzero(np.isfinite(rows))[first]
    up = np.linspace(level[0], level[-1], 192)
    wide = np.stack([np.interp(across, x, u[m]) for m in first])
    image = np.stack([np.interp(up, level, column) for column in wide.T], axis=1)
    span = (level[0], level[-1]) if len(level) > 1 else (level[0] - 0.5, level[0] + 0.5)
    mesh = space_time.imshow(
        image, origin="lower", aspect="auto", cmap="inferno", extent=(x[0], x[-1], *span)
    )
    space_time.set_ylabel(label)
    if len(level) == 1:
        space_time.set_yticks(level)
    space_time.set_xlabel("x")
    figure.colorbar(mesh, ax=space_time, label="u")
    figure.suptitle(
        title if len(title) <= 90 else title[:87] + "…", fontsize="medium", parse_math=False
    )
    out = io.BytesIO()
    figure.savefig(out, format=kind, dpi=110)
    return out.getvalue()


def _rows(times: Array) -> tuple[Array, str]:
    """Where each time goes on the map's axis, and its label: logarithms over wide spans."""
    positive = times[times > 0]
    if len(positive) > 1 and positive.max() / positive.min() > 50:
        with np.errstate(divide="ignore"):
            return np.log10(times), "log₁₀ t"  # t = 0 has no place on it
    return times, "t"
