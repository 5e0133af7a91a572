"""Staleness of a copy that is read part by part: records change, go and come.

Of n records held, each seen some days ago, x have changed or gone since, and y that the
copy lacks are new: its quality is (n - x) / (n + y). A record is gone t days after it
was seen with probability 1 - exp(-d t), and r come a day. As with pages, they come and
go unevenly (``models.unrest``), and the whole copy shares that.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from halflife.core.arrays import Floats
from halflife.models.quality import beta_bounds
from halflife.models.unrest import SPANS, shared_survival, unrest

LEAST = 1.0  # least days, or days of records, that rates are computed from
_LEAST = 1e-6  # records
_LAGS, _STEP = 20, 0.05  # quantiles of lags, and days: steps of an integral
_HALF = 0.5  # of a record (Jeffreys' prior of a Poisson rate)


@dataclass(frozen=True, slots=True)
class Turnover:
    """The rates at which records come and go.

    Attributes:
        came: Records that came during the observation.
        went: Records that went.
        days: The days of observation.
        seen: Days for which records were present, summed over all of them.
        unrest: The unrest of coming and going, in days.
        hidden: Records by which the copy is smaller than at its last complete reading.

    """

    came: float
    went: float
    days: float
    seen: float
    unrest: float = 0.0
    hidden: float = 0.0

    @property
    def comes(self) -> float:
        """Records that come a day."""
        return (self.came + _HALF) / max(self.days, LEAST)

    @property
    def goes(self) -> float:
        """The probability per day that a record goes."""
        return (self.went + _HALF) / max(self.seen, LEAST)


def unrest_of_events(
    moments: Floats, since: float, days: float, lags: Floats | None = None
) -> float:
    """Return the unrest of events in so many days; see ``unrest``.

    An event was noticed after it happened, at any moment of its lag with the same
    chance; ``lags`` are those of all events or of some.

    >>> unrest_of_events(np.arange(28) / 2.0, 0.0, 14.0)
    0.0
    >>> round(unrest_of_events(np.full(28, 3.0), 0.0, 14.0), 1)
    10.1
    """
    bins = int(days)
    if bins < 2:
        return 0.0
    seen, _ = np.histogram(moments, bins, (since, since + bins))
    counts = np.full(bins, float(seen.mean())), seen.astype(np.float64)
    kept = kept_variance(np.zeros(0) if lags is None else lags)
    return unrest(counts[0][None], counts[1][None], kept=kept)


def kept_variance(lags: Floats) -> Floats:
    """Return the share of unrest that counts of events show which are noticed late.

    One for each of ``unrest.SPANS``, in days. In a span of s days events with the
    density K of lags are counted whose rate was smoothed, by K * 1_s: with busy times
    of the variance u a day, counts vary by u times the integral of (K * 1_s)^2 rather
    than u s. For one lag l that is (s - l / 3) / s, or l (1 - s / (3 l)) s / l^2 if s
    is shorter.

    >>> kept_variance(np.full(3, 3.0)).round(2)  # of 1, 3, 7, 14 and 28 days
    array([0.3 , 0.67, 0.86, 0.93, 0.96])
    """
    spans = np.array(SPANS, dtype=np.float64)
    if not lags.size:
        return np.ones(spans.size)
    some = np.quantile(lags, (np.arange(_LAGS) + 0.5) / _LAGS)
    some = np.maximum(some, _STEP)[:, None]
    kept = []
    for span in spans:
        then = np.arange(_STEP / 2.0, float(some.max()) + span, _STEP)
        inside = np.clip(then, 0.0, some) - np.clip(then - span, 0.0, some)
        kept.append(float(((inside / some).mean(axis=0) ** 2).sum()) * _STEP / span)
    return np.array(kept)


class LackingRecords(NamedTuple):
    """The records that a copy lacks, for each moment.

    Attributes:
        mean: Their expected number.
        variance: Its variance, at an even pace.
        shared: The variance for each day of unrest: busy times are those of all.
        doubt: The variance that errors of learned rates add, which are those of all.

    """

    mean: Floats
    variance: Floats
    shared: Floats
    doubt: Floats | float = 0.0


def came_since(turns: Turnover, t: Floats) -> LackingRecords:
    """Return how many records came in ``t`` days, whatever value they have.

    With the rate r that is z = r t, of the variance z, and z^2 / came as r is learned.
    """
    z = turns.comes * t
    return LackingRecords(z, z, turns.comes**2 * t, z**2 / (turns.came + _HALF))


def counted_missing(
    turns: Turnover, total: float, held: Floats, then: Floats
) -> LackingRecords:
    """Return how many records the copy lacks if all were counted once.

    ``held`` has the days from when each record of the copy was last seen to the count
    of ``total`` records, and ``then`` the days since. Of the n records of the copy g
    had gone when all were counted, so total - n + g were missing; r t came since.

    >>> turns = Turnover(came=8e9, went=1e9, days=4e9, seen=5e10)
    >>> lacks = counted_missing(turns, 30.0, np.full(20, 5.0), np.array([0.0, 3.0]))
    >>> lacks.mean.round(2)  # 10 more than held, of which 20 (1 - exp(-0.1)) had gone
    array([11.9, 17.9])
    """
    unseen = np.maximum(held, 0.0)
    gone = -np.expm1(-turns.goes * unseen)
    lacked = max(total - held.size, 0.0) + float(gone.sum())
    new = came_since(turns, np.maximum(then, 0.0))
    return LackingRecords(
        lacked + new.mean,
        float(np.sum(gone * (1.0 - gone))) + new.variance,
        new.shared + (turns.goes * held.size) ** 2 * float(unseen.mean()),
        new.doubt + float(gone.sum()) ** 2 / (turns.went + _HALF),
    )


def quality(
    turns: Turnover,
    n: int,
    alive: Floats,
    age: Floats,
    *,
    comes: bool = True,
    lacks: LackingRecords | None = None,
) -> tuple[Floats, Floats]:
    """Return mean and variance of the quality of ``n`` records, for each column.

    ``alive`` is the probability that a record is still present and unchanged, after
    ``age`` days at the usual pace; a row for each record, a column for each moment. The
    days have the variance u age + u age^2 / watched + age^2 / went for the unrest u,
    and all records share them: ``models.unrest.shared_survival`` returns the
    probability S, the independent variance v and the shared deviation e. With x = n
    mean(1 - S), z records that came and that the copy lacks, of the variance q at an
    even pace and w^2 = u (shared + z^2 / watched) + doubt, the quality is (n - x) a
    with a = 1 / (n + z + h), and to first order it has the variance

        a^2 n mean(v) + b^2 (q + h^2) + (a n mean(e) + b w)^2

    with b = (n - x) a^2. ``lacks`` says how many records came; if it is not known, they
    came in the time t of the mean age (``came_since``). Of the hidden records the copy
    may lack none or more than all: h, half of their number, is the mean of an
    exponential distribution. Without ``comes`` only records held count.
    """
    per_day = 1.0 / max(turns.days, LEAST)
    rate_variance = turns.unrest * per_day + 1.0 / (turns.went + _HALF)
    fresh, own_variance, swing = shared_survival(
        alive, age, turns.unrest * age + rate_variance * age**2
    )
    new = came_since(turns, age.mean(axis=0)) if lacks is None else lacks
    hidden = max(turns.hidden, 0.0) / 2.0 * comes
    uneven = turns.unrest * (new.shared + new.mean**2 * per_day) + new.doubt
    a = 1.0 / np.maximum(n + new.mean * comes + hidden, _LEAST)
    left = n * fresh.mean(axis=0)
    b = left * a**2
    mean: Floats = np.minimum(left * a, 1.0)
    common = a * n * swing.mean(axis=0) + b * comes * np.sqrt(uneven)
    own = a**2 * n * own_variance.mean(axis=0)
    independent = own + b**2 * (new.variance * comes + hidden**2)
    return mean, np.minimum(independent + common**2, mean * (1.0 - mean))


def bounds(  # noqa: PLR0913  (the quality, and how sure its bounds are)
    turns: Turnover,
    n: int,
    alive: Floats,
    age: Floats,
    *,
    confidence: float = 0.95,
    comes: bool = True,
    lacks: LackingRecords | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Return mean, low and high of the quality with the moments of ``quality``.

    All records may be right: the upper bound is a share of whole records. And perhaps
    nothing is hidden; the upper bound covers that as well. Where it is known how many
    are lacking, k wrong ones may all be lacking rather than held: n / (n + k).
    """
    known = partial(quality, n=n, alive=alive, age=age, comes=comes, lacks=lacks)
    mean, variance = known(turns)
    low, high = beta_bounds(mean, variance, confidence)
    nothing_hidden = known(replace(turns, hidden=0.0))
    high = np.maximum(high, beta_bounds(*nothing_hidden, confidence)[1])
    whole = max(n, 1)
    wrong = whole - np.ceil(high * whole)
    most = 1.0 - wrong / whole if lacks is None else whole / (whole + wrong)
    return mean, np.minimum(low, mean), np.clip(most, mean, 1.0)
