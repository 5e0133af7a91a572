"""Reputations and topics: the equation solved, and the best chosen one by one."""

import numpy as np
import pytest
from scipy import sparse

from halflife.core.categories import Categories
from halflife.grouping import topic as module
from halflife.grouping.topic import (
    LinkMatrix,
    Surfer,
    _Best,
    _iterate,
    _rarest,
    _series,
    _walk,
    common_terms,
)
from halflife.grouping.topic_book import TopicBook

WEB = {
    "a": ("b", "c"),
    "b": ("c",),
    "c": ("a",),
}
TERMS = {"a": ("tea",), "b": ("tea", "cup"), "c": ()}
JUMP = 0.2


def exact(term):
    """Return Q of each page: the surfer's equation times N(t), solved outright."""
    pages = sorted(WEB)
    ways = np.zeros((3, 3))
    for source, targets in WEB.items():
        for target in targets:
            ways[pages.index(target), pages.index(source)] = 1 / len(targets)
    own = np.array([float(term in TERMS[page]) for page in pages])
    return np.linalg.solve(np.eye(3) - (1 - JUMP) * ways, JUMP * own)


def a_book(tolerance):
    book = TopicBook(k=2, jump=JUMP, tolerance=tolerance)
    for page in "abc":
        book.download(page, TERMS[page], WEB[page])
    return book


@pytest.mark.parametrize("tolerance", [0.5, 0.1, 1e-6])
def test_a_book_says_by_how_much_it_is_off(tolerance):
    book = a_book(tolerance)
    off = []
    for term, holders in (("tea", 2), ("cup", 1)):
        known = [holders * book.reputation(page).get(term, 0.0) for page in "abc"]
        off.append(float(np.sum(exact(term) - known)))
        assert (np.array(known) <= exact(term) + 1e-12).all()
    assert book.error() == pytest.approx(max(off), abs=1e-9)
    assert TopicBook(k=2, jump=JUMP).error() == 0.0


def test_a_finer_tolerance_settles_what_a_coarse_one_left():
    book = a_book(0.5)
    before = book.error()
    book.settle(1e-9)
    assert book.error() < 1e-6 < before
    for term, holders in (("tea", 2), ("cup", 1)):
        known = [holders * book.reputation(page).get(term, 0.0) for page in "abc"]
        assert known == pytest.approx(exact(term), abs=1e-6)
    coarse = a_book(0.5)
    coarse.settle(9.0)  # never coarser than it was
    assert coarse.error() == pytest.approx(before)


def test_only_the_first_links_to_a_page_count_for_it():
    book = TopicBook(k=2, jump=JUMP, tolerance=1e-9, in_links=1)
    book.download("a", ("tea",), ("x", "y", "a", "x"))
    book.download("b", ("tea",), ("x",))
    found = book.reputation("x")["tea"]
    assert found == pytest.approx((1 - JUMP) * JUMP / 2 / 2)  # half of what a has
    both = TopicBook(k=2, jump=JUMP, tolerance=1e-9, in_links=2)
    both.download("a", ("tea",), ("x", "y"))
    both.download("b", ("tea",), ("x",))
    assert both.reputation("x")["tea"] == pytest.approx((1 - JUMP) * JUMP * 1.5 / 2)


def test_the_best_of_each_row_are_kept_and_of_equal_ones_the_first():
    rng = np.random.default_rng(0)
    for k in (1, 2, 3, 5):
        score = rng.integers(0, 4, (6, 5)).astype(float)
        best = _Best.none(6).with_more(score[:, :2], np.array([0, 1]), k)
        best = best.with_more(score[:, 2:], np.array([2, 3, 4]), k)
        page, term = best.pairs(np.arange(10, 16))
        found = {(p, t) for p, t in zip(page.tolist(), term.tolist(), strict=True)}
        wanted = {
            (10 + i, j)
            for i, row in enumerate(score.tolist())
            for j in sorted(range(5), key=lambda j: (-row[j], j))[:k]
            if row[j] > 0
        }
        assert found == wanted


def test_pages_without_links_are_known_for_their_rarest_terms():
    terms = Categories.of_pairs(
        "xyz", np.array([0, 0, 0, 1, 1, 2, 2]), np.array([0, 1, 2, 0, 1, 0, 2]), 4
    )
    inside = terms.item < 2
    page, term = _rarest(terms, inside, 2)
    assert list(zip(page.tolist(), term.tolist(), strict=True)) == [
        (0, 1), (0, 2), (1, 1), (1, 0),
    ]  # fmt: skip
    assert _rarest(terms, inside, 1)[1].tolist() == [1, 1]


