import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from halflife.core.categories import Categories
from halflife.grouping import topic
from halflife.grouping.topic import LinkMatrix, Surfer, common_terms
from halflife.grouping.topic_book import TopicBook
from topic_webs import random_web, web, webs


def members(categories):
    return {
        name: set(categories.members(j).tolist())
        for j, name in enumerate(categories.names)
    }


def test_the_commonest_terms_are_on_many_pages_but_not_on_most():
    book = TopicBook()
    for page, terms in zip(
        "abcdef", ("xyz", "xyz", "xz", "xy", "x", "xv"), strict=True
    ):
        book.download(page, list(terms), [])
    # x is on all six, y and z on three, v on one
    assert book.commonest(9) == ("y", "z")
    assert book.commonest(1) == ("y",)
    assert book.commonest(9, 1.0) == ("x", "y", "z")
    assert book.commonest(9, 0.4) == ()


def test_worked_example_of_two_pages_that_praise_a_third():
    links, terms = web(3, [(0, 2), (1, 2), (1, 0)], [(0, 0), (0, 1)], 1)
    page_0 = 0.15 / 2 + 0.85 * (0.15 / 2) / 2
    page_2 = 0.85 * (page_0 / 1 + (0.15 / 2) / 2)
    found = Surfer().reputation(links, terms)[:, 0]
    np.testing.assert_allclose(found, [page_0, 0.15 / 2, page_2])


@given(webs())
def test_mass_is_lost_only_at_pages_without_links(web):
    links, terms = web
    d = 0.15
    found = Surfer(jump=d).reputation(links, terms)
    held = terms.size > 0
    dangling = found[links.out == 0].sum(axis=0)
    expected = np.where(held, 1.0 - (1.0 - d) / d * dangling, 0.0)
    np.testing.assert_allclose(found.sum(axis=0), expected, atol=1e-9)
    assert np.all(found >= 0)
    assert np.all(found.sum(axis=0) <= 1 + 1e-12)


@given(webs(), st.randoms(use_true_random=False))
def test_the_numbering_of_pages_does_not_matter(web, shuffle):
    links, terms = web
    new = list(range(links.n_pages))
    shuffle.shuffle(new)
    new = np.array(new)
    moved = LinkMatrix(new[links.source], new[links.target], links.n_pages)
    renamed = Categories.of_pairs(
        terms.names, terms.category, new[terms.item], links.n_pages
    )
    for surfer in (Surfer(), Surfer(in_links=1), Surfer(depth=2)):
        one = surfer.reputation(links, terms)
        np.testing.assert_allclose(surfer.reputation(moved, renamed)[new], one)


@given(webs())
def test_without_links_only_the_words_on_a_page_count(web):
    links, terms = web
    none = LinkMatrix.of_pairs(links.source[:0], links.target[:0], links.n_pages)
    expected = np.zeros((links.n_pages, len(terms)))
    expected[terms.item, terms.category] = 0.15 / terms.size[terms.category]
    np.testing.assert_allclose(Surfer().reputation(none, terms), expected)
    np.testing.assert_allclose(Surfer(in_links=0).reputation(links, terms), expected)
    np.testing.assert_allclose(Surfer(depth=0).reputation(links, terms), expected)


@given(webs())
def test_more_depth_adds_reputation_up_to_the_whole(web):
    links, terms = web
    whole = Surfer().reputation(links, terms)
    before = Surfer(depth=0).reputation(links, terms)
    for depth in range(1, 5):
        found = Surfer(depth=depth).reputation(links, terms)
        assert np.all(found >= before - 1e-12)
        assert np.all(found <= whole + 1e-12)
        assert np.all((whole - found).sum(axis=0) <= 0.85 ** (depth + 1) + 1e-12)
        before = found


@given(webs(), st.integers(1, 5))
def test_a_page_is_in_the_topics_of_its_greatest_reputations(web, k):
    links, terms = web
    found = members(Surfer().topics(links, terms, k))
    score = Surfer().reputation(links, terms)
    for page in range(links.n_pages):
        mine = {terms.names.index(name) for name in found if page in found[name]}
        assert len(mine) == min(k, int((score[page] > 0).sum()))
        rest = set(range(len(terms))) - mine
        least = min((score[page, t] for t in mine), default=np.inf)
        assert all(score[page, t] <= least + 1e-12 for t in rest)
    assert all(found.values())


