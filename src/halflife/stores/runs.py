"""What a run did, as far as the database shows."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from halflife.core.errors import UsageError
from halflife.core.observation import Seen
from halflife.stores.database import Database

# An answer that was held back and accepted later is in the log as a failure and as a
# good observation at the same time; it did not fail.
_NOT_BELIEVED_LATER = """NOT EXISTS (
        SELECT 1 FROM observation AS b
        WHERE b.item = o.item AND b.at = o.at AND b.seen = 0)"""
# An observation found a change if the last good one before it showed something else.
_PAGES = f"""
SELECT source.name,
    count(*) FILTER (WHERE o.seen IN (:present, :absent)),
    count(*) FILTER (WHERE o.seen = :failed AND {_NOT_BELIEVED_LATER}),
    count(*) FILTER (WHERE o.seen IN (:present, :absent) AND o.digest <> (
        SELECT b.digest FROM observation AS b
        WHERE b.item = o.item AND b.at < o.at AND b.seen IN (:present, :absent)
        ORDER BY b.at DESC LIMIT 1))
FROM observation AS o JOIN item ON item.id = o.item
    JOIN source ON source.id = item.source
WHERE o.run = :run GROUP BY source.name ORDER BY source.name
"""  # noqa: S608  (constants)
_TROUBLES = f"""
SELECT o.note, count(*) AS n FROM observation AS o
WHERE o.run = ? AND o.seen = ? AND {_NOT_BELIEVED_LATER}
GROUP BY o.note ORDER BY n DESC, o.note LIMIT ?
"""  # noqa: S608
_LISTED = """
SELECT source.name, s.at, s.valid, s.complete, s.n, s.missing, s.note
FROM snapshot AS s JOIN source ON source.id = s.source
WHERE source.name IN (SELECT value FROM json_each(?)) AND s.at BETWEEN ? AND ?
ORDER BY s.at
"""
_HELD = """
SELECT source.name, staged.why FROM staged JOIN source ON source.id = staged.source
WHERE staged.run = ?
"""
MOST = 5  # reasons of failures that are named


@dataclass(frozen=True, slots=True)
class RunPages:
    """What a run observed of one source of pages.

    Attributes:
        source: The source.
        looks: Good observations.
        failed: Failed fetches.
        changed: Good observations that differ from the ones before.

    """

    source: str
    looks: int
    failed: int
    changed: int


@dataclass(frozen=True, slots=True)
class ListingSnapshot:
    """One snapshot of a set source.

    Attributes:
        source: The source.
        at: When, in days.
        valid: Whether the answer was a listing at all.
        complete: Whether it listed everything.
        objects: Objects that it listed.
        missing: Objects known before that it lacked.
        note: What was unusual about it.

    """

    source: str
    at: float
    valid: bool
    complete: bool
    objects: int
    missing: int
    note: str


@dataclass(frozen=True, slots=True)
class RunAccount:
    """The account of a run: what it cost, and what it observed.

    Attributes:
        run: Its number.
        state: ``running``, ``done`` or ``interrupted``.
        sources: The sources that it covered.
        began: When it began, in days.
        ended: When it ended; None if it has not.
        requests: Requests that were charged to it.
        pages: What it observed of pages.
        listed: Its snapshots of set sources.
        troubles: Why fetches failed, and how many, most frequent first.
        held: Answers that still wait for a decision, with the reason.

    """

    run: int
    state: str
    sources: tuple[str, ...]
    began: float
    ended: float | None
    requests: int
    pages: tuple[RunPages, ...]
    listed: tuple[ListingSnapshot, ...]
    troubles: tuple[tuple[str, int], ...]
    held: tuple[tuple[str, str], ...]


def account(db: Database, run: int) -> RunAccount:
    """Return what a run did; raise ``UsageError`` if the run is unknown.

    Observations that were compacted since are not counted.
    """
    query = "SELECT state, sources, began, ended FROM run WHERE id = ?"
    row = db.execute(query, (run,)).fetchone()
    if row is None:
        last = db.execute("SELECT max(id) FROM run").fetchone()[0]
        known = f"the last one is {last}" if last else "there was none yet"
        raise UsageError(f"nothing is known of run {run}; {known}")
    state, sources, began, ended = row
    seen = {name.lower(): int(Seen[name]) for name in ("PRESENT", "ABSENT", "FAILED")}
    spent = "SELECT coalesce(sum(requests), 0) FROM ledger WHERE run = ?"
    until = float("inf") if ended is None else ended
    return RunAccount(
        run=run,
        state=state,
        sources=tuple(json.loads(sources)),
        began=began,
        ended=ended,
        requests=int(db.execute(spent, (run,)).fetchone()[0]),
        pages=tuple(_pages(db.execute(_PAGES, {**seen, "run": run}).fetchall())),
        listed=tuple(
            ListingSnapshot(name, at, bool(valid), bool(complete), n, missing, note)
            for name, at, valid, complete, n, missing, note in db.execute(
                _LISTED, (sources, began, until)
            )
        ),
        troubles=tuple(db.execute(_TROUBLES, (run, seen["failed"], MOST)).fetchall()),
        held=tuple(db.execute(_HELD, (run,)).fetchall()),
    )


def _pages(rows: Sequence[tuple[str, int, int, int]]) -> list[RunPages]:
    return [RunPages(*row) for row in rows]
