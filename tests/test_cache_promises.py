"""Pages that say how long they stay as they are: believed as far as it proved true."""

from math import exp, inf

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from halflife.belief.plain import KnownRates
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.kinds.pages.cache_promises import (
    CHECKED,
    LONGEST,
    MOST,
    PromiseBelief,
    PromiseMemory,
)
from halflife.models.promise_trust import (
    BELIEVED,
    MOST_A_DAY,
    PromiseRecord,
)
from halflife.net.access import Answer
from halflife.readers.freshness_lifetime import Lifetime, freshness_lifetime
from halflife.stores.memory import MemoryStore
from lab import cache_lifetimes
from web_parts import TODAY

KEY = "http://a.example/x"
DAILY = b"<rdf><sy:updatePeriod>daily</sy:updatePeriod>"
DAY = {"Cache-Control": "max-age=86400"}


def lifetime(headers, body=b"", now=TODAY):
    found = freshness_lifetime(headers, body, now)
    return found and (pytest.approx(found.days), found.kind)


@pytest.mark.parametrize(
    ("headers", "days"),
    [
        ({"Cache-Control": "max-age=43200"}, 0.5),
        ({"cache-control": 'public, MAX-AGE="43200"'}, 0.5),
        ({"Cache-Control": "max-age=86400", "Age": "43200"}, 0.5),
        ({"Cache-Control": "max-age=86400", "Expires": "0"}, 1.0),
        ({"Cache-Control": "max-age=99999999999"}, 365.0),
        (
            {
                "Expires": "Fri, 02 Jan 1970 00:00:00 GMT",
                "Date": "Thu, 01 Jan 1970 12:00:00 GMT",
            },
            0.5,
        ),
    ],
)
def test_the_lifetime_of_an_answer_is_that_of_rfc_9111(headers, days):
    assert lifetime(headers) == (days, "max-age")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Cache-Control": "no-cache, max-age=60"},
        {"Cache-Control": "max-age=60, no-store"},
        {"Cache-Control": "max-age=-5"},
        {"Cache-Control": "max-age=x"},
        {"Cache-Control": "max-age=60", "Age": "60"},
        {"Expires": "0"},
        {"Expires": "Thu, 01 Jan 1970 12:00:00 GMT"},
    ],
)
def test_an_answer_that_promises_nothing_has_no_lifetime(headers):
    assert freshness_lifetime(headers, b"", TODAY) is None


@pytest.mark.parametrize(
    ("body", "days"),
    [
        (b"<rss><channel><ttl> 720 </ttl><item/></channel></rss>", 0.5),
        (DAILY + b"<sy:updateFrequency>4</sy:updateFrequency>", 0.25),
        (b"<rss><sy:updatePeriod>weekly</sy:updatePeriod>", 7.0),
    ],
)
def test_a_feed_says_itself_how_often_it_is_updated(body, days):
    assert lifetime(DAY, body) == (days, "ttl")


@pytest.mark.parametrize(
    "body",
    [
        b"<rss><item><ttl>60</ttl></item></rss>",
        b"<ttl>x</ttl>",
        b"<sy:updatePeriod>x</",
    ],
)
def test_what_an_entry_says_is_no_promise_of_the_feed(body):
    assert lifetime(DAY, body) == (1.0, "max-age")


@given(
    st.dictionaries(
        st.sampled_from(["Cache-Control", "Expires", "Date", "Age"]),
        st.text(max_size=40),
    ),
    st.binary(max_size=60),
)
@settings(max_examples=60, deadline=None)
def test_any_answer_has_a_sensible_lifetime_or_none(headers, body):
    found = freshness_lifetime(headers, body, TODAY)
    assert found is None or 0.0 < found.days <= 365.0


def test_the_share_of_broken_promises_is_the_one_worked_by_hand():
    seen = PromiseRecord(days=10.0, changes=5.0)
    seen = seen.after(0.0, 1.0, changed=False, within=True)
    assert seen.expected == pytest.approx(1.0 - exp(-0.5))
    seen = seen.after(0.0, 2.0, changed=True, within=True)  # a rate of 5 in 11 days
    total = min(1.0 - exp(-0.5) + 1.0 - exp(-10.0 / 11.0), MOST_A_DAY)
    assert seen.expected == pytest.approx(total)
    assert seen.broken_share(0.0) == pytest.approx(1.25 / (total + 1.0))
    assert seen.broken_share(30.0) == pytest.approx(0.75 / (total / 2.0 + 1.0))


