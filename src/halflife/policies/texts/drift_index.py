"""The index rule for divergence, with drift learned from what refreshes show.

A summary t weeks old is expected to be off by D(t) = a t**b. Renewing it is worth

    U(t) = t D(t) - (integral of D over 0..t) = a t**(b + 1) b / (b + 1),

and what is worth most is renewed first (Olston and Widom, SIGMOD 2002). With b = 1 and
a known a this is the square-root law: frequencies in proportion to sqrt(a).

Every refresh shows how far the old summary was off after its gap. A database's ``a``
is its own mean drift, drawn towards what all show for one of its size by as much as
eight weeks of drift would. That expectation falls with 1 / |D|: a new document moves
the counts of a large database less. Databases differ by orders of magnitude and a few
jumps hold most of the drift, so how much to draw cannot be read off variances
(Buehlmann and Straub's credibility did worse); anything from 1 to 16 weeks does about
as well, and means by domain do no better than one for all. ``b`` is common to all, and
every database has one vote.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats, Ints
from halflife.policies.texts import Refreshes, RefreshWish, SummaryShelf, best

POWERS: Floats = np.linspace(0.3, 1.5, 25)
USUAL = 1.0  # b where gaps do not differ enough to tell
_TRUST = 20.0  # how strongly b is drawn there
_TINY = 1e-12
WEIGHT = 8.0  # weeks of drift that the expectation counts for


@dataclass(frozen=True, slots=True)
class LearnedDrift:
    """Drift of each database: D(t) = scale t**power."""

    scale: Floats
    power: float

    def worth(self, age: Floats) -> Floats:
        """Return U(age)."""
        b = self.power
        return self.scale * age ** (b + 1.0) * b / (b + 1.0)


class DriftIndex:
    """Renews the summaries whose refresh is worth most."""

    by_cost = True

    def score(self, shelf: SummaryShelf, age: Floats) -> Floats:
        """Return U(age) of each database."""
        return learn(shelf.refreshes, shelf.size).worth(age)

    def __call__(
        self, shelf: SummaryShelf, budget: float, rng: Generator
    ) -> RefreshWish:
        """Return what is worth most."""
        return best(self.score(shelf, shelf.age.astype(np.float64)), budget, rng)


drift_index = DriftIndex()


def learn(seen: Refreshes, size: Floats) -> LearnedDrift:
    """Return the drift of each database from refreshes with a known divergence.

    a = (own drift + w m) / (own exposure + w), exposure being the sum of g**b over
    gaps g, and m in proportion to 1 / size such that all would have drifted as much
    as they did.
    """
    some = np.isfinite(seen.kl) & (seen.gap > 0)
    database, gap, kl = seen.database[some], seen.gap[some], seen.kl[some]
    n = size.size
    b = power(database, gap, kl, n)
    total, watched = np.bincount(database, kl, n), np.bincount(database, gap**b, n)
    sums = (total.astype(np.float64), watched.astype(np.float64))
    return LearnedDrift(shrunk(*sums, size), b)


def shrunk(total: Floats, watched: Floats, size: Floats) -> Floats:
    """Return the drift of each database: its own, drawn to what all show for its size.

    Args:
        total: How far its summaries were off, summed over its refreshes.
        watched: The exposure of these.
        size: Its documents.

    """
    light = 1.0 / np.maximum(size, 1.0)
    usual = light * (total.sum() / max(float(watched @ light), _TINY))
    scale = (total + WEIGHT * usual) / (watched + WEIGHT)
    return np.asarray(np.maximum(scale, _TINY))


def power(database: Ints, gap: Floats, kl: Floats, n: int) -> float:
    """Return b: the most likely if each database's drift were one count, spread out.

    Given its total X_i a database's drift falls to its gaps in proportion to g**b, so
    the log-likelihood is sum(kl / X_i ln g**b) - sum(ln sum(g**b)). It is drawn to 1,
    which stands where all gaps are the same.
    """
    total = np.bincount(database, kl, n)
    moved = total > 0
    vote = np.where(moved, total, 1.0)[database]
    lean = float((kl / vote) @ np.log(gap))
    likely = [
        b * lean
        - float(np.log(np.bincount(database, gap**b, n)[moved]).sum())
        - 0.5 * _TRUST * (b - USUAL) ** 2
        for b in POWERS.tolist()
    ]
    return float(POWERS[int(np.argmax(likely))])
