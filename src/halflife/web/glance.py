"""What is known of all sources at once, before what is believed was worked out."""

import math

from halflife.config import Config, SourceConfig
from halflife.engine import deliveries, held_answers, stored_sources
from halflife.engine.wallet import Wallet
from halflife.kinds.registry import kind_of
from halflife.stores import Store
from halflife.web.rows import PENDING, SourceRow, is_default, level
from halflife.web.survey import Survey, by_day

WHY = "how good its copy is has not been worked out yet"


def take(config: Config, store: Store, now: float) -> Survey:
    """Return what the tables tell without being read whole.

    What waits for a decision, what was spent, and about how many items there are in
    all; to count those of each source takes long already.
    """
    waiting = tuple(held_answers.waiting(store))
    held = {one.source: one.why for one in waiting}
    sources = stored_sources.everything(config, store)
    return Survey(
        config=config,
        now=now,
        rows=tuple(_row(one, held.get(one.name)) for one in sources),
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
