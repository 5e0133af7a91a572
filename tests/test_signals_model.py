"""What hints are worth, learned; laws of the model."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.allocation.signals import SignalRates, cycle, value
from halflife.models.poisson import Exponential
from halflife.models.signals import (
    Announced,
    HintedObservations,
    HintTrust,
    announced_share,
    silent_share,
)

rates = st.floats(1e-4, 50.0)
shares = st.floats(0.0, 1.0)


@given(rate=rates, hit=shares, false=st.floats(0.0, 100.0), age=st.floats(0.0, 1e4))
def test_every_hint_is_worth_something_finite_and_nothing_is_negative(
    rate, hit, false, age
):
    model = SignalRates.of(np.array([rate]), hit, false)
    assert np.isfinite(model.shift).all()
    assert (model.shift >= 0).all()
    length, fresh = cycle(model, np.array([age]))
    assert 0 <= fresh[0] <= length[0] * (1 + 1e-9) + 1e-12
    assert length[0] <= age * (1 + 1e-9)
    assert 0 <= value(model, np.array([age]))[0] <= 1.001 / rate


@given(rate=rates, hit=st.floats(0.01, 0.99), low=shares, high=shares)
def test_a_more_precise_hint_is_worth_more(rate, hit, low, high):
    less, more = sorted([max(low, 0.01), max(high, 0.01)])
    first, second = (SignalRates.at(rate, hit, p) for p in (less, more))
    assert first.worth <= second.worth
    assert first.shift <= second.shift
    assert first.rate == pytest.approx(rate, rel=1e-5)


@given(rate=rates, hit=st.floats(0.05, 0.95), p=st.floats(0.05, 0.95))
def test_what_a_look_buys_grows_with_the_effective_age(rate, hit, p):
    age = np.linspace(0.01, 20.0, 60) / rate
    bought = value(SignalRates.at(np.full(60, rate), hit, p), age)
    assert (np.diff(bought) >= -1e-6 / rate).all()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: SignalRates.of(1.0, 1.1, 0.0),
        lambda: SignalRates.of(-1.0, 0.5, 0.0),
        lambda: SignalRates.at(1.0, 0.5, 0.0),
    ],
)
def test_impossible_hints_are_refused(wrong):
    with pytest.raises(ValueError, match="must"):
        wrong()


def gaps_of(rate, hit, precision, *, n=400, gap=10.0, seed=0):
    """Draw gaps of many like items, with their hints."""
    rng = np.random.default_rng(seed)
    length = rng.uniform(0.2, 2.0, n) * gap
    changes = rng.poisson(rate * length)
    true = rng.binomial(changes, hit)
    false = rng.poisson(hit * rate * (1 - precision) / precision * length)
    told = hit * rate / precision * length
    group = np.zeros(n, dtype=np.intp)
    return HintedObservations(
        group,
        rate * length,
        told,
        (true + false).astype(float),
        changes > 0,
        np.ones(n),
    )


@pytest.mark.parametrize("precision", [0.9, 0.6, 0.3])
def test_the_precision_of_hints_is_found(precision):
    looks = gaps_of(0.05, 0.7, precision, n=3000)
    learned = HintTrust().fit(looks, n_groups=1)
    assert learned.precision_[0] == pytest.approx(precision, abs=0.08)


def test_hints_that_come_at_random_are_worth_nothing():
    rng = np.random.default_rng(1)
    looks = gaps_of(0.05, 0.5, 0.5, n=3000)
    usual = np.full(3000, 1.5)
    noise = looks._replace(usual=usual, hints=rng.poisson(usual).astype(float))
    assert HintTrust().fit(noise, n_groups=1).precision_[0] < 0.03


def test_rates_taken_for_too_low_do_not_make_hints_look_true():
    rng = np.random.default_rng(2)
    looks = gaps_of(0.05, 0.5, 0.5, n=3000)
    usual = np.full(3000, 1.5)
    noise = looks._replace(usual=usual, hints=rng.poisson(usual).astype(float))
    low = noise._replace(expected=noise.expected / 2)
    assert HintTrust().fit(low, n_groups=1).precision_[0] < 0.05


def test_hints_are_worth_nothing_until_shown():
    none = np.zeros(0)
    looks = HintedObservations(none.astype(np.intp), none, none, none, none > 0, none)
    trust = HintTrust().fit(looks, n_groups=3)
    assert trust.worth_.tolist() == [0.0, 0.0, 0.0]


def test_a_group_with_no_hints_of_its_own_is_believed_like_the_others():
    looks = gaps_of(0.05, 0.7, 0.8, n=2000)
    trust = HintTrust().fit(looks, n_groups=2)
    assert trust.worth_[1] == pytest.approx(trust.pooled_, rel=0.2)


def test_a_liar_among_honest_groups_is_found_out():
    honest, liar = gaps_of(0.05, 0.7, 0.9, n=2000), gaps_of(0.05, 0.7, 0.9, n=400)
    rng = np.random.default_rng(3)
    usual = liar.expected * 0 + 5.0
    liar = liar._replace(
        group=liar.group + 1, usual=usual, hints=rng.poisson(usual).astype(float)
    )
    both = HintedObservations._make(
        np.concatenate(c) for c in zip(honest, liar, strict=True)
    )
    worth = HintTrust().fit(both, n_groups=2).worth_
    assert worth[0] > 1.0
    assert worth[1] < 0.05


@given(x=st.floats(1e-6, 50.0), s=st.integers(0, 32), k=st.floats(0.0, 7.0))
def test_a_change_after_hints_is_silent_with_a_chance(x, s, k):
    share = silent_share(np.array([x]), np.array([s * k]))[0]
    assert 0 < share <= 1
    if s == 0 or k == 0:
        assert share == 1.0


def test_recall_follows_from_rates_and_worth():
    model = SignalRates.at(np.array([0.2]), 0.6, 0.5)
    assert announced_share(model.silent, model.hint_rate, model.worth)[
        0
    ] == pytest.approx(0.6)


def test_announced_survival_is_that_of_silent_changes():
    rate = np.array([0.1, 0.5])
    plain, t = Exponential(rate), np.array([2.0, 3.0])
    announced = Announced(plain, rate, rate, rate)
    for name in ("alive", "lasting", "moment"):
        ours, theirs = getattr(announced, name)(t), getattr(plain, name)(t)
        assert ours.tolist() == theirs.tolist()


def test_a_negative_prior_is_refused():
    with pytest.raises(ValueError, match="pretend"):
        HintTrust(pretend=-1.0).fit(gaps_of(0.1, 0.5, 0.5), n_groups=1)
