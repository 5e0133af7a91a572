"""Document frequencies from the totals of some queries and the ranks of all words."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.errors import UsageError
from halflife.probing.sample import Sample
from halflife.summary import Summary

LARGEST = 700.0  # of log P; exp of more overflows a float
SHIFTS = np.concatenate([[0.0], np.geomspace(0.1, 1000.0, 41)])


@dataclass(frozen=True, slots=True)
class Mandelbrot:
    """The law f = P (r + p)^-B of the frequency of the word of rank r."""

    scale: float
    shift: float
    slope: float

    def at(self, rank: Floats) -> Floats:
        """Return the frequency at each rank."""
        return self.scale * (rank + self.shift) ** -self.slope


def fit_mandelbrot(rank: Floats, count: Floats) -> Mandelbrot:
    """Return the law that fits best in the logs.

    For each shift p, log f = log P - B log(r + p) is a straight line; the shift with
    the smallest squared error is chosen. Frequencies do not rise with the rank: B >= 0.
    A shift whose P overflows a float is left out.

    >>> law = fit_mandelbrot(np.arange(1.0, 9), 60.0 / np.arange(1.0, 9))
    >>> round(law.scale, 6), float(law.shift), round(law.slope, 6)
    (60.0, 0.0, 1.0)
    """
    if np.unique(rank).size < 2:
        raise UsageError("a law of frequencies needs words of two ranks or more")
    y = np.log(count)
    best = (np.inf, 0.0, float(y.mean()), 0.0)  # constant, if no shift is possible
    for shift in SHIFTS.tolist():
        x = np.log(rank + shift)
        slope = max(0.0, -float(np.cov(x, y)[0, 1] / x.var(ddof=1)))
        level = float(y.mean() + slope * x.mean())
        error = float(((y - level + slope * x) ** 2).sum())
        if level < LARGEST:
            best = min(best, (error, shift, level, slope))
    return Mandelbrot(float(np.exp(best[2])), best[1], best[3])


def ranks(held: Floats) -> Floats:
    """Return ranks from 1, the largest first; ties share their mean rank.

    >>> ranks(np.array([5.0, 2.0, 2.0, 9.0]))
    array([2. , 3.5, 3.5, 1. ])
    """
    value, place, times = np.unique(-held, return_inverse=True, return_counts=True)
    del value
    last = np.cumsum(times)
    return np.asarray((last - (times - 1) / 2.0)[place], np.float64)


def frequency_summary(
    sample: Sample, size: float, totals: Mapping[str, int] | None = None
) -> Summary:
    """Return the summary whose frequencies follow the reported totals.

    Words with a total have it; the others get the frequency that the law fitted to
    these gives for their rank in the sample, between the number of documents read with
    the word and ``size``. Ipeirotis and Gravano, "Distributed search over the hidden
    web", VLDB 2002, section 4.

    Args:
        sample: The sample.
        size: Documents in the database.
        totals: Matches of single words; those of the sample's queries if None.

    """
    held = sample.frequency
    words = tuple(sorted(held))
    seen = np.array([held[w] for w in words], np.float64)
    given = sample.totals if totals is None else totals
    total = np.array([given.get(w, np.nan) for w in words], np.float64)
    good = total > 0.0
    rank = ranks(seen)
    law = fit_mandelbrot(rank[good], total[good])
    count = np.where(good, total, law.at(rank))
    return Summary(
        words, np.clip(count, seen, max(size, seen.max())), size, len(sample.documents)
    )
