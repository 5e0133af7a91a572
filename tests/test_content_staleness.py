"""Content staleness of known tuples, and how it grows."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.integrate import quad

from halflife.core.errors import UsageError
from halflife.models.poisson import Exponential
from halflife.models.rates.gamma import fit_gamma
from halflife.queries.known.content import (
    ChangeProbability,
    MissedUpdates,
    SteadyCounter,
    SummedAges,
    expected_staleness,
    measure,
    staleness,
    weigher,
)
from halflife.queries.known.copies import Copy
from halflife.queries.known.pace import VersionPace
from summed_ages import summed_ages

ONE = np.array([0.7])
GROWTHS = {
    "steady": SteadyCounter(np.array([3.0])),
    "counted": MissedUpdates(ONE),
    "ages": SummedAges(ONE),
    "changed": ChangeProbability(Exponential(ONE)),
}


def test_table_2_to_the_digit():
    updates = [0.5, 2.0, 5.0, 6.0, 7.0]
    assert [summed_ages(updates, 3.0, at) for at in (6, 7, 8)] == [1, 3, 6]


def test_an_update_before_the_last_look_does_not_count():
    assert summed_ages([1.0, 2.0], 2.0, 9.0) == 0.0


@pytest.mark.parametrize("name", GROWTHS)
@pytest.mark.parametrize("t", [0.5, 4.0, 30.0])
def test_worth_is_what_a_look_buys(name, t):
    growth = GROWTHS[name]
    under, _ = quad(lambda u: growth.mean(np.array([u]))[0], 0.0, t)
    at = np.array([t])
    assert growth.worth(at)[0] == pytest.approx(t * growth.mean(at)[0] - under)


@pytest.mark.parametrize(("rate", "t"), [(3.0, 2.0), (0.3, 7.0)])
def test_moments_of_summed_ages_and_counts_hold_in_simulation(rate, t):
    rng = np.random.default_rng(3)
    n = 40_000
    count = rng.poisson(rate * t, n)
    ages = np.bincount(np.repeat(np.arange(n), count), rng.random(count.sum()) * t, n)
    at = np.array([t])
    for drawn, growth in ((ages, SummedAges), (count, MissedUpdates)):
        model = growth(np.array([rate]))
        off = (drawn - drawn.mean()) ** 2
        assert abs(drawn.mean() - model.mean(at)[0]) < 4 * drawn.std() / n**0.5
        assert abs(off.mean() - model.variance(at)[0]) < 4 * off.std() / n**0.5


def test_doubt_about_the_rate_adds_to_the_variance_of_a_gamma_mixture():
    rng = np.random.default_rng(5)
    n, t, shape, days = 60_000, 3.0, 2.0, 4.0
    rate = rng.gamma(shape, 1 / days, n)
    drawn = rng.poisson(rate * t)
    model = MissedUpdates(np.array([shape / days]), np.array([shape / days**2]))
    off = (drawn - drawn.mean()) ** 2
    expected = model.variance(np.array([t]))[0]
    assert abs(off.mean() - expected) < 4 * off.std() / n**0.5


def test_the_interval_holds_the_staleness_as_often_as_it_says():
    rng = np.random.default_rng(11)
    n, days = 300, 2000
    rate, t = rng.gamma(2.0, 0.5, n), rng.uniform(0.5, 5.0, n)
    weight = rng.uniform(0.5, 2.0, n)
    bounds = expected_staleness(MissedUpdates(rate), t, weight)
    drawn = (rng.poisson(rate * t, (days, n)) * weight).mean(axis=1)
    inside = ((drawn >= bounds.low) & (drawn <= bounds.high)).mean()
    assert drawn.mean() == pytest.approx(bounds.mean, rel=0.01)
    assert 0.93 < inside < 0.97


def test_no_tuples_are_not_stale():
    none = np.zeros(0)
    assert staleness(none) == 0.0
    assert expected_staleness(MissedUpdates(none), none, none) == (0.0, 0.0, 0.0)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20), st.floats(0.1, 10.0))
def test_staleness_is_linear_in_the_weights(off, factor):
    assert staleness(off, factor) == pytest.approx(factor * staleness(off))


HELD = {"stars": 10, "price": "2.5", "title": "red old car", "city": "Oslo"}
THERE = {"stars": 15, "price": "5.0", "title": "red new car", "city": "Oslo"}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("stars", 5.0),
        ("absolute:stars,price", 7.5),
        ("relative:price", 0.5),
        ("changed", 1.0),
        ("changed:city", 0.0),
        ("words:title", 0.5),
        ("test_content_staleness:doubled", 10.0),
    ],
)
def test_a_measure_is_found_by_what_it_is_called(said, expected):
    found = measure(said, tuple(HELD))
    assert found.differ(HELD, THERE) == pytest.approx(expected)
    assert found.differ(HELD, HELD) == 0.0


def doubled(held, there):
    return 2.0 * abs(held["stars"] - there["stars"])


def tens(record):
    return record["stars"] / 10


def test_a_weight_is_a_column_or_a_function():
    assert weigher("stars")(HELD) == 10.0
    assert weigher("title")(HELD) == 0.0
    assert weigher("test_content_staleness:tens")(HELD) == 1.0


@pytest.mark.parametrize(
    "said", ["no", "relative:no", "nowhere.at:all", "math:nothing"]
)
def test_what_does_not_exist_is_told(said):
    with pytest.raises(UsageError):
        measure(said, tuple(HELD))


@pytest.mark.parametrize("kind", ["amount", "ages", "changed"])
def test_rates_are_learned_from_versions(kind):
    rng = np.random.default_rng(2)
    true = np.repeat([0.02, 0.5, 4.0], 100)
    pace = VersionPace(true.size, kind)
    for _ in range(30):
        pace.add(np.arange(true.size), np.ones(true.size), rng.poisson(true) * 1.0)
    slow, middling, fast = pace.rate().reshape(3, 100).mean(axis=1)
    assert 0 < slow < middling / 4
    if kind == "changed":  # a gap with several updates shows one
        assert middling < fast
    else:
        assert [middling, fast] == pytest.approx([0.5, 4.0], rel=0.2)


def test_a_rate_is_the_mean_of_its_gamma_posterior():
    rng = np.random.default_rng(6)
    count, days = rng.poisson(rng.gamma(0.8, 1.0, 80) * 5.0) * 1.0, np.full(80, 5.0)
    pace = VersionPace(80, "ages")
    pace.add(np.arange(80), days, count)
    shape, exposure = fit_gamma(count, days)
    assert pace.rate() == pytest.approx((count + shape) / (days + exposure))
    assert pace.growth().doubt == pytest.approx(
        (count + shape) / (days + exposure) ** 2
    )


def test_amounts_in_any_unit_give_the_same_rates_in_that_unit():
    rng = np.random.default_rng(4)
    amount = rng.poisson(1.5, 400) * 1.0
    item, days = np.arange(400) % 40, np.full(400, 2.0)
    paces = [VersionPace(40, "amount"), VersionPace(40, "amount")]
    paces[0].add(item, days, amount)
    paces[1].add(item, days, amount * 1e-6)
    assert paces[1].rate() == pytest.approx(paces[0].rate() * 1e-6, rel=1e-6)


def test_a_copy_takes_in_all_that_is_shown_and_knows_how_stale_it_is():
    records = {key: {"stars": 1} for key in "abc"}
    copy = Copy(records, measure=measure("stars"), weight=weigher("stars"), now=0.0)
    assert copy.take({"a": {"stars": 9}, "new": {"stars": 1}}, 2.0) == 1
    assert copy.age(3.0).tolist() == [1.0, 3.0, 3.0]
    assert copy.weight.tolist() == [9.0, 1.0, 1.0]
    before = copy.staleness(5.0)
    assert 0 < before.low < before.mean < before.high or before.low == 0
    copy.lose("b")
    assert copy.gone.tolist() == [False, True, False]
    assert copy.staleness(5.0).mean != before.mean


def test_a_copy_of_which_all_is_gone_is_not_stale():
    copy = Copy({"a": {"stars": 1}}, measure=measure("stars"), now=0.0)
    copy.lose("a")
    assert copy.staleness(5.0).mean == 0.0
