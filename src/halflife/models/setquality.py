"""How good a copy of a set source is later on: precision, recall, what went and came.

The default forecast is a weighted mean of several models and of the same models
corrected by what they missed so far; how much each counts, the corrections and the
bounds come from past forecasts at the same horizon, told by looks already made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.lifetimes import Collection, Lives
from halflife.models.census import METRICS, PRECISION, RECALL, Census, CopyOutcome
from halflife.models.conformal import DISPERSION
from halflife.models.experts import Experts
from halflife.models.pool import MEASURES, Horizon, Study
from halflife.models.quantile_mixture import Mixture

LOOKS = 1500  # how far back a forecast looks
YEAR = 365.0
HALVINGS = 4
LATE = 0.05  # of a horizon that looks may come late in the mean, to tell of it


class Band(NamedTuple):
    """A forecast with its bounds, one entry a moment.

    ``mean`` is what errs least on average in absolute terms: the middle of what is
    to be expected.
    """

    mean: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class SetForecast:
    """What is left of a copy, and what it lacks, at several moments.

    Attributes:
        at: The moments, in days.
        size: Objects in the copy.
        precision: The share of them that is still there.
        recall: The share of what is there that the copy has.
        gone: Objects of the copy that are no longer there.
        new: Objects there that the copy lacks.
        confidence: How often the truth is meant to lie within the bounds.
        status: ``ok``, or why there is little to go by.

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
    """Return what the copy of the last look by ``now`` is worth ``ahead`` days on.

    Only what was known at ``now`` is used. ``wanted`` picks some of the spells of the
    collection. With no look at all, or nothing held, there is nothing to be wrong:
    quality 1, bounds 0 and 1.
    """
    known = _recent((collection if wanted is None else collection.select(wanted)), now)
    at = now + np.asarray(ahead, np.float64)
    census = Census.of(known)
    if census.looks.size == 0:
        return _ignorant(at, 0, confidence, "no look yet")
    days = np.maximum(at - census.looks[-1], 0.0)
    if census.looks.size == 1:
        return _ignorant(at, int(census.size[-1]), confidence, "one look only")
    study = Study(census)
    if census.size[-1] == 0:
        blank = _ignorant(at, 0, confidence, "nothing held")
        return replace(blank, new=_arrivals(study.experts, days))
    return _told(_losses(study, days, confidence), at, census, confidence)


def recall_ahead(
    collection: Collection, now: float, ahead: Sequence[float], confidence: float = 0.95
) -> Band:
    """Return the recall that ``forecast`` has, in half the time."""
    census = Census.of(_recent(collection, now))
    at = now + np.asarray(ahead, np.float64)
    if census.looks.size < 2 or census.size[-1] == 0:
        return _ignorant(at, 0, confidence, "").recall
    days = np.maximum(at - census.looks[-1], 0.0)
    (loss,) = _losses(Study(census), days, confidence, [RECALL])
    return quality_band(loss, int(census.size[-1]))


def _losses(
    study: Study, days: Floats, confidence: float, measures: Sequence[int] = MEASURES
) -> Floats:
    """Return least, middle and most loss of precision and recall, and newcomers.

    Measure x (least, middle, most) x moment. Where a horizon has no past, the nearest
    that has one tells the correction and the bounds.
    """
    losses = np.zeros((len(measures), 3, days.size))
    told = np.array([_with_past(study, d) if d > 0 else 0.0 for d in days.tolist()])
    for one in np.unique(told[told > 0]).tolist():
        some = np.flatnonzero(told == one)
        asked = days[some], confidence, measures
        losses[:, :, some] = _by_horizon(study.at(one), *asked)
    return losses


def _loss(
    study: Study, days: float, confidence: float, measures: Sequence[int] = MEASURES
) -> Floats:
    """Return the same of one moment: measure x (least, middle, most)."""
    return _losses(study, np.array([days]), confidence, measures)[:, :, 0]


def _by_horizon(
    horizon: Horizon, days: Floats, confidence: float, measures: Sequence[int]
) -> Floats:
    """Return the same as the past of one horizon tells it."""
    last = horizon.study.census.looks.size - 1
    ready = [horizon.measure(m) for m in measures]
    guess = np.array([[one.scored.guess[last]] for one in ready])
    other = days != horizon.days
    ratio = np.ones((guess.size, days.size))
    if other.any():
        ratio[:, other] = _further(horizon, days[other])[list(measures)]
    looks = np.full(days.size, last)
    pairs = zip(ready, guess * ratio, strict=True)
    return np.array([one.bounds(looks, each, confidence) for one, each in pairs])


