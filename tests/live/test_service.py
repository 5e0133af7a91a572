"""The service: every kind of source, one budget, whatever happens meanwhile."""

import asyncio
import json
from math import inf

import numpy as np
import pytest

from alert_parts import signpost
from form_worlds import behind, cars
from halflife.config import Config
from halflife.core.errors import AlreadyRunning
from halflife.core.item import Item
from halflife.core.object_store import Listing
from halflife.core.observation import Observation, Observations, Seen
from halflife.demo.forms import FormServer, serving, snippet
from halflife.engine import bootstrap, breakers, costs, offline, scheduler, zones
from halflife.engine.loop import LEASE
from halflife.kinds.form.runner import FormOutcome
from halflife.kinds.listing import runner as listing_runner
from halflife.kinds.pages import audit as pages_audit
from halflife.kinds.pages.runner import SyncOutcome, keeping
from halflife.kinds.search.runner import SamplingOutcome
from halflife.net.wire import Offline, Wire
from halflife.stores.notes.income import SPENT_UNTIL
from halflife.stores.outbox import Outbox
from halflife.stores.sqlite import SqliteStore
from search_server import corpus, serving as searching
from service_parts import BEGAN, HOME, Play, fullest, ledger

REQUESTS = 240  # a day, unless a test says otherwise


def jobs(numbers):
    return "application/json", json.dumps([{"id": n} for n in numbers]).encode()


def page_source(server, paths, more="", name="docs"):
    for path in paths:
        server.pages.setdefault(path, ("text/plain", path.encode()))
    pages = ", ".join(f'"{server.url}{path}"' for path in paths)
    return f'[[source]]\nname = "{name}"\n{HOME}pages = [{pages}]\n{more}'


def listing_source(server, more=""):
    server.pages.setdefault("/jobs.json", jobs(range(40)))
    return (
        f'[[source]]\nname = "jobs"\nkind = "listing"\n{HOME}key = "id"\n'
        f'url = "{server.url}/jobs.json"\nconfirm_hours = 0.0\n{more}'
    )


@pytest.fixture(scope="module")
def shop():
    with searching(corpus(300)) as server:
        yield server.shop, server.url


@pytest.fixture(scope="module")
def office():
    office = FormServer(behind(cars(60), everything=True, page_size=20))
    with serving(office) as url:
        yield office, url


def test_every_kind_is_kept_and_the_budget_holds_in_every_window(
    write, server, shop, office
):
    search = (
        f'[[source]]\nname = "words"\nkind = "search"\n{HOME}engine = "elasticsearch"\n'
        f'search_url = "{shop[1]}/es/_search?q={{query}}&from={{offset}}'
        '&size={count}"\n'
    )
    form = snippet(office[1], office[0].form.interface)
    parts = page_source(server, [f"/{i}" for i in range(12)]), listing_source(server)
    path = write(*parts, search, form, requests='150\nper = "hour"')
    shop[0].log.clear()
    office[0].asked = 0
    play = Play(path).run(1.2 / 24)
    kinds = {type(result).__name__ for _, result in play.results}
    assert kinds == {"SyncOutcome", "ListingOutcome", "SamplingOutcome", "FormOutcome"}
    charges = ledger(path)
    assert fullest(charges, 1 / 24) <= 150
    sent = len(server.asked) + len(shop[0].log) + office[0].asked
    assert 100 <= sent <= sum(n for _, n in charges) <= 2 * 150
    assert not play.named("trouble")
    assert any(isinstance(r, SamplingOutcome) and r.kept for _, r in play.results)
    assert any(isinstance(r, FormOutcome) and r.looked.listed for _, r in play.results)


def test_pages_behind_redirects_are_seen_at_the_pace_of_the_budget(write, server):
    paths = [f"/{i}" for i in range(6)]
    for path in paths:
        server.pages[path] = ("text/plain", path.encode())
    with signpost(server.url) as post:
        there = ", ".join(f'"{post.url}{path}"' for path in paths)
        source = f'[[source]]\nname = "docs"\n{HOME}pages = [{there}]\n'
        path = write(source, requests=240)
        Play(path).run(6 / 24)
    charges = ledger(path)
    first = sum(n for at, n in charges if at < BEGAN + 0.5 / 24)
    assert len(server.asked) > 20  # where redirects end
    assert sum(n for _, n in charges) - first <= 5.5 * 10 + 10  # and what is begun


def test_new_settings_are_taken_up_while_it_runs(write, server):
    path = write(page_source(server, ["/one"]))

    def change(play):
        if play.naps == 3:
            write(page_source(server, ["/one", "/two"]), listing_source(server))

    play = Play(path).run(0.1, change)
    assert "/two" in server.asked
    assert "/jobs.json" in server.asked
    assert len(play.named("settings read again")) == 1
    assert play.service.status.settings == ""


