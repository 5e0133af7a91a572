"""How each source stands now, and what its quality will be."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from halflife.config import SourceConfig
from halflife.core.forecast import Forecast
from halflife.core.lifetimes import Collection
from halflife.core.wording import count
from halflife.engine import rhythms
from halflife.engine.appraisal import Known
from halflife.engine.bootstrap import Outlook
from halflife.engine.quality_forecast import SURE, form_quality, listing_quality
from halflife.kinds.form import value as form_value
from halflife.kinds.form.settings import FormConfig
from halflife.kinds.listing.settings import ListingConfig
from halflife.kinds.search import selection as search_selection
from halflife.kinds.search.settings import SearchConfig
from halflife.models.recall_curve import Knots
from halflife.stores import Store, summaries
from halflife.web import many
from halflife.web.many import Owned

AHEAD = np.concatenate([[0.0], np.geomspace(1.0 / 96.0, 30.0, 20)])  # days
SOON = 1.0  # days before a target is missed that a source is at risk
MEASURES = {"listing": "recall", "search": "summary"}
Look: TypeAlias = tuple[str, int, float, int]
WORST = ("held", "failing", "below target", "at risk", "unknown", "no target", "fine")
PENDING = "being worked out"  # the health of a source until its quality is known


@dataclass(frozen=True, slots=True)
class Memo:
    """What only another look changes, by source and look.

    Attributes:
        knots: Forecasts made since the look.
        known: What requests buy.

    """

    knots: dict[Look, Knots] = field(default_factory=dict)
    known: dict[Look, Known] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """One source as it stands now; times in days, rates a day.

    Attributes:
        name: The source.
        kind: Its kind.
        measure: What its quality is.
        health: One of ``WORST``, or ``PENDING``.
        why: What that rests on, in words.
        mean: Its quality now; nan if it is not known.
        low: The lower bound.
        high: The upper bound.
        target: What is asked for; nan if nothing is.
        sync_by: When the lower bound falls below it; inf if never, nan if unknown.
        rate: Changes (of pages), or arrivals (of sets), a day; nan if unknown.
        items: Pages or objects; nan if nobody has counted them yet.
        failing: Pages whose last look failed.
        last: The last good look; -inf if none.

    """

    name: str
    kind: str
    measure: str
    health: str = "unknown"
    why: str = ""
    mean: float = math.nan
    low: float = math.nan
    high: float = math.nan
    target: float = math.nan
    sync_by: float = math.nan
    rate: float = math.nan
    items: float = 0
    failing: int = 0
    last: float = -math.inf


def look_at(known: Collection) -> Look:
    """Return what tells the latest look at a set source from others."""
    looks = known.looks
    return known.name, looks.size, float(looks[-1:].sum()), len(known.lives)


def level(source: SourceConfig) -> float:
    """Return the quality that is asked for; nan if none is."""
    asked = [t.level for t in source.targets if t.measure != "age"]
    if not asked and isinstance(source, ListingConfig):
        asked = [source.recall]
    return max(asked, default=math.nan)


def paged(
    outlook: Outlook, owned: Owned, pages: Sequence[SourceConfig]
) -> tuple[list[tuple[Row, Forecast]], Forecast]:
    """Return the sources with pages, the freshness of each from now on, and of all."""
    view, evidence = owned.view, outlook.evidence
    casts, together = many.forecasts(owned, AHEAD)
    items = np.bincount(owned.code, minlength=owned.n)
    held = owned.total(view.held.astype(np.float64))
    rate = owned.total(np.where(view.held, view.rate, 0.0))
    failing = owned.total((evidence.failures > 0).astype(np.float64))
    last = np.full(owned.n, -np.inf)
    np.maximum.at(last, owned.code, evidence.last_at)
    found = []
    for i, source in enumerate(pages):
        row = Row(
            name=source.name,
            kind=source.kind,
            measure="freshness",
            target=level(source),
            rate=float(rate[i]) if held[i] else math.nan,
            items=int(items[i]),
            failing=int(failing[i]),
            last=float(last[i]),
        )
        at = view.now + AHEAD if held[i] else np.zeros(0)
        mean, low, high = (bound[i, : at.size] for bound in casts)
        cast = Forecast("freshness", at, mean, low, high)
        found.append((row, cast))
    return found, together


def alone(
    store: Store, source: SourceConfig, now: float, memo: Memo
) -> tuple[Row, Forecast | None]:
    """Return a source without pages, and its quality from now on."""
    row = Row(source.name, source.kind, measure_of(source), target=level(source))
    if isinstance(source, SearchConfig):
        return _searched(store, source, row, now)
    if source.name not in store.collections():
        return replace(row, why="never looked at"), None
    if isinstance(source, FormConfig):
        return _formed(store, source, row, now)
    known = store.collection(source.name)
    if not known.looks.size:
        held = int(known.in_copy().size)
        why = "it was never read whole" if held else "never looked at"
        return replace(row, items=held, why=why), None
    last = float(known.looks[-1])
    row = replace(row, items=int(known.in_copy().size), last=last)
    if known.looks.size < 2:
        return replace(row, why="looked at once: rates need a second look"), None
    knots = memo.knots.setdefault(look_at(known), {})
    since = known.looks[0]
    came = int(np.count_nonzero(known.lives.first_seen > since))
    rate = came / max(last - float(since), 1e-9)
    rhythm = rhythms.rhythm(store, source.name)
    cast = listing_quality(known, now, AHEAD, rhythm=rhythm, known=knots)
    return replace(row, rate=rate), cast


def _formed(
    store: Store, source: FormConfig, row: Row, now: float
) -> tuple[Row, Forecast | None]:
    copy = form_value.held(store, source)
    if copy is None:
        return replace(row, why="nothing of it was read yet"), None
    row = replace(row, items=len(copy.records), last=copy.last)
    rhythm = rhythms.rhythm(store, source.name)
    cast = form_quality(copy, source, now, SURE, AHEAD, rhythm=rhythm)
    if cast is None:
        why = f"its first crawl goes on; {count(row.items, 'record')} read so far"
        return replace(row, why=why), None
    return replace(row, rate=copy.arrival[0]), cast


def _searched(
    store: Store, source: SearchConfig, row: Row, now: float
) -> tuple[Row, Forecast | None]:
    kept = summaries.current(store, source.name)
    if kept is None:
        return replace(row, why="there is no summary yet"), None
    age = max(now - kept.at, 0.0) + AHEAD
    alive = search_selection.holding(kept, source, store).alive(age)
    row = replace(row, items=kept.summary.sampled, last=kept.at)
    return row, Forecast("summary", now + AHEAD, alive, alive, alive)


def measure_of(source: SourceConfig) -> str:
    """Return what the quality of a source is called."""
    if isinstance(source, FormConfig):
        return form_value.measure_of(source)
    return MEASURES.get(source.kind, "freshness")


def judged(row: Row, cast: Forecast | None, now: float, held: str) -> Row:
    """Return a source with its quality now, and how it is doing."""
    if cast is not None and cast.mean.size:
        below = None if math.isnan(row.target) else cast.first_below(row.target)
        row = replace(
            row,
            mean=float(cast.mean[0]),
            low=float(cast.low[0]),
            high=float(cast.high[0]),
            sync_by=math.inf if below is None else below,
        )
    health, why = _health(row, now, held)
    return replace(row, health=health, why=why)


def _health(row: Row, now: float, held: str) -> tuple[str, str]:
    """Return how a source is doing, and what that rests on."""
    if held:
        return "held", held
    if row.failing and row.failing >= row.items / 2:
        return "failing", f"the last look failed at {row.failing} of {row.items} pages"
    if math.isnan(row.mean):
        return "unknown", row.why or "no page was looked at yet"
    if math.isnan(row.target):
        return "no target", "nothing says how good it has to be"
    return _against_target(row, now)


def _against_target(row: Row, now: float) -> tuple[str, str]:
    if row.mean < row.target:
        return "below target", f"{row.mean:.3f} is below {row.target:g}"
    if row.sync_by - now <= SOON:
        return "at risk", "the lower bound falls below the target within a day"
    return "fine", "above its target, at 95 % confidence, for a day or more"
