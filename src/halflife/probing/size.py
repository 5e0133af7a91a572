"""How many documents a database holds, from the answers to a few more queries."""

from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats
from halflife.core.search import Document, Searchable
from halflife.probing.capture import LEVEL, SizeInterval
from halflife.probing.query_sampling import PER_QUERY
from halflife.probing.sample import Sample
from halflife.probing.sample_resample import (
    WORDS,
    Resample,
    evened,
    resample,
    sample_resample,
    uncapped,
)
from halflife.probing.totals import FEWEST, USABLE, TotalsTrust, judge

ROUNDS = 1000  # of the bootstrap
REFINED = 5  # times that the size corrects the chances it was found with


class SearchSizeMethod(StrEnum):
    """How a size was found."""

    RESAMPLE = "sample-resample"
    RECAPTURE = "capture-recapture"
    CUT_OFF = "capture-recapture of results that are cut off: the size is at least this"
    UNKNOWN = "no document was found again: the size is at least what was seen"


@dataclass(frozen=True, slots=True)
class DatabaseSize:
    """How many documents a database holds.

    Attributes:
        size: The estimate; never less than the documents seen.
        low: Lower bound of its interval.
        high: Upper bound; infinity if there is none.
        method: How it was found.
        told: What the database's totals are worth.
        requests: Requests that it took.

    """

    size: float
    low: float
    high: float
    method: SearchSizeMethod
    told: TotalsTrust
    requests: int


def estimate_size(  # noqa: PLR0913  (what a size goes by)
    db: Searchable,
    sample: Sample,
    rng: Generator,
    *,
    words: int = WORDS,
    most: int = PER_QUERY,
    cap: int | None = None,
    level: float = LEVEL,
) -> DatabaseSize:
    """Return how many documents a database holds, for a few further queries.

    By sample-resample if the totals that it tells can be used, else by
    capture-recapture. The intervals are by bootstrap over the words (``ratio``).

    Where more documents match than can be reached, those that rank low are never
    found, and recapture tells of the others only: the size has no upper bound then. It
    is no less than the largest total that can be believed.

    Args:
        db: The database.
        sample: A sample of it.
        rng: Chance.
        words: Words to ask for.
        most: Documents looked at a query.
        cap: Results of a query that can be reached at all; None if all can.
        level: Chance that the interval is meant to hold the size.

    """
    found = resample(db, sample, rng, words=words, most=most)
    told = judge(found.held, found.told)
    free = uncapped(found) if told is TotalsTrust.CAPPED else found
    if told is TotalsTrust.CAPPED and len(free.words) < FEWEST:
        told = TotalsTrust.FEW
    whole = all(d.whole for d in sample.documents)
    if told in USABLE and whole:
        bound = _resampled(free, len(sample.documents), rng, level)
        method = SearchSizeMethod.RESAMPLE
    else:
        bound = recaptured(sample, found, rng, level)
        again = np.isfinite(bound.high) or bound.low < bound.size
        method = SearchSizeMethod.RECAPTURE if again else SearchSizeMethod.UNKNOWN
        if again and (found.cut or _capped(found, told, cap)):
            method, bound = SearchSizeMethod.CUT_OFF, replace(bound, high=np.inf)
    seen = float(len(_keys(sample, found)))
    if told in USABLE:
        seen = max(seen, float(np.nanmax(found.told)))
    size, low, high = (max(seen, x) for x in (bound.size, bound.low, bound.high))
    return DatabaseSize(size, low, high, method, told, found.requests)


def _capped(found: Resample, told: TotalsTrust, cap: int | None) -> bool:
    """Say whether words match more documents than can be reached of a query."""
    return cap is not None and told in USABLE and bool(np.nanmax(found.told) > cap)


def _keys(sample: Sample, found: Resample) -> set[str]:
    """Return every document that was ever shown."""
    keys = {d.key for shown in found.shown for d in shown}
    return keys.union(*(asked.keys for asked in sample.asked))


def _resampled(
    found: Resample, read: int, rng: Generator, level: float
) -> SizeInterval:
    """Return the mean with the bounds of a bootstrap over the words."""
    each = evened(found, read)
    each = each[np.isfinite(each)]
    if not each.size:  # it tells totals and shows nothing
        each = sample_resample(read, found.held, found.told)
    return ratio(each, np.ones(each.size), rng, level)


def recaptured(
    sample: Sample, found: Resample, rng: Generator, level: float = LEVEL
) -> SizeInterval:
    """Return the size from the share of documents shown that had been read before.

    N = |S| sum(1/g(d), shown) / sum(1/g(d), shown and in S). It is Lincoln and
    Petersen's with each document weighted by how hard it is to find, so that the
    second sample is even over the database. g(d) adds up, over the pool words in d,
    the chance that w is drawn and shows d: df_S(w) min(1, m / df(w)) up to a factor,
    where m is how many matches are looked at. For a document that was not read, df(w)
    is taken to be N df_S(w) / |S|; for one that was, it must not count itself: then it
    is (df_S(w) - 1 + |S|/N) N / |S|. The upper bound is infinite if no document was
    found again.
    """
    known = {d.key for d in sample.documents}
    caught = [_Caught.of(d, found.pool, known) for shown in found.shown for d in shown]
    query = np.repeat(np.arange(len(found.shown)), [len(s) for s in found.shown])
    size, read = np.inf, float(len(known))
    if not any(c.read for c in caught):
        return SizeInterval(read, read, np.inf)
    for _ in range(REFINED):
        both = np.array([c.ease(read / size, found.most) for c in caught])
        every, again = both.sum(0)
        size = max(read * float(every / again), read)
    each = np.array([np.bincount(query, b, len(found.shown)) for b in both.T]).T
    return ratio(read * each[:, 0], each[:, 1], rng, level)


@dataclass(frozen=True, slots=True)
class _Caught:
    """A document that was shown: df_S of the pool words in it; whether it was read."""

    held: Floats
    read: bool

    @classmethod
    def of(
        cls, document: Document, pool: Mapping[str, int], known: AbstractSet[str]
    ) -> "_Caught":
        held = [pool[w] for w in document.words if w in pool] or [1]
        return cls(np.array(held, np.float64), document.key in known)

    def ease(self, share: float, most: int) -> tuple[float, float]:
        """Return 1/g, and once more if the document was read before.

        ``share`` is |S|/N. A word with no more than ``most`` matches shows all of them,
        so its chance to show the document is its own to be drawn.
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
    # A round that drew almost equal rows says little of the error.
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
