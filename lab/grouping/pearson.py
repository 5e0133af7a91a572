"""Groups of categories as the paper makes them: k-means on rates, Pearson's T.

Papers/000, s. 5. The rates of the categories are clustered into m = 2, 3, ...
groups, each time anew, and m grows while T falls by more than a threshold.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.grouping.risk import ExposureSpans, cells

THRESHOLD = 1.5  # papers/000, s. 6.3


@dataclass(frozen=True, slots=True)
class Step:
    """One number of groups.

    Attributes:
        groups: The categories of each group, slowest group first.
        statistic: Pearson's T of it.
        gain: How much T fell from the step before; 0 for the first.

    """

    groups: tuple[tuple[str, ...], ...]
    statistic: float
    gain: float = 0.0


def pearson(observed: Floats, expected: Floats) -> float:
    """Return T = sum((E - O)^2 / E) over the cells where something is expected.

    >>> pearson(np.array([8.0, 12.0]), np.array([10.0, 10.0]))
    0.8
    """
    there = expected > 0
    gap = (expected - observed)[there] ** 2
    return float((gap / expected[there]).sum())


def k_means(values: Floats, clusters: int, weight: Floats | None = None) -> Ints:
    """Return the cluster of each value, 0 for the smallest, with the least spread.

    On a line the best clusters are stretches of the sorted values, so dynamic
    programming finds them exactly. Of equally good ones the slow clusters are
    the larger. Wang and Song, "Ckmeans.1d.dp", R Journal 2011.

    >>> k_means(np.array([1.0, 9.0, 2.0, 8.0]), 2)
    array([0, 1, 0, 1])
    """
    order = np.argsort(values, kind="stable")
    spread = _spreads(
        values[order], np.ones(values.size) if weight is None else weight[order]
    )
    clusters = min(clusters, values.size)
    best, starts = spread[0], []
    for _ in range(1, clusters):
        total = np.full(spread.shape, np.inf)
        total[1:] = best[:-1, None] + spread[1:]
        least = total.min(axis=0)
        close = total <= least * (1 + 1e-9) + 1e-15 * spread[0, -1]
        starts.append(len(values) - 1 - np.argmax(close[::-1], axis=0))
        best = least
    return _labels(order, starts)


def _spreads(values: Floats, weight: Floats) -> Floats:
    """Return the weighted sum of squares about the mean of values i..j."""
    centred = values - np.average(values, weights=weight)
    sums = [np.r_[0.0, np.cumsum(weight * centred**k)] for k in range(3)]
    w, x, xx = (s[None, 1:] - s[:-1, None] for s in sums)
    spread = xx - np.divide(x**2, w, out=np.zeros_like(w), where=w > 0)
    found: Floats = np.where(np.tri(values.size, k=-1) > 0, np.inf, spread.clip(0.0))
    return found


def _labels(order: Ints, starts: Sequence[Ints]) -> Ints:
    labels = np.zeros(order.size, dtype=np.intp)
    end = order.size
    for number in range(len(starts), 0, -1):
        begin = int(starts[number - 1][end - 1])
        labels[order[begin:end]] = number
        end = begin
    return labels


def life_bins(risk: ExposureSpans, enough: int = 50, most: int = 20) -> Floats:
    """Return the edges of bins of life span with at least ``enough`` ends in each."""
    spans, counts = np.unique(risk.time[risk.dead], return_counts=True)
    left = int(counts.sum())
    wanted = max(enough, left // most)
    inner, held = [], 0
    for span, count in zip(spans.tolist(), counts.tolist(), strict=True):
        held, left = held + count, left - count
        if held >= wanted and left >= wanted:
            inner.append(span)
            held = 0
    return np.array([0.0, *inner, np.inf])


def pearson_groups(
    risk: ExposureSpans,
    category: Ints,
    names: Sequence[str],
    *,
    threshold: float = THRESHOLD,
    edges: Floats | None = None,
) -> tuple[Step, ...]:
    """Return the accepted steps, from one group on; the last is the partition.

    O is the number of lives of a category that ended in a bin of life span, E what
    the rate of its group expects of the days at risk there, which counts lives that
    are censored or truncated for as long as they were watched.
    """
    aged = ExposureSpans(np.zeros_like(risk.entry), risk.time, risk.dead)
    bins = life_bins(risk) if edges is None else edges
    deaths, time = cells(aged, category, len(names), bins)
    watched: Bools = time.sum(axis=1) > 0
    steps = [_step(deaths, time, watched, names, 1)]
    for clusters in range(2, int(watched.sum()) + 1):
        step = _step(deaths, time, watched, names, clusters)
        gain = steps[-1].statistic - step.statistic
        if gain <= threshold:
            break
        steps.append(Step(step.groups, step.statistic, gain))
    return tuple(steps)


def _step(
    deaths: Floats, time: Floats, watched: Bools, names: Sequence[str], clusters: int
) -> Step:
    d, t = deaths[watched].sum(axis=1), time[watched].sum(axis=1)
    label = (
        k_means(d / t if d.size else d, clusters, t) if d.size else d.astype(np.intp)
    )
    rate = np.bincount(label, d) / np.bincount(label, t) if d.size else d
    statistic = pearson(deaths[watched], rate[label][:, None] * time[watched])
    there = [name for name, seen in zip(names, watched, strict=True) if seen]
    groups = tuple(
        tuple(n for n, g in zip(there, label, strict=True) if g == k)
        for k in range(rate.size)
    )
    return Step(groups, statistic)