def test_terms_on_too_few_pages_are_left_out_and_the_commonest_kept():
    terms = Categories.of_pairs(
        "wxyz",
        np.array([0, 1, 1, 2, 2, 2, 3, 3]),
        np.array([0, 0, 1, 0, 1, 2, 1, 2]),
        3,
    )
    assert common_terms(terms, 2).names == ("x", "y", "z")
    assert common_terms(terms, 1, 2).names == ("x", "y")
    assert common_terms(terms, 3).names == ("y",)
    assert common_terms(terms, 2).members(2).tolist() == [1, 2]


def test_links_count_in_the_order_given():
    links = LinkMatrix.of_pairs([0, 1, 0, 2, 2, 1], [2, 2, 2, 2, 1, 0], 3)
    assert list(zip(links.source, links.target, strict=True)) == [
        (0, 2), (1, 2), (2, 1), (1, 0),
    ]  # fmt: skip
    assert links.out.tolist() == [1, 2, 1]
    assert links.first_in(1).tolist() == [True, False, True, True]
    assert links.first_in(2).all()
    assert links.first_in(None).all()
    assert not links.first_in(0).any()


WITHIN = sparse.csr_array(np.array([[0.0, 0.4, 0.0], [0.3, 0.0, 0.5], [0.2, 0.1, 0.0]]))
STEP = np.array([[1.0, 0.0], [0.5, 2.0], [0.0, 1.0]])


def test_links_add_up_step_by_step():
    dense, total, power = WITHIN.toarray(), np.zeros((3, 2)), STEP
    for depth in range(5):
        assert _walk(WITHIN, STEP, depth) == pytest.approx(total)
        total, power = total + power, dense @ power
    whole = np.linalg.solve(np.eye(3) - dense, STEP)
    for tolerance in (1e-2, 1e-9):
        found = _iterate(WITHIN, STEP.copy(), tolerance)
        assert (
            np.abs(dense @ found + STEP - found).sum(axis=0).max() <= tolerance + 1e-12
        )
    assert found == pytest.approx(whole, abs=1e-8)


def test_a_step_in_proportion_is_a_series():
    before = np.array([[1.0, 0.0, 2.0], [3.0, 0.0, 2.0]])
    after = np.array([[0.5, 0.0, 1.0], [1.5, 0.0, 0.0]])
    ratio, off = _series(after, before)
    assert ratio == pytest.approx([0.5, 0.0, 0.25])
    assert off == pytest.approx([0.0, 0.0, (0.5 + 0.5) / 0.75])


@pytest.mark.parametrize("small", [4, 2048])
@pytest.mark.parametrize("block", [1, 1 << 21])
def test_reputations_solve_the_equation_however_pages_are_parted(
    monkeypatch, small, block
):
    monkeypatch.setattr(module, "_SMALL", small)
    monkeypatch.setattr(module, "_BLOCK", block)
    rng = np.random.default_rng(1)
    source, target = rng.integers(0, 12, 20), rng.integers(0, 12, 20)
    links = LinkMatrix.of_pairs(source, target, 12)
    terms = Categories.of_pairs("xy", rng.integers(0, 2, 9), rng.integers(0, 12, 9), 12)
    found = Surfer(tolerance=1e-9).reputation(links, terms)
    ways = np.zeros((12, 12))
    for a, b in zip(links.source, links.target, strict=True):
        ways[b, a] = 0.85 / links.out[a]
    own = np.zeros((12, 2))
    for j in range(2):
        own[terms.members(j), j] = 0.15 / terms.size[j]
    assert found == pytest.approx(np.linalg.solve(np.eye(12) - ways, own), abs=1e-8)


def test_of_many_topics_a_page_is_filed_under_those_it_is_best_known_for():
    book = a_book(1e-9)
    one = TopicBook(k=1, jump=JUMP, tolerance=1e-9)
    for page in "abc":
        one.download(page, TERMS[page], WEB[page])
    for page in "abc":
        known = book.reputation(page)
        best = max(known, key=known.__getitem__)
        found = one.filed_under(("cup", "tea"), [page])
        filed = [n for j, n in enumerate(found.names) if found.members(j).size]
        assert filed == [best]
