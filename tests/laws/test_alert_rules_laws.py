"""Where bad and good begin, to the point, and what is said then."""

from dataclasses import replace
from math import inf, isnan, nan

import pytest
from hypothesis import given, strategies as st

from halflife.alerts import AlarmKind, Health, Lateness
from halflife.alerts.rules import (
    INFORMATION,
    SOON,
    AlarmFinding,
    Severity,
    Thresholds,
    judge,
    span,
    target_text,
)

GOOD, BETWEEN, BAD = Severity.GOOD, Severity.BETWEEN, Severity.BAD
# Numbers that floats hold exactly, so that a limit can be met to the point.
LIMITS = Thresholds(
    lead=0.25, calm=0.5, margin=0.125, failures=4, silent=2.0, refilled=0.125
)
MET = Health("s", mean=0.75, target=0.5)
LATE = Lateness("age p95 <= 6 h", 0.25, 0.0, 0.25, 0.125, 1.0)


def found(kind: AlarmKind, health: Health, limits: Thresholds = LIMITS) -> AlarmFinding:
    return next(f for f in judge(health, limits) if f.kind is kind)


@pytest.mark.parametrize(
    ("mean", "target", "level"),
    [
        (0.4999, 0.5, BAD),
        (0.5, 0.5, BETWEEN),  # it is not below its target
        (0.6249, 0.5, BETWEEN),
        (0.625, 0.5, GOOD),  # a margin above it
        (0.9374, 0.875, BETWEEN),
        (0.9375, 0.875, GOOD),  # halfway to 1, where the margin reaches beyond
        (nan, 0.5, BETWEEN),
        (0.5, nan, BETWEEN),
    ],
)
def test_a_target_is_missed_below_it_and_met_again_a_margin_above(mean, target, level):
    health = Health("s", mean=mean, target=target)
    missed = found(AlarmKind.MISSED, health)
    assert missed.level is level
    unknown = isnan(mean) or isnan(target)
    assert bool(missed.text) is not unknown
    if unknown:
        assert found(AlarmKind.WILL_MISS, health) == AlarmFinding(
            AlarmKind.WILL_MISS, BETWEEN
        )


@pytest.mark.parametrize(
    ("wait", "relief", "level"),
    [
        (0.25, inf, BAD),
        (0.2501, inf, BETWEEN),
        (0.5, inf, BETWEEN),
        (0.5001, inf, GOOD),
        (0.2, 0.2, GOOD),  # somebody looks just then
        (0.2, 0.2001, BAD),
        (inf, inf, GOOD),
    ],
)
def test_a_miss_is_foretold_within_the_lead_unless_somebody_looks_first(
    wait, relief, level
):
    health = replace(MET, first_below=wait, relief=relief)
    assert found(AlarmKind.WILL_MISS, health).level is level
    aged = Health("s", relief=relief, lateness=replace(LATE, wait=wait))
    assert found(AlarmKind.WILL_MISS, aged).level is level


@pytest.mark.parametrize(("mean", "came_true"), [(0.4999, True), (0.5, False)])
def test_a_foretold_miss_is_over_once_the_quality_is_below_its_target(mean, came_true):
    health = Health("s", mean=mean, target=0.5, first_below=0.0)
    told = found(AlarmKind.WILL_MISS, health)
    assert (told.level, told.quiet) == ((GOOD, True) if came_true else (BAD, False))


@pytest.mark.parametrize(("late", "came_true"), [(0.2501, True), (0.25, False)])
def test_a_foretold_age_is_over_once_more_are_late_than_may_be(late, came_true):
    health = Health("s", lateness=replace(LATE, late=late, wait=0.0))
    told = found(AlarmKind.WILL_MISS, health)
    assert (told.level, told.quiet) == ((GOOD, True) if came_true else (BAD, False))


def test_the_end_is_quiet_if_one_of_two_targets_came_true():
    both = Health("s", mean=0.4, target=0.5, lateness=LATE)
    told = found(AlarmKind.WILL_MISS, both)
    assert (told.level, told.quiet) == (GOOD, True)
    assert not found(AlarmKind.WILL_MISS, replace(both, mean=0.6)).quiet


