import json

import numpy as np

from halflife.recordings.pages import Recording
from lab.groups import compare, looked, main, online
from lab.topics import random_graph


def recording(n, days=120.0):
    """Pages of two sites, each of which changes all at once every 20 days."""
    at = np.sort(np.concatenate([np.arange(5.0, days, 20.0)] * n).reshape(n, -1))
    at += np.where(np.arange(n) % 2, 10.0, 0.0)[:, None]
    start = np.arange(n + 1) * at.shape[1]
    never = np.full(n, np.inf)
    keys = tuple(f"s{i % 2}/f{i % 4}/p{i}" for i in range(n))
    group = tuple(f"s{i % 2}" for i in range(n))
    return Recording(keys, start, at.ravel(), np.ones(n), -never, never, group)


def test_pages_that_change_at_once_have_a_greater_chance_together():
    rows = compare(recording(200), random_graph(200, 400, 3), end=120.0)
    found = {row["grouping"]: row for row in rows}
    assert found["site"]["groups"] == 2
    assert found["folder"]["groups"] == 4
    assert found["site"]["chance"] == found["folder"]["chance"] == 1.0
    assert found["site"]["lift"] > 1.0
    assert found["site"]["pages"] == found["pace"]["pages"] == 200


def test_looks_every_two_weeks_show_the_changes_between_them():
    gaps = looked(recording(2), 0.0, 42.0).gaps()
    assert gaps.changed.tolist() == [True, True, False, False, True, True]
    assert gaps.length.tolist() == [14.0] * 6


def test_pages_filed_as_they_come_end_up_near_the_whole_computation():
    graph = random_graph(600, 300, 5)
    told = online(graph, 500)
    assert told["pages"] == 500
    assert 0.5 < told["refiled"] <= 1.0


def test_the_bench_of_places_prints_one_object(capsys):
    main(["--keys", "100"])
    told = json.loads(capsys.readouterr().out)
    assert set(told["cpu_seconds"]) >= {"site", "folder"}
