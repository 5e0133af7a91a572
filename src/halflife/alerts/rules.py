"""Rules that judge whether something is wrong with a source, in three degrees.

Between *bad* and *good* lies a margin in which a judgement stays what it was, so that a
source that hovers around a limit is not reported again and again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from math import isfinite, isnan

from halflife.alerts import AlarmKind, Health, Lateness
from halflife.core.wording import count, number


class Severity(IntEnum):
    """How bad it is."""

    GOOD = -1
    BETWEEN = 0  # not bad enough to begin, not good enough to end
    BAD = 1


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds between bad and good; times are days.

    Attributes:
        lead: A target that will be missed this soon is news ...
        calm: ... until it lies this far ahead again.
        margin: A target that was missed is met again this far above it.
        failures: This many fetches in a row must fail, ...
        silent: ... over this long a time, for a source to count as dead.
        refilled: The share of the budget with which it counts as available again.

    """

    lead: float = 0.25
    calm: float = 0.5
    margin: float = 0.02
    failures: int = 5
    silent: float = 1.0
    refilled: float = 0.1


@dataclass(frozen=True, slots=True)
class AlarmFinding:
    """A judgement of one kind.

    Attributes:
        kind: The kind of alarm.
        level: How bad it is.
        text: What is wrong, with its numbers; empty if nothing is.
        advice: What to do about it.
        quiet: Whether its end is not reported, because a worse alarm replaces it.

    """

    kind: AlarmKind
    level: Severity
    text: str = ""
    advice: str = ""
    quiet: bool = False


USUAL = Thresholds()
SOON = 1.0 / 1440.0  # days; what comes sooner is there already
# Marks an alarm that is no problem: its end is not reported.
INFORMATION = "for your information: "
_SHOWN = 3  # differences that are listed in full


def judge(health: Health, limits: Thresholds = USUAL) -> Iterator[AlarmFinding]:
    """Return the findings about a source in every respect that is known.

    >>> [f.text for f in judge(Health("a", mean=0.8, target=0.9)) if f.level > 0]
    ['misses its target quality >= 0.9: quality is 0.800']
    """
    if health.source:
        yield _will_miss(health, limits)
        yield _missed(health, limits)
        yield _held(health)
        yield _dead(health, limits)
        yield _moved(health)
        yield _drift(health)
    if not isnan(health.left):
        yield _spent(health, limits)
    if health.offline is not None:
        level = Severity.BAD if health.offline else Severity.GOOD
        text = "no host answers; syncing waits for the network"
        yield AlarmFinding(
            AlarmKind.OFFLINE, level, text, "check this machine's connection"
        )
    if health.settings is not None:
        yield _settings(health.settings)
    if health.sinks is not None:
        level = Severity.BAD if health.sinks else Severity.GOOD
        text = f"changes are not delivered: {_some(health.sinks)}"
        yield AlarmFinding(AlarmKind.SINK, level, text, "see `halflife sinks`")


def _together(kind: AlarmKind, findings: Sequence[AlarmFinding]) -> AlarmFinding:
    """Return several findings as one: bad if one is, good if all are."""
    if not findings:
        return AlarmFinding(kind, Severity.BETWEEN)
    level = max(finding.level for finding in findings)
    worst = [finding for finding in findings if finding.level is level]
    text, advice = "; ".join(finding.text for finding in worst), worst[0].advice
    quiet = any(finding.quiet for finding in findings)
    return AlarmFinding(kind, level, text, advice, quiet)


def _will_miss(health: Health, limits: Thresholds) -> AlarmFinding:
    kind, late = AlarmKind.WILL_MISS, health.lateness
    findings = []
    if not (isnan(health.target) or isnan(health.mean)):
        over = health.mean < health.target
        level = _ahead(health, health.first_below, limits)
        text = _warning(health, target_text(health), health.first_below)
        text = f"{text}; {health.measure} is {_band(health)}"
        findings.append(
            _unless(over, AlarmFinding(kind, level, text, _fetch_advice(health)))
        )
    if late is not None:
        level = _ahead(health, late.wait, limits)
        text = _warning(health, late.target, late.wait)
        text = f"{text}; the last fetch was {span(late.age)} ago"
        over = late.late > late.most
        findings.append(
            _unless(over, AlarmFinding(kind, level, text, _fetch_advice(health)))
        )
    return _together(kind, findings)


def _unless(over: bool, finding: AlarmFinding) -> AlarmFinding:  # noqa: FBT001  (reads well)
    """Return a warning; it is over when what it warned of has happened."""
    return AlarmFinding(finding.kind, Severity.GOOD, quiet=True) if over else finding


def _ahead(health: Health, wait: float, limits: Thresholds) -> Severity:
    """Judge a predicted miss; it is none if a fetch is expected before it."""
    if health.relief <= wait or wait > limits.calm:
        return Severity.GOOD
    return Severity.BAD if wait <= limits.lead else Severity.BETWEEN


def _warning(health: Health, target: str, wait: float) -> str:
    why = (
        f", and it cannot be fetched before: {health.blocked}" if health.blocked else ""
    )
    if wait < SOON:
        return f"may miss its target {target} already{why}"
    return f"will miss its target {target} in {span(wait)}{why}"


