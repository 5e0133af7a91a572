"""What audits found: how good the copy is, and whether to believe our forecasts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from halflife.arrays import Floats
from halflife.metrics.intervals import Interval
from halflife.models import calibration
from halflife.models.auditing import Drift, audited, drift, share_bounds
from halflife.models.calibration import Brier, Outcome, Reliability, standing
from halflife.stores import Store
from halflife.stores.forecasts import Checks, Forecasts, Issued
from halflife.stores.sqlite import SqliteStore

WINDOW = 30.0  # days that audits tell of
LATELY = 7.0  # days for which an alarm counts, and that trust goes by


@dataclass(frozen=True, slots=True)
class Judged:
    """What audits say of one source.

    Attributes:
        source: The source.
        measure: What its forecasts are of; empty if there were none.
        checked: Pages drawn that answered.
        silent: Pages drawn that did not.
        quality: How good the copy was at the audits, with its interval; None if no
            page was checked.
        believed: How good it was believed to be then, with the mean bounds.
        reliability: Believed chances beside what was found, page by page.
        brier: Their score.
        scored: Forecasts whose outcome is known.
        coverage: The share of them within their bounds.
        scores: How far off each of them was, in the order in which they were told.
        alarms: When audits disagreed with the belief for too long, and how.
        evidence: How strongly they do since, as a share of an alarm.
        trust: By how much bounds are widened.

    """

    source: str
    measure: str
    checked: int
    silent: int
    quality: Interval | None
    believed: Interval | None
    reliability: Reliability
    brier: Brier
    scored: int
    coverage: Interval
    scores: Floats
    alarms: tuple[tuple[float, str], ...]
    evidence: float
    trust: float

    def drifting(self, now: float) -> bool:
        """Say whether there was an alarm lately."""
        return any(at >= now - LATELY for at, _ in self.alarms)


def judge(store: Store, source: str, now: float) -> Judged:
    """Return what the audits of the last ``WINDOW`` days say of a source."""
    if not isinstance(store, SqliteStore):
        checks, told = _nothing(), []
    else:
        kept = Forecasts(store)
        checks = kept.checks(source, now - WINDOW)
        told = kept.settled(source, now - WINDOW)
    scores = scores_of(told)
    found, moments = drift_of(checks)
    ways = np.where(found.staler, "staler", "fresher").tolist()
    whens = moments[found.alarms].tolist()
    return Judged(
        source=source,
        measure=told[-1].measure if told else "",
        checked=checks.at.size,
        silent=checks.silent,
        quality=_quality(checks, told),
        believed=_believed(told),
        reliability=calibration.reliability(checks.believed, checks.fresh),
        brier=calibration.brier(checks.believed, checks.fresh),
        scored=len(told),
        coverage=calibration.coverage(scores),
        scores=scores,
        alarms=tuple(zip(whens, ways, strict=True)),
        evidence=found.evidence,
        trust=trusted(told, now),
    )


def factor(store: Store, sources: Iterable[str], now: float) -> float:
    """Return by how much bounds of these sources are to be widened, together."""
    if not isinstance(store, SqliteStore):
        return 1.0
    kept = Forecasts(store)
    told = [kept.settled(source, now - WINDOW) for source in sources]
    return max([1.0, *(trusted(some, now) for some in told)])


def trusted(told: Sequence[Issued], now: float) -> float:
    """Return the trust factor of a source: what the misses of its forecasts ask for.

    The largest of the quantile of recent errors (``calibration.trust``) and, for each
    horizon, of the gap between what was forecast and what all checks together found
    (``calibration.gap``), in the last ``LATELY`` and in the last ``WINDOW`` days.
    """
    factors = [calibration.trust(scores_of(told))] if told else [1.0]
    for days in (LATELY, WINDOW):
        some = [f for f in told if f.looks and (f.told or 0.0) >= now - days]
        for ahead in {one.ahead for one in some}:
            mine = [one for one in some if one.ahead == ahead]
            factors.append(calibration.gap(_mean_of(mine), _found(mine)))
    return max(factors)


def _found(told: Sequence[Issued]) -> Interval:
    """Return what the checks of several forecasts found together."""
    n = sum(one.looks or 0.0 for one in told)
    right = sum((one.looks or 0.0) * (one.found or 0.0) for one in told)
    return Interval(right / n, *share_bounds(right, n, 0.95))


def scores_of(told: Sequence[Issued]) -> Floats:
    """Return how far off forecasts were, in standard deviations."""
    return np.array([_score(one) for one in told], dtype=np.float64)


def _score(one: Issued) -> float:
    outcome = Outcome(one.found or 0.0, inf if one.looks is None else one.looks)
    bounds = Interval(one.mean, one.low, one.high)
    return standing(bounds, outcome, one.draw or 0.0, one.confidence)


def _quality(checks: Checks, told: Sequence[Issued]) -> Interval | None:
    """Return the quality found: of pages by those drawn, of sets at the looks."""
    if checks.at.size:
        return audited(checks.fresh, checks.chance, checks.weight)
    seen = [one.found for one in told if one.looks is None and one.found is not None]
    return _mean(np.array(seen)) if seen else None


def _mean(values: Floats) -> Interval:
    return Interval(float(values.mean()), float(values.min()), float(values.max()))


def _believed(told: Sequence[Issued]) -> Interval | None:
    """Return what was believed at the audits; of sets, what was forecast for them."""
    now = [one for one in told if one.ahead == 0.0] or told
    return _mean_of(now) if now else None


def _mean_of(told: Sequence[Issued]) -> Interval:
    mean, low, high = np.mean([(f.mean, f.low, f.high) for f in told], axis=0)
    return Interval(float(mean), float(low), float(high))


def drift_of(checks: Checks) -> tuple[Drift, Floats]:
    """Return when checks spoke against the belief, and the moments of their turns."""
    moments, turn = np.unique(checks.at, return_inverse=True)
    found = drift(checks.believed, checks.fresh, turn, checks.group)
    return found, moments


def _nothing() -> Checks:
    none = np.zeros(0)
    return Checks(none, none, none, none, none > 0, none.astype(np.intp), 0)
