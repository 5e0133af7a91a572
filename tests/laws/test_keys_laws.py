"""Names found by their hashes: when they are sorted in, and when hashes are equal."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core import keys as module
from halflife.core.keys import UNKNOWN, KeyIndex, Keys, KeySubset


@pytest.fixture
def recent(monkeypatch):
    monkeypatch.setattr(module, "RECENT", 3)


def test_names_wait_until_there_are_more_than_may(recent):
    places = KeyIndex(Keys(["a", "b"]))
    waiting = [(2, 0)]
    for new in ("c", "d", "e", "f", "g", "h"):
        places.extend([new])
        waiting.append((len(places._recent), places._sorted))
    assert waiting == [(2, 0), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4), (0, 8)]
    assert [places.row(name) for name in "abcdefgh"] == list(range(8))
    assert places.row("i") is None


@pytest.mark.parametrize("many", [0, 1, 2, 3, 4, 5])
def test_names_given_at_the_beginning_are_found_like_those_that_come_later(
    recent, many
):
    names = "abcdefg"[:many]
    places = KeyIndex(Keys(names))
    assert places.rows([*names, "x"]).tolist() == [*range(many), UNKNOWN]
    assert places.knows(names)
    assert not places.knows([*names, "x"])


def test_names_of_one_hash_are_told_apart(monkeypatch, recent):
    monkeypatch.setattr(module, "hash", len, raising=False)
    monkeypatch.setattr(module, "SCANS", 0)
    names = ["b", "aa", "c", "bb", "a", "cc", "d", "abc"]
    places = KeyIndex(Keys(names))
    assert [places.row(name) for name in names] == list(range(8))
    assert [places.row(name) for name in ("e", "dd", "", "abcd")] == [None] * 4


@given(
    st.lists(st.text("ab", max_size=4), min_size=1, max_size=30, unique=True),
    st.lists(st.text("ab", max_size=4), max_size=20),
    st.sampled_from([0, 3, 100]),
    st.sampled_from([1, 2, 1000]),
)
def test_a_name_is_found_in_the_text_as_by_its_hash(names, asked, scans, misses):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "RECENT", 0)
        patch.setattr(module, "SCANS", scans)
        patch.setattr(module, "MISSES", misses)
        places = KeyIndex(Keys(names))
        for name in [*asked, *names]:
            wanted = names.index(name) if name in names else None
            assert places.row(name) == wanted


def test_hashes_are_sorted_for_the_ninth_name_or_one_that_is_in_too_many(monkeypatch):
    monkeypatch.setattr(module, "RECENT", 0)
    names = [f"a{number}" for number in range(2000)]
    places = KeyIndex(Keys(names))
    assert [places.row(name) for name in names[:8]] == list(range(8))
    assert places._hash.size == 0
    assert places.row(names[8]) == 8
    assert places._hash.size == 2000
    other = KeyIndex(Keys(names))
    assert other.row("a") is None  # a part of all of them
    assert other._hash.size == 2000


def test_names_are_shown_up_to_the_fifth():
    assert repr(Keys("ab")) == "Keys(['a', 'b'])"
    assert repr(Keys("abcde")) == "Keys(['a', 'b', 'c', 'd', 'e'])"
    assert repr(Keys("abcdef")) == "Keys(['a', 'b', 'c', 'd', 'e'], ...)"


def test_names_from_one_on_are_encoded_without_those_before():
    text, lengths = Keys(["ä", "b", "", "cd"]).encoded(1)
    assert (text, lengths.tolist()) == (b"bcd", [1, 0, 2])
    text, lengths = Keys(["ä", "b"]).encoded(2)
    assert (text, lengths.tolist()) == (b"", [])


def test_keys_begin_what_is_at_least_as_long_and_starts_the_same():
    short = Keys(["a", "b"])
    long = short.extended(["c"])
    assert short.is_prefix_of(short)
    assert short.is_prefix_of(long)
    assert not long.is_prefix_of(short)
    assert short.is_prefix_of(("a", "b"))
    assert not short.is_prefix_of(("a",))
    assert Keys().is_prefix_of(())


def test_keys_grow_by_half_so_that_one_by_one_costs_little():
    keys, rooms = Keys(), set()
    for i in range(1000):
        keys = keys.extended([str(i)])
        rooms.add(keys.end.size)
    assert keys == tuple(map(str, range(1000)))
    assert len(rooms) < 20
    assert max(rooms) <= 1.5 * 1001


def test_a_negative_place_counts_from_the_end_and_a_step_skips():
    some = KeySubset(Keys("abcd"), np.array([3, 1, 0]))
    assert (some[-1], some[0::2], len(some)) == ("a", ("d", "a"), 3)
    assert Keys("abcd")[::-2] == ("d", "b")
    assert Keys("abcd")[3:1] == ()
