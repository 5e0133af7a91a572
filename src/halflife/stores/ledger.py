"""Charged requests as rows: the SQL."""

import json
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from halflife.stores.database import Database
from halflife.stores.owner import Owner

Charges: TypeAlias = tuple[tuple[float, int], ...]  # pairs of a time and a number

_SPENT_BY = """
SELECT coalesce(sum(ledger.requests), 0) FROM ledger
JOIN run ON run.id = ledger.run WHERE ledger.at >= ? AND run.sources = ?
"""
_BY_HOUR = """
SELECT max(at), sum(requests) FROM ledger WHERE at >= ?
GROUP BY CAST(at * 24 AS INTEGER) HAVING sum(requests) > 0 ORDER BY 1
"""  # by the hour, at its last charge: so that no charge expires too early
_CHARGE = "INSERT INTO ledger (run, at, requests) VALUES (?, ?, ?)"
_RUN = """
INSERT INTO run (state, sources, owner, began, ended) VALUES ('done', '[]', ?, ?, ?)
RETURNING id
"""


def charge(db: Database, run: int, at: float, requests: int) -> None:
    """Record that a run is about to send requests."""
    db.execute(_CHARGE, (run, at, requests))


def spent_by(db: Database, sources: Sequence[str], since: float) -> int:
    """Return the requests charged to runs of exactly these sources since then."""
    names = json.dumps(sorted(set(sources)))
    return int(db.execute(_SPENT_BY, (since, names)).fetchone()[0])


def by_hour(db: Database, since: float) -> Charges:
    """Return the requests charged since then, summed by the hour."""
    return tuple((float(at), int(n)) for at, n in db.execute(_BY_HOUR, (since,)))


def carry(db: Database, charges: Iterable[tuple[float, int]], now: float) -> None:
    """Charge what was spent under another ledger, as a run of its own."""
    ((run,),) = db.execute(_RUN, (str(Owner.here()), now, now)).fetchall()
    db.executemany(_CHARGE, [(run, at, n) for at, n in charges])
