"""Estimates of how many documents a database has, by a few more queries."""

from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats
from halflife.core.search import Document, Searchable
from halflife.probing.query_sampling import PER_QUERY
from halflife.probing.sample import Sample
from halflife.probing.sample_resample import (
    WORDS,
    Resample,
    below_limit,
    resample,
    sample_resample,
    unbiased_sizes,
)
from halflife.probing.totals import FEWEST, USABLE, TotalsTrust, judge_totals

ROUNDS = 1000  # of the bootstrap
REFINED = 5  # times that the size corrects the chances it was found with
LEVEL = 0.95  # chance that an interval is meant to hold the size


@dataclass(frozen=True, slots=True)
class SizeInterval:
    """An estimate of a number of documents, with two bounds."""

    size: float
    low: float
    high: float


class SearchSizeMethod(StrEnum):
    """How a size was estimated."""

    RESAMPLE = "sample-resample"
    RECAPTURE = "capture-recapture"
    CUT_OFF = "capture-recapture of results that are cut off: the size is at least this"
    UNKNOWN = "no document was found again: the size is at least what was seen"


@dataclass(frozen=True, slots=True)
class DatabaseSize:
    """How many documents a database has.

    Attributes:
        size: The estimate; never less than the documents seen.
        low: Lower bound of its interval.
        high: Upper bound; infinity if there is none.
        method: How it was estimated.
        trust: How far the database's totals can be trusted.
        requests: Its cost in requests.
        drawn: The words it was estimated with, without those at a limit.

    """

    size: float
    low: float
    high: float
    method: SearchSizeMethod
    trust: TotalsTrust
    requests: int
    drawn: Resample | None = None


def estimate_size(
    db: Searchable,
    sample: Sample,
    rng: Generator,
    *,
    words: int = WORDS,
    most: int = PER_QUERY,
    cap: int | None = None,
) -> DatabaseSize:
    """Return how many documents a database has, by a few further queries.

    The method is sample-resample if the reported totals can be used, else
    capture-recapture. The intervals are by bootstrap over the words (``ratio``).

    Where more documents match than can be reached, those with low ranks are never
    found, and recapture covers the others only: the size has no upper bound then. It is
    no less than the largest credible total.

    Args:
        db: The database.
        sample: A sample of it.
        rng: The random generator.
        words: Words to query.
        most: Documents requested of a query.
        cap: Results of a query that can be reached at all; None if all can.

    """
    draws = resample(db, sample, rng, words=words, most=most)
    trust = judge_totals(draws.held, draws.totals)
    free = below_limit(draws) if trust is TotalsTrust.CAPPED else draws
    if trust is TotalsTrust.CAPPED and len(free.words) < FEWEST:
        trust = TotalsTrust.FEW
    whole = all(d.whole for d in sample.documents)
    if trust in USABLE and whole:
        bound = _resampled(free, len(sample.documents), rng, LEVEL)
        method = SearchSizeMethod.RESAMPLE
    else:
        bound = recapture(sample, draws, rng, LEVEL)
        again = np.isfinite(bound.high) or bound.low < bound.size
        method = SearchSizeMethod.RECAPTURE if again else SearchSizeMethod.UNKNOWN
        if again and (draws.cut or _capped(draws, trust, cap)):
            method, bound = SearchSizeMethod.CUT_OFF, replace(bound, high=np.inf)
    seen = float(len(_keys(sample, draws)))
    if trust in USABLE:
        seen = max(seen, float(np.nanmax(draws.totals)))
    size, low, high = (max(seen, x) for x in (bound.size, bound.low, bound.high))
    return DatabaseSize(size, low, high, method, trust, draws.requests, free)


def _capped(draws: Resample, trust: TotalsTrust, cap: int | None) -> bool:
    """Say whether words match more documents than a query can reach."""
    return cap is not None and trust in USABLE and bool(np.nanmax(draws.totals) > cap)


def _keys(sample: Sample, draws: Resample) -> set[str]:
    """Return every document that was ever shown."""
    keys = {d.key for shown in draws.shown for d in shown}
    return keys.union(*(query.keys for query in sample.queries))