@pytest.mark.parametrize(
    ("late", "level"),
    [(0.0, GOOD), (0.125, GOOD), (0.1251, BETWEEN), (0.25, BETWEEN), (0.2501, BAD)],
)
def test_an_age_is_met_again_when_half_of_what_may_be_late_is(late, level):
    health = Health("s", lateness=replace(LATE, late=late))
    assert found(AlarmKind.MISSED, health).level is level


@given(
    mean=st.sampled_from([nan, 0.25, 0.5, 0.55, 0.625, 0.75]),
    late=st.sampled_from([None, 0.0, 0.2, 0.5, 1.0]),
)
def test_of_two_targets_the_worse_counts(mean, late):
    """Oracle: each target judged alone; bad if one is, good if both are."""
    aged = None if late is None else replace(LATE, late=late)
    alone = []
    if not isnan(mean):
        alone.append(found(AlarmKind.MISSED, Health("s", mean=mean, target=0.5)))
    if aged is not None:
        alone.append(found(AlarmKind.MISSED, Health("s", lateness=aged)))
    both = found(AlarmKind.MISSED, Health("s", mean=mean, target=0.5, lateness=aged))
    if not alone:
        assert both == AlarmFinding(AlarmKind.MISSED, BETWEEN)
        return
    worst = max(f.level for f in alone)
    assert both.level is worst
    assert both.text == "; ".join(f.text for f in alone if f.level is worst)
    assert both.advice == "run `halflife sync s`, or see `halflife budget`"


def test_what_is_overdue_is_said_by_its_age_or_by_the_share_that_is():
    part = replace(LATE, late=0.5)
    text = "misses its target age p95 <= 6 h: "
    assert found(AlarmKind.MISSED, Health("s", lateness=part)).text == (
        f"{text}50% of it was last fetched more than 6 h ago"
    )
    whole = found(AlarmKind.MISSED, Health("s", lateness=replace(part, late=1.0)))
    assert whole.text == f"{text}the last fetch was 3 h ago"


def test_a_source_that_cannot_be_looked_at_says_why_in_each_text():
    stuck = replace(MET, first_below=0.125, blocked="no route", lateness=LATE)
    assert found(AlarmKind.WILL_MISS, stuck).text == (
        "will miss its target quality >= 0.5 in 3 h, and it cannot be fetched before: "
        "no route; quality is 0.750"
    )
    advice = "see `halflife doctor` for what keeps it from being fetched"
    assert found(AlarmKind.WILL_MISS, stuck).advice == advice
    missed = found(AlarmKind.MISSED, replace(stuck, mean=0.25))
    assert missed.text == (
        "misses its target quality >= 0.5: quality is 0.250; it cannot be fetched now: "
        "no route"
    )
    assert missed.advice == advice
    late = Health("s", lateness=replace(LATE, late=1.0), blocked="no route")
    assert found(AlarmKind.MISSED, late).text.endswith(
        "3 h ago; it cannot be fetched now: no route"
    )


def test_a_miss_that_is_due_this_minute_may_be_there_already():
    now = found(AlarmKind.WILL_MISS, replace(MET, first_below=0.99 * SOON)).text
    assert now == "may miss its target quality >= 0.5 already; quality is 0.750"
    soon = found(AlarmKind.WILL_MISS, replace(MET, first_below=SOON)).text
    assert soon == "will miss its target quality >= 0.5 in 1 min; quality is 0.750"
    aged = Health("s", lateness=replace(LATE, wait=0.125))
    assert found(AlarmKind.WILL_MISS, aged).text == (
        "will miss its target age p95 <= 6 h in 3 h; the last fetch was 3 h ago"
    )


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.5, 1.0, "0.750 [0.500, 1.000]"),
        (nan, 1.0, "0.750"),
        (0.5, nan, "0.750"),
        (nan, nan, "0.750"),
    ],
)
def test_bounds_are_told_if_both_are_known(low, high, said):
    health = replace(MET, mean=0.75, target=0.8, low=low, high=high)
    assert found(AlarmKind.MISSED, health).text.endswith(f"quality is {said}")


