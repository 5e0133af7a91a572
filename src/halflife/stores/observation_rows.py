"""Writing observations: the log, the evidence, links and copies."""

from functools import partial

import numpy as np

from halflife.core.evidence import Evidence, Fold
from halflife.core.observation import Observations, Seen
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
from halflife.stores.store_base import of_known_items


def write(
    db: Database,
    run: int,
    batch: Observations,
    evidence: Evidence,
    versions: int,
) -> tuple[Observations, Fold]:
    """Write observations and their evidence; return the new ones, and the fold.

    At most ``versions`` versions of each page are stored.
    """
    fresh, places = tables.insert_observations(db, run, batch, evidence)
    relevant = of_known_items(evidence, fresh)
    fold = evidence.weigh(relevant)
    _report(db, relevant, evidence, fold)
    good = np.flatnonzero(fresh.seen <= Seen.ABSENT).tolist()
    held = {fresh.keys[i]: int(places[i]) for i in good}
    evidence_rows.save_fold(db, evidence, fold, held)
    links.save(db, fresh)
    for o in fresh.details:
        row = evidence.row(o.key)
        if o.content is not None and row is not None:
            page_versions.save(db, o, int(evidence.number[row]), versions)
    return fresh, fold


def _report(db: Database, batch: Observations, evidence: Evidence, fold: Fold) -> None:
    """Log the changes of observations that are not written yet."""
    accepted = held_pages.clear_seen(db, batch)
    if accepted:
        change_log.append(db, page_changes.acceptances(accepted, evidence))
    found = page_changes.find(evidence, batch, fold)
    if found is not None:
        found.save(db)
    source_of = partial(tables.source_of, db)
    moved = page_changes.moves(batch, partial(tables.held, db), source_of)
    if moved:
        change_log.append(db, moved)
