"""Alarms: what is wrong, whether it is news, and how often it is told."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings as hypothesis_settings, strategies as st

from halflife.alerts import WATCHED, AlarmKind, Health, Lateness
from halflife.alerts.machine import DWELLS, Alarm, AlarmTurn, Dwell, advance, step
from halflife.alerts.messages import Event, Letter, Recipient, letters, merge_events
from halflife.alerts.rules import INFORMATION, Severity, Thresholds, judge
from halflife.config import Config
from halflife.engine import notifications
from halflife.stores.outbox import Outbox
from halflife.stores.sqlite import SqliteStore

HOUR = 1 / 24
TOLD = Config.parse('[[alert]]\nname = "ops"\nurl = "https://h.example/"\n')
levels = st.sampled_from(Severity)
gaps = st.floats(0.0, 0.2)


def level(kind, health, **limits):
    found = {f.kind: f.level for f in judge(health, Thresholds(**limits))}
    return found[kind]


def play(kind, moments, alarm=None):
    """Judge one kind at (time, health) pairs; yield the turns."""
    for at, health in moments:
        known = [alarm] if alarm else []
        turn = next(t for t in step(known, [health], at) if t.after.kind == kind)
        alarm = turn.after
        yield turn


# Rules


@pytest.mark.parametrize(
    ("mean", "expected"),
    [(0.89, Severity.BAD), (0.90, Severity.BETWEEN), (0.919, Severity.BETWEEN),
     (0.92, Severity.GOOD)],
)  # fmt: skip
def test_a_missed_target_is_met_again_only_some_way_above_it(mean, expected):
    assert level(AlarmKind.MISSED, Health("s", mean=mean, target=0.9)) is expected


def test_a_target_near_one_can_be_met_again():
    assert (
        level(AlarmKind.MISSED, Health("s", mean=0.996, target=0.99)) is Severity.GOOD
    )


@pytest.mark.parametrize(
    ("wait", "expected"),
    [
        (0.1, Severity.BAD),
        (0.25, Severity.BAD),
        (0.3, Severity.BETWEEN),
        (0.6, Severity.GOOD),
    ],
)
def test_a_target_that_will_soon_be_missed_is_foretold(wait, expected):
    health = Health("s", mean=0.95, target=0.9, first_below=wait)
    assert level(AlarmKind.WILL_MISS, health) is expected


def test_what_is_missed_already_is_not_foretold():
    health = Health("s", mean=0.8, target=0.9, first_below=0.0)
    assert level(AlarmKind.WILL_MISS, health) is Severity.GOOD


@pytest.mark.parametrize(
    ("failures", "silent", "expected"),
    [(5, 2.0, Severity.BAD), (4, 9.0, Severity.BETWEEN), (9, 0.5, Severity.BETWEEN),
     (0, 9.0, Severity.GOOD)],
)  # fmt: skip
def test_a_source_is_dead_after_many_failures_over_a_long_time(
    failures, silent, expected
):
    health = Health("s", failures=failures, silent=silent)
    assert level(AlarmKind.DEAD, health) is expected


def test_what_is_not_known_says_nothing():
    found = {f.kind: f.level for f in judge(Health("s"))}
    assert found[AlarmKind.MISSED] is found[AlarmKind.WILL_MISS] is Severity.BETWEEN
    assert AlarmKind.SPENT not in found
    assert AlarmKind.OFFLINE not in found
    assert AlarmKind.SETTINGS not in found
    assert list(judge(Health())) == []


def test_every_kind_can_be_bad_and_good():
    bad = [
        Health("s", mean=0.95, target=0.9, first_below=0.1, held="too few", failures=9,
               silent=9.0, moved_to="https://b/", drift=("price is gone",)),
        Health("s", mean=0.1, target=0.9),
        Health(left=0.0, offline=True, settings="line 3: a key is missing"),
        Health(sinks=("hook: 3 tries failed",)),
    ]  # fmt: skip
    good = [
        Health("s", mean=1.0, target=0.9),
        Health(left=1.0, offline=False, settings="", sinks=()),
    ]

    def kinds(healths, wanted):
        found = [f for h in healths for f in judge(h) if f.level is wanted]
        assert wanted is Severity.GOOD or all(f.text and f.advice for f in found)
        return {f.kind for f in found}

    assert kinds(bad, Severity.BAD) == set(WATCHED)
    assert kinds(good, Severity.GOOD) == set(WATCHED)
    assert set(DWELLS) == set(WATCHED)


def found(kind, health):
    return next(f for f in judge(health) if f.kind == kind)


def test_a_miss_before_which_a_fetch_is_expected_is_not_predicted():
    health = Health("s", mean=0.95, target=0.9, first_below=0.1, relief=0.05)
    assert level(AlarmKind.WILL_MISS, health) is Severity.GOOD
    assert level(AlarmKind.WILL_MISS, replace(health, relief=0.2)) is Severity.BAD


def test_a_prediction_names_the_target_the_time_and_the_obstacle():
    health = Health(
        "s", mean=0.95, low=0.91, high=0.99, target=0.9, measure="recall", sure=0.95,
        first_below=3 / 24, blocked="its last 3 fetches failed",
    )  # fmt: skip
    assert found(AlarmKind.WILL_MISS, health).text == (
        "will miss its target recall >= 0.9 with confidence 0.95 in 3 h, and it cannot "
        "be fetched before: its last 3 fetches failed; recall is 0.950 [0.910, 0.990]"
    )
    now = found(AlarmKind.WILL_MISS, replace(health, first_below=0.0, blocked=""))
    assert now.text.startswith("may miss its target recall >= 0.9 with confidence 0.95")


LATE = Lateness("age p95 <= 6 h", 6.3 / 24, 0.0, 0.05, 5 / 24, 1.3 / 24)


@pytest.mark.parametrize(
    ("late", "missed", "foretold"),
    [(LATE, Severity.GOOD, Severity.BAD),
     (replace(LATE, wait=0.4), Severity.GOOD, Severity.BETWEEN),
     (replace(LATE, wait=0.6), Severity.GOOD, Severity.GOOD),
     (replace(LATE, late=0.04), Severity.BETWEEN, Severity.BAD),
     (replace(LATE, late=0.06, wait=0.0), Severity.BAD, Severity.GOOD)],
)  # fmt: skip
def test_an_age_is_foretold_missed_and_met_again(late, missed, foretold):
    health = Health("s", lateness=late)
    assert level(AlarmKind.MISSED, health) is missed
    assert level(AlarmKind.WILL_MISS, health) is foretold


def test_of_two_targets_the_worse_counts_and_both_are_named():
    late = replace(LATE, late=1.0, age=7 / 24, wait=0.0)
    both = Health("s", mean=0.8, target=0.9, measure="recall", lateness=late)
    assert found(AlarmKind.MISSED, both).text == (
        "misses its target recall >= 0.9: recall is 0.800; "
        "misses its target age p95 <= 6 h: the last fetch was 7 h ago"
    )
    one = replace(both, mean=0.99)
    assert found(AlarmKind.MISSED, one).level is Severity.BAD
    assert "recall" not in found(AlarmKind.MISSED, one).text
    assert found(AlarmKind.MISSED, replace(one, lateness=LATE)).level is Severity.GOOD


def test_what_is_only_new_is_told_as_information_and_its_end_is_no_news():
    new, lost = Health("s", novelty=("a new column",)), Health("s", drift=("gone",))
    turns = list(play("schema-drift", [(1.0, new), (1.1, Health("s")),
                                       (1.2, Health("s"))]))  # fmt: skip
    assert turns[0].after.text.startswith(INFORMATION)
    assert [t.after.raised for t in turns] == [True, True, False]
    assert letters(turns[-1:], [Recipient("ops")], 1.2) == []
    (still,) = play("schema-drift", [(2.5, new)], turns[0].after)
    assert letters([still], [Recipient("ops")], 2.5) == []  # nor is it told again
    turns = list(play("schema-drift", [(1.0, new), (1.1, lost), (1.2, lost)]))
    told = [letters([turn], [Recipient("ops")], 1.1) for turn in turns]
    assert [len(one) for one in told] == [1, 1, 0]  # what got bad is news again
    assert told[1][0].events[0].text == "its answers look different: gone"


# The machine


@given(
    ticks=st.lists(st.tuples(gaps, levels), max_size=80),
    bad=st.floats(0.0, 0.3),
    good=st.floats(0.01, 0.3),
)
def test_no_alarm_flaps(ticks, bad, good):
    """Between two raisings lie both waits, whatever the judgements are."""
    alarm = Alarm("s", "missed", raised=False, since=0.0, turning=None, seen=0.0)
    now, raisings, endings = 0.0, [], []
    for gap, found in ticks:
        now += gap
        after = advance(alarm, found, now, Dwell(bad, good))
        if after.raised != alarm.raised:
            (raisings if after.raised else endings).append(now)
            assert found is (Severity.BAD if after.raised else Severity.GOOD)
        alarm = after
    for one, other in pairwise(raisings):
        assert other - one >= bad + good - 1e-9
    for one, other in zip(raisings, endings, strict=False):
        assert other - one >= good - 1e-9


@given(ticks=st.lists(st.tuples(gaps, levels), max_size=60))
def test_an_alarm_is_raised_and_ended_only_by_agreement(ticks):
    """Oracle: the state follows from the last stretch of equal judgements."""
    dwell = Dwell(0.1, 0.15)
    alarm = Alarm("s", "missed", raised=False, since=0.0, turning=None, seen=0.0)
    now, raised, stretch, before = 0.0, False, 0.0, None
    for gap, found in ticks:
        now += gap
        stretch = now if found is not before else stretch
        before = found
        away = Severity.GOOD if raised else Severity.BAD
        wait = dwell.good if raised else dwell.bad
        if found is away and now - stretch >= wait:
            raised = not raised
        alarm = advance(alarm, found, now, dwell)
        assert alarm.raised == raised


@given(ticks=st.lists(st.tuples(st.floats(-1.0, 1.0), levels), max_size=60))
def test_a_clock_set_back_leaves_no_moment_in_the_future(ticks):
    alarm = Alarm("s", "missed", raised=False, since=0.0, turning=None, seen=0.0)
    for at, found in ticks:
        alarm = advance(alarm, found, at, Dwell(0.1, 0.1))
        assert alarm.since <= at
        assert alarm.turning is None or alarm.turning <= at


def test_a_quality_that_hovers_around_its_target_is_told_once():
    hover = [(i * HOUR, Health("s", mean=0.9 + 0.005 * (-1) ** i, target=0.9))
             for i in range(1, 100)]  # fmt: skip
    # bad at every other look: never bad for ten minutes on end is never news
    assert not any(t.changed for t in play("missed", hover))
    low = [(i * HOUR, Health("s", mean=0.89, target=0.9)) for i in range(-2, 1)]
    turns = list(play("missed", low + hover))
    assert sum(t.changed for t in turns) == 1
    assert turns[-1].after.raised


def test_the_same_history_gives_the_same_turns():
    history = [(0.1 * i, Health("s", mean=0.8 + 0.01 * (i % 20), target=0.9))
               for i in range(60)]  # fmt: skip
    assert list(play("missed", history)) == list(play("missed", history))


def test_recovery_ends_an_alarm_after_an_hour():
    well, ill = Health("s", mean=0.95, target=0.9), Health("s", mean=0.8, target=0.9)
    turns = list(
        play(
            "missed", [(0.0, ill), (0.01, ill), (0.02, well), (0.05, well), (0.1, well)]
        )
    )
    assert [t.after.raised for t in turns] == [False, True, True, True, False]
    assert turns[1].after.text == "misses its target quality >= 0.9: quality is 0.800"


# Messages


def turn(source, kind="missed", *, raised=True, was=None, since=1.0, seen=1.0):
    after = Alarm(source, kind, raised, since, None, seen, "bad")
    before = None if was is None else replace(after, raised=was)
    return AlarmTurn(before, after, "do this")


def test_many_sources_of_a_kind_come_in_one_letter():
    turns = [turn(f"s{i:03}") for i in range(300)] + [turn("t", "held")]
    told = letters(turns, [Recipient("ops")], 1.0)
    assert [(one.kind, len(one.events)) for one in told] == [
        ("held", 1),
        ("missed", 300),
    ]


def test_a_letter_that_gathers_takes_each_source_once():
    first = Letter("ops", "missed", "raised", 1.0, 1.1, (Event("b", 1.0, "old"),))
    body = merge_events(first.body, [Event("a", 1.0, "x"), Event("b", 1.1, "new")])
    assert [(e.source, e.text) for e in Letter.events_in(body)] == [
        ("a", "x"), ("b", "new")
    ]  # fmt: skip


def test_a_target_hears_only_of_what_it_asked_for():
    turns = [turn("s", "held"), turn("s", "dead"), turn("t", raised=False, was=True)]
    target = Recipient("ops", frozenset({"held", "missed"}))
    assert [one.kind for one in letters(turns, [target], 1.0)] == ["held"]
    both = Recipient("ops", frozenset({"missed", "recovered"}))
    assert [one.news for one in letters(turns, [both], 1.0)] == ["recovered"]


def test_the_end_of_a_foretold_miss_is_no_news_when_it_came_true():
    near = Health("s", mean=0.91, target=0.9, first_below=0.01)
    missed = Health("s", mean=0.85, target=0.9)
    moments = [(0.0, near), (0.01, near), (0.1, missed), (0.2, missed)]
    turns = list(play("will-miss", moments))
    assert [t.after.raised for t in turns] == [False, True, True, False]
    assert letters(turns[-1:], [Recipient("ops")], 0.2) == []


@given(
    gap=st.lists(st.floats(0.001, 0.7), min_size=1, max_size=80),
    every=st.sampled_from([0.05, 0.25, 1.0]),
)
def test_what_stays_wrong_is_repeated_as_often_as_was_asked(gap, every):
    target, now, seen, told = Recipient("ops", every=every), 0.0, 0.0, 0
    for step_ in gap:
        now += step_
        before = Alarm("s", "missed", raised=True, since=0.0, turning=None, seen=seen)
        found = letters([AlarmTurn(before, replace(before, seen=now))], [target], now)
        told += len(found)
        assert all(one.news == "repeated" for one in found)
        seen = now
    assert told <= now / every
    assert told >= min(now / every, 1) // 1


# From judgement to message, through the store

signals = st.lists(
    st.tuples(st.floats(0.0005, 0.06), st.booleans(), st.sampled_from(["", "crash"])),
    min_size=1,
    max_size=40,
)


def heard(path, told):
    """Take what is due, as one who delivers it would."""
    with SqliteStore.open(path) as store:
        outbox = Outbox(store)
        for message in outbox.due(1e9):
            told += [(message.news, e) for e in Letter.events_in(message.body)]
            outbox.sent(message, message.due)


@hypothesis_settings(max_examples=25)
@given(signal=signals, kind=st.sampled_from(["held", "missed"]))
def test_a_signal_that_flaps_raises_one_alert_a_quiet_period_and_none_is_lost(
    signal, kind
):
    """Whatever a source does, and whenever the program dies between two judgements."""
    dwell, now, told, changes = DWELLS[AlarmKind(kind)], 20_000.0, [], []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        for gap, bad, crash in signal:
            now += gap
            ill = Health("s", held="too few" if bad else "", mean=1.0 - 0.5 * bad,
                         target=0.9)  # fmt: skip
            with SqliteStore.open(path, create=True) as store:  # it may have died
                turns = notifications.update_alarms(TOLD, store, [ill], now)
            mine = [t.after for t in turns if t.changed and t.after.kind == kind]
            changes += [(one.since, one.raised) for one in mine]
            if not crash:
                heard(path, told)
        heard(path, told)
    said = [(e.since, news == "raised") for news, e in told if _of(kind, e)]
    assert said == changes  # each change is told once, in its order
    raisings = [at for at, raised in changes if raised]
    for one, other in pairwise(raisings):
        assert other - one >= dwell.bad + dwell.good - 1e-9


def _of(kind, event):
    return ("decision" in event.text) == (kind == "held")


def test_a_spent_budget_says_for_how_long_if_that_is_known():
    def told(refill):
        health = Health("s", left=0.0, refill=refill)
        return next(f for f in judge(health, Thresholds()) if f.kind is AlarmKind.SPENT)

    assert told(0.5).text.endswith("nothing is fetched for 12 h")
    assert told(float("inf")).text.endswith("nothing is fetched")
    assert told(0.5).level is Severity.BAD


@given(
    since=st.floats(0.0, 9.0),
    gaps_=st.lists(st.floats(0.001, 0.7), min_size=1, max_size=40),
    every=st.sampled_from([0.25, 1.0]),
)
def test_an_alarm_is_repeated_when_so_many_days_of_it_are_over(since, gaps_, every):
    target, seen = Recipient("ops", every=every), since
    for gap in gaps_:
        now = seen + gap
        before = Alarm("s", "missed", raised=True, since=since, turning=None, seen=seen)
        found = letters([AlarmTurn(before, replace(before, seen=now))], [target], now)
        full = ((now - since) // every) > ((seen - since) // every)
        assert len(found) == full
        seen = now
