"""How sources stand to their targets, and what is told of it as time goes by."""

import json
from math import inf, isnan

import numpy as np
import pytest
from hypothesis import given, strategies as st

from alert_parts import jobs, listing, pages, standing
from form_worlds import behind, cars
from halflife.alerts import AlarmKind
from halflife.alerts.machine import raised_alarms
from halflife.alerts.rules import Severity, judge, span
from halflife.config import Config
from halflife.core.item import Item
from halflife.core.object_store import Listing
from halflife.core.observation import Observation, Observations, Seen
from halflife.demo.forms import FormServer, serving, snippet
from halflife.engine.appraisal import Appraiser
from halflife.engine.breakers import Breaker
from halflife.engine.loop import LEASE
from halflife.engine.quality_forecast import quality
from halflife.engine.service import ServiceRhythm
from halflife.engine.source_health import HealthJudge, lateness, whole
from halflife.engine.wallet import Wallet
from halflife.kinds.listing import runner as listing_runner
from halflife.kinds.protocol import Memo
from halflife.market.targets import Target
from halflife.stores.outbox import Outbox
from halflife.stores.sqlite import SqliteStore
from search_server import corpus, serving as searching
from service_parts import BEGAN, HOME, Play

REQUESTS = 2400  # a day, unless a test says otherwise
HOUR = 1 / 24
MINUTE = HOUR / 60
SOON = 2.4 * HOUR


def opened(path):
    return SqliteStore.open(Config.load(path).store_path, create=True)


# Sources of every kind with a history


def a_listing(write):
    path = write(source := listing("http://a.example/jobs.json"))
    with opened(path) as store:
        for n in range(30):
            at = BEGAN + n / 4
            run = store.begin(["jobs"], at, lease=LEASE)
            records = {str(k): {"x": k} for k in range(3 * n, 3 * n + 60)}
            answer = Listing(at, records)
            listing_runner.write(store, run, Config.load(path).source[0], answer, 1, "")
            store.finish(run, at)
    return source, at


def some_pages(write):
    keys = [f"http://a.example/{i}" for i in range(40)]
    path = write(source := pages("http://a.example/", range(40)))
    with opened(path) as store:
        store.add(Item(key, "docs", group="a.example") for key in keys)
        run = store.begin(["docs"], BEGAN, lease=LEASE)
        version, rng = np.zeros(40, int), np.random.default_rng(3)
        for n in range(30):
            at = BEGAN + n / 4
            version += rng.random(40) < 0.2
            looks = [
                Observation(key, at, Seen.PRESENT, str(digest))
                for key, digest in zip(keys, version, strict=True)
            ]
            store.append(run, Observations.of(looks))
        store.finish(run, at)
    return source, at


def a_form(write):
    office = FormServer(behind(cars(60), everything=True, page_size=20))
    with serving(office) as url:
        path = write(source := snippet(url, office.form.interface))
        play = Play(path).run(0.2 * HOUR)
    return source, play.now


def a_search(write):
    with searching(corpus(100)) as server:
        source = (
            f'[[source]]\nname = "words"\nkind = "search"\n{HOME}'
            'engine = "elasticsearch"\n'
            f'search_url = "{server.url}/es/_search?q={{query}}&from={{offset}}'
            '&size={count}"\n'
        )
        play = Play(write(source, requests=9600)).run(0.02 * HOUR)
    return source, play.now


def spend_all(path, now):
    """Spend all that a budget of one request has."""
    with opened(path) as store:
        run = store.begin(["nothing"], now, lease=LEASE)
        store.charge(run, 1, now)
        store.finish(run, now)


def health_at(path, now, **breakers):
    config = Config.load(path)
    with SqliteStore.open(config.store_path, readonly=True) as store:
        found = HealthJudge(config, store, now, breakers, Memo())
        return found.health(config.source[0])


def found_at(path, now, kind, **breakers):
    health = health_at(path, now, **breakers)
    return next(f for f in judge(health) if f.kind == kind)


MEASURES = {
    a_listing: "recall",
    some_pages: "freshness",
    a_form: "recall",
    a_search: "summary",
}


