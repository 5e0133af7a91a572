"""Contents of the page of one source."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from halflife.config import SourceConfig
from halflife.core.errors import UsageError
from halflife.engine import bootstrap, failures
from halflife.kinds.page_view import (
    PageRequest,
    PageView,
    QueryLog,
    RunFailure,
    TableColumn,
)
from halflife.kinds.protocol import Description, Reading
from halflife.kinds.registry import kind_of
from halflife.models.hindsight import PastFreshness
from halflife.stores import Store, fetch_history
from halflife.stores.fetch_history import FailureRow
from halflife.stores.forecasts import IssuedForecast
from halflife.stores.run_history import PastRun
from halflife.web import changes_page, charts, history, source_chart, words
from halflife.web.charts import ChartFigure
from halflife.web.pages import (
    Answer,
    Params,
    addresses_of,
    query_answer,
    source_answer,
    spending,
    whole,
)
from halflife.web.remote_text import link, reveal, shorten
from halflife.web.rows import SourceRow
from halflife.web.source_chart import PAST, STEPS, QualityTimeline
from halflife.web.survey import Survey

RUNS = 20
TROUBLES = 3  # of a run
CHANGES = 10
LONGEST_AGO = 180.0  # days since the last read up to which the past is drawn
SINCE = 20  # points of the curve since the last read
MOST_DRAWN = 200_000  # pages of a source up to which its past is drawn; 30 ms


def source(seen: Survey, params: Params) -> Answer:
    """Return all that is known of one source; raise ``UsageError`` if unknown."""
    name = params.get("name", "")
    row = seen.row(name)
    if row is None:
        raise UsageError(f"no source is named {words.plain(name)!r}")
    settings = seen.source(name)
    with bootstrap.reading(seen.config) as store:
        answer, view = _shown(seen, store, row, settings, params)
        runs = store.reports.recent_runs(name, RUNS)
        began = min((run.began for run in runs), default=seen.now)
        rejected = store.reports.rejected(name, began)
        changes = changes_page.latest(store, name, CHANGES)
    failing, figures = _history(seen, row, view)
    timelines = [charts.timeline(*series, seen.now) for series in view.timelines]
    held = [s.run for s in seen.waiting if s.source == name]
    return {
        "at": words.date(seen.now),
        **source_answer(row, seen.now),
        "addresses": addresses_of(settings)[:3],
        "links": [link(url) for url in settings.addresses[:3]],
        "more_addresses": max(len(settings.addresses) - 3, 0),
        "targets": [str(target) for target in settings.targets],
        "held_run": held[0] if held else None,
        "spend": spending(seen),
        "syncs": not (row.imported or kind_of(settings).not_synced),
        "verb": kind_of(settings).verb,
        **answer,
        "runs": [
            _run(run, [*view.failures, *(RunFailure(run.id, *r) for r in rejected)])
            for run in runs
        ],
        "changes": changes,
        "failures": failing,
        "figures": figures + timelines,
    }


def _history(
    seen: Survey, row: SourceRow, view: PageView
) -> tuple[list[Answer], list[ChartFigure]]:
    """Return the failed fetches, and the chart of past and forecast quality."""
    since, step = seen.now - PAST, PAST / STEPS
    with bootstrap.state_file(seen.config) as store:
        if store is None:
            return [], []
        observed = fetch_history.observed(store, row.name, since, step)
        failed = fetch_history.failures(store, row.name, since)
        is_fitting = row.measure == "freshness" and row.items <= MOST_DRAWN
        most = history.MOST if is_fitting else 0
        numbers = fetch_history.sample_items(store, row.name, most)
        before = history.of_items(store, numbers, seen.now, row.mean)
        issued = store.forecasts.made(row.name, since)
    mine = [one for one in issued if one.measure == row.measure]
    known = [] if before is None else source_chart.from_hindsight(before, row.measure)
    past = known or source_chart.latest(mine, seen.now)
    if not past:
        known = past = _as_read(row, view, seen.now)
    cast = seen.casts.get(row.name)
    if cast is None and not past:
        return [_failure(one) for one in failed], []
    shown = QualityTimeline(
        now=seen.now,
        measure=row.measure,
        past=past,
        cast=cast,
        target=row.target,
        sync_by=row.sync_by,
        observed=observed,
        is_known=bool(known),
    )
    return [_failure(one) for one in failed], [source_chart.draw(shown)]


def _as_read(row: SourceRow, view: PageView, now: float) -> list[IssuedForecast]:
    """Return the past as known from later reads; after the last one, as estimated."""
    past = view.past
    is_late = now - row.last > LONGEST_AGO
    if past is None or row.measure != "recall" or is_late or not row.mean > 0.0:
        return []
    since = np.linspace(0.0, 1.0, SINCE if past.at.size and now > row.last else 0)
    at = np.append(past.at, row.last + since * (now - row.last))
    mean = np.append(past.mean, row.mean**since)
    return source_chart.from_hindsight(PastFreshness(at, mean, mean, mean), row.measure)


def _failure(row: FailureRow) -> Answer:
    return {
        "heading": failures.HEADINGS[failures.reason_of(row.reason)],
        "reason": shorten(reveal(row.reason)),
        "fetches": row.fetches,
        "items": row.items,
        "first": words.date(row.first),
        "last": words.date(row.last),
        "example": reveal(row.example),
        "link": link(row.example),
    }


def _run(run: PastRun, failed: Sequence[RunFailure]) -> Answer:
    """Return a run with its failures, most frequent first."""
    end = math.inf if run.ended is None else run.ended
    mine = [f for f in failed if f.run == run.id and run.began <= f.at <= end]
    mine.sort(key=lambda f: -f.times)
    return {
        "run": run.id,
        "state": run.state,
        "failed": sum(f.times for f in mine),
        "troubles": [
            {
                "reason": failures.reason_of(f.note),
                "said": words.plain(f.note),
                "times": f.times,
            }
            for f in mine[:TROUBLES]
        ],
        "began": words.date(run.began),
        "lasted": None if run.ended is None else run.ended - run.began,
        "requests": run.requests,
    }


def _shown(
    seen: Survey, store: Store, row: SourceRow, settings: SourceConfig, params: Params
) -> tuple[Answer, PageView]:
    """Return the view of a source by its kind, formatted for the page and as it is."""
    items = 0 if math.isnan(row.items) else int(row.items)
    view = kind_of(settings).page(
        PageRequest(
            Reading(seen.config, store, seen.now, seen.shown),
            settings,
            Description(row.measure, items, row.last, row.rate),
            seen.panorama(settings),
            whole(params.get("page", ""), 1),
        )
    )
    answer = {
        "card": [words.separated(words.plain(line)) for line in view.card],
        "items_title": view.title,
        "item_columns": [_head(column) for column in view.columns],
        "items_shown": [_written(item, view.columns) for item in view.items],
        "page": view.number,
        "pages": view.pages,
        "grouped": words.plain(view.parts.by),
        "group_columns": [_head(column) for column in view.parts.columns],
        "groups": [_written(row, view.parts.columns) for row in view.parts.rows],
        "is_asked": view.log is not None,
        **_queries(row.name, view.log or QueryLog()),
    }
    return answer, view


def _head(column: TableColumn) -> Answer:
    short = column.short or column.title
    return {**column._asdict(), "short": short}


def _written(row: Mapping[str, Any], columns: Sequence[TableColumn]) -> Answer:
    """Return a row with sanitised texts, and times written as dates."""
    moments = {column.key for column in columns if column.form == "moment"}
    return {key: _cell(value, key in moments) for key, value in row.items()}


def _cell(value: object, is_moment: object) -> object:
    if is_moment or isinstance(value, str):
        return words.date(value) if isinstance(value, float) else words.plain(value)
    return value


def _queries(source: str, log: QueryLog) -> Answer:
    """Return the past queries, and the next ones."""
    return {
        "queries": [query_answer(source, step) for step in log.upcoming],
        "tried": [
            {
                **asdict(query),
                "what": words.plain(query.what),
                "at": words.date(query.at),
            }
            for query in log.tried
        ],
        "findings": list(log.findings),
    }
