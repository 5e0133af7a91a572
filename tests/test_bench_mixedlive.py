"""The mixed world on the loopback, and the service on a clock of its own."""

import asyncio
import json
from urllib.request import urlopen

import numpy as np
import pytest

from halflife.config import Config
from halflife.core.forms import Attribute, Interface
from halflife.engine import appraisal, scheduler
from halflife.engine.service import ServiceRhythm
from halflife.recordings.pages import Recording
from halflife.recordings.relations import Relation
from halflife.replay.world import serve
from halflife.stores.sqlite import SqliteStore
from halflife.summary.weekly import Weekly
from lab import mixedlive
from lab.mixedkept import kept
from lab.mixedparts import Desk, Library, Site, Stock, Table, rounded
from lab.mixedtime import Hands, Hurried, Passing
from lab.mixedworld import BEGAN, Wanted, opened, total

DAYS = 8
SELDOM = ServiceRhythm(*(3 * 3600.0,) * 4, 6 * 3600.0)  # of turns


def pages(n=6):
    """Pages of which page i changes every i + 1 days."""
    moments = [np.arange(0.5, DAYS, i + 1.0) for i in range(n)]
    start = np.concatenate([[0], np.cumsum([m.size for m in moments])])
    always = np.full(n, np.inf)
    keys = tuple(f"p{i}" for i in range(n))
    recording = Recording(
        keys, start, np.concatenate(moments), np.ones(n), -always, always
    )
    return Site("pages", recording, BEGAN)


