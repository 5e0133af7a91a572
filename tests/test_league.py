import json
import re

import numpy as np
import pytest
from lxml import etree

import league_folder
from halflife.bench import league
from halflife.bench.league import LeagueRules
from halflife.core.errors import UsageError
from halflife.policies.simple import round_robin, uniform
from halflife.recordings.histories import load
from halflife.study.league import picture, spread
from lab import league as written

TINY = {("s", "a"): [4.5], ("t", "p"): [6.25, 8.5]}
FEW = ("uniform", "nutch-adaptive", "oracle")


def quiet(_done, _said):
    return None


@pytest.fixture
def tiny(tmp_path):
    """Four pages: s/a, t/p, and the last of each site, which never goes stale."""
    return load(league_folder.write(tmp_path, TINY), days=10.0)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    folder = league_folder.many_sites(tmp_path_factory.mktemp("sites"))
    return load(folder, days=360.0)


@pytest.fixture(scope="module")
def rows(many):
    rules = LeagueRules((0.02, 0.05, 0.2), seeds=2)
    return league.compare(many, FEW, rules, quiet)


def test_a_history_scored_by_hand_gets_that_score(tiny):
    assert tiny.recording.keys == ("s/a", "t/p", "s/last", "t/last")
    score = LeagueRules(warm=2.0).replay(tiny, 0.25).score(round_robin)
    # s/a is looked at on days 1, 5, 9; t/p on days 2 and 6: stale from 6.25 to the end
    lost = 0.5 + 3.75
    assert score.freshness == pytest.approx(1 - lost / 32)
    assert score.age == pytest.approx((0.5**2 + 3.75**2) / 2 / 32)
    assert score.harmonic == pytest.approx((lost + 1.5 / 2) / 32)
    assert score.change_ratio == score.cycle_ratio == pytest.approx(1 / 8)
    assert score.starved == 0.0
    assert (score.requests, score.peak, score.over) == (9, 1, 0)
    assert score.sums.names == ("s", "t")
    assert score.sums.fresh.tolist() == pytest.approx([15.5, 12.25])
    assert score.daily.tolist() == pytest.approx(
        [1, 1, 1, 1, 0.875, 1, 0.8125, 0.75, 0.75, 0.75]
    )


def test_the_bounds_of_a_history_bounded_by_hand(tiny):
    replay = LeagueRules(warm=2.0).replay(tiny, 0.25)
    free = 2.5 + 4.25 + 8 + 8
    # seen at ticks 5, 7 and 9, lasting until the end, 8.5 and the end
    assert replay.hindsight() == pytest.approx((free + 5.0 + 1.5 + 1.0) / 32)
    assert replay.announced() == 1.0
    assert replay.rates().tolist() == [1 / 8, 2 / 8, 0.0, 0.0]


def test_a_page_that_goes_away_counts_as_a_change(tmp_path):
    folder = league_folder.write(tmp_path, TINY, deleted={("t", "p"): 3.5}.items())
    score = (
        LeagueRules(warm=2.0).replay(load(folder, days=10.0), 0.25).score(round_robin)
    )
    assert score.sums.fresh.tolist() == pytest.approx([15.5, 16 - 2.5])


def test_pages_are_dealt_in_the_same_order_to_everybody_and_not_site_by_site(many):
    one, two = league.shuffle_items(many), league.shuffle_items(many)
    assert one.recording.keys == two.recording.keys
    assert sorted(one.recording.keys) == sorted(many.recording.keys)
    assert one.recording.keys != many.recording.keys
    for i, key in enumerate(one.recording.keys[:20]):
        was = many.recording.row[key]
        old, new = many.recording, one.recording
        mine = new.at[new.start[i] : new.start[i + 1]]
        assert mine.tolist() == old.at[old.start[was] : old.start[was + 1]].tolist()
        assert new.group[i] == old.group[was]


def test_only_policies_that_draw_are_repeated(many):
    rules = LeagueRules((0.05,), seeds=3)
    scores = league.play(many, ("uniform", "round-robin"), rules, quiet)
    assert len(scores["uniform", 0.05]) == 3
    assert len(scores["round-robin", 0.05]) == 1
    replay = rules.replay(many, 0.05)
    assert replay.score(uniform, 1).chance
    assert not replay.score(round_robin, 1).chance
    assert replay.score(round_robin, 7).freshness == replay.score(round_robin).freshness


def test_processes_side_by_side_find_the_same(many):
    alone, side = (
        LeagueRules((0.05,), seeds=2, executor=name)
        for name in ("in-process", "local:2")
    )
    names = ("uniform", "oracle")
    told = [league.compare(many, names, rules, quiet) for rules in (alone, side)]
    assert told[0] == told[1]


