"""The charts of the pages, each with a table of its numbers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
from markupsafe import Markup

from halflife.core.arrays import Bools, Floats
from halflife.core.forecast import Forecast
from halflife.core.wording import number
from halflife.models.calibration import Reliability
from halflife.models.hindsight import PastFreshness
from halflife.study import svg
from halflife.study.axes import Axis, calendar, linear, percent
from halflife.study.figures import cell
from halflife.study.marks import BandMark, Bars, LineMark, Mark, Points
from halflife.study.svg import Chart
from halflife.web import budget_curve, words

MEASURES = {
    "freshness": "Freshness",
    "recall": "Recall",
    "content": "True records",
    "summary": "Chance that the summary holds",
}
# Every chart is drawn twice, and the style sheet shows the one that fits: text in a
# picture that is scaled down to a phone's width would be too small to read.
WIDE, SLIM = (600.0, 320.0), (340.0, 270.0)
ALONE = (860.0, 380.0)  # of a chart that has the width of a page for itself
FOUND = "found in hindsight"
FAR = 7.0  # days that a forecast reaches
SHORT = 7.0  # days of the shortest timeline
FEWEST = 4.0  # the lowest end of a timeline's axis
MEASURED = frozenset(
    {"expected", "low", "high", "quality", "forecast", "found", "believed", "freshness"}
)  # columns of shares, shown in per cent


@dataclass(frozen=True, slots=True)
class ChartFigure:
    """A chart, what it shows in words, and its numbers.

    Attributes:
        name: The prefix of every id in it; unique on a page.
        title: A line that says what it shows.
        about: A description of its content.
        drawn: The ``<svg>`` element.
        table: The numbers, by column.

    """

    name: str
    title: str
    about: str
    drawn: Markup
    table: Mapping[str, Sequence[object]]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The numbers in readable form, row by row."""
        columns = [
            [_written(name, value) for value in values]
            for name, values in self.table.items()
        ]
        return list(zip(*columns, strict=True))


def _written(column: str, value: object) -> str:
    if isinstance(value, float) and column in MEASURED:
        return words.share(value)
    return number(value) if isinstance(value, float) else cell(value)


def _figure(
    name: str,
    chart: Chart,
    table: Mapping[str, Sequence[object]],
    size: tuple[float, float] = WIDE,
) -> ChartFigure:
    # Every text in a chart is escaped where it is drawn.
    wide = svg.chart(chart, name, size=size)
    slim = svg.chart(chart, f"{name}-slim", size=SLIM)
    slim = slim.replace('class="chart"', 'class="chart slim"', 1)
    drawn = Markup(wide.replace('class="chart"', 'class="chart wide"', 1) + slim)  # noqa: S704
    return ChartFigure(name, chart.title, chart.about, drawn, table)


def _dates(low: float, high: float) -> Axis:
    """Return an axis of days with names of months, without the year."""
    axis = calendar("", low, high)
    if high - low < 3.0:
        return axis
    ticks = tuple((at, _day(at)) for at, _ in axis.ticks)
    return replace(axis, ticks=ticks)


def _day(at: float) -> str:
    moment = np.datetime64(math.floor(at + 1e-7), "D").astype(date)
    return f"{moment.day} {moment:%b}"


