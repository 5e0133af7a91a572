"""What is believed of pages that nobody has seen."""

import numpy as np
import pytest

from halflife.belief.newcomers import WORTH, Newcomers
from halflife.belief.plain import PlainRates
from halflife.belief.poisson import PoissonBelief
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen

FAST = [f"http://a.org/fast/p{i}" for i in range(8)]
SLOW = [f"http://a.org/slow/p{i}" for i in range(8)]
OTHER = [f"http://b.org/x/p{i}" for i in range(8)]
NEW = [
    "http://a.org/fast/new",
    "http://a.org/slow/new",
    "http://a.org/else/new",
    "http://c.org/new",
]


@pytest.fixture
def evidence():
    found = Evidence.of(Item(key, "s") for key in (*FAST, *SLOW, *OTHER, *NEW))
    for day in range(12):
        fast = [Observation(key, day, Seen.PRESENT, f"{day}") for key in FAST]
        slow = [Observation(key, day, Seen.PRESENT, "same") for key in SLOW]
        other = [Observation(key, day, Seen.PRESENT, f"{day // 4}") for key in OTHER]
        found.take(found.weigh(Observations.of([*fast, *slow, *other])))
    return found


def rates(view):
    return dict(zip(view.keys, view.rate, strict=True))


def test_pages_seen_are_believed_as_before(evidence):
    plain = PoissonBelief()(evidence, 12.0, 12.0)
    view = Newcomers(PoissonBelief())(evidence, 12.0, 12.0)
    held = plain.held
    assert np.array_equal(view.rate[held], plain.rate[held])
    at = np.full(len(view), 3.0)
    assert np.array_equal(view.survival.alive(at)[held], plain.survival.alive(at)[held])


def test_new_pages_are_believed_to_change_as_their_neighbours_do(evidence):
    rate = rates(Newcomers(PoissonBelief())(evidence, 12.0, 12.0))
    lively, quiet, between, stranger = (rate[key] for key in NEW)
    assert rate[FAST[0]] > lively > between > quiet > rate[SLOW[0]]
    assert lively > stranger > quiet


def test_the_mean_is_weighed_as_written(evidence):
    rate = rates(Newcomers(PoissonBelief())(evidence, 12.0, 12.0))
    everyone = np.mean([rate[key] for key in (*FAST, *SLOW, *OTHER)])
    total = sum(rate[key] for key in (*FAST, *SLOW))
    site = (total + WORTH * everyone) / (16 + WORTH)
    folder = (sum(rate[key] for key in SLOW) + WORTH * site) / (8 + WORTH)
    assert rate[NEW[1]] == pytest.approx(folder)
    assert rate[NEW[2]] == pytest.approx((0 + WORTH * site) / WORTH)
    assert rate[NEW[3]] == pytest.approx(everyone)


def test_survival_goes_by_the_new_rate(evidence):
    view = Newcomers(PoissonBelief())(evidence, 12.0, 12.0)
    alive = dict(
        zip(view.keys, view.survival.alive(np.full(len(view), 1.0)), strict=True)
    )
    assert alive[NEW[0]] < alive[NEW[2]] < alive[NEW[1]]


def test_pages_found_later_are_placed_too(evidence):
    belief = Newcomers(PoissonBelief())
    belief(evidence, 12.0, 12.0)
    evidence.add([Item("http://a.org/slow/newer", "s")])
    rate = rates(belief(evidence, 12.0, 12.0))
    assert rate["http://a.org/slow/newer"] == pytest.approx(rate[NEW[1]])


def test_nothing_seen_at_all_is_no_trouble():
    evidence = Evidence.of([Item(NEW[0], "s")])
    view = Newcomers(PoissonBelief())(evidence, 1.0, 1.0)
    assert np.isfinite(view.rate).all()
    assert (view.rate > 0).all()


def test_other_beliefs_are_left_alone(evidence):
    view = Newcomers(PlainRates())(evidence, 12.0, 12.0)
    assert np.array_equal(view.rate, PlainRates()(evidence, 12.0, 12.0).rate)
