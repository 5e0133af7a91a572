"""Forecasts of set sources on histories that nothing was tuned on: web sites.

``python -m lab.unseen FOLDER`` takes each site in a folder with
``pages.parquet`` (site, page, created_at, deleted_at) as a set of pages that is
looked at once a day for a year, and prints how the default forecast did.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.lifetimes import Collection, Lives
from halflife.models.pool import DEFAULT
from halflife.recordings.parquet import read_table
from halflife.replay.backtest import backtest

DAYS = 365.0
AHEAD = (7.0, 14.0, 30.0)
FEWEST = 50  # pages worth a forecast


def collections(folder: Path) -> Iterator[Collection]:
    """Return each site as a set source, with daily looks up to its last change."""
    columns = ("site", "page", "created_at", "deleted_at")
    table = read_table(folder / "pages.parquet", columns)
    site = np.array(table["site"].to_pylist(), dtype=object)
    page = np.array(table["page"].to_pylist(), dtype=object)
    born, died = (
        np.array(table[c].to_pylist(), dtype=np.float64) / 86400.0 for c in columns[2:]
    )
    died = np.where(np.isnan(died), np.inf, died)
    for name in dict.fromkeys(site.tolist()):
        mine = (site == name) & np.isfinite(born)
        yield _daily(str(name), page[mine].tolist(), born[mine], died[mine])


def _daily(name: str, page: Sequence[str], born: Floats, died: Floats) -> Collection:
    """Return what a look at the start of each day would have shown."""
    end = np.floor(max(born.max(), died[np.isfinite(died)].max(initial=0.0)))
    first, last = np.ceil(born), np.ceil(died) - 1.0
    begin = end - DAYS
    seen = (last >= np.maximum(first, begin)) & (first <= end)
    first, last = np.maximum(first[seen], begin), last[seen]
    gone = last < end
    lives = Lives(
        keys=tuple(p for p, s in zip(page, seen.tolist(), strict=True) if s),
        absent_before=np.where(first > begin, first - 1.0, -np.inf),
        first_seen=first,
        last_seen=np.minimum(last, end),
        gone_by=np.where(gone, last + 1.0, np.inf),
        attributes={},
    )
    none = np.zeros(0)
    looks = np.arange(begin, end + 1.0)
    return Collection(name, looks, lives, none.astype(np.intp), none)


def run(folder: Path) -> list[dict[str, Any]]:
    """Return coverage and error of the default forecast, by site and horizon."""
    rows: list[dict[str, Any]] = []
    for collection in collections(folder):
        if collection.held(float(collection.looks[0])).size >= FEWEST:
            rows += backtest(collection, AHEAD, 0.95, models=(DEFAULT,))
    return rows


def pooled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the same over all sites, each site counting once."""
    told = []
    for metric in ("precision", "recall"):
        for days in AHEAD:
            some = [r for r in rows if (r["metric"], r["horizon"]) == (metric, days)]
            if not some:
                continue
            cover = np.array([r["coverage"] for r in some])
            quartiles = np.quantile(cover, [0.25, 0.5, 0.75]).tolist()
            told.append(
                {
                    "metric": metric,
                    "horizon": days,
                    "sites": len(some),
                    "coverage": float(cover.mean()),
                    "coverage_quartiles": quartiles,
                    "mae": float(np.mean([r["mae"] for r in some])),
                    "width": float(np.mean([r["width"] for r in some])),
                }
            )
    return told


if __name__ == "__main__":
    found = run(Path(sys.argv[1]))
    sys.stdout.write(json.dumps({"results": found, "pooled": pooled(found)}, indent=1))
