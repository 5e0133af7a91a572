"""How unevenly groups of pages change, and the effect on the share that is stale.

The pages of a site change together, in two ways. There are busy and quiet times: in t
days of the calendar a group lives B days at its usual pace. B is modelled as a Gamma
process with mean t and variance u t, u being the group's *unrest* in days: 0 if it
changes evenly, 7 if all changes of a usual week occur at once. A page with the rate r
has not changed with probability

    E exp(-r B) = (1 + u r) ** (-t / u),

more in the mean than if it changed independently, since many changes at once hit the
same pages. And many pages change at the same moment, each once: if all changes occur
1 / u times a day, each time a page is hit with probability q = u r, at most 1. Two such
pages are both still fresh with probability

    E exp(-(2 - q) r B),

that of one page if they always change together (q = 1), and that of two which share
nothing but B if they never do. The stale share varies far more than if each page
changed independently. Only future changes hit pages at once unobserved: past ones were
seen on pages that were fetched since, and exposures include that.
"""

import numpy as np

from halflife.core.arrays import Floats

SPANS = (1, 3, 7, 14, 28)  # lengths of spans, in bins
LENT = 1.0  # prior expected changes without unrest
MOST = 30.0  # largest unrest of all groups together, in days
FEWEST_KEPT = 0.5  # of unrest that a span must keep: less, and errors are multiplied
LONGEST = 365.0  # largest unrest of one group, in days: once a year, all at once
PRIOR = 4.0  # weight of all groups in the unrest of each, in spans
LENT_PACE, LENT_PACES = 5.0, 20.0  # prior changes of the pace of a group, and of all
# The power of a pace that is used: counts after a busy time stand for several changes,
# and half was right on sites without hints.
BELIEVED = 0.5
_ROWS = 4096  # groups that are computed at once
_NONE = 1e-9  # days; less is 0


def unrest(
    expected: Floats,
    seen: Floats,
    step: float = 1.0,
    *,
    fewest: int = 1,
    kept: Floats | None = None,
) -> float:
    """Return the unrest u of groups, in days, from their changes in each bin.

    With E changes expected in ``span`` bins of ``step`` days and C seen, C has the
    variance E + u E^2 / (span step). So u = span step sum((C - E)^2 - C) / sum(E^2),
    sums over groups, each divided by the group's total of expected changes, so that
    large groups do not dominate. Busy times of several days show in longer spans only:
    the largest estimate counts, over spans of which there are ``fewest`` in all groups;
    a few would rather show errors of the rates. (The moment estimate of
    over-dispersion: McCullagh and Nelder, "Generalized linear models", 1989, section
    6.2.)

    >>> burst = np.zeros((1, 14))
    >>> burst[0, 3] = 28.0
    >>> round(unrest(np.full((1, 14), 2.0), burst), 1)  # two weeks' changes in one day
    10.1
    >>> unrest(np.full((1, 14), 2.0), np.full((1, 14), 2.0))
    0.0
    """
    spans = _usable_spans(expected, fewest)
    share = dict(zip(SPANS, np.ones(len(SPANS)) if kept is None else kept, strict=True))
    spans = [n for n in spans if share[n] >= FEWEST_KEPT] or spans[-1:]
    found = [_unrest(expected, seen, n) / max(share[n], FEWEST_KEPT) for n in spans]
    return max([0.0, *(float(days) * step for days in found)])


