"""How many objects of each age were present and died, snapshot by snapshot.

The life table behind survival forecasts that use the ages of the objects held: for all
snapshots at once, so that what was known at any of them is a running sum.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.models.census import Census, covered

BINS = 24
SHAPES = np.geomspace(0.25, 4.0, 33)
PRIOR = 5.0  # prior deaths at the source's mean rate for every age class

Hazard: TypeAlias = Callable[[Floats], Floats]


@dataclass(frozen=True)
class LifeTable:
    """Counts by snapshot and by age class.

    Ages are cut at ``edges``; the last class has no end. The class after it holds
    objects that were in the first snapshot: their age is unknown.

    Attributes:
        edges: Where the classes of known age begin, in days; the first is 0.
        present: Objects of each class at each snapshot.
        exposure: Object-days of each class up to each snapshot, running sum.
        deaths: Deaths in each class seen up to each snapshot, running sum.

    """

    edges: Floats
    present: Floats
    exposure: Floats
    deaths: Floats

    @classmethod
    def of(cls, census: Census) -> "LifeTable":
        """Return the life table of a census."""
        edges, looks = age_edges(census), census.looks.size
        present, deaths = np.zeros((2, looks, edges.size + 1))
        unknown = census.start == 0
        start, stop = census.start[~unknown], census.stop[~unknown]
        born = census.looks[start]
        enter = [
            np.searchsorted(census.looks, born + edge * (1.0 - 1e-9)) for edge in edges
        ]
        enter.append(np.full(start.size, looks))
        for b in range(edges.size):
            last = np.minimum(enter[b + 1] - 1, stop)
            present[:, b] = covered(looks, enter[b], last)
            deaths[:, b] = _ends(looks, stop[(enter[b] <= stop) & (stop == last)])
        first = np.zeros(int(unknown.sum()), np.intp)
        present[:, -1] = covered(looks, first, census.stop[unknown])
        deaths[:, -1] = _ends(looks, census.stop[unknown])
        lived = _exposure(census.looks, present, deaths)
        return cls(edges, present, lived, np.cumsum(deaths, axis=0))

    @property
    def last(self) -> "LifeTable":
        """The state at the last snapshot alone: a table of one row."""
        rows = (self.present, self.exposure, self.deaths)
        return LifeTable(self.edges, *(counts[-1:] for counts in rows))

    @property
    def middle(self) -> Floats:
        """The representative age of each class of known age."""
        return np.append((self.edges[:-1] + self.edges[1:]) / 2, 1.1 * self.edges[-1])


def life_table_hazard(table: LifeTable) -> tuple[Hazard, Floats]:
    """Return the cumulative hazard by age, and the hazard of objects of unknown age.

    Deaths / exposure in each class, as known at each snapshot, one row for each; every
    class has a few prior deaths at the source's mean rate.
    """
    mean = _mean_rate(table)
    rate = (table.deaths + PRIOR) / (table.exposure + PRIOR / mean)
    width = np.diff(table.edges)
    at_edges = np.cumsum(rate[:, : width.size] * width, axis=1)
    at_edges = np.concatenate([np.zeros_like(mean), at_edges], axis=1)
    row = np.arange(at_edges.shape[0])[:, None]

    def cumulative(age: Floats) -> Floats:
        at = np.searchsorted(table.edges, age, side="right") - 1
        total: Floats = at_edges[row, at] + rate[row, at] * (age - table.edges[at])
        return total

    return cumulative, rate[:, -1:]


def weibull_hazard(table: LifeTable) -> tuple[Hazard, Floats]:
    """Return the same under a Weibull law, (a t)^k, fitted at each snapshot.

    Deaths in a class of age are Poisson with mean r x exposure x the mean of
    k t^(k-1) in the class, r = a^k; r has a closed form for every k, and k is the
    most likely of a grid. Objects of unknown age have a constant rate of their own.
    """
    edges = np.append(table.edges, 1.25 * table.edges[-1])
    deaths, exposure = table.deaths[:, :-1], table.exposure[:, :-1]
    count = deaths.sum(axis=1)[:, None] + 0.5
    slope = np.diff(edges ** SHAPES[:, None]) / np.diff(edges)
    rates = count / np.maximum(exposure @ slope.T, 1e-9)
    log_likelihood = deaths @ np.log(slope).T + count * np.log(rates)
    best = log_likelihood.argmax(axis=1)
    shape, rate = SHAPES[best], rates[np.arange(best.size), best]
    mean = _mean_rate(table)
    old = (table.deaths[:, -1:] + 0.5) / (table.exposure[:, -1:] + 0.5 / mean)

    def cumulative(age: Floats) -> Floats:
        total: Floats = rate[:, None] * age ** shape[:, None]
        return total

    return cumulative, old


def survivors(
    table: LifeTable, hazard: tuple[Hazard, Floats], ahead: Floats
) -> tuple[Floats, Floats]:
    """Return each snapshot's share of objects alive ``ahead`` days on, and of new ones.

    The second is the mean of S(u) over 0 < u < ahead: the share still there of what
    arrives at an even pace. A table of one snapshot accepts any number of days ahead.
    """
    cumulative, old = hazard
    age, time = table.middle[None, :], ahead[:, None]
    rows = np.broadcast_to(age, (ahead.size, age.size))
    alive = np.exp(cumulative(rows) - cumulative(rows + time))
    alive = np.concatenate([alive, np.exp(-old * time)], axis=1)
    total = np.maximum(table.present.sum(axis=1), 1e-9)
    kept = (table.present * alive).sum(axis=1) / total
    share = (np.arange(12) + 0.5) / 12
    return kept, np.exp(-cumulative(share * time)).mean(axis=1)


def age_edges(census: Census) -> Floats:
    """Return where age classes begin: one step wide at first, then ever wider."""
    span = float(np.ptp(census.looks)) if census.looks.size else 0.0
    most = max(span, 4.0 * census.step)
    return np.concatenate([[0.0], np.geomspace(census.step, most, BINS - 1)])


def _mean_rate(table: LifeTable) -> Floats:
    """Return deaths / exposure at each snapshot, with half a prior death."""
    lived = np.maximum(table.exposure.sum(axis=1), 1e-9)
    present = np.maximum(table.present.sum(axis=1), 1.0) * table.edges[1]
    deaths = table.deaths.sum(axis=1)
    rate: Floats = ((deaths + 0.5) / np.maximum(lived, present))[:, None]
    return rate


def _ends(size: int, stop: Ints) -> Floats:
    """Return how many ended, at the first snapshot without them."""
    return np.bincount(stop + 1, minlength=size + 1)[:size].astype(np.float64)


def _exposure(looks: Floats, present: Floats, deaths: Floats) -> Floats:
    """Return running object-days; deaths count half of the gap in which they fall."""
    gap = np.diff(looks, prepend=looks[:1])[:, None]
    before = np.vstack([np.zeros((1, present.shape[1])), present[:-1]])
    return np.cumsum(gap * (before - 0.5 * deaths), axis=0)
