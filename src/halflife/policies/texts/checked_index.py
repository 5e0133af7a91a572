"""The index rule with checks: match counts of a few words show when to refresh.

Most drift comes in unpredictable jumps, but new match counts of five words
(``summary.count_check``) detect one for a seventieth of the cost of a new summary. So a
small share of the budget pays for checks, and the rest for the refreshes that they show
to be most valuable.

**When to check.** The interval between two checks of a database is

    every = sum(price pace) / (share income pace),   pace = a**SPREAD,

weeks, so that all checks together use their share of the income: sum(price / every) =
share income. ``a`` is the expected drift per week.

**The evidence of a check.** Five words err by a factor of about three, so a check is
combined with the expectation: for an expected divergence e and an estimate d from the
counts, the new estimate is d**TRUST e**(1 - TRUST). Between checks it is interpolated,
and after the last one it grows by ``a`` a week.

**What to refresh.** Along that path D the gain is U(t) = t D(t) - (integral of D over
0..t), Olston and Widom's index; without checks it is a t**2 / 2. With U alone the
frequencies are proportional to sqrt(a): a few restless databases use nearly everything.
U / max(a, median a)**EVEN compensates part of that.

A database without usable counts is not checked. If no database has any, the rule is the
index rule of ``drift_index``.
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

SHARE = 0.07  # share of the budget for checks
SPREAD = 0.4  # how much more often restless databases are checked
TRUST = 0.3  # the weight of a check, in the logarithm
EVEN = 0.7  # how much of the preference for restless databases is compensated
FLOOR = 0.05  # least result of a check, as a share of the expected divergence
NEAREST = 0.5  # weeks: in a replay a check is made in the nearest week


@dataclass(frozen=True, slots=True)
class CheckedDrift:
    """The believed drift of each database.

    Attributes:
        scale: The expected drift per week.
        age: The age of the summary at its last check, in weeks; 0 without a check.
        off: The believed divergence at that age.
        area: The integral of the divergence up to that age.

    """

    scale: Floats
    age: Floats
    off: Floats
    area: Floats

    def expected(self, age: Floats) -> Floats:
        """Return the expected divergence at an age, the last check or later."""
        return np.asarray(self.off + self.scale * np.maximum(age - self.age, 0.0))

    def worth(self, age: Floats) -> Floats:
        """Return U(age); 0 before the last check."""
        since = np.maximum(age - self.age, 0.0)
        area = self.area + self.off * since + self.scale * since**2 / 2.0
        gain = np.maximum(age * self.expected(age) - area, 0.0)
        return np.asarray(np.where(age >= self.age, gain, 0.0))


def follow_checks(
    checks: CountChecks | None, scale: Floats, trust: float
) -> CheckedDrift:
    """Return the believed drift after updating the expectation with each check."""
    n = scale.size
    age, off, area = np.zeros(n), np.zeros(n), np.zeros(n)
    if checks is None:
        return CheckedDrift(scale, age, off, area)
    database, at, kl = _usable(checks)
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


def _usable(checks: CountChecks) -> tuple[Ints, Floats, Floats]:
    """Return the checks with a result, by database and then by age."""
    usable = np.isfinite(checks.kl) & (checks.age > 0)
    database, age = checks.database[usable], checks.age[usable]
    order = np.lexsort((age, database))
    return database[order], age[order], checks.kl[usable][order]


@dataclass(frozen=True, slots=True)
class CheckedIndex:
    """Checks by match counts, and refreshes the summaries with the largest index.

    Attributes:
        share: The share of the budget for checks.
        spread: How much more often restless databases are checked.
        trust: The weight of a check against the expectation, in the logarithm.
        even: How much of the preference for restless databases is compensated.

    """

    share: float = SHARE
    spread: float = SPREAD
    trust: float = TRUST
    even: float = EVEN
    by_cost: ClassVar[bool] = True

    def drift(self, shelf: SummaryShelf) -> CheckedDrift:
        """Return the drift believed after refreshes and checks.

        A check of the present summary counts as a refresh with that drift in the
        expectation; the checks themselves are compared with the expectation from
        refreshes alone.
        """
        seen, n = shelf.refreshes, shelf.size.size
        usable = np.isfinite(seen.kl) & (seen.gap > 0)
        database, gap = seen.database[usable], seen.gap[usable]
        total = np.bincount(database, seen.kl[usable], n).astype(np.float64)
        watched = np.bincount(database, gap, n).astype(np.float64)
        first = follow_checks(
            shelf.checks, shrunk(total, watched, shelf.size), self.trust
        )
        scale = shrunk(total + first.off, watched + first.age, shelf.size)
        return follow_checks(shelf.checks, scale, self.trust)

    def index(self, drift: CheckedDrift, age: Floats) -> Floats:
        """Return the compensated index of each database at an age."""
        usual = np.maximum(drift.scale, np.median(drift.scale))
        return np.asarray(drift.worth(age) / usual**self.even)

    def score(self, shelf: SummaryShelf, age: Floats) -> Floats:
        """Return the index of each database at an age."""
        if not _has_counts(shelf):
            return drift_index.score(shelf, age)
        return self.index(self.drift(shelf), age)

    def every(self, scale: Floats, price: Floats, income: float) -> Floats:
        """Return the interval between checks of each; ``inf`` without checks.

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
        """Return the databases with due checks, or the refreshes if there are none."""
        if not _has_counts(shelf):
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


def _has_counts(shelf: SummaryShelf) -> bool:
    """Return whether any database has usable match counts."""
    return shelf.checks is not None and bool(np.isfinite(shelf.checks.price).any())


checked = CheckedIndex()
