"""Results of audits: how good the copy is, and how far to trust the forecasts."""

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

WINDOW = 30.0  # days of audits that count
YEAR = 365.0  # days of audits of summaries that count
FEW = 3  # summaries that count as the latest
LATELY = 7.0  # days for which an alarm counts, and of which trust is computed
ALARMED = 2.0  # the least factor by which bounds are widened while an alarm counts
BRIEF = 1e-6  # days
LENGTHS = (  # longest horizons of forecasts, in days, and in words
    (0.0, "for the same moment"),
    (0.25, "for a few hours ahead"),
    (3.0, "for about a day ahead"),
    (inf, "for a week or more ahead"),
)
SIDE = 1.959963984540054  # standard deviations within which 95 % lie

Alarms: TypeAlias = tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class SourceAudit:
    """The results of the audits of one source.

    Attributes:
        source: The source.
        measure: The measure of its forecasts; empty if there were none.
        how: How the quality was measured: by ``checks`` of parts drawn at random, or
            by ``fetches`` that show everything; empty if it was not.
        gaps: Consecutive gaps between fetches that show everything.
        checked: Drawn parts that answered.
        silent: Drawn parts that did not answer.
        quality: The measured quality with its interval; None if it is not known.
        believed: The forecast quality at the audits, with the mean bounds.
        reliability: Forecast probabilities beside the outcomes, page by page.
        brier: The Brier score of these probabilities.
        scored: Forecasts whose outcome is known.
        coverage: The share of them within their bounds.
        scores: Their errors in standard deviations, by the time of the outcome.
        alarms: When audits contradicted the forecasts for too long, and how.
        evidence: The evidence of this since then, as a share of an alarm.
        trust: By how much bounds are widened, and why.
        width: The mean width of the bounds of forecasts whose outcome is known.
        winkler: The mean interval score of those whose outcome was observed
            completely; None if none was: a sample deviates by chance.

    """

    source: str
    measure: str
    how: str
    gaps: int
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
        return [float(value) for value in share]

    def drifting(self, now: float) -> bool:
        """Say whether there was an alarm in the last ``LATELY`` days."""
        return any(at >= now - LATELY for at, _ in self.alarms)


def judge(store: Store, source: str, now: float) -> SourceAudit:
    """Return the results of the audits of a source in the last ``WINDOW`` days."""
    checks, issued = _facts(store, source, now)
    scores = scores_of(issued)
    alarms, evidence = alarms_and_evidence(checks, issued)
    parts = round(sum(f.looks or 0.0 for f in issued if f.ahead == 0.0))
    how = "checks" if checks.at.size or parts else "fetches" if issued else ""
    rhythm = rhythms.rhythm(store, source)
    return SourceAudit(
        source=source,
        measure=issued[-1].measure if issued else "",
        how=how,
        gaps=len(consecutive(issued)) if how == "fetches" else 0,
        checked=checks.at.size or parts,
        silent=checks.silent,
        quality=_quality(checks, issued, rhythm),
        believed=_believed(issued, rhythm),
        reliability=calibration.reliability(checks.believed, checks.fresh),
        brier=calibration.brier(checks.believed, checks.fresh),
        scored=len(issued),
        coverage=calibration.coverage(scores),
        scores=scores,
        alarms=alarms,
        evidence=evidence,
        trust=trust_in(issued, alarms, now),
        width=float(np.mean([f.high - f.low for f in issued])) if issued else 0.0,
        winkler=_winkler([f for f in issued if f.looks is None]),
    )


def _winkler(issued: Sequence[IssuedForecast]) -> float | None:
    """Return the mean interval score of forecasts, each for its own confidence."""
    scores = [
        float(
            calibration.interval_score(
                np.array(forecast.low),
                np.array(forecast.high),
                np.array(forecast.found or 0.0),
                confidence=forecast.confidence,
            )
        )
        for forecast in issued
    ]
    return float(np.mean(scores)) if scores else None


def _facts(
    store: Store, source: str, now: float
) -> tuple[Checks, list[IssuedForecast]]:
    """Return the recent checks, and the forecasts whose outcome became known."""
    kept = store.forecasts
    issued = kept.settled(source, now - WINDOW)
    if not issued or issued[-1].measure == "summary":  # there are few of these
        issued = [f for f in kept.settled(source, now - YEAR) if f.measure == "summary"]
    settled = [f for f in issued if (f.told or 0) <= now]
    return kept.checks(source, now - WINDOW), settled


def recent(store: Store, source: str, now: float) -> list[IssuedForecast]:
    """Return the forecasts that count, with their outcomes, oldest first."""
    return _facts(store, source, now)[1]


def trust(store: Store, source: str, now: float) -> Trust:
    """Return how far the forecasts of a source are trusted."""
    checks, issued = _facts(store, source, now)
    if not issued:
        return FULL
    return trust_in(issued, alarms_and_evidence(checks, issued)[0], now)


