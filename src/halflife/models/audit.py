"""The true quality of a copy, from random samples of its parts.

Parts are drawn with known probabilities that do not depend on the belief about them, so
the result holds for the whole copy, however good the belief and the policy are.
"""

from typing import NamedTuple

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Bools, Floats, Ints
from halflife.metrics.intervals import Interval

THRESHOLD = 1000.0  # least mean number of turns between two false alarms
BETS = (0.05, 0.15, 0.4, 0.8)  # shares by which the alternatives differ
_LARGEST_STEP, _LARGEST_STAKE = 50.0, 1e60  # far beyond an alarm
_SUREST = 0.99  # largest probability that a bet assumes for a part


def estimated_total(values: Floats, chance: Floats) -> float:
    """Return the estimated sum over all parts from those drawn: sum(y / chance).

    Unbiased for every design in which each part can be drawn. Horvitz and
    Thompson, "A generalization of sampling without replacement", JASA 1952.

    >>> estimated_total(np.array([1.0, 1.0]), np.array([0.5, 0.25]))
    6.0
    """
    return float(np.sum(values / chance))


def audited_share(
    fresh: Bools, chance: Floats, weight: Floats, *, confidence: float = 0.95
) -> Interval:
    """Return the weighted share of parts that are up to date, with its interval.

    The share is q = sum(g y) / sum(g) with g = weight / chance (Hajek). Its variance is
    v = n / (n - 1) sum((1 - chance) g^2 (y - q)^2) / sum(g)^2, which is 0 when all
    parts were checked. The bounds are those of Clopper and Pearson for a sample of the
    size n* = q (1 - q) / v (z / t)^2, z and t the quantiles of the normal and of
    Student's distribution with n - 1 degrees of freedom (Korn and Graubard, Survey
    Methodology 1998). Where all parts drawn are equal, v is unknown, and n* is
    sum(g)^2 / sum((1 - chance) g^2). With nothing drawn the interval is 0 to 1.

    >>> ten = np.ones(10)
    >>> tuple(round(x, 3) for x in audited_share(ten > 0, ten / 100, ten))
    (1.0, 0.694, 1.0)
    """
    if not float(weight.sum()) > 0:
        return Interval(0.5, 0.0, 1.0)
    g = weight / chance
    total = float(g.sum())
    share = min(float(g @ fresh / total), 1.0)
    undrawn = float(np.sum((1.0 - chance) * g**2))
    if undrawn <= 0.0:
        return Interval(share, share, share)
    size = total**2 / undrawn
    spread = _variance(fresh, chance, g, share)
    if spread > 0.0:
        tail = 0.5 + confidence / 2.0
        t = float(lazy_scipy.ndtri(tail) / lazy_scipy.stdtrit(fresh.size - 1, tail))
        size = share * (1.0 - share) / spread * t**2
    low, high = share_bounds(share * size, size, confidence)
    return Interval(share, min(low, share), max(high, share))


def _variance(fresh: Bools, chance: Floats, g: Floats, share: float) -> float:
    n = fresh.size
    if n < 2:
        return 0.0
    squares = float(np.sum((1.0 - chance) * (g * (fresh - share)) ** 2))
    return n / (n - 1.0) * squares / float(g.sum()) ** 2


def share_bounds(hits: float, size: float, confidence: float) -> tuple[float, float]:
    """Return the bounds of Clopper and Pearson, Biometrika 1934, for a share.

    >>> low, high = share_bounds(8.0, 10.0, 0.95)
    >>> round(low, 3), round(high, 3)
    (0.444, 0.975)
    """
    tail = (1.0 - confidence) / 2.0
    misses = size - hits
    low = lazy_scipy.betaincinv(hits, misses + 1.0, tail) if hits > 1e-9 else 0.0
    high = (
        lazy_scipy.betaincinv(hits + 1.0, misses, 1.0 - tail) if misses > 1e-9 else 1.0
    )
    return float(low), float(high)


def pooled_share(
    found: Floats, checks: Floats, *, confidence: float = 0.95, alike: bool = False
) -> Interval:
    """Return the share found by several audits together, with its interval.

    q = sum(n q_i) / n with n = sum(n_i) checks; the bounds are those of Clopper and
    Pearson. If the parts checked by one audit may be ``alike``, n is less where audits
    differ by more than chance: at most q (1 - q) / v (z / t)^2 with v = m / (m - 1)
    sum((n_i (q_i - q))^2) / n^2 over the m audits, and at most m if there are fewer
    than three or all found the same (Korn and Graubard, Survey Methodology 1998).

    >>> found, checks = np.array([1.0, 0.5]), np.array([4.0, 4.0])
    >>> tuple(round(x, 3) for x in pooled_share(found, checks))
    (0.75, 0.349, 0.968)
    """
    n, m = float(checks.sum()), found.size
    if not n > 0:
        return Interval(0.5, 0.0, 1.0)
    share = min(float(checks @ found / n), 1.0)
    spread = float(np.sum((checks * (found - share)) ** 2)) / n**2
    size = n
    if alike and (m < 3 or spread <= 0.0):
        size = min(n, float(m))
    elif alike:
        tail = 0.5 + confidence / 2.0
        t = float(lazy_scipy.ndtri(tail) / lazy_scipy.stdtrit(m - 1, tail))
        effective = share * (1.0 - share) * (m - 1.0) / (m * spread) * t**2
        size = min(n, max(effective, 1e-6))
    low, high = share_bounds(share * size, size, confidence)
    return Interval(share, min(low, share), max(high, share))