def watched(rng, *, honest, days=400, every=0.25, rate=0.6):
    """Return what is seen of a page fetched now and then that promises a day."""
    record = PromiseRecord()
    hours = np.arange(days) + 0.1
    changes = hours[rng.random(days) < rate]
    if not honest:
        changes = np.sort(days * rng.random(rng.poisson(rate * days)))
    for at in np.arange(every, days, every):
        within = at - every > np.floor(at - every - 0.1) + 0.1 and (
            np.floor(at - 0.1) == np.floor(at - every - 0.1)
        )
        changed = bool(np.any((changes > at - every) & (changes <= at)))
        record = record.after(float(at), every, changed=changed, within=bool(within))
    return record


def test_of_promises_that_mean_nothing_as_many_are_broken_as_expected():
    """The oracle is a simulation: a Poisson process knows of no promise."""
    seen = [watched(np.random.default_rng(s), honest=False) for s in range(6)]
    broken = np.mean([one.broken for one in seen])
    expected = np.mean([one.expected for one in seen])
    assert broken == pytest.approx(expected, rel=0.25)
    assert not any(one.is_believed(one.at) for one in seen)


def test_who_keeps_promises_is_believed():
    record = watched(np.random.default_rng(1), honest=True)
    assert record.broken == 0.0
    assert record.expected > 4.0
    assert record.is_believed(record.at)


@given(
    st.lists(st.tuples(st.floats(0.01, 3.0), st.booleans(), st.booleans()), max_size=30)
)
@settings(max_examples=60, deadline=None)
def test_a_broken_promise_never_raises_trust(steps):
    record, now = PromiseRecord(), 100.0
    for days, changed, within in steps:
        before = record.faded(now)
        record = record.after(now, days, changed=changed, within=within)
        if changed and within:
            assert record.broken_share(now) >= min(before.broken_share(now), 1.0)
        elif not within:
            assert record.broken_share(now) == before.broken_share(now)
        assert 0.0 <= record.today <= MOST_A_DAY
        assert record.is_believed(now) == (record.broken_share(now) <= BELIEVED)
        now += days


def test_many_pages_that_stay_as_they_are_for_one_day_prove_little():
    record = PromiseRecord(days=100.0, changes=100.0)
    for _ in range(1000):
        record = record.after(0.5, 0.1, changed=False, within=True)
    assert record.expected == pytest.approx(MOST_A_DAY)
    assert not record.is_believed(0.5)


def look(key=KEY, at=TODAY, digest="d"):
    return Observation(key, at, Seen.PRESENT, digest, digest)


def answer(headers=None, status=200, body=b""):
    return Answer(status, KEY, body, headers=headers or {})


def honest(store=None, pages=1, **limits):
    """Return a memory of a host that kept its promises for long."""
    memory = PromiseMemory(store or MemoryStore(), "s", **limits)
    for i in range(pages):
        held = None
        for day in range(30):
            for part, digest in ((0.0, day), (0.5, day)):
                new = look(f"{KEY}{i}", TODAY - 30 + day + part, f"{digest}")
                left = {"Cache-Control": f"max-age={int(86400 * (0.9 - part))}"}
                memory.learn(held, new, answer(left))
                held = new
    return memory


def test_a_page_is_left_alone_until_its_promise_is_over():
    memory, now = honest(pages=50), TODAY
    for i in range(50):
        memory.learn(look(f"{KEY}{i}"), look(f"{KEY}{i}"), answer(DAY))
    found = memory.trusted(now + 0.5)
    assert set(found.values()) == {TODAY + 1.0}
    assert len(found) == pytest.approx(50 * (1.0 - CHECKED), abs=6)
    assert memory.trusted(now + 1.0) == {}


def test_a_host_that_proved_nothing_is_not_heeded():
    memory = PromiseMemory(MemoryStore(), "s")
    memory.learn(None, look(), answer(DAY))
    assert memory.trusted(TODAY + 0.5) == {}


def test_who_breaks_a_promise_is_not_heeded_any_more():
    memory = honest(pages=20)
    memory.learn(None, look(), answer(DAY))
    assert len(memory.trusted(TODAY - 0.4)) > 10
    for _ in range(3):
        memory.learn(look(), look(at=TODAY + 0.1, digest="e"), answer(DAY))
        memory.learn(look(), look(), answer(DAY))
    assert memory.trusted(TODAY + 0.1) == {}


