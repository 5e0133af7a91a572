"""The effect of age on summaries: the five metrics by weeks, over databases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats, Ints
from halflife.metrics.intervals import Interval, Ratio, cluster_interval, draws
from halflife.summary.drift import SummaryDrift, by_age
from halflife.summary.metrics import METRICS

YEAR = 52  # weeks


@dataclass(frozen=True, slots=True)
class Curve:
    """One metric against age: means over databases, with intervals.

    Attributes:
        mean: Mean over databases of the means over each one's starts.
        low: Its lower bound.
        high: Its upper bound.
        databases: Databases for which it is defined.

    """

    mean: Floats
    low: Floats
    high: Floats
    databases: Ints


@dataclass(frozen=True, slots=True)
class AgeCurves:
    """The five metrics of summaries of each age, in weeks."""

    age: Ints
    curves: Mapping[str, Curve]

    def at(self, metric: str, age: int) -> Interval:
        """Return a metric at an age, with its bounds."""
        k = int(np.flatnonzero(self.age == age)[0])
        curve = self.curves[metric]
        return Interval(*(float(v[k]) for v in (curve.mean, curve.low, curve.high)))


def age_curves(
    drifts: Sequence[SummaryDrift], rng: Generator, *, ages: Ints | None = None
) -> AgeCurves:
    """Average the metrics by age: first over a database's starts, then over databases.

    Several drifts of one database, from several samples, are averaged first. Each
    database counts once. Bounds: 95 %, by resampling whole databases.
    """
    if not drifts:
        raise ValueError("no database to average over")
    ages = np.arange(1, YEAR + 1) if ages is None else ages
    names = tuple(dict.fromkeys(drift.name for drift in drifts))
    tables = {m: np.full((len(drifts), ages.size), np.nan) for m in METRICS}
    for k, drift in enumerate(drifts):
        for metric, mean in by_age(drift, ages):
            tables[metric][k] = mean
    group = np.array([names.index(drift.name) for drift in drifts])
    counts = draws(len(names), rng)
    return AgeCurves(ages, {m: _curve(t, group, counts) for m, t in tables.items()})


def _curve(table: Floats, group: Ints, counts: Floats) -> Curve:
    finite = np.isfinite(table)
    values = np.where(finite, table, 0.0)
    groups = counts.shape[1]
    bounds, databases = [], []
    for k in range(table.shape[1]):
        number = np.bincount(group, finite[:, k], groups)
        mean = np.bincount(group, values[:, k], groups) / np.maximum(number, 1.0)
        defined = number > 0
        databases.append(int(defined.sum()))
        bounds.append(
            cluster_interval(counts, Ratio(mean, defined.astype(np.float64)))
            if defined.any()
            else Interval(np.nan, np.nan, np.nan)
        )
    mean, low, high = np.array(bounds).reshape(-1, 3).T
    return Curve(mean, low, high, np.array(databases, dtype=np.intp))