@pytest.mark.parametrize(
    ("failures", "silent", "level"),
    [(4, 2.0, BAD), (3, 2.0, BETWEEN), (4, 1.999, BETWEEN), (1, 0.0, BETWEEN),
     (0, 2.0, GOOD)],
)  # fmt: skip
def test_death_takes_both_failures_and_silence(failures, silent, level):
    health = Health("s", failures=failures, silent=silent, trouble="HTTP 500")
    told = found(AlarmKind.DEAD, health)
    assert told.level is level
    looks = "1 fetch" if failures == 1 else f"{failures} fetches"
    text = f"no good answer for {span(silent)}, {looks} in a row failed"
    assert told.text == f"{text}, the last one with: HTTP 500"
    assert found(AlarmKind.DEAD, replace(health, trouble="")).text == text


@pytest.mark.parametrize(
    ("left", "level"),
    [(-0.1, BAD), (0.0, BAD), (0.001, BETWEEN), (0.1249, BETWEEN), (0.125, GOOD)],
)
def test_a_budget_is_spent_at_nothing_and_there_again_at_its_share(left, level):
    assert found(AlarmKind.SPENT, Health("s", left=left)).level is level
    assert found(AlarmKind.SPENT, Health(left=left)).level is level


@pytest.mark.parametrize("wrong", [False, True])
def test_what_is_wrong_or_not_is_bad_or_good(wrong):
    level = BAD if wrong else GOOD
    text = "why" if wrong else ""
    health = Health("s", held=text, moved_to=text, offline=wrong, settings=text)
    health = replace(health, sinks=("why",) if wrong else ())
    for kind in (
        AlarmKind.SINK,
        AlarmKind.HELD,
        AlarmKind.MOVED,
        AlarmKind.OFFLINE,
        AlarmKind.SETTINGS,
    ):
        assert found(kind, health).level is level


def test_what_concerns_all_sources_is_judged_without_one():
    everything = Health(left=1.0, offline=False, settings="", sinks=())
    told = {f.kind for f in judge(everything)}
    all_share = {AlarmKind.SPENT, AlarmKind.OFFLINE, AlarmKind.SETTINGS, AlarmKind.SINK}
    assert told == all_share
    of_one = {f.kind for f in judge(replace(everything, source="s"))}
    assert of_one == set(AlarmKind) - {AlarmKind.RECOVERED}


def test_three_differences_are_told_in_full_and_the_others_counted():
    def drifted(n):
        return found(AlarmKind.DRIFT, Health("s", drift=tuple("abcdef"[:n])))

    text = "its answers look different: "
    assert [drifted(n).text for n in (1, 3, 4, 6)] == [
        f"{text}a", f"{text}a; b; c", f"{text}a; b; c; and 1 more",
        f"{text}a; b; c; and 3 more",
    ]  # fmt: skip
    assert found(AlarmKind.DRIFT, Health("s")) == AlarmFinding(AlarmKind.DRIFT, GOOD)
    new = found(AlarmKind.DRIFT, Health("s", novelty=("a", "b")))
    assert new.level is BAD
    assert new.text == (
        f"{INFORMATION}its answers look different, and nothing is lost: a; b"
    )
    lost = found(AlarmKind.DRIFT, Health("s", drift=("a",), novelty=("b",)))
    assert lost.text == f"{text}a"


def test_a_target_is_told_as_it_is_written():
    assert target_text(Health("s", target=0.9)) == "quality >= 0.9"
    sure = Health("s", target=0.9, sure=0.95, measure="recall")
    assert target_text(sure) == "recall >= 0.9 with confidence 0.95"


@pytest.mark.parametrize(
    ("days", "said"),
    [
        (inf, "a long time"),
        (nan, "a long time"),
        (1.5, "1.5 days"),
        (1.4999, "36 h"),
        (1.0, "24 h"),
        (1.5 / 24, "1.5 h"),
        (89.49 / 1440, "89 min"),
        (88.51 / 1440, "89 min"),
        (12.345, "12.3 days"),
        (3.0, "3 days"),
        (30 / 1440, "30 min"),
        (0.0, "0 min"),
    ],
)
def test_a_time_is_told_in_the_largest_unit_of_which_it_has_one_and_a_half(days, said):
    assert span(days) == said
