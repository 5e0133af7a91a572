"""What a run did, as far as the file can tell."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from halflife.core.errors import UsageError
from halflife.core.observation import Seen
from halflife.stores.database import Database

# An answer that was put off and believed later is there as a failure and as a good look
# of the same moment; it did not fail.
_NOT_BELIEVED_LATER = """NOT EXISTS (
        SELECT 1 FROM observation AS b
        WHERE b.item = o.item AND b.at = o.at AND b.seen = 0)"""
# A look found a change if the last good look before it showed something else.
_LOOKS = f"""
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
MOST = 5  # troubles that are named


@dataclass(frozen=True, slots=True)
class RunPages:
    """What a run saw of one source of pages.

    Attributes:
        source: The source.
        looks: Good looks.
        failed: Looks that failed.
        changed: Good looks that found something else than the one before.

    """

    source: str
    looks: int
    failed: int
    changed: int


@dataclass(frozen=True, slots=True)
class Listed:
    """One look at a set source.

    Attributes:
        source: The source.
        at: When, in days.
        valid: Whether it was an answer at all.
        complete: Whether it listed everything.
        objects: Objects that it listed.
        missing: Objects that it lacked, of those there before.
        note: What was odd about it.

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
    """What a run did.

    Attributes:
        run: Its number.
        state: ``running``, ``done`` or ``interrupted``.
        sources: The sources that it covered.
        began: When it began, in days.
        ended: When it ended; None if it has not.
        requests: Requests that it paid for.
        pages: What it saw of pages.
        listed: What it saw of set sources.
        troubles: Why looks failed, and how many, most first.
        held: Answers that still wait for a decision, with the reason.

    """

    run: int
    state: str
    sources: tuple[str, ...]
    began: float
    ended: float | None
    requests: int
    pages: tuple[RunPages, ...]
    listed: tuple[Listed, ...]
    troubles: tuple[tuple[str, int], ...]
    held: tuple[tuple[str, str], ...]


def account(db: Database, run: int) -> RunAccount:
    """Return what a run did; raise ``UsageError`` if nothing is known of it.

    Looks that were rolled up since are not counted.
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
        pages=tuple(_pages(db.execute(_LOOKS, {**seen, "run": run}).fetchall())),
        listed=tuple(
            Listed(name, at, bool(valid), bool(complete), n, missing, note)
            for name, at, valid, complete, n, missing, note in db.execute(
                _LISTED, (sources, began, until)
            )
        ),
        troubles=tuple(db.execute(_TROUBLES, (run, seen["failed"], MOST)).fetchall()),
        held=tuple(db.execute(_HELD, (run,)).fetchall()),
    )


def _pages(rows: Sequence[tuple[str, int, int, int]]) -> list[RunPages]:
    return [RunPages(*row) for row in rows]
