import hypothesis.strategies as st
import pytest
from hypothesis import given

from halflife.grouping.places import LONGEST, folder, site
from lab.grouping.places import DEEPEST, ancestors, by_site, folders

keys = st.text(alphabet="ab/:?#.é\x00 ", max_size=30) | st.from_regex(
    r"https?://[a-c](/[x-z]{0,2}){0,5}[?#]?/?", fullmatch=True
)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("http://a.org/x/y/z.html", "http://a.org/x/y/"),
        ("http://a.org/x/y/", "http://a.org/x/y/"),
        ("http://a.org/x/y", "http://a.org/x/"),
        ("http://a.org/x/p?next=/a/b", "http://a.org/x/"),
        ("http://a.org/x/p#/a/b?c", "http://a.org/x/"),
        ("http://a.org/x//y///z", "http://a.org/x/y/"),
        ("http://a.org///x", "http://a.org/"),
        ("http://a.org", "http://a.org/"),
        ("http://a.org/", "http://a.org/"),
        ("http://a.org?x=/y", "http://a.org/"),
        ("site/docs/page.md", "site/docs/"),
        ("site/to/http://b.org/c", "site/to/http:/b.org/"),
        ("page", "/"),
        ("", "/"),
    ],
)
def test_the_folder_is_the_address_up_to_its_last_slash(key, expected):
    assert folder(key) == expected


@given(keys, st.integers(0, 4))
def test_a_folder_lies_in_itself_and_above_deeper_ones(key, depth):
    own = folder(key)
    assert own.endswith("/")
    assert folder(own) == own
    cut = folder(key, depth)
    assert own.startswith(cut)
    assert folder(key, depth + 1).startswith(cut)
    assert folder(key, LONGEST) == own


@given(st.lists(keys, max_size=20), st.none() | st.integers(0, 3))
def test_every_page_is_in_the_one_folder_it_lies_in(some, depth):
    made = folders(some, depth)
    assert made.n_items == len(some)
    assert sorted(made.item.tolist()) == list(range(len(some)))
    for j, name in enumerate(made.names):
        assert {folder(some[i], depth) for i in made.members(j)} == {name}


@given(st.lists(keys, max_size=12))
def test_folders_above_hold_all_that_those_below_hold(some):
    made = ancestors(some)
    held = {name: set(made.members(j).tolist()) for j, name in enumerate(made.names)}
    for i, key in enumerate(some):
        above = {folder(key, depth) for depth in range(DEEPEST + 1)}
        assert {name for name in held if i in held[name]} == above


def test_hostile_addresses_cost_no_more_than_long_ones():
    deep = "http://a.org" + "/x" * 100_000
    wide = "http://a.org/" + "y" * 1_000_000
    slashes = "http://a.org" + "/" * 1_000_000
    assert len(folder(deep)) <= LONGEST
    assert folder(wide) == folder(slashes) == "http://a.org/"
    assert len(ancestors([deep, wide, slashes])) == DEEPEST + 1


def test_sites_are_hosts_or_what_the_recording_says():
    some = ["http://B.org/x", "https://b.org/y", "c/x/y", "http://u@b.org:81/"]
    assert [site(key) for key in some] == ["b.org", "b.org", "c", "u@b.org:81"]
    assert by_site(some).size.tolist() == [2, 1, 1]
    assert by_site(some, ["p", "q", "q", "q"]).names == ("p", "q")
