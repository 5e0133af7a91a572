import json

import numpy as np
import pytest

import textdb_folder
from halflife.bench import texts
from halflife.bench.textbuys import MEASURES, buys
from halflife.bench.textcox import alone, by_threshold, curves
from halflife.bench.textplans import plans
from halflife.bench.textviews import views
from halflife.recordings.textdb import load
from halflife.study.texts import markdown
from lab import text_study
from text_worlds import databases

SITES = {f"{kind}{k}.net": kind for kind in ("com", "edu", "gov") for k in (1, 2, 3)}
COMMON = [f"w{k:03d}" for k in range(300)]
RARE = [f"r{i}-{page}-{k}" for i in range(9) for page in range(13) for k in range(4)]


def documents(weeks=44, each=25):
    """Return documents of common and rare words that now and then are rewritten."""
    rng = np.random.default_rng(0)
    often = 1.0 / (1.0 + np.arange(len(COMMON)))
    rows = []
    for i, site in enumerate(SITES):
        for page in range(each):
            week = 0
            while week < weeks:
                end = min(week + 1 + int(rng.exponential(8.0 + 6.0 * i)), weeks) - 1
                some = rng.choice(300, 40, replace=False, p=often / often.sum())
                rare = [f"r{i}-{page // 2}-{k}" for k in range(4)]
                words = [*(COMMON[k] for k in some), *rare]
                rows.append((site, f"/{page}", week, end, words))
                week = end + 1
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    return textdb_folder.write(folder, documents(), words=COMMON + RARE, sites=SITES)


@pytest.fixture(scope="module")
def found():
    rates = np.tile([0.0003, 0.0008, 0.002, 0.005], 10)
    return databases(rates, seed=9)


def test_the_whole_study_is_written(folder, tmp_path, capsys):
    text_study.main(
        [str(folder), str(tmp_path / "out"), "--every", "5,20", "--sites", "6"]
    )
    out, err = capsys.readouterr()
    told = json.loads((tmp_path / "out" / "texts.json").read_text())
    assert {
        "ageing",
        "lifetimes",
        "cox",
        "policies",
        "plans",
        "bayes",
        "selection",
    } <= set(told)
    assert {r["policy"] for r in told["policies"]} == set(texts.RULES)
    assert {r["every"] for r in told["policies"]} == {5.0, 20.0}
    assert out == (tmp_path / "out" / "texts.md").read_text()
    assert "selection" in err
    pictures = {p.name for p in (tmp_path / "out").glob("*.svg")}
    for name in ("kl-all", "kl-recent", "survival-all", "bayes-all", "ur-recent"):
        assert f"texts-{name}.svg" in pictures
        assert (tmp_path / "out" / f"texts-{name}.csv").exists()


def test_one_database_a_domain_cannot_be_told_by_others(tmp_path):
    rows = textdb_folder.documents(weeks=36, each=15)
    view = views(load(textdb_folder.write(tmp_path, rows)))[0]
    assert texts._cox(view, lambda _: None)["left_out"] is None
    assert buys(view, ["naive"], [5.0], newest=None) == []


def test_coefficients_say_that_past_drift_foretells_future_drift(found):
    told = by_threshold(found, (0.005, 0.02))
    assert [row["tau"] for row in told] == [0.005, 0.02]
    for row in told:
        assert row["kl_1"]["low"] > 0
        assert row["kl_1"]["low"] <= row["kl_1"]["mean"] <= row["kl_1"]["high"]
        assert set(row["shape"]) == {"com", "edu", "gov", "misc", "org"}


def test_a_threshold_that_nothing_reaches_says_so(found):
    assert by_threshold(found, (99.0,)) == [
        {"tau": 99.0, "lifetimes": 1200, "ended": 0, "status": "nothing ended"}
    ]


def test_features_are_tried_one_by_one(found):
    told = {row["feature"]: row for row in alone(found, (0.005, 0.02))}
    assert told["ln_kl_1"]["hazard_ratio"]["low"] > 1
    assert told["ln_kl_1"]["log_likelihood"] > told["ln_words"]["log_likelihood"]


def test_curves_begin_at_one_and_fall(found):
    for alive in curves(found, 0.02, 30).values():
        assert alive[0] == 1.0
        assert (np.diff(alive) < 0).all()


def test_naive_bayes_makes_fewer_updates_where_less_counts_as_a_change(folder):
    told = texts.updates(views(load(folder))[0])
    assert all(row["mean"] <= row["most"] for row in told)
    assert all(len(row["weekly"]) == 34 for row in told)


def test_selection_under_a_rule_lies_between_stale_and_fresh(folder):
    view = views(load(folder))[0]
    rows = buys(view, ["naive", "champion"], [2.0, 20.0], newest=None)
    assert [(r["policy"], r["every"]) for r in rows] == [
        ("naive", 2.0), ("champion", 2.0), ("naive", 20.0), ("champion", 20.0),
    ]  # fmt: skip
    for row in rows:
        assert row["overlap_5_fresh"] == 1.0
        for name in MEASURES:
            assert 0 <= row[name]["low"] <= row[name]["high"] <= 1
    assert rows[0]["overlap_5"]["mean"] >= rows[2]["overlap_5"]["mean"]
    assert rows[0]["overlap_5_gain"]["mean"] == 0.0


def test_plans_tell_whom_they_give_up_on(folder):
    told = plans(views(load(folder))[0], (5.0, 60.0))
    assert [(r["policy"], r["every"]) for r in told] == [
        ("survival", 5.0), ("survival", 60.0), ("survival-log", 5.0),
        ("survival-log", 60.0),
    ]  # fmt: skip
    for row in told:
        assert row["half_life"] == sorted(row["half_life"])
        assert row["interval"] == sorted(row["interval"])
        assert 0 <= row["drift_given_up"] <= 1
    assert told[0]["given_up"] <= told[1]["given_up"]


def test_a_table_has_a_line_for_each_rule_and_interval():
    bounds = {"mean": 0.5, "low": 0.25, "high": 0.75}
    names = (
        "ur", "wr", "up", "wp", "kl", "kl_cut", "true", "true_gain",
        "update_precision", "predicted_precision", "predicted_then",
    )  # fmt: skip
    row = {"view": "all", "policy": "naive", "every": 10, "spent_a_week": 7.2}
    told = markdown([row | dict.fromkeys(names, bounds)]).splitlines()
    assert len(told) == 3
    assert told[2].startswith("| all | naive | 10 | 0.500 [0.250, 0.750] |")
    assert told[2].endswith("| 7.20 |")
