"""Folders of many names at once, against one name at a time."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from halflife.core.keys import Folders, Keys
from halflife.grouping import places as module
from halflife.grouping.places import folder, folder_codes, site
from lab.grouping.places import ancestors, by_site

NAMES = [
    "http://a", "http://b", "http://a/", "http://a/x/1", "http://a/x/2", "http://a/x//3",
    "http://a/x/?q=/y/", "http://a/x/#/y/", "a/x/1", "/a/x/1", "plain", "other", "",
    "http://a/x/1?q", "HTTP://a/x/1", "ftp/http://a/1", "http://a//x/1", "ü/ä/1",
    "http://a/x/" + "y" * 30, "http://a/x/" + "y/" * 15 + "1",
]  # fmt: skip


@pytest.mark.parametrize(("block", "longest"), [(2, 25), (3, 4096), (65_536, 25)])
@settings(max_examples=25)
@given(names=st.lists(st.sampled_from(NAMES), max_size=8), first=st.integers(0, 8))
def test_folders_of_many_names_are_those_of_each(block, longest, names, first):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK", block)
        patch.setattr(module, "LONGEST", longest)
        first = min(first, len(names))
        code = {"http://a/x/": 0}
        plain = dict(code)
        wanted = [plain.setdefault(folder(n), len(plain)) for n in names[first:]]
        assert folder_codes(Keys(names), first, code).tolist() == wanted
        assert code == plain
        again = {"http://a/x/": 0}
        assert folder_codes(names, first, again).tolist() == wanted


def test_folders_known_already_are_taken_only_from_the_beginning():
    keys = Keys(["a/x/1", "a/y/1", "a/x/2"])
    keys.folders = Folders(("a/y/", "a/x/"), np.array([1, 0]))
    code = {}
    assert folder_codes(keys, 0, code).tolist() == [1, 0, 1]
    assert code == {"a/y/": 0, "a/x/": 1}
    assert folder_codes(keys, 1, {}).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("key", "host", "own"),
    [
        ("http://A.org/x/y", "a.org", "http://A.org/x/"),
        ("http://a.org", "a.org", "http://a.org/"),
        ("http://a.org/x/?q=/z/", "a.org", "http://a.org/x/"),
        ("http://a.org/x#/z/?y", "a.org", "http://a.org/"),
        ("a.org/x/y", "a.org", "a.org/x/"),
        ("/a.org/x/y", "a.org", "a.org/x/"),
        ("page", "", "/"),
        ("/page", "", "/"),
        ("http://a.org//x///y//z", "a.org", "http://a.org/x/y/"),
        ("a/b://c/d", "a", "a/b:/c/"),
    ],
)
def test_an_address_is_split_at_slashes(key, host, own):
    assert site(key) == host
    assert folder(key) == own


@pytest.mark.parametrize(
    ("depth", "own"),
    [
        (0, "h://a/"),
        (1, "h://a/x/"),
        (2, "h://a/x/y/"),
        (3, "h://a/x/y/"),
        (-1, "h://a/"),
    ],
)
def test_a_folder_lies_no_deeper_than_asked_for(depth, own):
    assert folder("h://a/x/y/page", depth) == own


@pytest.mark.parametrize("beyond", [0, 1])
def test_only_so_many_characters_of_an_address_count(monkeypatch, beyond):
    monkeypatch.setattr(module, "LONGEST", 12)
    key = "http://a/x/" + "/" * beyond + "y"  # 12 characters, or one more
    assert folder(key) == "http://a/x/"
    deep = "http://a/x" + "yy" * beyond + "/z"  # 12 characters, or two more
    assert folder(deep) == ("http://a/" if beyond else "http://a/x/")


def test_a_page_is_in_all_folders_above_it():
    keys = ["h://a/x/y/1", "h://a/x/2", "h://a/3", "h://b/x/4"]
    made = ancestors(keys)
    held = {n: made.members(j).tolist() for j, n in enumerate(made.names)}
    assert held == {
        "h://a/": [0, 1, 2],
        "h://a/x/": [0, 1],
        "h://a/x/y/": [0],
        "h://b/": [3],
        "h://b/x/": [3],
    }
    flat = ancestors(keys, deepest=1)
    assert flat.names == ("h://a/", "h://a/x/", "h://b/", "h://b/x/")
    assert ancestors([]).n_items == 0


def test_sites_may_be_given():
    assert by_site(["a/1", "b/2"], ["s", "s"]).names == ("s",)
    assert by_site(["a/1", "b/2"]).names == ("a", "b")