def sources_with_outcomes(store: Store, now: float) -> set[str]:
    """Return the sources with forecasts whose outcome is known."""
    return store.forecasts.settled_sources(now - YEAR)


def factor(store: Store, sources: Iterable[str], now: float) -> float:
    """Return the factor by which the bounds of these sources are widened together."""
    return max([1.0, *(trust(store, source, now).factor for source in sources)])


def trust_in(issued: Sequence[IssuedForecast], alarms: Alarms, now: float) -> Trust:
    """Return how far forecasts are trusted, by their latest outcomes.

    The largest of: the quantile of recent errors (``calibration.trust_factor``), of all
    forecasts and of those with similar horizons; for each horizon, the gap between the
    forecasts and the outcome of all checks together (``calibration.widening_factor``),
    in the last ``LATELY`` and in the last ``WINDOW`` days; and ``ALARMED`` for
    ``LATELY`` days after an alarm. For summaries, which hold or do not, the gap between
    how many were expected to hold and how many did, of the last ``FEW`` and of all.
    """
    if issued and issued[-1].measure == "summary":
        reasons = [FULL, _gap_of_summaries(issued), _gap_of_summaries(issued[-FEW:])]
    else:
        reasons = [FULL, *_errors(issued), *_gaps(issued, now)]
    late = [(at, way) for at, way in alarms if at >= now - LATELY]
    if late:
        at, way = late[-1]
        why = f"{now - at:.1f} days ago the copy was clearly {way} than believed"
        reasons.append(Trust(ALARMED, why))
    return max(reasons, key=lambda reason: reason.factor)


def _errors(issued: Sequence[IssuedForecast]) -> list[Trust]:
    """Return the trust by the latest errors, of all forecasts and of each horizon."""
    reasons = []
    lengths = [_length(forecast) for forecast in issued]
    for length in (None, *sorted(set(lengths))):
        chosen = [
            forecast
            for forecast, own in zip(issued, lengths, strict=True)
            if length is None or own == length
        ]
        scores = scores_of(chosen[-calibration.RECENT :])
        missed = np.count_nonzero(np.abs(scores) > SIDE)
        ahead = "" if length is None else f" {LENGTHS[length][1]}"
        made = f"the last {count(scores.size, 'forecast')}{ahead}"
        why = f"{missed} of {made} missed the bounds"
        if scores.size:
            reasons.append(Trust(calibration.trust_factor(scores), why))
    return reasons


def _length(forecast: IssuedForecast) -> int:
    """Return the class of a forecast's horizon; a place in ``LENGTHS``."""
    return next(i for i, (days, _) in enumerate(LENGTHS) if forecast.ahead <= days)


def _gaps(issued: Sequence[IssuedForecast], now: float) -> list[Trust]:
    """Return the trust by checks that contradict the forecasts."""
    reasons = []
    for days in (LATELY, WINDOW):
        checked = [f for f in issued if f.looks and (f.told or 0.0) >= now - days]
        for ahead in sorted({f.ahead for f in checked}):
            alike = [f for f in checked if f.ahead == ahead]
            forecast, found = _mean_of(alike), _outcome(alike)
            why = (
                f"checks of the last {days:.0f} days found {found.mean:.2f} "
                f"[{found.low:.2f}, {found.high:.2f}], forecast was {forecast.mean:.2f}"
            )
            reasons.append(Trust(calibration.widening_factor(forecast, found), why))
    return reasons


def _gap_of_summaries(issued: Sequence[IssuedForecast]) -> Trust:
    forecast, found = _mean_of(issued).mean, _outcome(issued)
    held, due = round(found.mean * len(issued)), forecast * len(issued)
    why = f"{held} of the last {len(issued)} summaries held, {due:.1f} were expected to"
    return Trust(calibration.lifetime_widening_factor(forecast, found), why)


def _outcome(issued: Sequence[IssuedForecast]) -> Interval:
    """Return the outcome of the checks of several forecasts together."""
    found, parts = np.array([(f.found or 0.0, f.looks or 0.0) for f in issued]).T
    # Records of the same query may have changed together.
    return pooled_share(found, parts, alike=issued[-1].measure in {"recall", "content"})


def scores_of(issued: Sequence[IssuedForecast]) -> Floats:
    """Return the errors of forecasts, in standard deviations."""
    return np.array([_score(forecast) for forecast in issued], dtype=np.float64)


def _score(forecast: IssuedForecast) -> float:
    size = inf if forecast.looks is None else forecast.looks
    outcome = Outcome(forecast.found or 0.0, size)
    bounds = Interval(forecast.mean, forecast.low, forecast.high)
    return normal_score(bounds, outcome, forecast.draw or 0.0, forecast.confidence)


