"""Whether something is wrong with a source, in three degrees.

Between *bad* and *good* lies a belt in which a judgement stays what it was: whoever
hovers around the limit is not reported again and again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from math import isfinite, isnan

from halflife.alerts import Health, Kind


class Level(IntEnum):
    """How bad it is."""

    GOOD = -1
    BETWEEN = 0  # not bad enough to begin, not good enough to end
    BAD = 1


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Where bad begins and good begins; times are days.

    Attributes:
        lead: A target that will be missed this soon is news ...
        calm: ... until it lies this far ahead again.
        margin: A target that was missed is met again this far above it.
        failures: So many looks in a row must fail, ...
        silent: ... over so long a time, for a source to count as dead.
        refilled: The share of the budget with which it counts as there again.

    """

    lead: float = 0.25
    calm: float = 0.5
    margin: float = 0.02
    failures: int = 5
    silent: float = 1.0
    refilled: float = 0.1


@dataclass(frozen=True, slots=True)
class Finding:
    """A judgement of one kind.

    Attributes:
        kind: What was judged.
        level: How bad it is.
        text: What is wrong, with its numbers; empty if nothing is.
        advice: What to do about it.
        quiet: Whether the end of it is no news, because something worse tells of it.

    """

    kind: Kind
    level: Level
    text: str = ""
    advice: str = ""
    quiet: bool = False


USUAL = Thresholds()


def judge(health: Health, limits: Thresholds = USUAL) -> Iterator[Finding]:
    """Judge a source in every respect that is known.

    >>> [f.text for f in judge(Health("a", mean=0.8, target=0.9)) if f.level > 0]
    ['quality is 0.800, below the target of 0.9']
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
        level = Level.BAD if health.offline else Level.GOOD
        text = "no host answers; syncing waits for the network"
        yield Finding(Kind.OFFLINE, level, text, "check this machine's connection")


def _will_miss(health: Health, limits: Thresholds) -> Finding:
    name, wait = health.source, health.first_below
    if isnan(health.target) or isnan(health.mean):
        return Finding(Kind.WILL_MISS, Level.BETWEEN)
    if health.mean < health.target:
        return Finding(Kind.WILL_MISS, Level.GOOD, quiet=True)
    bad, good = wait <= limits.lead, wait > limits.calm
    level = Level.BAD if bad else Level.GOOD if good else Level.BETWEEN
    text = (
        f"will miss the target of {health.target:g} in {span(wait)}; "
        f"quality is {_band(health)}"
    )
    return Finding(Kind.WILL_MISS, level, text, f"run `halflife sync {name}`")


def _missed(health: Health, limits: Thresholds) -> Finding:
    if isnan(health.target) or isnan(health.mean):
        return Finding(Kind.MISSED, Level.BETWEEN)
    target = health.target
    again = min(target + limits.margin, (1.0 + target) / 2.0)
    bad, good = health.mean < target, health.mean >= again
    level = Level.BAD if bad else Level.GOOD if good else Level.BETWEEN
    text = f"quality is {_band(health)}, below the target of {target:g}"
    advice = f"run `halflife sync {health.source}`, or see `halflife budget`"
    return Finding(Kind.MISSED, level, text, advice)


def _held(health: Health) -> Finding:
    level = Level.BAD if health.held else Level.GOOD
    text = f"an answer waits for a decision: {health.held}"
    advice = "see `halflife status`, then `halflife sync --accept RUN` or sync again"
    return Finding(Kind.HELD, level, text, advice)


def _dead(health: Health, limits: Thresholds) -> Finding:
    many, long = health.failures >= limits.failures, health.silent >= limits.silent
    good = health.failures == 0
    level = Level.BAD if many and long else Level.GOOD if good else Level.BETWEEN
    text = (
        f"no good answer for {span(health.silent)}, {health.failures} looks in a row "
        "failed"
    )
    return Finding(Kind.DEAD, level, text, "check its address, or remove it")


def _moved(health: Health) -> Finding:
    level = Level.BAD if health.moved_to else Level.GOOD
    text = f"has moved for good to {health.moved_to}"
    return Finding(Kind.MOVED, level, text, "write the new address into the settings")


def _drift(health: Health) -> Finding:
    level = Level.BAD if health.drift else Level.GOOD
    text = f"its records look different: {', '.join(health.drift)}"
    return Finding(Kind.DRIFT, level, text, "check fields and key in the settings")


def _spent(health: Health, limits: Thresholds) -> Finding:
    bad, good = health.left <= 0.0, health.left >= limits.refilled
    level = Level.BAD if bad else Level.GOOD if good else Level.BETWEEN
    advice = "wait, or raise [budget] requests"
    return Finding(Kind.SPENT, level, "the budget is spent", advice)


def _band(health: Health) -> str:
    mean, low, high = health.mean, health.low, health.high
    if isnan(low) or isnan(high):
        return f"{mean:.3f}"
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]"


def span(days: float) -> str:
    """Return a stretch of time as people say it.

    >>> span(2.0), span(0.25), span(0.01), span(0.0)
    ('2 days', '6 h', '14 min', '0 min')
    """
    if not isfinite(days):
        return "a long time"
    for unit, name in ((1.0, "days"), (1.0 / 24.0, "h")):
        if days >= 1.5 * unit:
            return f"{days / unit:.3g} {name}"
    return f"{days * 1440.0:.0f} min"
