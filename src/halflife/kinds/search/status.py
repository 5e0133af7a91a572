"""What ``halflife status`` says of databases that can be searched."""

from collections.abc import Sequence

from halflife.kinds.search import selection
from halflife.kinds.search.settings import SearchConfig
from halflife.stores import Store


def rows(
    store: Store, sources: Sequence[SearchConfig], now: float
) -> list[dict[str, object]]:
    """Return one row a database: what is known of it, and how old that is."""
    kept, lacking = selection.known(store, sources)
    fresh = selection.belief(kept, sources, now, store)
    found: list[dict[str, object]] = [
        {
            "database": one.source,
            "version": one.version,
            "documents": one.summary.sampled,
            "size": {"mean": one.summary.size, "low": one.low, "high": one.high},
            "age_days": now - one.at,
            "still_true": float(fresh.survival[i]),
        }
        for i, one in enumerate(kept)
    ]
    return found + [
        {"database": source.name, "version": 0, "documents": 0}
        | {"size": None, "age_days": None, "still_true": None}
        for source in lacking
    ]