def course(
    name: str, past: PastFreshness | None, cast: Forecast, now: float
) -> ChartFigure:
    """Return the past and the forecast quality, with a line at the present."""
    ahead = now + np.linspace(0.0, FAR, 36)
    mean, low, high = (
        np.interp(ahead, cast.at, y) for y in (cast.mean, cast.low, cast.high)
    )
    before = past if past is not None else PastFreshness.none()
    first = float(before.at[0]) if before.at.size else now
    lowest = min(float(np.nanmin(y)) for y in (low, before.low) if y.size)
    floor = min(0.1 * math.floor(10.0 * lowest), 0.9)
    axis = percent("", floor, 1.0)
    line = np.full(2, now), np.array([axis.low, axis.high])
    marks: list[Mark] = [
        BandMark(before.at, before.low, before.high, "", 2),
        LineMark(before.at, before.mean, FOUND if first < now else "", 2),
        BandMark(ahead, low, high, "95 % interval"),
        LineMark(ahead, mean, "expected if nothing is fetched", 0, 1),
        LineMark(*line, "now", 6, 2),
    ]
    about = (
        f"It is {words.share(float(mean[0]))} now "
        f"({words.interval(float(low[0]), float(high[0]))}), and would be "
        f"{words.share(float(mean[-1]))} in {words.span(FAR)} if nothing were fetched."
    )
    columns = {"expected": mean, "low": low, "high": high}
    earlier = (before.mean, before.low, before.high)
    when = "the last 30 days, and the next 7" if first < now else "the next 7 days"
    chart = Chart(
        f"{MEASURES[cast.measure]}: {when}",
        f"{_before(before, now)}{about}",
        _dates(min(first, now - 0.25), now + FAR),
        axis,
        tuple(marks),
    )
    moments = np.concatenate([before.at, ahead[::5]]).tolist()
    table: dict[str, Sequence[object]] = {"day": list(map(words.moment, moments))}
    for (column, later), old in zip(columns.items(), earlier, strict=True):
        table[column] = np.concatenate([old, later[::5]]).tolist()
    return _figure(name, chart, table)


def _before(past: PastFreshness, now: float) -> str:
    """Return a sentence on the past quality; empty if it is not known."""
    if not past.at.size or not past.at[0] < now:
        return ""
    mean = words.share(float(np.nanmean(past.mean)))
    long = words.span(now - float(past.at[0]))
    return f"Over the last {long} it was {mean} on average. "


def requests_chart(days: Sequence[int], now: float, pace: float) -> ChartFigure:
    """Return the requests of the last days against the budget."""
    today = math.floor(now)
    left = np.arange(today - len(days) + 1.0, today + 1.0)
    height = np.array(days, dtype=np.float64)
    most = max(float(height.max(initial=0.0)), pace)
    ends = np.array([left[0], left[-1] + 1.0])
    marks = (
        Bars(left + 0.1, left + 0.9, height, "requests"),
        LineMark(ends, np.full(2, pace), f"budget: {words.count(pace)} a day", 1, 1),
    )
    chart = Chart(
        "Requests a day",
        f"{words.many(int(height.sum()), 'request')} in "
        f"{words.many(len(days), 'day')}, {days[-1]:,} of them today;"
        f" the budget allows {words.count(pace)} a day.",
        _dates(float(ends[0]), float(ends[1])),
        linear("requests", 0.0, most),
        marks,
    )
    dates = np.asarray(left, "M8[D]").astype(str).tolist()
    return _figure("spent", chart, {"day": dates, "requests": list(days)})


def budget_chart(
    budgets: Floats, total: Floats, now: tuple[float, float], then: tuple[float, float]
) -> ChartFigure:
    """Return quality in all against the budget, with two budgets marked."""
    rows = slice(None, None, 4)
    table = {
        "requests a day": budgets[rows].tolist(),
        "quality": total[rows].tolist(),
    }
    chart = budget_curve.draw(budgets, total, now, then)
    return _figure("buys", chart, table, ALONE)


