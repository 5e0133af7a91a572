"""What audits found: how good the copy is, and whether to believe our forecasts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats
from halflife.core.wording import count
from halflife.engine import rhythms
from halflife.engine.bound_widening import FULL, Trust
from halflife.metrics.intervals import Interval
from halflife.models import calibration
from halflife.models.audit import (
    AuditDrift,
    audited_share,
    drift,
    mean_over_gaps,
    pooled_share,
    share_bounds,
)
from halflife.models.calibration import Brier, Outcome, Reliability, normal_score
from halflife.models.rhythm import Rhythm
from halflife.stores import Store
from halflife.stores.forecasts import Checks, IssuedForecast

WINDOW = 30.0  # days that audits tell of
YEAR = 365.0  # days that audits of summaries tell of
FEW = 3  # summaries that count as the latest
LATELY = 7.0  # days for which an alarm counts, and that trust goes by
ALARMED = 2.0  # times that bounds are widened while an alarm counts, at least
BRIEF = 1e-6  # days
LENGTHS = (  # how far ahead forecasts are at most, in days, and in words
    (0.0, "not at all"),
    (0.25, "hours"),
    (3.0, "a day or so"),
    (inf, "a week or more"),
)
SIDE = 1.959963984540054  # standard deviations within which 95 % lie

Alarms: TypeAlias = tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class SourceAudit:
    """What audits say of one source.

    Attributes:
        source: The source.
        measure: What its forecasts are of; empty if there were none.
        how: How the quality was found: by ``checks`` of parts drawn at random, or at
            the ``looks`` that show everything; empty if it was not.
        looked: Times between two looks that show everything, one after the other.
        checked: Parts drawn that answered.
        silent: Parts drawn that did not.
        quality: How good the copy was, with its interval; None if nobody knows.
        believed: How good it was believed to be then, with the mean bounds.
        reliability: Believed chances beside what was found, page by page.
        brier: Their score.
        scored: Forecasts whose outcome is known.
        coverage: The share of them within their bounds.
        scores: How far off each of them was, in the order in which they were told.
        alarms: When audits disagreed with the belief for too long, and how.
        evidence: How strongly they do since, as a share of an alarm.
        trust: By how much bounds are widened, and why.
        width: The mean distance of the bounds of forecasts whose outcome is known.
        winkler: The mean interval score of those whose outcome was seen whole; None
            if none was: what a sample shows is off by chance.

    """

    source: str
    measure: str
    how: str
    looked: int
    checked: int
    silent: int
    quality: Interval | None
    believed: Interval | None
    reliability: Reliability
    brier: Brier
    scored: int
    coverage: Interval
    scores: Floats
    alarms: Alarms
    evidence: float
    trust: Trust
    width: float = 0.0
    winkler: float | None = None

    @property
    def pit(self) -> list[float]:
        """The share of outcomes in each fifth of what was forecast.

        If forecasts are right all five are alike; the outer ones are larger if they
        were too sure, the first if copies were worse than forecast.
        """
        if not self.scores.size:
            return []
        fifth = np.clip((5.0 * lazy_scipy.ndtr(self.scores)).astype(np.intp), 0, 4)
        share: Floats = np.bincount(fifth, minlength=5) / self.scores.size
        return [float(one) for one in share]

    def drifting(self, now: float) -> bool:
        """Say whether there was an alarm lately."""
        return any(at >= now - LATELY for at, _ in self.alarms)


def judge(store: Store, source: str, now: float) -> SourceAudit:
    """Return what the audits of the last ``WINDOW`` days say of a source."""
    checks, told = _facts(store, source, now)
    scores = scores_of(told)
    alarms, evidence = alarmed(checks, told)
    parts = round(sum(one.looks or 0.0 for one in told if one.ahead == 0.0))
    how = "checks" if checks.at.size or parts else "looks" if told else ""
    rhythm = rhythms.rhythm(store, source)
    return SourceAudit(
        source=source,
        measure=told[-1].measure if told else "",
        how=how,
        looked=len(chained(told)) if how == "looks" else 0,
        checked=checks.at.size or parts,
        silent=checks.silent,
        quality=_quality(checks, told, rhythm),
        believed=_believed(told, rhythm),
        reliability=calibration.reliability(checks.believed, checks.fresh),
        brier=calibration.brier(checks.believed, checks.fresh),
        scored=len(told),
        coverage=calibration.coverage(scores),
        scores=scores,
        alarms=alarms,
        evidence=evidence,
        trust=trusted(told, alarms, now),
        width=float(np.mean([f.high - f.low for f in told])) if told else 0.0,
        winkler=_winkler([one for one in told if one.looks is None]),
    )


def _winkler(told: Sequence[IssuedForecast]) -> float | None:
    """Return the mean interval score of forecasts, each for its own confidence."""
    scores = [
        float(
            calibration.interval_score(
                np.array(one.low),
                np.array(one.high),
                np.array(one.found or 0.0),
                confidence=one.confidence,
            )
        )
        for one in told
    ]
    return float(np.mean(scores)) if scores else None


def _facts(
    store: Store, source: str, now: float
) -> tuple[Checks, list[IssuedForecast]]:
    """Return what was drawn and which forecasts were told in the last days."""
    kept = store.forecasts
    told = kept.settled(source, now - WINDOW)
    if not told or told[-1].measure == "summary":  # there are few, and far between
        told = [f for f in kept.settled(source, now - YEAR) if f.measure == "summary"]
    return kept.checks(source, now - WINDOW), [f for f in told if (f.told or 0) <= now]


def recent(store: Store, source: str, now: float) -> list[IssuedForecast]:
    """Return the forecasts that count, with their outcomes, oldest first."""
    return _facts(store, source, now)[1]


def trust(store: Store, source: str, now: float) -> Trust:
    """Return how far what is believed of a source is trusted."""
    checks, told = _facts(store, source, now)
    return trusted(told, alarmed(checks, told)[0], now) if told else FULL


def told(store: Store, now: float) -> set[str]:
    """Return the sources of which there is anything to trust, or not to trust, by."""
    return store.forecasts.settled_sources(now - YEAR)


def factor(store: Store, sources: Iterable[str], now: float) -> float:
    """Return by how much bounds of these sources are to be widened, together."""
    return max([1.0, *(trust(store, source, now).factor for source in sources)])


def trusted(told: Sequence[IssuedForecast], alarms: Alarms, now: float) -> Trust:
    """Return how far forecasts are trusted of which these are the latest outcomes.

    The largest of: the quantile of recent errors (``calibration.trust_factor``), of all
    forecasts and of those about as far ahead as each other; for each horizon, the gap
    between what was forecast and what all checks together found
    (``calibration.widening_factor``), in the last ``LATELY`` and in the last ``WINDOW``
    days; and ``ALARMED`` for ``LATELY`` days after an alarm. Of
    summaries, which hold or do not, the gap between how many were to hold and how many
    did, of the last ``FEW`` and of all.
    """
    if told and told[-1].measure == "summary":
        reasons = [FULL, _gap_of_summaries(told), _gap_of_summaries(told[-FEW:])]
    else:
        reasons = [FULL, *_missed(told), *_gaps(told, now)]
    late = [(at, way) for at, way in alarms if at >= now - LATELY]
    if late:
        at, way = late[-1]
        said = f"{now - at:.1f} days ago the copy was clearly {way} than believed"
        reasons.append(Trust(ALARMED, said))
    return max(reasons, key=lambda one: one.factor)


def _missed(told: Sequence[IssuedForecast]) -> list[Trust]:
    """Return what the latest errors ask for, of all forecasts and of each length."""
    reasons = []
    lengths = [_length(one) for one in told]
    for length in (None, *sorted(set(lengths))):
        some = [
            one
            for one, mine in zip(told, lengths, strict=True)
            if length is None or mine == length
        ]
        scores = scores_of(some[-calibration.RECENT :])
        missed = np.count_nonzero(np.abs(scores) > SIDE)
        said = (
            f"{missed} of the last {count(scores.size, 'forecast')} missed the bounds"
        )
        if length is not None:
            said = f"{said} among those {LENGTHS[length][1]} ahead"
        if scores.size:
            reasons.append(Trust(calibration.trust_factor(scores), said))
    return reasons


def _length(one: IssuedForecast) -> int:
    """Return how far ahead a forecast was, roughly; a place in ``LENGTHS``."""
    return next(i for i, (days, _) in enumerate(LENGTHS) if one.ahead <= days)


def _gaps(told: Sequence[IssuedForecast], now: float) -> list[Trust]:
    """Return what is asked for by checks that contradict the forecasts."""
    reasons = []
    for days in (LATELY, WINDOW):
        some = [f for f in told if f.looks and (f.told or 0.0) >= now - days]
        for ahead in sorted({one.ahead for one in some}):
            mine = [one for one in some if one.ahead == ahead]
            forecast, found = _mean_of(mine), _found(mine)
            said = (
                f"checks of the last {days:.0f} days found {found.mean:.2f} "
                f"[{found.low:.2f}, {found.high:.2f}], forecast was {forecast.mean:.2f}"
            )
            reasons.append(Trust(calibration.widening_factor(forecast, found), said))
    return reasons


def _gap_of_summaries(told: Sequence[IssuedForecast]) -> Trust:
    forecast, found = _mean_of(told).mean, _found(told)
    held, due = round(found.mean * len(told)), forecast * len(told)
    said = f"{held} of the last {len(told)} summaries held, {due:.1f} were to"
    return Trust(calibration.lifetime_widening_factor(forecast, found), said)


def _found(told: Sequence[IssuedForecast]) -> Interval:
    """Return what the checks of several forecasts found together."""
    found, looks = np.array([(one.found or 0.0, one.looks or 0.0) for one in told]).T
    # Records that one query brings may have changed together.
    return pooled_share(found, looks, alike=told[-1].measure in {"recall", "content"})


def scores_of(told: Sequence[IssuedForecast]) -> Floats:
    """Return how far off forecasts were, in standard deviations."""
    return np.array([_score(one) for one in told], dtype=np.float64)


def _score(one: IssuedForecast) -> float:
    outcome = Outcome(one.found or 0.0, inf if one.looks is None else one.looks)
    bounds = Interval(one.mean, one.low, one.high)
    return normal_score(bounds, outcome, one.draw or 0.0, one.confidence)


def _quality(
    checks: Checks, told: Sequence[IssuedForecast], rhythm: Rhythm
) -> Interval | None:
    """Return the quality found.

    Of pages by those drawn; of forms by what their audits found; of what is only ever
    seen whole over the time between looks, at the hours of its rhythm.
    """
    if checks.at.size:
        return audited_share(checks.fresh, checks.chance, checks.weight)
    drawn = [one for one in told if one.ahead == 0.0 and one.looks]
    if drawn:
        return _found(drawn)
    return _over_time(told, [one.found or 0.0 for one in chained(told)], rhythm)


def _believed(told: Sequence[IssuedForecast], rhythm: Rhythm) -> Interval | None:
    """Return what was believed at the audits, in the same way."""
    now = [one for one in told if one.ahead == 0.0]
    if now:
        return _mean_of(now)
    some = chained(told)
    if not some:
        return None
    gap, late = _gap_of(some, rhythm)
    mean, low, high = (
        mean_over_gaps(
            gap, np.array([getattr(one, side) for one in some]), late=late
        ).mean
        for side in ("mean", "low", "high")
    )
    return Interval(mean, low, high)


def _gap_of(
    some: Sequence[IssuedForecast], rhythm: Rhythm
) -> tuple[Floats, tuple[Floats, Floats] | None]:
    """Return the days of forecasts, and how late in them things were lost."""
    moments = [(one.made, one.told or 0.0) for one in some]
    made, told = np.array(moments).reshape(-1, 2).T
    return told - made, None if rhythm.flat else rhythm.share_after(made, told)


def _over_time(
    told: Sequence[IssuedForecast], ends: Sequence[float], rhythm: Rhythm
) -> Interval | None:
    """Return the mean quality between looks that found so much at their ends."""
    some = chained(told)
    gap, late = _gap_of(some, rhythm)
    if not gap.size:
        return None
    found = mean_over_gaps(gap, np.array(ends), late=late)
    if some[-1].measure != "summary":
        return found
    # Whether one held is told by a sample: of few that all held, others might not.
    low, high = share_bounds(float(np.sum(ends)), float(len(ends)), 0.95)
    return Interval(
        found.mean, min(found.low, (1.0 + low) / 2), max(found.high, (1.0 + high) / 2)
    )


def chained(told: Sequence[IssuedForecast]) -> list[IssuedForecast]:
    """Return forecasts of which each was made when the one before it was told.

    As many as there are: their errors share no time. Those of now come first.
    """
    found, end = [], -inf
    for one in sorted(told, key=lambda f: (f.told or 0.0, -f.made)):
        if one.made >= end - BRIEF:
            found.append(one)
            end = one.told or 0.0
    return found


def _mean_of(told: Sequence[IssuedForecast]) -> Interval:
    mean, low, high = np.mean([(f.mean, f.low, f.high) for f in told], axis=0)
    return Interval(float(mean), float(low), float(high))


def alarmed(checks: Checks, told: Sequence[IssuedForecast]) -> tuple[Alarms, float]:
    """Return when audits spoke against the belief and how, and the evidence since.

    By the pages drawn; where there are none by how far off forecasts were.
    """
    found, moments = drift_of(checks) if checks.at.size else drift_of_scores(told)
    ways = np.where(found.staler, "staler", "fresher").tolist()
    return tuple(zip(moments[found.alarms].tolist(), ways, strict=True)), found.evidence


def drift_of(checks: Checks) -> tuple[AuditDrift, Floats]:
    """Return when checks spoke against the belief, and the moments of their turns."""
    moments, turn = np.unique(checks.at, return_inverse=True)
    found = drift(checks.believed, checks.fresh, turn, checks.group)
    return found, moments


def drift_of_scores(told: Sequence[IssuedForecast]) -> tuple[AuditDrift, Floats]:
    """Return when outcomes spoke against the forecasts, and the moments of both.

    If forecasts are right, an outcome lies above the lower bound with the chance
    0.975, above the middle with 0.5 and above the upper bound with 0.025, whatever
    came before; the three are bet on together. Forecasts that overlap count once.
    """
    some = chained(told)
    scores = scores_of(some)
    # An outcome that is just what was forecast lies above it as often as below.
    tie = np.array([(one.draw or 0.0) < 0.5 for one in some], dtype=np.bool_)
    above = (scores > 0) | ((scores == 0) & tie)
    fresh = np.stack([scores >= -SIDE, above, scores > SIDE], axis=1).ravel()
    believed = np.tile([0.975, 0.5, 0.025], len(some))
    turn = np.repeat(np.arange(len(some)), 3)
    moments = np.array([one.told or 0.0 for one in some], dtype=np.float64)
    return drift(believed, fresh, turn, np.zeros_like(turn)), moments


def nothing() -> Checks:
    """Return that no part was drawn."""
    none = np.zeros(0)
    return Checks(none, none, none, none, none > 0, none.astype(np.intp), 0)
