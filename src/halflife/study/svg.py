"""A small writer of SVG: charts with axes, grid and legend, as text.

Every chart has a ``<title>`` and a ``<desc>``. Colours are classes (``t0`` ... ``t6``)
that ``STYLE`` defines for light and dark themes, so a chart follows the theme of its
page. Text is escaped; numbers are always finite.
"""

import html
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from halflife.core.arrays import Bools, Floats
from halflife.study.axes import Axis
from halflife.study.marks import BandMark, Bars, LineMark, Mark, Points

WIDTH, HEIGHT = 640.0, 340.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 16.0, 12.0, 46.0
LEGEND_LINE = 19.0
CHARACTER = 6.7  # px; the width of an average letter at 12 px
FAR = 1e5  # px; nothing is drawn farther away than this

# Okabe and Ito's colours, which people with colour-blindness can distinguish, and
# lighter ones of the same hues for a dark background. The last is neutral.
LIGHT = ("#0072b2", "#d55e00", "#00785a", "#a5548a", "#8a6100", "#3a86b7", "#5b6470")
DARK = ("#56b4e9", "#ff9a4d", "#3fd0a4", "#e6a3cc", "#e6c35c", "#9ecbff", "#a9b1bb")
DASHES = ("", "6 4", "2 3", "9 3 2 3")
TONES = len(LIGHT)

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _tones(colours: Sequence[str]) -> str:
    return "".join(
        f".chart .t{k}{{color:{colour}}}" for k, colour in enumerate(colours)
    )


STYLE = (
    ".chart{color-scheme:light dark;font:12px system-ui,sans-serif;max-width:100%;"
    "height:auto;--ink:#24292f;--grid:#d8dee4;--ground:#fff}"
    ".chart text{fill:var(--ink)}"
    ".chart .grid{stroke:var(--grid);stroke-width:1}"
    ".chart .frame{stroke:var(--ink);stroke-width:1;fill:none}"
    ".chart .line{fill:none;stroke:currentColor;stroke-width:2;"
    "stroke-linejoin:round}"
    ".chart .band{fill:currentColor;fill-opacity:.18;stroke:none}"
    ".chart .bar{fill:currentColor;fill-opacity:.45;stroke:none}"
    ".chart .dot{fill:currentColor;stroke:var(--ground);stroke-width:.7}"
    ".chart .ring{fill:var(--ground);stroke:currentColor;stroke-width:1.6}"
    ".chart .whisker{stroke:currentColor;stroke-width:1.2;stroke-opacity:.6}"
    ".chart .end{text-anchor:end}.chart .middle{text-anchor:middle}"
    + "".join(
        f".chart .d{k}{{stroke-dasharray:{dash}}}"
        for k, dash in enumerate(DASHES)
        if dash
    )
    + _tones(LIGHT)
    + "@media (prefers-color-scheme:dark){"
    ".chart{--ink:#d7dde3;--grid:#3a424c;--ground:#0f141a}" + _tones(DARK) + "}"
    "@media print{.chart{--ink:#000;--grid:#ccc;--ground:#fff}" + _tones(LIGHT) + "}"
)


@dataclass(frozen=True)
class Chart:
    """A picture with two axes.

    Attributes:
        title: Its title, in a line.
        about: Its description for screen readers.
        x: The horizontal axis.
        y: The vertical axis.
        marks: The marks, from back to front.

    """

    title: str
    about: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]


def text(raw: str) -> str:
    r"""Return any text escaped for XML and HTML.

    >>> text("<b>&\x00\ud800")
    '&lt;b&gt;&amp;'
    """
    return html.escape(_ILLEGAL.sub("", raw), quote=True)


def number(value: float) -> str:
    """Return a coordinate in px, finite and short.

    >>> number(1.004), number(-0.001), number(float("inf"))
    ('1', '0', '100000')
    """
    bounded = min(max(value, -FAR), FAR) if value == value else 0.0  # noqa: PLR0124
    short = f"{bounded:.1f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def chart(
    drawn: Chart,
    name: str,
    *,
    styled: bool = False,
    size: tuple[float, float] = (WIDTH, HEIGHT),
) -> str:
    """Return the chart as an ``<svg>`` element.

    ``name`` is the prefix of all its ids and must be unique on the page; it has only
    letters, digits and dashes. With ``styled`` the element includes its colours, for
    a file of its own. ``size`` is its width and its height in px; labels that would
    overlap on a narrow chart are left out.
    """
    frame = _Frame(drawn, *size)
    # Dots at the very edge are drawn whole; marks beyond it are not drawn at all.
    dots = [mark for mark in drawn.marks if isinstance(mark, Points)]
    marks = [mark for mark in drawn.marks if not isinstance(mark, Points)]
    parts = [
        *(_grid(frame)),
        f'<g clip-path="url(#{name}-plot)">',
        *(line for mark in marks for line in draw(mark, frame)),
        "</g>",
        *(line for mark in dots for line in draw(mark, frame)),
        *(_labels(frame)),
        *(_legend(frame)),
    ]
    clip = (
        f'<clipPath id="{name}-plot"><rect x="{number(LEFT)}" y="{number(frame.top)}" '
        f'width="{number(frame.right - LEFT)}" '
        f'height="{number(frame.bottom - frame.top)}"/></clipPath>'
    )
    return element(
        name, drawn.title, drawn.about, [clip, *parts], styled=styled, size=frame.size
    )


