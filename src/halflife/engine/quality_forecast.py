"""How good the copy of a source is now and in the next hours, whatever its kind.

For a listing, a form or a search: if nobody looks. For pages: if each is looked at as
often as it was, unless something keeps that from happening.
"""

from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from halflife.config import SourceConfig
from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.forecast import Forecast
from halflife.core.lifetimes import Collection
from halflife.core.view import View
from halflife.engine import rhythms
from halflife.engine.appraisal import Appraiser, sampled
from halflife.kinds.form import runner as form_runner, value as form_value
from halflife.kinds.form.turnover import turnover
from halflife.kinds.search import selection as search_selection
from halflife.models.quality import freshness_forecast
from halflife.models.recall_curve import Knots, recall
from halflife.models.rhythm import FLAT, Rhythm
from halflife.models.turnover import bounds
from halflife.stores import summaries

if TYPE_CHECKING:
    from halflife.queries.form_copy import Held

AHEAD = np.linspace(0.0, 0.5, 25)  # days; further ahead nobody has to be told
NOW = np.zeros(1)
SURE = 0.975  # the confidence of each bound where a target names none
OVERDUE = 1.5  # times the usual gap after which no look is expected any more
TURN = 900.0 / 86400.0  # days between two turns of the service, at most
RECENT = 6  # looks that tell how often there is one

_Mark: TypeAlias = tuple[
    str, int, float, float
]  # a source, its looks, the last, how sure
Casts: TypeAlias = dict[_Mark, Knots]


@dataclass(slots=True)
class Known:
    """What is known of a source, read once.

    Attributes:
        source: Its settings.
        collection: The history of a listing.
        copy: The copy of a form's database.
        looks: When a listing or a form was looked at lately, in days.

    """

    source: SourceConfig
    collection: Collection | None = None
    copy: "Held | None" = None
    looks: Floats = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(cls, appraiser: Appraiser, source: SourceConfig) -> "Known":
        """Return what the store knows of a source."""
        store, known = appraiser.store, cls(source)
        if source.has_pages or source.name not in store.collections():
            return known
        if source.kind == "form":
            known.copy = form_value.held(store, source)
            turns = {one.at for one in form_runner.tried(store, source)}
            known.looks = np.array(sorted(turns))[-RECENT:]
            return known
        known.collection = store.collection(source.name)
        known.looks = known.collection.looks[-RECENT:]
        return known

    def relief(self, now: float) -> float:
        """Return the days until a look comes, by habit; ``inf`` if none may."""
        if self.looks.size < 2:
            return inf
        gap = float(np.median(np.diff(self.looks)))
        age = max(now - float(self.looks[-1]), 0.0)
        return inf if age > OVERDUE * gap + TURN else max(gap - age, 0.0)


class Foresight:
    """Says how good copies are from now on.

    Args:
        appraiser: What is believed.
        casts: What was worked out before; it holds until the next look.

    """

    def __init__(self, appraiser: Appraiser, casts: Casts) -> None:
        self._appraiser, self._casts = appraiser, casts

    def quality(
        self, known: Known, sure: float | None, *, looks: bool, ahead: Floats = AHEAD
    ) -> Forecast | None:
        """Return the quality from now on; None if nothing is known of it.

        ``sure`` is the confidence of each bound; bounds are widened where the source is
        not trusted. With ``looks`` pages are looked at as often as they were.
        """
        cast = self._stated(known, sure or SURE, ahead, looks=looks)
        if cast is None:
            return None
        return self._appraiser.trust(known.source).forecast(cast)

    def now(self, known: Known) -> Forecast | None:
        """Return the quality at this moment with 95 % bounds; None if it is not known.

        Every surface states this number: it counts on no fetch that has not been made.
        """
        return self.quality(known, None, looks=False, ahead=NOW)

    def _stated(
        self, known: Known, sure: float, ahead: Floats, *, looks: bool
    ) -> Forecast | None:
        """Return the same as the models state it."""
        source = known.source
        if source.has_pages:
            return self._pages(source, sure, ahead, looks=looks)
        if source.kind == "search":
            return self._search(source, ahead)
        if source.kind == "form":
            return self._form(known, sure, ahead)
        return self._listing(known, sure, ahead)

    def _pages(
        self, source: SourceConfig, sure: float, ahead: Floats, *, looks: bool
    ) -> Forecast | None:
        view, of = self._appraiser.near(source).sampled
        rows = of[source.name]
        mine = np.zeros(len(view))
        mine[rows] = view.weight[rows]
        if not mine.any():
            return None
        view, both = replace(view, weight=mine), max(2.0 * sure - 1.0, 0.01)
        if not looks or ahead.size < 2:
            return freshness_forecast(view, ahead, confidence=both)
        gap = np.full(len(view), inf)
        gap[rows] = self.gaps(source)
        casts = [
            freshness_forecast(_later(view, gap, t), np.zeros(1), confidence=both)
            for t in ahead.tolist()
        ]
        mean, low, high = (
            np.concatenate([getattr(cast, name) for cast in casts])
            for name in ("mean", "low", "high")
        )
        return Forecast("freshness", view.now + ahead, mean, low, high, both)

    def gaps(self, source: SourceConfig) -> Floats:
        """Return the days between two looks at each page, by habit.

        ``inf`` where that is not known, or no look came when one should have.
        """
        view, of = self._appraiser.near(source).sampled
        rows, (evidence, mine) = of[source.name], self._appraiser.looked_at(source)
        gap = _gaps(evidence, sampled(mine))
        return np.where(view.age[rows] > OVERDUE * gap + TURN, inf, gap)

    def _search(self, source: SourceConfig, ahead: Floats) -> Forecast | None:
        """Return the chance that the summary holds; one summary has no bounds."""
        now, store = self._appraiser.now, self._appraiser.store
        kept = summaries.current(store, source.name)
        if kept is None:
            return None
        age = np.maximum(now - kept.at, 0.0) + ahead
        alive = search_selection.holding(kept, source, store).alive(age)
        return Forecast("summary", now + ahead, alive, alive, alive)

    def _form(self, known: Known, sure: float, ahead: Floats) -> Forecast | None:
        if known.copy is None:
            return None
        now, name = self._appraiser.now, known.source.name
        rhythm = rhythms.rhythm(self._appraiser.store, name)
        return form_quality(known.copy, known.source, now, sure, ahead, rhythm=rhythm)

    def _listing(self, known: Known, sure: float, ahead: Floats) -> Forecast | None:
        collection, now = known.collection, self._appraiser.now
        if collection is None or collection.looks.size < 2:
            return None
        name, both = known.source.name, max(2.0 * sure - 1.0, 0.01)
        rhythm = rhythms.rhythm(self._appraiser.store, name)
        knots = self._knots(collection, both)
        return listing_quality(collection, now, ahead, both, rhythm=rhythm, known=knots)

    def _knots(self, collection: Collection, both: float) -> Knots:
        """Return the forecasts made since the last look; older ones are given up."""
        looks = collection.looks
        mark = collection.name, int(looks.size), float(looks[-1]), both
        for old in [m for m in self._casts if m[0] == mark[0] and m[1:3] != mark[1:3]]:
            del self._casts[old]
        return self._casts.setdefault(mark, {})


