"""The bench of audits plays the running system on worlds whose truth is known."""

import numpy as np
import pytest

from halflife.core.lifetimes import Collection, Lives
from halflife.recordings.relations import Relation
from halflife.stores.forecasts import IssuedForecast
from lab import auditing, auditing_sets, auditing_texts


@pytest.fixture
def small(monkeypatch):
    for name, value in (
        ("PAGES", 60),
        ("DAYS", 16.0),
        ("MIDDLE", 8.0),
        ("PERIOD", 4.0),
    ):
        monkeypatch.setattr(auditing, name, value)


def test_time_runs_faster_from_the_middle_on(small):
    even = auditing.even(1)
    fast = auditing.hurried(even)
    early = even.at <= 8.0
    assert np.array_equal(fast.at[early], even.at[early])
    assert fast.at[~early] == pytest.approx(8.0 + (even.at[~early] - 8.0) / 5.0)


def test_a_replay_tells_what_audits_found_beside_the_truth(small):
    run = auditing.play(auditing.even(1), 0.3, 1)
    assert len(run.fresh) == 63
    told = auditing.told([run], 0.0)
    assert told["checked"] == run.checks.shape[1] > 50
    assert told["quality"]["periods"] == 4
    assert told["quality"]["truth_inside"]["mean"] >= 0.75
    assert abs(told["quality"]["mean_error"]) < 0.1
    assert [row["ahead"] for row in told["forecasts"]] == [0.0, 1 / 24, 1.0, 7.0]
    for row in told["forecasts"]:
        assert row["with_trust_0.9"] >= row["stated_0.9"]
        assert row["with_trust_0.95"] >= row["stated_0.95"] >= row["stated_0.9"]


def test_without_a_share_nothing_is_checked(small):
    run = auditing.play(auditing.even(1), 0.0, 1)
    assert run.checks.shape[1] == 0
    assert run.rows == []
    assert auditing.covered([run], 0.0, 16.0) == []


def test_the_other_half_is_that_of_which_nothing_else_is_told(
    small, monkeypatch, tmp_path
):
    asked = []

    def world(folder, seed, *, half, begin):
        asked.append((folder, half, begin))
        return auditing.even(seed)

    monkeypatch.setattr(auditing, "world", world)
    (tmp_path / "sites").mkdir()
    found = auditing.KINDS["other-half"](tmp_path)
    assert asked == [(tmp_path / "sites", 1 - auditing.TOLD, auditing.BEGIN)] * 2
    assert found["turns"] == 2 * 63
    assert [row["ahead"] for row in found["forecasts"]] == [0.0, 1 / 24, 1.0, 7.0]


def told(score, trust=1.0, made=10.0, ahead=1.0):
    one = auditing_sets.AuditScores()
    one.made, one.ahead = [made] * len(score), [ahead] * len(score)
    one.score, one.trust = [(s, s) for s in score], [trust] * len(score)
    one.bounds = [(0.8, 0.7, 0.85, 0.8 + 0.05 * s) for s in score]
    return one


def test_coverage_is_counted_with_and_without_trust():
    scores = [0.0, 1.7, -1.8, 2.5]
    (row,) = auditing_sets.covered([told(scores, trust=1.5)], 0.0, 20.0)
    assert row["forecasts"] == 4
    assert row["0.9"] == {"stated": 0.25, "with_trust": 0.75}  # 1.645, and 2.467
    assert row["0.95"] == {"stated": 0.75, "with_trust": 1.0}  # 1.96, and 2.94
    assert row["trust"] == 1.5
    (row,) = auditing_sets.covered([told([30.0, np.inf], trust=20.0)], 0.0, 20.0)
    assert row["0.95"] == {"stated": 0.0, "with_trust": 0.5}
    assert auditing_sets.covered([told(scores)], 20.0, 30.0) == []


def test_width_and_score_are_told_with_and_without_trust():
    # Bounds 0.7 and 0.85 about 0.8; outcomes 0.8, 0.9 and 0.6.
    (row,) = auditing_sets.covered([told([0.0, 2.0, -4.0], trust=2.0)], 0.0, 20.0)
    assert row["error"] == pytest.approx(0.8 - 2.3 / 3)
    assert row["width_stated"] == pytest.approx(0.15)
    assert row["width_with_trust"] == pytest.approx(0.3)
    assert row["score_stated"] == pytest.approx(0.15 + 40 * (0.05 + 0.1) / 3)
    assert row["score_with_trust"] == pytest.approx(0.3)


def test_what_is_told_from_a_day_on_is_what_happened_after_it(small):
    even = auditing.even(1)
    after = auditing.later(even, 5.0)
    assert after.at.size == np.count_nonzero(even.at > 5.0)
    place = np.arange(len(even))
    then = np.full(len(even), 7.0)
    assert after.next_change(place, then) + 5.0 == pytest.approx(
        even.next_change(place, then + 5.0)
    )
    assert auditing.later(even, 0.0).at.tolist() == even.at.tolist()


