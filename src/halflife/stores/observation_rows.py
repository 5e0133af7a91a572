"""Writing observations down: the log, what they add up to, links and copies."""

import sqlite3

import numpy as np

from halflife.core.evidence import Evidence, Fold
from halflife.core.observation import Looks, Seen
from halflife.stores import evidence_rows, held_pages, links, tables
from halflife.stores.store_base import about


def write(
    db: sqlite3.Connection, run: int, looks: Looks, evidence: Evidence
) -> tuple[Looks, Fold]:
    """Write observations and what they add; return the new ones, and the fold."""
    fresh, places = tables.insert_looks(db, run, looks, evidence)
    fold = evidence.weigh(about(evidence, fresh))
    good = np.flatnonzero(fresh.seen <= Seen.ABSENT).tolist()
    held = {fresh.keys[i]: int(places[i]) for i in good}
    evidence_rows.save_fold(db, evidence, fold, held)
    links.save(db, fresh)
    held_pages.clear_seen(db, fresh)
    for o in fresh.details:
        row = evidence.row(o.key)
        if o.content is not None and row is not None:
            tables.save_content(db, o, int(evidence.number[row]))
    return fresh, fold
