"""What links cost is measured on graphs that are what they are said to be."""

import pytest

from halflife.kinds.pages.links import read_links
from lab import crawling


@pytest.mark.parametrize("links", [1, 50, 1000])
def test_a_made_up_page_has_the_links_it_should(links):
    assert len(read_links(crawling.page(links), "http://example.org/").to) == links


def test_what_a_link_takes_is_the_links_alone():
    told = crawling.keeping(pages=400, links=10, seed=1)
    assert 0.95 * 4000 < told["links"] <= 4000  # a link given twice counts once
    assert 8 < told["bytes_a_link"] < 16  # two numbers and their frame


def test_the_same_seed_makes_the_same_graph():
    one, two = (crawling.graph(50, 7, seed=3) for _ in range(2))
    assert (one == two).all()
    assert one.shape == (50, 7)
    assert one.max() < 50
