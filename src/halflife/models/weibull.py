"""The likelihood of Weibull lifetimes, with the derivatives that a fit needs.

With the cumulative hazard H(t) = (a t)**k a spell that entered observation at age e
and ended at an age in (l, u] has the log-likelihood

    H(e) - H(l) + ln(1 - exp(H(l) - H(u)))    if it ended between two snapshots,
    H(e) - H(l) + ln h(l)                     if it ended at exactly l,
    H(e) - H(l)                               if it was still present.

Klein and Moeschberger, "Survival Analysis", 2003, s. 3.5.
"""

import numpy as np

from halflife.core.arrays import Floats
from halflife.models.ascent import Slopes
from halflife.models.spells import Spells

_POINTS = 4  # points over which an uncertain birth is averaged
_CHUNK = 2048  # rows at a time, so that they stay in the cache
_EARLIEST = -1e6  # stands for ln 0
_STEEPEST = 600.0  # largest ln H, so that squares stay finite


class Likelihood:
    """Log-likelihood of (ln a, ln k), its gradient and Hessian, in scaled time.

    Priors: ``deaths`` in ``days`` (scaled), added to the data, and ``shrink``, the
    inverse variance of ln k about 0.
    """

    def __init__(
        self, data: Spells, scale: float, deaths: float, days: float, shrink: float
    ) -> None:
        parts = range(0, len(data), _CHUNK)
        self.parts = [_Part(data.take(np.s_[i : i + _CHUNK]), scale) for i in parts]
        self.prior = deaths, days, shrink

    def __call__(self, at: Floats) -> Slopes:
        """Return value, gradient and Hessian."""
        deaths, days, shrink = self.prior
        terms = np.sum([part(at) for part in self.parts], axis=0)
        terms -= days * _cumulative(np.zeros(1), at)[:, 0]
        terms += deaths * _log_hazard(np.zeros(1), at)[:, 0]
        terms -= shrink * np.array([at[1] ** 2 / 2, 0.0, at[1], 0.0, 0.0, 1.0])
        value, a, k, aa, ak, kk = terms.tolist()
        return value, np.array([a, k]), np.array([[aa, ak], [ak, kk]])


class _Part:
    """The log-likelihood of some rows.

    An uncertain birth is averaged over: ln of the mean of S(l) - S(u) over all births,
    less that of S(e), with the points of Gauss and Legendre.
    """

    def __init__(self, data: Spells, scale: float) -> None:
        exact = not data.spread.any()
        point, share = np.polynomial.legendre.leggauss(1 if exact else _POINTS)
        self.share = share[:, None] / 2
        shift = point[:, None] * data.spread
        with np.errstate(divide="ignore"):  # ln 0 is -inf here
            self.entry, self.lower, self.upper = (
                np.log(np.maximum(t + shift, 0.0) / scale)
                for t in (data.entry, data.lower, data.upper)
            )
        self.between = data.ended & (data.upper > data.lower)
        self.exact = data.ended & ~self.between
        self.weight = data.weight

    def __call__(self, at: Floats) -> Floats:
        alive = -_cumulative(self.lower, at)
        rise = _cumulative(self.upper[:, self.between], at) + alive[..., self.between]
        alive[..., self.between] += log_ended(rise, _STEEPEST)
        if self.exact.any():
            alive[..., self.exact] += _log_hazard(self.lower[:, self.exact], at)
        at_entry = _mean(-_cumulative(self.entry, at), self.share)
        log_p: Floats = (_mean(alive, self.share) - at_entry) @ self.weight
        return log_p


def log_ended(passed: Floats, steepest: float) -> Floats:
    """Return ln(1 - exp(-D)) and its derivatives, from D and its derivatives.

    D is the rise of the cumulative hazard over an interval: H(u) - H(l). Above
    ``steepest`` its derivatives count as there, so that squares stay finite.
    """
    d, a, k, aa, ak, kk = passed
    d = np.maximum(d, 1e-300)
    with np.errstate(under="ignore"):
        first = 1.0 / np.expm1(np.minimum(d, steepest))
    second = -first * (1.0 + first)
    return np.array(
        [
            np.log(-np.expm1(-d)),
            first * a,
            first * k,
            first * aa + second * a * a,
            first * ak + second * a * k,
            first * kk + second * k * k,
        ]
    )


def _mean(log: Floats, share: Floats) -> Floats:
    """Return ln of the weighted mean of exp(log), and its derivatives, by row."""
    if len(share) == 1:
        return log[:, 0]
    top = log[0].max(axis=0)
    with np.errstate(under="ignore"):
        weights = share * np.exp(log[0] - top)
        total = weights.sum(axis=0)
        weights /= total
        a, k, aa, ak, kk = np.einsum("spn,pn->sn", log[1:], weights)
        aa += np.einsum("pn,pn->n", weights, log[1] ** 2) - a * a
        ak += np.einsum("pn,pn->n", weights, log[1] * log[2]) - a * k
        kk += np.einsum("pn,pn->n", weights, log[2] ** 2) - k * k
    return np.array([top + np.log(total), a, k, aa, ak, kk])


def _cumulative(log_t: Floats, at: Floats) -> Floats:
    """Return H = exp(k (ln a + ln t)) and its derivatives in (ln a, ln k)."""
    k = float(np.exp(at[1]))
    q = np.minimum(k * (at[0] + np.maximum(log_t, _EARLIEST)), _STEEPEST)
    with np.errstate(under="ignore"):
        h = np.exp(q)
        return np.array([h, k * h, q * h, k * k * h, k * (1 + q) * h, q * (1 + q) * h])


def _log_hazard(log_t: Floats, at: Floats) -> Floats:
    """Return ln h = ln k + k (ln a + ln t) - ln t and its derivatives, one a row."""
    k = float(np.exp(at[1]))
    q = k * (at[0] + log_t)
    ones = np.ones(q.shape)
    return np.array([at[1] + q - log_t, k * ones, 1 + q, 0 * ones, k * ones, q])
