"""Turnbull's curve: survival from deaths known only to lie in an interval.

Right for wide gaps between snapshots. Spells of unknown age are left out.
"""

from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.errors import NotFitted
from halflife.core.lifetimes import Lives
from halflife.models.spells import Spells
from halflife.models.survival_curves import CurveStatus, of_known_age, status_of

_ROUNDS = 3000
_WORK = 40_000_000  # spells and steps visited, about three seconds
_AGES = 5000  # most distinct ages that are not rounded
_LEAP = 1e4  # largest multiple of a step in one extrapolation
_TRACE = 1e-16
_TINY = 1e-300
_MOMENT = 1e-12  # days, and relative


class Turnbull:
    """The maximum likelihood survival curve for interval-censored deaths.

    Self-consistency, as deaths and risk: with S the curve so far, a death in (l, u]
    is spread over the steps in between as S falls there; then each step's hazard is
    the deaths in it over the spells at risk. Turnbull, JRSS B 1976, with the support
    of Frydman, JRSS B 1994, under delayed entry; accelerated by squared extrapolation
    (Varadhan and Roland, 2008). Equal spells are merged first.

    Args:
        grid: Widen intervals to multiples of this many days first; 0 leaves them
            unchanged. So does ``None``, up to 5 000 distinct ages; beyond, the grid is
            a quarter of the median interval of deaths.
        close: Stop when no step changes S by more.

    Attributes:
        time_: Edges of the steps, ascending, from 0.
        survival_: S at the edges; within a step S is undetermined, and taken as linear.
        log_likelihood_: The log-likelihood of the curve.
        status_: How far the spells suffice; see ``CurveStatus``.

    >>> inf = np.inf
    >>> seen = Spells.of(np.zeros(3), np.array([0.0, 1, 2]), np.array([2.0, 3, inf]))
    >>> Turnbull().fit(seen).survival(np.array([1.0, 2, 3])).round(3)
    array([1. , 0.5, 0. ])

    """

    time_: Floats
    survival_: Floats
    log_likelihood_: float
    status_: CurveStatus

    def __init__(self, *, grid: float | None = None, close: float = 1e-7) -> None:
        self.grid = grid
        self.close = close

    def fit(self, lives: Lives | Spells) -> Self:
        """Estimate from lifetimes, or from their spells if these are given."""
        data = of_known_age(lives)
        grid = _grid(data) if self.grid is None else self.grid
        if grid > 0:
            data = _round_to_grid(data, grid)
        steps = _steps_of(data.merge_equal())
        hazard, converged = _self_consistent(steps, self.close)
        alive = _alive(hazard)
        self.time_, self.survival_ = steps.edge, alive
        self.log_likelihood_ = _log_likelihood(steps, alive)
        self.status_ = status_of(data)
        if self.status_ is CurveStatus.OK and not converged:
            self.status_ = CurveStatus.NOT_SETTLED
        return self

    def survival(self, t: Floats) -> Floats:
        """Return S(t); constant after the last known age."""
        if not hasattr(self, "time_"):
            raise NotFitted("call fit() before survival()")
        return np.interp(t, self.time_, self.survival_)


class _Steps(NamedTuple):
    """Spells on a grid of edges; step j lies between edges j and j + 1."""

    edge: Floats
    entry: Ints
    lower: Ints
    upper: Ints  # the last edge's number if right-censored
    ended: Bools
    weight: Floats
    support: Bools


def _grid(data: Spells) -> float:
    """Return the grid for many distinct ages; 0 if there are few."""
    if np.unique(data.lower).size <= _AGES or not data.deaths:
        return 0.0
    return float(np.median((data.upper - data.lower)[data.ended])) / 4


def _round_to_grid(data: Spells, grid: float) -> Spells:
    """Return the spells with intervals widened to multiples of ``grid``."""
    lower = np.floor(data.lower / grid) * grid
    entry = np.minimum(np.round(data.entry / grid) * grid, lower)
    upper = np.where(data.ended, np.ceil(data.upper / grid) * grid, np.inf)
    return replace(data, entry=entry, lower=lower, upper=np.maximum(upper, lower))


