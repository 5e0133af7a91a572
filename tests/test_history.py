"""Observations of many items, as columns."""

import numpy as np
from hypothesis import given

from halflife.core.history import History
from halflife.core.observation import Observation, Observations, Seen
from store_cases import KEYS, observations
from store_looks import absent, failed, hint, present


@given(looks=observations())
def test_each_item_owns_its_good_looks_in_order_of_time(looks):
    history = History.of(looks, keys=KEYS)
    assert history.keys == KEYS
    for i, key in enumerate(KEYS):
        own = slice(history.start[i], history.start[i + 1])
        good = [o for o in looks if o.key == key and o.seen <= Seen.ABSENT]
        assert history.at[own].tolist() == sorted(o.at for o in good)


@given(looks=observations())
def test_gaps_join_neighbours_in_time(looks):
    gaps = History.of(looks, keys=KEYS).gaps()
    for i, key in enumerate(KEYS):
        times = {o.at for o in looks if o.key == key and o.seen <= Seen.ABSENT}
        lengths = np.diff(sorted(times))
        assert gaps.length[gaps.item == i].tolist() == lengths.tolist()
    assert (gaps.tally == 1.0).all()


def test_coming_and_going_are_changes():
    looks = [
        absent("a", 0.0),
        present("a", 1.0, "x"),
        present("a", 2.0, "x"),
        absent("a", 3.0),
    ]
    assert History.of(looks).gaps().changed.tolist() == [True, False, True]


def test_failed_looks_and_hints_are_left_out():
    looks = [present("a", 0.0), failed("a", 1.0), hint("a", 2.0), present("a", 3.0)]
    assert History.of(looks).gaps().length.tolist() == [3.0]


def test_an_item_never_looked_at_was_last_seen_never():
    history = History.of([present("b", 4.0), failed("c", 5.0)], keys=KEYS)
    assert history.last_seen().tolist() == [-np.inf, 4.0, -np.inf]
    assert len(history) == 3


def test_an_empty_history_has_no_gaps():
    assert History.of([]).gaps().length.size == 0
    assert History.of([]).last_seen().size == 0


@given(looks=observations())
def test_looks_are_observations_in_columns(looks):
    columns = Observations.of(looks)
    assert list(columns) == looks
    bare = [Observation(o.key, o.at, o.seen, o.digest) for o in looks]
    assert (
        list(Observations(columns.keys, columns.at, columns.seen, columns.digest))
        == bare
    )
    assert list(columns.take(range(0, len(looks), 2))) == looks[::2]
