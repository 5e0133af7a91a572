"""The pages that are gone, as ``status --gone`` lists them."""

from collections.abc import Sequence

import numpy as np

from halflife.cli import show
from halflife.config import Config, SourceConfig
from halflife.core.observation import Seen
from halflife.engine import bootstrap
from halflife.kinds.registry import kind_of
from halflife.stores import Store


def tell(config: Config, chosen: Sequence[SourceConfig], *, json: bool) -> None:
    """List the pages of sources that answered last that there is no such page."""
    with bootstrap.reading(config) as store:
        found = [
            row
            for source in chosen
            if kind_of(source).is_joint
            for row in rows(store, source.name)
        ]
    if json:
        show.emit({"gone": len(found), "results": found})
        return
    show.table(found)
    if not found:
        show.say("no page is gone")


def rows(store: Store, source: str) -> list[dict[str, str | None]]:
    """Return the pages of a source that are gone, by address, and since when."""
    evidence = store.evidence([source])
    gone = np.flatnonzero((evidence.looks > 0) & (evidence.seen == Seen.ABSENT))
    found = [
        {
            "source": source,
            "url": show.plain(evidence.keys[row]),
            "seen_gone": show.date(float(evidence.last_at[row])),
        }
        for row in gone.tolist()
    ]
    return sorted(found, key=lambda row: str(row["url"]))
