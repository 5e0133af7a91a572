"""Decay of copies: by source, by category, by the date the copy was made."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.lifetimes import Collection
from halflife.models.census import METRICS
from halflife.models.pool import Study
from halflife.study import axes, empirical
from halflife.study.empirical import BAND, DecayCurves
from halflife.study.figures import (
    Column,
    StudyFigure,
    Table,
    drawing,
    short,
    stack_tables,
)
from halflife.study.marks import BandMark, LineMark, Mark
from halflife.study.phrases import day, share, stretch
from halflife.study.svg import Chart

MEANING = {
    "precision": "share of the copy that is still there",
    "recall": "share of the source that the copy has",
}
START = 0.2  # share of the copies, at the beginning, with too little history
KNOTS = 9  # lags at which forecasts are made


@dataclass(frozen=True)
class ForecastBand:
    """A forecast of one metric at several lags: mean, low, high."""

    mean: Floats
    low: Floats
    high: Floats


# The forecast from the history until a moment, for some lags after it.
Cast: TypeAlias = Callable[[Collection, float, Floats], dict[str, ForecastBand]]


def by_source(collection: Collection, known: Study) -> StudyFigure:
    """Show how copies of the source decayed, and the forecast of it."""
    lag = empirical.lags(collection)
    seen = empirical.decay(collection, _after_start(collection, lag), lag)
    meant = _meant(known, seen)
    charts = tuple(
        drawing(
            Chart(
                f"{metric.capitalize()}: {MEANING[metric]}",
                _about(seen, metric),
                axes.spans("time since the copy was made", float(lag[-1])),
                axes.percent(metric),
                (
                    BandMark(lag, *_band(seen, metric), "8 of 10 copies", tone),
                    LineMark(lag, meant[metric], "forecast, mean", 6, dash=1),
                    LineMark(lag, seen.mean(metric), "seen, mean", tone),
                ),
            )
        )
        for tone, metric in enumerate(METRICS)
    )
    return StudyFigure(
        "decay",
        "How fast a copy decays",
        _said(seen),
        charts,
        _table(seen, meant),
    )


def _after_start(collection: Collection, lag: Floats) -> Floats:
    """Return snapshots with enough history before and enough observations after."""
    made = empirical.references(collection, lag)
    late = made[made >= made[0] + START * (made[-1] - made[0])] if made.size else made
    return late if late.size else made


def _meant(known: Study, seen: DecayCurves) -> dict[str, Floats]:
    """Return the mean forecast for the same copies, at each lag.

    Forecasts are made at some of the lags; between them the logarithm is interpolated.
    """
    rows = knots(seen.lag)
    copies = np.searchsorted(known.census.looks, seen.made)
    logs = np.zeros((2, rows.size))
    for k, lag in enumerate(seen.lag[rows].tolist()):
        if lag > 0:
            quality = np.exp(-known.at(lag).pooled[:, copies]).mean(axis=1)
            logs[:, k] = np.log(np.maximum(quality, 1e-6))
    return {
        metric: np.exp(np.interp(seen.lag, seen.lag[rows], logs[m]))
        for m, metric in enumerate(METRICS)
    }


def knots(lag: Floats) -> Ints:
    """Return the rows of some lags, denser at the beginning."""
    share = np.linspace(0.0, 1.0, KNOTS) ** 1.5
    return np.unique((share * (lag.size - 1)).round().astype(np.intp))


def by_category(collection: Collection, name: str) -> StudyFigure:
    """Show how copies of the largest categories of an attribute decayed."""
    lag = empirical.lags(collection)
    made = empirical.references(collection, lag)
    found = {"all": empirical.decay(collection, made, lag)}
    for value, rows in empirical.categories(collection, name):
        found[value] = empirical.decay(collection.select(rows), made, lag)
    charts = tuple(
        drawing(
            Chart(
                f"{metric.capitalize()} by {name}",
                "; ".join(f"{k}: {_at_end(v, metric)}" for k, v in found.items()),
                axes.spans("time since the copy was made", float(lag[-1])),
                axes.percent(f"{metric}, mean"),
                tuple(
                    LineMark(lag, d.mean(metric), short(k), *_style(i))
                    for i, (k, d) in enumerate(found.items())
                ),
            )
        )
        for metric in METRICS
    )
    tables = [{name: [k] * lag.size, **_table(d, {})} for k, d in found.items()]
    return StudyFigure(
        "decay-by-category",
        f"How fast a copy decays, by {name}",
        (_extremes(found),),
        charts,
        stack_tables(tables),
    )


def by_date(collection: Collection, cast: Cast) -> StudyFigure:
    """Show how copies made at three dates decayed, and the forecasts of that time."""
    lag = empirical.lags(collection)
    full = empirical.references(collection, lag, 1000)
    rows = np.unique((np.array([0.3, 0.65, 1.0]) * (full.size - 1)).round().astype(int))
    seen = empirical.decay(collection, full[rows], lag)
    fans = [cast(collection, float(at), lag) for at in seen.made]
    names = [day(at) for at in seen.made.tolist()]
    charts = tuple(
        drawing(
            Chart(
                f"Copy of {name}",
                "Lines are what was seen, dashes what had been forecast, with its "
                "interval. "
                + "; ".join(f"{m} {_at_end(seen.row(k), m)}" for m in METRICS),
                axes.spans("time since the copy was made", float(lag[-1])),
                axes.percent("share"),
                tuple(_dated(seen.row(k), fans[k])),
            )
        )
        for k, name in enumerate(names)
    )
    table: dict[str, Column] = {
        "made": [name for name in names for _ in lag],
        "lag_days": np.tile(lag, len(names)),
    }
    for metric in METRICS:
        table[metric] = seen.of(metric).ravel()
        for side in ("mean", "low", "high"):
            values = [getattr(fan[metric], side) for fan in fans]
            table[f"{metric}_forecast_{side}"] = np.concatenate([*values, np.zeros(0)])
    said = (
        "Each forecast uses only what had been seen by the day the copy was made.",
        "The shaded area is meant to hold the truth 95 times of 100.",
    )
    return StudyFigure(
        "decay-by-date", "Copies made at different dates", said, charts, table
    )


def _dated(seen: DecayCurves, fan: dict[str, ForecastBand]) -> list[Mark]:
    marks: list[Mark] = []
    for tone, m in enumerate(METRICS):
        marks += [
            BandMark(seen.lag, fan[m].low, fan[m].high, "", tone),
            LineMark(seen.lag, seen.mean(m), f"{m}, seen", tone),
            LineMark(seen.lag, fan[m].mean, "forecast", tone, dash=1),
        ]
    return marks


def _style(i: int) -> tuple[int, int]:
    """Return tone and dash of a category; the first, of all, is neutral and dashed."""
    return (6, 1) if i == 0 else (i - 1, 0)


def _band(seen: DecayCurves, metric: str) -> tuple[Floats, Floats]:
    low, high = (seen.quantile(metric, q) for q in BAND)
    return low, high


def _table(seen: DecayCurves, meant: dict[str, Floats]) -> Table:
    table: dict[str, Floats] = {"lag_days": seen.lag}
    for metric in METRICS:
        low, high = _band(seen, metric)
        table[f"{metric}_mean"] = seen.mean(metric)
        table[f"{metric}_p10"], table[f"{metric}_p90"] = low, high
        if metric in meant:
            table[f"{metric}_forecast"] = meant[metric]
    return table


def _last(seen: DecayCurves, metric: str) -> tuple[float, float]:
    """Return the last lag with observations, and the mean there."""
    mean = seen.mean(metric)
    known = np.flatnonzero(np.isfinite(mean))
    k = int(known[-1]) if known.size else 0
    return float(seen.lag[k]), float(mean[k])


def _at_end(seen: DecayCurves, metric: str) -> str:
    lag, mean = _last(seen, metric)
    return f"{share(mean)} after {stretch(lag)}"


def _about(seen: DecayCurves, metric: str) -> str:
    return (
        f"Mean {metric} of {seen.made.size} copies by age, with the band that holds 8 "
        f"of 10 of them and the mean forecast. It is {_at_end(seen, metric)}."
    )


def _said(seen: DecayCurves) -> tuple[str, ...]:
    lines = []
    for metric in METRICS:
        mean = seen.mean(metric)
        low = np.flatnonzero(mean < 0.5)
        half = (
            f"falls below one half after {stretch(float(seen.lag[low[0]]))}"
            if low.size
            else f"is {_at_end(seen, metric)}"
        )
        lines.append(f"{metric.capitalize()} ({MEANING[metric]}) {half}.")
    lines.append(
        f"Means over {seen.made.size} copies made between {day(seen.made[0])} and "
        f"{day(seen.made[-1])}."
    )
    return tuple(lines)


def _extremes(found: dict[str, DecayCurves]) -> str:
    """Return which categories differ most where half of all is left, or at the end."""
    for metric in METRICS:
        every = found["all"].mean(metric)
        middle = int(np.argmin(np.where(np.isfinite(every), abs(every - 0.5), np.inf)))
        level = {k: d.mean(metric)[middle] for k, d in found.items() if k != "all"}
        level = {k: float(v) for k, v in level.items() if np.isfinite(v)}
        if len(level) < 2:
            return "No two categories have enough copies to be compared."
        slow, fast = (
            max(level, key=level.__getitem__),
            min(level, key=level.__getitem__),
        )
        if share(level[slow]) != share(level[fast]):
            after = stretch(float(found["all"].lag[middle]))
            each = (f"{share(level[k])} for “{short(k)}”" for k in (slow, fast))
            return f"After {after} {metric} is {' and '.join(each)}."
    return "Copies of all of them decay alike."
