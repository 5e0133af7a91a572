"""What requests buy at a database behind a form."""

import numpy as np
import pytest
from scipy.stats import gamma

from form_worlds import cars
from halflife.core.object_store import Listing
from halflife.core.tracker import Tracker
from halflife.kinds.form import value as form_value
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.known.content import measure
from halflife.queries.turn_result import PlannedQuery


def watched(days: int = 20, born: int = 5, changed: int = 0) -> FormCopy:
    """Return a copy of 100 cars, looked at daily; some come, some change each day."""
    everything = cars(100 + born * days)
    tracker = Tracker()
    for day in range(days + 1):
        shown = {
            key: dict(everything[key]) for key in list(everything)[: 100 + born * day]
        }
        for i in range(changed):
            shown[f"car{i}"]["price"] = float(day)
        tracker.take(Listing(float(day), shown))
    return FormCopy.of(tracker.register())


def test_what_came_tells_what_comes():
    rate, days = watched().arrival
    assert days == 20.0
    assert rate == pytest.approx(100.5 / 20.0)


def test_a_copy_that_nothing_came_to_is_not_said_to_last_for_ever():
    rate, _ = watched(born=0).arrival
    assert 0 < rate == pytest.approx(0.5 / 20.0)


def test_recall_falls_as_records_come():
    copy = watched()
    falls = form_value.decay(copy, FormWish("new"), 0.95)
    n, rate = len(copy.records), 100.5 / 20.0
    assert falls.mean == pytest.approx(n / (n + rate * falls.ahead))
    assert (falls.low <= falls.mean).all()
    assert (np.diff(falls.mean) < 0).all()


def test_content_falls_as_records_change():
    still = form_value.decay(watched(born=0), FormWish("known"), 0.95)
    moving = form_value.decay(watched(born=0, changed=50), FormWish("known"), 0.95)
    assert (moving.mean < still.mean).all()
    week = np.searchsorted(moving.ahead, 7.0)
    assert moving.mean[week] == pytest.approx(0.5, abs=0.1)
    assert (moving.low >= 0).all()


@pytest.mark.parametrize("purpose", ["new", "known", "both"])
@pytest.mark.parametrize("changed", [0, 30, 100])
@pytest.mark.parametrize("born", [0, 5])
@pytest.mark.parametrize("confidence", [0.5, 0.975])
def test_a_forecast_lies_within_its_bounds(purpose, changed, born, confidence):
    copy = watched(born=born, changed=changed)
    _, mean, low, high = form_value.bounds(copy, FormWish(purpose), confidence)
    assert (low >= 0).all()
    assert (low <= mean).all()
    assert (mean <= high).all()
    assert (high <= 1).all()
    for column in (mean, low, high):
        assert (np.diff(column) <= 0).all()


def test_more_confidence_takes_more_room():
    copy = watched(changed=30)
    _, _, low, high = form_value.bounds(copy, FormWish("both"), 0.9)
    _, _, lower, higher = form_value.bounds(copy, FormWish("both"), 0.99)
    assert (lower < low).all()
    assert (high < higher).all()


def test_the_best_that_recall_may_be_is_that_of_the_least_rate():
    copy = watched()
    ahead, _, low, high = form_value.bounds(copy, FormWish("new"), 0.975)
    n, rate = len(copy.records), 100.5 / 20.0
    # Of a Gamma posterior with 100.5 arrivals in 20 days, as a normal law has it.
    least, most = gamma(100.5, scale=1 / 20.0).interval(0.95)
    assert high == pytest.approx(n / (n + least * ahead), abs=0.01)
    assert low == pytest.approx(n / (n + most * ahead), abs=0.01)
    assert (n / (n + rate * ahead) < high).all()


def test_worth_and_forecast_go_by_the_same_curve():
    copy = watched(changed=30)
    falls = form_value.decay(copy, FormWish("both"), 0.9)
    ahead, mean, low, _ = form_value.bounds(copy, FormWish("both"), 0.9)
    assert falls.ahead.tolist() == ahead.tolist()
    assert falls.mean.tolist() == mean.tolist()
    assert falls.low.tolist() == low.tolist()


def test_both_fall_faster_than_either():
    copy = watched(changed=30)
    both, new, known = (
        form_value.decay(copy, FormWish(purpose), 0.9).mean
        for purpose in ("both", "new", "known")
    )
    assert (both <= np.minimum(new, known) + 1e-12).all()


def test_a_record_put_right_for_a_day_is_its_share_of_the_copy():
    copy = watched(born=0)
    steps = [PlannedQuery("a", 4, 2.5, ""), PlannedQuery("b", 1, 0.5, "")]
    requests, gain = form_value.gains(copy, steps)
    assert requests.tolist() == [4.0, 1.0]
    assert gain.tolist() == [0.1, 0.005]


def test_however_much_a_record_differs_it_is_true_or_not():
    copy = watched(changed=50)
    by_price = form_value.decay(copy, FormWish("known", measure("price")), 0.95)
    by_change = form_value.decay(copy, FormWish("known"), 0.95)
    assert by_price.mean == pytest.approx(by_change.mean)
    assert ((by_price.mean >= 0) & (by_price.mean <= 1)).all()
