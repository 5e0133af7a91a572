"""Names and fingerprints kept as bytes read as the texts they were."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core import keys as module
from halflife.core.fingerprints import Fingerprints
from halflife.core.keys import UNKNOWN, Folders, KeyIndex, Keys, KeySubset, names_at
from halflife.grouping.places import folder, folder_codes

names = st.lists(st.text(max_size=12), max_size=12)
unique = st.lists(st.text(max_size=6), max_size=20, unique=True)
HEX = st.text("0123456789abcdef", min_size=32, max_size=32)
URLS = st.lists(
    st.text("ab/?#:", max_size=12).map(lambda path: f"http://h/{path}")
    | st.text("ab/?#:", max_size=8),
    max_size=15,
)


@given(names, names, st.integers(-15, 15), st.integers(-15, 15), st.integers(1, 3))
def test_keys_read_as_a_tuple_of_texts(first, more, start, stop, step):
    keys, wanted = Keys(first).extended(more), (*first, *more)
    assert tuple(keys) == wanted
    assert keys == wanted
    assert keys == Keys(wanted)
    assert len(keys) == len(wanted)
    assert keys[start:stop:step] == wanted[start:stop:step]
    assert [keys[i] for i in range(len(wanted))] == list(wanted)
    assert [keys[-i - 1] for i in range(len(wanted))] == list(wanted[::-1])


@given(names, names, names)
def test_keys_that_were_extended_twice_stay_as_they_were(first, one, other):
    keys = Keys(first)
    a, b = keys.extended(one), keys.extended(other)
    assert keys == tuple(first)
    assert a == (*first, *one)
    assert b == (*first, *other)
    assert keys.is_prefix_of(a)
    assert keys.is_prefix_of(b)
    assert keys.is_prefix_of(tuple(a))


def test_keys_that_differ_do_not_begin_each_other():
    assert not Keys(["a", "b"]).is_prefix_of(Keys(["a", "c", "d"]))
    assert not Keys(["a", "b"]).is_prefix_of(Keys(["a"]))
    assert Keys(["a", "b"]) != ("a",)
    assert Keys(["ab", "c"]) != Keys(["a", "bc"])


def test_a_place_that_is_not_there_is_an_error():
    with pytest.raises(IndexError):
        Keys(["a"])[1]
    with pytest.raises(IndexError):
        Keys(["a"])[-2]


@given(names)
def test_keys_come_back_from_bytes(given_names):
    text, lengths = Keys(given_names).encoded(0)
    assert Keys.of_bytes(bytearray(text), lengths) == tuple(given_names)


def test_chosen_names_are_those_at_the_rows():
    some = KeySubset(Keys("abcd"), np.array([3, 1]))
    assert (tuple(some), some[1], some[:1]) == (("d", "b"), "b", ("d",))


@given(names, names, st.data())
def test_names_at_rows_are_those_asked_for_one_by_one(first, more, data):
    every = Keys(first).extended(more)
    some = st.lists(st.integers(0, max(len(every) - 1, 0)), max_size=9)
    rows = np.array(data.draw(some) if len(every) else [], dtype=np.intp)
    wanted = tuple(every[row] for row in rows.tolist())
    backwards = np.arange(len(every))[::-1]
    assert names_at(every, rows) == wanted == names_at(tuple(every), rows)
    turned = names_at(KeySubset(every, backwards), len(every) - 1 - rows)
    assert turned == wanted


@pytest.mark.parametrize("row", [-1, 2])
def test_a_name_at_a_row_that_is_not_there_is_an_error(row):
    with pytest.raises(IndexError):
        names_at(Keys("ab"), np.array([0, row]))


@pytest.mark.parametrize("recent", [0, 3, 1000])
@given(groups=st.lists(unique, max_size=4), strangers=unique)
def test_every_name_is_found_where_it_stands(recent, groups, strangers):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "RECENT", recent)
        wanted: dict[str, int] = {}
        places = KeyIndex(Keys())
        for group in groups:
            new = [name for name in group if name not in wanted]
            places.extend(new)
            wanted |= {name: len(wanted) + i for i, name in enumerate(new)}
            for name in [*wanted, *strangers]:
                assert places.row(name) == wanted.get(name)
        asked = [*strangers, *wanted]
        found = [wanted.get(name, UNKNOWN) for name in asked]
        assert places.rows(asked).tolist() == found
        assert places.knows(asked) == (UNKNOWN not in found)


@given(st.lists(HEX | st.text(max_size=20) | HEX.map(str.upper), max_size=8))
def test_fingerprints_come_back_and_compare_as_their_texts(texts):
    column = Fingerprints(len(texts))
    column[:] = texts
    assert column.tolist() == texts
    assert list(column) == texts
    for i, text in enumerate(texts):
        assert column[i] == text
        equal = column == np.array([text] * len(texts), dtype=object)
        assert equal.tolist() == [text == other for other in texts]


@given(st.lists(HEX, min_size=1, max_size=8))
def test_hexadecimal_fingerprints_are_packed_alike_one_by_one_and_together(texts):
    column = Fingerprints()
    together = column.pack(texts)
    assert together.tolist() == [column.pack([t, "x"])[0] for t in texts]


@given(URLS, st.data())
def test_folders_are_numbered_the_same_however_names_are_kept(urls, data):
    plain: dict[str, int] = {}
    wanted = [plain.setdefault(folder(url), len(plain)) for url in urls]
    code: dict[str, int] = {}
    keys = Keys(urls)
    assert folder_codes(keys, 0, code).tolist() == wanted
    assert code == plain
    known = data.draw(st.integers(0, len(urls)))
    some: dict[str, int] = {}
    first = folder_codes(Keys(urls[:known]), 0, some)
    keys.folders = Folders(tuple(some), first)
    again: dict[str, int] = {}
    assert folder_codes(keys, 0, again).tolist() == wanted
    assert again == plain
