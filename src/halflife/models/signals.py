"""The worth of hints of change, learned from the observations that followed them.

An item last seen t days and s hints ago has not changed with probability
exp(-a t - k s): a is the rate of unannounced changes and k the worth of one hint,
-ln(1 - precision). The probability is conditional on t and s, so it does not matter
that hints caused the fetches: as long as fetches are chosen by t and s, their outcomes
are an unbiased sample for k.

It does matter that items differ: those that change often have many hints, and an
estimate of their rates that is too low would make hints seem true. So hints are
compared with the usual rate of hints of the item. If hints arrive at a rate g, all
changes occur at D = a + g (1 - exp(-k)), and in terms of D the probability is

    exp(-y),  y = D t - g t (1 - exp(-k)) + k s,

whose slope at k = 0, s - g t, is zero on average whatever D is.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.view import Survival

MOST_WORTH = 7.0  # largest worth: one hint in a thousand is false
GRID: Floats = np.concatenate([[0.0], np.geomspace(1e-3, MOST_WORTH, 60)])
_LEAST = 1e-9
_LEAST_SHARE = 0.02  # least share of changes that are unannounced


class HintedObservations(NamedTuple):
    """Gaps between observations, and the hints that arrived in them.

    Attributes:
        group: The group that the item belongs to.
        expected: D t, the changes expected in the gap.
        usual: g t, the hints expected in the gap.
        hints: s, the hints that arrived.
        changed: Whether the observation at its end found a change.
        tally: How many such gaps; negative to subtract gaps counted elsewhere.

    """

    group: Ints
    expected: Floats
    usual: Floats
    hints: Floats
    changed: Bools
    tally: Floats


class HintTrust:
    """The worth of a hint in each group, k = -ln(1 - precision) >= 0.

    k is the most likely of a grid, given the gaps and m prior hints of which a share q
    was false. For all groups together q = 1: hints are worth nothing until proved. For
    each group then q = exp(-k of all groups together).

    Args:
        pretend: m, the weight of the prior in hints.

    Attributes:
        worth_: k of each group, from 0 to 7.
        pooled_: k of all groups together.

    >>> every, none = np.ones(20), np.zeros(20)
    >>> changed = np.arange(20) < 15  # three hints in four were right
    >>> gaps = HintedObservations(none.astype(int), none, none, every, changed, every)
    >>> HintTrust(pretend=0.0).fit(gaps, n_groups=1).precision_.round(1)
    array([0.7])

    """

    worth_: Floats
    pooled_: float

    def __init__(self, *, pretend: float = 5.0) -> None:
        self.pretend = pretend

    def fit(self, gaps: HintedObservations, *, n_groups: int) -> Self:
        """Learn the worth of hints from gaps, including those without hints."""
        if not 0 <= self.pretend < np.inf:
            raise ValueError("pretend must be finite and not negative")
        likelihood = _log_likelihood(gaps, n_groups)
        self.pooled_ = float(_mode(likelihood.sum(axis=0)[None], 0.0, self.pretend)[0])
        self.worth_ = _mode(likelihood, self.pooled_, self.pretend)
        return self

    @property
    def precision_(self) -> Floats:
        """The share of hints that are true, 1 - exp(-k)."""
        return -np.expm1(-self.worth_)


def _log_likelihood(gaps: HintedObservations, n_groups: int) -> Floats:
    """Return the log-likelihood of each k of the grid, a row for each group."""
    group, expected, usual, hints, changed, tally = gaps
    most = (1.0 - _LEAST_SHARE) * expected  # changes that hints can have announced
    table = np.zeros((n_groups, GRID.size))
    for i, k in enumerate(GRID.tolist()):
        announced = np.minimum(-np.expm1(-k) * usual, most)
        odds = announced - expected - k * hints
        odds[changed] = np.log(-np.expm1(odds[changed] - _LEAST))
        table[:, i] = np.bincount(group, tally * odds, n_groups)
    return table


def _mode(likelihood: Floats, prior: float, pretend: float) -> Floats:
    """Return the best k of each row, given prior hints of worth ``prior`` each."""
    wrong = float(np.exp(-prior))
    right = np.log(np.maximum(-np.expm1(-GRID), 1e-12)) if prior > 0 else 0.0 * GRID
    table = likelihood + pretend * ((1.0 - wrong) * right - wrong * GRID)
    best: Floats = GRID[np.argmax(table, axis=1)]
    return best


def silent_share(expected: Floats, load: Floats) -> Floats:
    """Return the probability that a change seen was (also) an unannounced one.

    (1 - exp(-x)) / (1 - exp(-x - k s)): 1 where hints are worth nothing. ``load`` is k
    s, the total worth of the hints that arrived.
    """
    x = np.maximum(expected, _LEAST)
    share: Floats = np.expm1(-x) / np.expm1(-x - load)
    return share


def announced_share(silent: Floats, hint_rate: Floats, worth: Floats) -> Floats:
    """Return the share of announced changes, g p / (a + g p), p = 1 - exp(-k)."""
    true = -hint_rate * np.expm1(-worth)
    share: Floats = true / np.maximum(silent + true, 1e-300)
    return share


@dataclass(frozen=True, slots=True)
class Announced:
    """Survival of items some of whose changes are announced by hints.

    Between hints only unannounced changes make a copy stale: S is that of silent
    changes.

    Attributes:
        inner: Survival of the silence between hints.
        silent: Changes a day that no hint announces.
        hint_rate: Hints a day, true and false.
        worth: The worth of one hint, -ln(1 - precision).

    """

    inner: Survival
    silent: Floats
    hint_rate: Floats
    worth: Floats

    def alive(self, t: Floats) -> Floats:
        """Return S(t), the probability of no silent change in ``t`` days."""
        return self.inner.alive(t)

    def lasting(self, t: Floats) -> Floats:
        """Return the integral of S(u) over 0..t."""
        return self.inner.lasting(t)

    def moment(self, t: Floats) -> Floats:
        """Return the integral of u S(u) over 0..t."""
        return self.inner.moment(t)
