"""How values show themselves in a notebook: static, escaped, light or dark.

Nothing is loaded and no script runs; colours follow the text around.
"""

import html
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import numpy as np

from halflife.arrays import Floats

WIDE, HIGH = 480.0, 200.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 12.0, 10.0, 30.0


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as a table; whatever they hold is only text.

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
    """Return a time in days since the epoch for people.

    >>> moment(19722.75)
    '2023-12-31 18:00 UTC'
    """
    said = datetime.fromtimestamp(round(days * 86400), tz=UTC)
    return f"{said:%Y-%m-%d %H:%M} UTC"


def curve(title: str, x: Floats, mean: Floats, low: Floats, high: Floats) -> str:
    """Return shares over time as an SVG: a line within its band, from 0 to 1."""
    span = float(x[-1] - x[0]) if x.size > 1 else 1.0
    across = LEFT + (x - x[0]) / (span or 1.0) * (WIDE - LEFT - RIGHT)

    def up(y: Floats) -> Floats:
        height: Floats = TOP + (1.0 - np.clip(y, 0.0, 1.0)) * (HIGH - TOP - BOTTOM)
        return height

    def points(y: Floats) -> list[str]:
        pairs = zip(across.tolist(), up(y).tolist(), strict=True)
        return [f"{a:.1f} {b:.1f}" for a, b in pairs]

    band = "M" + "L".join(points(high) + points(low)[::-1]) + "Z"
    said = html.escape(title)
    marks = "".join(
        f'<path d="M{LEFT} {y:.1f}H{WIDE - RIGHT}" stroke="currentColor" '
        f'stroke-opacity=".2"/><text x="{LEFT - 6}" y="{y + 4:.1f}" '
        f'text-anchor="end">{level:.1f}</text>'
        for level in (0.0, 0.5, 1.0)
        for y in up(np.array([level])).tolist()
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{said}" '
        f'viewBox="0 0 {WIDE:.0f} {HIGH:.0f}" width="{WIDE:.0f}" height="{HIGH:.0f}" '
        'font-family="sans-serif" font-size="11" fill="currentColor">'
        f"<title>{said}</title>{marks}"
        f'<path d="{band}" fill="#3a86b7" fill-opacity=".25"/>'
        f'<path d="M{"L".join(points(mean))}" fill="none" stroke="#3a86b7" '
        'stroke-width="2"/>'
        f'<text x="{LEFT}" y="{HIGH - 10}">{moment(float(x[0]))}</text>'
        f'<text x="{WIDE - RIGHT}" y="{HIGH - 10}" text-anchor="end">'
        f"{moment(float(x[-1]))}</text></svg>"
    )
