"""Survival curves counted spell by spell, and Turnbull's round by round."""

import math

import numpy as np
import pytest

from halflife.core.errors import NotFitted
from halflife.models.spells import Spells
from halflife.models.survival_curves import CurveStatus, KaplanMeier
from lab import turnbull
from lab.turnbull import (
    Turnbull,
    _alive,
    _grid,
    _log_likelihood,
    _Renewal,
    _round_to_grid,
    _self_consistent,
    _steps_of,
)

INF = math.inf


def some_spells(seed=0, n=30, *, exact=False, weighted=True):
    rng = np.random.default_rng(seed)
    lower = rng.integers(1, 12, n) / 2.0
    entry = np.where(rng.random(n) < 0.4, rng.integers(0, 2, n) / 2.0, 0.0)
    wide = 0.0 if exact else rng.integers(1, 4, n) / 2.0
    upper = np.where(rng.random(n) < 0.6, lower + wide, INF)
    aged = rng.random(n) < 0.9
    weight = rng.integers(0, 4, n).astype(float) if weighted else None
    return Spells.of(entry, lower, upper, aged, weight)


def rows_of(data):
    columns = data.entry, data.lower, data.upper, data.weight, data.aged
    return [
        (e, low, high, w)
        for e, low, high, w, known in zip(*columns, strict=True)
        if known and w > 0
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("z", [1.0, 1.959963984540054])
def test_kaplan_and_meier_multiply_the_shares_that_stayed(seed, z):
    data = some_spells(seed, exact=seed % 2 == 0)
    found = KaplanMeier(z=z).fit(data)
    rows = [
        (e, low if high == INF else (low + high) / 2, high < INF, w)
        for e, low, high, w in rows_of(data)
    ]
    times = sorted({end for _, end, died, _ in rows if died})
    assert found.time_.tolist() == times
    alive, total, best = 1.0, 0.0, 1.0
    for k, t in enumerate(times):
        n = sum(w for e, end, _, w in rows if e < t <= end)
        d = sum(w for _, end, died, w in rows if died and end == t)
        assert (found.at_risk_[k], found.deaths_[k]) == (n, d)
        alive *= 1 - d / n
        assert found.survival_[k] == pytest.approx(alive, abs=1e-15)
        if n > d:
            total += d / (n * (n - d))
            log = math.log(alive)
            reach = math.exp(z * math.sqrt(total) / -log)
            low, high = math.exp(log * reach), math.exp(log / reach)
            best = min(best, high)
        else:
            low = 0.0  # nobody is left, but the bound of before holds
        assert found.variance_[k] == pytest.approx(alive**2 * total, abs=1e-15)
        assert found.low_[k] == pytest.approx(low)
        assert found.high_[k] == pytest.approx(best)
    at = np.array([times[0] - 0.1, times[0], times[2] + 0.01, 99.0])
    place = [0, 1, 3, len(times)]
    for values, first, column in [
        (found.survival(at), 1.0, found.survival_),
        (found.band(at)[0], 1.0, found.low_),
        (found.band(at)[1], 1.0, found.high_),
    ]:
        assert values.tolist() == [[first, *column][k] for k in place]
    assert found.status_ is CurveStatus.OK


@pytest.mark.parametrize("curve", [KaplanMeier, Turnbull])
def test_what_spells_cannot_tell_is_said(curve):
    none = np.zeros(0)
    empty = curve().fit(Spells.of(none, none, none))
    assert empty.status_ is CurveStatus.NO_SPELLS
    assert empty.survival(np.array([0.0, 5.0])).tolist() == [1.0, 1.0]
    there = curve().fit(Spells.of(np.zeros(2), np.ones(2), np.full(2, INF)))
    assert there.status_ is CurveStatus.NO_DEATHS
    assert there.survival(np.array([0.5, 5.0])).tolist() == [1.0, 1.0]
    one = Spells.of(np.zeros(2), np.ones(2), np.array([2.0, INF]))
    unknown = Spells.of(one.entry, one.lower, one.upper, np.zeros(2, bool))
    assert curve().fit(unknown).status_ is CurveStatus.NO_SPELLS
    nobody = Spells.of(one.entry, one.lower, one.upper, weight=np.zeros(2))
    assert curve().fit(nobody).status_ is CurveStatus.NO_SPELLS
    assert curve().fit(one).status_ is CurveStatus.OK
    with pytest.raises(NotFitted):
        curve().survival(np.ones(1))


@pytest.mark.parametrize("seed", range(4))
def test_one_round_spreads_deaths_and_divides_by_who_is_at_risk(seed):
    data = some_spells(seed).take(slice(0, 20))
    data = data.take(data.weight > 0)
    steps = _steps_of(data)
    size = steps.edge.size - 1
    rng = np.random.default_rng(seed)
    hazard = np.where(steps.support, rng.uniform(0.05, 0.4, size), 0.0)
    alive = [1.0]
    for h in hazard:
        alive.append(alive[-1] * (1 - h))
    assert _alive(hazard) == pytest.approx(alive)
    died, risk = [0.0] * size, [0.0] * size
    edge = steps.edge.tolist()
    parts = []
    for e, low, high, w in zip(
        data.entry, data.lower, data.upper, data.weight, strict=True
    ):
        first, last = edge.index(low), edge.index(high) if high < INF else None
        share = {}
        if last is not None:
            fall = alive[first] - alive[last]
            share = {j: (alive[j] - alive[j + 1]) / fall for j in range(first, last)}
        parts.append((edge.index(e), first, share, w))
    for enters, first, share, w in parts:
        left = 1.0
        for j in range(enters, size):
            if not share and j >= first:
                break  # nobody knows what became of it
            risk[j] += w * left
            died[j] += w * share.get(j, 0.0)
            left -= share.get(j, 0.0)
    found = _Renewal(steps)(hazard)
    for j in range(size):
        by_hand = died[j] / risk[j] if risk[j] > 1e-12 else 0.0
        assert found[j] == pytest.approx(by_hand, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_curve_agrees_with_itself_and_its_likelihood_is_that_of_the_spells(seed):
    data = some_spells(seed)
    curve = Turnbull(close=1e-10).fit(data)
    assert curve.status_ is CurveStatus.OK
    total = 0.0
    for e, low, high, w in rows_of(data):
        s = [float(curve.survival(np.array([t]))[0]) for t in (e, low, high)]
        gone = s[2] if high < INF else 0.0
        total += w * math.log((s[1] - gone) / s[0])
    assert curve.log_likelihood_ == pytest.approx(total)
    steps = _steps_of(data.take(data.aged & (data.weight > 0)).merge_equal())
    hazard, settled = _self_consistent(steps, 1e-10)
    assert settled
    again = _alive(_Renewal(steps)(hazard))
    assert again == pytest.approx(_alive(hazard), abs=1e-8)
    assert _log_likelihood(steps, _alive(hazard)) == pytest.approx(total)
    for worse in (0.9, 1.1):
        other = _alive(np.clip(hazard * worse, 0.0, 1.0))
        assert _log_likelihood(steps, other) <= total


def test_a_curve_that_still_moves_is_said_not_to_have_settled():
    few = some_spells(1, 12)
    curve = Turnbull(close=0.0).fit(few)
    assert curve.status_ is CurveStatus.NOT_SETTLED
    usual = Turnbull().fit(few)
    assert curve.survival_ == pytest.approx(usual.survival_, abs=1e-4)


def test_steps_may_fall_only_where_an_interval_begins_and_another_ends():
    entry = np.array([0.0, 0.0, 2.0, 0.0])
    lower = np.array([0.0, 1.0, 3.0, 5.0])
    upper = np.array([2.0, 4.0, INF, 6.0])
    steps = _steps_of(Spells.of(entry, lower, upper))
    assert steps.edge.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert steps.entry.tolist() == [0, 0, 2, 0]
    assert steps.lower.tolist() == [0, 1, 3, 5]
    assert steps.upper[[0, 1, 3]].tolist() == [2, 4, 6]
    # 0-1: begins, but only at 2 something ends; 1-2: yes; 3-4: yes; 5-6: yes.
    assert np.flatnonzero(steps.support).tolist() == [1, 3, 5]
    # Where nobody can have died there is no step: 3-4 now ends nothing.
    later = _steps_of(Spells.of(entry, lower, np.array([2.0, 3.0, INF, 6.0])))
    assert later.edge.tolist() == [0, 1, 2, 3, 5, 6]
    assert np.flatnonzero(later.support).tolist() == [1, 4]
    # One is lost from sight at 1 and another met at 2: between them nobody can die.
    lower = np.array([0.0, 1.0, 3.0])
    apart = Spells.of(np.array([0.0, 0.0, 2.0]), lower, np.array([0.5, INF, 4.0]))
    steps = _steps_of(apart)
    assert steps.edge.tolist() == [0, 0.5, 1, 2, 3, 4]
    assert np.flatnonzero(steps.support).tolist() == [0, 4]


def test_a_death_at_an_exact_age_lies_in_a_short_step_that_ends_there():
    age = np.array([0.5, 40.0])
    steps = _steps_of(Spells.of(np.zeros(2), age, age))
    assert steps.edge.size == 5
    width = steps.edge[[2, 4]] - steps.edge[[1, 3]]
    assert width == pytest.approx([1e-12, 40e-12], rel=1e-2)
    curve = Turnbull().fit(Spells.of(np.zeros(2), age, age))
    at = np.array([0.4, 0.5, 39.0, 40.0])
    assert curve.survival(at) == pytest.approx([1, 0.5, 0.5, 0], abs=1e-9)


def test_those_who_outlive_all_at_risk_are_told_of_by_a_trace():
    assert _alive(np.array([0.25, 1.0, 0.5])) == pytest.approx(
        [1.0, 0.75, 0.75e-16, 0.375e-16], rel=1e-9
    )


def test_of_many_ages_intervals_are_widened_to_a_quarter_of_the_usual_gap(monkeypatch):
    lower = np.array([0.1, 1.3, 2.7, 3.2, 4.9])
    upper = np.array([1.1, 4.3, 4.7, INF, 5.4])
    data = Spells.of(np.array([0.0, 1.1, 0.3, 3.2, 0.0]), lower, upper)
    assert _grid(data) == 0.0
    monkeypatch.setattr(turnbull, "_AGES", 5)
    assert _grid(data) == 0.0  # five ages are not more than five
    monkeypatch.setattr(turnbull, "_AGES", 4)
    assert _grid(data) == pytest.approx(1.5 / 4)  # gaps of 1, 3, 2 and 0.5 days
    there = Spells.of(np.zeros(5), lower, np.full(5, INF))
    assert _grid(there) == 0.0
    wide = _round_to_grid(data, 1.0)
    assert wide.lower.tolist() == [0, 1, 2, 3, 4]
    assert wide.upper.tolist() == [2, 5, 5, INF, 6]
    assert wide.entry.tolist() == [0, 1, 0, 3, 0]
    late = _round_to_grid(
        Spells.of(np.array([1.6]), np.array([1.9]), np.array([2.0])), 1.0
    )
    assert (late.entry[0], late.lower[0], late.upper[0]) == (1.0, 1.0, 2.0)
    whole = _round_to_grid(Spells.of(np.zeros(1), np.ones(1), np.ones(1)), 0.5)
    assert (whole.lower[0], whole.upper[0]) == (1.0, 1.0)
    curve = Turnbull().fit(data)
    same = Turnbull(grid=0.375).fit(data)
    assert curve.survival_ == pytest.approx(same.survival_)
    assert curve.time_.tolist() == same.time_.tolist()
    assert Turnbull(grid=0.0).fit(data).time_.tolist() != curve.time_.tolist()
