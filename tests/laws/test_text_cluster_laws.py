"""Clusters of texts: weights, means and names by hand."""

from math import log, sqrt

import numpy as np
import pytest
from scipy import sparse

from halflife.core.categories import Categories
from lab.grouping import texts as module
from lab.grouping.texts import (
    _means,
    _names,
    _nearest,
    _seeds,
    _vectors,
    clusters,
    k_means,
    usual_number,
)

# Tea is on pages 0 and 1, a cup on 1, 2 and 3, a jar on 3; page 4 is bare.
TERMS = Categories.of_pairs(
    ["tea", "cup", "jar", "the"],
    np.array([0, 0, 1, 1, 1, 2, 3, 3, 3, 3]),
    np.array([0, 1, 1, 2, 3, 3, 0, 1, 2, 3]),
    5,
)


def test_a_page_is_its_terms_weighted_by_how_few_pages_hold_them():
    tea, cup, jar = log(4 / 2), log(4 / 3), log(4 / 1)
    both, last = sqrt(tea**2 + cup**2), sqrt(cup**2 + jar**2)
    wanted = [
        [1.0, 0.0, 0.0, 0.0],
        [tea / both, cup / both, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [0.0, cup / last, jar / last, 0.0],
        [0.0, 0.0, 0.0, 0.0],
    ]
    found = _vectors(TERMS)
    assert found.toarray() == pytest.approx(np.array(wanted))
    assert np.diff(found.indptr).tolist() == [1, 2, 1, 2, 0]


@pytest.mark.parametrize(
    ("pages", "number"), [(0, 1), (1, 1), (2, 1), (8, 2), (18, 3), (200, 10)]
)
def test_pages_are_cut_into_the_root_of_half_their_number(pages, number):
    assert usual_number(pages) == number


def unit(*angles):
    rows = np.array([[np.cos(a), np.sin(a)] for a in angles])
    return sparse.csr_array(rows), rows


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_every_row_goes_to_the_centre_of_the_least_angle(monkeypatch, rows):
    monkeypatch.setattr(module, "_ROWS", rows)
    vectors, _ = unit(0.1, 0.7, 0.9, 1.5, 0.2)
    _, centres = unit(0.0, 1.0)
    assert _nearest(vectors, centres).tolist() == [0, 1, 1, 1, 0]


def test_a_centre_is_the_direction_of_the_sum_of_its_rows_or_stays():
    vectors, rows = unit(0.1, 0.5, 1.4)
    _, centres = unit(0.0, 1.0, 0.3)
    found = _means(vectors, np.array([0, 0, 1]), centres)
    assert found[0] == pytest.approx([np.cos(0.3), np.sin(0.3)])
    assert found[1] == pytest.approx(rows[2])
    assert found[2] == pytest.approx(centres[2])


def test_centres_move_until_they_rest():
    vectors, _ = unit(0.0, 0.1, 0.5, 1.3, 1.5)
    _, centres = unit(0.0, 0.4)
    label, rest = k_means(vectors, centres, 25)
    assert label.tolist() == [0, 0, 0, 1, 1]
    assert rest[1] == pytest.approx([np.cos(1.4), np.sin(1.4)])
    assert k_means(vectors, centres, 0)[0].tolist() == [0, 0, 1, 1, 1]
    once, moved = k_means(vectors, centres, 1)
    assert moved[0] == pytest.approx([np.cos(0.05), np.sin(0.05)])
    assert once.tolist() == [0, 0, 0, 1, 1]


class Drawn:
    """Chances given by hand."""

    def __init__(self, *chances):
        self.left = list(chances)

    def random(self):
        return self.left.pop(0)


def test_first_centres_are_drawn_by_their_distance_from_those_before():
    vectors, rows = unit(0.0, 0.0, np.pi / 3, np.pi / 2)
    # The second page first; then the distances are 0, 0, 1/2 and 1.
    for chance, page in ((0.0, 2), (0.33, 2), (0.34, 3), (0.999, 3)):
        found = _seeds(vectors, 2, Drawn(0.26, chance))
        assert found == pytest.approx(rows[[1, page]])
    rng = Drawn(0.0, 0.5, 0.5)
    third = _seeds(vectors, 4, rng)  # the fourth page is as good as drawn already
    assert third[:3] == pytest.approx(rows[[0, 3, 2]])
    assert not third[3].any()
    assert rng.left == []


def test_a_cluster_is_named_by_its_three_heaviest_terms():
    centres = np.array(
        [[0.1, 0.5, 0.0, 0.7], [0.0, 0.0, 1.0, 0.0], [0.2, 0.3, 0.4, 0.5]]
    )
    terms = ["a", "b", "c", "d"]
    assert _names(centres, terms) == ["0 d b a", "1 c", "2 d c b"]


def test_pages_without_a_telling_term_are_in_no_cluster():
    rng = np.random.default_rng(0)
    made = clusters(TERMS, rng, k=9)
    assert sorted(made.item.tolist()) == [0, 1, 2, 3]
    assert made.n_items == 5
    one = clusters(TERMS, rng, k=0)
    assert one.size.tolist() == [4]
    usual = clusters(TERMS, rng)
    assert len(usual) == 1
    same = Categories.of_pairs(["the"], np.zeros(3, int), np.arange(3), 3)
    assert len(clusters(same, rng)) == 0
