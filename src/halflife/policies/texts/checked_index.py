"""The index rule with checks: match counts of a few words say when to renew.

Most drift comes in jumps that nobody foresees, but five words whose match counts are
asked for anew (``summary.count_check``) see one for a seventieth of what a new summary
takes. So a small share of the budget buys checks, and the rest renews what they show to
be worth most.

**When to check.** Between two checks of a database lie

    every = sum(price pace) / (share income pace),   pace = a**SPREAD,

weeks, so that all checks together take their share of the income: sum(price / every) =
share income. ``a`` is the drift expected a week.

**What a check tells.** Five words are off by a factor of three or so, hence a check
counts for a part of what is believed: where the divergence was expected to be e and the
counts say d, it is taken to be d**TRUST e**(1 - TRUST). Between checks it is on a line,
and after the last one it grows by ``a`` a week.

**What to renew.** Along that path D the gain is U(t) = t D(t) - (integral of D over
0..t), Olston and Widom's index; without checks it is a t**2 / 2. Renewing by U alone
makes frequencies go by sqrt(a): a few restless databases take nearly everything.
U / max(a, median a)**EVEN takes part of that back.

A database that tells no counts, or none of use, is not checked so. Where none tells
any, the rule is the index rule of ``drift_index``.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats, Ints
from halflife.policies.texts import (
    NONE,
    CountChecks,
    RefreshWish,
    SummaryShelf,
    best,
)
from halflife.policies.texts.drift_index import drift_index, shrunk

SHARE = 0.07  # of the budget that buys checks
SPREAD = 0.4  # how much more often restless databases are checked
TRUST = 0.3  # what a check counts for, in the logarithm
EVEN = 0.7  # how much of the preference for restless databases is taken back
FLOOR = 0.05  # of what was expected: no check says less, five words may all stay put
NEAREST = 0.5  # weeks: in a replay a check is made in the nearest week


@dataclass(frozen=True, slots=True)
class CheckedDrift:
    """What is believed of each database.

    Attributes:
        scale: Drift expected a week.
        age: How old the summary was at its last check, in weeks; 0 if there was none.
        off: How far it was off by then.
        area: The integral of that over its age until then.

    """

    scale: Floats
    age: Floats
    off: Floats
    area: Floats

    def expected(self, age: Floats) -> Floats:
        """Return how far a summary is off at an age, the last check or later."""
        return np.asarray(self.off + self.scale * np.maximum(age - self.age, 0.0))

    def worth(self, age: Floats) -> Floats:
        """Return U(age); 0 before the last check."""
        since = np.maximum(age - self.age, 0.0)
        area = self.area + self.off * since + self.scale * since**2 / 2.0
        gain = np.maximum(age * self.expected(age) - area, 0.0)
        return np.asarray(np.where(age >= self.age, gain, 0.0))


def followed(checks: CountChecks | None, scale: Floats, trust: float) -> CheckedDrift:
    """Return what checks make of the drift that was expected, one after another."""
    n = scale.size
    age, off, area = np.zeros(n), np.zeros(n), np.zeros(n)
    if checks is None:
        return CheckedDrift(scale, age, off, area)
    database, at, kl = _told(checks)
    place = np.arange(database.size) - np.searchsorted(database, database)
    for k in range(int(place.max(initial=-1)) + 1):
        mine = place == k
        i, since = database[mine], at[mine] - age[database[mine]]
        guess = off[i] + scale[i] * since
        seen = np.maximum(kl[mine], FLOOR * guess)
        now = seen**trust * guess ** (1.0 - trust)
        area[i] += (off[i] + now) / 2.0 * since
        off[i], age[i] = now, at[mine]
    return CheckedDrift(scale, age, off, area)


def _told(checks: CountChecks) -> tuple[Ints, Floats, Floats]:
    """Return the checks that told something, by database and then by age."""
    some = np.isfinite(checks.kl) & (checks.age > 0)
    database, age = checks.database[some], checks.age[some]
    order = np.lexsort((age, database))
    return database[order], age[order], checks.kl[some][order]


@dataclass(frozen=True, slots=True)
class CheckedIndex:
    """Checks by match counts, and renews what is worth most by them.

    Attributes:
        share: Of the budget that buys checks.
        spread: How much more often restless databases are checked.
        trust: What a check counts for against what was expected, in the logarithm.
        even: How much of the preference for restless databases is taken back.

    """

    share: float = SHARE
    spread: float = SPREAD
    trust: float = TRUST
    even: float = EVEN
    by_cost: ClassVar[bool] = True

    def drift(self, shelf: SummaryShelf) -> CheckedDrift:
        """Return what refreshes and checks make one believe.

        A check of the summary in use counts as a refresh with that drift, for how much
        is expected; what it is compared with itself is what refreshes alone showed.
        """
        seen, n = shelf.refreshes, shelf.size.size
        some = np.isfinite(seen.kl) & (seen.gap > 0)
        database, gap = seen.database[some], seen.gap[some]
        total = np.bincount(database, seen.kl[some], n).astype(np.float64)
        watched = np.bincount(database, gap, n).astype(np.float64)
        first = followed(shelf.checks, shrunk(total, watched, shelf.size), self.trust)
        scale = shrunk(total + first.off, watched + first.age, shelf.size)
        return followed(shelf.checks, scale, self.trust)

    def index(self, drift: CheckedDrift, age: Floats) -> Floats:
        """Return what renewing each is worth at an age, evened out."""
        usual = np.maximum(drift.scale, np.median(drift.scale))
        return np.asarray(drift.worth(age) / usual**self.even)

    def score(self, shelf: SummaryShelf, age: Floats) -> Floats:
        """Return what renewing each is worth at an age."""
        if not _tells(shelf):
            return drift_index.score(shelf, age)
        return self.index(self.drift(shelf), age)

    def every(self, scale: Floats, price: Floats, income: float) -> Floats:
        """Return the time between two checks of each; ``inf`` where there is none.

        >>> rule = CheckedIndex(share=0.1, spread=0.5)
        >>> rule.every(np.array([1.0, 16.0]), np.full(2, 0.02), 1.0)
        array([1.  , 0.25])

        """
        able = np.isfinite(price)
        pace = scale[able] ** self.spread
        every = np.full(scale.size, np.inf)
        every[able] = price[able] @ pace / max(self.share * income, 1e-300) / pace
        return every

    def __call__(
        self, shelf: SummaryShelf, budget: float, rng: Generator
    ) -> RefreshWish:
        """Return whom to check, or if all checks that are due were made, to renew."""
        if not _tells(shelf):
            return drift_index(shelf, budget, rng)
        drift = self.drift(shelf)
        if (due := self._due(shelf, drift.scale, budget)).size:
            return RefreshWish(check=due)
        return best(self.index(drift, shelf.age.astype(np.float64)), budget, rng)

    def _due(self, shelf: SummaryShelf, scale: Floats, budget: float) -> Ints:
        """Return the databases that are to be checked, most overdue first."""
        checks = shelf.checks
        if checks is None:
            return NONE
        last = np.zeros(scale.size)
        np.maximum.at(last, checks.database, checks.age)
        quiet = shelf.age - last
        every = self.every(scale, checks.price, shelf.income)
        due = np.flatnonzero((quiet > 0) & (quiet >= every - NEAREST))
        due = due[np.argsort(-(quiet / every)[due], kind="stable")]
        return due[np.cumsum(checks.price[due]) <= budget]


def _tells(shelf: SummaryShelf) -> bool:
    """Say whether any database tells counts that it can be checked by."""
    return shelf.checks is not None and bool(np.isfinite(shelf.checks.price).any())


checked = CheckedIndex()