@pytest.mark.parametrize("sure", [None, 0.9])
@pytest.mark.parametrize("make", MEASURES, ids=lambda make: make.__name__)
def test_a_target_is_missed_when_it_was_foretold(write, make, sure):
    """Nobody can look, for the budget is spent; time passes, and it comes true."""
    source, now = make(write)
    path = write(source, requests=1)
    spend_all(path, now)
    config = Config.load(path)
    with SqliteStore.open(config.store_path, readonly=True) as store:
        appraiser = Appraiser(config, store, now)
        known, ahead = config.source[0], np.array([0.0, SOON])
        cast = quality(appraiser, known, sure, looks=False, ahead=ahead)
    level = float((cast.mean if sure is None else cast.low)[1])
    assert 0.01 < level < 0.9999999
    more = "" if sure is None else f" with confidence {sure}"
    target = f"{MEASURES[make]} >= {level:.9f}{more}"
    path = write(source.replace("kind", f'target = "{target}"\nkind', 1)
                 if "kind" in source else source + f'target = "{target}"\n',
                 requests=1)  # fmt: skip
    health = health_at(path, now)
    wait = health.first_below
    assert wait == pytest.approx(SOON, abs=3 * MINUTE)
    found = found_at(path, now, AlarmKind.WILL_MISS)
    assert found.level is Severity.BAD
    assert f"in {span(wait)}, and it cannot be fetched before: the budget" in found.text

    def kept(later, by=0.0):
        one = health_at(path, now + later)
        return (one.mean if sure is None else one.low) >= one.target - by

    # Of pages that share busy times the bounds widen while nobody looks, which is
    # not foreseen: their lower bound falls sooner than told, but not by half. What is
    # told is in whole pages, and half a page is no difference.
    early = sure is not None and make is some_pages
    assert kept(wait / 2.0, by=0.5 / 40) if early else kept(wait - MINUTE)
    assert not kept(wait + MINUTE)
    if sure is None:
        before = found_at(path, now + wait - MINUTE, AlarmKind.MISSED)
        after = found_at(path, now + wait + MINUTE, AlarmKind.MISSED)
        assert before.level is Severity.BETWEEN
        assert after.level is Severity.BAD


def test_a_quality_is_given_with_the_confidence_of_its_target(write):
    source, now = a_listing(write)
    widths = []
    for sure in (0.6, 0.9, 0.99):
        more = f'target = "recall >= 0.5 with confidence {sure}"\n'
        health = health_at(write(source + more), now + HOUR)
        assert health.sure == sure
        widths.append(health.high - health.low)
    assert widths == sorted(widths)
    assert widths[0] < widths[2]
    assert isnan(health_at(write(source), now).target)


# As usual, and not


def test_pages_that_are_looked_at_as_usual_do_not_count_as_getting_worse(write):
    source, now = some_pages(write)
    config, ahead = Config.load(write(source)), np.array([0.0, 6 * HOUR])
    with SqliteStore.open(config.store_path, readonly=True) as store:
        appraiser = Appraiser(config, store, now)
        known = config.source[0]
        cast = quality(appraiser, known, None, looks=False, ahead=ahead)
    low = float(cast.mean[1]) - 0.01  # they fall no further until they are looked at
    path = write(source + f'target = "freshness >= {low:.6f}"\n')
    assert health_at(path, now + 0.01).first_below == inf
    lower = write(source + f'target = "freshness >= {low - 0.1:.6f}"\n')
    overdue = health_at(lower, now + 0.4)  # nobody has looked when it was usual
    assert overdue.mean > overdue.target
    assert overdue.first_below < inf


def test_a_listing_is_not_foretold_to_miss_what_the_next_look_keeps(write):
    source, now = a_listing(write)
    path = write(source + 'target = "recall >= 0.6"\n')
    health = health_at(path, now + HOUR)
    assert health.relief == pytest.approx(5 * HOUR)  # one look every 6 hours so far
    assert not health.blocked
    assert health_at(path, now + 12 * HOUR).relief == inf  # it should have come


@pytest.mark.parametrize(
    ("breaker", "more", "said"),
    [
        (Breaker(3, 0.0, BEGAN, "it answered 500"), "", "its last 3 fetches failed"),
        (Breaker(1, 0.0, BEGAN, "it answered 500"), "", "its last fetch failed"),
        (Breaker(), 'window = "02:00-03:00 UTC"\n', "its hours begin in"),
    ],
)
def test_what_keeps_a_source_from_being_looked_at_is_named(write, breaker, more, said):
    source, now = a_listing(write)
    path = write(source + 'target = "recall >= 0.6"\n' + more)
    assert said in health_at(path, np.floor(now) + 1.5, jobs=breaker).blocked


def test_who_spends_only_what_targets_ask_for_is_believed_to_look_in_time(write):
    source, now = a_listing(write)
    mode = '2400\nmode = "targets"'
    path = write(source + 'target = "recall >= 0.5"\n', requests=mode)
    assert health_at(path, now + HOUR).relief == 0.0


# Ages


