"""How unevenly groups of pages change, and what that makes of the share that is stale.

The pages of a site change together. In t days of the calendar a group lives B days at
its usual pace: more in busy times, less in quiet ones. B is taken as a Gamma process
with mean t and variance u t, u being the group's *unrest* in days: 0 if it changes at
even odds, 7 if all that a usual week brings comes at once. A page with the rate r has
not changed with the chance

    E exp(-r B) = (1 + u r) ** (-t / u),

and all pages of the group share B: what is stale varies far more than if each changed
by itself, and in the mean it is less, since many changes at once hit the same pages.
"""

import numpy as np

from halflife.core.arrays import Floats

SPANS = (1, 3, 7, 14, 28)  # bins that are taken together
LENT = 1.0  # changes expected that a group without unrest lends
MOST = 30.0  # days
_NONE = 1e-9  # days; so few are none


def unrest(
    expected: Floats, seen: Floats, step: float = 1.0, *, fewest: int = 1
) -> float:
    """Return the unrest u of groups, in days, by the changes of each in each bin.

    With E changes expected in ``span`` bins of ``step`` days and C seen, C has the
    variance E + u E^2 / (span step). So u = span step sum((C - E)^2 - C) / sum(E^2),
    sums over groups, each divided by what the group expects in all: the mean over
    changes expected, in which no group that is large counts for more than that. What is
    busy for days on end shows in longer spans only: the largest of all spans counts of
    which there are ``fewest``, over all groups; a few tell rather if rates are right.
    (The moment estimate of over-dispersion: McCullagh and Nelder, "Generalized linear
    models", 1989, section 6.2.)

    >>> burst = np.zeros((1, 14))
    >>> burst[0, 3] = 28.0
    >>> round(unrest(np.full((1, 14), 2.0), burst), 1)  # two weeks' changes in one day
    10.1
    >>> unrest(np.full((1, 14), 2.0), np.full((1, 14), 2.0))
    0.0
    """
    groups = np.count_nonzero(expected.sum(axis=1) > 0)
    spans = [n for n in SPANS if groups * (expected.shape[1] // n) >= fewest]
    return max([0.0, *(_unrest(expected, seen, span) * step for span in spans)])


def _unrest(expected: Floats, seen: Floats, span: int) -> float:
    e, c = _blocks(expected, span), _blocks(seen, span)
    weight = 1.0 / np.maximum(e.sum(axis=1), 1.0)
    excess = float(weight @ ((c - e) ** 2 - c).sum(axis=1))
    return min(span * excess / (float(weight @ (e**2).sum(axis=1)) + LENT), MOST)


def _blocks(table: Floats, span: int) -> Floats:
    """Return sums over so many bins each, up to the last one."""
    rows, bins = table.shape
    many = bins // span
    some = table[:, bins - many * span :].reshape(rows, many, span)
    sums: Floats = some.sum(axis=2)
    return sums


def shared(
    alive: Floats, lived: Floats, variance: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the chance of each page to be fresh, and what makes it vary.

    ``alive`` is the chance after just ``lived`` days, so that the rate is
    r = -ln(alive) / lived. If the days lived have this variance v and are Gamma
    distributed, E exp(-c r B) = L(c) = (1 + c r v / lived) ** (-lived^2 / v). Second is
    the variance that each page has of its own, E[S (1 - S)] = L(1) - L(2); third the
    standard deviation of what it shares with its group, of S: L(2) - L(1)^2 squared.

    >>> one = np.ones(1)
    >>> [float(x[0].round(4)) for x in shared(np.exp(-one), one, one)]  # 1/2, 1/6, 1/12
    [0.5, 0.1667, 0.2887]
    """
    some = (variance > _NONE) & (lived > _NONE) & (alive > 0)
    days, spread = np.where(some, lived, 1.0), np.where(some, variance, 1.0)
    falls = np.where(some, -np.log(np.where(some, alive, 1.0)), 0.0)  # r lived
    shape = days**2 / spread
    once, twice = (np.exp(-shape * np.log1p(c * falls / shape)) for c in (1.0, 2.0))
    mean = np.where(some, once, alive)
    alone = np.where(some, np.maximum(once - twice, 0.0), alive * (1.0 - alive))
    swing = np.where(some, np.sqrt(np.maximum(twice - once**2, 0.0)), 0.0)
    return mean, alone, swing