def _with_past(study: Study, days: float) -> float:
    """Return the nearest horizon whose past tells something.

    Horizons shorter than a step, or longer than a third of the history, have none. Nor
    have those just above a whole number of steps, as the next look comes too late to
    tell of them; of those between whole numbers it tells late. The whole number of
    steps below is taken then.
    """
    census = study.census
    told = max(census.step, min(days, float(np.ptp(census.looks)) / 3.0))
    below = max(np.floor(told / census.step + 1e-9), 1.0) * census.step
    past, other = (study.at(h).outcome for h in (told, float(below)))
    many = 2 * past.known.sum() >= other.known.sum()
    late = _mean_reach(past) / told > _mean_reach(other) / below + LATE
    return float(below) if late or not many else told


def _mean_reach(outcome: CopyOutcome) -> float:
    """Return how many days ahead the looks that told came, in the mean."""
    return float(outcome.ahead[outcome.known].mean()) if outcome.known.any() else 0.0


def _further(horizon: Horizon, days: Floats) -> Floats:
    """Return by how much the models think losses and newcomers differ elsewhere."""
    ratio: Floats = horizon.expected(days) / horizon.own
    return ratio


def _told(losses: Floats, at: Floats, census: Census, confidence: float) -> SetForecast:
    """Return the forecast behind losses: metric x (least, middle, most) x moment."""
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
    """Return the quality behind least, middle and most loss.

    Less than half an object kept is none.
    """
    high, mean, low = np.exp(-loss)
    return Band(mean, np.where(low * size <= 0.5, 0.0, low), high)


def quality_bounds(ready: Mixture, looks: Ints, confidence: float) -> Band:
    """Return the default forecast of a quality made at past looks, with bounds."""
    scored = ready.scored
    ends = ready.bounds(looks, scored.guess[looks], confidence)
    return quality_band(ends, scored.size[looks])


def quality_quantiles(ready: Mixture, looks: Ints, levels: Floats) -> Floats:
    """Return quantiles of the same forecasts of a quality, ascending: a row a look."""
    found = np.exp(-ready.quantiles(looks, 1.0 - levels[::-1])[:, ::-1])
    return np.where(found * ready.scored.size[looks, None] <= 0.5, 0.0, found)


def _ignorant(at: Floats, size: int, confidence: float, why: str) -> SetForecast:
    zero, one = np.zeros(at.size), np.ones(at.size)
    quality = Band(one, zero, one)
    gone = Band(zero, zero, size * one)
    return SetForecast(at, size, quality, quality, gone, gone, confidence, why)


def _arrivals(experts: Experts, days: Floats) -> Band:
    """Return how many will have come, at the mean pace so far, with wide bounds."""
    mean = experts.rates(np.inf)[1][-1] * days
    half = 3.0 * np.sqrt(mean + (DISPERSION * mean) ** 2)
    return Band(mean, np.maximum(mean - half, 0.0), mean + half)


def when(
    collection: Collection,
    now: float,
    metric: str,
    level: float,
    confidence: float = 0.95,
    *,
    doubt: float = 1.0,
) -> float | None:
    """Return the days from ``now`` until ``metric`` may fall below ``level``.

    The lower bound is one-sided: below it with chance 1 - confidence; with ``doubt`` it
    is so many times as far from what is expected. The time ahead
    is doubled until the bound is below, then halved in between, and at last the
    bound is taken as a line. None if it holds for a year.
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

    fine, late = (0.0, low(0.0)), (0.0, low(0.0))
    while late[1] >= level:
        if late[0] >= YEAR:
            return None
        fine, days = late, max(2.0 * late[0], census.step / 4.0)
        late = (days, low(days))
    for _ in range(HALVINGS if late[0] > fine[0] else 0):
        middle = (fine[0] + late[0]) / 2.0
        there = (middle, low(middle))
        fine, late = (there, late) if there[1] >= level else (fine, there)
    share = (fine[1] - level) / (fine[1] - late[1]) if fine[1] > late[1] else 0.0
    return max(0.0, fine[0] + share * (late[0] - fine[0]))


def versions(collection: Collection) -> Collection:
    """Return the collection of versions: an update ends one object and starts another.

    Its precision is the share of copies still there unchanged: freshness.
    """
    lives, looks = collection.lives, collection.looks
    order = np.lexsort((collection.changed_at, collection.changed))
    row = np.concatenate([np.arange(len(lives)), collection.changed[order]])
    since = np.concatenate([lives.first_seen, collection.changed_at[order]])
    order = np.lexsort((since, row))
    row, since = row[order], since[order]
    same = np.append(row[1:] == row[:-1], False) if row.size else np.zeros(0, bool)
    following = np.append(since[1:], np.inf)[: row.size]
    before = (
        looks[np.maximum(np.searchsorted(looks, following) - 1, 0)]
        if looks.size
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
    """Return what was known at ``now`` of the latest looks."""
    known = collection.until(now)
    if known.looks.size <= LOOKS:
        return known
    begin = known.looks[-LOOKS]
    return replace(
        known.select(known.lives.last_seen >= begin), looks=known.looks[-LOOKS:]
    )
