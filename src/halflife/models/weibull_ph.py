"""Weibull proportional hazards by maximum likelihood, a rate and shape a stratum.

S(t) = exp(-rate_s t**shape_s exp(x b)). With z = ln rate_s + x b and H = t**shape exp z
a spell observed from age e that ended in (l, u] has the log-likelihood

    H(e) - H(l) + ln(1 - exp(H(l) - H(u)))                  if between two snapshots,
    H(e) - H(l) + ln shape + z + (shape - 1) ln l           if at exactly l,
    H(e) - H(l)                                             if it was still present.

The alternative to least squares through Cox's baseline: one likelihood for all
parameters, which accounts for weeks between observations. Kalbfleisch and Prentice,
"The Statistical Analysis of Failure Time Data", 2002, s. 3.6.
"""

from enum import IntEnum
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from halflife.core.arrays import Bools, Floats, Ints
from halflife.models.ascent import Peak, Slopes, climb
from halflife.models.cox_columns import codes
from halflife.models.spells import Spells
from halflife.models.weibull import log_ended

_SHAPES = (0.05, 20.0)
_WIDE = 30.0  # bounds of ln(rate), and of a coefficient in deviations
_STEEPEST = 300.0  # largest ln H, so that squares stay finite
_EXP = 600.0  # exponents are kept within
_EARLIEST = -1e6  # stands for ln 0
_HALF = 0.5  # prior deaths where none was observed
_TINY = 1e-300


class WeibullPHStatus(IntEnum):
    """How far the spells suffice for a fit.

    OK           the peak of the likelihood
    NO_SPELLS    nothing was observed: all numbers 0, shapes 1
    NO_DEATHS    none ended: coefficients 0, rates from half a death
    BOUND        a shape, rate or coefficient ended at its bound, as likelihood rises
                 without end; the numbers are finite but say no more than "large"
    NOT_SETTLED  the search ended before the peak
    """

    OK = 0
    NO_SPELLS = 1
    NO_DEATHS = 2
    BOUND = 3
    NOT_SETTLED = 4


class WeibullPH:
    """Weibull lifetimes with proportional hazards.

    Attributes:
        coefficient_: b.
        covariance_: Of b, from the observed information; 0 for a covariate that does
            not vary.
        robust_: The same, allowing for dependent spells within clusters
            (the sandwich of scores summed by cluster); ``covariance_`` if no cluster
            was given.
        standard_error_: Root of the diagonal of ``robust_``.
        rate_: By stratum. Where nothing ended, from half a death.
        shape_: By stratum; 1 where nothing ended.
        strata_: The strata, in order.
        idle_: Those of them in which nothing ended.
        log_likelihood_: At the estimate.
        status_: How far the spells suffice; see ``WeibullPHStatus``.

    >>> end = np.array([1.0, 2, 3, 4])
    >>> found = WeibullPH().fit(Spells.of(np.zeros(4), end, end), np.zeros((4, 0)))
    >>> found.rate_.round(4), found.shape_.round(3)
    (array([0.078]), array([2.453]))

    """

    coefficient_: Floats
    covariance_: Floats
    robust_: Floats
    standard_error_: Floats
    rate_: Floats
    shape_: Floats
    strata_: tuple[str, ...]
    idle_: tuple[str, ...]
    log_likelihood_: float
    status_: WeibullPHStatus

    def fit(
        self,
        spells: Spells,
        x: ArrayLike,
        *,
        strata: ArrayLike | None = None,
        cluster: ArrayLike | None = None,
        start: ArrayLike | None = None,
    ) -> Self:
        """Estimate from spells and their covariates, one row each.

        ``start`` are the coefficients at which the search begins.
        """
        covariates = np.asarray(x, np.float64)
        n = len(spells)
        if (
            covariates.ndim != 2
            or covariates.shape[0] != n
            or not np.isfinite(covariates).all()
        ):
            raise ValueError(
                f"x must have a row of finite numbers for each of {n} spells"
            )
        labels = np.full(n, "all") if strata is None else strata
        self.strata_, code = codes(labels, n, "strata")
        deaths = np.bincount(code, spells.weight * spells.ended, len(self.strata_))
        has_deaths = deaths > 0
        self.idle_ = tuple(
            s for s, k in zip(self.strata_, has_deaths, strict=True) if not k
        )
        self._reset(covariates.shape[1])
        if has_deaths.any():
            rows = _Rows(spells, covariates, code).of(has_deaths)
            rows.cluster = None if cluster is None else _clusters(cluster, n)[rows.kept]
            self._search(rows, start)
        elif spells.weight.sum() > 0:
            self.status_ = WeibullPHStatus.NO_DEATHS
        self._set_idle_rates(spells, covariates, code, has_deaths)
        return self

    def _reset(self, p: int) -> None:
        self.coefficient_, self.covariance_ = np.zeros(p), np.zeros((p, p))
        self.robust_ = self.covariance_
        self.standard_error_ = np.zeros(p)
        self.rate_ = np.zeros(len(self.strata_))
        self.shape_ = np.ones(len(self.strata_))
        self.log_likelihood_ = 0.0
        self.status_ = WeibullPHStatus.NO_SPELLS

    def _search(self, rows: "_Rows", start: ArrayLike | None) -> None:
        likelihood = _Likelihood(rows)
        begin = None if start is None else np.asarray(start, np.float64)
        peak = climb(likelihood, *likelihood.bounds(begin))
        self.status_ = _status(peak)
        k, active = rows.count, rows.active
        unit = 1.0 / likelihood.deviation
        self.coefficient_ = peak.at[2 * k :] * unit
        self.covariance_ = peak.covariance[2 * k :, 2 * k :] * np.outer(unit, unit)
        self.robust_ = self.covariance_
        if rows.cluster is not None:
            pull = peak.covariance[2 * k :] @ likelihood.scores(peak.at, rows.cluster)
            self.robust_ = pull @ pull.T * np.outer(unit, unit)
        self.standard_error_ = np.sqrt(np.maximum(np.diag(self.robust_), 0.0))
        self.shape_[active] = np.exp(peak.at[k : 2 * k])
        log = peak.at[:k] - self.coefficient_ @ likelihood.mean
        log -= self.shape_[active] * np.log(likelihood.scale)
        self.rate_[active] = np.exp(np.clip(log, -_EXP, _EXP))
        self.log_likelihood_ = peak.value - likelihood.jacobian

    def _set_idle_rates(
        self, spells: Spells, x: Floats, code: Ints, has_deaths: Bools
    ) -> None:
        relative = np.exp(np.clip(x @ self.coefficient_, -_EXP, _EXP))
        exposures = spells.weight * (spells.lower - spells.entry) * relative
        exposure = np.bincount(code, exposures, has_deaths.size)
        idle = ~has_deaths & (exposure > 0)
        self.rate_[idle] = _HALF / exposure[idle]

    def relative(self, x: ArrayLike) -> Floats:
        """Return exp(x b)."""
        eta = np.asarray(x, np.float64) @ self.coefficient_
        return np.exp(np.clip(eta, -_EXP, _EXP))