def element(
    name: str,
    title: str,
    about: str,
    parts: Iterable[str],
    *,
    size: tuple[float, float] = (WIDTH, HEIGHT),
    styled: bool = False,
) -> str:
    """Return an ``<svg>`` element with its title, description and content."""
    width, height = (number(side) for side in size)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{text(title)}</title>'
        f'<desc id="{name}-desc">{text(about)}</desc>'
    )
    style = f"<style>{STYLE}</style>" if styled else ""
    return "\n".join((head + style, *parts, "</svg>"))


def alone(drawn: str) -> str:
    """Return a chart that includes its colours, for a file of its own."""
    return drawn.replace("</desc>", f"</desc><style>{STYLE}</style>", 1)


class _Frame:
    """The positions of the parts of a chart."""

    def __init__(self, drawn: Chart, width: float, height: float) -> None:
        self.chart = drawn
        self.right = width - RIGHT
        self.entries = [m for m in drawn.marks if m.name]
        self.rows = list(_rows(self.entries, self.right))
        self.top = TOP + LEGEND_LINE * len(self.rows)
        self.bottom = self.top + height - TOP - BOTTOM - LEGEND_LINE
        below = BOTTOM if drawn.x.label else BOTTOM - LEGEND_LINE
        self.size = (width, self.bottom + below)

    def across(self, values: Floats) -> Floats:
        """Return the positions of values of x, in px from the left."""
        return self.chart.x.place(values, LEFT, self.right)

    def holds(self, x: Floats, y: Floats) -> Bools:
        """Return which positions are within the axes, up to a px of rounding."""
        across = (x >= LEFT - 1) & (x <= self.right + 1)
        found: Bools = across & (y >= self.top - 1) & (y <= self.bottom + 1)
        return found

    def upwards(self, values: Floats) -> Floats:
        """Return the positions of values of y, in px from the top."""
        return self.chart.y.place(values, self.bottom, self.top)


def _rows(entries: Sequence[Mark], right: float) -> Iterator[list[tuple[float, Mark]]]:
    """Yield the legend's lines: as many entries as fit, with their positions."""
    row: list[tuple[float, Mark]] = []
    at = LEFT
    for mark in entries:
        width = 32 + CHARACTER * len(mark.name) + 18
        if row and at + width > right:
            yield row
            row, at = [], LEFT
        row.append((at, mark))
        at += width
    if row:
        yield row


def _grid(frame: _Frame) -> Iterator[str]:
    axis = frame.chart.y
    places = frame.upwards(np.array([v for v, _ in axis.ticks]))
    for (_, label), y in zip(axis.ticks, places.tolist(), strict=True):
        yield (
            f'<path class="grid" d="M{number(LEFT)} {number(y)}'
            f'H{number(frame.right)}"/>'
            f'<text class="end" x="{number(LEFT - 7)}" y="{number(y + 4)}">'
            f"{text(label)}</text>"
        )


def _labels(frame: _Frame) -> Iterator[str]:
    axis, base = frame.chart.x, frame.bottom
    line = f"M{number(LEFT)} {number(base)}H{number(frame.right)}"
    yield f'<path class="frame" d="{line}"/>'
    for label, x in _fitting(frame):
        yield (
            f'<path class="frame" d="M{number(x)} {number(base)}v4"/>'
            f'<text class="middle" x="{number(x)}" y="{number(base + 17)}">'
            f"{text(label)}</text>"
        )
    middle = (LEFT + frame.right) / 2
    yield (
        f'<text class="middle" x="{number(middle)}" y="{number(base + 36)}">'
        f"{text(axis.label)}</text>"
    )
    high = (frame.top + base) / 2
    yield (
        f'<text class="middle" transform="translate(14 {number(high)}) rotate(-90)">'
        f"{text(frame.chart.y.label)}</text>"
    )


def _fitting(frame: _Frame) -> list[tuple[str, float]]:
    """Return the labels of the horizontal axis that fit, with their positions."""
    ticks = frame.chart.x.ticks
    places = frame.across(np.array([value for value, _ in ticks])).tolist()
    widest = CHARACTER * max((len(label) for _, label in ticks), default=0) + 8
    apart = abs(places[1] - places[0]) if len(places) > 1 else widest
    every = max(1, math.ceil(widest / max(apart, 1e-9)))
    labels = [(label, x) for (_, label), x in zip(ticks, places, strict=True)]
    return labels[::every]


def _legend(frame: _Frame) -> Iterator[str]:
    for k, row in enumerate(frame.rows):
        y = TOP + LEGEND_LINE * k
        for x, mark in row:
            yield _swatch(mark, x, y)
            yield (
                f'<text x="{number(x + 30)}" y="{number(y + 4)}">'
                f"{text(mark.name)}</text>"
            )


