"""The service with targets to keep, and no more than that to spend."""

import json
import sqlite3
from math import inf

import numpy as np
import pytest

from form_worlds import behind, cars
from halflife.config import Config
from halflife.core.object_store import Listing
from halflife.demo.forms import FormServer, serving, snippet
from halflife.engine import bootstrap, costs, diagnosis, scheduler, targets
from halflife.engine.loop import LEASE
from halflife.engine.service import ServiceRhythm
from halflife.kinds.listing import runner as listing_runner
from halflife.market import target_rule
from halflife.market.target_status import TargetMemory
from halflife.stores.memory import MemoryStore
from halflife.stores.notes.income import SPENT_UNTIL
from halflife.stores.sqlite import SqliteStore
from service_parts import BEGAN, HOME, Play, fullest, ledger


def every(minutes):
    """Return the rhythm of a service that turns so seldom, and judges hardly ever."""
    turn = 60.0 * minutes
    return ServiceRhythm(turn, turn, turn, turn, judged=86400.0)


QUARTERS, HALVES, HOURS = every(15), every(30), every(60)
HEAD = "[budget]\nrequests = {}\nmode = {!r}\n[fetch]\ndelay = 0.0\ntimeout = 5.0\n"


@pytest.fixture
def write(tmp_path):
    def to_file(*parts, requests=480, mode="targets"):
        path = tmp_path / f"{mode}.toml"
        store = f'store = "{mode}.db"\n'
        path.write_text(store + HEAD.format(requests, mode) + "".join(parts))
        return path

    return to_file


def pages(server, name, n, more=""):
    paths = [f"/{name}{i}" for i in range(n)]
    for path in paths:
        server.pages[path] = ("text/plain", b"as ever")
    urls = ", ".join(f'"{server.url}{path}"' for path in paths)
    return f'[[source]]\nname = "{name}"\n{HOME}pages = [{urls}]\n{more}'


def jobs(first, many=60):
    rows = [{"id": n} for n in range(first, first + many)]
    return "application/json", json.dumps(rows).encode()


def listing(server, more=""):
    server.pages["/jobs.json"] = jobs(0)
    return (
        f'[[source]]\nname = "jobs"\nkind = "listing"\n{HOME}key = "id"\n'
        f'url = "{server.url}/jobs.json"\nconfirm_hours = 0.0\n{more}'
    )


def as_ever(path, days):
    """Fill a store with daily looks at a listing that never changes."""
    config = Config.load(path)
    (source,) = config.source
    with bootstrap.writing(config) as store:
        for day in range(days):
            run = store.begin(["jobs"], BEGAN + day, lease=LEASE)
            records = {str(n): {} for n in range(40)}
            listing = Listing(BEGAN + day, records, complete=True, note="")
            listing_runner.write(store, run, source, listing, 1, "")
            store.finish(run, BEGAN + day)
        costs.note(store, "jobs", 1)
        SPENT_UNTIL.save(store, BEGAN)
    return config


def changing(server, name, n, every):
    """Return what changes one page of ``n`` each so many days, one after the other."""
    mixed, last = np.random.default_rng(5).permutation(n), [-1]

    def each(play):
        done = int((play.now - BEGAN) / every)
        if done == last[0]:
            return
        last[0] = done
        for i, page in enumerate(mixed.tolist()):
            version = (done + n - 1 - i) // n
            server.pages[f"/{name}{page}"] = ("text/plain", f"{version}".encode())

    return each


def sent(server, start):
    return sum(path.startswith(start) for path in server.asked)


def test_what_never_changes_is_hardly_asked_for_once_it_was_seen(write, server):
    target = 'target = "freshness >= 0.8 with confidence 0.9"\n'
    recall = 'target = "recall >= 0.9 with confidence 0.95"\n'
    parts = pages(server, "p", 20, target), listing(server, recall)
    used = {}
    for mode in ("targets", "quality"):
        server.asked.clear()
        path = write(*parts, mode=mode, requests=240)
        Play(path, rhythm=HALVES).run(0.6)
        used[mode] = len(server.asked)
    assert used["quality"] > 120
    assert used["targets"] < 0.3 * used["quality"]


