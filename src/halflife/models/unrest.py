"""How unevenly groups of pages change, and what that makes of the share that is stale.

The pages of a site change together, in two ways. There are busy and quiet times: in t
days of the calendar a group lives B days at its usual pace. B is taken as a Gamma
process with mean t and variance u t, u being the group's *unrest* in days: 0 if it
changes at even odds, 7 if all that a usual week brings comes at once. A page with the
rate r has not changed with the chance

    E exp(-r B) = (1 + u r) ** (-t / u),

in the mean more than if it changed by itself, since many changes at once hit the same
pages. And many pages change at the same moment, each once: if all that happens comes
1 / u times a day, it hits a page with the chance q = u r, at most 1. Two such pages are
both still fresh with the chance

    E exp(-(2 - q) r B),

that of one page if they always change together (q = 1), and that of two which share
nothing but B if they never do. What is stale varies far more than if each page changed
by itself. Only what is to come hits pages at once unseen: what came before was seen on
those of them that were fetched since, and exposures go by that.
"""

import numpy as np

from halflife.core.arrays import Floats

SPANS = (1, 3, 7, 14, 28)  # bins that are taken together
LENT = 1.0  # changes expected that a group without unrest lends
MOST = 30.0  # days, of all groups
LONGEST = 365.0  # days, of one group: its pages change once a year, all at once
PRIOR = 4.0  # spans that all groups lend to each
LENT_PACE, LENT_PACES = 5.0, 20.0  # changes lent to the pace of a group, and of all
# Of a pace this power is believed: counts after a busy time stand for several changes,
# and half as much was right on the sites that nothing is reported of.
BELIEVED = 0.5
_ROWS = 4096  # groups that are computed at once
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
    spans = _told(expected, fewest)
    return max([0.0, *(_unrest(expected, seen, span) * step for span in spans)])


def _told(expected: Floats, fewest: int) -> list[int]:
    """Return the spans of which there are enough, over all groups."""
    groups = np.count_nonzero(expected.sum(axis=1) > 0)
    return [n for n in SPANS if groups * (expected.shape[1] // n) >= fewest]


def paces(expected: Floats, seen: Floats) -> Floats:
    """Return how fast each group lives, by the changes of each in each bin.

    With E changes expected in all and C seen, p = (C + k P) / (E + k), where P is the
    same of all groups together: (sum(C) + K) / (sum(E) + K). 1 if all is as expected.

    >>> both = np.array([[10.0, 10.0], [0.0, 0.0]])
    >>> paces(both, 2.0 * both).round(2)  # of the second group nothing is known
    array([1.9, 1.5])
    """
    e, c = expected.sum(axis=1), seen.sum(axis=1)
    every = (c.sum() + LENT_PACES) / (e.sum() + LENT_PACES)
    return np.asarray((c + LENT_PACE * every) / (e + LENT_PACE))


def by_group(
    expected: Floats, seen: Floats, step: float = 1.0, *, fewest: int = 1, some: int = 1
) -> tuple[Floats, Floats]:
    """Return the unrest of each group in days, and its pace.

    Around what the group does on the whole (``paces``), as ``unrest`` tells it of all
    groups, of which here every so many-th is asked (``some``). For each span a group's
    own unrest is span step (sum((C - E)^2 - C) + u w / span) / (sum(E^2) + w), u that
    of all groups and w what ``PRIOR`` spans and one change of its own would add below:
    a group that was seen little is like all.

    >>> burst, even = np.zeros(14), np.full(14, 2.0)
    >>> burst[3] = 28.0
    >>> days, pace = by_group(np.full((2, 14), 2.0), np.stack([burst, even]))
    >>> days.round(1), pace.round(1)
    (array([10.6,  2.4]), array([1., 1.]))
    """
    pace = paces(expected, seen)
    told = expected[::some] * pace[::some, None], seen[::some]
    days = np.zeros(expected.shape[0])
    for span in _told(told[0], fewest):
        every = max(_unrest(*told, span), 0.0)
        for begin in range(0, days.size, _ROWS):
            at = slice(begin, begin + _ROWS)
            own = _own(expected[at] * pace[at, None], seen[at], span, every)
            days[at] = np.maximum(days[at], own)
    return np.minimum(days * step, LONGEST), pace


def _own(expected: Floats, seen: Floats, span: int, every: float) -> Floats:
    """Return the unrest of each group in bins, lent that of all."""
    e, c = _blocks(expected, span), _blocks(seen, span)
    excess, size = ((c - e) ** 2 - c).sum(axis=1), (e**2).sum(axis=1)
    lent = (PRIOR * size + e.sum(axis=1)) / e.shape[1] + _NONE
    own: Floats = (span * excess + every * lent) / (size + lent)
    return own


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
    alive: Floats, lived: Floats, variance: Floats, together: Floats | float = 0.0
) -> tuple[Floats, Floats, Floats]:
    """Return the chance of each page to be fresh, and what makes it vary.

    ``alive`` is the chance after just ``lived`` days, so that the rate is
    r = -ln(alive) / lived. If the days lived have this variance v and are Gamma
    distributed, E exp(-c r B) = L(c) = (1 + c r v / lived) ** (-lived^2 / v). Pages hit
    ``together`` with the chance q are both fresh with the chance L(2 - q). Second is
    the variance that each page has of its own, L(1) - L(2 - q); third the standard
    deviation of what it shares with its group: L(2 - q) - L(1)^2 squared. With q = 1 it
    shares everything.

    >>> one = np.ones(1)
    >>> [float(x[0].round(4)) for x in shared(np.exp(-one), one, one)]  # 1/2, 1/6, 1/12
    [0.5, 0.1667, 0.2887]
    >>> [float(x[0].round(4)) for x in shared(np.exp(-one), one, one, 1.0)]
    [0.5, 0.0, 0.5]
    """
    some = (variance > _NONE) & (lived > _NONE) & (alive > 0)
    days, spread = np.where(some, lived, 1.0), np.where(some, variance, 1.0)
    falls = np.where(some, -np.log(np.where(some, alive, 1.0)), 0.0)  # r lived
    shape = days**2 / spread
    both = 2.0 - together
    once, twice = (np.exp(-shape * np.log1p(c * falls / shape)) for c in (1.0, both))
    mean = np.where(some, once, alive)
    alone = np.where(some, np.maximum(once - twice, 0.0), alive * (1.0 - alive))
    swing = np.where(some, np.sqrt(np.maximum(twice - once**2, 0.0)), 0.0)
    return mean, alone, swing
