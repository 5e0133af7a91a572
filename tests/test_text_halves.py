"""Rules for summaries on databases that no setting was chosen on."""

import json

import numpy as np
import pytest

import textdb_folder
from halflife.policies.texts.checked_index import CheckedIndex, checked
from lab import text_halves
from lab.text_halves import Kept, Tally, loss, main


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(text_halves, "GRID", (CheckedIndex(share=0.2), checked))
    monkeypatch.setattr(text_halves, "CHOSEN_AT", (4.0,))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rows = textdb_folder.documents(weeks=24)
    return textdb_folder.write(tmp_path_factory.mktemp("texts"), rows)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("telling", ["exact", "absent"])
def test_rows_say_which_half_they_show_at_equal_requests(folder, telling, capsys):
    asked = ["--splits", "2", "--every", "4", "--telling", telling]
    main([str(folder), *asked])
    told = json.loads(capsys.readouterr().out)
    assert (told["databases"], told["splits"], told["telling"]) == (3, 2, telling)
    assert told["variants"]["in the grid"] == 2
    assert sum(one["times"] for one in told["settings"]) == 2
    halves = {(r["policy"], r["half"]) for r in told["results"]}
    assert halves == {
        ("index", "held out"), ("champion", "held out"),
        ("champion, chosen", "held out"), ("champion, chosen", "chosen on"),
    }  # fmt: skip
    for row in told["results"]:
        cut = row["kl_cut"]
        assert cut["low"] <= cut["mean"] <= cut["high"]
        assert row["spent"] == pytest.approx(1.0, abs=0.35)  # of few weeks
        by_counts = row["policy"] != "index" and telling == "exact"
        assert (row["checks"] > 0) == by_counts
        assert len(row["kl_cut_splits"]) == len(row["median_cut_splits"]) == 2


def test_a_worse_median_counts_more_than_a_better_mean():
    plain = Kept(np.array([1.0, 1.0, 8.0]), 1.0, 0.0)
    fair = Kept(np.array([0.9, 0.9, 6.0]), 1.0, 0.0)
    greedy = Kept(np.array([1.3, 1.3, 4.0]), 1.0, 0.0)
    assert greedy.kl.mean() < fair.kl.mean()
    assert loss(fair, plain) < loss(plain, plain) < loss(greedy, plain)


def test_a_database_counts_once_for_each_split_that_held_it_out():
    tally, key = Tally(3), ("rule", "held out", 5.0)
    one, two = (
        Kept(np.array([1.0, 2.0]), 0.4, 0.1),
        Kept(np.array([4.0, 4.0]), 0.4, 0.0),
    )
    tally.add(key, np.array([0, 1]), one, two)
    tally.add(key, np.array([1, 2]), two, two)
    (row,) = tally.rows()
    assert row["kl_over_naive"] == pytest.approx((1 + 2 + 4 + 4) / 16)
    assert row["kl_cut_splits"] == [0.625, 0.0]
    assert row["spent"] == pytest.approx(1.0)  # 0.4 a week of 2 in 5 weeks
    assert row["no_worse"] == 1.0
