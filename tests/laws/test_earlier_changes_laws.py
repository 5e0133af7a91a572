"""Laws of the changes that gaps before a start stand for."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import brentq

from halflife.belief import neighbours
from halflife.belief.earlier_changes import earlier_changes, solve_rates
from halflife.belief.gap_hints import ChangedGaps, GapHints
from halflife.belief.neighbours import Neighbours
from halflife.belief.page_rates import SHAPES, PageRates
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observations
from store_looks import present

SECOND = 1.0 / 86400.0
gap = st.tuples(
    st.floats(math.log(SECOND), math.log(30.0)).map(math.exp),  # days
    st.integers(1, 5),
    st.lists(st.floats(0.02, 4.0), max_size=3),  # what its hints are worth
)


@given(
    rows=st.lists(gap, min_size=1, max_size=5),
    share=st.sampled_from([1.0, 0.5, 0.01]),
    quiet=st.sampled_from([0.0, SECOND, 1.0, 100.0]),
    lent=st.floats(math.log(1e-5), math.log(1e3)).map(math.exp),
)
def test_the_rate_and_the_count_agree_from_seconds_to_months(rows, share, quiet, lent):
    length, tally = np.array([row[:2] for row in rows], dtype=float).T
    load = np.array([sum(row[2]) for row in rows])
    true = np.array([sum(-math.expm1(-w) for w in row[2]) for row in rows])
    one = GapHints(share, load, true)
    days = float(length @ tally) + quiet + lent
    item = np.zeros(length.size, dtype=int)
    gaps = ChangedGaps(item, length, tally, load, true)
    about = np.array([(tally.sum() + 1.0) / days])
    (rate,) = solve_rates(gaps, one, np.ones(1), np.array([days]), about)

    def off(r):
        return float(tally @ one.changes(r * length)) + 1.0 - days * r

    assert rate == pytest.approx(brentq(off, 1e-9, 1e9, xtol=1e-12), rel=1e-6)
    assert abs(off(rate)) <= 1e-7 * days * rate


@pytest.mark.parametrize("seconds", [1, 7, 60])
@pytest.mark.parametrize("wrong", [-1e-4, 0.0, 1e-4])
def test_pages_seen_for_seconds_are_not_known_to_be_alike(seconds, wrong):
    here, lived = np.zeros(13, dtype=int), np.full(13, seconds * SECOND)
    changes = np.where(np.arange(13) == 0, 1.0 + wrong, 0.0)
    pages = PageRates(here, here, changes, lived)
    pages.fit()
    assert pages.shape == SHAPES[0]


@pytest.fixture
def evidence():
    keys = [f"https://a.org/{i % 2}/{i}" for i in range(12)]
    found = Evidence.of(Item(key, group="a.org") for key in keys)
    for day in range(4):
        some = [
            present(key, float(day), str(day * (i < 6))) for i, key in enumerate(keys)
        ]
        found.take(found.weigh(Observations.of(some)))
    return found


def test_beliefs_that_begin_together_count_once_and_keep_apart(evidence, monkeypatch):
    asked = []

    def counted(given):
        asked.append(given.batches)
        return earlier_changes(given)

    monkeypatch.setattr(neighbours, "earlier_changes", counted)
    one, two = Neighbours(), Neighbours()
    before = one(evidence, 4.0, 4.0), two(evidence, 4.0, 4.0)
    assert len(asked) == 1
    assert before[0].rate.tolist() == before[1].rate.tolist()
    evidence.take(
        evidence.weigh(Observations.of([present(evidence.keys[9], 5.0, "new")]))
    )
    learned = one(evidence, 6.0, 6.0)
    assert learned.rate[9] > before[0].rate[9]
    assert two._pages.changes[9] == 0.0  # what one learns the other does not
    three = Neighbours()
    three(evidence, 6.0, 6.0)
    assert len(asked) == 2  # there is something new to count
