"""A quick survey of all sources without estimates, for large states."""

import math

from halflife.config import Config, SourceConfig
from halflife.engine import deliveries, held_answers, stored_sources
from halflife.engine.wallet import Wallet
from halflife.kinds.registry import kind_of
from halflife.stores import Store
from halflife.web.rows import PENDING, SourceRow, is_default, level
from halflife.web.survey import Survey, by_day

WHY = "the quality of its copy has not been computed yet"


def take(config: Config, store: Store, now: float) -> Survey:
    """Return what can be read without a scan of whole tables.

    The answers that wait for a decision, the requests spent, and the approximate number
    of items; to count those of each source would be slow.
    """
    waiting = tuple(held_answers.pending_answers(store))
    held = {answer.source: answer.why for answer in waiting}
    sources = stored_sources.everything(config, store)
    return Survey(
        config=config,
        now=now,
        rows=tuple(_row(source, held.get(source.name)) for source in sources),
        casts={},
        sources=sources,
        waiting=waiting,
        spend=Wallet(store, config.budget).spend(now),
        days=by_day(store, now),
        sinks=tuple(deliveries.reports(config, store)),
        working=True,
        total=store.item_count(),
        _place={source.name: i for i, source in enumerate(sources)},
    )


def _row(source: SourceConfig, held: str | None) -> SourceRow:
    return SourceRow(
        name=source.name,
        kind=source.kind,
        measure=kind_of(source).measure(source),
        health="held" if held else PENDING,
        why=held or WHY,
        target=level(source),
        assumed=is_default(source),
        items=math.nan,
        imported=not stored_sources.has_address(source),
    )
