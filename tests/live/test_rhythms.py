"""Listings and forms that change at one hour of the day are looked at after it."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from form_plans import planned_queries
from form_worlds import behind, cars
from halflife.cli import sets
from halflife.config import Config
from halflife.core.object_store import Listing
from halflife.core.store import Note
from halflife.demo.forms import FormServer, serving, snippet
from halflife.engine import (
    audit_report,
    bootstrap,
    costs,
    rhythms,
    targets,
)
from halflife.engine.appraisal import Appraiser
from halflife.engine.loop import LEASE
from halflife.engine.quality_forecast import quality
from halflife.engine.rhythms import TurnRecords
from halflife.kinds.form import (
    audit as form_audit,
    runner as form_runner,
    value as form_value,
)
from halflife.kinds.form.client import FormClient
from halflife.kinds.form.quality import form_quality
from halflife.kinds.listing import audit as listing_audit, runner as listing_runner
from halflife.kinds.whole import AHEAD
from halflife.market.target_rule import Goal
from halflife.market.target_status import TargetMemory
from halflife.models.rhythm import BINS, FLAT, LearnedRhythm, Rhythm
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.stores.forecasts import Forecasts, IssuedForecast
from halflife.stores.memory import MemoryStore
from hand_clock import BEGAN, Hands

HOUR = 1.0 / 24.0
NIGHT = 3.5  # the hour at which everything happens
HEAD = "[budget]\nrequests = 100000\n[fetch]\ndelay = 0.0\ntimeout = 5.0\n"
JOBS = '[[source]]\nname = "jobs"\nkind = "listing"\nurl = "http://a.example/jobs"\n'
SHARES = st.lists(st.floats(0.0, 1.0), min_size=BINS, max_size=BINS).filter(any)
RHYTHMS = SHARES.map(lambda some: Rhythm(tuple(np.array(some) / sum(some))))


def nights(now):
    """How many nights had passed by then."""
    return int(np.floor(now - NIGHT * HOUR) - BEGAN) + 1


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """A listing of 100 of which ten are new each night, looked at by the hour."""
    text = HEAD + JOBS + 'key = "id"\nconfirm_hours = 0.0\n'
    path = tmp_path_factory.mktemp("jobs") / "halflife.toml"
    config = Config.parse(text, path)
    (source,) = config.source
    with bootstrap.writing(config) as store:
        for k in range(12 * 24 - 4):  # the last look is at 20 o'clock
            now = BEGAN + k * HOUR
            first = 10 * nights(now)
            records = {str(n): {} for n in range(first, first + 100)}
            run = store.begin(["jobs"], now, lease=LEASE)
            listing_runner.write(store, run, source, Listing(now, records), 1, "")
            store.finish(run, now)
        costs.note(store, "jobs", 1)
        rhythms.learn_listing(store, "jobs")
        yield config, store, source


def o_clock(hour):
    """The moment of an hour of the first night after the last look."""
    return BEGAN + 12.0 + hour * HOUR


def test_the_hour_of_a_listing_is_learned_from_its_looks(jobs):
    _, store, _ = jobs
    known = rhythms.recall(store, "jobs")
    assert np.argmax(known.share) == int(NIGHT)
    assert known.rhythm.share[int(NIGHT)] > 0.8
    assert known.size == pytest.approx(10.0)


def test_looks_that_were_learned_from_are_not_learned_from_again(jobs):
    _, store, _ = jobs
    before = rhythms.recall(store, "jobs")
    rhythms.learn_listing(store, "jobs")
    assert rhythms.recall(store, "jobs") == before
    assert not rhythms.arrivals(store.collection("jobs"), before.last)


def test_a_listing_with_a_target_is_looked_at_after_its_hour_and_not_before(jobs):
    config, store, source = jobs
    goal, asked = Goal(0.95, 0.95), {}
    for hour in (-3.0, 0.0, 3.0, 4.0, 5.0):
        appraiser = Appraiser(config, store, o_clock(hour))
        found = targets.stand(appraiser, source, goal, TargetMemory(told=o_clock(24.0)))
        asked[hour] = found[0].requests
    assert asked == {-3.0: 0.0, 0.0: 0.0, 3.0: 0.0, 4.0: 1.0, 5.0: 1.0}


def test_a_look_at_a_listing_buys_hardly_anything_until_its_hour_has_come(jobs):
    config, store, source = jobs
    before, after = (
        float(Appraiser(config, store, o_clock(hour)).offers([source]).gain[0])
        for hour in (3.0, 4.0)
    )
    assert after > 20.0 * before


def test_the_forecast_of_a_listing_falls_at_its_hour(jobs):
    config, store, source = jobs
    now, ahead = o_clock(-2.0), np.array([0.0, 5.0, 6.0, 12.0]) * HOUR
    appraiser = Appraiser(config, store, now)
    known = source
    mean = quality(appraiser, known, None, looks=False, ahead=ahead).mean
    assert mean[0] - mean[1] < 0.02  # 3 o'clock
    assert mean[1] - mean[2] > 0.05  # 4 o'clock
    assert mean[2] - mean[3] < 0.02  # 10 o'clock


def test_what_forecasts_say_of_a_moment_between_theirs_goes_by_the_rhythm():
    rhythm = Rhythm(tuple(float(hour == int(NIGHT)) for hour in range(BINS)))
    casts = [
        IssuedForecast("jobs", "recall", BEGAN, HOUR, 1.0, 1.0, 1.0),
        IssuedForecast("jobs", "recall", BEGAN, 1.0, 0.9, 0.8, 1.0),
    ]
    said = [
        listing_audit.interpolated_forecast(casts, BEGAN + hour * HOUR, rhythm).mean
        for hour in (3.0, 3.5, 4.0, 12.0)
    ]
    assert said == pytest.approx([1.0, 0.95, 0.9, 0.9])


def test_a_loss_that_came_an_hour_ago_was_missed_for_an_hour(jobs):
    config, store, source = jobs
    made, told = o_clock(-4.0), o_clock(5.0)
    cast = IssuedForecast("jobs", "recall", made, told - made, 0.9, 0.8, 1.0)
    Forecasts(store).record([replace(cast, told=told, found=0.9, draw=0.5)])
    appraiser = Appraiser(config, store, told)
    goal = Goal(0.95, 0.95)
    before = TargetMemory(told=made)
    _, after = targets.stand(appraiser, source, goal, before)
    assert after.past.failed == 1
    assert HOUR < after.past.missed < 1.8 * HOUR  # evenly it would have been 4.5 hours


def test_the_audit_of_a_listing_counts_the_time_since_its_hour(jobs):
    _, store, _ = jobs
    last = BEGAN + 20.0  # apart from all other forecasts
    cast = IssuedForecast("other", "recall", last, 0.25, 0.9, 0.8, 1.0)
    told = replace(cast, told=last + 0.25, found=0.9, draw=0.5)
    Forecasts(store).record([told])
    even = audit_report.judge(store, "other", last + 1.0)
    rhythms.keep(store, "other", rhythms.recall(store, "jobs"))
    known = audit_report.judge(store, "other", last + 1.0)
    assert even.quality.mean == pytest.approx(0.95)
    # At 3:30 of the six hours until 6 o'clock: 2.5 of 6 hours at 0.9.
    assert known.quality.mean == pytest.approx(1.0 - 0.1 * 2.5 / 6.0, abs=0.005)
    assert known.believed.mean == pytest.approx(known.quality.mean)
    assert known.quality.low > even.quality.low


def test_the_checks_of_a_form_stand_for_the_time_before_and_after_a_turn(stars):
    _, store, source = stars
    last = form_value.load_copy(store, source).last
    soon, later = (
        form_audit.late_share(form_audit.prepare(store, source, last + hours * HOUR))
        for hours in (4.5, 20.0)
    )
    assert soon < 0.6
    assert later > 0.8
    plain = replace(form_audit.prepare(store, source, last + 0.3), rhythm=FLAT)
    assert form_audit.late_share(plain) == 0.5


def test_a_store_without_looks_has_no_rhythm():
    store = MemoryStore()
    assert rhythms.recall(store, "jobs") == LearnedRhythm()
    assert rhythms.rhythm(store, "jobs") is FLAT
    rhythms.keep(store, "jobs", LearnedRhythm())
    assert store.note("jobs", "rhythm") is None
    store.save_note("jobs", "rhythm", Note(1, '{"by": "another version"}'))
    assert rhythms.recall(store, "jobs") == LearnedRhythm()


def copy_of(seen, last):
    records = {key: {"price": 1} for key in seen}
    return FormCopy(records, dict.fromkeys(seen, 0.0), seen, (), last, since=0.0)


def test_what_a_turn_at_a_form_shows_is_told_by_when_it_was_seen_before():
    copy = copy_of({"a": 10.0, "b": 10.0, "c": 10.2, "d": 10.2, "e": 9.0}, 10.2)
    shown = {"a": {"price": 1}, "b": {"price": 2}, "c": {"price": 2}, "new": {}}
    look = rhythms.changes(copy, FormWish("both"), TurnRecords(10.5, shown, {"d"}))
    assert look.at == 10.5
    assert look.since.tolist() == [10.0, 10.2]
    assert look.shown.tolist() == [2.0, 2.0]
    assert look.changed.tolist() == [2.0, 2.0]  # b and the new one, c and d
    known = rhythms.changes(copy, FormWish("known"), TurnRecords(10.5, shown))
    assert known.changed.tolist() == [1.0, 1.0]
    new = rhythms.changes(copy, FormWish("new"), TurnRecords(10.5, shown, {"d"}))
    assert new.shown.tolist() == [2.0, 1.0]
    assert new.changed.sum() == 1.0


def test_what_shows_nothing_that_was_known_tells_nothing():
    copy = copy_of({"a": 10.0}, 10.0)
    assert (
        rhythms.changes(copy, FormWish("both"), TurnRecords(10.5, {"new": {}})) is None
    )


@given(RHYTHMS, st.lists(st.floats(19_000, 20_000), min_size=1, max_size=9))
def test_a_copy_in_its_own_time_has_effective_ages(rhythm, moments):
    seen = {str(i): at for i, at in enumerate(moments)}
    own = rhythms.in_effective_time(copy_of(seen, max(moments)), rhythm)
    now = 20_000.0  # a midnight is the same in every time
    ages = now - np.array(list(own.seen.values()))
    passed = rhythm.between(np.array(moments), np.full(len(moments), now))
    assert ages == pytest.approx(passed, abs=1e-8)
    assert own.records == copy_of(seen, 0.0).records
    assert own.last == pytest.approx(float(rhythm.time(np.array(max(moments)))))


@pytest.fixture(scope="module")
def stars(tmp_path_factory):
    """A form whose prices change each night, asked every four hours for a week."""
    office = FormServer(behind(cars(80), everything=True, page_size=20, lookup=True))
    with serving(office) as url:
        text = HEAD + snippet(url, office.form.interface)
        text = text.replace('kind = "form"', 'kind = "form"\npurpose = "known"')
        path = tmp_path_factory.mktemp("stars") / "halflife.toml"
        config, hands = Config.parse(text, path), Hands()
        (source,) = config.source
        with bootstrap.writing(config) as store:
            former = FormClient(config, store, hands)
            for k in range(7 * 6 + 1):
                hands.now = BEGAN + k / 6.0
                office.form = behind(
                    priced(nights(hands.now)),
                    everything=True,
                    page_size=20,
                    lookup=True,
                )
                asyncio.run(form_runner.sync(former, source, most=8))
            yield config, store, source


def priced(night):
    """The cars with the prices of a night, of which a fifth is new each time."""
    return {
        key: {**record, "price": int(record["price"]) + (night + i) // 5}
        for i, (key, record) in enumerate(cars(80).items())
    }


def test_the_hours_of_a_form_are_learned_from_its_turns(stars):
    _, store, _ = stars
    known = rhythms.recall(store, "simulated")
    assert not known.rhythm.flat
    assert sum(known.rhythm.share[:4]) > 0.8  # looks were four hours apart
    assert 10.0 < known.size < 22.0


def test_a_form_loses_little_until_its_hour_has_come(stars):
    config, store, source = stars
    last = BEGAN + 7.0
    evening, morning = (
        targets.stand(
            Appraiser(config, store, at), source, Goal(0.9, 0.95), TargetMemory()
        )
        for at in (last - 0.01, last + 4.0 * HOUR)
    )
    assert evening[0].requests == 0
    assert morning[0].requests > 0


def test_what_is_asked_of_a_form_buys_more_after_its_hour(stars):
    _, store, source = stars
    copy = form_value.load_copy(store, source)
    before, after = (
        sum(
            step.gain
            for step in planned_queries(store, source, at, form_value.PLANNED, copy)
        )
        for at in (BEGAN + 7.0 + AHEAD, BEGAN + 7.0 + 4.0 * HOUR)
    )
    assert after > 5.0 * before


def test_the_forecast_of_a_form_falls_at_its_hours(stars):
    config, store, source = stars
    now = BEGAN + 7.0
    appraiser = Appraiser(config, store, now)
    ahead = np.array([0.0, 4.0, 20.0]) * HOUR
    known = source
    mean = quality(appraiser, known, None, looks=False, ahead=ahead).mean
    assert mean[0] - mean[1] > 5.0 * (mean[1] - mean[2])
    even = form_quality(appraiser.state(source).copy, source, now, 0.975, ahead).mean
    assert even[0] - even[1] < even[1] - even[2]


def test_what_is_told_of_a_listing_knows_whether_its_hour_falls_within(jobs):
    _, store, _ = jobs
    collection = store.collection("jobs")
    last, rhythm = float(collection.looks[-1]), rhythms.rhythm(store, "jobs")
    asked = sets.SetQuestion(collection, last, rhythm=rhythm)
    ahead = [o_clock(hour) - last for hour in (3.0, 4.0)]
    before, after = (row["recall"] for row in sets.forecast_rows(asked, ahead, 0.95))
    assert before["mean"] - after["mean"] > 0.05
    row = sets.when_row(asked, "recall", 0.95, 0.95)
    assert o_clock(2.9) < last + row["days"] < o_clock(4.1)


@given(RHYTHMS, st.floats(0.0, 9.0))
def test_days_of_a_source_and_days_that_pass_are_told_by_each_other(rhythm, days):
    asked = sets.SetQuestion(None, BEGAN + 0.3, rhythm=rhythm)
    (own,) = asked.own_days([days])
    assert asked.own_days([asked.wait(own)]) == pytest.approx([own], abs=1e-8)
    assert asked.wait(np.inf) == np.inf
