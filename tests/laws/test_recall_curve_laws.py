"""The recall of a copy at any age: lines between forecasts, knot by knot."""

import numpy as np
import pytest

from halflife.models import recall_curve
from halflife.models.recall_curve import LEAST, PER_DOUBLING, _below, _learn, recall
from halflife.models.setquality import forecast, recall_ahead
from set_lives import grown


@pytest.fixture(scope="module")
def world():
    return grown(np.random.default_rng(5), (0.1,), days=24, arrivals=5.0, gap=2.0)


def test_the_knot_below_is_the_last_power_of_the_root_of_two_that_is_no_larger():
    least = 2.0 ** (LEAST / PER_DOUBLING)
    for place in range(LEAST, 12):
        size = 2.0 ** (place / PER_DOUBLING)
        at = np.array([size, size * 1.01, size * 1.41])
        assert _below(at).tolist() == [place] * 3
    tiny = _below(np.array([0.0, least * 0.99]))
    assert tiny.tolist() == [LEAST - 1] * 2
    # An age that rounding puts just below a knot is at it.
    assert _below(np.array([2.0 * (1 - 1e-12)])).tolist() == [PER_DOUBLING]


@pytest.mark.parametrize("age", [0.01, 0.3, 1.0, 2.0, 2.5, 7.3])
def test_between_two_knots_recall_is_a_line(world, age):
    found = recall(world, np.array([age]), 0.9)
    step, last = 2.0, float(world.looks[-1])
    knots = [2.0 ** (k / 2) * step for k in range(LEAST, 8)]
    below = max((k for k in knots if k <= age + 1e-9), default=0.0)
    above = min(k for k in knots if k > age + 1e-9)
    share = (age - below) / (above - below)
    ends = forecast(world, last, [above, max(below, above)], 0.9).recall
    if below:
        ends = forecast(world, last, [above, below], 0.9).recall
    for column, name in zip(found, ("mean", "low", "high"), strict=True):
        values = getattr(ends, name)
        start = values[1] if below else 1.0  # at once the copy has all there is
        by_hand = start + share * (values[0] - start)
        assert column[0] == pytest.approx(by_hand)


def test_ages_before_the_look_count_as_none(world):
    found = recall(world, np.array([-3.0, 0.0]))
    assert [x.tolist() for x in found] == [[1.0, 1.0]] * 3


def test_what_is_known_is_not_forecast_again(world, monkeypatch):
    asked = []

    def noted(collection, now, ahead, confidence):
        asked.append((now, [round(a, 9) for a in ahead], confidence))
        return recall_ahead(collection, now, ahead, confidence)

    monkeypatch.setattr(recall_curve, "recall_ahead", noted)
    known = {}
    recall(world, np.array([2.0]), 0.9, known)
    assert asked == [(24.0, [2.0, round(2.0 * 2**0.5, 9)], 0.9)]
    assert sorted(known) == [0, 1]
    recall(world, np.array([4.0, 0.001]), 0.9, known)
    knots = [2.0 * 2 ** (LEAST / 2), 4.0, 2.0 * 2**1.5]
    assert asked[1][1] == pytest.approx(knots)
    assert sorted(known) == [LEAST, 0, 1, 2, 3]
    recall(world, np.array([3.0, 2.0]), 0.9, known)
    assert len(asked) == 2
    _learn(world, 2.0, 0.9, known, np.array([LEAST - 1, 0]))
    assert len(asked) == 2  # below the least there is no knot
    mean, low, high = known[2]
    found = forecast(world, 24.0, [4.0], 0.9).recall
    assert (mean, low, high) == pytest.approx(
        (found.mean[0], found.low[0], found.high[0])
    )


@pytest.mark.parametrize("count", [0, 1])
def test_before_a_second_look_recall_is_unknown(world, count):
    looks = world.looks[:count]
    early = world.until(looks[-1] if count else -1.0)
    found = recall(early, np.array([0.5, 3.0]))
    assert [x.tolist() for x in found] == [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    two = world.until(2.0)
    assert two.looks.size == 2
    assert recall(two, np.array([0.0])).low.tolist() == [1.0]
