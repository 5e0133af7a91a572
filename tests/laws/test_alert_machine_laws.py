"""When an alarm is raised and ends, and what letters tell of it."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from halflife.alerts import AlarmKind, Health
from halflife.alerts.machine import (
    DWELLS,
    Alarm,
    AlarmTurn,
    Dwell,
    advance,
    raised_alarms,
    step,
)
from halflife.alerts.messages import (
    MOST,
    RAISED,
    RECOVERED,
    REPEATED,
    Event,
    Letter,
    Recipient,
    headline,
    letters,
    limit_events,
)
from halflife.alerts.rules import INFORMATION, Severity

DWELL = Dwell(bad=0.25, good=0.5)


def alarm(*, up=False, since=1.0, turning=None, seen=1.0, text="", kind="missed"):
    return Alarm("s", kind, up, since, turning, seen, text)


# The machine


@pytest.mark.parametrize(("up", "wait"), [(False, 0.25), (True, 0.5)])
def test_an_alarm_turns_exactly_when_its_wait_is_over(up, wait):
    away = Severity.GOOD if up else Severity.BAD
    begun = advance(alarm(up=up), away, 2.0, DWELL)
    assert (begun.raised, begun.turning, begun.since) == (up, 2.0, 1.0)
    still = advance(begun, away, 2.0 + wait - 0.01, DWELL)
    assert (still.raised, still.turning, still.since) == (up, 2.0, 1.0)
    turned = advance(still, away, 2.0 + wait, DWELL)
    assert (turned.raised, turned.turning, turned.since) == (not up, None, 2.0 + wait)


@pytest.mark.parametrize("up", [False, True])
@pytest.mark.parametrize("found", list(Severity))
def test_any_other_judgement_starts_the_wait_anew(up, found):
    away = Severity.GOOD if up else Severity.BAD
    begun = alarm(up=up, turning=1.5)
    after = advance(begun, found, 1.6, DWELL)
    assert after.raised is up
    assert after.turning == (1.5 if found is away else None)


def test_a_clock_that_was_set_back_makes_no_wait_longer():
    begun = alarm(since=5.0, turning=6.0)
    early = advance(begun, Severity.BAD, 4.0, DWELL)
    assert (early.turning, early.since) == (4.0, 4.0)
    assert advance(early, Severity.BAD, 4.25, DWELL).raised
    assert advance(begun, Severity.GOOD, 4.0, DWELL).since == 4.0


def test_a_kind_without_a_wait_is_raised_by_the_first_judgement():
    ill = Health("s", held="too few")
    (turn,) = [t for t in step([], [ill], 3.0) if t.after.kind == "held"]
    assert turn.before is None
    assert turn.changed
    assert (turn.after.raised, turn.after.since, turn.after.seen) == (True, 3.0, 3.0)
    assert turn.after.text == "an answer waits for a decision: too few"
    assert turn.advice
    (well,) = [t for t in step([], [Health("s")], 3.0) if t.after.kind == "held"]
    assert not well.changed
    assert (well.after.raised, well.after.text) == (False, "")


def test_each_alarm_is_judged_by_its_own_source_and_kind():
    known = [
        Alarm("a", "held", True, 1.0, None, 1.0, "old"),
        Alarm("b", "dead", True, 1.0, None, 1.0, "old"),
    ]
    turns = step(known, [Health("a"), Health("b")], 2.0)
    before = {(t.after.source, t.after.kind): t.before for t in turns}
    assert before["a", "held"] == known[0]
    assert before["b", "dead"] == known[1]
    assert sum(one is not None for one in before.values()) == 2
    assert len(turns) == 2 * 6  # what can be judged of a source without a budget


def test_an_alarm_that_stands_keeps_its_text_until_it_is_bad_again():
    up = alarm(up=True, kind="held", text="first", since=1.0)

    def after(health, at):
        return next(t for t in step([up], [health], at) if t.after.kind == "held")

    bad = after(Health("s", held="worse"), 2.0).after
    assert bad.text == "an answer waits for a decision: worse"
    assert (bad.raised, bad.since, bad.seen) == (True, 1.0, 2.0)
    well = after(Health("s"), 2.0).after
    assert (well.raised, well.text) == (True, "first")  # it has not ended yet


def test_what_was_mild_and_got_bad_is_raised_anew():
    mild = alarm(up=True, kind="schema-drift", text=f"{INFORMATION}new", since=1.0)

    def after(health, at=2.0):
        turns = step([mild], [health], at)
        return next(t for t in turns if t.after.kind == "schema-drift")

    worse = after(Health("s", drift=("gone",)))
    assert worse.changed
    assert not worse.quiet
    assert worse.after.since == 2.0
    same = after(Health("s", novelty=("new",)))
    assert not same.changed
    assert same.quiet
    assert same.after.since == 1.0
    better = after(Health("s"))
    assert not better.changed
    assert better.quiet  # when it ends, that is no news


def test_the_alarms_that_stand_are_those_that_are_raised():
    some = [alarm(up=True), alarm(), alarm(up=True, kind="held")]
    assert list(raised_alarms(some)) == [some[0], some[2]]


@pytest.mark.parametrize("was", [None, False, True])
@pytest.mark.parametrize("is_", [False, True])
def test_a_turn_is_a_change_if_it_stood_otherwise_before(was, is_):
    before = None if was is None else alarm(up=was)
    assert AlarmTurn(before, alarm(up=is_)).changed is (bool(was) is not is_)


def test_no_wait_is_negative_and_each_end_takes_time():
    for dwell in DWELLS.values():
        assert dwell.bad >= 0.0
        assert dwell.good > 0.0


# Letters

ALL = Recipient("ops", every=0.5, gather=0.125)


def news(turn, target=ALL, now=3.0):
    return [one.news for one in letters([turn], [target], now)]


def turned(was, is_, **more):
    """Return a turn from one state to another; None: it was never judged."""
    before = None if was is None else alarm(up=was, **more)
    return AlarmTurn(before, replace(alarm(up=is_, **more), seen=3.0))


def test_a_letter_tells_of_what_began_and_what_ended():
    assert news(turned(None, True)) == [RAISED]
    assert news(turned(False, True)) == [RAISED]
    assert news(turned(True, False)) == [RECOVERED]
    assert news(turned(None, False)) == news(turned(False, False)) == []
    assert news(replace(turned(True, False), quiet=True)) == []
    assert news(replace(turned(False, True), quiet=True)) == [RAISED]
    deaf = replace(ALL, kinds=frozenset({"missed"}))
    assert news(turned(True, False), deaf) == []
    assert news(turned(False, True), deaf) == [RAISED]
    assert news(turned(False, True), replace(ALL, kinds=frozenset({"held"}))) == []


@pytest.mark.parametrize(
    ("seen", "now", "told"),
    [
        (1.25, 1.49, False),
        (1.25, 1.5, True),  # half a day after it was raised
        (1.5, 1.99, False),  # that was told
        (1.5, 2.0, True),
        (1.25, 9.0, True),  # once, however many times were slept through
    ],
)
def test_what_still_stands_is_told_again_each_time_its_days_are_over(seen, now, told):
    before = alarm(up=True, since=1.0, seen=seen, text="bad")
    turn = AlarmTurn(before, replace(before, seen=now))
    assert news(turn, now=now) == [REPEATED] * told
    assert news(turn, replace(ALL, every=0.0), now) == []
    assert news(turn, replace(ALL, every=-1.0), now) == []
    mild = replace(before, text=f"{INFORMATION}new")
    assert news(AlarmTurn(mild, replace(mild, seen=now)), now=now) == []
    assert news(AlarmTurn(None, replace(before, raised=False)), now=now) == []


def test_a_letter_waits_for_more_of_the_same():
    (one,) = letters([turned(False, True, text="bad")], [ALL], 3.0)
    assert (one.target, one.kind, one.made, one.due) == ("ops", "missed", 3.0, 3.125)
    assert one.events == (Event("s", 1.0, "bad", ""),)
    (ended,) = letters([turned(True, False, text="bad")], [ALL], 3.0)
    assert ended.events == (Event("s", 1.0, "has recovered; reported before: bad"),)
    assert Letter.events_in(one.body) == list(one.events)


@given(
    given_=st.lists(
        st.tuples(
            st.sampled_from("cab"),
            st.sampled_from([AlarmKind.HELD, AlarmKind.MISSED]),
            st.sampled_from([(False, True), (True, False), (None, True)]),
        ),
        unique_by=lambda one: one[:2],
        max_size=6,
    )
)
def test_letters_are_grouped_by_kind_and_news_with_sources_in_order(given_):
    """Oracle: filter the turns for each kind and news."""
    turns = []
    for source, kind, (was, is_) in given_:
        after = Alarm(source, kind, is_, 1.0, None, 3.0, source * 2)
        before = None if was is None else replace(after, raised=was, seen=1.0)
        turns.append(AlarmTurn(before, after, "do"))
    told = letters(turns, [ALL], 3.0)
    assert [(one.kind, one.news) for one in told] == sorted(
        {(kind, RAISED if is_ else RECOVERED) for _, kind, (_, is_) in given_}
    )
    for one in told:
        expected = sorted(
            source
            for source, kind, (_, is_) in given_
            if kind == one.kind and is_ == (one.news == RAISED)
        )
        assert [event.source for event in one.events] == expected


def test_a_headline_names_five_sources_and_counts_the_others():
    def line(n, news="raised"):
        events = [Event(f"s{i}", 1.0, "bad") for i in range(n)]
        return headline("missed", news, events)

    assert line(1) == line(1, "repeated") == "s0: bad"
    assert line(2) == "missed: s0, s1"
    assert line(2, "repeated") == "missed, repeated: s0, s1"
    assert line(5) == "missed: s0, s1, s2, s3, s4"
    assert line(6) == "missed: s0, s1, s2, s3, s4 and 1 more"
    assert line(9, "recovered").endswith("s4 and 4 more")
    everyone = [Event("", 1.0, "offline")]
    assert headline("offline", "raised", everyone) == "halflife: offline"
    assert headline("x", "raised", everyone * 2) == "x: halflife, halflife"


@pytest.mark.parametrize("n", [0, 1, MOST - 1, MOST, MOST + 1, MOST + 7])
def test_a_letter_names_so_many_sources_and_counts_those_left_out(n):
    events = [Event(f"s{i}", 1.0, "bad") for i in range(n)]
    named, left = limit_events(events)
    assert named == events[:MOST]
    assert len(named) + left == n
