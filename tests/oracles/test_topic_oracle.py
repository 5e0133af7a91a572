import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from halflife.grouping import topic
from halflife.grouping.topic import Surfer
from halflife.grouping.topic_book import TopicBook
from topic_webs import random_web, solved, webs

jumps = st.sampled_from([0.05, 0.15, 0.5, 1.0])


@given(webs(), jumps)
def test_reputations_solve_the_surfers_equation(web, jump):
    links, terms = web
    found = Surfer(jump=jump).reputation(links, terms)
    np.testing.assert_allclose(found, solved(links, terms, jump), atol=1e-12)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-5, 1e-9])
@pytest.mark.parametrize("links", [150, 900])
def test_iterated_reputations_are_within_tolerance(monkeypatch, tolerance, links):
    monkeypatch.setattr(topic, "_SMALL", 2)
    web = random_web(300, links, 7, seed=links)
    found = Surfer(tolerance=tolerance).reputation(*web)
    error = np.abs(found - solved(*web, 0.15)).sum(axis=0)
    assert error.max() <= tolerance * 1.05


@given(webs(), st.integers(0, 3))
def test_in_links_beyond_the_first_few_do_not_count(web, most):
    links, terms = web
    found = Surfer(in_links=most).reputation(links, terms)
    met: dict[int, int] = {}
    kept = []
    for target in links.target.tolist():
        met[target] = met.get(target, 0) + 1
        kept.append(met[target] <= most)
    np.testing.assert_allclose(found, solved(links, terms, 0.15, kept), atol=1e-12)


@given(webs())
def test_algorithm_1_as_printed_ends_at_the_same_reputations(web):
    links, terms = web
    n, d, out = links.n_pages, 0.15, links.out
    has = np.zeros((n, len(terms)))
    has[terms.item, terms.category] = 1.0
    share = has / np.maximum(terms.size, 1)
    rank = share.copy()
    for _ in range(300):
        more = np.zeros_like(rank)
        for q, p in zip(links.source, links.target, strict=True):
            more[p] += rank[q] / out[q]
        rank = (1 - d) * more + d * share
    np.testing.assert_allclose(Surfer().reputation(links, terms), rank, atol=1e-12)


@given(webs(), st.randoms(use_true_random=False), st.sampled_from([None, 1, 2]))
def test_a_book_agrees_with_the_batch_whatever_the_order(web, shuffle, in_links):
    links, terms = web
    pages = list(range(links.n_pages))
    shuffle.shuffle(pages)
    book = TopicBook(in_links=in_links)
    on = [[] for _ in pages]
    for page, term in zip(terms.item.tolist(), terms.category.tolist(), strict=True):
        on[page].append(terms.names[term])
    met = []
    for page in pages:
        leads = links.target[links.source == page].tolist()
        met += [(page, target) for target in leads]
        book.download(str(page), on[page], map(str, leads))
    book.settle(tolerance=1e-10)
    source, target = np.array(met, np.intp).reshape(-1, 2).T
    again = topic.LinkMatrix.of_pairs(source, target, links.n_pages)
    exact = solved(again, terms, 0.15, again.first_in(in_links))
    found = np.zeros_like(exact)
    for page in pages:
        for name, value in book.reputation(str(page)).items():
            found[page, terms.names.index(name)] = value
    np.testing.assert_allclose(found, exact, atol=1e-8)
    off = np.abs(found - exact).sum(axis=0) * terms.size
    assert off.max() <= book.error() + 1e-12
