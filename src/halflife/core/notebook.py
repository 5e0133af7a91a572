"""HTML and SVG of values in a notebook: static, escaped, light or dark.

Nothing is loaded and no script runs; colours follow the surrounding text.
"""

import html
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import numpy as np

from halflife.core.arrays import Floats

WIDE, HIGH = 480.0, 218.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 12.0, 28.0, 30.0


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as an HTML table; every cell is escaped text.

    >>> table(["a"], [["<b>"]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    names = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    lines = (
        "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) for row in rows
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


def moment(days: float) -> str:
    """Return a time in days since the epoch as readable text.

    >>> moment(19722.75)
    '2023-12-31 18:00 UTC'
    """
    time = datetime.fromtimestamp(round(days * 86400), tz=UTC)
    return f"{time:%Y-%m-%d %H:%M} UTC"


def curve(title: str, x: Floats, mean: Floats, low: Floats, high: Floats) -> str:
    """Return shares over time as an SVG: a line and its band, from 0 to 1."""
    band = _points(x, high) + _points(x, low)[::-1]
    area = f'<path d="M{"L".join(band)}Z" fill="#3a86b7" fill-opacity=".25"/>'
    ends = moment(float(x[0])), moment(float(x[-1]))
    return _draw(title, (area, _stroke(_points(x, mean))), ends)


def line(title: str, x: Floats, y: Floats, ends: tuple[str, str]) -> str:
    """Return shares as an SVG: a line from 0 to 1, with labels at its two ends.

    Values that are not finite are left out.
    """
    finite = np.isfinite(x) & np.isfinite(y)
    return _draw(title, (_stroke(_points(x[finite], y[finite])),), ends)


def _height(y: Floats) -> Floats:
    height: Floats = TOP + (1.0 - np.clip(y, 0.0, 1.0)) * (HIGH - TOP - BOTTOM)
    return height


def _points(x: Floats, y: Floats) -> list[str]:
    if not x.size:
        return []
    begin = float(x[0])
    span = float(x[-1]) - begin or np.inf
    across = LEFT + (x - begin) / span * (WIDE - LEFT - RIGHT)
    pairs = zip(across.tolist(), _height(y).tolist(), strict=True)
    return [f"{a:.1f} {b:.1f}" for a, b in pairs]


def _stroke(points: Sequence[str]) -> str:
    if not points:
        return ""
    return (
        f'<path d="M{"L".join(points)}" fill="none" stroke="#3a86b7" stroke-width="2"/>'
    )


def _draw(title: str, parts: Iterable[str], ends: tuple[str, str]) -> str:
    """Return a chart with a scale from 0 to 1 and labels under its two ends."""
    label = html.escape(title)
    marks = "".join(
        f'<path d="M{LEFT} {y:.1f}H{WIDE - RIGHT}" stroke="currentColor" '
        f'stroke-opacity=".2"/><text x="{LEFT - 6}" y="{y + 4:.1f}" '
        f'text-anchor="end">{level:.1f}</text>'
        for level in (0.0, 0.5, 1.0)
        for y in _height(np.array([level])).tolist()
    )
    first, last = (html.escape(end) for end in ends)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" '
        f'viewBox="0 0 {WIDE:.0f} {HIGH:.0f}" width="{WIDE:.0f}" height="{HIGH:.0f}" '
        'font-family="sans-serif" font-size="11" fill="currentColor">'
        f'<title>{label}</title><text x="{LEFT}" y="14">{label}</text>'
        f"{marks}{''.join(parts)}"
        f'<text x="{LEFT}" y="{HIGH - 10}">{first}</text>'
        f'<text x="{WIDE - RIGHT}" y="{HIGH - 10}" text-anchor="end">'
        f"{last}</text></svg>"
    )
