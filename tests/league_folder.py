"""A folder of page histories, small enough to score by hand."""

import pyarrow as pa
from pyarrow import parquet

DAY = 86400


def write(folder, changes, *, end=1000.0, days=10.0, deleted=()):
    """Write pages and changes; times are days of a window that ends at ``end``.

    ``changes`` maps (site, page) to days of change. A page of each site changes at
    the very end, which is how the window is found.
    """
    deleted = dict(deleted)

    def seconds(day):
        return round((end - days + day) * DAY)

    rows = [(s, p, seconds(at)) for (s, p), ats in changes.items() for at in ats]
    rows += [(s, "last", seconds(days)) for s in dict.fromkeys(s for s, _ in changes)]
    pages = dict.fromkeys((s, p) for s, p, _ in rows)
    pages |= dict.fromkeys(changes)
    gone = [seconds(deleted[key]) if key in deleted else None for key in pages]
    columns = {
        "site": [s for s, _ in pages],
        "page": [p for _, p in pages],
        "created_at": [0] * len(pages),
        "deleted_at": pa.array(gone, pa.int64()),
    }
    parquet.write_table(pa.table(columns), folder / "pages.parquet")
    columns = {
        "site": [s for s, _, _ in rows],
        "page": [p for _, p, _ in rows],
        "timestamp": [at for _, _, at in rows],
        "kind": ["M"] * len(rows),
    }
    parquet.write_table(pa.table(columns), folder / "changes.parquet")
    return folder


def many_sites(folder, sites=8, pages=6, days=360.0):
    """Write sites of which each changes at a pace of its own, in bursts."""
    changes = {}
    for s in range(sites):
        for p in range(pages):
            pace = 3 + 7 * ((s * 5 + p * 3) % 11)
            ats = [0.37 + s / 10 + k * pace for k in range(1, int((days - 2) / pace))]
            changes[f"site{s}", f"page{p}"] = ats
    return write(folder, changes, days=days)
