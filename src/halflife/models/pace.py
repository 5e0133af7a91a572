"""The present pace of groups of items, compared with the rates learned from their past.

A rate is a mean over the whole past, so for months it does not show that a source now
changes five times as fast. Here the changes counted on each day, C, are compared with
those expected at the rates believed before each fetch, E. Both are kept for several
half-lives h: after t days they count 2 ** (-t / h), and a group's level is the mean of
its Gamma distribution (power discounting: Smith and Miller, "A non-Gaussian state space
model and application to prediction of records", JRSS B 1986):

    l_h = (C_h + k L_h) / (E_h + k),    L_h = (sum(C_h) + K) / (sum(E_h) + K)

L_h being that of all groups. Given h, the count of all groups on the next day is
negative binomial; its probability weighs the half-lives, one of which is infinite: the
pace never changed. Old days count less for the weights, too (Raftery, Karny and Ettler,
"Online prediction under model uncertainty", Technometrics 2010). Weights are those of
all groups, because a single one is often busy for weeks. Changes come in
bursts, so counts vary by 1 + u E times as much as at even odds, u being the group's
unrest (``models.unrest``), and E and C are divided by that.

On sites that change in bursts C / E is not 1 even at the usual pace. So the pace is

    p = sum(w_h l_h) / a

with a = sum(C) / sum(p E), where each day counts as far as the pace was the usual one
then (the weight of the infinite half-life). With that weight 1, p is 1.

Pages that are probably stale are fetched most. To show the pace of all pages at all
times, each fetch counts for the days that it covers.
"""

from dataclasses import dataclass, field
from math import inf

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats, Ints

HALF_LIVES: Floats = np.array([2.0, 4.0, 8.0, 16.0, 32.0, 64.0, inf])  # days
NEVER = 0.98  # prior probability that the pace never changed
ALL, OWN = 5.0, 10.0  # weight of the prior of all groups, and of one, in changes
MEMORY = 50.0  # days after which the evidence for half-lives has faded to 1 / e
MISSES = 7.0  # half-life of the errors of predictions, in days
COVERED = 28.0  # most days that one fetch counts for
_NONE = 1e-12


@dataclass(frozen=True, slots=True)
class GapChanges:
    """Gaps between two fetches, one row each.

    Attributes:
        usual: Changes expected at the usual pace.
        expected: Changes expected at the pace believed.
        counted: Changes that the gap stands for.
        days: Its length.

    """

    usual: Floats
    expected: Floats
    counted: Floats
    days: Floats


@dataclass(frozen=True, slots=True)
class PaceMemory:
    """What was learned of paces, for a later run; columns are groups.

    Attributes:
        sums: Changes expected and counted, for each half-life.
        level: Changes expected and counted at the usual pace, to compare with.
        today: Changes of this day: usual, expected and counted.
        likely: The log-likelihood of each half-life.
        misses: Squared errors of predictions beyond chance, and squared predictions.
        stepped: The day to which all this is discounted.
        mean: The mean pace of the time in which each group's rates were learned.
        unit: The same in units of what was learned, for rates learned anew.

    """

    sums: Floats
    level: Floats
    today: Floats
    likely: tuple[float, ...]
    misses: tuple[float, float]
    stepped: float
    mean: Floats
    unit: Floats


