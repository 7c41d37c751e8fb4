"""Curves and a space–time map drawn with characters, for terminals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from rich.text import Text

Values = Sequence[float | None]

#: Colours of curves, in order.
CURVES: Final = ("bright_blue", "yellow", "green", "magenta", "cyan", "red", "white", "bright_red")
#: The dots of a Braille character by column and row, from U+2800 (Unicode, "Braille Patterns").
_DOTS: Final = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
#: viridis at nine places: even in lightness and safe for the colour-blind.
_SHADES: Final = (
    (68, 1, 84),
    (71, 45, 123),
    (59, 82, 139),
    (44, 114, 142),
    (33, 145, 140),
    (40, 174, 128),
    (94, 201, 98),
    (173, 220, 48),
    (253, 231, 37),
)
#: The same without colours.
_GREYS: Final = " ░▒▓█"


def visible(curves: Sequence[Values]) -> tuple[float, float]:
    """A range that shows the curves and not only their poles."""
    finite = sorted(v for curve in curves for v in curve if v is not None and math.isfinite(v))
    if not finite:
        return -1.0, 1.0
    near, far = finite[len(finite) // 20], finite[min(len(finite) - 1, 19 * len(finite) // 20)]
    spread = (far - near) or abs(far) or 1.0
    low, high = max(finite[0], near - 1.5 * spread), min(finite[-1], far + 1.5 * spread)
    pad = 0.04 * (high - low) or 0.5 * abs(high) or 1.0
    return low - pad, high + pad


def curves(
    x: Sequence[float],
    series: Sequence[Values],
    labels: Sequence[str],
    *,
    width: int = 72,
    height: int = 16,
) -> Text:
    """Curves over ``x`` (increasing) with the ends of both axes, and a legend."""
    low, high = visible(series)
    dots = [[0] * width for _ in range(height)]
    owner: list[list[int]] = [[0] * width for _ in range(height)]
    for number, values in enumerate(series):
        for column, row in _trace(x, values, (low, high), 2 * width, 4 * height):
            dots[row // 4][column // 2] |= _DOTS[column % 2][row % 4]
            owner[row // 4][column // 2] = number
    names = [f"{high:.4g}", f"{low:.4g}"]
    margin = max(map(len, names)) + 1
    drawn = Text()
    for row in range(height):
        name = names[0] if row == 0 else names[1] if row == height - 1 else ""
        drawn.append(f"{name:>{margin}} ", "dim")
        for column in range(width):
            if dots[row][column]:
                style = CURVES[owner[row][column] % len(CURVES)]
                drawn.append(chr(0x2800 + dots[row][column]), style)
            else:
                drawn.append(" ")
        drawn.append("\n")
    left, right = f"{x[0]:.4g}", f"{x[-1]:.4g}"
    drawn.append(" " * (margin + 1) + left + right.rjust(width - len(left)) + "\n", "dim")
    drawn.append(" " * (margin + 1))
    for number, label in enumerate(labels):
        drawn.append("━ ", CURVES[number % len(CURVES)])
        drawn.append(label + "   ")
    return drawn


def _trace(
    x: Sequence[float], values: Values, span: tuple[float, float], columns: int, rows: int
) -> list[tuple[int, int]]:
    """The dots (column, row) of one curve; nothing joins the sides of a pole."""
    low, high = span
    width = (x[-1] - x[0]) or 1.0
    found: list[tuple[int, int]] = []
    before: tuple[int, int] | None = None
    for place, value in zip(x, values, strict=True):
        if value is None or not low <= value <= high:
            before = None
            continue
        column = min(columns - 1, int((place - x[0]) / width * columns))
        row = min(rows - 1, int((high - value) / (high - low) * rows))
        if before is None:
            found.append((column, row))
        else:
            steps = max(abs(column - before[0]), abs(row - before[1]), 1)
            found += [
                (
                    before[0] + round((column - before[0]) * k / steps),
                    before[1] + round((row - before[1]) * k / steps),
                )
                for k in range(1, steps + 1)
            ]
        before = (column, row)
    return found


def space_time(
    x: Sequence[float],
    times: Sequence[float],
    u: Sequence[Sequence[float]],
    *,
    width: int = 72,
    coloured: bool = True,
) -> Text:
    """u as shades: a line a time, x from left to right, and a scale."""
    low, high = min(map(min, u)), max(map(max, u))
    names = [f"t = {time:.4g}" for time in times]
    margin = max(map(len, names)) + 1
    drawn = Text()
    for name, values in zip(names, u, strict=True):
        drawn.append(f"{name:>{margin}} ", "dim")
        for column in range(width):
            value = _at(x, values, x[0] + (x[-1] - x[0]) * (column + 0.5) / width)
            _shade(drawn, (value - low) / ((high - low) or 1.0), coloured)
        drawn.append("\n")
    scale = 24
    drawn.append(" " * (margin + 1) + f"{low:.4g} ", "dim")
    for step in range(scale):
        _shade(drawn, step / (scale - 1), coloured)
    drawn.append(f" {high:.4g}", "dim")
    return drawn


def _at(x: Sequence[float], values: Sequence[float], place: float) -> float:
    """Linear interpolation."""
    after = next((k for k in range(1, len(x)) if x[k] >= place), len(x) - 1)
    share = (place - x[after - 1]) / ((x[after] - x[after - 1]) or 1.0)
    return values[after - 1] + min(1.0, max(0.0, share)) * (values[after] - values[after - 1])


def _shade(drawn: Text, share: float, coloured: bool) -> None:
    share = min(1.0, max(0.0, share))
    if not coloured:
        drawn.append(_GREYS[round(share * (len(_GREYS) - 1))])
        return
    place = share * (len(_SHADES) - 1)
    below = min(len(_SHADES) - 2, int(place))
    red, green, blue = (
        round(a + (b - a) * (place - below))
        for a, b in zip(_SHADES[below], _SHADES[below + 1], strict=True)
    )
    drawn.append("█", f"rgb({red},{green},{blue})")