def test_sites_are_halved_by_their_names_alone():
    halves = [auditing.half_of(f"site {i}") for i in range(400)]
    assert set(halves) == {0, 1}
    assert 160 < sum(halves) < 240
    assert halves == [auditing.half_of(f"site {i}") for i in range(400)]


def test_how_far_off_a_forecast_was_has_no_limit():
    one = IssuedForecast("s", "recall", 0.0, 1.0, 0.9, 0.8, 0.95)
    assert auditing_sets.far_off(one, 0.8) == pytest.approx(-1.96, abs=1e-3)
    assert auditing_sets.far_off(one, 0.95) == pytest.approx(1.96, abs=1e-3)
    assert auditing_sets.far_off(one, 0.0) == pytest.approx(-17.64, abs=1e-2)
    assert auditing_sets.far_off(one, 0.9) == 0.0
    flat = IssuedForecast("s", "recall", 0.0, 1.0, 0.9, 0.9, 0.9)
    assert auditing_sets.far_off(flat, 0.8) == -np.inf


def test_a_listing_changes_faster_from_the_middle_on(monkeypatch):
    monkeypatch.setattr(auditing_sets, "MIDDLE", 60.0)
    never = np.full(2, np.inf)
    lives = Lives(
        keys=("a", "b"),
        absent_before=-never,
        first_seen=np.array([0.0, 63.0]),
        last_seen=np.array([90.0, 99.0]),
        gone_by=np.array([96.0, np.inf]),
        attributes={},
    )
    none = np.zeros(0)
    looks = np.array([0.0, 60.0, 63.0, 90.0, 99.0])
    calm = Collection("one", looks, lives, none.astype(np.intp), none)
    fast = auditing_sets.hurried(calm, 0.0)
    assert fast.looks.tolist() == [0.0, 60.0, 61.0, 70.0, 73.0]
    assert fast.lives.gone_by.tolist() == [72.0, np.inf]
    assert fast.lives.first_seen.tolist() == [0.0, 61.0]


@pytest.fixture
def relation():
    """Jobs that come and go, at a few companies."""
    rng = np.random.default_rng(4)
    first = np.maximum(np.floor(rng.uniform(-40.0, 30.0, 300)), 0.0)
    last = np.minimum(first + np.floor(rng.exponential(20.0, 300)), 30.0)
    company = rng.choice([f"c{i}" for i in range(12)], 300).astype(object)
    return Relation(
        looks=np.arange(31.0),
        keys=tuple(f"j{i}" for i in range(300)),
        first_seen=first,
        last_seen=last,
        spell=np.arange(300),
        since=first,
        columns={"company": company, "title": company},
    )


@pytest.mark.parametrize("counted", [True, False])
def test_what_is_drawn_through_a_form_is_the_truth_in_the_mean(
    relation, counted, monkeypatch
):
    for name, value in (("DAYS", 26.0), ("MIDDLE", 26.0), ("CHECKS", 8)):
        monkeypatch.setattr(auditing_sets, name, value)
    one = auditing_sets.form(relation, 3, counted=counted, faster=False)
    figures = auditing_sets.quality([one], period=13.0)
    assert figures["periods"] == 2
    assert figures["truth_inside"] == 1.0
    assert abs(figures["mean_error"]) < 0.08
    rows = auditing_sets.covered([one], 0.0, 26.0)
    assert [row["ahead"] for row in rows] == [0.0, 1 / 24, 1.0, 7.0]


def test_a_copy_is_as_good_as_what_it_has_of_what_it_should():
    held = {"a": {"x": 1}, "b": {"x": 2}, "c": {"x": 3}}
    there = {"a": {"x": 1}, "b": {"x": 9}, "d": {"x": 4}}
    assert auditing_sets.share_true(held, there) == pytest.approx(1 / 4)


def test_summaries_are_told_by_phase():
    rows = [
        auditing_texts.Row(1, 0.9, 1.0, 1.0),
        auditing_texts.Row(2, 0.9, 0.0, 1.0),
        auditing_texts.Row(3, 0.9, 0.0, 20.0),
    ]
    calm = auditing_texts.phase(rows, 1, 2)
    assert (calm["held"], calm["trust"], calm["share_within_bounds"]) == (1.0, 1.0, 0.0)
    later = auditing_texts.phase(rows, 3, 4)
    assert later["share_within_bounds"] == 0.0  # 0.9^20 is 0.12, and none held
    both = auditing_texts.phase(rows, 2, 4)
    assert both["summaries"] == 2
    assert 0.8 < auditing_texts.holds(1000) < 1.0


def test_the_true_quality_is_the_mean_from_the_first_day_that_counts_on():
    one = auditing_sets.AuditScores()
    first = auditing_sets.FIRST
    one.found += [(first - 1.0, 0.2, 0.1, 5.0), (first, 0.9, 0.6, 5.0)]
    one.found.append((first + 9.0, 0.3, 0.8, 1.0))
    assert auditing_sets.true_quality(one) == pytest.approx(0.7)
