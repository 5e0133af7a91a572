"""Writing observations down: the log, what they add up to, links and copies."""

from functools import partial

import numpy as np

from halflife.core.evidence import Evidence, Fold
from halflife.core.observation import Looks, Seen
from halflife.stores import (
    change_log,
    evidence_rows,
    held_pages,
    links,
    page_changes,
    page_versions,
    tables,
)
from halflife.stores.database import Database
from halflife.stores.store_base import about


def write(
    db: Database, run: int, looks: Looks, evidence: Evidence, versions: int
) -> tuple[Looks, Fold]:
    """Write observations and what they add; return the new ones, and the fold.

    Of each page as many ``versions`` are kept.
    """
    fresh, places = tables.insert_looks(db, run, looks, evidence)
    told = about(evidence, fresh)
    fold = evidence.weigh(told)
    _report(db, told, evidence, fold)
    good = np.flatnonzero(fresh.seen <= Seen.ABSENT).tolist()
    held = {fresh.keys[i]: int(places[i]) for i in good}
    evidence_rows.save_fold(db, evidence, fold, held)
    links.save(db, fresh)
    for o in fresh.details:
        row = evidence.row(o.key)
        if o.content is not None and row is not None:
            page_versions.save(db, o, int(evidence.number[row]), versions)
    return fresh, fold


def _report(db: Database, looks: Looks, evidence: Evidence, fold: Fold) -> None:
    """Write down what the observations change; nothing of them is written yet."""
    accepted = held_pages.clear_seen(db, looks)
    if accepted:
        change_log.append(db, page_changes.acceptances(accepted, evidence))
    found = page_changes.find(evidence, looks, fold)
    if found is not None:
        found.save(db)
    source_of = partial(tables.source_of, db)
    moved = page_changes.moves(looks, partial(tables.held, db), source_of)
    if moved:
        change_log.append(db, moved)
