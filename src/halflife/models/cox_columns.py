"""Validated columns for models of hazards, and covariates in comparable units."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from halflife.core.arrays import Bools, Floats, Ints
from halflife.models.cox_risk import RiskSets, Survived

_FLAT = 1e-12  # of the largest value; a column that varies by less is constant


class SpellColumns(NamedTuple):
    """Spells with columns of equal length, and the names of strata and covariates."""

    data: Survived
    strata: tuple[str, ...]
    names: tuple[str, ...]


class ScaledCovariates(NamedTuple):
    """Covariates of the spells at risk, about their stratum's mean.

    Attributes:
        z: (x - mean) / deviation, one row a covariate and one column a spell.
        mean: By stratum with a death.
        deviation: Within strata; 1 where there is none.

    """

    z: Floats
    mean: Floats
    deviation: Floats


def check_columns(  # noqa: PLR0913  (one problem, stated whole)
    x: ArrayLike,
    time: ArrayLike,
    ended: ArrayLike,
    strata: ArrayLike | None = None,
    entry: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    *,
    names: Sequence[str] = (),
) -> SpellColumns:
    """Return the validated columns; raise ``ValueError`` naming a wrong one."""
    until = _column("time", time, None)
    n = until.size
    covariates = np.asarray(x, np.float64)
    if covariates.ndim != 2 or covariates.shape[0] != n:
        raise ValueError(
            f"x must have a row for each of {n} spells, got {covariates.shape}"
        )
    if not np.isfinite(covariates).all():
        raise ValueError(
            f"x must be finite, but column {_first_infinite(covariates)} is not"
        )
    labels_x = tuple(names) or tuple(f"x{k}" for k in range(covariates.shape[1]))
    if len(labels_x) != covariates.shape[1] or len(set(labels_x)) != len(labels_x):
        raise ValueError(
            f"names must be {covariates.shape[1]} different ones, got {labels_x}"
        )
    since = np.full(n, -1.0) if entry is None else _column("entry", entry, n)
    if np.any(since > until):
        row = int(np.flatnonzero(since > until)[0])
        raise ValueError(f"entry must not be after time, but is in row {row}")
    counts = _column("weight", 1.0 if weight is None else weight, n)
    ends = np.asarray(ended)
    if ends.shape != (n,) or not np.isin(ends, (0, 1)).all():
        raise ValueError(f"ended must be true or false for each of {n} spells")
    labels, code = _strata(strata, n)
    data = Survived(covariates, until, ends.astype(np.bool_), since, counts, code)
    return SpellColumns(data, labels, labels_x)


def codes(labels: ArrayLike, n: int, what: str) -> tuple[tuple[str, ...], Ints]:
    """Return the distinct labels in order, and the code of each row's label."""
    array = np.asarray(labels)
    if array.shape != (n,):
        raise ValueError(
            f"{what} must be one for each of {n} spells, got {array.shape}"
        )
    distinct, code = np.unique(array, return_inverse=True)
    return tuple(str(label) for label in distinct.tolist()), code.astype(np.intp)


def scale_covariates(sets: RiskSets) -> ScaledCovariates:
    """Return the covariates about their mean in each stratum, over their deviation.

    The partial likelihood is invariant to a shift within a stratum, and sums of squares
    about the mean keep their precision.
    """
    x, own, weight = sets.data.x.T.copy(), sets.own, sets.data.weight
    if not own.size:
        return ScaledCovariates(x, x.T, np.ones(x.shape[0]))
    mean, total = np.zeros((x.shape[0], int(own[-1]) + 1)), np.bincount(own, weight)
    for k, column in enumerate(x):
        mean[k] = np.bincount(own, weight * column) / total
    centred = x - mean[:, own]
    deviation = np.sqrt(centred**2 @ weight / total.sum())
    flat = deviation <= _FLAT * np.abs(x).max(axis=1)
    deviation[flat], centred[flat] = 1.0, 0.0
    return ScaledCovariates(centred / deviation[:, None], mean.T, deviation)


def _strata(strata: ArrayLike | None, n: int) -> tuple[tuple[str, ...], Ints]:
    if strata is None:
        return ("all",), np.zeros(n, np.intp)
    return codes(strata, n, "strata")


def _column(name: str, values: ArrayLike, n: int | None) -> Floats:
    array = np.asarray(values, np.float64)
    if array.ndim == 0 and n is not None:
        array = np.full(n, float(array))
    if array.ndim != 1 or (n is not None and array.size != n):
        raise ValueError(f"{name} must be one number a spell, got shape {array.shape}")
    is_valid: Bools = np.isfinite(array) & (array >= 0)
    if not is_valid.all():
        row = int(np.flatnonzero(~is_valid)[0])
        raise ValueError(
            f"{name} must be finite and not negative, got {array[row]} in row {row}"
        )
    return array


def _first_infinite(x: Floats) -> int:
    return int(np.flatnonzero(~np.isfinite(x).all(axis=0))[0])
