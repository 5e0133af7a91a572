"""How many records of the server answer a query, |R_S(q)|.

Yang, Wang, Lim, Wang (SIGMOD 2010), section 4.1, name three ways: ask for the number
of hits; count in a similar relation and scale; estimate how often words go together
from a sample and the frequency of each word (Li and Church, "A sketch algorithm for
estimating two-way and multi-way associations", Computational Linguistics 33, 2007).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from halflife.arrays import Floats, Ints
from halflife.queries.incidence import Incidence
from halflife.queries.known.keywords import Pool
from halflife.queries.known.sets import NONE, UNKNOWN, SetTable

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


def counted(pool: Pool, other: Incidence) -> Ints:
    """Return how many records of another relation answer each candidate."""
    return SetTable(numbered(pool, other)).counts(other)


def settled(pool: Pool, count: Floats, error: Floats) -> Hits:
    """Return counts that are no less than what is held; a look-up finds one."""
    floor = np.where(pool.lookup, 1.0, np.maximum(pool.held, 1.0))
    low = count < floor
    return Hits(
        np.where(pool.lookup, 1.0, np.maximum(count, floor)),
        np.where(pool.lookup, 0.0, np.where(low, np.inf, error)),
    )


@dataclass(frozen=True)
class Known:
    """The truth: the server's relation lies open."""

    server: Incidence

    def hits(self, pool: Pool) -> Hits:
        """Return how many records of the server answer each candidate."""
        count = counted(pool, self.server).astype(np.float64)
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
class Scaled:
    """A similar relation that lies open, times a factor: c |R_ref(q)|.

    The relative error of a count is sqrt(1 / |R_ref| + (error of c / c)^2): the
    matches are a Poisson number, the factor an estimate.
    """

    reference: Incidence
    factor: Factor

    def hits(self, pool: Pool) -> Hits:
        """Return how many records of the server answer each candidate."""
        shown = np.maximum(counted(pool, self.reference), FEW)
        off = self.factor.error / self.factor.value
        return settled(pool, shown * self.factor.value, np.sqrt(1 / shown + off**2))
