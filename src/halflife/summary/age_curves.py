"""What age does to summaries: the five metrics against weeks, over databases."""

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
        low: The lower bound of it.
        high: The upper bound of it.
        databases: Databases for which it is defined.

    """

    mean: Floats
    low: Floats
    high: Floats
    databases: Ints


@dataclass(frozen=True, slots=True)
class Ageing:
    """The five metrics of summaries of each age, in weeks."""

    age: Ints
    curves: Mapping[str, Curve]

    def at(self, metric: str, age: int) -> Interval:
        """Return a metric at an age, with its bounds."""
        k = int(np.flatnonzero(self.age == age)[0])
        curve = self.curves[metric]
        return Interval(*(float(v[k]) for v in (curve.mean, curve.low, curve.high)))


def ageing(
    found: Sequence[SummaryDrift], rng: Generator, *, ages: Ints | None = None
) -> Ageing:
    """Average the metrics by age: first over a database's starts, then over databases.

    Several drifts of one database, from several samples, are averaged first. Each
    database counts once. Bounds: 95 %, by resampling whole databases.
    """
    if not found:
        raise ValueError("no database to average over")
    asked = np.arange(1, YEAR + 1) if ages is None else ages
    names = tuple(dict.fromkeys(one.name for one in found))
    tables = {m: np.full((len(found), asked.size), np.nan) for m in METRICS}
    for k, one in enumerate(found):
        for metric, mean in by_age(one, asked):
            tables[metric][k] = mean
    group = np.array([names.index(one.name) for one in found])
    counts = draws(len(names), rng)
    return Ageing(asked, {m: _curve(t, group, counts) for m, t in tables.items()})


def _curve(table: Floats, group: Ints, counts: Floats) -> Curve:
    some = np.isfinite(table)
    values = np.where(some, table, 0.0)
    groups = counts.shape[1]
    bounds, databases = [], []
    for k in range(table.shape[1]):
        number = np.bincount(group, some[:, k], groups)
        mean = np.bincount(group, values[:, k], groups) / np.maximum(number, 1.0)
        known = number > 0
        databases.append(int(known.sum()))
        bounds.append(
            cluster_interval(counts, Ratio(mean, known.astype(np.float64)))
            if known.any()
            else Interval(np.nan, np.nan, np.nan)
        )
    mean, low, high = np.array(bounds).reshape(-1, 3).T
    return Curve(mean, low, high, np.array(databases, dtype=np.intp))
