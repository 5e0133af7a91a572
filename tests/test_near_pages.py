"""What looks at near pages say of a page."""

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings

from halflife.belief.near_pages import MOST, PRIOR, NearPages, NewObservations
from halflife.belief.neighbours import Neighbours
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.keys import Keys
from halflife.core.observation import Observations, Seen
from halflife.kinds.pages import belief_notes
from halflife.models.bursts import Bursts, at_least_one
from halflife.stores.memory import MemoryStore

PAGES = 60
KEYS = Keys([f"http://s/x/{i:02}" for i in range(PAGES)])
FOLDER = np.zeros(PAGES, dtype=np.intp)


def bursts_of(days):
    """Return a site on which nothing happened for so many days."""
    bursts = Bursts()
    bursts.place(FOLDER, FOLDER)
    bursts.reach(0.0)
    bursts.reach(days)
    return bursts


def looks_at(pages, since, at, expected, changed):
    x = np.full(len(pages), expected)
    changes = np.where(changed, at_least_one(x), 0.0)
    width = np.full(len(pages), 1.0)
    return NewObservations(np.array(pages), since * width, at * width, x, changes)


def learned(pages, changed, last=0.0, *, expected=0.5):
    """Return what is known after looks on day 10 that cover ten days."""
    near, seen = NearPages(), np.full(PAGES, last)
    near.grow(PAGES)
    seen[pages] = 10.0
    looks = looks_at(pages, 0.0, 10.0, expected, changed)
    near.learn(looks, (KEYS, FOLDER, FOLDER), seen, bursts_of(10.0))
    return near


def test_a_change_nearby_counts_as_worked_out_by_hand():
    near = learned([26], [True])
    # 0.5 / (1 - exp(-0.5)) = 1.2707 changes where 0.5 were to be expected.
    busy = (1.270747 + 3) / (0.5 + 3)
    expected = [1.0] * 2 + [busy] * 24 + [1.0] + [busy] * 24 + [1.0] * 9
    assert near.busy(np.arange(PAGES)) == pytest.approx(expected, rel=1e-6)


def test_pages_are_told_of_as_far_as_something_was_seen_near_them():
    near = learned([3], [True])
    assert near.most_informative(99).tolist() == [0, 1, 2, *range(4, 28)]
    assert near.most_informative(2).tolist() == [0, 1]


def test_only_what_lies_after_the_last_look_counts():
    near = learned([3], [True], last=5.0)
    assert near.expected[2] == pytest.approx(0.25)
    assert near.seen[2] == pytest.approx(0.5 * 1.270747, rel=1e-6)
    assert learned([3], [True], last=10.0).busy(np.arange(PAGES)) == pytest.approx(1.0)


def test_pages_nearby_that_did_not_change_lower_the_odds():
    assert learned([3], [False]).busy(np.array([2])) == pytest.approx(3 / 3.5)


def test_a_page_that_was_seen_itself_begins_anew():
    near = learned([2, 3], [True, True])
    assert near.busy(np.array([2, 3])) == pytest.approx(1.0)


@given(st.floats(1e-3, 5.0), st.integers(0, 40), st.integers(1, 40))
def test_how_busy_is_the_mean_of_the_posterior(expected, seen, looks):
    near = NearPages()
    near.grow(1)
    near.expected[0], near.seen[0] = expected * looks, float(seen)
    posterior = scipy.stats.gamma(PRIOR + seen, scale=1.0 / (PRIOR + expected * looks))
    busy = near.busy(np.zeros(1, np.intp))[0]
    assert busy == pytest.approx(min(posterior.mean(), MOST))


@settings(max_examples=40)
@given(st.lists(st.booleans(), min_size=1, max_size=8), st.floats(0.0, 9.9))
def test_the_order_of_looks_in_a_batch_does_not_matter(changed, last):
    pages = list(range(len(changed)))
    one = learned(pages, changed, last)
    two = learned(pages[::-1], changed[::-1], last)
    assert one.busy(np.arange(PAGES)) == pytest.approx(two.busy(np.arange(PAGES)))
    assert (one.busy(np.arange(PAGES)) > 0).all()
    assert (one.busy(np.arange(PAGES)) <= MOST).all()


def site(pages=60):
    evidence = Evidence.of(
        [Item(f"http://s/x/{i:03}", group="s") for i in range(pages)]
    )
    look(evidence, range(pages), 0.0, ["old"] * pages)
    return evidence


def look(evidence, rows, at, texts):
    keys = tuple(evidence.keys[row] for row in rows)
    seen = np.full(len(keys), Seen.PRESENT, np.int8)
    looks = Observations(keys, np.full(len(keys), at), seen, tuple(texts))
    evidence.take(evidence.weigh(looks))


def played(together, days=120, seed=0, pages=60):
    """Return the belief of who watched pages that change in series, or each alone.

    A tenth of the pages, neighbours, change at a time if ``together``; else as many by
    chance.
    """
    tenth = pages // 10
    rng, evidence, belief = np.random.default_rng(seed), site(pages), Neighbours()
    version = np.zeros(pages, dtype=int)
    belief(evidence, 0.0, 0.0)
    for day in range(1, days):
        if rng.random() < 0.2:
            first = int(rng.integers(pages - tenth + 1))
            some = np.arange(first, first + tenth)
            version[some if together else rng.permutation(pages)[:tenth]] += 1
        rows = rng.permutation(pages)[:tenth]
        look(evidence, rows, float(day), [f"v{version[row]}" for row in rows])
        belief(evidence, float(day), float(day))
    return belief, evidence


def test_near_pages_are_trusted_where_series_change_together():
    belief, _ = played(together=True)
    assert belief._near_trust.share > 0.8


def test_names_that_say_nothing_speak_less_for_near_pages():
    def speaks(together):
        likely = played(together, pages=600)[0]._near_trust.likely
        return likely[-1] - likely[0]

    assert speaks(together=True) > speaks(together=False) + 20.0


def test_what_near_pages_told_outlives_a_run():
    first, evidence = played(together=True)
    store = MemoryStore()
    belief_notes.remember(store, first)
    second = Neighbours()
    second.resume(belief_notes.recall_busy(store))
    second(evidence, 121.0, 121.0)
    every = np.arange(len(evidence))
    assert second._near.busy(every) == pytest.approx(first._near.busy(every), rel=1e-5)
    assert second._near_trust.share == pytest.approx(first._near_trust.share)
    assert (np.abs(np.log(second._near.busy(every))) > 0.2).any()


def test_pages_found_later_are_sorted_in():
    belief, evidence = played(together=True, days=20)
    evidence.add([Item(f"http://s/x/{i:03}-b", group="s") for i in range(60, 200)])
    rows = range(60, 200)
    look(evidence, rows, 21.0, ["old"] * len(rows))
    belief(evidence, 21.0, 21.0)
    look(evidence, [100], 25.0, ["new"])
    belief(evidence, 25.0, 25.0)
    busy = belief._near.busy(np.arange(200))
    assert busy[99] > 1.01
    assert busy[150] == 1.0


def test_observations_are_spread_alike_in_blocks_and_at_once(monkeypatch):
    pages, changed = list(range(0, 60, 3)), [True, False] * 10
    at_once = learned(pages, changed)
    monkeypatch.setattr("halflife.belief.near_pages.BLOCK", 7)
    in_blocks = learned(pages, changed)
    assert in_blocks.seen.tolist() == at_once.seen.tolist()
    assert in_blocks.expected.tolist() == at_once.expected.tolist()
    assert np.unique(at_once.seen).size > 5
