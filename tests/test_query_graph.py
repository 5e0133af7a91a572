"""Shortest paths on the query-related graph, against a graph that is written down."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.forms import Term
from halflife.queries.graph import QueryGraph, distances, selection
from halflife.queries.incidence import Incidence

TABLES = st.lists(
    st.sets(st.tuples(st.sampled_from("ABC"), st.integers(0, 7)), max_size=4),
    min_size=1,
    max_size=25,
)


def joined(rows: list[set[tuple[str, int]]]) -> Incidence:
    terms = [tuple(Term(a, str(v)) for a, v in row) for row in rows]
    return Incidence.from_terms([f"r{i}" for i in range(len(rows))], terms)


def written_down(incidence: Incidence) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(len(incidence)))
    for number in range(len(incidence.terms)):
        rows = incidence.of_term(number).tolist()
        graph.add_edges_from((a, b) for a in rows for b in rows if a < b)
    return graph


def brute(incidence: Incidence, targets: np.ndarray) -> tuple[list[int], list[int]]:
    graph = written_down(incidence)
    total, reached = [], []
    for row in range(len(incidence)):
        far = nx.single_source_shortest_path_length(graph, row)
        others = [d for i, d in far.items() if targets[i] and i != row]
        total.append(sum(others))
        reached.append(len(others))
    return total, reached


@given(TABLES, st.randoms(use_true_random=False))
def test_sums_and_numbers_of_paths_are_those_of_networkx(rows, random) -> None:
    incidence = joined(rows)
    targets = np.array([random.random() < 0.5 for _ in rows])
    paths = distances(incidence, targets)
    total, reached = brute(incidence, targets)
    assert paths.total.tolist() == total
    assert paths.reached.tolist() == reached


def test_more_targets_than_a_word_holds_walk_in_several() -> None:
    rng = np.random.default_rng(1)
    rows = [
        {("A", int(rng.integers(40))), ("B", int(rng.integers(60)))} for _ in "x" * 300
    ]
    incidence = joined(rows)
    history = rng.random(300) < 0.8
    sample = rng.random(300) < 0.4
    found = selection(incidence, history, sample)
    for paths, targets in ((found.history, history), (found.sample, sample)):
        total, reached = brute(incidence, targets)
        assert paths.total.tolist() == total
        assert paths.reached.tolist() == reached
    assert np.ptp(found.sel) > 0


@given(TABLES)
def test_with_sample_and_history_the_same_no_record_promises_more(rows) -> None:
    everything = np.ones(len(rows), dtype=bool)
    assert np.all(selection(joined(rows), everything, everything).sel == 1.0)


@given(TABLES, st.randoms(use_true_random=False))
def test_swapping_history_and_sample_inverts_the_score(rows, random) -> None:
    history = np.array([random.random() < 0.6 for _ in rows])
    sample = np.array([random.random() < 0.4 for _ in rows])
    incidence = joined(rows)
    one = selection(incidence, history, sample).sel
    other = selection(incidence, sample, history).sel
    assert one * other == pytest.approx(np.ones(len(rows)))


@given(TABLES)
def test_paths_are_as_long_from_either_end(rows) -> None:
    incidence = joined(rows)
    graph = QueryGraph.of(incidence)
    eye = np.eye(len(rows), dtype=bool)
    table = np.array([graph.sums(one) for one in eye])
    assert np.array_equal(table, table.T)


def test_a_chain_is_as_long_as_it_is() -> None:
    rows = [{("A", i), ("A", i + 1)} for i in range(80)]
    paths = distances(joined(rows), np.ones(80, dtype=bool))
    assert paths.total[0] == sum(range(80))
    assert paths.reach.tolist() == [1.0] * 80


def test_what_cannot_be_reached_is_left_out_and_told() -> None:
    rows = [{("A", 1)}, {("A", 1)}, {("A", 2)}, set()]
    paths = distances(joined(rows), np.array([True, True, True, True]))
    assert paths.average[:2].tolist() == [1.0, 1.0]
    assert np.isnan(paths.average[2:]).all()
    assert paths.reach == pytest.approx([1 / 3, 1 / 3, 0.0, 0.0])


def test_a_sample_of_the_record_alone_says_nothing() -> None:
    only = np.array([True, False])
    found = selection(joined([{("A", 1)}, {("A", 1)}]), ~only, only)
    assert found.sel.tolist() == [1.0, 1.0]
    assert found.sample.others.tolist() == [0, 1]


def test_no_targets_mean_no_paths() -> None:
    paths = distances(joined([{("A", 1)}, {("A", 1)}]), np.zeros(2, dtype=bool))
    assert paths.total.tolist() == [0, 0]
    assert np.isnan(paths.reach).all()
