"""Figures of Yang, Wang, Lim and Wang, "Optimizing Content Freshness of Relations
Extracted From the Web Using Keyword Search", SIGMOD 2010."""

import numpy as np
import pytest

from halflife.queries.known.content import SummedAges
from halflife.queries.known.order import ascending, snapshot
from lab import citations
from summed_ages import summed_ages


@pytest.fixture(scope="module")
def figure_2():
    """Content staleness by rule over 500 days, on the first draw, w = 1."""
    papers = citations.library(np.random.default_rng(0))
    plain = np.ones(citations.PAPERS)
    return {
        name: citations.kept(papers, name, plain, np.random.default_rng([0, 1]))
        for name in ("naive1", "naive2", "greedy", "cube-root", "index")
    }


def test_table_2():
    assert [summed_ages([5, 6, 7], 4.0, at) for at in (6, 7, 8)] == [1, 3, 6]


def test_table_3():
    a = (
        SummedAges(np.array([1.0, 2.0, 3.0, 4.0])).mean(np.ones(4)).reshape(2, 2).sum(1)
        / 4
    )
    assert a.tolist() == [0.375, 0.875]
    cells = {
        (x1, x2): snapshot(a, np.array([x1, x2]))
        for x1 in range(3)
        for x2 in range(3)
        if x1 != x2 or x1 == 0
    }
    assert cells == {
        (0, 0): 5.0,
        (1, 0): 3.875,
        (2, 0): 3.5,
        (0, 1): 2.375,
        (2, 1): 0.875,
        (0, 2): 1.5,
        (1, 2): 0.375,
    }
    assert min(cells, key=cells.get) == tuple(ascending(a).tolist()) == (1, 2)


@pytest.mark.parametrize(("rate", "t"), citations.MOMENTS)
def test_the_expectation_of_section_4_2_is_exact_and_no_bound(rate, t):
    found = citations.moments(rate, t, np.random.default_rng(1))
    assert found["mean"] == pytest.approx(
        found["mean_formula"], abs=4 * found["mean_error"]
    )
    assert found["variance"] == pytest.approx(
        found["variance_formula"], abs=4 * found["variance_error"]
    )


def test_the_lower_bound_of_section_4_2_does_not_meet_the_upper_one():
    found = citations.moments(3.0, 2.0, np.random.default_rng(1))
    assert found["paper_lower_bound"] == pytest.approx(1.67, abs=0.005)
    assert found["mean_formula"] == 6.0


def test_papers_are_drawn_as_section_5_2_says():
    papers = citations.library(np.random.default_rng(0))
    assert papers.citations.min() >= 1.0
    assert np.mean(papers.citations > 2.0) == pytest.approx(0.25, abs=0.04)
    sizes = papers.gains.pool.held[~papers.gains.pool.lookup]
    assert sizes.max() <= citations.LARGEST
    assert sizes.sum() == citations.PAPERS


def test_figure_2_greedy_stays_bounded_and_look_ups_climb(figure_2):
    greedy, naive1, naive2 = (figure_2[n] for n in ("greedy", "naive1", "naive2"))
    assert greedy.max() < 60.0
    assert naive1[-1] > 10 * greedy.max()
    assert naive2[-1] > 10 * naive1[-1]
    assert np.all(np.diff(naive2[::50]) > 0)


def test_figure_2_frequencies_and_the_index_do_better_than_rounds(figure_2):
    mean = {name: curve[100:].mean() for name, curve in figure_2.items()}
    assert mean["cube-root"] < 0.97 * mean["greedy"]
    assert mean["index"] == pytest.approx(mean["cube-root"], rel=0.03)


def test_the_picture_shows_every_rule(figure_2):
    drawn = citations.picture({name: c[None] for name, c in figure_2.items()})
    assert drawn.startswith("<svg")
    assert all(name in drawn for name in figure_2)