def _fetch_advice(health: Health) -> str:
    if health.blocked:
        return "see `halflife doctor` for what keeps it from being fetched"
    return f"run `halflife sync {health.source}`, or see `halflife budget`"


def _missed(health: Health, limits: Thresholds) -> AlarmFinding:
    kind, late = AlarmKind.MISSED, health.lateness
    why = health.blocked and f"; it cannot be fetched now: {health.blocked}"
    findings = []
    if not (isnan(health.target) or isnan(health.mean)):
        target = health.target
        again = min(target + limits.margin, (1.0 + target) / 2.0)
        bad, good = health.mean < target, health.mean >= again
        level = Severity.BAD if bad else Severity.GOOD if good else Severity.BETWEEN
        quality = f"{health.measure} is {_band(health)}"
        text = f"misses its target {target_text(health)}: {quality}{why}"
        findings.append(AlarmFinding(kind, level, text, _fetch_advice(health)))
    if late is not None:
        findings.append(
            AlarmFinding(kind, _late(late), _overdue(late) + why, _fetch_advice(health))
        )
    return _together(kind, findings)


def _late(late: Lateness) -> Severity:
    if late.late > late.most:
        return Severity.BAD
    return Severity.GOOD if late.late <= late.most / 2.0 else Severity.BETWEEN


def _overdue(late: Lateness) -> str:
    if late.late >= 1.0:
        return (
            f"misses its target {late.target}: the last fetch was {span(late.age)} ago"
        )
    return (
        f"misses its target {late.target}: {late.late:.0%} of it was last fetched "
        f"more than {span(late.interval)} ago"
    )


def _held(health: Health) -> AlarmFinding:
    level = Severity.BAD if health.held else Severity.GOOD
    text = f"an answer waits for a decision: {health.held}"
    advice = "see `halflife status`, then `halflife sync --accept RUN` or sync again"
    return AlarmFinding(AlarmKind.HELD, level, text, advice)


def _dead(health: Health, limits: Thresholds) -> AlarmFinding:
    many, long = health.failures >= limits.failures, health.silent >= limits.silent
    good = health.failures == 0
    level = (
        Severity.BAD if many and long else Severity.GOOD if good else Severity.BETWEEN
    )
    text = (
        f"no good answer for {span(health.silent)}, "
        f"{count(health.failures, 'fetch', 'fetches')} in a row "
        "failed"
    )
    text = f"{text}, the last one with: {health.trouble}" if health.trouble else text
    return AlarmFinding(AlarmKind.DEAD, level, text, "check its address, or remove it")


def _moved(health: Health) -> AlarmFinding:
    level = Severity.BAD if health.moved_to else Severity.GOOD
    text = f"has moved for good to {health.moved_to}"
    advice = f"write the new address into the settings of {health.source}"
    return AlarmFinding(AlarmKind.MOVED, level, text, advice)


def _drift(health: Health) -> AlarmFinding:
    """Judge changes of a source's records; additions are reported as information."""
    advice = f"check fields, key and records in the settings of {health.source}"
    if health.drift:
        text = f"its answers look different: {_some(health.drift)}"
        return AlarmFinding(AlarmKind.DRIFT, Severity.BAD, text, advice)
    if health.novelty:
        text = f"{INFORMATION}its answers look different, and nothing is lost: "
        advice = "nothing has to be done"
        return AlarmFinding(
            AlarmKind.DRIFT, Severity.BAD, text + _some(health.novelty), advice
        )
    return AlarmFinding(AlarmKind.DRIFT, Severity.GOOD)


def _spent(health: Health, limits: Thresholds) -> AlarmFinding:
    bad, good = health.left <= 0.0, health.left >= limits.refilled
    level = Severity.BAD if bad else Severity.GOOD if good else Severity.BETWEEN
    text = "the budget is spent, so nothing is fetched"
    if isfinite(health.refill):
        text = f"{text} for {span(health.refill)}"
    return AlarmFinding(
        AlarmKind.SPENT, level, text, "wait, or raise [budget] requests"
    )


def _settings(trouble: str) -> AlarmFinding:
    level = Severity.BAD if trouble else Severity.GOOD
    text = f"the new settings cannot be used, so the old ones stay in use: {trouble}"
    return AlarmFinding(
        AlarmKind.SETTINGS, level, text, "fix the file; it is then read again"
    )


def target_text(health: Health) -> str:
    """Return the target quality as it is written in the settings."""
    sure = "" if isnan(health.sure) else f" with confidence {health.sure:g}"
    return f"{health.measure} >= {health.target:g}{sure}"


def _band(health: Health) -> str:
    mean, low, high = health.mean, health.low, health.high
    if isnan(low) or isnan(high):
        return f"{mean:.3f}"
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]"


def _some(text: Sequence[str]) -> str:
    more = f"; and {len(text) - _SHOWN} more" if len(text) > _SHOWN else ""
    return "; ".join(text[:_SHOWN]) + more


def span(days: float) -> str:
    """Return a duration in words.

    >>> span(2.0), span(0.25), span(0.01), span(0.0)
    ('2 days', '6 h', '14 min', '0 min')
    """
    if not isfinite(days):
        return "a long time"
    for unit, name in ((1.0, "days"), (1.0 / 24.0, "h")):
        if days >= 1.5 * unit:
            return f"{number(days / unit, 3)} {name}"
    return f"{days * 1440.0:.0f} min"
