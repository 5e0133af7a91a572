"""Listings that are asked only for what is newer, and wholly now and then."""

import asyncio
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from halflife.config import Config
from halflife.core.errors import ConfigError
from halflife.core.object_store import NEVER
from halflife.engine.service import ServiceRhythm
from halflife.kinds.listing import incremental, runner
from halflife.kinds.listing.kind import KIND
from halflife.kinds.protocol import Reading
from halflife.net.access import GateSettings
from halflife.net.gate import Gate
from halflife.replay.play import Play, play_recorded
from halflife.replay.world import RecordedAnswer, RecordedTransport, as_json
from halflife.stores.memory import MemoryStore
from listing_parts import ORIGIN, SOURCE
from replay.worlds import BEGAN, lot
from web_parts import Book, Clock

HOURLY = ServiceRhythm(3600.0, 3600.0, 3600.0, 3600.0, 6 * 3600.0)
HOUR = 1.0 / 24.0
JOBS = """
url = "BASE/jobs"
records = "jobs"
key = "id"
next = "next"
confirm_hours = 0
since = "updated_after={last}"
full_every = "1 d"
"""


def moment(days):
    return datetime.fromtimestamp(days * 86400, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Jobs:
    """An API with jobs, two on a page, that knows when each was changed."""

    def __init__(self):
        self.rows, self.asked, self.broken = {}, [], None

    def put(self, key, value, now):
        self.rows[key] = {"id": key, "value": value, "updated": moment(now)}

    def __call__(self, asked, now):
        self.asked.append(str(asked.url.relative()))
        query = asked.url.query
        since = query.get("updated_after", "")
        rows = [r for r in self.rows.values() if r["updated"] >= since]
        begin = int(query.get("from", "0"))
        if self.broken is not None and begin >= self.broken:
            return RecordedAnswer(500)
        more = begin + 2 < len(rows)
        after = f"&updated_after={since}" if since else ""
        link = f"/jobs?from={begin + 2}{after}" if more else None
        return as_json({"jobs": rows[begin : begin + 2], "next": link})


class Copy:
    """A copy of it, made by the program."""

    def __init__(self, text=JOBS):
        self.api, self.clock, self.store = Jobs(), Clock(), MemoryStore()
        written = SOURCE.format(text=text.replace("BASE", ORIGIN))
        self.config = Config.parse(f"[fetch]\ndelay = 0.0\n{written}")

    @property
    def source(self):
        return self.config.source[0]

    def sync(self):
        """Sync once; return what it came to, and which addresses were asked for."""
        self.api.asked.clear()
        transport = RecordedTransport({ORIGIN: self.api}, self.clock)

        async def scene():
            gate = Gate(
                GateSettings("x", delay=0.0),
                hosts=Book(),
                clock=self.clock,
                transport=transport,
            )
            async with gate:
                return await runner.sync(
                    self.config, self.store, self.source, clock=self.clock, gate=gate
                )

        return asyncio.run(scene()), list(self.api.asked)

    def put(self, key, value):
        self.api.put(key, value, self.clock.now)

    def held(self):
        """Return the objects that the copy has, by key."""
        register = self.store.register("jobs")
        found = {s.key: s.attributes for s in register.spells if s.gone_by == NEVER}
        for version in register.versions:
            if version.key in found:
                found[version.key] = version.attributes
        return {key: value["value"] for key, value in found.items()}

    def state(self):
        reading = Reading(self.config, self.store, self.clock.now)
        return KIND.states(reading, [self.source])["jobs"]


@pytest.fixture
def copy():
    made = Copy()
    for i in range(6):
        made.put(f"j{i}", 0)
    made.clock.now += HOUR
    return made


def test_the_second_pass_asks_only_for_what_is_newer_and_merges_it(copy):
    looked, asked = copy.sync()
    assert (looked.listed, looked.newer, len(asked)) == (6, False, 3)
    copy.clock.now += HOUR
    copy.put("j2", 1)
    copy.put("new", 0)
    looked, asked = copy.sync()
    assert asked == [f"/jobs?updated_after={moment(copy.clock.now - HOUR - 5 / 1440)}"]
    assert looked.newer
    assert (looked.change.arrived, looked.change.updated) == (1, 1)
    assert looked.words() == "jobs: 2 newer objects: 1 new, 1 updated"
    assert copy.held() == {row["id"]: row["value"] for row in copy.api.rows.values()}


def test_nothing_is_called_gone_by_a_pass_that_asks_for_what_is_newer(copy):
    copy.sync()
    for _ in range(4):
        copy.clock.now += HOUR
        del copy.api.rows[next(iter(copy.api.rows))]
        looked, _ = copy.sync()
        assert (looked.change.missing, looked.change.gone) == (0, 0)
        assert not copy.store.register("jobs").snapshots[-1].complete
    assert len(copy.held()) == 6


def test_everything_is_read_every_so_often_and_shows_what_has_gone(copy):
    copy.sync()
    del copy.api.rows["j0"]
    copy.clock.now += 23 * HOUR
    assert copy.sync()[0].newer
    copy.clock.now += 2 * HOUR  # more than a day since everything was read
    looked, asked = copy.sync()
    assert (looked.newer, looked.change.missing, asked[0]) == (False, 1, "/jobs")
    copy.clock.now += 25 * HOUR
    assert copy.sync()[0].change.gone == 1
    assert "j0" not in copy.held()


def test_a_pass_that_breaks_off_is_asked_for_again(copy):
    copy.sync()
    copy.clock.now += HOUR
    for i in range(5):
        copy.put(f"j{i}", 1)
    copy.api.broken = 2
    looked, first = copy.sync()
    assert looked.trouble
    assert not looked.newer
    copy.api.broken = None
    copy.clock.now += HOUR
    looked, again = copy.sync()
    assert again[0] == first[0]  # since the last pass that went through
    assert copy.held()["j4"] == 1


def test_a_whole_pass_that_breaks_off_is_not_taken_for_whole(copy):
    copy.api.broken = 4
    copy.sync()
    assert incremental.last_progress(copy.store, copy.source) is None
    copy.api.broken = None
    copy.clock.now += HOUR
    looked, asked = copy.sync()
    assert (asked[0], looked.newer, looked.listed) == ("/jobs", False, 6)


def test_an_empty_answer_says_that_nothing_is_newer(copy):
    copy.sync()
    copy.clock.now += HOUR
    looked, _ = copy.sync()
    assert (looked.listed, looked.newer, looked.trouble, looked.held) == (
        0,
        True,
        "",
        "",
    )
    assert incremental.last_progress(copy.store, copy.source).at == copy.clock.now


def test_the_greatest_value_of_a_field_may_say_how_far_it_is_known():
    copy = Copy(JOBS + 'since_field = "updated"')
    copy.put("a", 0)
    copy.clock.now += HOUR
    copy.put("b", 0)
    greatest = moment(copy.clock.now)
    copy.sync()
    copy.clock.now += HOUR
    _, asked = copy.sync()
    assert asked == [f"/jobs?updated_after={greatest}"]


@pytest.mark.parametrize(
    ("since", "asked"),
    [
        ("since={last_unix}", "since=1727999700"),
        ("day=ge:{last_date}", "day=ge:2024-10-03"),
    ],
)
def test_moments_are_written_as_the_source_wants_them(since, asked):
    copy = Copy(JOBS.replace("updated_after={last}", since))
    copy.put("a", 0)
    copy.sync()
    copy.clock.now += HOUR
    assert copy.sync()[1] == [f"/jobs?{asked}"]


def test_what_is_newer_may_be_asked_for_in_the_body():
    text = JOBS.replace("updated_after={last}", "body.filter.after={last_unix}")
    copy = Copy(text + 'method = "POST"\nbody = {filter = {open = true}}')
    bodies = []

    def api(asked, now):
        bodies.append(asked.body)
        return as_json({"jobs": [{"id": 1, "value": 0}]})

    copy.api = type("Api", (), {"__call__": lambda s, a, n: api(a, n), "asked": []})()
    copy.sync()
    copy.clock.now += HOUR
    copy.sync()
    assert bodies[0] == b'{"filter": {"open": true}}'
    assert bodies[1] == b'{"filter": {"open": true, "after": 1727999700}}'


def test_other_settings_begin_anew(copy):
    copy.sync()
    other = Copy(JOBS.replace('key = "id"', 'key = "id"\nfields = {value = "value"}'))
    other.store, other.api, other.clock = copy.store, copy.api, copy.clock
    other.clock.now += HOUR
    assert not other.sync()[0].newer


def test_the_market_is_offered_what_each_pass_will_cost(copy):
    for i in range(20):
        copy.put(f"k{i}", 0)
    copy.clock.now += HOUR
    copy.sync()
    copy.clock.now += HOUR
    copy.sync()
    assert (copy.state().whole, copy.state().expected) == (1.0, 1)
    copy.clock.now += 25 * HOUR  # now everything is to be read
    assert (copy.state().whole, copy.state().expected) == (13.0, 13)


def test_what_was_read_since_counts_as_fresh(copy):
    for _ in range(3):
        copy.sync()
        copy.clock.now += 25 * HOUR
        copy.put(f"n{copy.clock.now}", 0)
    copy.sync()
    whole = copy.state().last
    copy.clock.now += 12 * HOUR
    stale = KIND.quality(copy.state(), 0.9, ahead(), looks=False).mean[0]
    copy.sync()
    state = copy.state()
    assert state.last == copy.clock.now > whole
    assert KIND.quality(state, 0.9, ahead(), looks=False).mean[0] > stale
    assert KIND.ages(state)[0] == 0.0


def ahead():
    return np.array([0.0, 1.0])


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_the_copy_has_all_that_came_and_loses_nothing_that_is_there(data):
    """Whatever happens between passes, and wherever they break off."""
    copy = Copy()
    for _ in range(data.draw(st.integers(2, 8))):
        for key in data.draw(st.lists(st.sampled_from("abcdef"), max_size=3)):
            copy.put(key, data.draw(st.integers(0, 9)))
        for key in data.draw(st.lists(st.sampled_from("abcdef"), max_size=1)):
            copy.api.rows.pop(key, None)
        copy.api.broken = data.draw(st.sampled_from([None, None, 0, 2]))
        looked, _ = copy.sync()
        truth = {key: row["value"] for key, row in copy.api.rows.items()}
        if not (looked.trouble or looked.held):  # held: it lacks too much at once
            held = copy.held()
            assert {key: held.get(key) for key in truth} == truth
        copy.clock.now += data.draw(st.sampled_from([1, 7, 25])) * HOUR


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("since = 'updated_after'", "must hold {last}"),
        ("since = 'after={first}'", "must hold {last}"),
        ("since = '={last}'", "name=value"),
        ("full_every = '1 d'", "only with since"),
        ("since = 'a={last_unix}'\nsince_field = 'u'", "since_field goes with {last}"),
        (
            "since = 'a={last}'\nsince_field = 'u'\nfields = {a = 'a'}",
            "one of the fields",
        ),
        ("since = 'a={last}'\ncomplete = false", "needs a listing that is complete"),
        ("since = 'a={last}'\nfull_every = 'often'", "is not a time"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused_in_a_line(text, said):
    with pytest.raises(ConfigError) as caught:
        Config.parse(SOURCE.format(text=f"url = '{ORIGIN}/'\nkey = 'id'\n{text}"))
    assert said in str(caught.value)


def things(now):
    """Return the objects of a moment: each comes and changes at times of its own."""
    rows = {}
    for i in range(120):
        came, step = BEGAN - 2.0 + 6.0 * lot("came", i), 0.5 + 3.0 * lot("step", i)
        if now >= came:
            at = came + step * int((now - came) / step)
            rows[str(i)] = {"id": i, "value": at, "updated": moment(at)}
    return rows


def world(asked, now):
    """Answer with those that are new enough, ten on a page."""
    since = asked.url.query.get("updated_after", "")
    rows = [row for row in things(now).values() if row["updated"] >= since]
    begin = int(asked.url.query.get("from", "0"))
    more = begin + 10 < len(rows)
    link = str(asked.url.update_query({"from": begin + 10})) if more else None
    return as_json({"jobs": rows[begin : begin + 10], "next": link})


@pytest.mark.parametrize("policy", ["market-price", "interval"])
def test_the_service_asks_for_what_is_newer_and_for_everything_once_a_day(policy):
    """Whole passes go on coming, and the copy is as new as the last pass."""
    text = JOBS + f'policy = "{policy}"\nmax_interval = "3 h"'
    written = SOURCE.format(text=text.replace("BASE", ORIGIN))
    head = '[budget]\nrequests = 400\nper = "day"\n[fetch]\ndelay = 0.0\n'
    config, store = Config.parse(head + written), MemoryStore()
    play = Play(BEGAN, 3.01, audits=True, rhythm=HOURLY)
    sent = play_recorded(config, store, {ORIGIN: world}, play)
    begun = [one for one in sent if "from=" not in one.url]
    whole = [one.at for one in begun if "updated_after" not in one.url]
    newer = [one.at for one in begun if "updated_after" in one.url]
    assert len(newer) > 15
    assert whole == [BEGAN, BEGAN + 1, BEGAN + 2, BEGAN + 3]
    register = store.register("jobs")
    assert [s.at for s in register.snapshots if s.complete] == pytest.approx(whole)
    held = {spell.key: spell.attributes for spell in register.spells}
    held |= {version.key: version.attributes for version in register.versions}
    assert held == things(max(*whole, *newer))
