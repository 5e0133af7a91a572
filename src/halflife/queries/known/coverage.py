"""How many records of the server answer a query, |R_S(q)|.

Yang, Wang, Lim, Wang (SIGMOD 2010), section 4.1, name three ways: ask for the number
of hits; count in a similar relation and scale; estimate how often words go together
from a sample and the frequency of each word (Li and Church, "A sketch algorithm for
estimating two-way and multi-way associations", Computational Linguistics 33, 2007).
"""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.queries.incidence import Incidence
from halflife.queries.known.keywords import Pool
from halflife.queries.known.sets import NONE, UNKNOWN, SetTable
from halflife.queries.known.word_counts import WordCounts

FEW = 0.5  # what a set counts for that a reference or a sample never shows


@dataclass(frozen=True)
class Hits:
    """Server coverage of candidates.

    Attributes:
        count: Records of the server that answer each, at least those held.
        error: Relative standard error of the count; 0 if it is known, infinite if
            only the records held speak for it.

    """

    count: Floats
    error: Floats


class Coverage(Protocol):
    """A way to tell the server coverage of candidates."""

    def hits(self, pool: Pool) -> Hits:
        """Return how many records of the server answer each candidate."""
        ...


def numbered(pool: Pool, other: Incidence) -> Ints:
    """Return the sets of a pool in the term numbers of another relation."""
    # Terms are sorted alike in both, so what is known stays in ascending order.
    parts: Ints = np.r_[renumbered(pool.local, other), NONE][pool.parts]
    return parts


def renumbered(local: Incidence, other: Incidence) -> Ints:
    """Return the number of each local term in another relation."""
    number = other.number
    return np.array([number.get(t, UNKNOWN) for t in local.terms], dtype=np.intp)


Reference: TypeAlias = Incidence | WordCounts


def counted(pool: Pool, other: Reference) -> Floats:
    """Return how many records of another relation answer each candidate."""
    if isinstance(other, WordCounts):
        return other.counts(pool)
    return SetTable(numbered(pool, other)).counts(other).astype(np.float64)


def settled(pool: Pool, count: Floats, error: Floats) -> Hits:
    """Return counts that are no less than what is held; a look-up finds one."""
    floor = np.maximum(pool.held, 1.0)
    low = count < floor
    return Hits(
        np.where(pool.lookup, 1.0, np.maximum(count, floor)),
        np.where(pool.lookup, 0.0, np.where(low, np.inf, error)),
    )


@dataclass(frozen=True)
class TrueCoverage:
    """The truth: the server's relation lies open."""

    server: Incidence

    def hits(self, pool: Pool) -> Hits:
        """Return how many records of the server answer each candidate."""
        count = counted(pool, self.server)
        return settled(pool, count, np.zeros(len(pool)))


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
        """Return where the factor lies with this confidence (Student's t)."""
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
    """A similar relation that lies open, times a factor: c |R_ref(q)|.

    The relative error of a count is sqrt(1 / |R_ref| + (error of c / c)^2): the
    matches are a Poisson number, the factor an estimate.
    """

    reference: Reference
    factor: Factor

    def hits(self, pool: Pool) -> Hits:
        """Return how many records of the server answer each candidate."""
        shown = np.maximum(counted(pool, self.reference), FEW)
        off = self.factor.error / self.factor.value
        return settled(pool, shown * self.factor.value, np.sqrt(1 / shown + off**2))


class ReportedCoverage:
    """What a form reports of candidates, as it is asked for one after the other.

    What was not reported is guessed: by another coverage, or else by the records held
    times the factor by which reports exceed these (section 4.1's similar relation: the
    copy itself). A guess is no less than what is held; a report may be, for records
    may have gone.

    Args:
        pool: The candidates.
        guess: What to believe of those that were not reported.

    Attributes:
        total: What was last reported of each; nan if nothing was.

    """

    def __init__(self, pool: Pool, guess: Hits | None = None) -> None:
        self._held = pool.held.astype(np.float64)
        self._search = ~pool.lookup
        self._guess = guess
        self._error = np.zeros(len(pool))
        self._least = np.zeros(len(pool))
        self.total = np.where(pool.lookup, 1.0, np.nan)

    def hear(self, number: int, hits: float, error: float = 0.0) -> None:
        """Take in how many records answer a candidate, with its relative error."""
        self.total[number], self._error[number] = hits, error

    def hear_least(self, number: int, hits: float) -> None:
        """Take in that at least so many do; the form does not say how many."""
        self._least[number] = hits

    @property
    def factor(self) -> float:
        """Reported hits over records held: the geometric mean of all searches asked.

        One more with a factor of 1 is taken along: what was not asked yet had better
        be thought too cheap than too dear, because asking puts it right.
        """
        return float(np.exp(self._logs().sum() / (1 + self._logs().size)))

    def _logs(self) -> Floats:
        told = np.isfinite(self.total) & self._search & (self.total > 0)
        ratios: Floats = np.log(self.total[told] / self._held[told])
        return ratios

    def hits(self) -> Hits:
        """Return what was reported where it was, and the guess elsewhere."""
        guess = self._guess or self._scaled()
        told = np.isfinite(self.total)
        count = np.where(told, self.total, np.maximum(guess.count, self._least))
        return Hits(count, np.where(told, self._error, guess.error))

    def _scaled(self) -> Hits:
        """Return the records held times the factor; its error is the logs' spread."""
        logs = self._logs()
        error = float(np.std(np.r_[logs, 0.0])) if logs.size else np.inf
        count = self._held * max(self.factor, 1.0)
        return Hits(count, np.full(count.size, error))
