"""How many records of the server answer a query, |R_S(q)|.

Yang, Wang, Lim, Wang (SIGMOD 2010), section 4.1, name three methods: request the number
of hits; count in a similar relation and scale; estimate how often words co-occur from
a sample and the frequency of each word (Li and Church, "A sketch algorithm for
estimating two-way and multi-way associations", Computational Linguistics 33, 2007).
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.queries.incidence import Incidence
from halflife.queries.known.keywords import Pool
from halflife.queries.known.sets import NONE, UNKNOWN, SetTable
from halflife.queries.known.word_counts import WordCounts

FEW = 0.5  # the count of a set that no record of a reference or sample has


@dataclass(frozen=True)
class Hits:
    """Server coverage of candidates.

    Attributes:
        count: Records of the server that answer each, at least those held.
        error: Relative standard error of the count; 0 if it is known, infinite if
            only the records held support it.

    """

    count: Floats
    error: Floats


def numbered(pool: Pool, other: Incidence) -> Ints:
    """Return the sets of a pool in the term numbers of another relation."""
    # Terms are sorted alike in both, so known ones stay in ascending order.
    parts: Ints = np.r_[renumbered(pool.local, other), NONE][pool.parts]
    return parts


def renumbered(local: Incidence, other: Incidence) -> Ints:
    """Return the number of each local term in another relation."""
    number = other.number
    return np.array([number.get(t, UNKNOWN) for t in local.terms], dtype=np.intp)


Reference: TypeAlias = Incidence | WordCounts


def count_matches(pool: Pool, other: Reference) -> Floats:
    """Return how many records of another relation answer each candidate."""
    if isinstance(other, WordCounts):
        return other.counts(pool)
    return SetTable(numbered(pool, other)).counts(other).astype(np.float64)


def at_least_held(pool: Pool, count: Floats, error: Floats) -> Hits:
    """Return hits of at least the records held; a look-up has one."""
    floor = np.maximum(pool.held, 1.0)
    low = count < floor
    return Hits(
        np.where(pool.lookup, 1.0, np.maximum(count, floor)),
        np.where(pool.lookup, 0.0, np.where(low, np.inf, error)),
    )


@dataclass(frozen=True)
class Factor:
    """How much larger one relation is than another, from queries counted in both.

    Attributes:
        value: sum(y) / sum(x), with y the hits and x the counts in the reference.
        error: Its standard error, sqrt(sum((y - c x)^2) / (n - 1) / n) / mean(x).
        queries: Queries that it was learned from.

    """

    value: float
    error: float
    queries: int

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the confidence interval of the factor (Student's t)."""
        from scipy.stats import t  # noqa: PLC0415 (slow to import)

        far = float(t.ppf(0.5 + level / 2.0, max(self.queries - 1, 1))) * self.error
        return max(self.value - far, 0.0), self.value + far


def ratio(server: Floats, reference: Floats) -> Factor:
    """Return the factor between the counts of the same queries in two relations."""
    n = server.size
    if not n or not reference.sum():
        raise ValueError("no counted query is found in the reference")
    value = float(server.sum() / reference.sum())
    off = float(((server - value * reference) ** 2).sum())
    spread = np.sqrt(off / (n - 1) / n) if n > 1 else np.inf
    return Factor(value, float(spread / reference.mean()), n)


@dataclass(frozen=True)
class ScaledCorpus:
    """A similar, open relation times a factor: c |R_ref(q)|.

    The relative error of a count is sqrt(1 / |R_ref| + (error of c / c)^2): the
    matches are a Poisson number, the factor an estimate.
    """

    reference: Reference
    factor: Factor

    def hits(self, pool: Pool) -> Hits:
        """Return how many records of the server answer each candidate."""
        shown = np.maximum(count_matches(pool, self.reference), FEW)
        off = self.factor.error / self.factor.value
        return at_least_held(
            pool, shown * self.factor.value, np.sqrt(1 / shown + off**2)
        )


class ReportedCoverage:
    """The hits that a form reports of candidates, as they are queried.

    Other hits are estimated: by another coverage, or else by the records held times
    the factor by which reports exceed these (section 4.1's similar relation: the copy
    itself). An estimate is at least the number held; a report may be smaller, because
    records may be gone.

    Args:
        pool: The candidates.
        guess: The estimates of those that were not reported.

    Attributes:
        total: The hits last reported of each; nan if none were.

    """

    def __init__(self, pool: Pool, guess: Hits | None = None) -> None:
        self._held = pool.held.astype(np.float64)
        self._search = ~pool.lookup
        self._guess = guess
        self._error = np.zeros(len(pool))
        self._least = np.zeros(len(pool))
        self.total = np.where(pool.lookup, 1.0, np.nan)

    def note_hits(self, number: int, hits: float, error: float = 0.0) -> None:
        """Note how many records answer a candidate, with the relative error."""
        self.total[number], self._error[number] = hits, error

    def note_least(self, number: int, hits: float) -> None:
        """Note that at least so many records do, if the form gives no count."""
        self._least[number] = hits

    @property
    def factor(self) -> float:
        """Reported hits over records held: the geometric mean of all searches sent.

        One more search with a factor of 1 is included: it is better to estimate too low
        a cost of unsent queries than too high, because sending them corrects it.
        """
        return float(np.exp(self._logs().sum() / (1 + self._logs().size)))

    def _logs(self) -> Floats:
        reported = np.isfinite(self.total) & self._search & (self.total > 0)
        ratios: Floats = np.log(self.total[reported] / self._held[reported])
        return ratios

    def hits(self) -> Hits:
        """Return the reported hits, and the estimate where there are none."""
        guess = self._guess or self._scaled()
        reported = np.isfinite(self.total)
        count = np.where(reported, self.total, np.maximum(guess.count, self._least))
        return Hits(count, np.where(reported, self._error, guess.error))

    def _scaled(self) -> Hits:
        """Return the records held times the factor; its error is the logs' spread."""
        logs = self._logs()
        error = float(np.std(np.r_[logs, 0.0])) if logs.size else np.inf
        count = self._held * max(self.factor, 1.0)
        return Hits(count, np.full(count.size, error))
