"""Laws that every estimator of change rates keeps."""

from functools import partial

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from halflife.core.history import Gaps
from halflife.models.rates import UncertainRates
from halflife.models.rates.columns import rounds_of_gaps
from halflife.models.rates.counts import (
    Counted,
    bias_reduced,
    law_of_large_numbers,
    naive,
    smoothed,
)
from halflife.models.rates.drift import Forgetting
from halflife.models.rates.likelihood import MaximumLikelihood, Moment
from lab.rates.last_modified import LastModified
from lab.rates.restarts import Restarting
from lab.rates.stochastic import StochasticApproximation
from rates_cases import ESTIMATORS, MONOTONE, fed, gaps

FEW = settings(max_examples=8)  # for each of many estimators

# A unit of time is c times smaller; settings that are days must shrink with it.
SCALED = {
    "naive": lambda c: partial(Counted, naive),
    "smoothed": lambda c: partial(Counted, partial(smoothed, days=0.5 * c)),
    "bias-reduced": lambda c: partial(Counted, bias_reduced),
    "large-numbers": lambda c: partial(Counted, law_of_large_numbers),
    "mle": lambda c: MaximumLikelihood,
    "pseudo-mle": lambda c: partial(MaximumLikelihood, pretend=0.5 * c),
    "moment": lambda c: Moment,
    "stochastic": lambda c: StochasticApproximation,
    "last-modified": lambda c: LastModified,
    "forgetting": lambda c: partial(
        Forgetting, (30.0 * c, 120.0 * c), prior=(0.5, 0.5 * c)
    ),
    "restarting": lambda c: partial(
        Restarting, restarts=1 / (365.0 * c), prior=(0.5, 5.0 * c)
    ),
}


@pytest.mark.parametrize("name", ESTIMATORS)
class TestEveryEstimator:
    @FEW
    @given(seen=gaps())
    def test_gives_a_finite_rate_whatever_was_seen(self, name, seen):
        rate = fed(ESTIMATORS[name], *seen, n=4).rate()
        assert rate.shape == (4,)
        assert np.all(np.isfinite(rate) & (rate >= 0))

    @FEW
    @given(seen=gaps(), split=st.integers(0, 24))
    def test_does_not_mind_how_gaps_are_batched(self, name, seen, split):
        whole = fed(ESTIMATORS[name], *seen, n=3)
        parts = ESTIMATORS[name]()
        parts.grow(3)
        for part in (slice(None, split), slice(split, None)):
            parts.add(*(column[part] for column in seen))
        np.testing.assert_allclose(whole.rate(), parts.rate(), rtol=2e-3, atol=1e-12)

    @FEW
    @given(seen=gaps())
    def test_items_may_come_later(self, name, seen):
        late = ESTIMATORS[name]()
        late.grow(3)
        late.add(*seen)
        late.grow(5)
        assert late.rate().shape == (5,)
        late.add(np.array([4]), np.ones(1), np.ones(1, bool))
        assert np.isfinite(late.rate()).all()

    @pytest.mark.parametrize("changed", [False, True])
    def test_one_look_at_one_item_is_enough(self, name, changed):
        found = np.array([changed])
        rate = fed(ESTIMATORS[name], np.zeros(1, int), np.ones(1), found).rate()
        assert np.isfinite(rate).all()

    def test_nothing_at_all_is_allowed(self, name):
        none = np.zeros(0)
        assert (
            fed(ESTIMATORS[name], none.astype(int), none, none.astype(bool)).rate().size
            == 0
        )

    def test_a_faster_item_is_found_to_be_faster(self, name):
        rng = np.random.default_rng(1)
        truth = np.array([0.02, 0.2, 1.0])
        length = rng.exponential(1.0, (300, 3))
        changed = rng.random((300, 3)) < -np.expm1(-truth * length)
        item = np.tile(np.arange(3), 300)
        rate = fed(ESTIMATORS[name], item, length.ravel(), changed.ravel()).rate()
        assert np.all(np.diff(rate) > 0)

    def test_refuses_items_it_has_no_room_for(self, name):
        model = ESTIMATORS[name]()
        model.grow(1)
        with pytest.raises(ValueError, match="item must be"):
            model.add(np.array([1]), np.ones(1), np.ones(1, bool))


@pytest.mark.parametrize("name", MONOTONE)
@FEW
@given(seen=gaps(items=1, least=2), which=st.integers(0, 23))
def test_one_more_change_never_lowers_the_rate(name, seen, which):
    item, length, changed = seen
    more = changed.copy()
    more[which % changed.size] = True
    few, many = (
        fed(ESTIMATORS[name], item, length, c).rate()[0] for c in (changed, more)
    )
    assert many >= few * (1 - 5e-3) - 1e-12


@pytest.mark.parametrize("name", SCALED)
@FEW
@given(seen=gaps(), power=st.integers(-3, 3))
def test_the_unit_of_time_does_not_matter(name, seen, power):
    item, length, changed = seen
    c = 2.0**power  # a whole octave, so that length classes move with it
    one = fed(SCALED[name](1.0), item, length, changed, n=3).rate()
    other = fed(SCALED[name](c), item, c * length, changed, n=3).rate()
    bounded = (one > 1e-8) & (one < 1e5)
    np.testing.assert_allclose(other[bounded], one[bounded] / c, rtol=1e-5)


@FEW
@given(seen=gaps(), tally=st.integers(1, 4))
def test_a_row_may_stand_for_several_gaps(seen, tally):
    item, length, changed = seen
    for name in ESTIMATORS:
        once = fed(
            ESTIMATORS[name], item, length, changed, np.full(item.size, float(tally))
        )
        each = fed(ESTIMATORS[name], *(np.repeat(column, tally) for column in seen))
        np.testing.assert_allclose(once.rate(), each.rate(), rtol=1e-4, err_msg=name)


@FEW
@given(seen=gaps(), tally=st.lists(st.floats(0.1, 3.0), min_size=24, max_size=24))
def test_gaps_in_turn_are_all_gaps_with_no_item_twice(seen, tally):
    item, length, changed = seen
    whole = Gaps(item, length, changed, np.array(tally[: item.size]))
    parts = list(rounds_of_gaps(whole))
    for part in parts:
        assert np.unique(part.item).size == part.item.size
        assert np.all(part.tally <= 1.0)
    total = sum(float(part.tally @ part.length) for part in parts)
    assert total == pytest.approx(float(whole.tally @ whole.length))


@pytest.mark.parametrize("name", ["gamma", "population", "forgetting"])
@FEW
@given(seen=gaps())
def test_survival_falls_from_one(name, seen):
    model = fed(ESTIMATORS[name], *seen, n=3)
    assert isinstance(model, UncertainRates)
    survival = model.survival()
    alive = np.array([survival.alive(np.full(3, t)) for t in (0.0, 1.0, 10.0)])
    np.testing.assert_allclose(alive[0], 1.0)
    assert np.all(np.diff(alive, axis=0) <= 0)


def test_an_item_that_changed_in_every_gap_has_the_rate_of_the_formula():
    model = fed(
        partial(Counted, law_of_large_numbers),
        np.zeros(4, int), np.full(4, 0.5), np.ones(4, bool), n=1,
    )  # fmt: skip
    assert model.rate() == pytest.approx([2.0 * 4 / (0 + 1)])  # p X / (n - X + 1)
    half = fed(
        partial(Counted, law_of_large_numbers),
        np.zeros(4, int), np.full(4, 0.5), np.arange(4) < 2, n=1,
    )  # fmt: skip
    assert half.rate() == pytest.approx([2.0 * 2 / (2 + 1)])