@dataclass(slots=True)
class Pace:
    """The pace of groups, learned day by day.

    >>> pace, day = Pace(), np.ones(200, dtype=int)
    >>> pace.grow(2)
    >>> def learn(changes):
    ...     each = np.full(200, 0.1)  # 20 changes expected in each group
    ...     for group in (0, 1):
    ...         gaps = GapChanges(each, each, changes / 20 * each, np.ones(200))
    ...         pace.add(group * day, gaps)
    ...     return pace.step(1.0, 0.0).round(1)
    >>> for _ in range(30):
    ...     calm = learn(20)
    >>> calm
    array([1., 1.])
    >>> for _ in range(6):
    ...     busy = learn(60)  # three times as many
    >>> busy
    array([2.7, 2.7])
    """

    sums: Floats = field(default_factory=lambda: np.zeros((2, HALF_LIVES.size, 0)))
    level: Floats = field(default_factory=lambda: np.zeros((2, 0)))
    today: Floats = field(default_factory=lambda: np.zeros((3, 0)))
    likely: Floats = field(default_factory=lambda: np.zeros(HALF_LIVES.size))
    misses: Floats = field(default_factory=lambda: np.zeros(2))

    @property
    def weight(self) -> Floats:
        """The probability of each half-life."""
        prior = np.full(HALF_LIVES.size, (1.0 - NEVER) / (HALF_LIVES.size - 1))
        prior[-1] = NEVER
        weight = prior * np.exp(self.likely - self.likely.max())
        return np.asarray(weight / weight.sum())

    @property
    def doubt(self) -> float:
        """The standard deviation of the logarithm of the pace of all groups together.

        Half-lives differ in their levels; and if the pace has changed, its predictions
        were wrong by more than chance.
        """
        levels = np.log(self._overall())
        weight = self.weight
        between = float(weight @ (levels - weight @ levels) ** 2)
        squared, size = self.misses
        missed = max(float(squared), 0.0) / max(float(size), 1.0)
        return float(np.sqrt(between + (1.0 - weight[-1]) * missed))

    def grow(self, groups: int) -> None:
        """Make room for groups."""
        new = max(groups - self.level.shape[1], 0)
        if new:
            self.sums = np.pad(self.sums, ((0, 0), (0, 0), (0, new)))
            self.level = np.pad(self.level, ((0, 0), (0, new)))
            self.today = np.pad(self.today, ((0, 0), (0, new)))

    def add(self, group: Ints, gaps: GapChanges) -> None:
        """Count the changes of gaps of these groups."""
        n = self.level.shape[1]
        days = np.minimum(gaps.days, COVERED)
        # Scaled so that as many changes count as were expected: sum(w)^2 / sum(w^2).
        once, twice = (
            np.bincount(group, days**power * gaps.expected, n) for power in (1, 2)
        )
        scaled = days * (once / np.maximum(twice, _NONE))[group]
        columns = gaps.usual, gaps.expected, gaps.counted
        self.today += [np.bincount(group, scaled * column, n) for column in columns]

    def step(self, days: float, unrest: Floats | float) -> Floats:
        """Go on by so many days; return the pace of each group."""
        usual, expected, counted = self.today / (1.0 + unrest * self.today[0] / days)
        fade = np.exp2(-days / HALF_LIVES)[:, None]
        self.sums *= fade
        memory = np.exp(-days / MEMORY)
        self.likely = memory * self.likely + self._predicted(usual, counted)
        self._note_miss(days, float(expected.sum()), float(counted.sum()))
        self.sums += np.stack([usual, counted])[:, None]
        self.level += self.weight[-1] * np.stack([expected, counted])
        self.today = np.zeros_like(self.today)
        overall = self._overall()[:, None]
        levels = (self.sums[1] + OWN * overall) / (self.sums[0] + OWN)
        own = (self.level[1] + OWN * self._usual_level()) / (self.level[0] + OWN)
        return np.asarray(self.weight @ levels / own)

    def _overall(self) -> Floats:
        """Return the level of all groups together, for each half-life."""
        expected, counted = self.sums.sum(axis=2)
        return np.asarray((counted + ALL) / (expected + ALL))

    def _usual_level(self) -> float:
        """Return the level of all groups together at their usual pace."""
        expected, counted = self.level.sum(axis=1)
        return float((counted + ALL) / (expected + ALL))

    def _predicted(self, usual: Floats, counted: Floats) -> Floats:
        """Return the log-likelihood of the count of a day, for each half-life."""
        log_gamma, (expected, seen) = lazy_scipy.gammaln, self.sums.sum(axis=2)
        b, a, c = expected + ALL, seen + ALL, float(counted.sum())
        day = max(float(usual.sum()), _NONE)
        chance = log_gamma(a + c) - log_gamma(a) + a * np.log(b / (b + day))
        return np.asarray(chance + c * np.log(day / (b + day)))

    def _note_miss(self, days: float, expected: float, counted: float) -> None:
        """Note how far the count of all groups was from its prediction."""
        mean = self._usual_level() * expected
        self.misses *= np.exp2(-days / MISSES)
        self.misses += [(counted - mean) ** 2 - mean, mean**2]
