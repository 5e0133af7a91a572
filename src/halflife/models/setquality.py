"""Forecasts of a set source's copy: precision, recall, gone and new objects.

The default forecast is a weighted mean of several models and of the same models
corrected by their past bias; the weights, the corrections and the bounds come from past
forecasts at the same horizon whose outcome is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.lifetimes import Collection, Lives
from halflife.models.census import METRICS, PRECISION, RECALL, Census, CopyOutcome
from halflife.models.conformal import DISPERSION
from halflife.models.experts import Experts
from halflife.models.pool import MEASURES, Horizon, Study
from halflife.models.quantile_mixture import Mixture

LOOKS = 1500  # the latest snapshots that a forecast uses
YEAR = 365.0
HALVINGS = 4
LATE = 0.05  # largest mean delay of snapshots at a horizon, as a share of it


class Band(NamedTuple):
    """A forecast with its bounds, one entry for each moment.

    ``mean`` has the least mean absolute error: it is the median.
    """

    mean: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class SetForecast:
    """The forecast of a copy's quality at several moments.

    Attributes:
        at: The moments, in days.
        size: Objects in the copy.
        precision: The share of its objects that are still present.
        recall: The share of the objects present that the copy has.
        gone: Objects of the copy that are no longer present.
        new: Objects present that the copy lacks.
        confidence: The probability that the truth lies within the bounds.
        status: ``ok``, or why the history is insufficient.

    """

    at: Floats
    size: int
    precision: Band
    recall: Band
    gone: Band
    new: Band
    confidence: float
    status: str


def forecast(
    collection: Collection,
    now: float,
    ahead: Sequence[float],
    confidence: float = 0.95,
    *,
    wanted: Bools | None = None,
) -> SetForecast:
    """Return the quality of the last snapshot's copy by ``now``, ``ahead`` days on.

    Only data known at ``now`` are used. ``wanted`` selects spells of the collection.
    Without any snapshot, or with nothing held, nothing can be wrong: quality 1, bounds
    0 and 1.
    """
    known = _recent((collection if wanted is None else collection.select(wanted)), now)
    at = now + np.asarray(ahead, np.float64)
    census = Census.of(known)
    if census.looks.size == 0:
        return _no_forecast(at, 0, confidence, "no look yet")
    days = np.maximum(at - census.looks[-1], 0.0)
    if census.looks.size == 1:
        return _no_forecast(at, int(census.size[-1]), confidence, "one look only")
    study = Study(census)
    if census.size[-1] == 0:
        blank = _no_forecast(at, 0, confidence, "nothing held")
        return replace(blank, new=_arrivals(study.experts, days))
    return _set_forecast(_losses(study, days, confidence), at, census, confidence)


def recall_ahead(
    collection: Collection, now: float, ahead: Sequence[float], confidence: float = 0.95
) -> Band:
    """Return the recall of ``forecast``, in half the time."""
    census = Census.of(_recent(collection, now))
    at = now + np.asarray(ahead, np.float64)
    if census.looks.size < 2 or census.size[-1] == 0:
        return _no_forecast(at, 0, confidence, "").recall
    days = np.maximum(at - census.looks[-1], 0.0)
    (loss,) = _losses(_studied(census), days, confidence, [RECALL])
    return quality_band(loss, int(census.size[-1]))


@dataclass(frozen=True)
class _Mark:
    """What a study goes by."""

    parts: tuple[bytes, ...]
    census: Census = field(compare=False)


def _studied(census: Census) -> Study:
    """Return the study of a census; those of the last few censuses are kept.

    Between two fetches a source is asked again and again, of other moments and
    with other confidences. What a study has worked out depends on the census alone.
    """
    parts = census.looks, census.start, census.stop, census.spell, census.again
    return _latest(_Mark(tuple(part.tobytes() for part in parts), census))


@lru_cache(maxsize=8)
def _latest(mark: _Mark) -> Study:
    return Study(mark.census)


def _losses(
    study: Study, days: Floats, confidence: float, measures: Sequence[int] = MEASURES
) -> Floats:
    """Return lower bound, median and upper bound of losses and newcomers.

    Measure x (low, median, high) x moment. Where a horizon has no past, the nearest one
    that has provides the correction and the bounds.
    """
    losses = np.zeros((len(measures), 3, days.size))
    horizons = np.array([_with_past(study, d) if d > 0 else 0.0 for d in days.tolist()])
    for horizon in np.unique(horizons[horizons > 0]).tolist():
        rows = np.flatnonzero(horizons == horizon)
        arguments = days[rows], confidence, measures
        losses[:, :, rows] = _by_horizon(study.at(horizon), *arguments)
    return losses


def _loss(
    study: Study, days: float, confidence: float, measures: Sequence[int] = MEASURES
) -> Floats:
    """Return the same for one moment: measure x (low, median, high)."""
    return _losses(study, np.array([days]), confidence, measures)[:, :, 0]


def _by_horizon(
    horizon: Horizon, days: Floats, confidence: float, measures: Sequence[int]
) -> Floats:
    """Return the same from the past of one horizon."""
    last = horizon.study.census.looks.size - 1
    ready = [horizon.measure(m) for m in measures]
    guess = np.array([[mixture.scored.guess[last]] for mixture in ready])
    differs = days != horizon.days
    ratio = np.ones((guess.size, days.size))
    if differs.any():
        ratio[:, differs] = _ratio_to(horizon, days[differs])[list(measures)]
    at = np.full(days.size, last)
    pairs = zip(ready, guess * ratio, strict=True)
    return np.array([mixture.bounds(at, loss, confidence) for mixture, loss in pairs])


def _with_past(study: Study, days: float) -> float:
    """Return the nearest horizon with past forecasts.

    Horizons shorter than a step, or longer than a third of the history, have none. Nor
    have those just above a whole number of steps, as the next snapshot comes too late
    for them; for those between whole numbers it comes late. Then the whole number of
    steps below is used.
    """
    census = study.census
    horizon = max(census.step, min(days, float(np.ptp(census.looks)) / 3.0))
    below = max(np.floor(horizon / census.step + 1e-9), 1.0) * census.step
    past, past_below = (study.at(h).outcome for h in (horizon, float(below)))
    is_frequent = 2 * past.known.sum() >= past_below.known.sum()
    is_late = _mean_reach(past) / horizon > _mean_reach(past_below) / below + LATE
    return float(below) if is_late or not is_frequent else horizon


def _mean_reach(outcome: CopyOutcome) -> float:
    """Return the mean days ahead of the snapshots that showed the outcomes."""
    return float(outcome.ahead[outcome.known].mean()) if outcome.known.any() else 0.0


def _ratio_to(horizon: Horizon, days: Floats) -> Floats:
    """Return the expected ratio of losses and newcomers to those at the horizon."""
    ratio: Floats = horizon.expected(days) / horizon.own
    return ratio


def _set_forecast(
    losses: Floats, at: Floats, census: Census, confidence: float
) -> SetForecast:
    """Return the forecast for losses: metric x (low, median, high) x moment."""
    size = int(census.size[-1])
    order = np.argsort(at, kind="stable")
    losses[PRECISION][:, order] = np.maximum.accumulate(
        losses[PRECISION][:, order], axis=1
    )
    precision, recall = (quality_band(losses[m], size) for m in (PRECISION, RECALL))
    fewest, middle, most = size * losses[-1]
    new = Band(middle, fewest, most)
    gone = Band(
        *(size * (1.0 - np.stack([precision.mean, precision.high, precision.low])))
    )
    cycles = np.ptp(census.looks) / census.step
    status = "ok" if cycles >= 20 else "short history: wide bounds"
    return SetForecast(at, size, precision, recall, gone, new, confidence, status)


def quality_band(loss: Floats, size: Floats | int) -> Band:
    """Return the quality for the lower bound, median and upper bound of the loss.

    Less than half an object kept is none.
    """
    high, mean, low = np.exp(-loss)
    return Band(mean, np.where(low * size <= 0.5, 0.0, low), high)


def quality_bounds(ready: Mixture, at: Ints, confidence: float) -> Band:
    """Return the default forecast of a quality from past snapshots, with bounds."""
    scored = ready.scored
    ends = ready.bounds(at, scored.guess[at], confidence)
    return quality_band(ends, scored.size[at])


def quality_quantiles(ready: Mixture, at: Ints, levels: Floats) -> Floats:
    """Return quantiles of the same forecasts, ascending: a row for each snapshot."""
    quantiles = np.exp(-ready.quantiles(at, 1.0 - levels[::-1])[:, ::-1])
    return np.where(quantiles * ready.scored.size[at, None] <= 0.5, 0.0, quantiles)


def _no_forecast(at: Floats, size: int, confidence: float, why: str) -> SetForecast:
    zero, one = np.zeros(at.size), np.ones(at.size)
    quality = Band(one, zero, one)
    gone = Band(zero, zero, size * one)
    return SetForecast(at, size, quality, quality, gone, gone, confidence, why)


def _arrivals(experts: Experts, days: Floats) -> Band:
    """Return the expected arrivals at the mean rate so far, with wide bounds."""
    mean = experts.rates(np.inf)[1][-1] * days
    half = 3.0 * np.sqrt(mean + (DISPERSION * mean) ** 2)
    return Band(mean, np.maximum(mean - half, 0.0), mean + half)


def days_until_below(
    collection: Collection,
    now: float,
    metric: str,
    level: float,
    confidence: float = 0.95,
    *,
    doubt: float = 1.0,
) -> float | None:
    """Return the days from ``now`` until ``metric`` may fall below ``level``.

    The lower bound is one-sided: below it with probability 1 - confidence; ``doubt``
    multiplies its distance from the mean. The time ahead is doubled until the bound is
    below, then bisected, and finally interpolated linearly. None if it holds for a
    year.
    """
    census = Census.of(_recent(collection, now))
    if census.looks.size < 2 or census.size[-1] == 0:
        return None
    study, passed = Study(census), now - float(census.looks[-1])
    row, sided = METRICS.index(metric), max(2.0 * confidence - 1.0, 0.01)

    def low(days: float) -> float:
        ((_, middle, most),) = _loss(study, passed + days, sided, [row])
        mean, low = np.exp(-middle), np.exp(-most)
        return float(max(mean - doubt * (mean - low), 0.0))

    holding, failing = (0.0, low(0.0)), (0.0, low(0.0))
    while failing[1] >= level:
        if failing[0] >= YEAR:
            return None
        holding, days = failing, max(2.0 * failing[0], census.step / 4.0)
        failing = (days, low(days))
    for _ in range(HALVINGS if failing[0] > holding[0] else 0):
        middle = (holding[0] + failing[0]) / 2.0
        tried = (middle, low(middle))
        holding, failing = (tried, failing) if tried[1] >= level else (holding, tried)
    share = (
        (holding[1] - level) / (holding[1] - failing[1])
        if holding[1] > failing[1]
        else 0.0
    )
    return max(0.0, holding[0] + share * (failing[0] - holding[0]))


def versions(collection: Collection) -> Collection:
    """Return the collection of versions: an update ends one object and starts another.

    Its precision is the share of copies still present unchanged: freshness.
    """
    lives, fetched = collection.lives, collection.looks
    order = np.lexsort((collection.changed_at, collection.changed))
    row = np.concatenate([np.arange(len(lives)), collection.changed[order]])
    since = np.concatenate([lives.first_seen, collection.changed_at[order]])
    order = np.lexsort((since, row))
    row, since = row[order], since[order]
    same = np.append(row[1:] == row[:-1], False) if row.size else np.zeros(0, bool)
    following = np.append(since[1:], np.inf)[: row.size]
    before = (
        fetched[np.maximum(np.searchsorted(fetched, following) - 1, 0)]
        if fetched.size
        else since
    )
    parts = Lives(
        keys=tuple(map(str, range(row.size))),
        absent_before=np.where(
            np.append(True, ~same[:-1]), lives.absent_before[row], since
        ),
        first_seen=since,
        last_seen=np.where(same, before, lives.last_seen[row]),
        gone_by=np.where(same, following, lives.gone_by[row]),
        attributes={},
    )
    nothing = np.empty(0)
    return replace(
        collection, lives=parts, changed=nothing.astype(np.intp), changed_at=nothing
    )


def _recent(collection: Collection, now: float) -> Collection:
    """Return the collection of the latest snapshots, as known at ``now``."""
    known = collection.until(now)
    if known.looks.size <= LOOKS:
        return known
    begin = known.looks[-LOOKS]
    return replace(
        known.select(known.lives.last_seen >= begin), looks=known.looks[-LOOKS:]
    )
