import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.lifetimes import Collection, Lives
from halflife.models.ages import LifeTable, life_table_hazard, survivors, weibull_hazard
from halflife.models.census import Census
from set_worlds import arrival_survival, collection, worlds

INF = np.inf


@given(worlds(), st.sampled_from([0.5, 1.0, 3.0, 14.0]))
def test_outcomes_are_the_quality_that_the_looks_show(world, ahead):
    census = Census.of(world)
    outcome = census.outcome(ahead)
    for i in np.flatnonzero(outcome.known):
        later = world.looks[outcome.later[i]]
        assert outcome.ahead[i] == later - world.looks[i]
        assert ahead - 1e-6 * census.step <= outcome.ahead[i]
        assert outcome.ahead[i] <= 1.3 * ahead + census.step / 2 + 1e-9
        expected = world.quality(world.looks[i], later)
        assert tuple(outcome.quality[:, i]) == pytest.approx(expected)


@given(worlds(), st.sampled_from([0.5, 1.0, 3.0, 14.0]))
def test_an_outcome_is_known_if_a_look_tells_in_time_of_something_held(world, ahead):
    census = Census.of(world)
    outcome, looks = census.outcome(ahead), world.looks
    for i, at in enumerate(looks):
        due = at + ahead
        later = [j for j in range(looks.size) if looks[j] >= due - 1e-6 * census.step]
        told = later[0] if later else -1
        in_time = told > i and looks[told] <= due + 0.3 * ahead + 0.5 * census.step
        held = world.held(at).size
        assert outcome.later[i] == (told if in_time and held else -1)
        if not outcome.known[i]:
            assert outcome.ahead[i] == ahead
            continue
        both = np.intersect1d(world.held(at), world.held(looks[told])).size
        there = world.held(looks[told]).size
        assert outcome.new[i] == there - both
        loss = [-np.log(min(max(both, 0.5) / max(n, 1), 1.0)) for n in (held, there)]
        assert outcome.loss[:, i] == pytest.approx(loss)


def test_an_object_that_comes_back_is_kept():
    lives = Lives(
        keys=("a", "b", "a", "a"),
        absent_before=np.array([-INF, -INF, 1.0, 3.0]),
        first_seen=np.array([0.0, 0.0, 2.0, 4.0]),
        last_seen=np.array([0.0, 4.0, 2.0, 4.0]),
        gone_by=np.array([1.0, INF, 3.0, INF]),
        attributes={},
    )
    nothing = np.empty(0)
    world = Collection("x", np.arange(5.0), lives, nothing.astype(np.intp), nothing)
    census = Census.of(world)
    assert census.kept(np.array([2, 3, 4, 4, 4])).tolist() == [2, 1, 2, 1, 2]
    assert census.turnover.gone.tolist() == [1.0, 0.0, 1.0, 0.0]
    assert census.turnover.new.tolist() == [0.0, 1.0, 0.0, 1.0]


@given(worlds())
def test_the_life_table_counts_everybody(world):
    census = Census.of(world)
    table = LifeTable.of(census)
    assert np.array_equal(table.present.sum(axis=1), census.size)
    ended = (census.stop < world.looks.size - 1).sum()
    assert table.deaths[-1:].sum() == ended
    assert (np.diff(table.exposure, axis=0) >= 0).all()


@given(worlds(), st.sampled_from([0.1, 1.0, 30.0]))
def test_survivors_are_shares_that_only_fall(world, ahead):
    table = LifeTable.of(Census.of(world))
    count = world.looks.size
    for law in (weibull_hazard(table), life_table_hazard(table)):
        soon = survivors(table, law, np.full(count, ahead))
        late = survivors(table, law, np.full(count, 2 * ahead))
        for a, b in zip(soon, late, strict=True):
            assert np.isfinite(a).all()
            assert ((b <= a + 1e-12) & (b >= 0)).all()
            assert (a <= 1 + 1e-12).all()


def test_the_life_table_finds_the_rate_and_the_shape():
    world = arrival_survival(1, days=200)
    table = LifeTable.of(Census.of(world))
    for law in (weibull_hazard(table), life_table_hazard(table)):
        kept, fresh = survivors(table, law, np.full(201, 10.0))
        assert kept[-1] == pytest.approx(np.exp(-0.3), abs=0.02)
        assert fresh[-1] == pytest.approx((1 - np.exp(-0.3)) / 0.3, abs=0.02)


def test_objects_that_age_are_told_from_those_that_do_not():
    rng = np.random.default_rng(3)
    born = rng.uniform(-60.0, 150.0, 4000)
    died = born + 30.0 * rng.weibull(3.0, 4000)
    table = LifeTable.of(Census.of(collection(np.arange(151.0), born, died)))
    summed, _ = weibull_hazard(table)
    young, old = summed(np.tile([[5.0, 10.0]], (151, 1)))[-1]
    assert np.log2(old / young) == pytest.approx(3.0, abs=0.5)
