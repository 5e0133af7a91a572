"""Rates that follow a Gamma distribution over the items."""

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Bools, Floats, Ints
from halflife.models.ascent import Slopes, climb
from halflife.models.poisson import GammaSurvival
from halflife.models.rates.counts import Counts

_LOW, _HIGH = np.log(1e-3), np.log(1e6)  # of the shape and of the days


def moments(changes: Floats, days: Floats) -> tuple[float, float]:
    """Return shape and days of the Gamma prior by the method of moments.

    With m = sum(X) / sum(T), the variance of the rates is the excess of the counts'
    variance over that of Poisson counts: v = (sum((X - m T)**2) - sum(X)) / sum(T**2).
    Then shape = m**2 / v and days = m / v.

    >>> moments(np.array([0.0, 8.0]), np.array([2.0, 2.0]))
    (1.3333333333333333, 0.6666666666666666)
    """
    mean = changes.sum() / days.sum()
    spread = (np.sum((changes - mean * days) ** 2) - changes.sum()) / np.sum(days**2)
    spread = max(float(spread), 1e-6 * float(mean) ** 2)
    return float(mean**2 / spread), float(mean / spread)


def marginal(changes: Floats, days: Floats, prior: Floats) -> Slopes:
    """Return the marginal log-likelihood of the counts with its derivatives.

    X is negative binomial: lnG(a + X) - lnG(a) + a ln b - (a + X) ln(b + T), summed,
    at ``prior`` = (ln a, ln b); terms that do not depend on the prior are left out.
    """
    a, b = np.exp(prior)
    total, whole, n = changes + a, days + b, changes.size
    value = lazy_scipy.gammaln(total) - lazy_scipy.gammaln(a) + a * np.log(b)
    value = value - total * np.log(whole)
    by_a = np.sum(
        lazy_scipy.digamma(total) - lazy_scipy.digamma(a) - np.log1p(days / b)
    )
    by_b = n * a / b - np.sum(total / whole)
    by_aa = np.sum(lazy_scipy.polygamma(1, total)) - n * lazy_scipy.polygamma(1, a)
    by_bb = np.sum(total / whole**2) - n * a / b**2
    by_ab = np.sum(days / whole) / b
    slope = np.array([a * by_a, b * by_b])
    bend = np.array([[a * a * by_aa, a * b * by_ab], [a * b * by_ab, b * b * by_bb]])
    return float(value.sum()), slope, bend + np.diag(slope)


def fit_gamma(changes: Floats, days: Floats) -> tuple[float, float]:
    """Return shape and days of the Gamma prior by marginal maximum likelihood.

    Items without observations are ignored. Without any change the prior is half a
    change in the days observed.
    """
    observed = days > 0
    changes, days = changes[observed], days[observed]
    if not changes.sum() > 0:
        return 0.5, 0.5 + float(days.sum())
    start = np.log(np.array(moments(changes, days)))
    low, high = np.full(2, _LOW), np.full(2, _HIGH)
    peak = climb(lambda at: marginal(changes, days, at), start, low, high)
    shape, scale = np.exp(peak.at)
    return float(shape), float(scale)


class GammaPoisson:
    """Rates shrunk towards a Gamma distribution learned from all items.

    X changes in E days make the posterior Gamma(a + X, b + E), with a and b by marginal
    maximum likelihood; E counts half of a gap that saw a change, because its time
    within the gap is unknown. Four numbers for each item.

    >>> model = GammaPoisson()
    >>> model.grow(2)
    >>> model.add(np.array([0, 1]), np.full(2, 10.0), np.array([False, True]))
    >>> bool(0 < model.rate()[0] < model.rate()[1] < 0.2)
    True

    Args:
        refit: Learn the prior again when the gaps have grown by this factor.

    """

    def __init__(self, *, refit: float = 1.25) -> None:
        self.refit = refit
        self.counts = Counts()
        self.prior = 0.5, 0.5
        self._learned_on = 0.0

    def grow(self, n: int) -> None:
        """Make room for ``n`` items in all."""
        self.counts.grow(n)

    def add(
        self, item: Ints, length: Floats, changed: Bools, tally: Floats | None = None
    ) -> None:
        """Learn from gaps; their order does not matter."""
        self.counts.add(item, length, changed, tally)
        gaps = float(self.counts.gaps.sum())
        if gaps > self.refit * self._learned_on:
            self.prior = fit_gamma(self.counts.changes, self.counts.exposure)
            self._learned_on = gaps

    def rate(self) -> Floats:
        """Return the posterior mean of each rate."""
        shape, exposure = self._posterior()
        return shape / exposure

    def survival(self) -> GammaSurvival:
        """Return the survival of the items, uncertainty about the rates included."""
        return GammaSurvival(*self._posterior())

    def _posterior(self) -> tuple[Floats, Floats]:
        shape, days = self.prior
        return self.counts.changes + shape, self.counts.exposure + days