def test_no_promise_outlasts_a_week_or_the_longest_interval():
    year = {"Cache-Control": "max-age=31536000"}
    for asked, most in ((inf, LONGEST), (2.0, 2.0)):
        memory = honest(pages=20, longest=asked)
        for i in range(20):
            memory.learn(None, look(f"{KEY}{i}"), answer(year))
        assert set(memory.trusted(TODAY + 0.5).values()) == {TODAY + most}


def test_promises_and_trust_outlive_the_program():
    store = MemoryStore()
    memory = honest(store, pages=5)
    memory.save()
    again = PromiseMemory(store, "s")
    assert again.trusted(TODAY - 0.4) == memory.trusted(TODAY - 0.4) != {}
    assert again.record(KEY, "max-age") == memory.record(KEY, "max-age")
    memory.learn(None, look(f"{KEY}0"), answer())  # it promises nothing any more
    memory.save(force=True)
    assert f"{KEY}0" not in PromiseMemory(store, "s").trusted(TODAY - 0.4)


def test_a_feed_that_has_not_changed_says_what_it_said():
    memory = PromiseMemory(MemoryStore(), "s")
    memory.learn(None, look(), answer(body=b"<rss><ttl>720</ttl></rss>"))
    memory.learn(look(), look(at=TODAY + 1.0), answer(status=304))
    assert memory._promises[KEY].until == pytest.approx(TODAY + 1.5)


def test_there_is_an_end_to_what_is_remembered(monkeypatch):
    monkeypatch.setattr("halflife.kinds.pages.cache_promises.MOST", 3)
    assert MOST == 20_000
    memory = PromiseMemory(MemoryStore(), "s")
    for i in range(5):
        memory.learn(None, look(f"{KEY}{i}"), answer(DAY))
    assert len(memory._promises) == 3


def believing(pages, **limits):
    """Return a belief in pages of an honest host, fetched today, and its evidence."""
    store = MemoryStore()
    keys = [f"{KEY}{i}" for i in range(pages)]
    store.add(Item(key, "s") for key in keys)
    run = store.begin(["s"], TODAY, lease=1.0)
    store.append(run, Observations.of([look(key) for key in keys]))
    memory = honest(pages=pages, **limits)
    for key in keys:
        memory.learn(None, look(key), answer(DAY))
    return PromiseBelief(KnownRates(np.full(pages, 1.0)), {"s": memory}), store


def test_pages_that_promised_to_stay_are_not_ready():
    belief, store = believing(20)
    evidence = store.evidence(["s"])
    early = belief(evidence, TODAY + 0.5, TODAY + 0.5)
    assert np.count_nonzero(~early.ready) > 12
    later = belief(evidence, TODAY + 1.0, TODAY + 1.0)
    assert later.ready.all()
    belief.is_on = False
    assert belief(evidence, TODAY + 0.5, TODAY + 0.5).ready.all()


def test_no_promise_is_worth_more_than_a_target():
    """At a change a day a copy is fresh with 0.78 after a quarter, 0.61 after half."""
    belief, store = believing(20, level=0.7)
    evidence = store.evidence(["s"])
    assert not belief(evidence, TODAY + 0.25, TODAY + 0.25).ready.all()
    assert belief(evidence, TODAY + 0.5, TODAY + 0.5).ready.all()


def test_lifetimes_are_kinds_of_their_own():
    assert Lifetime(1.0, "ttl") != Lifetime(1.0, "max-age")


ROUNDS, PAGES = 48, 4


def kept(kind):
    """Keep a server's pages and heed its promises; return freshness, and the best."""
    fresh, sent = cache_lifetimes.play(kind, "heeded", PAGES, ROUNDS, PAGES, 1)
    server = cache_lifetimes.draw(kind, PAGES, ROUNDS * cache_lifetimes.EACH, 1)
    return fresh, cache_lifetimes.freshness_of_all(server, ROUNDS), sent


def test_heeding_an_honest_server_saves_requests_and_costs_no_freshness():
    fresh, best, sent = kept("honest")
    assert sent < 0.7 * PAGES * ROUNDS / 2
    assert fresh > best - 0.02


def test_heeding_a_liar_costs_no_freshness():
    fresh, best, _ = kept("liar")
    assert fresh > best - 0.01
