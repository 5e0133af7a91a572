"""The past and the forecast of one source in one chart, for wide and narrow screens.

Left of the line marked "now" are past forecasts and their outcomes, right of it the
forecast if nothing is fetched. Ticks at the bottom are observations. Each part shows
its values when the pointer rests on it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
from markupsafe import Markup

from halflife.core.arrays import Floats
from halflife.core.forecast import Forecast
from halflife.core.wording import count
from halflife.models.hindsight import PastFreshness
from halflife.stores.fetch_history import ObservedRow
from halflife.stores.forecasts import IssuedForecast
from halflife.study import svg
from halflife.study.axes import Axis, percent
from halflife.study.svg import number, text
from halflife.web import words
from halflife.web.charts import MEASURES, ChartFigure
from halflife.web.words import share

PAST = 30.0  # days that are shown
FARTHEST, NEAREST = 14.0, 1.0  # days ahead that are shown
WEEK = 7.0  # days ahead that are shown at least where there is no past
AHEAD = 0.25  # the future shown at least, as a share of the past
STEPS = 90  # intervals of the past
# The width of the screen from which each is shown is in ``static/changes.css``.
SIZES = {"wide": (1180.0, 320.0), "middle": (640.0, 300.0), "narrow": (340.0, 280.0)}
LEFT, RIGHT, TOP, BOTTOM, STRIP = 46.0, 10.0, 30.0, 26.0, 18.0


@dataclass(frozen=True, slots=True)
class QualityTimeline:
    """The data of the chart; times in days.

    Attributes:
        now: The present.
        measure: The name of the quality measure.
        past: Forecasts of past moments, in order of time.
        cast: The forecast quality from now on; None if it is not known.
        target: The target; nan if there is none.
        sync_by: When the lower bound falls below the target.
        observed: When it was observed.
        is_known: Whether the past is estimated from later observations, not forecast.

    """

    now: float
    measure: str
    past: Sequence[IssuedForecast]
    cast: Forecast | None
    target: float
    sync_by: float
    observed: Sequence[ObservedRow]
    is_known: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        """The first and the last moment that are shown."""
        known = [cast.due for cast in self.past] + [row.at for row in self.observed]
        first = min([*known, self.now - 1.0]) if known else self.now
        wait = self.sync_by - self.now
        far = 2.0 * wait if 0.0 < wait < math.inf else 0.0
        far = max(far, AHEAD * (self.now - first) if known else WEEK)
        far = min(max(far, NEAREST), FARTHEST) if self.cast is not None else 0.0
        return first, self.now + far


def latest(issued: Sequence[IssuedForecast], now: float) -> list[IssuedForecast]:
    """Return one past forecast for each interval, the one with the shortest horizon."""
    chosen: dict[int, IssuedForecast] = {}
    step = PAST / STEPS
    for cast in issued:
        place = math.floor((cast.due - now + PAST) / step)
        if cast.due <= now and place >= 0:
            other = chosen.get(place)
            if other is None or (cast.ahead, -cast.due) < (other.ahead, -other.due):
                chosen[place] = cast
    return [chosen[place] for place in sorted(chosen)]


def from_hindsight(past: PastFreshness, measure: str) -> list[IssuedForecast]:
    """Return the past quality known from later observations as points of the chart."""
    columns = (past.at, past.mean, past.low, past.high)
    return [
        IssuedForecast("", measure, at, 0.0, mean, low, high)
        for at, mean, low, high in zip(*(c.tolist() for c in columns), strict=True)
        if math.isfinite(mean)
    ]


def draw(shown: QualityTimeline) -> ChartFigure:
    """Return the chart, drawn for wide and for narrow screens."""
    title = f"{MEASURES.get(shown.measure, shown.measure)}: past and expected"
    about = _about(shown)
    parts = []
    for name, size in SIZES.items():
        plot = _Plot(shown, size)
        drawn = svg.element(f"past-{name}", title, about, plot.parts(), size=size)
        parts.append(drawn.replace('class="chart"', f'class="chart only-{name}"', 1))
    # Every text in it is escaped where it is drawn.
    return ChartFigure("past", title, about, Markup("\n".join(parts)), _table(shown))  # noqa: S704


def _about(shown: QualityTimeline) -> str:
    sentences = []
    cast = shown.cast
    if cast is not None and cast.mean.size:
        low, high = float(cast.low[0]), float(cast.high[0])
        between = _between(low, high)
        end = shown.ends[1]
        later = float(np.interp(end, cast.at, cast.mean))
        sentences.append(
            f"{share(float(cast.mean[0]))}{between} now, and "
            f"{share(later)} in {words.span(end - shown.now)} if nothing is fetched."
        )
    fetches = sum(row.fetches for row in shown.observed)
    failed = sum(row.failed for row in shown.observed)
    sentences.append(
        f"{words.many(fetches, 'observation')} in the last {PAST:.0f} days"
        + (f", {failed:,} of them failed." if failed else ".")
    )
    return " ".join(sentences)


def _table(shown: QualityTimeline) -> dict[str, Sequence[object]]:
    rows = [(c.due, c.mean, c.low, c.high, c.found) for c in shown.past]
    if shown.cast is not None and shown.cast.mean.size:
        at = np.linspace(shown.now, shown.ends[1], 8)
        rows += [(*row, None) for row in zip(*_curves(shown.cast, at), strict=True)]
    names = ("time", "expected", "low", "high", "found")
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    table: dict[str, Sequence[object]] = dict(zip(names, columns, strict=True))
    table["time"] = [words.moment(at) for at in table["time"] if isinstance(at, float)]
    table["found"] = ["-" if share is None else share for share in table["found"]]
    return table


def _curves(cast: Forecast, at: Floats) -> list[list[float]]:
    curves = (np.interp(at, cast.at, y) for y in (cast.mean, cast.low, cast.high))
    return [at.tolist(), *(curve.tolist() for curve in curves)]


class _Plot:
    """The chart at one size."""

    def __init__(self, shown: QualityTimeline, size: tuple[float, float]) -> None:
        self.shown, (self.wide, self.high) = shown, size
        self.first, self.last = shown.ends
        self.base = self.high - BOTTOM - STRIP
        lows = [cast.low for cast in shown.past if math.isfinite(cast.low)]
        if shown.cast is not None and shown.cast.mean.size:
            until = np.linspace(shown.now, self.last, 31)
            lows.append(float(np.interp(until, shown.cast.at, shown.cast.low).min()))
        if math.isfinite(shown.target):
            lows.append(shown.target)
        floor = 0.1 * math.floor(10.0 * min([*lows, 0.9]) + 1e-9)
        self.y: Axis = percent("", min(max(floor, 0.0), 0.9), 1.0)

    def across(self, at: float) -> float:
        """Return the position of a time, in px from the left."""
        share = (at - self.first) / (self.last - self.first)
        return LEFT + share * (self.wide - LEFT - RIGHT)

    def upwards(self, value: float) -> float:
        """Return the position of a quality, in px from the top."""
        share = (value - self.y.low) / (self.y.high - self.y.low)
        return self.base - share * (self.base - TOP)

    def parts(self) -> Iterator[str]:
        """Return all elements, from back to front."""
        yield from self._grid()
        yield from self._dates()
        yield from self._past()
        yield from self._future()
        yield from self._ticks()
        yield from self._now()
        yield from self._values()

    def _grid(self) -> Iterator[str]:
        right = number(self.wide - RIGHT)
        for value, label in self.y.ticks:
            y = self.upwards(value)
            yield f'<path class="grid" d="M{number(LEFT)} {number(y)}H{right}"/>'
            yield self._text(LEFT - 6, y + 4, label, "end")
        if math.isfinite(self.shown.target):
            y = self.upwards(self.shown.target)
            yield f'<path class="line t2 d1" d="M{number(LEFT)} {number(y)}H{right}"/>'
            label = f"target {share(self.shown.target)}"
            yield self._text(LEFT + 4, y - 4, label, "t2 own")

    def _dates(self) -> Iterator[str]:
        """Return date labels below the chart, as many as fit."""
        most = max(int((self.wide - LEFT - RIGHT) / 66), 2)
        days = self.last - self.first
        step = next((s for s in (1, 2, 5, 7, 10, 14, 30) if days / s <= most), 60)
        y = self.high - 8
        for day in range(math.ceil(self.first), math.floor(self.last) + 1):
            x = self.across(float(day))
            if day % step == 0 and LEFT + 14 < x < self.wide - RIGHT - 14:
                at = datetime.fromtimestamp(day * 86400, tz=UTC)
                yield self._text(x, y, f"{at.day} {at:%b}", "middle")

    def _past(self) -> Iterator[str]:
        past = self.shown.past
        if past:
            at = [cast.due for cast in past]
            yield self._band(at, [c.low for c in past], [c.high for c in past], "t6")
            yield self._line(at, [cast.mean for cast in past], "t6")
        for cast in past:
            if cast.found is not None and cast.found >= self.y.low:
                x, y = self.across(cast.due), self.upwards(cast.found)
                yield (
                    f'<circle class="dot t2" cx="{number(x)}" cy="{number(y)}" r="3.2">'
                    f"<title>{text(_day(cast.due))}: found {share(cast.found)}</title>"
                    "</circle>"
                )

    def _future(self) -> Iterator[str]:
        cast = self.shown.cast
        if cast is None or not cast.mean.size:
            return
        span = self.last - self.shown.now
        ahead = span * np.linspace(0.0, 1.0, 61) ** 2
        at, mean, low, high = _curves(cast, self.shown.now + ahead)
        yield self._band(at, low, high, "t0")
        yield self._line(at, mean, "t0")

    def _ticks(self) -> Iterator[str]:
        y = self.high - BOTTOM
        for row in self.shown.observed:
            x = self.across(min(row.at, self.shown.now))
            tone = "t1" if row.failed else "t6"
            high = STRIP - 5 if row.failed else STRIP - 9
            yield f'<path class="tick {tone}" d="M{number(x)} {number(y)}v-{high:g}"/>'
        yield f'<path class="frame" d="M{number(LEFT)} {number(y)}H{number(self.wide - RIGHT)}"/>'  # noqa: E501

    def _now(self) -> Iterator[str]:
        x = self.across(self.shown.now)
        yield f'<path class="now" d="M{number(x)} {number(TOP - 8)}V{number(self.high - BOTTOM)}"/>'  # noqa: E501
        anchor = "middle" if LEFT + 12 < x < self.wide - RIGHT - 12 else "end"
        yield self._text(x, TOP - 13, "now", anchor)
        if self.shown.past and x - LEFT > 110:
            known = self.shown.is_known
            label = "as later fetches showed" if known else "as it was forecast"
            yield self._text(LEFT, TOP - 13, label, "own t6")
        if self.wide - x > 150:
            label = "if nothing is fetched"
            yield self._text(self.wide - RIGHT, TOP - 13, label, "end own t0")

    def _values(self) -> Iterator[str]:
        """Return areas that show their values when the pointer rests on them."""
        tops = f'y="{number(TOP)}" height="{number(self.high - BOTTOM - TOP)}"'
        for begin, end, label in _intervals(self.shown, self.first, self.last):
            x, right = self.across(begin), self.across(end)
            yield (
                f'<rect class="hit" x="{number(x)}" width="{number(right - x)}" {tops}>'
                f"<title>{text(label)}</title></rect>"
            )

    def _text(self, x: float, y: float, label: str, kind: str) -> str:
        return (
            f'<text class="{kind}" x="{number(x)}" y="{number(y)}">{text(label)}</text>'
        )

    def _points(self, at: Sequence[float], value: Sequence[float]) -> list[str]:
        pairs = zip(at, value, strict=True)
        return [
            f"{number(self.across(x))} {number(self.upwards(max(y, self.y.low)))}"
            for x, y in pairs
        ]

    def _line(self, at: Sequence[float], value: Sequence[float], tone: str) -> str:
        return f'<path class="line {tone}" d="M{"L".join(self._points(at, value))}"/>'

    def _band(
        self,
        at: Sequence[float],
        low: Sequence[float],
        high: Sequence[float],
        tone: str,
    ) -> str:
        over, under = self._points(at, high), self._points(at, low)[::-1]
        return f'<path class="band {tone}" d="M{"L".join(over + under)}Z"/>'


def _intervals(
    shown: QualityTimeline, first: float, last: float
) -> Iterator[tuple[float, float, str]]:
    """Return intervals of time, each with a text of its values."""
    days = [float(day) for day in range(math.floor(first) + 1, math.ceil(last))]
    edges = sorted({first, shown.now, last, *days})
    for begin, end in pairwise(edges):
        if end - begin < 1e-6:
            continue
        yield begin, end, f"{_day(begin)}: {_values_of(shown, begin, end)}"


def _values_of(shown: QualityTimeline, begin: float, end: float) -> str:
    if begin >= shown.now and shown.cast is not None:
        middle = np.array([0.5 * (begin + end)])
        _, mean, low, high = _curves(shown.cast, middle)
        return f"expected {share(mean[0])}{_between(low[0], high[0])}"
    parts = []
    past = [cast for cast in shown.past if begin <= cast.due < end]
    if past:
        cast = past[-1]
        word = "was" if shown.is_known else "forecast"
        parts.append(f"{word} {share(cast.mean)}{_between(cast.low, cast.high)}")
    rows = [row for row in shown.observed if begin <= row.at < end]
    fetches, failed = sum(r.fetches for r in rows), sum(r.failed for r in rows)
    parts.append(count(fetches, "observation") if fetches else "no observation")
    if failed:
        parts.append(f"{failed} failed")
    return ", ".join(parts)


def _between(low: float, high: float) -> str:
    return f" ({words.interval(low, high)})" if low < high else ""


def _day(at: float) -> str:
    moment = datetime.fromtimestamp(at * 86400, tz=UTC)
    return f"{moment.day} {moment:%b %Y}"
