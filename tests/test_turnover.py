"""A copy read part by part falls behind as fast, and as unevenly, as was seen."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.object_store import Listing
from halflife.core.tracker import Tracker
from halflife.models.turnover import Turnover, bounds, quality, unrest_of_events
from halflife.queries.form_copy import FormCopy
from halflife.queries.turnover import turnover


def test_quality_of_a_worked_example():
    # 100 records seen two days ago, of which 2 % go and 3 come a day, known well.
    turns = Turnover(came=3e9, went=2e9, days=1e9, seen=1e11)
    assert (turns.comes, turns.goes) == pytest.approx((3.0, 0.02))
    age = np.full((100, 1), 2.0)
    (mean,), (variance,) = quality(turns, 100, np.exp(-turns.goes * age), age)
    s = np.exp(-0.04)
    assert mean == pytest.approx(100 * s / 106)
    by_hand = 100 * s * (1 - s) / 106**2 + (100 * s) ** 2 / 106**4 * 6
    assert variance == pytest.approx(by_hand, rel=1e-6)


def test_only_records_held_matter_to_whoever_wants_no_new_ones():
    turns, age = Turnover(50.0, 9.0, 30.0, 900.0, hidden=20.0), np.full((10, 1), 3.0)
    (mean,), _ = quality(turns, 10, np.full((10, 1), 0.9), age, comes=False)
    assert mean == pytest.approx(0.9, abs=0.01)
    (less,), _ = quality(turns, 10, np.full((10, 1), 0.9), age)
    assert less < mean


def test_what_is_hidden_may_be_nothing_or_more_than_all():
    turns = Turnover(0.0, 1e9, 1e9, 1e18, hidden=40.0)
    none = np.zeros((100, 1))
    (mean,), (variance,) = quality(turns, 100, none + 1.0, none)
    assert mean == pytest.approx(100 / 120)
    lacks = np.random.default_rng(4).exponential(20.0, 200_000)
    found = 100 / (100 + lacks)
    assert np.var(found) <= variance <= 1.5 * np.var(found)  # to first order
    _, low, high = bounds(turns, 100, none + 1.0, none)
    assert high == 1.0
    assert np.mean(found >= low) == pytest.approx(0.975, abs=0.025)


def test_all_records_may_be_right():
    turns, age = Turnover(9.0, 9.0, 30.0, 900.0), np.full((20, 1), 3.0)
    mean, low, high = bounds(turns, 20, np.exp(-0.01 * age), age)
    assert high == 1.0
    assert low < mean < high


@pytest.mark.parametrize(("u", "days"), [(0.0, 2.0), (1.5, 2.0), (1.5, 7.0)])
def test_bounds_hold_what_simulated_copies_do(u, days):
    rng, n, tries = np.random.default_rng(1), 600, 20_000
    turns = Turnover(came=12e9, went=1e9, days=1e9, seen=1e11, unrest=u)
    age = np.full((n, 1), days)
    mean, low, high = bounds(turns, n, np.exp(-turns.goes * age), age)
    lived = rng.gamma(days / u, u, tries) if u else np.full(tries, days)
    right = rng.binomial(n, np.exp(-turns.goes * lived))
    found = right / (n + rng.poisson(turns.comes * lived))
    assert mean[0] == pytest.approx(found.mean(), abs=0.01)
    assert 0.93 <= np.mean((low <= found) & (found <= high)) <= 0.975


count = st.floats(0.0, 1e4)


@given(
    turns=st.builds(
        Turnover, count, count, count, count, st.floats(0.0, 30.0), st.floats(-9, 1e4)
    ),
    n=st.integers(0, 1000),
    alive=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5),
    days=st.floats(0.0, 1e3),
    comes=st.booleans(),
)
def test_quality_stays_a_share_whatever_was_seen(turns, n, alive, days, comes):
    column = np.array(alive)[:, None]
    age = np.full_like(column, days)
    (mean,), (variance,) = quality(turns, n, column, age, comes=comes)
    assert 0.0 <= mean <= 1.0
    assert 0.0 <= variance <= mean * (1.0 - mean) + 1e-12
    (same,), (low,), (high,) = bounds(turns, n, column, age, comes=comes)
    assert 0.0 <= low <= same == mean <= high <= 1.0


@given(u=st.floats(0.0, 5.0), days=st.floats(0.1, 20.0), more=st.floats(0.0, 10.0))
def test_a_copy_left_alone_longer_is_worse_and_known_less(u, days, more):
    turns = Turnover(60.0, 60.0, 30.0, 3000.0, unrest=u)
    age = np.full((100, 2), days) + np.array([0.0, more])
    mean, _ = quality(turns, 100, np.exp(-0.02 * age), age)
    assert mean[1] <= mean[0] + 1e-12


def test_what_happens_evenly_shows_no_unrest():
    rng = np.random.default_rng(2)
    assert unrest_of_events(rng.uniform(0.0, 60.0, 200), 0.0, 60.0) < 0.3
    assert unrest_of_events(np.repeat([10.5, 40.5], 100), 0.0, 60.0) > 3.0
    assert unrest_of_events(np.zeros(0), 0.0, 60.0) == 0.0
    assert unrest_of_events(np.ones(5), 0.0, 1.9) == 0.0


@pytest.fixture
def copy():
    """A copy of ten records; two went and one came, all of them looked at daily."""
    tracker = Tracker()
    for day in range(11):
        keys = set(range(10))
        if day >= 4:
            keys -= {0}
        if day >= 7:
            keys = (keys - {1}) | {10}
        records = {str(key): {"price": 1} for key in sorted(keys)}
        tracker.take(Listing(float(day), records, note="asked"))
    return FormCopy.of(tracker.register())


def test_what_went_is_known_with_when_it_was_seen(copy):
    assert len(copy.records) == 9
    assert sorted(copy.gone) == [(0.0, 3.0, 4.0), (0.0, 6.0, 7.0)]


def test_turnover_counts_what_came_and_went(copy):
    turns = turnover(copy)
    assert (turns.came, turns.went, turns.days) == (1.0, 2.0, 10.0)
    # Eight for ten days, one for three; and those that went for 3.5 and 6.5.
    assert turns.seen == pytest.approx(80.0 + 3.0 + 3.5 + 6.5)
    assert turns.hidden == 1.0  # ten were there at first


def test_a_copy_of_which_nothing_is_known_has_a_turnover():
    turns = turnover(FormCopy({}, {}, {}, (), 3.0, since=3.0))
    assert (turns.came, turns.went, turns.unrest) == (0.0, 0.0, 0.0)
    assert np.isfinite([turns.comes, turns.goes]).all()


def test_rates_are_those_of_the_last_weeks():
    # One came a day for 60 days, then five a day; each lived for ten days.
    tracker = Tracker()
    born = [*np.arange(1.0, 61.0), *np.repeat(np.arange(61.0, 101.0), 5)]
    for day in range(101):
        there = {str(i): {} for i, at in enumerate(born) if at <= day < at + 10}
        tracker.take(Listing(float(day), {"x": {}, **there}, note="asked"))
    turns = turnover(FormCopy.of(tracker.register()))
    assert turns.days == 28.0
    assert turns.comes == pytest.approx(5.0, rel=0.1)
    assert turns.goes == pytest.approx(0.1, rel=0.15)


def test_rates_of_a_quiet_form_are_learned_from_longer():
    tracker = Tracker()
    for day in range(0, 1000, 5):
        keys = {str(k) for k in range(day // 10 + 1)}
        tracker.take(Listing(float(day), {key: {} for key in keys}, note="asked"))
    turns = turnover(FormCopy.of(tracker.register()))
    assert turns.came == 50.0  # one in ten days
    assert turns.comes == pytest.approx(0.1, rel=0.05)