def test_a_source_is_left_alone_while_it_is_paused(write, server):
    path = write(page_source(server, ["/one"]), listing_source(server, "paused = true"))
    seen = []

    def change(play):
        if play.naps == 3:  # then nothing at all is left to work at
            write(
                page_source(server, ["/one"], "paused = true\n"),
                listing_source(server, "paused = true"),
            )
        if play.naps == 6:
            seen.append([*server.asked])
            write(page_source(server, ["/one"]), listing_source(server))

    play = Play(path).run(0.1, change)
    assert "/one" in seen[0]
    assert "/jobs.json" not in seen[0]
    assert "/jobs.json" in server.asked
    assert not play.named("trouble")


def test_settings_that_cannot_be_used_leave_the_old_ones_in_use(write, server):
    path = write(page_source(server, ["/one"]), requests=2400)
    good, sent = path.read_text(), []

    def change(play):
        if play.naps == 3:
            path.write_text(good + 'token = "c4n4ry"\n')
        if play.naps in {10, 15}:  # another version that is just as wrong
            path.write_text(good + 'token = "c4n4ry"\n' + "#" * play.naps)
        if play.naps == 20:
            sent.append((len(server.asked), play.service.status.settings))
            path.write_text(good)

    play = Play(path).run(0.02, change)
    assert len(play.named("settings not used")) == 1
    assert sent[0][0] > 2
    assert "unknown key" in sent[0][1]
    assert play.service.status.settings == ""
    assert "c4n4ry" not in json.dumps(play.events)


def test_without_a_network_everything_waits_and_nothing_is_blamed(
    write, server, monkeypatch
):
    path = write(
        page_source(server, [f"/{i}" for i in range(5)]), listing_source(server)
    )
    real, down, tries = Wire.send, [False], []

    async def send(self, url, call):
        if down[0]:
            tries.append(url)
            raise Offline(f"{url.raw_host}: {offline.NO_NETWORK}")
        return await real(self, url, call)

    async def reach(_):
        return not down[0]

    monkeypatch.setattr(Wire, "send", send)
    play = Play(path, reach=lambda urls: asyncio.ensure_future(reach(urls)))
    play.run(0.05)
    down[0] = True
    play.run(0.05)
    assert play.service.status.offline
    assert play.service.status.reasons(play.now)[0] == "there is no network"
    assert len(tries) <= 6  # then it only looks whether there is a way
    with SqliteStore.open(Config.load(path).store_path, readonly=True) as store:
        assert not store.evidence(["docs"]).failures.any()
        assert breakers.recall(store, "jobs").failures == 0
        standing = [a for a in Outbox(store).alarms() if a.raised]
    assert [(a.source, a.kind) for a in standing] == [("", "offline")]
    assert len(play.named("offline")) == 1
    down[0], before = False, len(server.asked)
    play.run(0.05)
    assert not play.service.status.offline
    assert len(server.asked) > before
    with SqliteStore.open(Config.load(path).store_path, readonly=True) as store:
        assert not [a for a in Outbox(store).alarms() if a.raised]


