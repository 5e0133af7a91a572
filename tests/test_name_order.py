"""Which pages stand near each other when sites are sorted by name."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from halflife.core.keys import Keys
from halflife.grouping.name_order import CLOSE, name_order
from halflife.grouping.places import folder_codes, site


def near_of(keys):
    """Return the names near each page, as they are found."""
    names = Keys(keys)
    hosts = [site(key) for key in keys]
    sites = np.array([sorted(set(hosts)).index(host) for host in hosts], dtype=np.intp)
    order = name_order(names, folder_codes(names, 0, {}), sites)
    which, near = order.near(np.arange(len(keys)))
    return {
        key: sorted(keys[j] for j in near[which == i].tolist())
        for i, key in enumerate(keys)
    }


def test_two_dozen_pages_on_either_side_are_near_and_no_more():
    pages = [f"http://s/x/{i:02}" for i in range(60)]
    near = near_of(pages[::-1])
    assert CLOSE == 24
    assert near[pages[30]] == [*pages[6:30], *pages[31:55]]
    assert near[pages[0]] == pages[1:25]


def test_pages_of_adjacent_folders_are_near_in_the_order_of_folders(monkeypatch):
    monkeypatch.setattr("halflife.grouping.name_order.CLOSE", 1)
    pages = ["http://s/c/a", "http://s/b/z", "http://s/b/y", "http://s/a/x"]
    near = near_of(pages)
    assert near["http://s/c/a"] == ["http://s/b/z"]
    assert near["http://s/b/z"] == ["http://s/b/y", "http://s/c/a"]
    assert near["http://s/a/x"] == ["http://s/b/y"]


def test_pages_of_other_sites_are_never_near():
    pages = ["http://s/x/a", "http://t/x/a", "http://s/y/b", "http://t/x/b"]
    near = near_of(pages)
    assert near["http://s/x/a"] == ["http://s/y/b"]
    assert near["http://t/x/b"] == ["http://t/x/a"]


def test_pages_whose_addresses_end_in_a_slash_lie_in_the_folder_around_them(
    monkeypatch,
):
    monkeypatch.setattr("halflife.grouping.name_order.CLOSE", 1)
    pages = ["http://s/blog/one/", "http://s/blog/two/", "http://s/blog/one/part"]
    near = near_of(pages)
    assert near[pages[0]] == [pages[1]]
    assert near[pages[2]] == [pages[1]]


def test_a_slash_after_a_mark_makes_no_folder(monkeypatch):
    monkeypatch.setattr("halflife.grouping.name_order.CLOSE", 1)
    pages = ["http://s/x/a?next=/home/", "http://s/x/b", "http://s/x/c#/top"]
    near = near_of(pages)
    assert near["http://s/x/b"] == [pages[0], pages[2]]


names = st.text("ab/?é", min_size=0, max_size=12).map("http://s/x/{}".format)


@given(st.lists(names, min_size=0, max_size=70, unique=True))
def test_near_goes_both_ways(keys):
    near = near_of(keys)
    for key, others in near.items():
        assert key not in others
        assert all(key in near[other] for other in others)
        assert len(others) <= 2 * CLOSE


parts = st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=3)
word = parts.map("/".join)


@given(st.lists(word, min_size=1, max_size=70, unique=True), st.integers(1, 30))
def test_plain_names_are_near_by_their_places_in_a_sorted_list(words, close):
    keys = [f"http://s/{word}" for word in words]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("halflife.grouping.name_order.CLOSE", close)
        near = near_of(keys)
    ordered = sorted(keys, key=lambda key: (key[: key.rfind("/") + 1], key))
    for i, key in enumerate(ordered):
        around = ordered[max(i - close, 0) : i], ordered[i + 1 : i + 1 + close]
        assert near[key] == sorted([*around[0], *around[1]])


def test_no_pages_have_no_order():
    assert name_order(Keys(), *np.zeros((2, 0), np.int32)).rows.size == 0


@pytest.mark.parametrize("count", [1, 2])
def test_few_pages_are_in_order(count):
    keys = [f"http://s/x/{i}" for i in range(count)]
    assert [len(near) for near in near_of(keys).values()] == [count - 1] * count
