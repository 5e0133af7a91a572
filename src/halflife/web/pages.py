"""Contents of the pages about all sources: overview, sources, plan, inbox."""

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
from halflife.engine.held_answers import PendingAnswer
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
PLACE = re.compile(r"\{[^{}]*\}")  # a placeholder in an address
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


def source_answer(row: SourceRow, now: float) -> Answer:
    """Return a source as pages show it and as JSON."""
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
    """Return why a source, or some of its items, cannot be fetched."""
    failure = row.failure
    if failure is None:
        return None
    return {
        "reason": failure.reason,
        "heading": failure.heading,
        "said": words.plain(failure.trouble),
        "since": words.date(failure.since),
        "for": now - failure.since,
        "tried": words.date(failure.tried),
        "items": failure.items,
    }


def addresses_of(settings: SourceConfig) -> list[str]:
    """Return the addresses of a source; that of a search with … for the query."""
    query_url = settings.query_url
    if "{" in query_url:
        return [words.plain(PLACE.sub("\u2026", query_url))]
    return [words.plain(url) for url in settings.addresses]


def overview(seen: Survey, _: Params) -> Answer:
    """Return the overview: quality, budget, health and attention."""
    rows = seen.rows
    healths = Counter(row.health for row in rows)
    urgent = attention.ordered(rows)
    budget = seen.config.budget
    listed = {row.name for row in urgent[:NEXT]}
    due = [r for r in rows if math.isfinite(r.sync_by) and r.name not in listed]
    measures = _measures(seen)
    pieces = attention.sentence(seen, measures)
    with bootstrap.reading(seen.config) as store:
        under_way = activity.take(store, bootstrap.clock())
    return {
        "at": words.date(seen.now),
        "sentence": attention.plain_text(pieces),
        "pieces": pieces,
        **under_way,
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
        "attention": [source_answer(row, seen.now) for row in urgent[:NEXT]],
        "more_attention": max(len(urgent) - NEXT, 0),
        "next": [
            source_answer(row, seen.now)
            for row in sorted(due, key=ORDERS["sync-by"])[:NEXT]
        ],
        "figures": _courses(seen),
        "sinks": [_sink(report) for report in seen.sinks],
    }


def _courses(seen: Survey) -> list[ChartFigure]:
    """Return the charts of the quality and of the requests over time."""
    drawn = []
    for cast in seen.together.values() or _average(seen):
        past = seen.past if cast.measure == "freshness" else None
        drawn.append(charts.course("fresh", past, cast, seen.now))
    return [*drawn, charts.requests_chart(seen.days, seen.now, seen.config.budget.pace)]


def _average(seen: Survey) -> list[Forecast]:
    """Return the mean forecast of the measure that the first sentence names."""
    first = _measures(seen)[:1]
    mine = [row for entry in first for row in _counted(seen, entry["measure"])]
    casts = [seen.casts[row.name].unfetched() for row in mine]
    if not casts:
        return []
    share = _shares(seen, mine)
    at = casts[0].at
    curves = [[np.interp(at, c.at, y) for y in (c.mean, c.low, c.high)] for c in casts]
    mean, low, high = np.tensordot(share, np.array(curves), axes=1)
    return [Forecast(casts[0].measure, at, mean, low, high)]


def _counted(seen: Survey, measure: str) -> list[SourceRow]:
    """Return the sources that count towards the mean of a measure."""
    mine = [r for r in seen.rows if r.measure == measure and not math.isnan(r.mean)]
    # Imported sources are never fetched, so they count only if there are no others.
    return [row for row in mine if not row.imported] or mine


def _shares(seen: Survey, rows: Sequence[SourceRow]) -> Floats:
    """Return the weight of each source as a share of all."""
    weight: Floats = np.array([seen.source(row.name).weight for row in rows])
    return np.asarray(weight / weight.sum())


def _sink(report: SinkReport) -> Answer:
    return {
        "name": report.settings.name,
        "behind": report.behind,
        "dead": report.dead,
        "trouble": report.trouble(),
        "advice": report.advice,
    }


def spending(seen: Survey) -> Answer:
    """Return the requests available now, when more are, and the budget's window."""
    spend, budget = seen.spend, seen.config.budget
    return {
        "now": spend.now,
        "sync_now": spend.drawn,
        "next": spend.wait,
        "next_at": words.date(seen.now + spend.wait),
        "window": {
            "requests": budget.requests,
            "per": budget.per,
            "spent": spend.spent,
            "left": spend.left,
            "refill": spend.refill,
            "refill_at": words.date(seen.now + spend.refill),
        },
    }


def _measures(seen: Survey) -> list[Answer]:
    """Return the mean quality by measure; sources count by their weights."""
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
        targeted = [r for r in mine if not math.isnan(r.target)]
        kept = sum(r.mean >= r.target for r in targeted)
        found.append(
            {
                "measure": measure,
                "quality": {"mean": mean, "low": low, "high": high},
                "sources": len(mine),
                "with_target": len(targeted),
                "on_target": kept,
            }
        )
    return found


def sources(seen: Survey, params: Params) -> Answer:
    """Return the sources, sorted and filtered by the parameters of the address."""
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
        "results": [source_answer(row, seen.now) for row in shown],
    }


