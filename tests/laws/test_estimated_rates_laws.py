"""Laws of belief by an estimator: gaps put together again, and rates never seen."""

import numpy as np
import pytest

from halflife.belief.rates import EstimatedRates, merge_gaps
from halflife.core.evidence import Evidence
from halflife.core.history import Gaps
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen


def gaps(*rows):
    item, length, changed, tally = zip(*rows, strict=True)
    return Gaps(
        np.array(item),
        np.array(length, float),
        np.array(changed),
        np.array(tally, float),
    )


def rows_of(found):
    return [
        (int(i), pytest.approx(float(x)), bool(c), pytest.approx(float(n)))
        for i, x, c, n in zip(*found, strict=True)
    ]


def test_quiet_days_are_as_many_gaps_as_there_were_looks():
    found = merge_gaps(
        gaps((0, 6.0, False, 1), (0, 2.0, False, 3)), np.array([4, 0]), 2
    )
    assert rows_of(found) == [(0, 3.0, False, 4.0)]
    none = merge_gaps(gaps((1, 6.0, False, 1)), np.array([0, 0]), 2)
    assert rows_of(none) == [(1, 6.0, False, 1.0)]


def test_a_gap_that_was_split_between_two_lengths_is_one_again():
    """Of one change 0.25 at 2 days and 0.75 at 8: the geometric mean, 2 ** 2.5."""
    split = gaps((0, 2.0, True, 0.25), (0, 8.0, True, 0.75))
    found = merge_gaps(split, np.zeros(1, int), 1)
    assert rows_of(found) == [(0, 2.0**2.5, True, 1.0)]
    twice = gaps((0, 2.0, True, 1.25), (0, 8.0, True, 0.75), (1, 3.0, True, 1.0))
    found = merge_gaps(twice, np.zeros(2, int), 2)
    assert rows_of(found) == [
        (1, 3.0, True, 1.0),
        (0, 2.0, True, 1.25),
        (0, 8.0, True, 0.75),
    ]


class Counting:
    """Notes what it is told, and gives each item its changes over its days."""

    def __init__(self):
        self.n, self.told = 0, []

    def grow(self, n):
        self.n = n

    def add(self, item, length, changed, tally):
        self.told += rows_of(Gaps(item, length, changed, tally))

    def rate(self):
        return np.arange(1.0, self.n + 1.0) * 1e-4


def evidence_of(n):
    return Evidence.of(Item(f"http://a/{i}", "a") for i in range(n))


def look(evidence, *rows):
    seen = [Observation(f"http://a/{i}", at, Seen.PRESENT, d) for i, at, d in rows]
    evidence.take(evidence.weigh(Observations.of(seen)))


def test_each_gap_is_handed_on_once_and_items_without_one_are_as_fast_as_all():
    evidence, belief = evidence_of(3), EstimatedRates(Counting, slowest=1e-9)
    view = belief(evidence, 0.0, 0.0)
    assert view.rate == pytest.approx([1.0] * 3)  # half a change in half a day
    look(evidence, (0, 0.0, "a"), (1, 0.0, "a"))
    look(evidence, (0, 2.0, "b"), (1, 3.0, "a"))
    view = belief(evidence, 3.0, 3.0)
    told = belief._model.told
    assert told == [(1, 3.0, False, 1.0), (0, 2.0, True, 1.0)]
    assert view.rate == pytest.approx([1e-4, 2e-4, 1.5 / 5.5])
    belief(evidence, 3.0, 3.0)
    assert len(told) == 2
    look(evidence, (1, 4.0, "a"))
    look(evidence, (1, 6.0, "a"))
    view = belief(evidence, 6.0, 6.0)
    assert told[2:] == [(1, 1.5, False, 2.0)]  # three days in two looks
    assert view.rate[2] == pytest.approx(1.5 / 8.5)
    evidence.add([Item("http://a/9", "a")])
    assert belief(evidence, 6.0, 6.0).rate.size == 4
    other = evidence_of(1)
    assert belief(other, 6.0, 6.0).rate.tolist() == [1.0]  # of another it knows nothing


def test_rates_are_kept_within_their_limits():
    evidence = evidence_of(2)
    look(evidence, (0, 0.0, "a"), (1, 0.0, "a"))
    look(evidence, (0, 2.0, "b"), (1, 3.0, "a"))
    belief = EstimatedRates(Counting, slowest=1.5e-4, fastest=1.7e-4)
    assert belief(evidence, 3.0, 3.0).rate.tolist() == [1.5e-4, 1.7e-4]
