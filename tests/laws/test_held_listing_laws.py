"""What a held answer may do: it adds and updates, and never removes anything."""

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from halflife.config import Config
from halflife.core.object_store import NEVER, Listing
from halflife.core.tracker import Tracker
from halflife.kinds.listing import runner
from halflife.kinds.listing.runner import doubt
from halflife.models.held_quality import held_gone, held_precision, held_recall
from halflife.models.setquality import Band
from halflife.stores.memory import MemoryStore
from halflife.stores.notes.held_removals import HELD_REMOVALS

CONFIG = '[[source]]\nname = "cars"\nkind = "listing"\nurl = "http://a/"\nkey = "id"\n'
STEPS = st.lists(
    st.tuples(
        st.floats(0.05, 3.0),  # days until the answer
        st.floats(0.0, 0.15),  # the share that goes
        st.integers(0, 12),  # objects that come
        st.sampled_from([0.0, 0.0, 0.0, 0.3, 0.5, 0.9]),  # the share that is cut off
        st.booleans(),  # whether values change
    ),
    min_size=3,
    max_size=14,
)


def answers(steps, seed, n=60):
    """Yield what a source answers: objects come and go, and some are cut off."""
    rng, there, made, at, price = np.random.default_rng(seed), [*range(n)], n, 0.0, 0
    yield Listing(at, {f"k{i}": {"price": 0} for i in there})
    for days, gone, new, cut, changed in steps:
        at, price = at + days, price + changed
        there = [i for i in there if rng.random() >= gone]
        there, made = [*there, *range(made, made + new)], made + new
        shown = [i for i in there if rng.random() >= cut]
        yield Listing(at, {f"k{i}": {"price": price if i % 3 else 0} for i in shown})


def running(store):
    if "cars" not in store.collections():
        return {}
    spells = store.register("cars").spells
    return {s.key: s.missing_since for s in spells if s.gone_by == NEVER}


@given(steps=STEPS, seed=st.integers(0, 2**16))
def test_a_held_answer_removes_nothing_and_marks_nothing_missing(
    tmp_path_factory, steps, seed
):
    config = Config.parse(CONFIG, tmp_path_factory.getbasetemp() / "halflife.toml")
    store, source = MemoryStore(), config.source[0]
    run, waiting = store.begin(["cars"], 0.0, lease=1e6), False
    for listing in answers(steps, seed):
        before = running(store)
        outcome = runner.write(store, run, source, listing, 1, "")
        after, waits = running(store), HELD_REMOVALS.load(store, "cars")
        # What was shown before stays in doubt until an answer is credible.
        waiting = outcome.shown or (waiting and bool(outcome.held))
        assert (waits is not None) == waiting
        if not outcome.held:
            assert store.staged() == []
            continue
        assert before.keys() <= after.keys()
        assert outcome.change.missing == outcome.change.gone == 0
        lacked = before.keys() - listing.records.keys()
        assert all(after[key] == before[key] for key in lacked)
        unknown = listing.records.keys() - before.keys()
        assert after.keys() - before.keys() == (unknown if outcome.shown else set())
        assert len(store.staged()) == 1
        if outcome.shown:
            assert waits.at == listing.at
            assert waits.copied == sum(since == NEVER for since in after.values())


@settings(max_examples=60)
@given(steps=STEPS, seed=st.integers(0, 2**16))
def test_what_is_held_if_nothing_is_taken_is_held_if_what_is_shown_is(steps, seed):
    aside, taken = Tracker(), Tracker()
    for listing in answers(steps, seed):
        if doubt(aside, listing) is not None:
            assert doubt(taken, listing) is not None
            taken.take_shown(listing)
        else:
            if doubt(taken, listing) is not None:
                return  # it is more careful
            aside.take(listing)
            taken.take(listing)
        assume(aside.flaps == taken.flaps)  # objects that are back count again


@given(steps=STEPS, seed=st.integers(0, 2**16))
def test_an_accepted_answer_counts_as_if_it_had_been_accepted_at_once(steps, seed):
    late, once = Tracker(), Tracker()
    for listing in answers(steps, seed):
        before = len(late.register().snapshots)
        if doubt(late, listing) is not None:
            late.take_shown(listing)
            late.news()
            late.take_accepted(listing)
            assert [s.at for s in late.news().snapshots] == [listing.at]
        else:
            late.take(listing)
        once.take(listing)
        assert len(late.register().snapshots) == before + 1
    assert [*map(repr, late.register().spells)] == [*map(repr, once.register().spells)]
    assert late.register().versions == once.register().versions
    assert late.register().snapshots == once.register().snapshots


shares = st.floats(0.0, 1.0)


@given(p=st.tuples(shares, shares, shares), old=st.tuples(shares, shares, shares),
       share=shares, size=st.integers(1, 500))  # fmt: skip
def test_bounds_hold_whichever_of_the_two_is_true(p, old, share, size):
    low, mean, high = (np.array([x]) for x in sorted(p))
    shown, hidden = Band(mean, low, high), Band(*(low * x for x in sorted(old)))
    hidden = Band(hidden.mean, np.minimum(*hidden[:2]), np.maximum(hidden.mean, high))
    counted = Band(*(size * a for a in shown))
    keep = 1.0 - share
    cut = [keep * a + share * b for a, b in zip(shown, hidden, strict=True)]
    rest = [size * (share + keep * a) for a in shown]
    for band, one, other in [
        (held_recall(shown, hidden, share), shown, Band(*cut)),
        (held_precision(shown, share), shown, Band(*(keep * a for a in shown))),
        (held_gone(counted, share, size), counted, Band(*rest)),
    ]:
        assert band.low <= min(one.low, other.low) + 1e-9
        assert band.high >= max(one.high, other.high) - 1e-9
        assert band.mean == pytest.approx((one.mean + other.mean) / 2.0)
        assert band.low - 1e-9 <= band.mean <= band.high + 1e-9