def test_the_looks_that_watch_for_busy_times_are_spread_over_the_day(write, server):
    path = write(pages(server, "p", 40, 'target = "freshness >= 0.5"\n'))
    Play(path, rhythm=QUARTERS).run(3.5)
    late = [at - BEGAN for at, _ in ledger(path) if at > BEGAN + 1.5]
    assert np.diff([1.5, *late, 3.5]).max() < 0.6  # a twentieth of 40 pages a day
    assert len(late) <= 6


def test_without_a_target_a_source_gets_its_first_looks_and_its_longest_interval(
    write, server
):
    parts = pages(server, "a", 4), pages(server, "b", 4, 'max_interval = "6 h"\n')
    path = write(*parts, requests=2400)
    play = Play(path, rhythm=QUARTERS).run(0.9)
    assert sent(server, "/a") == 4
    assert 4 * 4 <= sent(server, "/b") <= 5 * 4
    assert play.service.status.due == 0


def test_an_age_is_kept_by_looks_that_come_in_time(write, server):
    path = write(pages(server, "a", 3, 'target = "age p95 <= 3 h"\n'))
    Play(path).run(0.9)
    with SqliteStore.open(Config.load(path).store_path, readonly=True) as store:
        times = {}
        with store.reading() as db:
            found = "SELECT item, at FROM observation ORDER BY at"
            for item, at in db.execute(found):
                times.setdefault(item, []).append(at * 24)
    for looks in times.values():
        gaps = np.diff(looks)
        assert gaps.max() <= 3 / 0.95 + 0.1
        assert gaps.min() >= 2.5


def two_days(write, server, target):
    """Keep pages of which half change each day; return freshness, and what it took.

    Freshness from 18 h on, and the requests of the second day and of the fullest.
    """
    each, held, seen = changing(server, "p", 40, 0.05), {}, []
    text = pages(server, "p", 40, f'target = "{target}"\n')
    path = write(text, requests=2400)

    def watch(play):
        held.update({asked: server.pages.get(asked) for asked in server.asked})
        server.asked.clear()
        each(play)
        right = [held[page] == server.pages[page] for page in held if page[1] == "p"]
        seen.append((play.now - BEGAN, np.mean(right)))

    Play(path, rhythm=HALVES).run(2.0, watch)
    at, fresh = np.array(seen).T
    charges = [(at - BEGAN, n) for at, n in ledger(path)]
    second = sum(n for at, n in charges if at > 1.0)
    return fresh[at > 0.75], second, fullest(charges, 1.0)


SURE = "freshness >= 0.8 with confidence 0.9"


@pytest.mark.parametrize(("level", "most"), [(0.5, 120), (0.8, 280)])
def test_pages_are_looked_at_as_often_as_their_mean_needs(write, server, level, most):
    fresh, second, day = two_days(write, server, f"freshness >= {level}")
    assert np.mean(fresh) >= level
    assert second <= most
    assert day < 0.3 * 2400


def test_a_sure_level_is_kept_by_ten_looks_at_each_page_a_day(write, server):
    fresh, second, day = two_days(write, server, SURE)
    assert np.mean(fresh >= 0.8) >= 0.9
    assert second <= 400
    assert day < 0.3 * 2400


def test_a_listing_is_looked_at_before_it_falls_below_its_level(write, server):
    def turn_over(play):
        now = int((play.now - BEGAN) * 24)  # one in sixty goes and comes each hour
        server.pages["/jobs.json"] = jobs(now)

    recall = 'target = "recall >= 0.8 with confidence 0.9"\n'
    path = write(listing(server, recall), requests=240)
    play = Play(path, rhythm=QUARTERS).run(1.5, turn_over)
    looked = np.array([at for at, _ in play.results])
    longest = np.diff(looked).max() * 24
    assert 1.0 - (longest + 1.0) / 60 >= 0.8
    late = looked[looked > BEGAN + 0.5]
    assert late.size <= 24.0 / 2.0  # every other hour
    why = [event.get("why", "") for event in play.named("worked")]
    assert any("fall below 0.8" in said for said in why)