def _quality(
    checks: Checks, issued: Sequence[IssuedForecast], rhythm: Rhythm
) -> Interval | None:
    """Return the measured quality.

    For pages, by the pages drawn; for forms, by the outcomes of their audits; for
    sources that are only read whole, over the time between fetches, at the hours of
    their rhythm.
    """
    if checks.at.size:
        return audited_share(checks.fresh, checks.chance, checks.weight)
    drawn = [f for f in issued if f.ahead == 0.0 and f.looks]
    if drawn:
        return _outcome(drawn)
    return _over_time(issued, [f.found or 0.0 for f in consecutive(issued)], rhythm)


def _believed(issued: Sequence[IssuedForecast], rhythm: Rhythm) -> Interval | None:
    """Return the forecast quality at the audits, in the same way."""
    now = [forecast for forecast in issued if forecast.ahead == 0.0]
    if now:
        return _mean_of(now)
    chain = consecutive(issued)
    if not chain:
        return None
    gap, late = _gap_of(chain, rhythm)
    mean, low, high = (
        mean_over_gaps(gap, np.array([getattr(f, side) for f in chain]), late=late).mean
        for side in ("mean", "low", "high")
    )
    return Interval(mean, low, high)


def _gap_of(
    chain: Sequence[IssuedForecast], rhythm: Rhythm
) -> tuple[Floats, tuple[Floats, Floats] | None]:
    """Return the days of forecasts, and how late in them objects were lost."""
    moments = [(forecast.made, forecast.told or 0.0) for forecast in chain]
    made, told = np.array(moments).reshape(-1, 2).T
    return told - made, None if rhythm.flat else rhythm.share_after(made, told)


def _over_time(
    issued: Sequence[IssuedForecast], ends: Sequence[float], rhythm: Rhythm
) -> Interval | None:
    """Return the mean quality over gaps at whose ends it was ``ends``."""
    chain = consecutive(issued)
    gap, late = _gap_of(chain, rhythm)
    if not gap.size:
        return None
    found = mean_over_gaps(gap, np.array(ends), late=late)
    if chain[-1].measure != "summary":
        return found
    # A sample shows whether a summary held: if few all held, others might not.
    low, high = share_bounds(float(np.sum(ends)), float(len(ends)), 0.95)
    return Interval(
        found.mean, min(found.low, (1.0 + low) / 2), max(found.high, (1.0 + high) / 2)
    )


def consecutive(issued: Sequence[IssuedForecast]) -> list[IssuedForecast]:
    """Return forecasts that were each made after the outcome of the one before.

    They are as many as possible, and their errors share no time. Of forecasts with the
    same outcome time, the shortest come first.
    """
    found, end = [], -inf
    for forecast in sorted(issued, key=lambda f: (f.told or 0.0, -f.made)):
        if forecast.made >= end - BRIEF:
            found.append(forecast)
            end = forecast.told or 0.0
    return found


def _mean_of(issued: Sequence[IssuedForecast]) -> Interval:
    mean, low, high = np.mean([(f.mean, f.low, f.high) for f in issued], axis=0)
    return Interval(float(mean), float(low), float(high))


def alarms_and_evidence(
    checks: Checks, issued: Sequence[IssuedForecast]
) -> tuple[Alarms, float]:
    """Return when and how audits contradicted the forecasts, and the evidence since.

    By the pages drawn; where there are none, by the errors of the forecasts.
    """
    found, moments = drift_of(checks) if checks.at.size else drift_of_scores(issued)
    ways = np.where(found.staler, "staler", "fresher").tolist()
    return tuple(zip(moments[found.alarms].tolist(), ways, strict=True)), found.evidence


def drift_of(checks: Checks) -> tuple[AuditDrift, Floats]:
    """Return when checks contradicted the forecasts, and the moments of checks."""
    moments, turn = np.unique(checks.at, return_inverse=True)
    found = drift(checks.believed, checks.fresh, turn, checks.group)
    return found, moments


def drift_of_scores(issued: Sequence[IssuedForecast]) -> tuple[AuditDrift, Floats]:
    """Return when outcomes contradicted the forecasts, and the moments of outcomes.

    If forecasts are right, an outcome lies above the lower bound with probability
    0.975, above the middle with 0.5 and above the upper bound with 0.025, whatever
    came before; the three are bet on together. Forecasts that overlap count once.
    """
    chain = consecutive(issued)
    scores = scores_of(chain)
    # An outcome equal to its forecast counts as above as often as below.
    tie = np.array([(f.draw or 0.0) < 0.5 for f in chain], dtype=np.bool_)
    above = (scores > 0) | ((scores == 0) & tie)
    fresh = np.stack([scores >= -SIDE, above, scores > SIDE], axis=1).ravel()
    believed = np.tile([0.975, 0.5, 0.025], len(chain))
    turn = np.repeat(np.arange(len(chain)), 3)
    moments = np.array([f.told or 0.0 for f in chain], dtype=np.float64)
    return drift(believed, fresh, turn, np.zeros_like(turn)), moments
