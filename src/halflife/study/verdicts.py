"""Forecasts compared with what happened."""

from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Bools, Floats
from halflife.core.lifetimes import Collection
from halflife.models.census import METRICS
from halflife.models.conformal import inside
from halflife.models.pool import DEFAULT, Study
from halflife.replay.backtest import forecasts, references
from halflife.study import axes, empirical
from halflife.study.figures import Column, StudyFigure, drawing, stack_tables
from halflife.study.marks import BandMark, LineMark, Mark, Points
from halflife.study.phrases import day, share, stretch
from halflife.study.svg import Chart

DENSE, SPARSE = 120, 60  # forecasts that are drawn
HIGHEST = 0.9  # the highest start of a scale of quality
HORIZONS = (0.03, 0.1, 0.25, 0.5)  # as shares of the time that copies are followed


@dataclass(frozen=True)
class JudgedForecasts:
    """Forecasts of one metric for one horizon, with the true values.

    Attributes:
        metric: Precision or recall.
        ahead: The horizon, in days after the copy was made.
        made: When each copy was made.
        seen: The true value.
        mean: The forecast.
        low: Its lower bound.
        high: Its upper bound.

    """

    metric: str
    ahead: float
    made: Floats
    seen: Floats
    mean: Floats
    low: Floats
    high: Floats

    @property
    def held(self) -> Bools:
        """Which forecasts have the truth within their bounds."""
        return inside(self.low, self.high, self.seen)

    @property
    def coverage(self) -> float:
        """The share of forecasts whose bounds held the truth."""
        return float(self.held.mean())

    @property
    def error(self) -> float:
        """Mean absolute error."""
        return float(np.abs(self.mean - self.seen).mean())

    @property
    def width(self) -> float:
        """Mean width of the interval."""
        return float((self.high - self.low).mean())

    def sample(self, most: int) -> "JudgedForecasts":
        """Return at most so many of the forecasts, evenly spread."""
        count = self.made.size
        rows = np.unique(
            np.linspace(0, count - 1, min(most, count)).round().astype(int)
        )
        columns = (self.made, self.seen, self.mean, self.low, self.high)
        return JudgedForecasts(self.metric, self.ahead, *(c[rows] for c in columns))


def judge(known: Study, ahead: Floats, confidence: float) -> list[JudgedForecasts]:
    """Return forecasts from many snapshots, each from the history until then."""
    found = []
    observed = known.census.looks
    for days in ahead.tolist():
        horizon = known.at(days)
        at = references(known.census, horizon.outcome.known)
        bands = forecasts(horizon, DEFAULT, at, confidence) if at.size else []
        for k, band in enumerate(bands):
            seen = horizon.outcome.quality[k][at]
            found.append(JudgedForecasts(METRICS[k], days, observed[at], seen, *band))
    return sorted(found, key=lambda j: (j.metric, j.ahead))


def horizons(collection: Collection) -> Floats:
    """Return some lags, near and far, at which snapshots can score forecasts."""
    step, far = empirical.unit(collection), empirical.reach(collection)
    if 0.5 <= step <= 3.0 and far >= 30.0:
        return np.array([1.0, 7.0, 14.0, 30.0])
    steps = np.round(np.array(HORIZONS) * far / step)
    found: Floats = np.unique(np.maximum(steps, 1.0)) * step
    return found


def figure(collection: Collection, known: Study, confidence: float) -> StudyFigure:
    """Show forecasts and true values, and how often the bounds held."""
    found = judge(known, horizons(collection), confidence)
    title = "Forecasts against what happened"
    if not found:
        few = "There are too few snapshots to check a forecast."
        return StudyFigure("forecasts", title, (few,), (), {})
    ahead = sorted({j.ahead for j in found})
    middle = ahead[min(1, len(ahead) - 1)]
    chosen = [j for j in found if j.ahead == middle]
    charts = tuple(drawing(_in_time(j, tone)) for tone, j in enumerate(chosen))
    scatter = tuple(
        drawing(_scatter([j for j in found if j.metric == metric]))
        for metric in METRICS
    )
    total = np.concatenate([j.held for j in found])
    count, made = found[0].made.size, found[0].made
    said = (
        f"{share(float(total.mean()))} of all {share(confidence)} intervals held.",
        f"{count} forecasts of a kind from {day(made[0])} to {day(made[-1])}.",
        "Each was made only from the history until then.",
    )
    return StudyFigure(
        "forecasts", title, said, charts + scatter, _table(found), _shown(found)
    )


def _in_time(every: JudgedForecasts, tone: int) -> Chart:
    judged = every.sample(DENSE)
    at, held = judged.made + judged.ahead, judged.held
    marks: tuple[Mark, ...] = (
        BandMark(at, judged.low, judged.high, "interval", tone),
        LineMark(at, judged.mean, "forecast", tone, dash=1),
        Points(at[held], judged.seen[held], "seen, within", 6),
        Points(at[~held], judged.seen[~held], "seen, outside", 1 - tone, hollow=True),
    )
    lowest = np.concatenate([judged.low, judged.seen])
    return Chart(
        f"{judged.metric.capitalize()} after {stretch(judged.ahead)}, by date",
        "Forecast with its interval, and what was seen: within it "
        f"{np.count_nonzero(every.held)} of {every.made.size} times.",
        axes.calendar("date", float(at[0]), float(at[-1])),
        axes.percent(judged.metric, float(lowest.min(initial=HIGHEST)), 1.0),
        marks,
    )


def _scatter(found: list[JudgedForecasts]) -> Chart:
    drawn = [j.sample(SPARSE) for j in found]
    values = [v for j in drawn for v in (j.mean, j.seen)]
    low = float(np.concatenate(values).min(initial=HIGHEST))
    ends = np.array([0.0, 1.0])
    marks: list[Mark] = [LineMark(ends, ends, "as forecast", 6, dash=2)]
    for tone, j in enumerate(drawn):
        name = f"after {stretch(j.ahead)}"
        marks.append(Points(j.mean, j.seen, name, tone, hollow=tone % 2 == 1))
    metric = found[0].metric
    return Chart(
        f"{metric.capitalize()}: forecast and seen, by horizon",
        "Each dot is one forecast; on the diagonal it came true. "
        + "; ".join(_words(j) for j in found),
        axes.percent(f"{metric} as forecast", low, 1.0),
        axes.percent(f"{metric} as seen", low, 1.0),
        tuple(marks),
    )


def _words(j: JudgedForecasts) -> str:
    return f"after {stretch(j.ahead)} {share(j.coverage)} of the intervals held"


def _shown(found: list[JudgedForecasts]) -> dict[str, Column]:
    return {
        "metric": [j.metric for j in found],
        "after": [stretch(j.ahead) for j in found],
        "mean error": [j.error for j in found],
        "interval width": [j.width for j in found],
        "held the truth": [share(j.coverage) for j in found],
        "forecasts": [j.made.size for j in found],
    }


def _table(found: list[JudgedForecasts]) -> dict[str, Column]:
    tables = [
        {
            "metric": [j.metric] * j.made.size,
            "horizon_days": [j.ahead] * j.made.size,
            "made": [day(at) for at in j.made.tolist()],
            "seen": j.seen.tolist(),
            "mean": j.mean.tolist(),
            "low": j.low.tolist(),
            "high": j.high.tolist(),
        }
        for j in found
    ]
    return dict(stack_tables(tables))
