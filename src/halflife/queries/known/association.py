"""Estimate how often words co-occur, from a sample and the frequency of each word.

Li and Church, "A sketch algorithm for estimating two-way and multi-way associations",
Computational Linguistics 33 (2007).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.forms import Term
from halflife.queries.incidence import Incidence
from halflife.queries.known.coverage import (
    FEW,
    Hits,
    at_least_held,
    count_matches,
    renumbered,
)
from halflife.queries.known.keywords import Pool
from halflife.queries.known.sets import NONE, SetTable

HALVINGS = 60  # of the range of a count: it is then exact


def together_mle(sample: Floats, size: float, drawn: float) -> Floats:
    """Return how many records have both words, given how many have each.

    Of D records f_1 and f_2 have each word; of D_s drawn without replacement, a_s have
    both, b_s and c_s have one, d_s none. The most likely count a of records that
    have both (Li and Church 2007, section 5) is the first at which

        (a+1)/(a+1-a_s) (f_1-a-b_s)/(f_1-a) (f_2-a-c_s)/(f_2-a) (n+1)/(n+1-d_s) <= 1,

    n = D - f_1 - f_2 + a: the likelihood of a + 1 over that of a, which falls in a.
    For a small part of a large relation it is the root of the cubic
    a_s/a - b_s/(f_1-a) - c_s/(f_2-a) + d_s/n = 0.

    Args:
        sample: Rows of a_s, n_1 and n_2 (sample counts of both and each), f_1, f_2.
        size: Records in all, D.
        drawn: Records in the sample, D_s.

    """
    both, n1, n2, f1, f2 = sample
    first, second, none = n1 - both, n2 - both, drawn - n1 - n2 + both
    low = np.ceil(np.maximum(both, f1 + f2 - size + none))
    high = np.maximum(np.floor(np.minimum(f1 - first, f2 - second)), low)
    for _ in range(HALVINGS):
        a = np.floor((low + high) / 2.0)
        rest = size - f1 - f2 + a + 1.0
        more = (a + 1.0) * (f1 - a - first) * (f2 - a - second) * rest
        less = (a + 1.0 - both) * (f1 - a) * (f2 - a) * (rest - none)
        rising = (more > less) & (low < high)
        low, high = np.where(rising, a + 1.0, low), np.where(rising, high, a)
        high = np.maximum(high, low)
    found: Floats = low
    return found


def together_error(
    count: Floats, margins: tuple[Floats, Floats], size: float, drawn: float
) -> Floats:
    """Return the relative standard error of the most likely count.

    Var a = (D/D_s - 1) / (1/a + 1/(f_1 - a) + 1/(f_2 - a) + 1/(D - f_1 - f_2 + a)).
    """
    f1, f2 = margins
    cells = np.array([count, f1 - count, f2 - count, size - f1 - f2 + count])
    information = (1.0 / np.maximum(cells, FEW)).sum(axis=0)
    error: Floats = np.sqrt(max(size / drawn - 1.0, 0.0) / information)
    return error / np.maximum(count, FEW)


@dataclass(frozen=True)
class SampledCoverage:
    """A random sample of the server's records, with the frequency of some terms.

    The count of a term of unknown frequency is its scaled count in the sample. Pairs
    are counted by ``together_mle``; larger sets by assuming that terms depend on each
    other only in pairs:  P(q) = prod P(i, j) / prod P(i)^(m - 2)  (Kirkwood).

    Attributes:
        sample: The records drawn.
        size: Records on the server.
        margins: Records on the server that have a term, if known.
        scaling: Whether the margins are ignored and all sample counts are scaled.

    """

    sample: Incidence
    size: float
    margins: Mapping[Term, float]
    scaling: bool = False

    def hits(self, pool: Pool) -> Hits:
        """Return how many records of the server answer each candidate."""
        times = self.size / len(self.sample)
        if self.scaling:
            shown = np.maximum(count_matches(pool, self.sample), FEW)
            off = np.sqrt(max(times - 1.0, 0.0) / (shown * times))
            return at_least_held(pool, shown * times, off)
        single = self._singles(pool)
        pairs, count, error = self._pairs(pool, single)
        return at_least_held(
            pool, *_combined(pool, single, pairs, (count, error), self.size)
        )

    def _singles(self, pool: Pool) -> Floats:
        """Return how many records have each term of the local relation."""
        shown = np.r_[self.sample.hits, 0, 0][renumbered(pool.local, self.sample)]
        scaled = np.maximum(shown, FEW) * self.size / len(self.sample)
        known = np.array([self.margins.get(t, np.nan) for t in pool.local.terms])
        count = np.where(np.isnan(known), scaled, known)
        return np.clip(count, pool.local.hits, self.size)

    def _pairs(self, pool: Pool, single: Floats) -> tuple[Ints, Floats, Floats]:
        """Return all pairs within the candidates, their counts and errors."""
        columns = list(combinations(range(pool.parts.shape[1]), 2))
        pairs = pool.parts[:, columns].reshape(-1, 2)
        pairs = np.unique(pairs[(pairs != NONE).all(axis=1)], axis=0)
        parts = renumbered(pool.local, self.sample)[pairs]
        both = SetTable(parts).counts(self.sample)
        shown = np.r_[self.sample.hits, 0, 0][parts]  # an unknown term was not shown
        f1, f2 = single[pairs.T]
        rows = np.array([both, shown[:, 0], shown[:, 1], f1, f2], dtype=np.float64)
        drawn = float(len(self.sample))
        count = np.maximum(together_mle(rows, self.size, drawn), FEW)
        return pairs, count, together_error(count, (f1, f2), self.size, drawn)


def _combined(
    pool: Pool,
    single: Floats,
    pairs: Ints,
    estimate: tuple[Floats, Floats],
    size: float,
) -> tuple[Floats, Floats]:
    """Return the counts of sets of any size from those of terms and pairs."""
    length = np.count_nonzero(pool.parts != NONE, axis=1)
    codes = pairs[:, 0] * len(single) + pairs[:, 1] if len(pairs) else np.zeros(0, int)
    share = np.r_[np.log(single / size), 0.0][pool.parts]
    log_count = np.log(size) - share.sum(axis=1) * (length - 2)
    variance = np.zeros(len(pool))
    top = np.r_[single, np.inf][pool.parts].min(axis=1)
    for i, j in combinations(range(pool.parts.shape[1]), 2):
        there: Bools = pool.parts[:, j] != NONE
        code = pool.parts[there, i] * len(single) + pool.parts[there, j]
        at = np.searchsorted(codes, code)
        count, error = estimate[0][at], estimate[1][at]
        log_count[there] += np.log(count / size)
        variance[there] += error**2
        top[there] = np.minimum(top[there], count)
    return np.minimum(np.exp(log_count), top), np.sqrt(variance)
