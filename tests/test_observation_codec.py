"""What a worker saw, as bytes and back."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from halflife.core.item import Item
from halflife.core.observation import Content, Observation, Outgoing, Seen
from halflife.stores.observation_codec import SeenPages, pack, unpack

texts = st.text(max_size=20)
numbers = st.floats(allow_nan=False, allow_infinity=False)
contents = st.builds(Content, texts, st.binary(max_size=50), texts)
items = st.builds(Item, texts, texts, numbers, numbers, texts, texts)
links = st.builds(
    Outgoing, st.lists(texts).map(tuple), texts, texts, st.dictionaries(texts, texts)
)
observations = st.builds(
    Observation,
    key=texts,
    at=numbers,
    seen=st.sampled_from(Seen),
    digest=texts,
    raw=texts,
    etag=texts,
    modified=st.none() | numbers,
    note=texts,
    content=st.none() | contents,
    item=st.none() | items,
    links=st.none() | links,
)


def whole(look):
    """Return all that an observation holds, also what equality leaves out."""
    content = look.content and (look.content, look.content.head)
    urls = look.links and look.links.urls
    return replace(look), content, look.item, look.links, urls


@given(
    st.lists(observations, max_size=5).map(tuple),
    st.dictionaries(texts, texts),
    st.dictionaries(
        texts, st.tuples(st.integers(0, 599), texts, st.dictionaries(texts, texts))
    ),
)
def test_what_was_packed_comes_back(seen, maps, heads):
    back = unpack(pack(SeenPages(seen, maps, heads)))
    assert list(map(whole, back.observations)) == list(map(whole, seen))
    assert (back.maps, back.heads) == (maps, heads)


@pytest.mark.parametrize("data", [b"", b"x", b"x\x9c", pack(SeenPages())[:-3]])
def test_what_is_no_answer_is_an_error(data):
    with pytest.raises(Exception, match=r".*"):
        unpack(data)