@given(
    n=st.integers(1, 60),
    times=st.floats(0.5, 3.0),
    share=st.sampled_from([0.5, 0.9, 0.95, 0.99]),
    phase=st.floats(0.0, 0.999),
)
def test_parts_looked_at_often_enough_are_never_late(n, times, share, phase):
    """Looks evenly spread, ``times`` the interval apart: late if that is too long."""
    target = Target("age", share, share)  # an interval of one day
    age = times * ((np.arange(n) + phase) / n)
    found = lateness(target, age, np.full(n, np.inf))
    late = np.mean(age > 1.0)
    assert found.late == pytest.approx(late)
    if times <= 1.0:
        assert found.late == 0.0
    later = lateness(target, age + found.wait + 1e-9, np.full(n, np.inf))
    assert later.late > later.most
    if found.wait > 1e-6:
        sooner = lateness(target, age + 0.999 * found.wait, np.full(n, np.inf))
        assert sooner.late <= sooner.most


def test_parts_with_a_short_habit_do_not_get_late():
    target = Target("age", 0.95, 0.95)
    age = np.array([0.5, 0.9])
    assert lateness(target, age, np.array([0.8, 0.95])).wait == inf
    assert lateness(target, age, np.array([2.0, 0.95])).wait == pytest.approx(0.5)


def test_an_age_is_foretold_missed_and_met_again_by_the_service(write, server):
    server.pages["/jobs.json"] = good = jobs(range(15))
    source = listing(f"{server.url}/jobs.json", 'target = "age p90 <= 1 h"\n')
    path = write(source, requests='480\nmode = "targets"')
    told = []

    def watch(play):
        found = {
            a.kind: a.text for a in raised_alarms(play.service.store.outbox.alarms())
        }
        told.extend((play.now, k, t) for k, t in found.items() if k not in seen)
        seen.update(found)

    seen = set()
    often = ServiceRhythm(slice=20.0)
    play = Play(path, rhythm=often).run(2.5 * HOUR, watch)
    assert not told
    del server.pages["/jobs.json"]
    play.run(2.5 * HOUR, watch)
    (foretold, one, text), (missed, two, later) = told
    assert (one, two) == ("will-miss", "missed")
    assert text.startswith("will miss its target age p90 <= 1 h in ")
    assert "its last fetch failed" in text or "fetches failed" in text
    assert later.startswith("misses its target age p90 <= 1 h: the last fetch was ")
    wait = float(text.split(" in ")[1].split(" min")[0]) * MINUTE
    # It must last for ten minutes, and is judged every quarter of an hour at least.
    assert wait <= missed - foretold <= wait + 26 * MINUTE
    server.pages["/jobs.json"] = good
    play.run(4 * HOUR)
    assert standing(path) == {}
    with opened(path) as store:
        sent = [m.news for m in Outbox(store).latest("waiting")]
    assert not sent  # nobody is to be told


# What concerns all sources


def test_settings_that_cannot_be_used_are_told_until_they_can(write, server):
    server.pages["/one"] = ("text/plain", b"one")
    path = write(pages(server.url, ["/one"]))
    good, found = path.read_text(), []

    def change(play):
        if play.naps == 3:
            path.write_text(good + 'token = "c4n4ry"\n')
        if play.naps in {120, 240}:
            config = good if play.naps == 240 else None
            with SqliteStore.open(path.with_name("halflife.db"), readonly=True) as s:
                alarms = [a for a in Outbox(s).alarms() if a.raised]
            found.append({(a.source, a.kind): a.text for a in alarms})
            path.write_text(config or path.read_text())

    play = Play(path, rhythm=ServiceRhythm()).run(HOUR, change)
    said = found[0]["", "settings"]
    assert said.startswith("the new settings cannot be used, so the old ones stay in")
    assert "unknown key" in said
    assert "c4n4ry" not in said
    assert found[0] == found[1]
    play.run(0.2 * HOUR)
    assert standing(path) == {}


def test_a_spent_budget_says_when_some_of_it_is_back(write):
    path = write(listing("http://a.example/"), requests=1)
    spend_all(path, BEGAN)
    config = Config.load(path)
    with opened(path) as store:
        later = Wallet(store, config.budget).refill(BEGAN + 0.25)
        assert later == pytest.approx(0.75, abs=1e-6)
        found = whole(config, store, BEGAN + 0.25, offline=False)
    (spent,) = (f for f in judge(found) if f.kind == AlarmKind.SPENT)
    assert spent.text == "the budget is spent, so nothing is fetched for 18 h"
    assert json.dumps(spent.advice) == '"wait, or raise [budget] requests"'
