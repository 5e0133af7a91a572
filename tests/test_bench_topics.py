import json

import numpy as np

from halflife.core.categories import Categories
from halflife.grouping.topic import Surfer
from lab.topics import by_loop, likeness, main, random_graph, table


def test_the_plain_loop_ends_where_the_product_does():
    graph = random_graph(60, 200, 5)
    rank, rounds = by_loop(graph, Surfer(tolerance=1e-9))
    assert rounds > 3
    np.testing.assert_allclose(
        rank, Surfer().reputation(graph.links, graph.terms), atol=1e-9
    )


def test_likeness_counts_the_topics_that_two_have_in_common():
    one = Categories.of_pairs("ab", np.array([0, 1, 0]), np.array([0, 0, 1]), 3)
    two = Categories.of_pairs("bc", np.array([0, 1, 1]), np.array([0, 0, 1]), 3)
    np.testing.assert_allclose(likeness(one, two), [1 / 3, 0.0, np.nan])


def test_a_limit_above_all_in_links_changes_nothing():
    told = table(random_graph(80, 300, 20), [1, 80], k=3)["table"]
    assert [row["in_links"] for row in told] == [None, 1, 80]
    assert told[1]["jaccard"] < told[2]["jaccard"] == 1.0


def test_the_bench_prints_one_object(capsys):
    main(["--pages", "500", "--links", "2000", "--terms", "4"])
    told = json.loads(capsys.readouterr().out)
    assert told["pages"] == 500
    assert told["loop_error"] < 1e-5