def timeline(
    title: str, counts: Mapping[str, Floats], days: Floats, now: float
) -> ChartFigure:
    """Return counts for each day as bars, a colour for each series."""
    tones = (0, 1, 6)
    wide = 0.8 / max(len(counts), 1)
    most = max([FEWEST, *(float(c.max(initial=0.0)) for c in counts.values())])
    marks = tuple(
        Bars(days + 0.1 + k * wide, days + 0.1 + (k + 1) * wide, count, name, tones[k])
        for k, (name, count) in enumerate(counts.items())
    )
    sums = ", ".join(f"{int(c.sum()):,} {name}" for name, c in counts.items())
    chart = Chart(
        title,
        f"{sums} in {words.many(days.size, 'day')}{_until(days, now)}.",
        _dates(min(float(days[0]), days[-1] + 1.0 - SHORT), float(days[-1]) + 1.0),
        linear("a day", 0.0, most),
        marks,
    )
    table: dict[str, Sequence[object]] = {
        "day": np.asarray(days, "M8[D]").astype(str).tolist()
    }
    table.update({name: count.astype(int).tolist() for name, count in counts.items()})
    return _figure("timeline", chart, table)


def _until(days: Floats, now: float) -> str:
    """Return a clause on when the days end, if that is not today."""
    if days[-1] >= math.floor(now):
        return ""
    return f", to {words.moment(float(days[-1]))[:10]}, when it was last read"


def outcome_chart(mean: Floats, found: Floats, inside: Bools) -> ChartFigure:
    """Return forecasts against their outcomes."""
    ends = np.array([0.0, 1.0])
    yes = inside
    marks = (
        LineMark(ends, ends, "as forecast", 6, 1),
        Points(mean[yes], found[yes], "within its interval", 0),
        Points(mean[~yes], found[~yes], "outside", 1, hollow=True),
    )
    chart = Chart(
        "Forecasts and what came true",
        (
            f"{int(yes.sum()):,} of {words.many(yes.size, 'forecast')} had the truth "
            "within their bounds."
        ),
        percent("forecast"),
        percent("found"),
        marks,
    )
    table = {"forecast": mean.tolist(), "found": found.tolist()}
    return _figure("told", chart, table)


def reliability_chart(table: Reliability) -> ChartFigure:
    """Return the estimated probabilities of being current against checks."""
    ends = np.array([0.0, 1.0])
    marks = (
        LineMark(ends, ends, "as believed", 6, 1),
        Points(
            table.forecast,
            table.found,
            "found, with the number of pages",
            low=table.low,
            high=table.high,
            labels=tuple(str(int(n)) for n in table.size.tolist()),
        ),
    )
    chart = Chart(
        "Reliability: believed and found",
        f"{words.many(int(table.size.sum()), 'page')} drawn at random, in "
        f"{words.many(table.size.size, 'class', 'classes')} by what was believed. On "
        "the line, beliefs are right; above it they are too low, below it too high. "
        "Whiskers are 95 % intervals.",
        percent("believed chance of being current"),
        percent("share that was current"),
        marks,
    )
    columns = {
        "pages": table.size.tolist(),
        "believed": table.forecast.tolist(),
        "found": table.found.tolist(),
        "low": table.low.tolist(),
        "high": table.high.tolist(),
    }
    return _figure("reliable", chart, columns)


def bar(mean: float, low: float, high: float, target: float) -> Markup:
    """Return a small bar with its interval and its target, for a table cell."""
    if not math.isfinite(mean):
        return Markup("")
    wide = 120.0
    parts = [
        (
            '<svg class="bar" viewBox="0 0 120 14" width="120" height="14" '
            'aria-hidden="true" focusable="false">'
        ),
        '<rect class="bar-ground" x="0" y="3" width="120" height="8"/>',
        (
            f'<rect class="bar-band" x="{svg.number(low * wide)}" y="3" '
            f'width="{svg.number(max((high - low) * wide, 1.0))}" height="8"/>'
        ),
        (
            f'<rect class="bar-mean" x="{svg.number(max(mean * wide - 1.5, 0.0))}" '
            'y="1" width="3" height="12"/>'
        ),
    ]
    if math.isfinite(target):
        x = svg.number(target * wide)
        parts.append(f'<path class="bar-target" d="M{x} 0V14"/>')
    return Markup("".join(parts) + "</svg>")  # noqa: S704  (numbers alone)
