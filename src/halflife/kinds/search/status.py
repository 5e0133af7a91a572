"""Rows of ``halflife status`` on databases that can be searched."""

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
    """Return one row a database: its summary, size and age."""
    kept, lacking = selection.stored_summaries(store, sources)
    fresh = selection.belief(kept, sources, now, store)
    found: list[dict[str, object]] = [
        {
            "database": summary.source,
            "version": summary.version,
            "documents": summary.summary.sampled,
            "size": {
                "mean": summary.summary.size,
                "low": summary.low,
                "high": summary.high,
            },
            "age_days": now - summary.at,
            "still_true": float(fresh.survival[i]),
            "summary": _figure(store, summary.source, now, float(fresh.survival[i])),
        }
        for i, summary in enumerate(kept)
    ]
    return found + [
        {"database": source.name, "version": 0, "documents": 0}
        | {"size": None, "age_days": None, "still_true": None, "summary": None}
        for source in lacking
    ]


def _figure(store: Store, name: str, now: float, holds: float) -> dict[str, float]:
    """Return the chance that a summary holds, with bounds by its past forecasts."""
    alive = np.array([holds])
    cast = Forecast("summary", np.array([now]), alive, alive, alive)
    trusted = audit_report.trust(store, name, now).forecast(cast)
    figures = (float(x[0]) for x in (trusted.mean, trusted.low, trusted.high))
    mean, low, high = figures
    return {"mean": mean, "low": low, "high": high}