def _usable_spans(expected: Floats, fewest: int) -> list[int]:
    """Return the spans of which there are enough in all groups."""
    groups = np.count_nonzero(expected.sum(axis=1) > 0)
    return [n for n in SPANS if groups * (expected.shape[1] // n) >= fewest]


def paces(expected: Floats, seen: Floats) -> Floats:
    """Return the pace of each group, from its changes in each bin.

    With E changes expected in total and C seen, p = (C + k P) / (E + k), where P is the
    pace of all groups together: (sum(C) + K) / (sum(E) + K). 1 if all is as expected.

    >>> both = np.array([[10.0, 10.0], [0.0, 0.0]])
    >>> paces(both, 2.0 * both).round(2)  # the second group is unknown
    array([1.9, 1.5])
    """
    e, c = expected.sum(axis=1), seen.sum(axis=1)
    overall = (c.sum() + LENT_PACES) / (e.sum() + LENT_PACES)
    return np.asarray((c + LENT_PACE * overall) / (e + LENT_PACE))


def unrest_by_group(
    expected: Floats, seen: Floats, step: float = 1.0, *, fewest: int = 1, some: int = 1
) -> tuple[Floats, Floats]:
    """Return the unrest of each group in days, and its pace.

    Relative to the group's mean pace (``paces``), and shrunk towards the ``unrest`` of
    all groups, estimated from every ``some``-th group. For each span a group's own
    unrest is span step (sum((C - E)^2 - C) + u w / span) / (sum(E^2) + w), u that of
    all groups and w the weight of ``PRIOR`` spans and one change of its own: a group
    with few observations is like all.

    >>> burst, even = np.zeros(14), np.full(14, 2.0)
    >>> burst[3] = 28.0
    >>> days, pace = unrest_by_group(np.full((2, 14), 2.0), np.stack([burst, even]))
    >>> days.round(1), pace.round(1)
    (array([10.6,  2.4]), array([1., 1.]))
    """
    pace = paces(expected, seen)
    sample = expected[::some] * pace[::some, None], seen[::some]
    days = np.zeros(expected.shape[0])
    for span in _usable_spans(sample[0], fewest):
        overall = max(_unrest(*sample, span), 0.0)
        for begin in range(0, days.size, _ROWS):
            at = slice(begin, begin + _ROWS)
            own = _own(expected[at] * pace[at, None], seen[at], span, overall)
            days[at] = np.maximum(days[at], own)
    return np.minimum(days * step, LONGEST), pace


def _own(expected: Floats, seen: Floats, span: int, overall: float) -> Floats:
    """Return the unrest of each group in bins, shrunk towards that of all."""
    e, c = _blocks(expected, span), _blocks(seen, span)
    excess, size = ((c - e) ** 2 - c).sum(axis=1), (e**2).sum(axis=1)
    weight = (PRIOR * size + e.sum(axis=1)) / e.shape[1] + _NONE
    own: Floats = (span * excess + overall * weight) / (size + weight)
    return own


def _unrest(expected: Floats, seen: Floats, span: int) -> float:
    e, c = _blocks(expected, span), _blocks(seen, span)
    weight = 1.0 / np.maximum(e.sum(axis=1), 1.0)
    excess = float(weight @ ((c - e) ** 2 - c).sum(axis=1))
    return min(span * excess / (float(weight @ (e**2).sum(axis=1)) + LENT), MOST)


def _blocks(table: Floats, span: int) -> Floats:
    """Return sums over ``span`` bins each, up to the last one."""
    rows, bins = table.shape
    n = bins // span
    spans = table[:, bins - n * span :].reshape(rows, n, span)
    sums: Floats = spans.sum(axis=2)
    return sums


def shared_survival(
    alive: Floats, lived: Floats, variance: Floats, together: Floats | float = 0.0
) -> tuple[Floats, Floats, Floats]:
    """Return each page's probability to be fresh, its own variance and the shared one.

    ``alive`` is the probability after exactly ``lived`` days, so that the rate is
    r = -ln(alive) / lived. If the days lived have this variance v and are Gamma
    distributed, E exp(-c r B) = L(c) = (1 + c r v / lived) ** (-lived^2 / v). Pages hit
    ``together`` with probability q are both fresh with probability L(2 - q). The second
    result is each page's own variance, L(1) - L(2 - q); the third is the standard
    deviation shared with its group, the root of L(2 - q) - L(1)^2. With q = 1 it shares
    everything.

    >>> one = np.ones(1)
    >>> half = shared_survival(np.exp(-one), one, one)
    >>> [float(x[0].round(4)) for x in half]  # 1/2, 1/6, root of 1/12
    [0.5, 0.1667, 0.2887]
    >>> [float(x[0].round(4)) for x in shared_survival(np.exp(-one), one, one, 1.0)]
    [0.5, 0.0, 0.5]
    """
    uncertain = (variance > _NONE) & (lived > _NONE) & (alive > 0)
    days, spread = np.where(uncertain, lived, 1.0), np.where(uncertain, variance, 1.0)
    expected_changes = np.where(
        uncertain, -np.log(np.where(uncertain, alive, 1.0)), 0.0
    )  # r lived
    shape = days**2 / spread
    exponent = 2.0 - together
    once, twice = (
        np.exp(-shape * np.log1p(c * expected_changes / shape)) for c in (1.0, exponent)
    )
    mean = np.where(uncertain, once, alive)
    own_variance = np.where(
        uncertain, np.maximum(once - twice, 0.0), alive * (1.0 - alive)
    )
    shared = np.where(uncertain, np.sqrt(np.maximum(twice - once**2, 0.0)), 0.0)
    return mean, own_variance, shared