def test_a_level_is_kept_also_where_other_sources_gain_more(write, server):
    each = changing(server, "p", 40, 0.01)

    def turn_over(play):
        each(play)
        now = int((play.now - BEGAN) * 24)  # one in sixty goes and comes each hour
        server.pages["/jobs.json"] = jobs(now)

    gaps = []
    for said in (
        "",
        "recall = 0.8\nconfidence = 0.9\n",
        'target = "recall >= 0.8 with confidence 0.9"\n',
    ):
        parts = pages(server, "p", 40), listing(server, f"weight = 0.001\n{said}")
        path = write(*parts, requests=240, mode="quality")
        play = Play(path, rhythm=HALVES).run(1.5, turn_over)
        looked = [at for at, one in play.results if getattr(one, "listed", 0)]
        late = [at for at in looked if at > BEGAN + 0.25]
        gaps.append(np.diff([BEGAN + 0.25, *late, play.now]).max() * 24)
        assert fullest(ledger(path), 1.0) <= 240
        path.with_suffix(".db").unlink()
    alone, *kept = gaps
    assert all(1.0 - (gap + 1.0) / 60 >= 0.8 for gap in kept)
    assert alone > max(kept)


def test_an_age_is_kept_also_where_other_pages_gain_more(write, server):
    each = changing(server, "p", 40, 0.01)
    late = 'weight = 0.001\ntarget = "age p95 <= 3 h"\n'
    parts = pages(server, "p", 40), pages(server, "calm", 2, late)
    path = write(*parts, requests=480, mode="quality")
    play = Play(path, rhythm=every(20)).run(1.5, each)
    with sqlite3.connect(path.with_suffix(".db")) as db:
        rows = db.execute(
            "SELECT item.key, at FROM observation JOIN item ON item.id = item"
            " WHERE key LIKE '%calm%' ORDER BY item.key, at"
        ).fetchall()
    charges, late = ledger(path), []
    for key in {key for key, _ in rows}:
        times = np.array([*(at for name, at in rows if name == key), play.now])
        late += [at + 3.5 / 24 for at in times[:-1][np.diff(times) * 24 > 3.5]]
    # The first day began with a fetch of all pages, so its end may have no budget left.
    assert all(sum(n for t, n in charges if at - 1 < t <= at) >= 480 for at in late)
    assert len(late) <= 2
    assert all(at <= BEGAN + 1.0 for at in late)


@pytest.mark.parametrize(("age", "grants"), [(0.5, {}), (7.1, {("jobs",): 1})])
def test_a_listing_that_never_changes_is_still_looked_at_once_a_week(
    write, server, age, grants
):
    config = as_ever(write(listing(server, 'target = "recall >= 0.5"\n')), 20)
    with bootstrap.writing(config) as store:
        groups, now = scheduler.grouped(config.source), BEGAN + 19.0 + age
        found = scheduler.decide(scheduler.Situation(config, store, now, groups))
    assert found.grants == grants


def test_targets_beyond_the_budget_are_told_once_and_the_budget_holds(write, server):
    each = changing(server, "p", 40, 0.002)
    target = 'target = "freshness >= 0.95 with confidence 0.95"\n'
    path = write(pages(server, "p", 40, target), requests=120)
    play = Play(path, rhythm=HOURS).run(2.1, each)
    (said,) = play.named("targets beyond the budget")
    assert said["level"] == "warning"
    assert said["budget"] == 120
    assert said["needed"] is None or said["needed"] > 120
    charges = ledger(path)
    assert fullest(charges, 1.0) <= 120
    assert sum(n for _, n in charges) > 1.5 * 120
    found = diagnosis.examine(Config.load(path), BEGAN + 2.1)
    (text,) = [one.text for one in found if one.about == "targets"]
    assert "targets are expected to need" in text or "no number of requests" in text


def memory(**more):
    return TargetMemory(level=0.95, **more)


@pytest.mark.parametrize(
    ("needed", "said"),
    [
        ((5.0, 5.0), []),
        ((8.0, 8.0), ["targets are expected to need 16 of 10 requests a day"]),
        ((inf, 8.0), ["no number of requests is expected to keep the target of p"]),
        (
            (inf, 12.0),
            [
                "no number of requests is expected to keep the target of p",
                "targets are expected to need 12 of 10 requests a day",
            ],
        ),
    ],
)
def test_targets_out_of_reach_are_named(write, server, needed, said):
    target = 'target = "freshness >= 0.95"\n'
    text = [pages(server, name, 1, target) for name in "pq"]
    path = write(*text, pages(server, "r", 1), requests=10)
    store, config = MemoryStore(), Config.load(path)
    pairs = zip("pq", needed, strict=True)
    targets.remember(store, {name: memory(needed=need) for name, need in pairs})
    assert targets.out_of_reach(config, store) == said