def _swatch(mark: Mark, x: float, y: float) -> str:
    tone = f"t{mark.tone % TONES}"
    if isinstance(mark, LineMark):
        dash = f"d{mark.dash % len(DASHES)}"
        return f'<path class="line {tone} {dash}" d="M{number(x)} {number(y)}h24"/>'
    if isinstance(mark, Points):
        kind = "ring" if mark.hollow else "dot"
        return (
            f'<circle class="{kind} {tone}" cx="{number(x + 12)}" '
            f'cy="{number(y)}" r="3.5"/>'
        )
    kind = "band" if isinstance(mark, BandMark) else "bar"
    return (
        f'<rect class="{kind} {tone}" x="{number(x)}" y="{number(y - 5)}" '
        'width="24" height="10"/>'
    )


@singledispatch
def draw(mark: Mark, frame: _Frame) -> Iterator[str]:
    """Yield the elements that show a mark."""
    raise TypeError(f"no function draws {mark!r} on {frame!r}")


@draw.register
def _(mark: LineMark, frame: _Frame) -> Iterator[str]:
    x, y = frame.across(mark.x), frame.upwards(mark.y)
    tone, dash = mark.tone % TONES, mark.dash % len(DASHES)
    pieces = [
        "M" + "L".join(_points(*_stairs(x[run], y[run], steps=mark.steps)))
        for run in _runs(np.isfinite(x) & np.isfinite(y))
    ]
    if pieces:
        yield f'<path class="line t{tone} d{dash}" d="{"".join(pieces)}"/>'


@draw.register
def _(mark: BandMark, frame: _Frame) -> Iterator[str]:
    x = frame.across(mark.x)
    low, high = frame.upwards(mark.low), frame.upwards(mark.high)
    pieces = []
    for run in _runs(np.isfinite(x) & np.isfinite(low) & np.isfinite(high)):
        over = _points(*_stairs(x[run], high[run], steps=mark.steps))
        under = _points(*_stairs(x[run], low[run], steps=mark.steps))
        pieces.append("M" + "L".join(over + under[::-1]) + "Z")
    if pieces:
        yield f'<path class="band t{mark.tone % TONES}" d="{"".join(pieces)}"/>'


@draw.register
def _(mark: Bars, frame: _Frame) -> Iterator[str]:
    left, right = frame.across(mark.left), frame.across(mark.right)
    top, base = frame.upwards(mark.height), float(frame.upwards(np.zeros(1))[0])
    sound = np.isfinite(left) & np.isfinite(right) & np.isfinite(top)
    for i in np.flatnonzero(sound).tolist():
        width = max(float(right[i] - left[i]) - 0.6, 0.4)
        yield (
            f'<rect class="bar t{mark.tone % TONES}" x="{number(left[i])}" '
            f'y="{number(min(top[i], base))}" width="{number(width)}" '
            f'height="{number(abs(base - top[i]))}"/>'
        )


@draw.register
def _(mark: Points, frame: _Frame) -> Iterator[str]:
    x, y = frame.across(mark.x), frame.upwards(mark.y)
    tone, kind = f"t{mark.tone % TONES}", "ring" if mark.hollow else "dot"
    sound = np.isfinite(x) & np.isfinite(y) & frame.holds(x, y)
    if mark.low is not None and mark.high is not None:
        ends = frame.upwards(mark.low), frame.upwards(mark.high)
        low, high = (np.clip(end, frame.top, frame.bottom) for end in ends)
        for i in np.flatnonzero(sound & np.isfinite(low) & np.isfinite(high)).tolist():
            yield (
                f'<path class="whisker {tone}" d="M{number(x[i])} {number(low[i])}'
                f'V{number(high[i])}"/>'
            )
    for i in np.flatnonzero(sound).tolist():
        yield (
            f'<circle class="{kind} {tone}" cx="{number(x[i])}" '
            f'cy="{number(y[i])}" r="3"/>'
        )
        if mark.labels:
            yield _beside(float(x[i]), float(y[i]), mark.labels[i], frame.right)


def _beside(x: float, y: float, label: str, right: float) -> str:
    """Return a label to the right of a dot, or to the left if it does not fit."""
    fits = x + 7 + CHARACTER * len(label) <= right
    at, side = (x + 7, "count") if fits else (x - 7, "count end")
    place = f'x="{number(at)}" y="{number(y + 4)}"'
    return f'<text class="{side}" {place}>{text(label)}</text>'


def _points(x: Floats, y: Floats) -> list[str]:
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    return [f"{number(a)} {number(b)}" for a, b in pairs]


def _stairs(x: Floats, y: Floats, *, steps: bool) -> tuple[Floats, Floats]:
    """Return the corners of a curve whose values hold until the next."""
    if not steps or x.size < 2:
        return x, y
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]


def _runs(sound: Bools) -> Iterator[slice]:
    """Yield the ranges in which all values can be drawn."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], sound.astype(int), [0]))))
    for begin, end in edges.reshape(-1, 2).tolist():
        yield slice(begin, end)


def highest(*series: Floats, least: float = 0.0) -> float:
    """Return the largest finite value of all, and not less than ``least``."""
    found = [float(v[np.isfinite(v)].max(initial=-math.inf)) for v in series]
    return max([least, *found])
