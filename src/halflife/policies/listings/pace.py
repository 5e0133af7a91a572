"""How fast a listing changes, by two rates, and what follows for its copy."""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats
from halflife.core.lifetimes import Collection

Measure: TypeAlias = Literal["recall", "precision"]
FARTHEST = 365.0  # days; no schedule waits longer
_STEPS = 400


class TurnoverPace(NamedTuple):
    """How fast a set changes; rates per day.

    Attributes:
        size: Objects held at the last look.
        gone: Ends per object.
        come: Arrivals.
        ends: How many ends the rates were learned from.
        arrivals: How many arrivals.
        gone_spread: Variance of ends over binomial, at least 1.
        come_spread: Variance of arrivals over Poisson, at least 1.

    """

    size: float
    gone: float
    come: float
    ends: float
    arrivals: float
    gone_spread: float
    come_spread: float


def pace(known: Collection, window: float = 45.0) -> TurnoverPace:
    """Return how fast the source changed between the looks of the last days.

    Over a gap g that k of n objects outlasted, ``gone`` is -ln(k/n)/g, weighted by
    n g. An object that comes and goes within a gap is not seen, so the arrivals of
    a gap are those seen times x / (1 - exp(-x)), x = gone g. Half an end, of one
    object more, and half an arrival are added: what did not happen yet still may.
    """
    size, ends, news, gap = _gaps(known, window)
    held = float(size[-1]) if size.size else 0.0
    size = size[:-1]
    if gap.size == 0:
        return TurnoverPace(held, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0)
    kept = np.maximum(size - ends, 0.0) + 0.5
    decay = float((size * np.log((size + 0.5) / kept)).sum())
    span = float(gap.sum())
    gone = (max(decay, 0.0) + 0.5) / (float(size @ gap) + span)
    x = gone * gap
    seen = lazy_scipy.exprel(-x)
    come = float((news.sum() + 0.5) / (seen * gap).sum())
    died = -np.expm1(-x)
    return TurnoverPace(
        held,
        gone,
        come,
        float(ends.sum()),
        float(news.sum()),
        _spread(ends, size * died, size * died * (1.0 - died)),
        _spread(news, come * seen * gap, come * seen * gap),
    )


def _gaps(known: Collection, window: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Return sizes at the last looks; ends, arrivals and days between them."""
    looks, lives = known.looks, known.lives
    first = np.searchsorted(looks, lives.first_seen)
    gone = np.searchsorted(looks, lives.gone_by)
    news = np.bincount(first, minlength=looks.size)[: looks.size]
    ends = np.bincount(gone, minlength=looks.size)[: looks.size]
    size = np.cumsum(news - ends).astype(np.float64)
    begin = int(np.searchsorted(looks, last_fetch(known) - window - 1e-9))
    begin = max(min(begin, looks.size - 2), 0)
    later = slice(begin + 1, None)
    gap = np.diff(looks[begin:])
    return size[begin:], ends[later].astype(float), news[later].astype(float), gap


def _spread(seen: Floats, mean: Floats, variance: Floats) -> float:
    there = variance > 1e-9
    count = int(there.sum())
    if count < 3:
        return 1.0
    squares = (seen - mean)[there] ** 2
    # in proportion to what is expected, so that quiet gaps do not rule
    spread = squares.sum() / variance[there].sum() * count / (count - 1)
    return max(float(spread), 1.0)


def expected(paced: TurnoverPace, ahead: Floats, measure: Measure) -> Floats:
    """Return the expected quality so many days after the last look.

    precision = exp(-a t). With k = n exp(-a t) objects kept of n and
    m (1 - exp(-a t)) / a new ones of m a day, s in all, recall is k / s: papers/000,
    s. 3.3. Where few are left, both counts are Poisson, and of nothing nothing is
    missed: then its mean is exactly k/s (1 - exp(-s)) + exp(-s).
    """
    kept, new = _kept_and_new(paced, ahead)
    if measure == "precision":
        return np.exp(-paced.gone * ahead)
    there = kept + new
    share = np.divide(kept, there, out=np.ones_like(there), where=there > 0)
    found: Floats = share + (1.0 - share) * np.exp(-there)
    return found


def lower(
    paced: TurnoverPace, ahead: Floats, measure: Measure, confidence: float
) -> Floats:
    """Return the one-sided lower bound of the quality, by the delta method.

    The variances are those of the objects that last (binomial) and of those that
    come (Poisson), widened by how bursty each was, and of the two rates.
    """
    z = float(lazy_scipy.ndtri(confidence))
    kept, new = _kept_and_new(paced, ahead)
    lasting = np.exp(-paced.gone * ahead)
    rate = paced.gone_spread * (paced.gone * ahead) ** 2 / max(paced.ends, 1.0)
    of_kept = paced.gone_spread * kept * (1.0 - lasting) + kept**2 * rate
    mean = expected(paced, ahead, measure)
    if measure == "precision":
        variance = of_kept / max(paced.size, 1.0) ** 2
    else:
        of_new = paced.come_spread * (new + new**2 / max(paced.arrivals, 1.0))
        total = np.maximum(kept + new, 1e-9)
        variance = (new**2 * of_kept + kept**2 * of_new) / total**4
    low: Floats = np.clip(mean - z * np.sqrt(variance), 0.0, 1.0)
    return low


def worth(paced: TurnoverPace, ahead: Floats, measure: Measure) -> Floats:
    """Return U(t) = t D(t) - integral of D, D = 1 - expected quality; days."""
    times = np.concatenate([[0.0], ahead])
    loss = np.concatenate([[0.0], 1.0 - expected(paced, ahead, measure)])
    steps = np.diff(times) * (loss[1:] + loss[:-1]) / 2.0
    found: Floats = ahead * loss[1:] - np.cumsum(steps)
    return found


def worth_at(paced: TurnoverPace, ages: Floats, measure: Measure) -> Floats:
    """Return the same at any ages, in any order."""
    ahead = moments(paced)
    times, found = np.r_[0.0, ahead], np.r_[0.0, worth(paced, ahead, measure)]
    return np.interp(ages, times, found)


def _kept_and_new(paced: TurnoverPace, ahead: Floats) -> tuple[Floats, Floats]:
    x = paced.gone * ahead
    return paced.size * np.exp(-x), paced.come * ahead * lazy_scipy.exprel(-x)


def moments(paced: TurnoverPace) -> Floats:
    """Return moments from very soon to very late for such a pace, in days."""
    turnover = paced.gone + paced.come / max(paced.size, 1.0)
    quick = min(1e-3 / max(turnover, 1e-6), FARTHEST / 10.0)
    return np.geomspace(quick, FARTHEST, _STEPS)


def last_fetch(known: Collection) -> float:
    """Return when a listing was last fetched whole; 0 if never."""
    return float(known.looks[-1]) if known.looks.size else 0.0
