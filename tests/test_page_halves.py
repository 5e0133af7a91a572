"""The protocol by which page policies are chosen and scored on halves of the sites."""

import dataclasses
import json
import re

import numpy as np
import pytest

from halflife.bench.league import LeagueRules
from halflife.recordings.histories import RecordedSpan
from halflife.recordings.pages import Recording
from lab import independent_pages, page_halves
from lab.page_halves import CHOSEN, Log, fill, halves, markdown, part, table

SITES = tuple("abcdefgh")


def recorded(days=40.0, pages=48, seed=4):
    """Return eight sites whose pages change together now and then."""
    rng = np.random.default_rng(seed)
    site = np.arange(pages) % len(SITES)
    when = [np.sort(rng.uniform(0, days, 3)) for _ in SITES]
    recording = Recording(
        keys=tuple(f"https://{SITES[s]}/x/{i}" for i, s in enumerate(site)),
        start=3 * np.arange(pages + 1),
        at=np.concatenate([when[s] for s in site]),
        weight=np.ones(pages),
        born=np.full(pages, -np.inf),
        died=np.full(pages, np.inf),
        group=tuple(SITES[s] for s in site),
    )
    return RecordedSpan(recording, 0.0, days)


def test_the_halves_of_a_split_share_no_site_and_miss_none():
    found = list(halves(SITES, 3))
    for one, two in zip(found[::2], found[1::2], strict=True):
        assert sorted(one.sites + two.sites) == list(SITES)
        assert abs(len(one.sites) - len(two.sites)) <= 1
    assert len({half.sites for half in found}) > 2
    assert found == list(halves(SITES, 3))


def test_a_half_holds_the_pages_of_its_sites_alone():
    half = next(halves(SITES, 1))
    some = part(recorded(), half).recording
    assert set(some.group) == set(half.sites)
    assert len(some) == 24


def made_up(log, stale):
    """Fill a log: staleness by variant, of each half of one split."""
    for half in halves(SITES, 1):
        for name, of_half in stale.items():
            by_site = [of_half[half.half]] * len(half.sites)
            found = {"stale": of_half[half.half], "sites": list(half.sites)}
            weight = [1.0] * len(half.sites)
            log.add(name, half, 0.01, found | {"by_site": by_site, "weight": weight})


def test_what_is_chosen_on_one_half_is_scored_on_the_other(tmp_path):
    log = Log.read(tmp_path / "log.jsonl")
    # "a" is best on the first half, "b" on the second: each is scored where it lost.
    made_up(log, {"uniform": (1.0, 1.0), "a": (0.2, 0.8), "b": (0.6, 0.4)})
    rows = {row.name: row for row in table(log, ["a", "b"], 1, [0.01], 0.01)}
    assert rows["a"].ratio == pytest.approx(0.5)
    assert rows["b"].ratio == pytest.approx(0.5)
    assert rows[CHOSEN].ratio == pytest.approx(0.7)  # b: 0.6 and a: 0.8
    assert rows["a"].gain is None
    assert rows["b"].gain[0] == pytest.approx(0.0, abs=1e-9)
    assert rows["b"].wins == "1/2"


def test_rivals_are_shown_as_shares_where_they_played_on_every_half(tmp_path):
    log = Log.read(tmp_path / "log.jsonl")
    made_up(log, {"uniform": (1.0, 0.5), "freshness": (0.8, 0.45), "a": (0.1, 0.1)})
    log.known["oracle", 0, 0, 0.01] = {"stale": 0.1}  # of one half alone
    assert page_halves.others(log, 1, 0.01) == {
        "uniform": 1.0,
        "freshness": pytest.approx((0.8 + 0.9) / 2),
    }


def test_variants_are_counted_also_if_they_are_not_shown(tmp_path):
    log = Log.read(tmp_path / "log.jsonl")
    made_up(log, {"uniform": (1.0, 1.0), "a": (0.2, 0.8), "gone": (0.6, 0.4)})
    text = markdown(Log.read(tmp_path / "log.jsonl"), ["a"], 1, [0.01])
    assert "Variants tried on these halves so far: 2." in text
    assert f"*{CHOSEN}*" in text


def test_a_run_that_was_cut_short_goes_on(tmp_path, monkeypatch):
    rules = LeagueRules((0.05,), 1, warm=5.0)
    log = Log.read(tmp_path / "log.jsonl")
    names = ["uniform", "bounds", "before"]
    fill(recorded(), rules, names, 1, log)
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert len(lines) == 6
    assert all(json.loads(line)["share"] == 0.05 for line in lines)
    played = []
    plain = page_halves.play
    monkeypatch.setattr(
        page_halves, "play", lambda *given: played.append(given[2]) or plain(*given)
    )
    fill(recorded(), rules, [*names, "rounds"], 1, Log.read(log.path))
    assert played == ["rounds", "rounds"]
    log = Log.read(log.path)
    text = markdown(log, ["before", "rounds"], 1, [0.05])
    assert "| rounds |" in text
    assert "*bound: hindsight*" in text
    first = log.known["before", 0, 0, 0.05]
    assert first["stale"] == pytest.approx(sum(first["by_site"]) / sum(first["weight"]))


def test_every_variant_is_a_strategy_that_can_be_played():
    rules = LeagueRules((0.1,), 1, warm=1.0)
    few = dataclasses.replace(recorded(), end=8.0)
    for name in page_halves.VARIANTS:
        assert 0.0 <= page_halves.play(few, rules, name, 0.1)["stale"] <= 1.0


def test_what_is_lost_on_independent_pages_is_printed(capsys):
    small = ["--items", "20", "--days", "6", "--populations", "1"]
    independent_pages.main(small)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[0] for line in lines] == list(independent_pages.RULES)
    assert all(0.0 <= float(line.split(": ")[1]) <= 1.0 for line in lines)


def test_several_populations_tell_how_far_each_rule_is_ahead(capsys):
    small = ["--items", "20", "--days", "6", "--populations", "2"]
    independent_pages.main(small)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("; +0.0000, standard error 0.0000")
    plain, other = ([float(x) for x in re.findall(r"\d\.\d+", li)] for li in lines[:2])
    gains = np.subtract(other[:2], plain[:2])
    ahead = float(lines[1].split("; ")[1].split(",")[0])
    assert ahead == pytest.approx(gains.mean(), abs=1e-4)
    assert other[3] == pytest.approx(abs(gains[0] - gains[1]) / 2, abs=1e-4)
