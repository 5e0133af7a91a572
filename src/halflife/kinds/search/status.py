"""What ``halflife status`` says of databases that can be searched."""

from collections.abc import Sequence

import numpy as np

from halflife.core.forecast import Forecast
from halflife.engine import audit_report
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
            "summary": _figure(store, one.source, now, float(fresh.survival[i])),
        }
        for i, one in enumerate(kept)
    ]
    return found + [
        {"database": source.name, "version": 0, "documents": 0}
        | {"size": None, "age_days": None, "still_true": None, "summary": None}
        for source in lacking
    ]


def _figure(store: Store, name: str, now: float, holds: float) -> dict[str, float]:
    """Return the chance that a summary holds, with bounds as far as it is trusted."""
    alive = np.array([holds])
    cast = Forecast("summary", np.array([now]), alive, alive, alive)
    told = audit_report.trust(store, name, now).forecast(cast)
    mean, low, high = (float(one[0]) for one in (told.mean, told.low, told.high))
    return {"mean": mean, "low": low, "high": high}
