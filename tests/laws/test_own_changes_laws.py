"""Laws of the changes of a page that are counted anew."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import brentq

from halflife.belief.hints import SilentEvidence
from halflife.belief.neighbours import Neighbours
from halflife.belief.own_changes import OwnChanges
from halflife.belief.page_rates import PageRates
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observations
from store_looks import hint, present

HERE = np.array([0])


def at_least_one(x):
    return x / -math.expm1(-x)


def one_page(changes, lived, shape=0.5):
    zero = np.zeros(1, dtype=int)
    return PageRates(zero, zero, np.array([changes]), np.array([lived]), shape)


def believed(own, pages, around):
    """Return the rate of the page by its changes as they are counted now."""
    changes = pages.changes[0] + own.more[0] + pages.shape
    return changes / (pages.lived[0] + pages.shape / around)


def test_a_page_found_changed_five_times_of_five_changes_oftener_than_first_counted():
    own, counted, rate = OwnChanges(), 0.0, 0.5
    own.grow(1)
    for gaps in range(1, 6):  # as the module tells it
        first = at_least_one(3.0 * rate)
        own.add(HERE, np.array([3.0]), np.array([first]))
        counted += first
        rate = (counted + 0.5) / (3.0 * gaps + 1.0)
    assert rate == pytest.approx(0.73, abs=0.005)
    pages = one_page(counted, 15.0)
    own.count(HERE, pages, np.array([0.5]))
    assert believed(own, pages, 0.5) == pytest.approx(1.11, abs=0.005)


@given(
    times=st.integers(1, 40),
    length=st.floats(math.log(1e-5), math.log(100.0)).map(math.exp),
    quiet_and_other=st.tuples(st.floats(0.0, 300.0), st.floats(0.0, 20.0)),
    first=st.floats(0.5, 3.0),
    around=st.floats(math.log(1e-4), math.log(10.0)).map(math.exp),
    shape=st.sampled_from([0.25, 1.0, 8.0]),
)
def test_rate_and_number_of_changes_agree(
    times, length, quiet_and_other, first, around, shape
):
    own, (quiet, other) = OwnChanges(), quiet_and_other
    own.grow(1)
    for _ in range(times):
        own.add(HERE, np.array([length]), np.array([first]))
    pages = one_page(other + times * first, times * length + quiet, shape)
    own.count(HERE, pages, np.array([around]))
    days = pages.lived[0] + shape / around

    def off(rate):
        return other + shape + times * at_least_one(rate * length) - rate * days

    rate = brentq(off, 1e-12, 1e9, xtol=1e-15, rtol=1e-12)
    assert believed(own, pages, around) == pytest.approx(rate, rel=1e-5)
    assert own.more[0] == pytest.approx(
        times * (at_least_one(rate * length) - first), rel=1e-4, abs=1e-4 * times
    )


def test_pages_without_a_change_and_those_not_fetched_are_left_alone():
    own = OwnChanges()
    own.grow(3)
    own.add(np.array([2]), np.array([4.0]), np.array([1.5]))
    rows, zero = np.array([0, 1]), np.zeros(3, dtype=int)
    pages = PageRates(zero, zero, np.array([0.0, 1.0, 1.5]), np.full(3, 9.0))
    own.count(rows, pages, np.full(2, 0.1))
    assert own.more.tolist() == [0.0, 0.0, 0.0]
    own.count(np.array([0, 2]), pages, np.array([0.1, 0.3]))
    wanted = OwnChanges()
    wanted.grow(1)
    wanted.add(HERE, np.array([4.0]), np.array([1.5]))
    wanted.count(HERE, one_page(1.5, 9.0, 1.0), np.array([0.3]))
    assert own.more[2] == pytest.approx(wanted.more[0]) != 0.0
    own.grow(5)
    assert own.more[:3].tolist() == [0.0, 0.0, own.more[2]]


@pytest.fixture
def evidence():
    found = Evidence.of(Item(f"https://a.org/{i}", group="a.org") for i in range(6))
    see(found, 0.0, "0")
    return found


def see(evidence, at, digest, rows=range(6)):
    looks = [present(evidence.keys[i], at, digest) for i in rows]
    evidence.take(evidence.weigh(Observations.of(looks)))


def test_changes_that_a_hint_explains_are_not_counted_anew(evidence):
    belief, silent = Neighbours(trust=np.zeros(1)), SilentEvidence(evidence)
    silent.note_hints(np.zeros((4, 6)), np.ones(6), np.zeros(6))
    belief(silent, 0.0, 0.0)
    hinted = hint(evidence.keys[0], 5.0, modified=4.0)
    evidence.take(evidence.weigh(Observations.of([hinted])))
    see(evidence, 9.0, "1", rows=(0, 1))
    silent.note_hints(np.full((4, 6), 2.0), np.full(6, 0.25), np.full(6, 9.0))
    belief(silent, 9.0, 9.0)
    share, load, _ = silent.gap_hints(np.arange(2))
    assert load.tolist() == [2.0, 0.0]
    assert belief._own.times.tolist() == [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert belief._own.days[1] == pytest.approx(9.0 * share[1])
    assert belief._own.first[1] == pytest.approx(belief._pages.changes[1])


def test_a_quiet_fetch_counts_earlier_changes_of_the_page_anew(evidence):
    belief = Neighbours(trust=np.zeros(1))
    belief(evidence, 0.0, 0.0)
    see(evidence, 40.0, "1")
    belief(evidence, 40.0, 40.0)
    before = belief._own.more.copy()
    see(evidence, 400.0, "1", rows=(0, 1))
    belief(evidence, 400.0, 400.0)
    assert (belief._own.more[:2] < before[:2]).all()  # the rate is lower now
    assert belief._own.more[2:].tolist() == before[2:].tolist()


def test_pages_that_change_all_the_time_are_believed_to():
    rate, rng = np.where(np.arange(60) < 12, 2.0, 0.02), np.random.default_rng(3)
    evidence = Evidence.of(Item(f"https://a.org/{i}", group="a.org") for i in range(60))
    belief, edition = Neighbours(trust=np.zeros(1)), np.zeros(60, dtype=int)
    for day in np.arange(0.0, 41.0, 2.0):
        looks = [
            present(key, day, str(text))
            for key, text in zip(evidence.keys, edition, strict=True)
        ]
        evidence.take(evidence.weigh(Observations.of(looks)))
        view = belief(evidence, day, day)
        edition += rng.poisson(2.0 * rate)
    mean = float(np.exp(np.log(view.rate[:12]).mean()))
    assert mean == pytest.approx(2.0, rel=0.3)  # 0.85 if each gap were counted once
    assert view.rate[12:].mean() < 0.04
