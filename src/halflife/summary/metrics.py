"""The change between an old summary and the current truth.

With W_o and W_c the words of the old and of the current summary, S the words of
both, and f_o, f_c the documents that contain a word:

    unweighted recall     ur = |S| / |W_c|
    unweighted precision  up = |S| / |W_o|
    weighted recall       wr = sum(f_c, S) / sum(f_c, W_c)
    weighted precision    wp = sum(f_o, S) / sum(f_o, W_o)
    divergence            kl = sum(p_c log(p_c / p_o), S)

where p_o and p_c are f_o and f_c divided by their sums over S. A word with count 0
is not in a summary. Ipeirotis, Ntoulas, Cho and Gravano, "Modeling and managing
changes in text databases", TODS 2007, section 3.2; the article prints W_D for W_o
in wr and leaves the base of the logarithm open: here it is e.

A share of nothing is NaN. So is a divergence over fewer than two shared words: it
would be 0 for one word, however the databases changed. ``DivergenceStatus`` has the
reason.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np

from halflife.core.arrays import Bytes, Floats, Ints


class DivergenceStatus(IntEnum):
    """Whether the divergence of two summaries is meaningful, and why not."""

    OK = 0
    NOTHING_SHARED = 1
    ONE_SHARED = 2
    EMPTY_OLD = 3  # also if both are empty
    EMPTY_NEW = 4


@dataclass(frozen=True, slots=True)
class SummaryChange:
    """The five metrics of many pairs of summaries: arrays of one shape.

    Attributes:
        ur: Unweighted recall.
        up: Unweighted precision.
        wr: Weighted recall.
        wp: Weighted precision.
        kl: Kullback-Leibler divergence on the shared words; NaN unless ``OK``.
        status: A ``DivergenceStatus`` each.

    """

    ur: Floats
    up: Floats
    wr: Floats
    wp: Floats
    kl: Floats
    status: Bytes

    def of(self, metric: str) -> Floats:
        """Return one of the five, by its name."""
        if metric not in METRICS:
            raise ValueError(f"no metric {metric!r}; one of {', '.join(METRICS)}")
        values: Floats = getattr(self, metric)
        return values


METRICS = tuple(f.name for f in fields(SummaryChange) if f.name != "status")


@dataclass(frozen=True, slots=True)
class SummaryOverlap:
    """The sums from which the metrics of many pairs are computed, all of one shape.

    Attributes:
        old_words: Words of the old summary.
        new_words: Words of the new one.
        shared: Words of both.
        old_total: Counts of the old summary, summed.
        new_total: Counts of the new one, summed.
        old_shared: Counts of the old summary, summed over the words of both.
        new_shared: Counts of the new one, summed over the words of both.

    """

    old_words: Floats
    new_words: Floats
    shared: Floats
    old_total: Floats
    new_total: Floats
    old_shared: Floats
    new_shared: Floats

    def status(self) -> Bytes:
        """Return the ``DivergenceStatus`` of each pair."""
        statuses = np.select(
            [self.old_words == 0, self.new_words == 0, self.shared < 2],
            [
                DivergenceStatus.EMPTY_OLD,
                DivergenceStatus.EMPTY_NEW,
                DivergenceStatus.NOTHING_SHARED + self.shared,
            ],
            DivergenceStatus.OK,
        )
        return statuses.astype(np.int8)

    def change(self, kl: Floats) -> SummaryChange:
        """Return the metrics, given divergences that are used only where ``OK``."""
        status = self.status()
        return SummaryChange(
            ur=share(self.shared, self.new_words),
            up=share(self.shared, self.old_words),
            wr=share(self.new_shared, self.new_total),
            wp=share(self.old_shared, self.old_total),
            kl=np.where(status == DivergenceStatus.OK, np.maximum(kl, 0.0), np.nan),
            status=status,
        )


def share(part: Floats, whole: Floats) -> Floats:
    """Return part / whole; NaN where the whole is 0."""
    positive = whole > 0
    return np.where(positive, part / np.where(positive, whole, 1.0), np.nan)


def compare_cells(
    old: tuple[Ints, Floats], new: tuple[Ints, Floats], rows: int, columns: int
) -> SummaryChange:
    """Compare the rows of two tables, each given by its cells that are not 0.

    A cell is ``row * columns + column``; cells ascend. One pass over the cells.
    """
    for cells, count in (old, new):
        _check(cells, count)
    _, i, j = np.intersect1d(old[0], new[0], assume_unique=True, return_indices=True)
    row, f_o, f_c = old[0][i] // columns, old[1][i], new[1][j]
    a, b = _sum(row, f_o, rows), _sum(row, f_c, rows)
    ratio = (f_c / b[row]) * np.log((f_c / f_o) * (a / np.maximum(b, 1e-300))[row])
    overlap = SummaryOverlap(
        old_words=_sum(old[0] // columns, np.ones_like(old[1]), rows),
        new_words=_sum(new[0] // columns, np.ones_like(new[1]), rows),
        shared=_sum(row, np.ones_like(f_o), rows),
        old_total=_sum(old[0] // columns, old[1], rows),
        new_total=_sum(new[0] // columns, new[1], rows),
        old_shared=a,
        new_shared=b,
    )
    return overlap.change(_sum(row, ratio, rows))


def _sum(row: Ints, values: Floats, rows: int) -> Floats:
    return np.bincount(row, values, rows).astype(np.float64)


def _check(cells: Ints, count: Floats) -> None:
    if not (np.isfinite(count) & (count > 0)).all():
        raise ValueError("counts of words must be finite and above 0")
    if (np.diff(cells) <= 0).any():
        raise ValueError("the words of a summary must ascend, each once")


def compare(old: Mapping[str, float], new: Mapping[str, float]) -> SummaryChange:
    """Return all metrics of one pair of word counts; arrays of one value."""
    for count in (*old.values(), *new.values()):
        if not 0 <= count < math.inf:
            raise ValueError(f"counts of words must be finite and not below 0: {count}")
    place = {w: k for k, w in enumerate(sorted(old.keys() | new.keys()))}
    sides = []
    for counts in (old, new):
        cells = sorted((place[w], float(f)) for w, f in counts.items() if f > 0)
        sides.append(
            (
                np.array([k for k, _ in cells], dtype=np.intp),
                np.array([f for _, f in cells], dtype=np.float64),
            )
        )
    return compare_cells(sides[0], sides[1], 1, max(len(place), 1))


def status(old: Mapping[str, float], new: Mapping[str, float]) -> DivergenceStatus:
    """Return whether a divergence of the two would be meaningful.

    >>> status({"a": 1.0}, {"a": 2.0, "b": 1.0}).name
    'ONE_SHARED'
    """
    return DivergenceStatus(int(compare(old, new).status[0]))


def unweighted_recall(old: Mapping[str, float], new: Mapping[str, float]) -> float:
    """Return the share of the current words that the old summary has.

    >>> unweighted_recall({"a": 3, "b": 1}, {"a": 1, "c": 1, "d": 2})
    0.3333333333333333
    """
    return float(compare(old, new).ur[0])


def unweighted_precision(old: Mapping[str, float], new: Mapping[str, float]) -> float:
    """Return the share of the old words that are still present.

    >>> unweighted_precision({"a": 3, "b": 1}, {"a": 1, "c": 1, "d": 2})
    0.5
    """
    return float(compare(old, new).up[0])


def weighted_recall(old: Mapping[str, float], new: Mapping[str, float]) -> float:
    """Return the share of the current counts on words that the old summary has.

    >>> weighted_recall({"a": 3, "b": 1}, {"a": 1, "c": 1, "d": 2})
    0.25
    """
    return float(compare(old, new).wr[0])


def weighted_precision(old: Mapping[str, float], new: Mapping[str, float]) -> float:
    """Return the share of the old counts on words that are still present.

    >>> weighted_precision({"a": 3, "b": 1}, {"a": 1, "c": 1, "d": 2})
    0.75
    """
    return float(compare(old, new).wp[0])


def kl(
    old: Mapping[str, float], new: Mapping[str, float], *, base: float = math.e
) -> float:
    """Return the divergence of the current counts from the old, on shared words.

    NaN if fewer than two words are shared; ``status`` says why.

    >>> round(kl({"a": 1, "b": 1, "x": 9}, {"a": 3, "b": 1}), 4)
    0.1308
    >>> kl({"a": 1, "b": 2}, {"a": 10, "b": 20})
    0.0
    """
    if not 1.0 < base < math.inf:
        raise ValueError(f"the base of a logarithm must be above 1, got {base}")
    return float(compare(old, new).kl[0] / math.log(base))