def test_blocks_and_parts_do_not_change_the_topics(monkeypatch):
    links, terms = random_web(200, 260, 9, seed=3)
    whole = members(Surfer().topics(links, terms, 3))
    monkeypatch.setattr(topic, "_BLOCK", 200)
    monkeypatch.setattr(topic, "_SMALL", 16)
    assert members(Surfer(tolerance=1e-12).topics(links, terms, 3)) == whole


def test_of_equal_reputations_those_named_first_count():
    links, terms = web(2, [(0, 1)], [(0, 0), (1, 0), (2, 0), (3, 0)], 4)
    assert Surfer().topics(links, terms, 2).names == ("t0", "t1")


def test_links_are_counted_once_and_never_to_the_page_itself():
    pairs = np.array([0, 0, 1, 1]), np.array([1, 1, 1, 0])
    links = LinkMatrix.of_pairs(*pairs, 2)
    assert list(zip(links.source, links.target, strict=True)) == [(0, 1), (1, 0)]


def test_common_terms_are_those_on_enough_pages():
    terms = Categories.of_pairs(
        "abc", np.array([0, 1, 1, 2, 2, 2]), np.array([0, 0, 1, 0, 1, 2]), 3
    )
    assert common_terms(terms, 2).names == ("b", "c")
    assert common_terms(terms, 1, most=1).names == ("c",)
    assert members(common_terms(terms, 2)) == {"b": {0, 1}, "c": {0, 1, 2}}


@pytest.mark.parametrize("bad", [{"jump": 0.0}, {"jump": 1.5}, {"tolerance": 0.0}])
def test_settings_that_cannot_be_used_are_refused(bad):
    with pytest.raises(ValueError, match="must be"):
        Surfer(**bad)


def test_a_page_without_topics_cannot_be_asked_for():
    with pytest.raises(ValueError, match="at least 1"):
        Surfer().topics(*web(1, [], [], 1), k=0)


def test_no_pages_and_no_terms_make_no_topics():
    none = np.zeros(0, np.intp)
    empty = Categories.of_pairs((), none, none, 0)
    assert len(Surfer().topics(LinkMatrix.of_pairs(none, none, 0), empty)) == 0
    links, _ = web(2, [(0, 1)], [], 1)
    assert len(Surfer().topics(links, Categories.of_pairs((), none, none, 2))) == 0


def test_a_page_is_filed_as_it_is_downloaded_under_what_its_links_say():
    book = TopicBook(k=2)
    assert book.download("hub", ["tea", "cups"], ["shop", "hub"]) == ("cups", "tea")
    assert book.topics("shop") == ("cups", "tea")  # known before it is seen
    assert book.download("shop", ["tea"], []) == ("tea", "cups")
    assert members(book.categories()) == {"cups": {0, 1}, "tea": {0, 1}}
    assert book.categories(["x", "shop"]).n_items == 2
    assert members(book.categories(["x", "shop"])) == {"cups": {1}, "tea": {1}}


def test_topics_that_exist_already_take_new_pages_too():
    book = TopicBook()
    for page in "abc":
        book.download(page, ["tea"], [])
    assert members(book.categories()) == {"tea": {0, 1, 2}}


def test_pages_are_filed_again_by_what_came_to_be_known():
    book = TopicBook(k=1)
    assert book.download("a", ["x"], []) == ("x",)
    for i in range(9):
        book.download(f"p{i}", ["x"], [])
        book.download(f"q{i}", ["y"], ["a"])
    assert book.filed["a"] == ("x",)
    book.refile()
    assert book.filed["a"] == ("y",)


def test_a_book_knows_only_its_vocabulary_and_takes_a_page_once():
    book = TopicBook(vocabulary=["tea"])
    assert book.download("a", ["tea", "mug"], ["b"]) == ("tea",)
    assert book.download("a", ["mug"], ["c"]) == ("tea",)
    assert book.topics("c") == ()


def test_what_a_book_has_not_passed_on_is_bounded():
    rng = np.random.default_rng(1)
    book = TopicBook(tolerance=1e-2)
    for page in range(200):
        links = map(str, rng.integers(0, 200, 5).tolist())
        book.download(str(page), [f"t{page % 3}"], links)
    loose = book.error()
    book.settle(tolerance=1e-9)
    assert book.error() < min(loose, 1e-6)
