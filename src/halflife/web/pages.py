"""What stands on the pages about all sources: overview, sources, plan, inbox."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from halflife.engine import bootstrap, held_answers
from halflife.engine.held_answers import Waiting
from halflife.kinds.protocol import Reading, Step
from halflife.kinds.registry import kind_of
from halflife.web import charts, words
from halflife.web.rows import PENDING, WORST, SourceRow
from halflife.web.survey import Survey

Answer: TypeAlias = dict[str, Any]
Params: TypeAlias = Mapping[str, str]

PAGE = 100  # rows at a time
NEXT = 10  # of a short list
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
RISKY = frozenset({"failing", "below target", "at risk"})


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
        "rate": row.rate,
        "items": row.items,
        "failing": row.failing,
        "last": row.last,
        "last_look": words.date(row.last),
        "sync_by": words.date(row.sync_by),
        "wait": row.sync_by - now,
        "bar": charts.bar(row.mean, row.low, row.high, row.target),
    }


def overview(seen: Survey, _: Params) -> Answer:
    """Return how it stands with everything."""
    rows = seen.rows
    healths = Counter(row.health for row in rows)
    risky = sorted((r for r in rows if r.health in RISKY), key=ORDERS["health"])
    budget = seen.config.budget
    due = [r for r in rows if math.isfinite(r.sync_by)]
    figures = [charts.spent(seen.days, seen.now, budget.pace)]
    for cast in seen.together.values():
        # Targets are of sources: all pages together have none.
        figures.insert(0, charts.decay("fresh", cast, seen.now, math.nan, math.inf))
    return {
        "at": words.date(seen.now),
        "measures": _measures(seen),
        "budget": {
            "requests": budget.requests,
            "per": budget.per,
            "spent": seen.spent,
            "left": max(budget.requests - seen.spent, 0),
            "next": seen.wait,
        },
        "health": {w: healths[w] for w in HEALTHS if w != PENDING or seen.working},
        "sources": len(rows),
        "waiting": len(seen.waiting),
        "risky": [told(row, seen.now) for row in risky[:NEXT]],
        "more_risky": max(len(risky) - NEXT, 0),
        "next": [
            told(row, seen.now) for row in sorted(due, key=ORDERS["sync-by"])[:NEXT]
        ],
        "figures": figures,
        "sinks": [
            {
                "name": one.settings.name,
                "behind": one.behind,
                "dead": one.dead,
                "trouble": one.trouble(),
                "advice": one.advice,
            }
            for one in seen.sinks
        ],
    }


def _measures(seen: Survey) -> list[Answer]:
    """Return the quality of each kind in all: sources count by their weights."""
    weight = {source.name: source.weight for source in seen.config.source}
    found = []
    for measure in ("freshness", "recall", "content", "summary"):
        mine = [r for r in seen.rows if r.measure == measure and not math.isnan(r.mean)]
        if not mine:
            continue
        share = np.array([weight[row.name] for row in mine])
        share = share / share.sum()
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
    looks = _fetches(seen, 1.0 / pace)
    with bootstrap.reading(config) as store:
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
    return {
        "at": words.date(seen.now),
        "requests_a_day": pace,
        "results": looks,
        "queries": queries,
        "sets": soon,
    }


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


def _fetches(seen: Survey, every: float) -> list[Answer]:
    """Return the items that are fetched next; a request is available every so often."""
    return [
        {
            "at": words.date(seen.now + seen.wait + k * every),
            "source": one.source,
            "item": words.plain(one.item),
            "gain": one.gain,
            "why": words.plain(one.why),
        }
        for k, one in enumerate(s for s in seen.steps if not _is_paused(seen, s.source))
    ]


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
    return {
        "run": one.run,
        "source": one.source,
        "why": words.plain(one.why),
        "looked": words.date(one.since),
        **evidence,
        "examples": [words.plain(key) for key in evidence["examples"]],
    }


def _of(seen: Survey, healths: Sequence[str]) -> list[Answer]:
    found = [row for row in seen.rows if row.health in healths]
    return [told(row, seen.now) for row in found[:PAGE]]
