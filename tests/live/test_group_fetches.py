"""Listings whose groups are fetched one by one: over HTTP, replayed, and in trouble."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from halflife.config import Config
from halflife.core.errors import ConfigError
from halflife.core.object_store import Listing
from halflife.core.tracker import Tracker
from halflife.engine import costs
from halflife.engine.service import ServiceRhythm
from halflife.kinds.listing import recorded_source, runner
from halflife.kinds.listing.kind import KIND
from halflife.kinds.protocol import Reading
from halflife.net.access import GateSettings
from halflife.net.gate import Gate
from halflife.policies.listings.group_dues import REMEMBERED, group_dues
from halflife.policies.listings.schedules import ModelThreshold
from halflife.replay.play import Play, VirtualClock, play_over_http, play_recorded
from halflife.replay.world import RecordedTransport, serve
from halflife.stores.memory import MemoryStore
from halflife.stores.notes.group_fetches import GROUP_FETCHES
from replay.worlds import BEGAN, lot
from web_parts import Book, Clock

HOST = "http://recorded.invalid"
HOUR, PER_PAGE, WHOLE = 1.0 / 24.0, 50, 4
HOURLY = ServiceRhythm(3600.0, 3600.0, 3600.0, 3600.0, 6 * 3600.0)
SETTINGS = """
[budget]
requests = 960
per = "day"
[fetch]
delay = 0.0
[[source]]
name = "cars"
kind = "listing"
url = "{host}/objects"
format = "json"
records = "objects"
key = "_key"
next = "next"
robots = false
allow = ["127.0.0.0/8"]
confirm_hours = 0
policy = "threshold-groups"
group = "color"
"""
APART = 'group_request = "only={group}"\n'


def present(now):
    """Return 80 red objects that stay for half a day, and 80 blue ones for a month."""
    found = {}
    for i in range(160):
        life = (30.0 if i % 2 else 0.5) * (0.5 + lot("life", i))
        number = int((now - BEGAN - 40.0 * lot("came", i)) // life)
        found[f"o{i}.{number}"] = {"color": "blue" if i % 2 else "red"}
    return found


def config_of(more=APART, host=HOST):
    return Config.parse(SETTINGS.format(host=host) + more)


def known(config, days=2.0):
    """Return a store that fetched everything every hour for some days, to the start."""
    store, tracker = MemoryStore(), Tracker(group="color")
    for at in BEGAN - np.arange(round(days / HOUR), 0, -1) * HOUR:
        tracker.take(Listing(float(at), present(at)))
    run = store.begin(["cars"], BEGAN, lease=1.0)
    store.save_register(run, "cars", tracker.news())
    store.finish(run, BEGAN)
    costs.note(store, "cars", WHOLE)
    return store


def state_of(config, store, now):
    return KIND.states(Reading(config, store, now), config.source)["cars"]


class Copy:
    """A copy that is synced by hand from a recorded listing."""

    def __init__(self, more=APART, group="color", there=present):
        self.config, self.clock = config_of(more), Clock()
        self.store, self.clock.now = known(self.config), BEGAN
        self.there, self.asked = there, []
        self.answer = recorded_source.listing(self._present, PER_PAGE, group=group)

    def _present(self, now):
        return self.there(now)

    def _answer(self, asked, now):
        self.asked.append(asked.url.query.get("only", ""))
        return self.answer(asked, now)

    def sync(self, most=None):
        """Sync once; return what it came to, and of which groups pages were asked."""
        self.asked.clear()
        transport = RecordedTransport({HOST: self._answer}, self.clock)
        (source,), settings = self.config.source, GateSettings("x", delay=0.0)

        async def scene():
            async with Gate(
                settings, hosts=Book(), clock=self.clock, transport=transport
            ) as gate:
                return await runner.sync(
                    self.config, self.store, source, clock=self.clock, gate=gate,
                    most=most,
                )  # fmt: skip

        return asyncio.run(scene()), list(self.asked)

    def lives(self):
        return self.store.collection("cars").lives


def test_only_the_group_that_is_due_is_fetched_live_and_in_a_replay():
    play, clock = Play(BEGAN, 4.2 * HOUR, rhythm=HOURLY), VirtualClock(BEGAN)
    answer = recorded_source.listing(present, PER_PAGE, group="color")
    with serve([answer], clock) as (url,):
        config = config_of(host=url)
        store = known(config)
        live = play_over_http(config, store, play, clock)
    twin = known(config)
    again = play_recorded(config, twin, {url: answer}, play)
    assert len(live) >= 8
    assert all("only=red" in one.url for one in live)
    assert again == live
    assert GROUP_FETCHES.load(twin, "cars") == GROUP_FETCHES.load(store, "cars")
    assert list(twin.register("cars").spells) == list(store.register("cars").spells)
    held = {s.key for s in twin.register("cars").spells if s.last_seen >= BEGAN}
    assert held <= {key for key in held if int(key[1:].partition(".")[0]) % 2 == 0}


def test_groups_apart_take_half_the_requests_at_the_intervals_of_the_fast_one():
    """Three hours: the slow half is not read along with the fast one."""
    taken, gaps = {}, {}
    for more in ("", APART):
        copy, requests, at = Copy(more), 0, []
        while copy.clock.now < BEGAN + 3.0 * HOUR:
            looked, _ = copy.sync()
            requests += looked.requests
            at.append(copy.clock.now)
            copy.clock.now = state_of(copy.config, copy.store, at[-1]).due
        taken[more], gaps[more] = requests, np.diff(at)
    assert gaps[APART].size > 3
    assert np.median(gaps[APART]) == pytest.approx(np.median(gaps[""]), rel=0.05)
    assert taken[APART] <= 0.55 * taken[""]


def test_a_listing_without_requests_for_groups_is_fetched_whole():
    copy = Copy("")
    looked, asked = copy.sync()
    assert asked == [""] * WHOLE
    assert not looked.groups


def test_a_group_is_due_by_its_own_history():
    """The oracle: the paper's static model on the objects of the group alone."""
    config = config_of()
    state = state_of(config, known(config), BEGAN)
    seen = state.history
    color = np.array(seen.lives.attributes["color"].tolist())
    groups = state.policy.groups(state.terms).groups(seen)
    assert sorted(groups) == [("blue",), ("red",)]
    for due in group_dues(state.policy, seen, state.terms, groups, {}):
        part = seen.select(color == due.values[0])
        assert due.last == seen.looks[-1]
        holds = ModelThreshold("exponential", 0.9).holds(part)
        assert due.due - due.last == pytest.approx(min(holds, 2.0 - HOUR), abs=1e-6)


