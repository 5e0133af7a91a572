"""Whether hazards are proportional, or coefficients drift with time.

The Schoenfeld residual of a death is x less the mean that the model expected of who
ends then. If b were b + c g(t), the residuals r, turned by the covariance V of b,
would follow c g(t). With u = sum((g - mean g) r) the test of c = 0 is

    deaths (V u)' V^-1 (V u) / sum((g - mean g)**2),

chi-square: Grambsch and Therneau, Biometrika 1994. Where spells belong to clusters the
variance of V u is instead that of its sums by cluster, since overlapping spells of one
cluster repeat each other.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Bools, Floats, Ints
from halflife.models.cox_risk import RiskSets, RiskSums, means, totals

Transform: TypeAlias = Literal["km", "rank", "identity", "log"]


class FittedCovariates(NamedTuple):
    """Covariates of the spells at risk, and the covariance of their coefficients."""

    z: Floats
    names: tuple[str, ...]
    told: Bools
    covariance: Floats


class Proportionality(NamedTuple):
    """How far hazards are from proportional, by covariate and all together.

    Attributes:
        names: The covariates tested; dummies ``topic=arts``, ... count as ``topic``.
        statistic: Chi-square each.
        freedom: Its degrees of freedom.
        p_value: Chance of more by accident if hazards are proportional.
        overall: Chance of all together; 1 if nothing could be tested.

    """

    names: tuple[str, ...]
    statistic: Floats
    freedom: Ints
    p_value: Floats
    overall: float


def proportionality(
    sets: RiskSets,
    model: FittedCovariates,
    found: RiskSums | None,
    cluster: Ints | None,
    transform: Transform,
) -> Proportionality:
    """Test each covariate, and all of them; see the module's formula."""
    names, columns = zip(*_groups(model), strict=True) if model.told.any() else ((), ())
    clock = _clock(sets, transform)
    if found is None or not clock.any():
        none = np.zeros(len(names))
        return Proportionality(names, none, none.astype(np.intp), none + 1.0, 1.0)
    drift, variance = _drift(sets, model, found, cluster, clock)
    each = [_chi_square(drift, variance, rows) for rows in columns]
    statistic, freedom = np.array(each).T
    whole = _chi_square(drift, variance, np.flatnonzero(model.told))
    return Proportionality(
        names,
        statistic,
        freedom.astype(np.intp),
        np.asarray(lazy_scipy.chdtrc(np.maximum(freedom, 1.0), statistic)),
        float(lazy_scipy.chdtrc(max(whole[1], 1.0), whole[0])),
    )


def summed(rows: Floats, cluster: Ints) -> Floats:
    """Return the sums of each row's columns by cluster."""
    return np.array([np.bincount(cluster, row) for row in rows])


def residuals(sets: RiskSets, z: Floats, found: RiskSums) -> Floats:
    """Return the Schoenfeld residuals, one column a death."""
    left: Floats = z[:, sets.died] - means(sets, found)[:, sets.group]
    return left


def _drift(
    sets: RiskSets,
    model: FittedCovariates,
    found: RiskSums,
    cluster: Ints | None,
    clock: Floats,
) -> tuple[Floats, Floats]:
    """Return V u and its variance."""
    weight = sets.data.weight[sets.died]
    off = weight * clock * residuals(sets, model.z, found)
    if cluster is not None:
        each = summed(off, cluster[sets.died]).T @ model.covariance
        return each.sum(axis=0), each.T @ each
    spread = float(weight @ clock**2) / float(weight.sum())
    return off.sum(axis=1) @ model.covariance, model.covariance * spread


def _chi_square(drift: Floats, variance: Floats, rows: Ints) -> tuple[float, float]:
    part = variance[np.ix_(rows, rows)]
    unit = np.sqrt(np.maximum(np.diag(part), 1e-300))
    inverse = np.linalg.pinv(part / np.outer(unit, unit), rcond=1e-10, hermitian=True)
    rank = np.linalg.matrix_rank(part / np.outer(unit, unit), tol=1e-10, hermitian=True)
    scaled = drift[rows] / unit
    return float(scaled @ inverse @ scaled), float(rank)


def _groups(model: FittedCovariates) -> Iterator[tuple[str, Ints]]:
    """Return the names to test, with the columns that belong to each."""
    called = [name.partition("=")[0] for name in model.names]
    for name in dict.fromkeys(called):
        rows = [k for k, n in enumerate(called) if n == name and model.told[k]]
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
    when, back = np.unique(time, return_inverse=True)
    mass = totals(back, weight, when.size)
    if transform == "rank":
        return (np.cumsum(mass) - (mass - 1.0) / 2)[back]
    if transform == "km":
        return _gone(sets, when, mass)[back]
    raise ValueError(
        f"transform must be 'km', 'rank', 'identity' or 'log', got {transform!r}"
    )


def _gone(sets: RiskSets, when: Floats, mass: Floats) -> Floats:
    """Return 1 - S(t) by Kaplan and Meier over all strata together."""
    data = sets.data
    left = _before(data.entry, data.weight, when) - _before(
        data.time, data.weight, when
    )
    share: Floats = np.minimum(mass / np.maximum(left, mass), 1.0)
    alive: Floats = np.cumprod(1.0 - share, dtype=np.float64)
    return 1.0 - alive


def _before(t: Floats, weight: Floats, when: Floats) -> Floats:
    """Return the weight of what happened before each time."""
    order = np.argsort(t, kind="stable")
    total = np.append(0.0, np.cumsum(weight[order]))
    found: Floats = total[np.searchsorted(t[order], when, "left")]
    return found
