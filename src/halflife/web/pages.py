"""What stands on the pages about all sources: overview, sources, plan, inbox."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from halflife.config import SourceConfig
from halflife.core.arrays import Floats
from halflife.core.errors import UsageError
from halflife.core.forecast import Forecast
from halflife.engine import bootstrap, held_answers
from halflife.engine.deliveries import SinkReport
from halflife.engine.held_answers import Waiting
from halflife.kinds.page_view import Planned
from halflife.kinds.protocol import Reading, Step
from halflife.kinds.registry import kind_of
from halflife.net.addresses import origin, parse_url
from halflife.net.pacing import closed_for
from halflife.stores import Store
from halflife.web import activity, attention, charts, lanes, words
from halflife.web.charts import ChartFigure
from halflife.web.rows import PENDING, WORST, SourceRow
from halflife.web.survey import Survey

Answer: TypeAlias = dict[str, Any]
Params: TypeAlias = Mapping[str, str]

PAGE = 100  # rows at a time
NEXT = 10  # of a short list
PLACE = re.compile(r"\{[^{}]*\}")  # where a query is put into an address
HEALTHS = (*WORST, PENDING)
ORDERS = {
    "name": lambda row: row.name,
    "health": lambda row: (HEALTHS.index(row.health), row.name),
    "kind": lambda row: (row.kind, row.name),
    "quality": lambda row: (math.inf if math.isnan(row.mean) else row.mean, row.name),
    "rate": lambda row: (math.inf if math.isnan(row.rate) else -row.rate, row.name),
    "items": lambda row: (math.inf if math.isnan(row.items) else -row.items, row.name),
    "sync-by": lambda row: (_soonest(row), row.name),
    "last": lambda row: (row.last, row.name),
}


def _soonest(row: SourceRow) -> float:
    return math.inf if math.isnan(row.sync_by) else row.sync_by


def told(row: SourceRow, now: float) -> Answer:
    """Return a source as pages and programs are told of it."""
    figure = {"mean": row.mean, "low": row.low, "high": row.high}
    return {
        "source": row.name,
        "kind": row.kind,
        "health": row.health,
        "why": words.plain(row.why),
        "measure": row.measure,
        "quality": None if math.isnan(row.mean) else figure,
        "target": row.target,
        "target_is_default": row.assumed,
        "rate": row.rate,
        "items": row.items,
        "failing": row.failing,
        "failure": _failure(row, now),
        "imported": row.imported,
        "last": row.last,
        "last_look": words.date(row.last),
        "sync_by": words.date(row.sync_by),
        "wait": row.sync_by - now,
        "bar": charts.bar(row.mean, row.low, row.high, row.target),
    }


def _failure(row: SourceRow, now: float) -> Answer | None:
    """Return why a source, or some of it, cannot be fetched."""
    one = row.failure
    if one is None:
        return None
    return {
        "reason": one.reason,
        "heading": one.heading,
        "said": words.plain(one.said),
        "since": words.date(one.since),
        "for": now - one.since,
        "tried": words.date(one.tried),
        "items": one.items,
    }


def addresses_of(settings: SourceConfig) -> list[str]:
    """Return the addresses of a source; of a search with a gap where queries stand."""
    asked_at = settings.query_url
    if "{" in asked_at:
        return [words.plain(PLACE.sub("\u2026", asked_at))]
    return [words.plain(url) for url in settings.addresses]


def overview(seen: Survey, _: Params) -> Answer:
    """Return how it stands with everything."""
    rows = seen.rows
    healths = Counter(row.health for row in rows)
    urgent = attention.ordered(rows)
    budget = seen.config.budget
    listed = {row.name for row in urgent[:NEXT]}
    due = [r for r in rows if math.isfinite(r.sync_by) and r.name not in listed]
    measures = _measures(seen)
    pieces = attention.sentence(seen, measures)
    with bootstrap.reading(seen.config) as store:
        goes_on = activity.take(store, bootstrap.clock())
    return {
        "at": words.date(seen.now),
        "sentence": attention.plain_text(pieces),
        "pieces": pieces,
        **goes_on,
        "measures": measures,
        "budget": {
            "requests": budget.requests,
            "per": budget.per,
            "spent": seen.spend.spent,
            "left": seen.spend.left,
            "next": seen.spend.wait,
        },
        "spend": spending(seen),
        "health": {w: healths[w] for w in HEALTHS if w != PENDING or seen.working},
        "sources": len(rows),
        "waiting": len(seen.waiting),
        "attention": [told(row, seen.now) for row in urgent[:NEXT]],
        "more_attention": max(len(urgent) - NEXT, 0),
        "next": [
            told(row, seen.now) for row in sorted(due, key=ORDERS["sync-by"])[:NEXT]
        ],
        "figures": _courses(seen),
        "sinks": [_sink(one) for one in seen.sinks],
    }


def _courses(seen: Survey) -> list[ChartFigure]:
    """Return the quality over time, and what was spent."""
    drawn = []
    for cast in seen.together.values() or _average(seen):
        past = seen.past if cast.measure == "freshness" else None
        drawn.append(charts.course("fresh", past, cast, seen.now))
    return [*drawn, charts.spent(seen.days, seen.now, seen.config.budget.pace)]


def _average(seen: Survey) -> list[Forecast]:
    """Return the mean quality from now on of what the first sentence is about."""
    first = _measures(seen)[:1]
    mine = [row for one in first for row in _counted(seen, one["measure"])]
    casts = [seen.casts[row.name].unfetched() for row in mine]
    if not casts:
        return []
    share = _shares(seen, mine)
    at = casts[0].at
    curves = [[np.interp(at, c.at, y) for y in (c.mean, c.low, c.high)] for c in casts]
    mean, low, high = np.tensordot(share, np.array(curves), axes=1)
    return [Forecast(casts[0].measure, at, mean, low, high)]


def _counted(seen: Survey, measure: str) -> list[SourceRow]:
    """Return the sources that count for a measure in all."""
    mine = [r for r in seen.rows if r.measure == measure and not math.isnan(r.mean)]
    # What nothing fetches says nothing of how well the rest is kept.
    return [row for row in mine if not row.imported] or mine


def _shares(seen: Survey, rows: Sequence[SourceRow]) -> Floats:
    """Return what each source counts for, by its weight."""
    weight: Floats = np.array([seen.source(row.name).weight for row in rows])
    return np.asarray(weight / weight.sum())


def _sink(one: SinkReport) -> Answer:
    return {
        "name": one.settings.name,
        "behind": one.behind,
        "dead": one.dead,
        "trouble": one.trouble(),
        "advice": one.advice,
    }


def spending(seen: Survey) -> Answer:
    """Return what can be spent now, when more is available, and what is allowed."""
    one, budget = seen.spend, seen.config.budget
    return {
        "now": one.now,
        "sync_now": one.drawn,
        "next": one.wait,
        "next_at": words.date(seen.now + one.wait),
        "window": {
            "requests": budget.requests,
            "per": budget.per,
            "spent": one.spent,
            "left": one.left,
            "refill": one.refill,
            "refill_at": words.date(seen.now + one.refill),
        },
    }


def _measures(seen: Survey) -> list[Answer]:
    """Return the quality of each kind in all: sources count by their weights."""
    found = []
    for measure in ("freshness", "recall", "content", "summary"):
        mine = _counted(seen, measure)
        if not mine:
            continue
        share = _shares(seen, mine)
        parts = np.array([(r.mean, r.low, r.high) for r in mine])
        mean, low, high = (share @ parts).tolist()
        if cast := seen.together.get(measure):
            first = cast.mean[0], cast.low[0], cast.high[0]
            mean, low, high = (float(value) for value in first)
        asked = [r for r in mine if not math.isnan(r.target)]
        kept = sum(r.mean >= r.target for r in asked)
        found.append(
            {
                "measure": measure,
                "quality": {"mean": mean, "low": low, "high": high},
                "sources": len(mine),
                "with_target": len(asked),
                "on_target": kept,
            }
        )
    return found


def sources(seen: Survey, params: Params) -> Answer:
    """Return all sources, sorted and filtered as the address says."""
    order = params.get("sort", "health")
    order = order if order in ORDERS else "health"
    down = params.get("order") == "desc"
    health, kind = params.get("health", ""), params.get("kind", "")
    part = params.get("q", "").strip().lower()
    found = [
        row
        for row in seen.rows
        if (not health or row.health == health)
        and (not kind or row.kind == kind)
        and part in row.name.lower()
    ]
    found.sort(key=ORDERS[order], reverse=down)
    pages = max(1, -(-len(found) // PAGE))
    page = min(max(whole(params.get("page", ""), 1), 1), pages)
    shown = found[(page - 1) * PAGE : page * PAGE]
    return {
        "at": words.date(seen.now),
        "sort": order,
        "order": "desc" if down else "asc",
        "health": health,
        "kind": kind,
        "q": part,
        "kinds": sorted({row.kind for row in seen.rows}),
        "healths": [w for w in HEALTHS if any(r.health == w for r in seen.rows)],
        "all": len(seen.rows),
        "found": len(found),
        "page": page,
        "pages": pages,
        "results": [told(row, seen.now) for row in shown],
    }


def whole(text: str, otherwise: int) -> int:
    """Return a whole number out of an address, or another.

    >>> whole("7", 1), whole("-1; DROP", 1)
    (7, 1)
    """
    return int(text) if text.isdecimal() and len(text) < 10 else otherwise


def plan(seen: Survey, _: Params) -> Answer:
    """Return what the next day is for: fetches, best first, and queries to forms."""
    config, pace = seen.config, seen.config.budget.pace
    with bootstrap.reading(config) as store:
        looks = _fetches(seen, store, 1.0 / pace)
        queries = _queries(Reading(config, store, seen.now))
    # Of a source whose items are planned one by one, the plan says when each is due.
    planned = {row["source"] for row in queries}
    planned |= {name for one in seen.panoramas.values() for name in one.standings}
    due = (r for r in seen.rows if r.sync_by - seen.now <= 1.0)
    soon = [
        told(row, seen.now)
        for row in sorted(due, key=ORDERS["sync-by"])
        if row.name not in planned
    ]
    found = lanes.lanes(seen.now, looks, soon)
    return {
        "at": words.date(seen.now),
        "requests_a_day": pace,
        "results": looks,
        "queries": queries,
        "sets": soon,
        "due": _due(seen, looks),
        "lanes": found[:PAGE],
        "more_lanes": max(len(found) - PAGE, 0),
    }


def _due(seen: Survey, looks: Sequence[Answer]) -> list[Answer]:
    """Return the sources that fall below their targets within a day, soonest first.

    And when the plan comes to each: requests go where they gain most, which need not
    be where a target is missed first.
    """
    first: dict[str, str] = {}
    for one in looks:
        first.setdefault(one["source"], one["at"])
    due = (r for r in seen.rows if r.sync_by - seen.now <= 1.0)
    return [
        {
            "source": row.name,
            "sync_by": words.date(row.sync_by),
            "wait": row.sync_by - seen.now,
            "health": row.health,
            "why": words.plain(row.why),
            "planned_at": None if row.health == "held" else first.get(row.name),
        }
        for row in sorted(due, key=ORDERS["sync-by"])[:PAGE]
    ]


def _queries(reading: Reading) -> list[Answer]:
    """Return the next queries to some sources that are asked query by query."""
    found: dict[str, list[Answer]] = {}
    for source in reading.config.source:
        if source.paused:
            continue
        if steps := kind_of(source).queries(reading, source, NEXT):
            found[source.name] = [asked(source.name, step) for step in steps]
        if len(found) == NEXT:
            break
    return [row for rows in found.values() for row in rows]


def asked(source: str, step: Step) -> Answer:
    """Return a query that would be asked of a source."""
    return {
        "source": source,
        "query": words.plain(step.what),
        "requests": step.requests,
        "gain": step.gain,
        "why": words.plain(step.why),
    }


def _fetches(seen: Survey, store: Store, every: float) -> list[Answer]:
    """Return the items that are fetched next; a request is available every so often.

    Of the items of a host that fail one is tried, when the host may be asked again;
    the others wait for what comes of that.
    """
    ready = max(seen.spend.now - 1, 0)  # have come in already
    going = [one for one in seen.steps if not _is_paused(seen, one.source)]
    steps, others = _tried(going)
    found = []
    for k, one in enumerate(steps):
        wait = seen.spend.wait + max(k - ready, 0) * every
        host = store.host(_host(one.item))
        closed = 0.0 if host is None else closed_for(host, seen.now)
        if max(wait, closed) > 1.0:
            continue  # not within a day
        found.append(
            {
                "at": words.date(seen.now + max(wait, closed)),
                "source": one.source,
                "item": words.plain(one.item),
                "gain": one.gain,
                "why": words.plain(one.why),
                "fails": one.fails,
                "others": others.get((one.source, _host(one.item)), 0),
            }
        )
    return sorted(found, key=lambda row: str(row["at"]))


def _host(item: str) -> str:
    """Return the host that an item is asked for at, as the gate names it."""
    try:
        return origin(parse_url(item))
    except UsageError:
        return ""


def _tried(
    steps: Sequence[Planned],
) -> tuple[list[Planned], Counter[tuple[str, str]]]:
    """Return steps with one for each host that fails, and how many wait for that."""
    kept, others, seen = list[Planned](), Counter[tuple[str, str]](), set[object]()
    for one in steps:
        place = one.source, _host(one.item)
        if one.fails and place in seen:
            others[place] += 1
            continue
        seen |= {place} if one.fails else set()
        kept.append(one)
    return kept, others


def _is_paused(seen: Survey, name: str) -> bool:
    row = seen.row(name)
    return row is not None and row.is_paused


def inbox(seen: Survey, _: Params) -> Answer:
    """Return what waits for a person, and the evidence."""
    with bootstrap.reading(seen.config) as store:
        held = [
            _held(one, held_answers.evidence(store, seen.source(one.source), one))
            for one in held_answers.waiting(store)  # some may be decided by now
            if seen.row(one.source) is not None
        ]
    return {
        "at": words.date(seen.now),
        "results": held,
        "troubled": _of(seen, ("failing", "below target")),
        "unknown": _of(seen, ("unknown",)),
    }


def _held(one: Waiting, evidence: Answer) -> Answer:
    """Return an answer that waits for a decision, with what it differs in."""
    named = {k: v for k, v in evidence.items() if k.endswith("examples")}
    return {
        "run": one.run,
        "source": one.source,
        "why": words.plain(one.why),
        "looked": words.date(one.since),
        **evidence,
        **{k: [words.plain(key) for key in keys] for k, keys in named.items()},
    }


def _of(seen: Survey, healths: Sequence[str]) -> list[Answer]:
    found = [row for row in seen.rows if row.health in healths]
    return [told(row, seen.now) for row in found[:PAGE]]