def asleep(path, server, hours, many=10_000, heavy=40):
    """Fill a store with pages last looked at before a long sleep."""
    config = Config.load(path)
    keys = [f"{server.url}/p{i}" for i in range(many)]
    weight = np.where(np.arange(many) % (many // heavy) == 7, 50.0, 1.0)
    with bootstrap.writing(config) as store:
        group = server.url.removeprefix("http://")
        store.add(
            Item(key, "docs", weight=float(w), group=group)
            for key, w in zip(keys, weight, strict=True)
        )
        run = store.begin(["docs"], BEGAN - 10, lease=LEASE)
        for at in (BEGAN - 9.0, BEGAN - 6.0, BEGAN):
            digest = f"{at:.0f}"
            looks = [Observation(k, at, Seen.PRESENT, digest) for k in keys]
            store.append(run, Observations.of(looks))
        SPENT_UNTIL.save(store, BEGAN)
        store.finish(run, BEGAN)
    return {k for k, w in zip(keys, weight, strict=True) if w > 1}


@pytest.mark.parametrize("mixed", [False, True])
def test_after_three_days_of_sleep_there_is_no_stampede_and_the_best_come_first(
    write, server, mixed
):
    more = listing_source(server) if mixed else ""
    path = write(page_source(server, ["/p0"]), more, requests=480)
    best = asleep(path, server, 72)
    per_turn, last = [], [0]

    def count(play):
        sent = len(server.asked)
        if sent > last[0]:
            per_turn.append(sent - last[0])
            last[0] = sent

    play = Play(path, now=BEGAN + 3.0).run(0.1, count)
    hourly = Config.load(path).budget.hourly
    assert hourly == 20
    assert max(per_turn) <= hourly + 2 * mixed  # a listing that is new goes beyond
    assert sum(per_turn) > 2 * hourly  # it does catch up
    pages = [path for path in server.asked if path.startswith("/p")]
    first = [server.url + path for path in pages][:19]
    assert set(first) <= best
    turns = [at for at, result in play.results if isinstance(result, SyncOutcome)]
    gaps = np.diff(turns) * 86400
    assert gaps.min() >= 890  # a quarter of an hour lies between two such turns
    assert fullest(ledger(path), 1.0) <= 480


@pytest.mark.parametrize("jump", [1 / 24, -1 / 24, 1.0, -1.0, 0.3 - BEGAN])
def test_a_clock_that_is_set_overspends_nothing_and_makes_nothing_negative(
    write, server, jump
):
    path = write(
        page_source(server, [f"/{i}" for i in range(6)]), listing_source(server)
    )
    sent, jumped = [], [False]

    def leap(play):
        sent.append(len(server.asked))
        if play.naps == 20:
            play.now += jump
            jumped[0] = True
        status = play.service.status
        for one in status.sources:
            assert one.silent >= 0
            assert one.first_below >= 0
            assert np.isnan(one.mean) or 0 <= one.mean <= 1
        assert 0 <= status.left <= status.budget

    play = Play(path)
    asyncio.run(play._run(inf, lambda p: _leap_then_stop(p, leap, 60)))
    assert jumped[0]
    assert len(play.named("clock jumped")) >= 1
    assert max(np.diff(sent)) <= 10 + 6 + 2  # an hour's worth, and what is new
    assert fullest(ledger(path), 1.0) <= 240
    assert not play.named("trouble")


def _leap_then_stop(play, leap, naps):
    leap(play)
    if play.naps >= naps:
        play.stop.ask(15)


ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"]


@pytest.mark.parametrize("place", ZONES)
@pytest.mark.parametrize("hours", ["02:00-03:00", "02:15-02:30", "22:00-06:00"])
def test_a_window_opens_once_on_every_local_day_whatever_the_clocks_do(
    write, server, place, hours
):
    path = write(listing_source(server, f'window = "{hours} {place}"\n'))
    (source,) = Config.load(path).source
    for year in range(2025, 2031):
        first = (np.datetime64(f"{year}-01-01") - np.datetime64("1970-01-01")).astype(
            int
        )
        window = zones.window_of(source, first + 183.0)
        opens, closes = window.spans(first + 10.0, first + 355.0)
        gaps = np.diff(opens) * 24
        assert (np.abs(gaps - 24) <= 1.0 + 1e-6).all()
        assert (closes > opens).all()


def test_a_listing_is_looked_at_within_its_hours_only(write, server):
    path = write(listing_source(server, 'window = "02:00-03:00 Europe/Berlin"\n'))
    noon = 20_177.5  # 2025-03-30, when clocks were set forward from 2 to 3
    play = Play(path, now=noon - 1.0).run(2.0)
    looked = np.array([at for at, _ in play.results])
    assert looked.size >= 2
    local = (looked + np.where(looked > 20_177 + 1 / 24, 2.0, 1.0) / 24) % 1 * 24
    assert ((local >= 2.0 - 1e-6) & (local < 4.0)).all()
    assert len({int(at) for at in looked}) == 2


def test_a_source_that_fails_is_left_alone_twice_as_long_each_time(write, server):
    path = write(listing_source(server), requests=24_000)
    del server.pages["/jobs.json"]
    play = Play(path).run(0.1)
    failed = np.array([at for at, result in play.results if result.trouble])
    gaps = np.diff(failed) * 86400
    assert 60 <= gaps[0] <= 60 * 1.25 + 10
    ratio = gaps[1:] / gaps[:-1]
    assert ((ratio > 1.8) & (ratio < 2.2)).all()
    assert play.service.status.failing == ("jobs",)
    count = len(failed)
    again = Play(path, now=play.now).run(0.0)  # it is remembered
    assert not again.results
    server.pages["/jobs.json"] = jobs(range(40))
    play.run(0.1)
    assert not play.results[-1][1].trouble
    assert len(play.results) > count
    assert play.service.status.failing == ()


def test_an_answer_that_is_held_raises_an_alarm_and_is_asked_for_again(write, server):
    path = write(listing_source(server), requests=2400)
    play = Play(path).run(0.1)
    server.pages["/jobs.json"] = jobs([])
    play.run(0.15)
    held = np.array([at for at, result in play.results if result.held])
    assert held.size == 3
    hours = np.diff(held) / breakers.AGAIN
    assert hours == pytest.approx([1.0, 2.0], rel=0.1)  # twice as long each time
    assert ("jobs", "held") in play.service.status.alarms
    with SqliteStore.open(Config.load(path).store_path, readonly=True) as store:
        assert store.collection("jobs").looks.size >= 2
        spells = store.register("jobs").spells
        assert all(spell.gone_by == inf for spell in spells)


def test_one_broken_source_does_not_keep_the_others_from_their_turn(
    write, server, monkeypatch
):
    async def broken(*_, **__):
        raise ZeroDivisionError("c4n4ry")

    monkeypatch.setattr(listing_runner, "sync", broken)
    path = write(page_source(server, ["/a"]), listing_source(server))
    play = Play(path).run(0.2)
    assert server.asked.count("/a") > 10
    (first, *_) = play.named("trouble")
    assert first["trouble"].startswith(f"{server.url}/jobs.json: ")
    assert "ZeroDivisionError in " in first["trouble"]
    assert "c4n4ry" not in json.dumps(play.events)


def test_the_audit_gets_its_share_of_the_turns_of_pages(write, server, monkeypatch):
    given = []

    async def extra(keeper, requests):
        assert keeper.run.sources == ("docs",)
        given.append(requests)
        return 0

    path = write(page_source(server, ["/a"]), "[audit]\nshare = 0.25\n", requests=2400)
    monkeypatch.setattr(pages_audit, "check", extra)
    play = Play(path, audits=True).run(0.1)
    spent = sum(result.requests for _, result in play.results)
    assert sum(given) == pytest.approx((spent + sum(given)) / 4, abs=2)


def test_pages_of_a_source_keep_their_intervals_and_limits(write, server):
    often = page_source(
        server, ["/a", "/b"], 'min_interval = "2 h"\nmax_interval = "6 h"\n', "calm"
    )
    capped = page_source(server, ["/c"], "max_requests = 5\n", "few")
    path = write(often, capped, page_source(server, ["/d"]), requests=240)
    Play(path).run(0.6)
    with SqliteStore.open(Config.load(path).store_path, readonly=True) as store:
        times = {}
        with store.reading() as db:
            for key, at in db.execute(
                "SELECT item.key, at FROM observation JOIN item ON item.id = item"
            ):
                times.setdefault(key[-1], []).append(at * 24)
    for name in "ab":
        gaps = np.diff(sorted(times[name]))
        assert gaps.min() >= 2.0 - 1e-6
        assert gaps.max() <= 6.2
    assert server.asked.count("/c") <= 5
    assert server.asked.count("/d") > 20


def test_a_second_holder_is_refused_and_a_lease_that_ran_out_is_taken_over(
    write, server
):
    path = write(page_source(server, ["/a"]))
    config, refused = Config.load(path), []

    async def taking(now):
        with bootstrap.writing(config) as other:
            async with keeping(config, other, config.source, lambda: now):
                return

    def try_it(play):
        if play.naps == 2:
            with pytest.raises(AlreadyRunning), bootstrap.writing(config) as other:
                other.begin(["docs"], play.now, lease=LEASE)
            refused.append(play.now)

    Play(path).run(0.01, try_it)
    assert refused
    asyncio.run(taking(BEGAN + 1.0))


def test_results_are_told_as_they_come(write, server):
    path = write(page_source(server, ["/a"]), listing_source(server))
    play = Play(path).run(0.01)
    assert any(isinstance(result, SyncOutcome) for _, result in play.results)
    assert {e["sources"] for e in play.named("worked")} == {"docs", "jobs"}
    assert play.named("stopped")


def test_a_first_look_that_found_no_room_comes_as_soon_as_others_leave_some(
    write, server
):
    """Each may take all 48 requests of the day, and takes a few of them."""
    other = listing_source(server).replace('"jobs"', '"cars"')
    play = Play(write(listing_source(server), other, requests=48)).run(0.0005)
    assert {event["sources"] for event in play.named("worked")} == {"jobs", "cars"}


@pytest.mark.parametrize(("saved", "grant"), [(30, None), (60, 50)])
def test_a_listing_that_costs_more_than_an_hour_brings_is_saved_for(
    write, server, saved, grant
):
    path = write(listing_source(server), requests=480)
    config = Config.load(path)
    (source,) = config.source
    with bootstrap.writing(config) as store:
        for day in (0.0, 1.0, 2.0):
            run = store.begin(["jobs"], BEGAN + day, lease=LEASE)
            records = {str(n): {} for n in range(int(day) * 5, 40)}
            listing = Listing(BEGAN + day, records, complete=True, note="")
            listing_runner.write(store, run, source, listing, 50, "")
            store.finish(run, BEGAN + day)
        costs.note(store, "jobs", 50)
        now = BEGAN + 4.0
        SPENT_UNTIL.save(store, now - saved / 480)
        groups = scheduler.grouped(config.source)
        found = scheduler.decide(scheduler.Situation(config, store, now, groups))
    assert found.grants.get(("jobs",)) == grant
    assert found.waits == ("" if grant else "jobs")
