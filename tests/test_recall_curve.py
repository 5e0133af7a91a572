"""The recall of a copy at any age."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from halflife.core.lifetimes import Collection, Lives
from halflife.core.object_store import Listing
from halflife.core.tracker import Tracker
from halflife.models.recall_curve import recall
from halflife.models.setquality import forecast


def world(looks=40, size=60, step=0.25, each=3):
    """A list of which some are replaced between any two looks."""
    at = 100.0 + step * np.arange(looks)
    n = size + each * (looks - 1)
    first = np.maximum(np.ceil((np.arange(n) - size + 1) / each), 0).astype(int)
    last = np.minimum(np.arange(n) // each, looks - 1)
    before = np.where(first > 0, at[np.maximum(first - 1, 0)], -np.inf)
    gone = np.where(last + 1 < looks, at[np.minimum(last + 1, looks - 1)], np.inf)
    keys = tuple(map(str, range(n)))
    lives = Lives(keys, before, at[first], at[last], gone, {})
    none = np.zeros(0)
    return Collection("jobs", at, lives, none.astype(np.intp), none)


WORLD = world()


def test_a_copy_has_all_there_is_when_it_is_made():
    band = recall(WORLD, np.zeros(1))
    assert (band.mean[0], band.low[0], band.high[0]) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("steps", [1.0, 2.0, 4.0, 8.0])
def test_at_whole_doublings_of_the_step_it_is_the_forecast_itself(steps):
    ahead = 0.25 * steps
    exact = forecast(WORLD, float(WORLD.looks[-1]), [ahead]).recall
    found = recall(WORLD, np.array([ahead]))
    assert found.mean == pytest.approx(exact.mean)
    assert found.low == pytest.approx(exact.low)
    assert found.high == pytest.approx(exact.high)


def test_three_of_sixty_are_missing_after_a_step():
    assert recall(WORLD, np.array([0.25])).mean[0] == pytest.approx(57 / 60, abs=0.005)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.001, 3.0))
def test_between_it_is_close_to_the_forecast_and_within_its_bounds(age):
    exact = forecast(WORLD, float(WORLD.looks[-1]), [age]).recall
    found = recall(WORLD, np.array([age]))
    assert found.mean[0] == pytest.approx(exact.mean[0], abs=0.01)
    assert found.low[0] <= found.mean[0] <= found.high[0]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.0, 30.0), min_size=1, max_size=8))
def test_what_was_asked_before_changes_no_number(ages):
    known = {}
    recall(WORLD, np.array(ages), known=known)
    for age in ages:
        one = np.array([age])
        again = recall(WORLD, one, known=known)
        assert again.mean[0] == pytest.approx(recall(WORLD, one).mean[0], abs=1e-12)


def test_after_one_look_nothing_is_known():
    band = recall(world(looks=1), np.array([0.0, 1.0]))
    assert band.low.tolist() == [0.0, 0.0]
    assert band.high.tolist() == [1.0, 1.0]


def test_the_copy_has_what_was_seen_since_the_last_complete_look():
    assert WORLD.in_copy().size == 60
    later = world(looks=2)
    partly = Collection(
        "jobs", later.looks[:1], later.lives, later.changed, later.changed_at
    )
    assert partly.in_copy().size == 60
    never = Collection(
        "jobs", np.zeros(0), later.lives, later.changed, later.changed_at
    )
    assert never.in_copy().size == 60


def test_three_equal_answers_within_the_hour_promise_little_for_the_next_days():
    tracker = Tracker()
    for minutes in (0, 20, 40):
        answer = {str(number): {} for number in range(40)}
        tracker.take(Listing(20_000.0 + minutes / 1440, answer))
    ahead = recall(tracker.register().collection("jobs"), np.array([1.0, 5.0]))
    assert (ahead.mean < [0.97, 0.85]).all()
    assert (ahead.low < 0.05).all()