def test_a_fetch_of_a_group_puts_off_that_group_alone():
    copy = Copy()
    before = {d.values: d for d in dues(copy)}
    looked, asked = copy.sync()
    assert asked == ["red"] * 2
    assert looked.groups == ("red",)
    assert looked.row()["groups"] == ["red"]
    assert "only of red" in looked.words()
    after = {d.values: d for d in dues(copy)}
    assert after["red",].last == BEGAN
    assert after["red",].due > before["red",].due
    assert after["blue",].last == before["blue",].last


def dues(copy):
    state = state_of(copy.config, copy.store, copy.clock.now)
    return state._groups(state.history, state.fetches)


def test_what_a_group_lacks_is_missing_and_gone_once_a_full_fetch_lacks_it_too():
    copy = Copy()
    ended = int(copy.lives().ended.sum())
    looked, _ = copy.sync()
    assert looked.change.missing > 0
    copy.clock.now += HOUR
    again, asked = copy.sync()
    assert set(asked) == {"red"}
    assert again.change.gone == 0
    assert int(copy.lives().ended.sum()) == ended
    copy.clock.now = BEGAN + 8.0
    whole, asked = copy.sync()
    assert set(asked) == {""}  # after a week
    assert whole.change.gone >= looked.change.missing + again.change.missing
    gone = copy.lives().gone_by
    assert BEGAN in gone  # by the fetch that lacked it first


def test_objects_that_move_to_another_group_are_not_lost():
    stays = present(BEGAN - 2.0 * HOUR).keys() & present(BEGAN + 3.0 * HOUR).keys()
    moved = min(key for key in stays if present(BEGAN)[key]["color"] == "red")

    def there(now):
        found = present(now)
        return found | {moved: {"color": "blue"}}

    copy = Copy(there=there)
    for _ in range(3):
        copy.sync()
        copy.clock.now += HOUR
    (row,) = [i for i, key in enumerate(copy.lives().keys) if key == moved]
    assert not copy.lives().ended[row]
    copy.clock.now = BEGAN + 8.0
    copy.there = lambda now: there(BEGAN) | present(now)
    copy.sync()
    assert not copy.lives().ended[row]