def listing_quality(
    collection: Collection,
    now: float,
    ahead: Floats,
    confidence: float = 0.95,
    *,
    rhythm: Rhythm = FLAT,
    known: Knots | None = None,
) -> Forecast:
    """Return the recall of a listing's copy from now on, if nobody looks.

    Days since the last look count as the source's rhythm has it; ``known`` has the
    forecasts that were made since that look.
    """
    last = float(collection.looks[-1])
    at = max(now, last) + ahead
    ages = at - last if rhythm.flat else rhythm.between(np.array(last), at)
    band = recall(collection, ages, confidence, known)
    return Forecast("recall", now + ahead, *band, confidence)


def form_quality(
    copy: "Held",
    source: SourceConfig,
    now: float,
    sure: float,
    ahead: Floats,
    *,
    rhythm: Rhythm = FLAT,
) -> Forecast | None:
    """Return how good a copy is, each record as long after its last look as it is.

    Records change, go and come as fast as they were seen to, and as unevenly
    (``models.turnover``); each bound holds with the confidence ``sure``. Days count as
    the source's rhythm has it.

    None of a copy that was not read to its end yet: what it lacks nobody knows.
    """
    if not copy.begun:
        return None
    wish, turns = form_runner.wish(source), turnover(copy)
    since = now - form_ages(copy, source, now)
    age = rhythm.between(since[:, None], now + ahead)
    alive = np.ones(age.shape)
    if wish.purpose != "new":
        after, still, *_ = form_value.bounds(copy, replace(wish, purpose="known"), sure)
        alive = np.interp(age, np.append(0.0, after), np.append(1.0, still))
        alive *= np.exp(-turns.goes * age)
    mean, low, high = bounds(
        turns,
        len(copy.records),
        alive,
        age,
        confidence=max(2.0 * sure - 1.0, 0.01),
        comes=wish.purpose != "known",
    )
    measure = form_value.measure_of(source)
    there, best = form_value.found(copy, wish)  # of the records that are reported
    return Forecast(measure, now + ahead, mean * there, low * there, high * best, sure)


def form_ages(copy: "Held", source: SourceConfig, now: float) -> Floats:
    """Return the days since each record was seen; for new ones, since any look."""
    new = form_runner.wish(source).purpose == "new"
    seen = [copy.last] if new else list(copy.seen.values())
    return np.maximum(now - np.array(seen), 0.0)


def _later(view: View, gap: Floats, later: float) -> View:
    """Return what is believed later, if pages are looked at after their usual gaps."""
    passed = view.age + later
    again = np.isfinite(gap) & (passed >= gap)
    since = np.fmod(np.where(again, passed, 0.0), np.where(again, gap, 1.0))
    return replace(
        view,
        age=np.where(again, since, passed),
        exposure=np.where(again, since, view.exposure + later),
        doubt=np.where(again, 0.0, view.doubt),
    )


def _gaps(evidence: Evidence, rows: Ints) -> Floats:
    """Return the mean days between two looks at each page; ``inf`` if unknown."""
    total, many = _watched(evidence, rows), evidence.looks[rows] - 1
    gap = np.full(rows.size, inf)
    some = (many > 0) & (total > 0)
    gap[some] = total[some] / many[some]
    return gap


def _watched(evidence: Evidence, rows: Ints) -> Floats:
    """Return the days that pages were watched, from their first look to the last."""
    wanted = np.zeros(len(evidence), dtype=np.bool_)
    wanted[rows] = True
    gaps = evidence.gaps()
    some = wanted[gaps.item]
    length = gaps.length[some] * gaps.tally[some]
    total = np.bincount(gaps.item[some], length, len(evidence))
    return np.asarray(total[rows], dtype=np.float64)
