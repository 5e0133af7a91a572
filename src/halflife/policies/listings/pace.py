"""The rates at which a listing changes, and the quality of its copy."""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats
from halflife.core.lifetimes import Collection

Measure: TypeAlias = Literal["recall", "precision"]
FARTHEST = 365.0  # days; no schedule waits longer
_STEPS = 400


class TurnoverPace(NamedTuple):
    """The rates at which a set changes, per day.

    Attributes:
        size: Objects at the last fetch.
        gone: Ends per object.
        come: Arrivals.
        ends: The number of observed ends.
        arrivals: The number of observed arrivals.
        gone_spread: Variance of ends relative to the binomial, at least 1.
        come_spread: Variance of arrivals relative to Poisson, at least 1.

    """

    size: float
    gone: float
    come: float
    ends: float
    arrivals: float
    gone_spread: float
    come_spread: float


def pace(known: Collection, window: float = 45.0) -> TurnoverPace:
    """Return the rates of change between the fetches of the last days.

    Over a gap g that k of n objects outlasted, ``gone`` is -ln(k/n)/g, weighted by
    n g. An object that comes and goes within a gap is not seen, so the arrivals of a
    gap are the observed ones times x / (1 - exp(-x)), x = gone g. Half an end of one
    more object and half an arrival are added as a prior.
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
    """Return sizes at the last fetches; ends, arrivals and days between them."""
    observed, lives = known.looks, known.lives
    first = np.searchsorted(observed, lives.first_seen)
    gone = np.searchsorted(observed, lives.gone_by)
    news = np.bincount(first, minlength=observed.size)[: observed.size]
    ends = np.bincount(gone, minlength=observed.size)[: observed.size]
    size = np.cumsum(news - ends).astype(np.float64)
    begin = int(np.searchsorted(observed, last_fetch(known) - window - 1e-9))
    begin = max(min(begin, observed.size - 2), 0)
    later = slice(begin + 1, None)
    gap = np.diff(observed[begin:])
    return size[begin:], ends[later].astype(float), news[later].astype(float), gap


def _spread(seen: Floats, mean: Floats, variance: Floats) -> float:
    there = variance > 1e-9
    count = int(there.sum())
    if count < 3:
        return 1.0
    squares = (seen - mean)[there] ** 2
    # weighted by the expected counts, so that quiet gaps do not dominate
    spread = squares.sum() / variance[there].sum() * count / (count - 1)
    return max(float(spread), 1.0)


def expected(paced: TurnoverPace, ahead: Floats, measure: Measure) -> Floats:
    """Return the expected quality so many days after the last fetch.

    precision = exp(-a t). With k = n exp(-a t) objects kept of n and
    m (1 - exp(-a t)) / a new ones at m a day, s in all, recall is k / s: papers/000,
    s. 3.3. With small counts, both are Poisson, and the recall of an empty set is 1:
    then the mean is exactly k/s (1 - exp(-s)) + exp(-s).
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
    """Return the one-sided lower bound of the quality by the delta method.

    The variances are those of surviving objects (binomial) and of new ones (Poisson),
    scaled by their overdispersion, and of the two rates.
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
    """Return the worth at any ages, in any order."""
    ahead = moments(paced)
    times, found = np.r_[0.0, ahead], np.r_[0.0, worth(paced, ahead, measure)]
    return np.interp(ages, times, found)


def _kept_and_new(paced: TurnoverPace, ahead: Floats) -> tuple[Floats, Floats]:
    x = paced.gone * ahead
    return paced.size * np.exp(-x), paced.come * ahead * lazy_scipy.exprel(-x)


def moments(paced: TurnoverPace) -> Floats:
    """Return times from very short to very long for a pace, in days."""
    turnover = paced.gone + paced.come / max(paced.size, 1.0)
    quick = min(1e-3 / max(turnover, 1e-6), FARTHEST / 10.0)
    return np.geomspace(quick, FARTHEST, _STEPS)


def last_fetch(known: Collection) -> float:
    """Return when a listing was last fetched completely; 0 if never."""
    return float(known.looks[-1]) if known.looks.size else 0.0
