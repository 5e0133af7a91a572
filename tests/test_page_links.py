"""Where the pages of a query are, if each links to the next."""

import pytest
from hypothesis import given, strategies as st
from yarl import URL

from halflife.core.errors import SourceError
from halflife.kinds.form.page_links import PageLinks, next_address

HOME = URL("http://forms.example/things?city=Oslo")


def test_a_link_tells_where_the_next_page_is():
    links = PageLinks()
    assert links.address("walk", 1) is None
    assert links.note("walk", 0, HOME, "?city=Oslo&after=20")
    assert links.address("walk", 1) == URL(
        "http://forms.example/things?city=Oslo&after=20"
    )
    assert links.nearest("walk", 9) == 1
    assert links.nearest("other", 9) == 0


def test_a_page_without_a_link_is_the_last():
    links = PageLinks()
    assert not links.note("walk", 0, HOME, "")
    assert links.address("walk", 1) is None


@pytest.mark.parametrize(
    "link", ["http://elsewhere.example/2", "http://[", "javascript:go()"]
)
def test_a_link_that_cannot_be_followed_is_an_error_when_it_is_to_be_followed(link):
    links = PageLinks()
    assert links.note("walk", 0, HOME, link)
    with pytest.raises(SourceError, match="its next page"):
        links.address("walk", 1)


def test_the_first_page_read_again_begins_the_walk_anew():
    links = PageLinks()
    links.note("walk", 0, HOME, "?after=1")
    links.note("walk", 1, links.address("walk", 1), "?after=2")
    assert links.note("walk", 0, HOME, "?other=1")
    assert links.nearest("walk", 9) == 1
    assert links.address("walk", 1) == URL("http://forms.example/things?other=1")


def test_an_address_from_before_is_old_until_it_was_read_or_forgotten():
    links = PageLinks()
    links.bookmark("walk", 7, HOME)
    assert links.is_old("walk", 7)
    assert links.address("walk", 7) == HOME
    links.forget("walk")
    assert not links.is_old("walk", 7)
    assert links.address("walk", 7) is None
    links.bookmark("walk", 7, HOME)
    links.note("walk", 7, HOME, "?after=8")
    assert not links.is_old("walk", 7)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40))
def test_no_walk_reads_an_address_twice(targets):
    links, url = PageLinks(), HOME
    read = [url]
    for page, target in enumerate(targets):
        if not links.note("walk", page, url, f"?after={target}"):
            break
        url = links.address("walk", page + 1)
        read.append(url)
    assert len(read) == len(set(read))


def test_a_link_is_meant_as_the_page_means_it():
    assert str(next_address(HOME, "/more?p=2")) == "http://forms.example/more?p=2"
