"""What stands on the pages about all sources: overview, sources, plan, inbox."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from halflife.engine import bootstrap
from halflife.kinds.form import runner as form_runner
from halflife.kinds.form.settings import FormConfig
from halflife.kinds.listing import runner as listing_runner
from halflife.kinds.pages.guard import HeldSource
from halflife.queries.turn_result import Asked
from halflife.web import charts, words
from halflife.web.rows import PENDING, WORST, Row
from halflife.web.survey import MOST_PLANNED, Survey

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
SETS = frozenset({"listing", "search"})
RISKY = frozenset({"failing", "below target", "at risk"})


def _soonest(row: Row) -> float:
    return math.inf if math.isnan(row.sync_by) else row.sync_by


def told(row: Row, now: float) -> Answer:
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
    if seen.pages is not None:
        # Targets are of sources: all pages together have none.
        all_ = charts.decay("fresh", seen.pages, seen.now, math.nan, math.inf)
        figures.insert(0, all_)
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
        if measure == "freshness" and seen.pages is not None:
            first = (seen.pages.mean[0], seen.pages.low[0], seen.pages.high[0])
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
    """Return what the next day is for: looks, best first, and queries to forms."""
    config, pace = seen.config, seen.config.budget.pace
    most = min(max(math.ceil(pace), 1), MOST_PLANNED)
    looks = _looks(seen, most, 1.0 / pace)
    forms = FormConfig.among(config.source)
    with bootstrap.reading(config) as store:
        queries = [
            asked(source.name, step)
            for source in forms[:NEXT]
            for step in form_runner.plan(store, source, seen.now, NEXT)
        ]
    soon = [
        told(row, seen.now)
        for row in sorted(
            (r for r in seen.rows if r.kind in SETS and r.sync_by - seen.now <= 1.0),
            key=ORDERS["sync-by"],
        )
    ]
    return {
        "at": words.date(seen.now),
        "requests_a_day": pace,
        "results": looks,
        "queries": queries,
        "sets": soon,
    }


def asked(source: str, step: Asked) -> Answer:
    """Return what would be asked of a form."""
    return {
        "source": source,
        "query": words.plain(step.what),
        "requests": step.requests,
        "gain": step.gain,
        "why": words.plain(step.why),
    }


def _looks(seen: Survey, most: int, every: float) -> list[Answer]:
    """Return the next looks at pages; requests come in one after the other."""
    if seen.outlook is None:
        return []
    names, owned, plan = list(seen.paged), seen.owned, seen.steps[:most]
    return [
        {
            "at": words.date(seen.now + seen.wait + k * every),
            "source": names[int(owned.code[row])] if owned is not None else "",
            "item": words.plain(key),
            "gain": gain,
            "why": words.plain(plan.reason(row)),
        }
        for k, (key, row, gain) in enumerate(
            zip(plan.keys, plan.rows.tolist(), plan.gain.tolist(), strict=True)
        )
    ]


def inbox(seen: Survey, _: Params) -> Answer:
    """Return what waits for a person, and the evidence."""
    held = []
    with bootstrap.reading(seen.config) as store:
        for staged in seen.staged:
            row = seen.row(staged.source)
            if row is None:
                continue
            tracked = listing_runner.tracker(store, seen.source(staged.source))
            there, gone, gap = tracked.losses(staged.listing)
            lost = [key for key in tracked.held if key not in staged.listing.records]
            held.append(
                {
                    "run": staged.run,
                    "source": staged.source,
                    "why": words.plain(staged.why),
                    "looked": words.date(staged.listing.at),
                    "listed": len(staged.listing.records),
                    "held": there,
                    "missing": gone,
                    "gap": gap,
                    "examples": [words.plain(key) for key in lost[:5]],
                }
            )
    held += [_held_pages(one) for one in seen.held]
    return {
        "at": words.date(seen.now),
        "results": held,
        "troubled": _of(seen, ("failing", "below target")),
        "unknown": _of(seen, ("unknown",)),
    }


def _held_pages(one: HeldSource) -> Answer:
    """Return pages whose answers wait for a decision."""
    return {
        "run": one.run,
        "source": one.source,
        "why": words.plain(one.why),
        "looked": words.date(one.since),
        "pages": one.pages,
        "examples": [words.plain(key) for key in one.examples],
    }


def _of(seen: Survey, healths: Sequence[str]) -> list[Answer]:
    found = [row for row in seen.rows if row.health in healths]
    return [told(row, seen.now) for row in found[:PAGE]]