def relation(n=40, lasts=4):
    """Objects of which one in ten is new each day, and goes after some days."""
    first = np.maximum(np.arange(n) // (n // 10) - 2.0, 0.0)
    cities = np.array(["Oslo", "Rome"], dtype=object)[np.arange(n) % 2]
    stars = np.array([1000 * i + 7 for i in range(n)], dtype=object)
    return Relation(
        looks=np.arange(0.0, DAYS + 1),
        keys=tuple(f"o{i}" for i in range(n)),
        first_seen=first,
        last_seen=first + lasts,
        spell=np.arange(n),
        since=first,
        columns={"city": cities, "stars": stars},
    )


def table():
    return Table(relation(), 0.0, ("city", "stars"), shown={"stars": rounded})


def desk(purpose="new"):
    interface = Interface(
        (Attribute("city", "select", ("Oslo", "Rome")),), page_size=10
    )
    return Desk("desk", table(), interface, purpose, "changed:stars")


def library():
    """Two weeks of other documents each."""
    words = np.array([f"word{i}" for i in range(60)], dtype=object)
    rng = np.random.default_rng(0)
    term = np.concatenate(
        [np.sort(rng.choice(30, 8, replace=False)) + 30 * (i // 40) for i in range(80)]
    )
    weekly = Weekly(
        ("all",), ("misc",), np.zeros(1), words, 2, 0, np.array([0, 80]),
        np.array([f"d{i}" for i in range(80)], dtype=object),
        np.repeat([0, 1], 40), np.repeat([0, 1], 40),
        8 * np.arange(81), term.astype(np.int32),
    )  # fmt: skip
    return Library("library", weekly, 0, BEGAN)


def read(url):
    with urlopen(url, timeout=5) as answer:
        return answer.read().decode()


def test_moments_are_looked_at_on_time_and_a_sleep_puts_the_clock_forward():
    hands, seen = Hands(10.0), []

    async def slept():
        stop = Hurried(hands, 12.0, 0.5, lambda: seen.append(hands.now))
        await stop.sleep(86400.0 * 0.6)
        assert hands.now == pytest.approx(10.6)
        assert not stop.asked.is_set()
        await stop.sleep(86400.0 * 5.0)
        return stop.asked.is_set()

    assert asyncio.run(slept())
    assert seen == [10.5, 11.0, 11.5, 12.0]
    assert hands.now == 12.0


def test_every_source_answers_as_its_history_was_at_the_moment():
    now = [0.0]
    parts = [pages(), Stock("cars", table(), per_page=5), library()]
    with serve([part.answer for part in parts], lambda: now[0]) as (site, cars, search):
        first = read(f"{site}/0")
        assert read(f"{site}/0") == first
        listed = json.loads(read(f"{cars}/objects"))
        assert len(listed["objects"]) == 5
        assert listed["next"] == "/objects?from=5"
        word = parts[2].text("0").split()[0]
        found = json.loads(read(f"{search}/search?q={word}&size=3"))["hits"]
        assert 0 < len(found["hits"]) <= 3
        assert all(word in hit["_source"]["body"].split() for hit in found["hits"])
        now[0] = 7.5
        assert read(f"{site}/0") != first
        later = json.loads(read(f"{search}/search?q={word}"))["hits"]
        assert later["total"]["value"] == 0


def test_the_truth_is_told_by_the_history_alone():
    site = pages()
    everything = np.arange(6), np.full(6, 0.0)
    assert site.quality(everything, 0.4) == 1.0
    assert site.quality(everything, 0.6) == 0.0  # all change half a day on
    assert site.quality((np.arange(6), np.full(6, 1.0)), 2.0) == pytest.approx(5 / 6)
    never = np.arange(6), np.full(6, -np.inf)
    assert site.quality(never, 0.4) == 0.0
    there = table().at(0.0)
    assert desk().quality(there, 0.0) == 1.0
    half = dict(list(there.items())[::2])
    assert desk().quality(half, 0.0) == pytest.approx(0.5, abs=0.05)
    assert desk("known").quality(half, 0.0) == 1.0
    wrong = {key: {**record, "stars": -1} for key, record in half.items()}
    assert desk("known").quality(wrong, 0.0) == 0.0
    assert library().quality(0.0, 3.0) == 1.0
    assert library().quality(0.0, 7.0) == 0.0
    assert library().quality(-np.inf, 0.0) == 0.0


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Three kinds of sources, taught for two days and kept for three."""
    parts = (pages(), Stock("cars", table(), per_page=5), desk())
    folder = tmp_path_factory.mktemp("world")
    with opened(parts, folder) as stage:
        taught = stage.learn(2.0)
        passing = Passing(3.0, 0.25, SELDOM)
        run = stage.play("one", Wanted(24.0), taught, passing, begin=2.0)
        levels = {"pages": "freshness >= 0.5", "cars": "recall >= 0.5"}
        passing = Passing(1.0, 0.25, SELDOM)
        aimed = kept(stage, levels, 50.0, learning=2.0, passing=passing)
        yield stage, taught, run, aimed


def test_the_service_keeps_a_world_within_its_budget(played):
    stage, _, run, _ = played
    assert run.at.tolist() == [2.0 + 0.25 * (i + 1) for i in range(12)]
    assert set(run.quality) == {"pages", "cars", "desk"}
    for quality in run.quality.values():
        assert ((quality >= 0.0) & (quality <= 1.0)).all()
    assert 0 < run.spent <= 24 * 3
    assert run.fullest <= 24 * 7
    assert total(stage.parts, run.quality).mean() > 0.5


def test_a_source_that_is_kept_is_better_than_one_that_is_left_alone(played):
    stage, taught, run, _ = played
    truth = mixedlive.Truth(stage.parts, stage.hands)
    with SqliteStore.open(taught) as store:
        for i in range(12):
            stage.hands.now = BEGAN + 2.0 + (i + 1) * 0.25
            truth.look(store)
    alone = {name: np.array(each) for name, each in truth.quality.items()}
    kept_, left = total(stage.parts, run.quality), total(stage.parts, alone)
    assert kept_.mean() > left.mean() + 0.1


def test_targets_are_told_with_what_was_kept_and_spent(played):
    *_, (run, rows) = played
    assert [row["source"] for row in rows] == ["pages", "cars", "desk"]
    assert [row.get("level") for row in rows] == [0.5, 0.5, None]
    for row in rows[:2]:
        assert row["kept"] == np.mean(run.quality[row["source"]] >= 0.5)
        assert row["truth"] == pytest.approx(run.quality[row["source"]].mean())
    assert run.spent <= 50 * 7
    assert json.loads(json.dumps(rows)) == rows


def test_a_turn_to_which_nothing_has_come_in_appraises_nothing(played, monkeypatch):
    _, taught, run, _ = played
    config = Config.load(run.store.parent / "halflife.toml")

    def offers(*_):
        raise AssertionError("nobody should ask")

    monkeypatch.setattr(appraisal.Appraiser, "offers", offers)
    with SqliteStore.open(taught) as store:
        at = scheduler.Situation(
            config, store, BEGAN + 2.0, scheduler.grouped(config.source)
        )
        decision = scheduler.decide(at)
    assert decision.idle
    assert not decision.grants


def test_a_service_turns_no_more_often_than_its_rhythm(played):
    stage, taught, *_ = played
    slow = ServiceRhythm(43200.0, 43200.0, 43200.0, 43200.0, 43200.0)
    passing = Passing(3.0, 1.0, slow)
    run = stage.play("slow", Wanted(12.0), taught, passing, begin=2.0)
    ended = json.loads(run.events[-1])
    assert ended["event"] == "stopped"
    assert ended["turns"] <= 7


def test_differences_are_paired_and_go_over_stretches_of_time():
    ours = np.repeat([0.9, 0.8, 0.9, 0.8], 5)
    sums = {"one price": ours, "best split": ours - 0.1}
    rows = [{"budget": 9.0, "_sums": sums}, {"budget": 9.0, "_sums": sums}]
    (row,) = mixedlive.pooled(rows)
    assert row["worlds"] == 2
    assert row["less best split"]["mean"] == pytest.approx(0.1)
    assert row["less best split"]["low"] == pytest.approx(0.1)
    assert row["quality"]["one price"] == pytest.approx(0.85)