def mean_over_gaps(
    gap: Floats,
    end: Floats,
    *,
    confidence: float = 0.95,
    late: tuple[Floats, Floats] | None = None,
) -> Interval:
    """Return the mean quality over the time between syncs, from that at their ends.

    A sync makes the copy complete, and the next one, ``gap`` days later, shows the
    share ``end`` of it that is still right. When the rest was lost is unknown: if all
    of it was lost at one uniformly distributed moment, the mean quality is
    m = (1 + end) / 2 with the variance (1 - end)^2 / 12; lost bit by bit it varies
    less. The mean over all gaps, each by its length, has the variance sum(gap^2
    (1 - end)^2) / (12 sum(gap)^2). Bounds are normal ones, never outside what is
    possible: all was lost at once, or at the last moment. Where the hours of losses are
    known, ``late`` has mean and variance of the share of each gap that comes after,
    instead of 1/2 and 1/12.

    >>> tuple(round(x, 3) for x in mean_over_gaps(np.ones(4), np.full(4, 0.8)))
    (0.9, 0.843, 0.957)
    """
    if gap.size == 0 or not float(gap.sum()) > 0:
        return Interval(0.5, 0.0, 1.0)
    share = gap / gap.sum()
    least = float(share @ end)
    late_share, variance = (0.5, 1.0 / 12.0) if late is None else late
    spread = float(np.sqrt(np.sum((share * (1.0 - end)) ** 2 * variance)))
    reach = float(lazy_scipy.ndtri(0.5 + confidence / 2.0)) * spread
    mean = 1.0 - float(np.sum(share * (1.0 - end) * late_share))
    return Interval(mean, max(mean - reach, least), min(mean + reach, 1.0))


class AuditDrift(NamedTuple):
    """What a sequence of audits shows about the belief.

    Attributes:
        evidence: The strength of the evidence against the belief since the last alarm,
            as a share of the alarm threshold.
        alarms: The turns at which there was an alarm.
        staler: For each alarm, whether copies were up to date less often than believed.

    """

    evidence: float
    alarms: Ints
    staler: Bools


def drift(
    believed: Floats,
    fresh: Bools,
    turn: Ints,
    group: Ints,
    *,
    threshold: float = THRESHOLD,
) -> AuditDrift:
    """Return when audits no longer agreed with the belief.

    ``turn`` counts from 0 and ascends. In each turn, each of several bets pays
    L = product over groups of the mean payoff in the group; a bet that parts are right
    with the probability (1 - c) p instead of p pays (1 - c) for a part that is right
    and 1 + c p / (1 - p) for one that is not; the opposite bet that they are wrong with
    the probability (1 - c)(1 - p) pays likewise. If the belief is right, a bet pays 1
    in the mean, however parts of one group depend on each other. With R <- (R + 1) L
    for each bet and their mean R, there is an alarm when R reaches the threshold, and R
    starts again at 0: without a change the mean number of turns between alarms is at
    least the threshold (Shin, Ramdas and Rinaldo, "E-detectors", 2024, after Shiryaev
    and Roberts).
    """
    n = int(turn[-1]) + 1 if turn.size else 0
    pays = np.log(_payoffs(believed, fresh))
    steps = np.zeros((pays.shape[0], n))
    if n:
        place, inverse = np.unique(
            turn * (int(group.max()) + 1) + group, return_inverse=True
        )
        when = np.zeros(place.size, dtype=np.intp)
        when[inverse] = turn
        for row, pay in zip(steps, np.exp(pays), strict=True):
            mean = np.bincount(inverse, pay) / np.bincount(inverse)
            np.add.at(row, when, np.log(mean))
    return _run(steps, threshold)


def _payoffs(believed: Floats, fresh: Bools) -> Floats:
    """Return the payoff of each bet for each part; first those on staler copies."""
    p = np.clip(believed, 0.0, 1.0)
    bets = np.array(BETS)[:, None]
    sure = np.minimum(p, _SUREST)
    unsure = np.maximum(p, 1.0 - _SUREST)
    staler = np.where(fresh, 1.0 - bets, 1.0 + bets * sure / (1.0 - sure))
    fresher = np.where(fresh, 1.0 + bets * (1.0 - unsure) / unsure, 1.0 - bets)
    return np.concatenate([staler, fresher])


def _run(steps: Floats, threshold: float) -> AuditDrift:
    stake = np.zeros(steps.shape[0])
    alarms, staler = [], []
    half = steps.shape[0] // 2
    for turn, step in enumerate(steps.T):
        raised = (stake + 1.0) * np.exp(np.minimum(step, _LARGEST_STEP))
        stake = np.minimum(raised, _LARGEST_STAKE)
        if float(stake.mean()) >= threshold:
            alarms.append(turn)
            staler.append(bool(stake[:half].sum() > stake[half:].sum()))
            stake[:] = 0.0
    evidence = float(stake.mean()) / threshold
    return AuditDrift(
        evidence, np.array(alarms, dtype=np.intp), np.array(staler, dtype=np.bool_)
    )