def _resampled(
    draws: Resample, read: int, rng: Generator, level: float
) -> SizeInterval:
    """Return the mean with the bounds of a bootstrap over the words."""
    sizes = unbiased_sizes(draws, read)
    sizes = sizes[np.isfinite(sizes)]
    if not sizes.size:  # it reports totals and shows nothing
        sizes = sample_resample(read, draws.held, draws.totals)
    return ratio(sizes, np.ones(sizes.size), rng, level)


def recapture(
    sample: Sample, draws: Resample, rng: Generator, level: float = LEVEL
) -> SizeInterval:
    """Return the size from the share of documents shown that had been read before.

    N = |S| sum(1/g(d), shown) / sum(1/g(d), shown and in S). It is Lincoln and
    Petersen's with each document weighted by how hard it is to find, so that the
    second sample is even over the database. g(d) is the sum, over the pool words in d,
    of the chance that w is drawn and shows d: df_S(w) min(1, m / df(w)) up to a factor,
    where m is how many matches are requested. For a document that was not read, df(w)
    is approximated by N df_S(w) / |S|; for one that was, it must not count itself: then
    it is (df_S(w) - 1 + |S|/N) N / |S|. The upper bound is infinite if no document was
    found again.
    """
    known = {d.key for d in sample.documents}
    documents = [
        _ShownDocument.of(d, draws.pool, known) for shown in draws.shown for d in shown
    ]
    query = np.repeat(np.arange(len(draws.shown)), [len(s) for s in draws.shown])
    size, read = np.inf, float(len(known))
    if not any(c.read for c in documents):
        return SizeInterval(read, read, np.inf)
    for _ in range(REFINED):
        weights = np.array([c.ease(read / size, draws.most) for c in documents])
        total, again = weights.sum(0)
        size = max(read * float(total / again), read)
    by_query = np.array([np.bincount(query, b, len(draws.shown)) for b in weights.T]).T
    return ratio(read * by_query[:, 0], by_query[:, 1], rng, level)


@dataclass(frozen=True, slots=True)
class _ShownDocument:
    """A document that was shown: df_S of the pool words in it; whether it was read."""

    held: Floats
    read: bool

    @classmethod
    def of(
        cls, document: Document, pool: Mapping[str, int], known: AbstractSet[str]
    ) -> "_ShownDocument":
        held = [pool[w] for w in document.words if w in pool] or [1]
        return cls(np.array(held, np.float64), document.key in known)

    def ease(self, share: float, most: int) -> tuple[float, float]:
        """Return 1/g, and the same if the document was read before, else 0.

        ``share`` is |S|/N. A word with no more than ``most`` matches shows all of them,
        so its chance to show the document is its chance to be drawn.
        """
        others = self.held - 1.0 + share if self.read else self.held
        odds = self.held / np.maximum(others, max(most * share, 0.5))
        ease = 1.0 / float(odds.sum())
        return ease, ease * self.read


def ratio(
    above: Floats, below: Floats, rng: Generator, level: float = LEVEL
) -> SizeInterval:
    """Return sum(above) / sum(below), with bounds by bootstrap over the rows.

    The bootstrap is of t = (log r* - log r) / se*, where se^2 is the sum of
    (above/sum(above) - below/sum(below))^2 over the rows; that of r itself would be
    too narrow, for a few rows are much larger than the others. Rounds in which nothing
    is below are left out.
    """
    rows = rng.integers(above.size, size=(ROUNDS, above.size))
    x, y = above[rows], below[rows]
    good = (x.sum(1) > 0.0) & (y.sum(1) > 0.0)
    again, error = _logged(x[good], y[good])
    (log,), (spread,) = _logged(above[None], below[None])
    tail = (1.0 - level) / 2.0
    # A round that drew almost equal rows has little information on the error.
    t = (again - log) / np.maximum(error, max(0.25 * spread, 1e-12))
    low, high = np.quantile(t, [tail, 1.0 - tail]).tolist()
    size = float(np.exp(log))
    least, most = (float(np.exp(log - e * spread)) for e in (high, low))
    return SizeInterval(size, min(least, size), max(most, size))


def _logged(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the log of each row's ratio of sums, and its standard error."""
    above, below = x.sum(1, keepdims=True), y.sum(1, keepdims=True)
    error = np.sqrt(((x / above - y / below) ** 2).sum(1))
    return np.log(above / below)[:, 0], error