def whole(text: str, otherwise: int) -> int:
    """Return a whole number from an address, or a default.

    >>> whole("7", 1), whole("-1; DROP", 1)
    (7, 1)
    """
    return int(text) if text.isdecimal() and len(text) < 10 else otherwise


def plan(seen: Survey, _: Params) -> Answer:
    """Return the plan of the next day: fetches, best first, and queries to forms."""
    config, pace = seen.config, seen.config.budget.pace
    with bootstrap.reading(config) as store:
        fetches = _fetches(seen, store, 1.0 / pace)
        queries = _queries(Reading(config, store, seen.now))
    # A source whose items are planned one by one is due as its items are.
    planned = {row["source"] for row in queries}
    planned |= {name for view in seen.panoramas.values() for name in view.standings}
    due = (r for r in seen.rows if r.sync_by - seen.now <= 1.0)
    soon = [
        source_answer(row, seen.now)
        for row in sorted(due, key=ORDERS["sync-by"])
        if row.name not in planned
    ]
    rows = lanes.lanes(seen.now, fetches, soon)
    return {
        "at": words.date(seen.now),
        "requests_a_day": pace,
        "results": fetches,
        "queries": queries,
        "sets": soon,
        "due": _due(seen, fetches),
        "lanes": rows[:PAGE],
        "more_lanes": max(len(rows) - PAGE, 0),
    }


def _due(seen: Survey, fetches: Sequence[Answer]) -> list[Answer]:
    """Return the sources that fall below their targets within a day, soonest first.

    Each with its next planned fetch: requests go where they gain most, which need not
    be where a target is missed first.
    """
    first: dict[str, str] = {}
    for fetch in fetches:
        first.setdefault(fetch["source"], fetch["at"])
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
    """Return the next queries to the first few sources that answer queries."""
    found: dict[str, list[Answer]] = {}
    for source in reading.config.source:
        if source.paused:
            continue
        if steps := kind_of(source).queries(reading, source, NEXT):
            found[source.name] = [query_answer(source.name, step) for step in steps]
        if len(found) == NEXT:
            break
    return [row for rows in found.values() for row in rows]


def query_answer(source: str, step: Step) -> Answer:
    """Return a planned query to a source as pages show it and as JSON."""
    return {
        "source": source,
        "query": words.plain(step.what),
        "requests": step.requests,
        "gain": step.gain,
        "why": words.plain(step.why),
    }


def _fetches(seen: Survey, store: Store, every: float) -> list[Answer]:
    """Return the next fetches; a request becomes available each ``every`` days.

    Of the failing items of a host one is tried, when the host may be fetched again;
    the others wait for its outcome.
    """
    ready = max(seen.spend.now - 1, 0)  # available already
    active = [step for step in seen.steps if not _is_paused(seen, step.source)]
    steps, others = _tried(active)
    found = []
    for k, step in enumerate(steps):
        wait = seen.spend.wait + max(k - ready, 0) * every
        host = store.host(_host(step.item))
        closed = 0.0 if host is None else closed_for(host, seen.now)
        if max(wait, closed) > 1.0:
            continue  # not within a day
        found.append(
            {
                "at": words.date(seen.now + max(wait, closed)),
                "source": step.source,
                "item": words.plain(step.item),
                "gain": step.gain,
                "why": words.plain(step.why),
                "fails": step.fails,
                "others": others.get((step.source, _host(step.item)), 0),
            }
        )
    return sorted(found, key=lambda row: str(row["at"]))


def _host(item: str) -> str:
    """Return the host of an item as the gate names it; empty if it has none."""
    try:
        return origin(parse_url(item))
    except UsageError:
        return ""


def _tried(
    steps: Sequence[Planned],
) -> tuple[list[Planned], Counter[tuple[str, str]]]:
    """Keep one step for each failing host; also return how many others wait for it."""
    kept, others, seen = list[Planned](), Counter[tuple[str, str]](), set[object]()
    for step in steps:
        place = step.source, _host(step.item)
        if step.fails and place in seen:
            others[place] += 1
            continue
        seen |= {place} if step.fails else set()
        kept.append(step)
    return kept, others


def _is_paused(seen: Survey, name: str) -> bool:
    row = seen.row(name)
    return row is not None and row.is_paused


def inbox(seen: Survey, _: Params) -> Answer:
    """Return the answers that wait for a decision, and the evidence."""
    with bootstrap.reading(seen.config) as store:
        held = [
            _held(answer, held_answers.evidence(store, seen.source(name), answer))
            # Some may be decided by now.
            for answer in held_answers.pending_answers(store)
            if seen.row(name := answer.source) is not None
        ]
    return {
        "at": words.date(seen.now),
        "results": held,
        "troubled": _of(seen, ("failing", "below target")),
        "unknown": _of(seen, ("unknown",)),
    }


def _held(answer: PendingAnswer, evidence: Answer) -> Answer:
    """Return an answer that waits for a decision, with its differences."""
    named = {k: v for k, v in evidence.items() if k.endswith("examples")}
    return {
        "run": answer.run,
        "source": answer.source,
        "why": words.plain(answer.why),
        "looked": words.date(answer.since),
        **evidence,
        **{k: [words.plain(key) for key in keys] for k, keys in named.items()},
    }


def _of(seen: Survey, healths: Sequence[str]) -> list[Answer]:
    found = [row for row in seen.rows if row.health in healths]
    return [source_answer(row, seen.now) for row in found[:PAGE]]
