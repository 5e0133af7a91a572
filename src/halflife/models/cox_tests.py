"""Tests whether hazards are proportional, or coefficients drift with time.

The Schoenfeld residual of a death is x less the mean that the model expects of the
spell that ends then. If b were b + c g(t), the residuals r, turned by the covariance V
of b, would follow c g(t). With u = sum((g - mean g) r) the test of c = 0 is

    deaths (V u)' V^-1 (V u) / sum((g - mean g)**2),

chi-square: Grambsch and Therneau, Biometrika 1994. Where spells belong to clusters the
variance of V u is that of its sums by cluster, since overlapping spells of one cluster
are dependent.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Bools, Floats, Ints
from halflife.models.cox_risk import RiskSets, RiskSums, expected_covariates, totals

Transform: TypeAlias = Literal["km", "rank", "identity", "log"]


class FittedCovariates(NamedTuple):
    """Covariates of the spells at risk, and the covariance of their coefficients."""

    z: Floats
    names: tuple[str, ...]
    estimable: Bools
    covariance: Floats


class Proportionality(NamedTuple):
    """Tests of proportional hazards, for each covariate and for all together.

    Attributes:
        names: The covariates tested; dummies ``topic=arts``, ... count as ``topic``.
        statistic: The chi-square statistic of each.
        freedom: Its degrees of freedom.
        p_value: P-value if hazards are proportional.
        overall: P-value of all together; 1 if nothing could be tested.

    """

    names: tuple[str, ...]
    statistic: Floats
    freedom: Ints
    p_value: Floats
    overall: float


def proportionality(
    sets: RiskSets,
    model: FittedCovariates,
    risk_sums: RiskSums | None,
    cluster: Ints | None,
    transform: Transform,
) -> Proportionality:
    """Test each covariate, and all of them; see the module's formula."""
    names, columns = (
        zip(*_groups(model), strict=True) if model.estimable.any() else ((), ())
    )
    clock = _clock(sets, transform)
    if risk_sums is None or not clock.any():
        zeros = np.zeros(len(names))
        return Proportionality(names, zeros, zeros.astype(np.intp), zeros + 1.0, 1.0)
    drift, variance = _drift(sets, model, risk_sums, cluster, clock)
    tests = [_chi_square(drift, variance, rows) for rows in columns]
    statistic, freedom = np.array(tests).T
    overall = _chi_square(drift, variance, np.flatnonzero(model.estimable))
    return Proportionality(
        names,
        statistic,
        freedom.astype(np.intp),
        np.asarray(lazy_scipy.chdtrc(np.maximum(freedom, 1.0), statistic)),
        float(lazy_scipy.chdtrc(max(overall[1], 1.0), overall[0])),
    )


def sum_by_cluster(rows: Floats, cluster: Ints) -> Floats:
    """Return the sums of each row's columns by cluster."""
    return np.array([np.bincount(cluster, row) for row in rows])


def residuals(sets: RiskSets, z: Floats, risk_sums: RiskSums) -> Floats:
    """Return the Schoenfeld residuals, one column a death."""
    residual: Floats = (
        z[:, sets.died] - expected_covariates(sets, risk_sums)[:, sets.group]
    )
    return residual


def _drift(
    sets: RiskSets,
    model: FittedCovariates,
    risk_sums: RiskSums,
    cluster: Ints | None,
    clock: Floats,
) -> tuple[Floats, Floats]:
    """Return V u and its variance."""
    weight = sets.data.weight[sets.died]
    weighed = weight * clock * residuals(sets, model.z, risk_sums)
    if cluster is not None:
        by_cluster = sum_by_cluster(weighed, cluster[sets.died]).T @ model.covariance
        return by_cluster.sum(axis=0), by_cluster.T @ by_cluster
    spread = float(weight @ clock**2) / float(weight.sum())
    return weighed.sum(axis=1) @ model.covariance, model.covariance * spread


def _chi_square(drift: Floats, variance: Floats, rows: Ints) -> tuple[float, float]:
    part = variance[np.ix_(rows, rows)]
    unit = np.sqrt(np.maximum(np.diag(part), 1e-300))
    inverse = np.linalg.pinv(part / np.outer(unit, unit), rcond=1e-10, hermitian=True)
    rank = np.linalg.matrix_rank(part / np.outer(unit, unit), tol=1e-10, hermitian=True)
    scaled = drift[rows] / unit
    return float(scaled @ inverse @ scaled), float(rank)


def _groups(model: FittedCovariates) -> Iterator[tuple[str, Ints]]:
    """Yield the names to test, with the columns that belong to each."""
    prefixes = [name.partition("=")[0] for name in model.names]
    for name in dict.fromkeys(prefixes):
        rows = [k for k, n in enumerate(prefixes) if n == name and model.estimable[k]]
        if rows:
            yield name, np.array(rows)


def _clock(sets: RiskSets, transform: Transform) -> Floats:
    """Return g(t) of each death, less its mean."""
    time, weight = sets.data.time[sets.died], sets.data.weight[sets.died]
    if not time.size:
        return time
    clock = _transformed(sets, time, weight, transform)
    return clock - float(weight @ clock) / float(weight.sum())


def _transformed(
    sets: RiskSets, time: Floats, weight: Floats, transform: Transform
) -> Floats:
    if transform == "identity":
        return time
    if transform == "log":
        return np.log(time)
    times, inverse = np.unique(time, return_inverse=True)
    mass = totals(inverse, weight, times.size)
    if transform == "rank":
        return (np.cumsum(mass) - (mass - 1.0) / 2)[inverse]
    if transform == "km":
        return _share_ended(sets, times, mass)[inverse]
    raise ValueError(
        f"transform must be 'km', 'rank', 'identity' or 'log', got {transform!r}"
    )


def _share_ended(sets: RiskSets, times: Floats, mass: Floats) -> Floats:
    """Return 1 - S(t) by Kaplan and Meier over all strata together."""
    data = sets.data
    left = _before(data.entry, data.weight, times) - _before(
        data.time, data.weight, times
    )
    share: Floats = np.minimum(mass / np.maximum(left, mass), 1.0)
    alive: Floats = np.cumprod(1.0 - share, dtype=np.float64)
    return 1.0 - alive


def _before(t: Floats, weight: Floats, times: Floats) -> Floats:
    """Return the weight of the events before each time."""
    order = np.argsort(t, kind="stable")
    total = np.append(0.0, np.cumsum(weight[order]))
    weight_before: Floats = total[np.searchsorted(t[order], times, "left")]
    return weight_before
