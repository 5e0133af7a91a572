"""How a copy that is read part by part falls behind: records change, go and come.

Of n records held, each seen some days ago, x have changed or gone since, and y have
come that the copy lacks: its quality is (n - x) / (n + y). A record is gone t days
after it was seen with the chance 1 - exp(-d t), and r come a day. As with pages, they
come and go unevenly (``models.unrest``), and all of a copy shares that.
"""

from dataclasses import dataclass, replace

import numpy as np

from halflife.core.arrays import Floats
from halflife.models.quality import beta_bounds
from halflife.models.unrest import shared, unrest

LEAST = 1.0  # days, or days of records, that rates go by, at least
_LEAST = 1e-6  # records
_HALF = 0.5  # of a record, with nothing to go by (Jeffreys' prior of a Poisson rate)


@dataclass(frozen=True, slots=True)
class Turnover:
    """How fast records come and go.

    Attributes:
        came: Records that came while the source was watched.
        went: Records that went.
        days: How long it was watched.
        seen: Days for which records were there, added up over all of them.
        unrest: How unevenly they come and go, in days.
        hidden: Records by which the copy is smaller than when it was read whole.

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
        """The chance a day that a record goes."""
        return (self.went + _HALF) / max(self.seen, LEAST)


def unevenly(moments: Floats, since: float, days: float) -> float:
    """Return how unevenly things happened in so many days, in days; see ``unrest``.

    >>> unevenly(np.arange(28) / 2.0, 0.0, 14.0)
    0.0
    >>> round(unevenly(np.full(28, 3.0), 0.0, 14.0), 1)
    10.1
    """
    bins = int(days)
    if bins < 2:
        return 0.0
    seen, _ = np.histogram(moments, bins, (since, since + bins))
    both = np.full(bins, float(seen.mean())), seen.astype(np.float64)
    return unrest(both[0][None], both[1][None])


def quality(
    turns: Turnover, n: int, alive: Floats, age: Floats, *, comes: bool = True
) -> tuple[Floats, Floats]:
    """Return mean and variance of the quality of ``n`` records; one value a column.

    ``alive`` is the chance that a record is still there as it is held, after just
    ``age`` days at the usual pace; a row a record, a column a moment. The days have the
    variance u age + u age^2 / watched + age^2 / went for the unrest u, and all records
    share them: ``models.unrest.shared`` makes of it the chance S, the variance v that
    each has alone and e, which all have in common. With x = n mean(1 - S), t the mean
    age, z = r t records that came, and w^2 = z^2 (u / t + u / watched + 1 / came), the
    quality is (n - x) a with a = 1 / (n + z + h), and to first order it has the
    variance

        a^2 n mean(v) + b^2 (z + h^2) + (a n mean(e) + b w)^2

    with b = (n - x) a^2. Of what is hidden the copy may lack nothing or more than all:
    h, half of it, is taken as the mean of an exponential distribution. If only records
    that are held matter, none ``comes``.
    """
    watched = 1.0 / max(turns.days, LEAST)
    known = turns.unrest * watched + 1.0 / (turns.went + _HALF)
    still, alone, swing = shared(alive, age, turns.unrest * age + known * age**2)
    t = age.mean(axis=0)
    z, hidden = turns.comes * t * comes, max(turns.hidden, 0.0) / 2.0 * comes
    uneven = turns.unrest * (t + t**2 * watched) + t**2 / (turns.came + _HALF)
    a = 1.0 / np.maximum(n + z + hidden, _LEAST)
    left = n * still.mean(axis=0)
    b = left * a**2
    mean: Floats = np.minimum(left * a, 1.0)
    common = a * n * swing.mean(axis=0) + b * turns.comes * comes * np.sqrt(uneven)
    own = a**2 * n * alone.mean(axis=0) + b**2 * (z + hidden**2)
    return mean, np.minimum(own + common**2, mean * (1.0 - mean))


def bounds(
    turns: Turnover,
    n: int,
    alive: Floats,
    age: Floats,
    *,
    confidence: float = 0.95,
    comes: bool = True,
) -> tuple[Floats, Floats, Floats]:
    """Return mean, low and high of the quality that ``quality`` tells the moments of.

    Perhaps all records are right: the upper bound is a share of whole records. And
    whatever is hidden, perhaps nothing is; it holds that as well.
    """
    mean, variance = quality(turns, n, alive, age, comes=comes)
    low, high = beta_bounds(mean, variance, confidence)
    whole = quality(replace(turns, hidden=0.0), n, alive, age, comes=comes)
    high = np.maximum(high, beta_bounds(*whole, confidence)[1])
    most = np.ceil(high * max(n, 1)) / max(n, 1)
    return mean, np.minimum(low, mean), np.clip(most, mean, 1.0)
