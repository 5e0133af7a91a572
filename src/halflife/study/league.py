"""The league as a picture: freshness against budget, a line for each policy.

Both scales are logarithmic, that of freshness in what is missing to 100 %: there
the lines are nearly straight, and the upper end is not squeezed together.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from halflife.core.arrays import Floats
from halflife.study.axes import Axis
from halflife.study.svg import element, number, text

Row: TypeAlias = Mapping[str, Any]

WIDTH, HEIGHT = 860.0, 660.0
LEFT, RIGHT, TOP, BOTTOM = 78.0, 226.0, 46.0, 606.0
LABEL_LINE = 15.0  # px between the names at the right
TICK_LINE = 17.0  # px at least between the marks of the scale at the left
HIGHEST = 0.999  # freshness; higher values are drawn there
LEVELS = (
    0.3,
    0.5,
    0.6,
    0.7,
    0.8,
    0.85,
    0.9,
    0.93,
    0.95,
    0.97,
    0.98,
    0.99,
    0.995,
    0.999,
)
# The emphasised policies, and their places in the palette.
TONES = {"champion": 1, "uniform": 0, "nutch-adaptive": 3, "oracle": 2}
BOUNDS = {"blind": "B0 blind", "told": "B1 told", "hindsight": "B2 hindsight"}
GREY = 6
TITLE = "How much of the copy is current, by the requests spent"
STYLE = (
    ".chart .ground{fill:var(--ground)}"
    ".chart .thin{stroke-width:1;stroke-opacity:.65}"
    ".chart .strong{stroke-width:2.6}"
    ".chart .bound{stroke-width:1.3;stroke-dasharray:6 4}"
    ".chart .leader{fill:none;stroke:currentColor;stroke-width:.6;stroke-opacity:.6}"
    ".chart text.bold{font-weight:600;fill:currentColor}"
    ".chart text.title{font-size:15px;font-weight:600}"
)


@dataclass(frozen=True, slots=True)
class _Curve:
    """One line of the picture, in px, and how it is drawn."""

    name: str
    x: Floats
    y: Floats
    kind: str
    tone: int


def picture(rows: Sequence[Row]) -> str:
    """Return the league as an ``<svg>`` that can stand alone in a file."""
    shares = sorted({float(row["budget"]) for row in rows})
    across, upwards = _budgets(shares), _levels(rows)
    curves = _curves(rows, shares, across, upwards)
    drawn = [
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{number(WIDTH)}" height="{number(HEIGHT)}"/>',
        f'<text class="title" x="{number(LEFT)}" y="24">{TITLE}</text>',
        *_grid(across, upwards),
        *(line for curve in curves for line in _line(curve)),
        *_names(curves),
    ]
    about = f"Freshness of {len({r['policy'] for r in rows})} policies by budget."
    return element("league", TITLE, about, drawn, size=(WIDTH, HEIGHT), styled=True)


def _budgets(shares: Sequence[float]) -> Axis:
    low, high = math.log(min(shares)), math.log(max(shares))
    room = 0.04 * (high - low) or 1.0
    ticks = tuple((math.log(s), f"{100 * s:g} %") for s in shares)
    label = "fetches a day, as a share of the pages"
    return Axis(label, low - room, high + room, ticks)


def _levels(rows: Sequence[Row]) -> Axis:
    means = [row["freshness"]["mean"] for row in rows]
    values = _missing(np.array([*means, *(row[b] for row in rows for b in BOUNDS)]))
    low, high = float(values.min()), float(values.max())
    room = 0.03 * (high - low) or 0.1
    axis = Axis("copies that are current (mean over time)", low - room, high + room, ())
    ticks, last = [], math.inf
    for level in LEVELS:
        up = _missing(np.array([level]))
        (y,) = axis.place(up, BOTTOM, TOP).tolist()
        if TOP <= y <= min(BOTTOM, last - TICK_LINE):
            ticks.append((float(up[0]), f"{100 * level:g} %"))
            last = y
    return replace(axis, ticks=tuple(ticks))


def _missing(freshness: Floats) -> Floats:
    """Return the height of a freshness f on the scale: -log(1 - f)."""
    up: Floats = -np.log(np.clip(1.0 - freshness, 1.0 - HIGHEST, 1.0))
    return up


def _curves(
    rows: Sequence[Row], shares: Sequence[float], across: Axis, upwards: Axis
) -> list[_Curve]:
    """Return all lines, emphasised ones last."""
    lines: dict[str, dict[float, float]] = {}
    for row in rows:
        mean = float(row["freshness"]["mean"])
        lines.setdefault(row["policy"], {})[float(row["budget"])] = mean
        for bound, name in BOUNDS.items():
            lines.setdefault(name, {})[float(row["budget"])] = float(row[bound])
    curves = []
    for name, line in lines.items():
        at = np.array([s for s in shares if s in line])
        level = np.array([line[s] for s in at.tolist()])
        x = across.place(np.log(at), LEFT, WIDTH - RIGHT)
        y = upwards.place(_missing(level), BOTTOM, TOP)
        kind = (
            "bound"
            if name in BOUNDS.values()
            else "strong"
            if name in TONES
            else "thin"
        )
        curves.append(_Curve(name, x, y, kind, TONES.get(name, GREY)))
    return sorted(curves, key=lambda c: ("thin", "bound", "strong").index(c.kind))


def _grid(across: Axis, upwards: Axis) -> Iterator[str]:
    right = number(WIDTH - RIGHT)
    for value, label in upwards.ticks:
        (y,) = upwards.place(np.array([value]), BOTTOM, TOP).tolist()
        yield f'<path class="grid" d="M{number(LEFT)} {number(y)}H{right}"/>'
        x, below = number(LEFT - 7), number(y + 4)
        yield f'<text class="end" x="{x}" y="{below}">{label}</text>'
    yield f'<path class="frame" d="M{number(LEFT)} {number(BOTTOM)}H{right}"/>'
    for value, label in across.ticks:
        x = number(float(across.place(np.array([value]), LEFT, WIDTH - RIGHT)[0]))
        yield f'<path class="frame" d="M{x} {number(BOTTOM)}v4"/>'
        below = number(BOTTOM + 18)
        yield f'<text class="middle" x="{x}" y="{below}">{label}</text>'
    x, below = number((LEFT + WIDTH - RIGHT) / 2), number(BOTTOM + 40)
    yield f'<text class="middle" x="{x}" y="{below}">{across.label}</text>'
    high = number((TOP + BOTTOM) / 2)
    yield (
        f'<text class="middle" transform="translate(18 {high}) rotate(-90)">'
        f"{upwards.label}</text>"
    )


def _line(curve: _Curve) -> Iterator[str]:
    points = [
        f"{number(x)} {number(y)}"
        for x, y in zip(curve.x.tolist(), curve.y.tolist(), strict=True)
    ]
    yield f'<path class="line {curve.kind} t{curve.tone}" d="M{"L".join(points)}"/>'
    if curve.kind == "strong":
        for point in points:
            x, y = point.split()
            yield f'<circle class="dot t{curve.tone}" cx="{x}" cy="{y}" r="3.4"/>'


def _names(curves: Sequence[_Curve]) -> Iterator[str]:
    """Yield each line's name at its right end, moved so that names do not overlap."""
    ordered = sorted(curves, key=lambda c: (float(c.y[-1]), c.name))
    wanted = np.array([float(c.y[-1]) for c in ordered])
    for curve, y in zip(ordered, spread(wanted, LABEL_LINE).tolist(), strict=True):
        begin, beside = float(curve.x[-1]), WIDTH - RIGHT + 34
        yield (
            f'<path class="leader t{curve.tone}" d="M{number(begin + 4)} '
            f"{number(float(curve.y[-1]))}L{number(beside - 14)} {number(y)}"
            f'H{number(beside - 4)}"/>'
        )
        kind = "bold " if curve.kind == "strong" else ""
        yield (
            f'<text class="{kind}t{curve.tone}" x="{number(beside)}" '
            f'y="{number(y + 4)}">{text(curve.name)}</text>'
        )


def spread(wanted: Floats, apart: float) -> Floats:
    """Return places in the same order, at least ``apart``, near the wanted ones.

    Least squares under the order: after the steps are subtracted, neighbours that are
    out of order are pooled (isotonic regression).

    >>> spread(np.array([10.0, 10.0, 50.0]), 4.0)
    array([ 8., 12., 50.])
    """
    steps = apart * np.arange(wanted.size)
    pools: list[tuple[float, int]] = []
    for value in (wanted - steps).tolist():
        pools.append((value, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (b, m), (a, n) = pools.pop(), pools.pop()
            pools.append(((a * n + b * m) / (n + m), n + m))
    level = np.concatenate([np.full(n, v) for v, n in pools]) if pools else wanted
    placed: Floats = level + steps
    return placed
