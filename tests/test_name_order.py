"""Which pages stand near each other when folders are sorted by name."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from halflife.core.keys import Keys
from halflife.grouping.name_order import ALIKE, CLOSE, FAR, name_order
from halflife.grouping.places import folder_codes


def near_of(keys):
    """Return the names near each page, as they are found."""
    names = Keys(keys)
    order = name_order(names, folder_codes(names, 0, {}))
    which, near = order.near(np.arange(len(keys)))
    return {
        key: sorted(keys[j] for j in near[which == i].tolist())
        for i, key in enumerate(keys)
    }


def test_three_pages_on_either_side_are_near_and_no_more():
    pages = [f"http://s/x/{name}" for name in "abcdefghij"]
    near = near_of(pages)
    assert [key[-1] for key in near["http://s/x/e"]] == list("bcdfgh")
    assert [key[-1] for key in near["http://s/x/a"]] == list("bcd")


def test_pages_that_begin_alike_are_near_up_to_ten_places_away():
    pages = [f"http://s/x/chapter-{i:02}" for i in range(30)]
    near = near_of(pages)
    assert near[pages[15]] == [*pages[5:15], *pages[16:26]]


def test_pages_of_other_folders_and_sites_are_never_near():
    pages = ["http://s/x/a", "http://s/y/a", "http://t/x/a", "http://s/x/b"]
    near = near_of(pages)
    assert near["http://s/x/a"] == ["http://s/x/b"]
    assert near["http://s/y/a"] == near["http://t/x/a"] == []


def test_pages_whose_addresses_end_in_a_slash_lie_in_the_folder_around_them():
    pages = ["http://s/blog/one/", "http://s/blog/two/", "http://s/blog/one/part"]
    near = near_of(pages)
    assert near[pages[0]] == [pages[1]]
    assert near[pages[2]] == []


def test_a_slash_after_a_mark_makes_no_folder():
    pages = ["http://s/x/a?next=/home/", "http://s/x/b", "http://s/x/c#/top"]
    near = near_of(pages)
    assert near["http://s/x/b"] == [pages[0], pages[2]]


names = st.text("ab/?é", min_size=0, max_size=12).map("http://s/x/{}".format)


@given(st.lists(names, min_size=0, max_size=40, unique=True))
def test_near_is_found_as_by_brute_force_and_goes_both_ways(keys):
    near = near_of(keys)
    for key, others in near.items():
        assert key not in others
        assert all(key in near[other] for other in others)
        assert len(others) <= 2 * FAR


@given(
    st.lists(
        st.text("abc", min_size=1, max_size=9), min_size=1, max_size=40, unique=True
    )
)
def test_plain_names_are_near_by_their_places_in_a_sorted_list(words):
    keys = [f"http://s/x/{word}" for word in words]
    near, ordered = near_of(keys), sorted(words)
    for i, word in enumerate(ordered):
        expected = [
            other
            for j, other in enumerate(ordered)
            if i != j
            and (
                abs(i - j) <= CLOSE
                or (abs(i - j) <= FAR and other[:ALIKE] == word[:ALIKE])
            )
        ]
        found = [key.removeprefix("http://s/x/") for key in near[f"http://s/x/{word}"]]
        assert found == sorted(expected)


def test_no_pages_have_no_order():
    assert name_order(Keys(), np.zeros(0, np.int32)).rows.size == 0


@pytest.mark.parametrize("count", [1, 2])
def test_few_pages_are_in_order(count):
    keys = [f"http://s/x/{i}" for i in range(count)]
    assert [len(near) for near in near_of(keys).values()] == [count - 1] * count