def test_a_target_with_a_confidence_is_said_not_to_be_sure(write, server):
    target = 'target = "freshness >= 0.95 with confidence 0.9"\n'
    store = MemoryStore()
    targets.remember(store, {"p": memory(needed=inf)})
    config = Config.load(write(pages(server, "p", 1, target), requests=10))
    (said,) = targets.out_of_reach(config, store)
    assert said == "no number of requests is sure to keep the target of p"


def test_what_another_level_needs_says_nothing_of_the_present_one(write, server):
    path = write(pages(server, "p", 1, 'target = "freshness >= 0.9"\n'), requests=10)
    store = MemoryStore()
    targets.remember(store, {"p": memory(needed=inf)})
    assert targets.out_of_reach(Config.load(path), store) == []


def test_a_form_is_asked_only_as_its_target_asks(write):
    office = FormServer(behind(cars(60), everything=True, page_size=20))
    with serving(office) as url:
        form = snippet(url, office.form.interface)
        wanted = '\ntarget = "recall >= 0.6 with confidence 0.9"\n'
        target = form.replace('kind = "form"', 'kind = "form"' + wanted)
        used = {}
        for mode, text in (("quality", form), ("targets", target)):
            office.asked = 0
            play = Play(write(text, requests=240, mode=mode)).run(0.25)
            assert not play.named("trouble")
            used[mode] = office.asked
    assert 3 <= used["targets"] < used["quality"]


def test_what_is_remembered_outlives_a_restart(tmp_path):
    past = target_rule.LossHistory(3.0, 0.5, (1.0, 2.0), (0.5, 0.5), 1.0, 9.0)
    chances = np.array([0.25, 0.5])
    memory = TargetMemory(
        past, 20_000.0, 0.5, 0.75, chances, 1.0, np.inf, 19_999.5, 0.9, 2.0 * chances
    )
    with SqliteStore.open(tmp_path / "a.db", create=True) as store:
        assert targets.recall(store, "a") == TargetMemory()
        targets.remember(store, {"a": memory})
    with SqliteStore.open(tmp_path / "a.db", create=True) as store:
        found = targets.recall(store, "a")
    assert found == memory
    assert found.chances.tolist() == [0.25, 0.5]
    assert found.ages.tolist() == [0.5, 1.0]


def test_sources_of_pages_are_worked_at_apart_where_each_has_its_target(write, server):
    parts = pages(server, "a", 1), pages(server, "b", 1), listing(server)
    config = Config.load(write(*parts))
    joint, apart = (scheduler.grouped(config.source, apart=on) for on in (False, True))
    assert [scheduler.names(group) for group in joint] == [("a", "b"), ("jobs",)]
    assert [scheduler.names(group) for group in apart] == [("a",), ("b",), ("jobs",)]


@pytest.mark.parametrize(
    ("more", "level"),
    [
        ("", None),
        ("recall = 0.7\nconfidence = 0.8\n", (0.7, 0.8)),
        ('target = "recall >= 0.6"\n', (0.6, None)),
        ('target = "age p95 <= 6 h"\n', None),
    ],
)
def test_a_level_is_that_of_the_target_or_of_the_listing(write, server, more, level):
    (source,) = Config.load(write(listing(server, more))).source
    assert targets.level(source) == level


def test_pages_are_fetched_again_only_once_all_were_fetched_in_the_round(write, server):
    each, again = changing(server, "p", 40, 0.02), []
    target = 'target = "freshness >= 0.9 with confidence 0.9"\n'
    path = write(pages(server, "p", 40, target), requests=2400)

    def watch(play):
        each(play)
        with SqliteStore.open(path.with_suffix(".db"), readonly=True) as store:
            began = targets.round_began(store, "p")
            with store.reading() as db:
                (rows,) = db.execute(
                    "SELECT count(DISTINCT item || ' ' || at), count(DISTINCT item)"
                    " FROM observation WHERE at >= ?",
                    (began,),
                )
        if rows[1] < 40:
            again.append(rows[0] - rows[1])

    Play(path, rhythm=QUARTERS).run(1.0, watch)
    assert len(again) > 20
    assert not any(again)