def test_nobody_exceeds_hindsight_and_the_oracle_beats_uniform(rows):
    for row in rows:
        assert row["freshness"]["mean"] <= row["hindsight"] + 1e-9
        assert row["over"] == 0
    by = {(r["policy"], r["budget"]): r["freshness"]["mean"] for r in rows}
    assert by["oracle", 0.05] > by["uniform", 0.05]


def test_every_figure_has_an_interval_that_holds_its_mean(rows):
    for row in rows:
        for name in ("freshness", "age", "change_ratio", "harmonic"):
            assert row[name]["low"] <= row[name]["mean"] <= row[name]["high"]


def test_differences_are_paired(rows):
    row = next(r for r in rows if (r["policy"], r["budget"]) == ("oracle", 0.05))
    gain, own = row["gain"]["uniform"], row["freshness"]
    even = next(r for r in rows if (r["policy"], r["budget"]) == ("uniform", 0.05))
    mean = own["mean"] - even["freshness"]["mean"]
    assert gain["mean"] == pytest.approx(mean)
    cut = mean / (1 - even["freshness"]["mean"])
    assert row["staleness_cut"]["uniform"] == pytest.approx(cut)
    assert even["gain"]["uniform"] == {"mean": 0.0, "low": 0.0, "high": 0.0}


def test_the_requests_that_reach_a_rivals_freshness_are_read_off_the_curve(rows):
    even = [r for r in rows if r["policy"] == "uniform"]
    assert [r["requests_share"]["uniform"] for r in even] == pytest.approx([1.0] * 3)
    row = next(r for r in rows if (r["policy"], r["budget"]) == ("oracle", 0.05))
    assert 0.4 < row["requests_share"]["uniform"] < 1.0


def test_a_name_nobody_has_is_refused_with_the_known_ones(tiny):
    with pytest.raises(UsageError, match=r"no policy is named 'nope'.*oracle.*uniform"):
        league.compare(tiny, ["nope"], LeagueRules(), quiet)


def test_a_history_too_short_to_score_is_refused(tiny):
    with pytest.raises(UsageError, match="nothing is left to score"):
        league.compare(tiny, ["uniform"], LeagueRules(), quiet)


def test_without_groups_the_interval_is_that_over_time(tiny):
    (row,) = league.compare(tiny, ["uniform"], LeagueRules((0.25,), warm=2.0), quiet)
    fresh = row["freshness"]
    assert fresh["low"] < fresh["mean"] < fresh["high"]


def test_the_table_is_sorted_by_freshness(rows):
    text = written.markdown(rows)
    assert text.count("### ") == 3
    for part in text.split("### ")[1:]:
        found = re.findall(r"^\| [a-z-]+ \| (0\.\d+)", part, flags=re.MULTILINE)
        assert len(found) == len(FEW)
        assert found == sorted(found, reverse=True)


def test_the_picture_names_every_line_once_and_no_name_covers_another(rows):
    tree = etree.fromstring(picture(rows))
    space = "{http://www.w3.org/2000/svg}"
    texts = [t for t in tree.iter(f"{space}text") if t.text]
    named = {t.text: float(t.get("y", "nan")) for t in texts}
    lines = {*FEW, "B0 blind", "B1 told", "B2 hindsight"}
    assert lines <= set(named)
    places = np.sort([named[name] for name in lines])
    assert np.diff(places).min() >= 14.9
    assert sum(t.text in lines for t in texts) == len(lines)


def test_names_are_spread_no_farther_than_needed():
    assert spread(np.array([0.0, 100.0]), 15.0).tolist() == [0.0, 100.0]
    assert spread(np.array([50.0, 50.0, 51.0]), 10.0).tolist() == pytest.approx(
        [40 + 1 / 3, 50 + 1 / 3, 60 + 1 / 3]
    )
    assert spread(np.zeros(0), 10.0).size == 0


def test_the_whole_league_is_written_down(tmp_path, many, capsys):
    folder = league_folder.many_sites(tmp_path)
    words = ["--policies", "uniform,round-robin", "--budgets", "0.05,0.1"]
    written.main([str(folder), str(tmp_path / "out"), *words, "--jobs", "1"])
    answer = json.loads((tmp_path / "out" / "league.json").read_text())
    assert answer["items"] == len(many.recording)
    assert len(answer["results"]) == 4
    assert (tmp_path / "out" / "league.md").read_text() == capsys.readouterr().out
    assert etree.fromstring((tmp_path / "out" / "league.svg").read_text()) is not None


def test_everybody_takes_part_once():
    names = league.all_policies()
    assert "oracle" in names
    assert "index" not in names  # the same as harmonic
    assert len(names) == len(set(names))