def test_a_source_that_ignores_the_request_for_a_group_is_named_and_nothing_is_lost():
    copy = Copy(group="")
    looked, asked = copy.sync()
    assert len(asked) == WHOLE
    assert "asked for color 'red' it also lists 'blue'" in looked.trouble
    assert looked.change.missing == 0
    assert GROUP_FETCHES.load(copy.store, "cars") is None
    state = state_of(copy.config, copy.store, BEGAN)
    assert state.due == pytest.approx(BEGAN + HOUR)  # it is tried again then


def test_a_group_that_the_budget_does_not_cover_says_nothing_of_what_is_missing():
    copy = Copy()
    looked, asked = copy.sync(most=1)
    assert asked == ["red"]
    assert looked.trouble
    assert looked.change.missing == 0
    assert looked.groups == ()


def test_everything_is_read_where_that_is_no_dearer_than_the_groups():
    copy = Copy()
    costs.note(copy.store, "cars", 1)
    _, asked = copy.sync()
    assert set(asked) == {""}


def test_a_group_that_vanished_at_once_waits_for_a_decision():
    copy = Copy(there=lambda now: {k: v for k, v in present(now).items()
                                   if v["color"] == "blue"})  # fmt: skip
    looked, asked = copy.sync()
    assert asked == ["red"]
    assert looked.held
    assert GROUP_FETCHES.load(copy.store, "cars") is None


def test_plan_prices_the_groups_that_are_due():
    config = config_of()
    state = state_of(config, known(config), BEGAN)
    assert (state.plan.values, state.plan.cost, state.cost) == (("red",), 2, 2.0)
    (step,) = KIND.steps(state, 9)
    assert (step.what, step.requests) == ("color red", 2)
    assert "policy threshold-groups, color red: due" in step.why
    assert KIND.offers(state).cost.tolist() == [2.0]
    assert state.whole == WHOLE
    assert state.pace < WHOLE / (state.plan.due - state.last)


def test_a_forgotten_fetch_leaves_no_gap_in_the_history_of_a_group():
    config = config_of()
    state = state_of(config, known(config), BEGAN)
    times = tuple(np.linspace(BEGAN - 0.9, BEGAN - HOUR, REMEMBERED).tolist())
    groups = [("red",), ("blue",)]
    found = group_dues(state.policy, state.history, state.terms, groups, {"red": times})
    looks = state.history.looks
    mine = np.union1d(looks[looks >= times[0]], times)
    red = np.array(state.history.lives.attributes["color"].tolist()) == "red"
    part = replace(state.history.select(red), looks=mine)
    holds = ModelThreshold("exponential", 0.9).holds(part)
    assert found[0].due - found[0].last == pytest.approx(min(holds, 0.9 - HOUR))


def test_a_copy_whose_groups_are_fetched_apart_is_replayed_so():
    config = config_of()
    store = known(config)
    source = KIND.recorded(store, config.source[0])
    made = Config.parse(f'[[source]]\nname = "cars"\n{source.settings(HOST)}')
    assert made.source[0].group_request == "only={group}"
    assert made.source[0].group == "color"


@pytest.mark.parametrize("paging", sorted(recorded_source.PAGINGS))
def test_every_way_of_paging_goes_on_within_the_group(paging):
    config = config_of()
    source = KIND.recorded(known(config), config.source[0])
    source = replace(source, per_page=7, paging=paging)
    text = "[fetch]\ndelay = 0.0\n[[source]]\nname = 'cars'\nrobots = false\n"
    text += f"policy = 'threshold-groups'\n{source.settings(HOST)}"
    copy = Copy()
    copy.config = Config.parse(text)
    copy.answer = source.answer
    looked, asked = copy.sync()
    assert (looked.trouble, looked.groups) == ("", ("red",))
    rows = source.present(BEGAN).values()
    assert looked.listed == sum(row["color"] == "red" for row in rows) > 70
    assert set(asked) == {"red"}
    assert len(asked) >= 12


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("group_request = 'a={group}'\ngroup = ''", "needs group"),
        ("group_request = 'color'", "must be name=value"),
        ("group_request = '={group}'", "must be name=value"),
        ("group_request = 'a=b'", "must be name=value"),
        ("group_request = 'a={group}'\nsince = 'b={last}'", "leave out python, since"),
        ("group_request = 'a={group}'\ncomplete = false", "leave out python, since"),
        ("full_every = '1 d'", "only with since or group_request"),
    ],
)
def test_settings_that_cannot_work_are_named(lines, why):
    text = SETTINGS if "group = ''" not in lines else SETTINGS.replace(
        'group = "color"\n', "")  # fmt: skip
    with pytest.raises(ConfigError, match=why):
        Config.parse(text.format(host=HOST) + lines)