def _clusters(cluster: ArrayLike, n: int) -> Ints:
    return codes(cluster, n, "cluster")[1]


def _status(peak: Peak) -> WeibullPHStatus:
    if peak.bound.any():
        return WeibullPHStatus.BOUND
    return WeibullPHStatus.OK if peak.converged else WeibullPHStatus.NOT_SETTLED


class _Rows:
    """Spells with covariates and strata, restricted to strata with a death."""

    def __init__(self, spells: Spells, x: Floats, code: Ints) -> None:
        self.spells, self.x, self.code = spells, x, code
        self.active = np.ones(int(code.max(initial=-1)) + 1, np.bool_)
        self.kept: Ints = np.arange(code.size)
        self.cluster: Ints | None = None

    def of(self, active: Bools) -> "_Rows":
        """Return the rows of the active strata, which are numbered again."""
        rows = np.flatnonzero(active[self.code] & (self.spells.weight > 0))
        new_code = np.cumsum(active) - 1
        result = _Rows(self.spells.take(rows), self.x[rows], new_code[self.code[rows]])
        result.active, result.kept = active, rows
        return result

    @property
    def count(self) -> int:
        return int(self.active.sum())


class _Likelihood:
    """Value, gradient and Hessian in (ln rate, ln shape, b), time and x scaled."""

    def __init__(self, rows: _Rows) -> None:
        data, self.code, self.count = rows.spells, rows.code, rows.count
        self.weight = data.weight
        self.mean = np.average(rows.x, axis=0, weights=data.weight)
        spread = np.average((rows.x - self.mean) ** 2, axis=0, weights=data.weight)
        flat = spread <= 1e-24 * np.abs(rows.x).max(axis=0, initial=0.0) ** 2
        self.deviation = np.where(flat, 1.0, np.sqrt(spread))
        self.fixed = flat
        self.z = np.where(flat, 0.0, (rows.x - self.mean) / self.deviation)
        ended = data.ended
        end = np.where(ended, data.upper, data.lower)
        self.scale = float(np.exp(np.log(end[end > 0]).mean())) if end.any() else 1.0
        upper = np.where(end > 0, end, self.scale * 1e-6)
        lower = np.where(ended & (data.lower == data.upper), upper, data.lower)
        lower = np.where(end > 0, lower, 0.0)  # an end at 0 counts as soon after
        self.exact = ended & (lower == upper)
        self.between = ended & ~self.exact
        with np.errstate(divide="ignore"):  # ln 0 is understood
            self.entry, self.lower, self.upper = (
                np.maximum(np.log(t / self.scale), _EARLIEST)
                for t in (data.entry, lower, upper)
            )
        self.late = bool(data.entry.any())
        self.jacobian = float(self.weight[self.exact].sum() * np.log(self.scale))

    def bounds(self, start: Floats | None) -> tuple[Floats, Floats, Floats]:
        """Return the start of the search, and its bounds."""
        died = np.bincount(self.code, self.weight * (self.exact | self.between))
        lived = np.bincount(self.code, self.weight * np.exp(self.upper))
        rate = np.log(died / np.maximum(lived, _TINY))
        shapes, width = np.zeros(self.count), np.full(self.z.shape[1], _WIDE)
        width[self.fixed] = 0.0
        begin = np.zeros(width.size) if start is None else start * self.deviation
        low, high = np.log(_SHAPES)
        return (
            np.concatenate((rate, shapes, begin)),
            np.concatenate((rate - _WIDE, shapes + low, -width)),
            np.concatenate((rate + _WIDE, shapes + high, width)),
        )

    def __call__(self, at: Floats) -> Slopes:
        """Return value, gradient and Hessian."""
        value, z, g, zz, zg, gg = self._rows(at) * self.weight
        k, x, code = self.count, self.z, self.code
        slope = np.concatenate((self._by(z), self._by(g), z @ x))
        bend = np.zeros((slope.size, slope.size))
        here = np.arange(k)
        bend[here, here], bend[here, k + here] = self._by(zz), self._by(zg)
        bend[k + here, k + here] = self._by(gg)
        for row, part in enumerate(x.T):
            bend[:k, 2 * k + row] = np.bincount(code, zz * part, k)
            bend[k : 2 * k, 2 * k + row] = np.bincount(code, zg * part, k)
        bend[2 * k :, 2 * k :] = (x.T * zz) @ x
        return float(value.sum()), slope, np.triu(bend) + np.triu(bend, 1).T

    def scores(self, at: Floats, cluster: Ints) -> Floats:
        """Return the gradient, one column for each cluster."""
        _, z, g, *_ = self._rows(at) * self.weight
        k, n = self.count, int(cluster.max()) + 1
        place = self.code * n + cluster
        by_stratum = [np.bincount(place, part, k * n).reshape(k, n) for part in (z, g)]
        by_covariate = [np.bincount(cluster, z * column, n) for column in self.z.T]
        return np.concatenate(
            (*by_stratum, np.reshape(by_covariate, (self.z.shape[1], n)))
        )

    def _by(self, values: Floats) -> Floats:
        return np.bincount(self.code, values, self.count).astype(np.float64)

    def _rows(self, at: Floats) -> Floats:
        """Return each spell's log-likelihood and its derivatives in (z, ln shape)."""
        k = self.count
        z = at[:k][self.code] + self.z @ at[2 * k :]
        shape = np.exp(at[k : 2 * k])[self.code]
        log_p = -_cumulative(self.lower, z, shape)
        if self.late:
            log_p += _cumulative(self.entry, z, shape)
        if self.between.any():
            rows = self.between
            before = _cumulative(self.lower[rows], z[rows], shape[rows])
            after = _cumulative(self.upper[rows], z[rows], shape[rows])
            log_p[:, rows] += log_ended(after - before, _STEEPEST)
        if self.exact.any():
            rows = self.exact
            log_p[:, rows] += _log_hazard(self.lower[rows], z[rows], shape[rows])
        return log_p


def _cumulative(log: Floats, z: Floats, shape: Floats) -> Floats:
    """Return H = exp(z + shape ln t) and its derivatives in (z, ln shape)."""
    q = shape * log
    with np.errstate(under="ignore"):
        h = np.exp(np.minimum(z + q, _STEEPEST))
        slope = q * h
        return np.array([h, h, slope, h, slope, slope * (1.0 + q)])


def _log_hazard(log: Floats, z: Floats, shape: Floats) -> Floats:
    """Return ln h = ln shape + z + (shape - 1) ln t and its derivatives, one a row."""
    q, ones, zeros = shape * log, np.ones(z.size), np.zeros(z.size)
    return np.array([np.log(shape) + z + q - log, ones, 1.0 + q, zeros, zeros, q])
