"""Pooled forecasts of set sources: doubts of horizons, and looks where nothing is."""

import math

import numpy as np
import pytest

from halflife.models.census import MOST, Census
from halflife.models.conformal import DISPERSION, Scored, dispersion, inside
from halflife.models.experts import POOL, Experts
from halflife.models.parametric import arrival_scale, model_bounds
from halflife.models.pool import AVERAGED, FIRST, Study, correct_bias, error_weights
from set_lives import grown
from set_worlds import collection


@pytest.fixture(scope="module")
def study():
    known = grown(np.random.default_rng(2), (0.1,), days=24, arrivals=4.0, gap=2.0)
    return Study(Census.of(known))


def test_a_horizon_is_made_once(study):
    assert study.at(4.0) is study.at(4.0)
    assert study.at(4.0) is not study.at(6.0)


@pytest.mark.parametrize("days", [2.0, 4.0, 4.5, 10.0])
def test_the_spread_begins_with_half_that_of_a_quarter_of_the_horizon(study, days):
    horizon = study.at(days)
    for m in range(2):
        if days <= 4.0:  # two steps of two days
            prior = np.full(13, DISPERSION**2)
        else:
            prior = AVERAGED * study.at(days / 4).spread[m] ** 2
        scored = horizon.scored(m, horizon.pooled[m])
        assert horizon.spread[m] == pytest.approx(dispersion(scored, prior))
        if days > 4.0:
            prior = AVERAGED * study.at(days / 4).usual_spread[m] ** 2
        usual = dispersion(scored, prior, usual=True)
        assert horizon.usual_spread[m] == pytest.approx(usual)


@pytest.mark.parametrize("measure", [0, 1, 2])
def test_bounds_borrow_from_a_quarter_of_the_horizon_but_not_below_two_steps(
    study, measure
):
    mixed = study.at(10.0).measure(measure)
    assert mixed.shorter is study.at(2.5).measure(measure)
    assert mixed.shorter.shorter is None
    assert study.at(4.0).measure(measure).shorter is None
    whole, usual = mixed.ready, mixed.usual
    assert usual.scored is whole.scored
    assert (usual.spread <= whole.spread).all()


@pytest.mark.parametrize("days", [1.0, 2.0, 7.0])
def test_the_pool_is_a_weighted_mean_of_models_and_their_corrections(study, days):
    horizon = study.at(days)
    ahead = horizon.outcome.ahead
    assert horizon.cycle == max(1.0, days / 2.0)
    for m in range(2):
        raw = np.array([study.experts.expected(n, days, ahead)[m] for n in POOL])
        scored = horizon.scored(m, raw[0])
        assert scored.size.min() >= 1
        assert scored.found.tolist() == horizon.outcome.loss[m].tolist()
        both = np.concatenate([raw, correct_bias(raw, scored)])
        mixed = sum(
            w * g for w, g in zip(error_weights(both, scored), both, strict=True)
        )
        assert horizon.pooled[m] == pytest.approx(mixed)


def test_the_first_half_of_a_short_history_is_not_scored(study):
    assert study.at(2.0).first == 6  # of 13 looks
    long = Study(Census.of(collection(np.arange(40.0), [-1.0], [99.0])))
    assert long.at(2.0).first == FIRST


def test_no_corrected_loss_is_larger_than_can_be_told_apart(study):
    scored = study.at(2.0).scored(0, np.full(13, 11.0))
    assert correct_bias(np.full((1, 13), 100.0), scored).max() == MOST


def test_bounds_hold_their_ends_but_for_rounding():
    low, high = np.full(4, 0.2), np.full(4, 0.6)
    truth = np.array([0.2, 0.6, 0.2 - 1e-6, 0.6 + 1e-6])
    assert inside(low, high, truth).tolist() == [True, True, False, False]
    near = np.array([0.2 - 1e-12, 0.6 + 1e-12, 0.4, math.inf])
    assert inside(low, high, near).tolist() == [True, True, True, False]


def test_counted_bounds_of_a_look_at_nothing_are_those_of_one_object():
    looks = np.arange(6.0)
    world = collection(looks, [0.5, 0.5, 3.5, 3.5], [1.5, 2.5, 9.0, 9.0])
    experts = Experts(Census.of(world))
    assert experts.census.size.tolist() == [0, 2, 1, 0, 2, 2]
    ahead = np.full(6, 2.0)
    loss = experts.expected("exponential", 2.0, ahead)
    found = model_bounds(experts, "exponential", loss, ahead, 0.9)
    rate, arrivals, deaths = experts.rates(np.inf)
    theta, z = arrival_scale(experts), 1.6448536269514722
    for i in (0, 3):
        kept, recall = np.exp(-loss[:, i])
        off = (1 - kept) / kept + (2 * rate[i]) ** 2 / max(deaths[i], 1)
        new = kept * math.expm1(loss[1, i])
        time = max(looks[i], 1e-9)
        more = theta[i] / new + 1 / max(arrivals[i] * time, 1.0)
        half = z * kept * math.sqrt(off)
        wide = z * recall * (1 - recall) * math.sqrt(off + more)
        ends = [kept - half, kept + half], [recall - wide, recall + wide]
        assert found[:, :, i] == pytest.approx(np.clip(ends, 0.0, 1.0))


def test_one_arrival_is_known_to_one_part_and_a_half():
    looks, born = np.arange(4.0), [*[-1.0] * 40, 0.5]
    died = [0.5, 1.5, 2.5, *[9.0] * 38]
    experts = Experts(Census.of(collection(looks, born, died)))
    ahead = np.ones(4)
    loss = experts.expected("exponential", 1.0, ahead)
    found = model_bounds(experts, "exponential", loss, ahead, 0.5)
    rate, arrivals, deaths = experts.rates(np.inf)
    theta, z = arrival_scale(experts), 0.6744897501960817
    for i in (1, 2, 3):
        assert arrivals[i] * looks[i] == pytest.approx(1.5)
        kept, recall = np.exp(-loss[:, i])
        size = float(experts.census.size[i])
        off = (1 - kept) / (size * kept) + rate[i] ** 2 / max(deaths[i], 1)
        new = size * kept * math.expm1(loss[1, i])
        wide = z * recall * (1 - recall) * math.sqrt(off + theta[i] / new + 1 / 1.5)
        assert 0 < recall - wide < recall + wide < 1
        assert found[1, :, i] == pytest.approx([recall - wide, recall + wide])


@pytest.mark.parametrize(("came", "factor"), [(0.0, 0.2), (9.0, 5.0)])
def test_no_correction_is_by_more_than_five_times(came, factor):
    raw = np.append(np.ones(9), 0.001)[None]
    later = np.append(np.arange(1, 10), -1)
    scored = Scored(raw[0], np.full(10, came), np.full(10, 30.0), later, 1.0, 0)
    assert correct_bias(raw, scored)[0, -1] == pytest.approx(0.001 * factor)