def _steps_of(data: Spells) -> _Steps:
    ended, exact = data.ended, data.lower == data.upper
    # A death at exactly t lies in a negligibly short step that ends at t.
    lower = data.lower - np.where(exact, _MOMENT * np.maximum(data.lower, 1.0), 0.0)
    entry = np.minimum(data.entry, lower)
    upper = data.upper[ended]
    edge = np.unique(np.concatenate([np.zeros(1), entry, lower, upper]))
    numbers = [np.searchsorted(edge, c) for c in (entry, lower, data.upper)]
    starts, ends, covered = (np.zeros(edge.size + 1, np.bool_) for _ in range(3))
    starts[numbers[1]] = True
    ends[numbers[0]] = ends[numbers[2][ended]] = True
    change = np.zeros(edge.size + 1)
    np.add.at(change, numbers[1][ended], 1.0)
    np.add.at(change, numbers[2][ended], -1.0)
    covered = np.cumsum(change) > 0
    steps = edge.size - 1
    support = starts[:steps] & ends[1 : steps + 1] & covered[:steps]
    return _Steps(edge, numbers[0], numbers[1], numbers[2], ended, data.weight, support)


def _alive(hazard: Floats) -> Floats:
    """Return S at the edges; where all at risk died it stays slightly above 0.

    Later entries are conditional on being present at their entry.
    """
    stay = np.maximum(1.0 - hazard, _TRACE)
    return np.concatenate(([1.0], np.cumprod(stay)))


def _self_consistent(steps: _Steps, close: float) -> tuple[Floats, bool]:
    """Return the self-consistent hazards, and whether they converged."""
    renew = _Renewal(steps)
    now = np.where(steps.support, 0.5 / np.maximum(np.sum(steps.support), 1), 0.0)
    now = renew(now)
    visits = 3 * (steps.weight.size + steps.edge.size)
    for _ in range(min(_ROUNDS // 3, _WORK // visits)):
        first_round = renew(now)
        if np.max(np.abs(_alive(first_round) - _alive(now)), initial=0.0) < close:
            return first_round, True
        second_round = renew(first_round)
        step, curvature = first_round - now, second_round - 2 * first_round + now
        ratio = float(step @ step) / (float(curvature @ curvature) + _TINY)
        stride = float(np.clip(np.sqrt(ratio), 1.0, _LEAP))
        leap = np.clip(
            now + 2 * stride * step + stride**2 * curvature, second_round / 10, 1.0
        )
        better = _log_likelihood(steps, _alive(leap)) >= _log_likelihood(
            steps, _alive(second_round)
        )
        now = renew(leap) if better else second_round
    return now, False


class _Renewal:
    """One round: deaths distributed by the current curve, then hazards from deaths."""

    def __init__(self, steps: _Steps) -> None:
        size = steps.edge.size
        self.size = size - 1
        rows = steps.ended
        self.lower, self.upper = steps.lower[rows], steps.upper[rows]
        self.weight = steps.weight[rows]
        came = _sums(steps.entry, steps.weight, size)
        left = _sums(steps.lower[~rows], steps.weight[~rows], size)
        self.open = np.cumsum(came - left)[: self.size]

    def __call__(self, hazard: Floats) -> Floats:
        alive = _alive(hazard)
        fall = np.maximum(alive[self.lower] - alive[self.upper], _TINY)
        each = self.weight / fall
        change = _sums(self.lower, each, self.size + 1)
        change -= _sums(self.upper, each, self.size + 1)
        died = np.maximum(np.cumsum(change)[:-1], 0.0) * (alive[:-1] - alive[1:])
        risk = self.open - np.concatenate(([0.0], np.cumsum(died)[:-1]))
        return np.asarray(died / np.maximum(np.maximum(risk, died), _TINY))


def _log_likelihood(steps: _Steps, alive: Floats) -> float:
    after = np.where(steps.ended, alive[np.minimum(steps.upper, alive.size - 1)], 0.0)
    chance = (alive[steps.lower] - after) / np.maximum(alive[steps.entry], _TINY)
    return float(steps.weight @ np.log(np.maximum(chance, _TINY)))


def _sums(where: Ints, amount: Floats, size: int) -> Floats:
    return np.bincount(where, amount, minlength=size).astype(np.float64, copy=False)
