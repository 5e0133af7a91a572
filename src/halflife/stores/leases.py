"""Leases on sources, and the runs that hold them: the SQL.

A lease is a row. Taking it over gives the new run a larger number, and writes under
the old number are refused (a fencing token). So a process that was suspended, and
resumes after its lease has gone to another, can do no harm.
"""

import json

import numpy as np

from halflife.core.errors import AlreadyRunning, LeaseLost
from halflife.core.store import RESUME_WITHIN, Run
from halflife.stores.database import Database
from halflife.stores.owner import Owner


def begin(
    db: Database, names: tuple[str, ...], now: float, lease: float, me: Owner
) -> Run:
    """Take the lease on sources, also from a run that is dead or expired."""
    sources = [source_id(db, name) for name in names]
    free(db, names, now, me)
    began, resumed = _beginning(db, names, now)
    ((run,),) = db.execute(
        "INSERT INTO run (state, sources, owner, began)"
        " VALUES ('running', ?, ?, ?) RETURNING id",
        (json.dumps(names), str(me), began),
    ).fetchall()
    db.executemany(
        "INSERT INTO lease (source, run, expires) VALUES (?, ?, ?)",
        [(source, run, now + lease) for source in sources],
    )
    return Run(run, run, names, began, resumed)


def free(db: Database, names: tuple[str, ...], now: float, me: Owner) -> None:
    """Take sources from dead or expired runs; raise ``AlreadyRunning``.

    No other process can take them until the caller's transaction ends.
    """
    for stale, expires in _stale_runs(db, names, now, me):
        interrupt(db, stale, min(now, expires))


def renew(db: Database, run: Run, until: float) -> None:
    """Extend the lease."""
    db.execute("UPDATE lease SET expires = ? WHERE run = ?", (until, run.token))


def finish(db: Database, run: Run, now: float) -> None:
    """End a run, and with it the interrupted runs that it resumed."""
    db.execute("DELETE FROM lease WHERE run = ?", (run.id,))
    db.execute("UPDATE run SET state = 'done', ended = ? WHERE id = ?", (now, run.id))
    if run.resumed:
        db.execute(
            "UPDATE run SET state = 'done' WHERE state = 'interrupted'"
            " AND sources = ? AND began = ?",
            (json.dumps(run.sources), run.began),
        )


def holders(db: Database) -> set[int]:
    """Return the runs that hold a lease."""
    return {row[0] for row in db.execute("SELECT run FROM lease")}


def interrupt(db: Database, run: int, ended: float) -> None:
    """Take the lease from a run that will not finish."""
    db.execute("DELETE FROM lease WHERE run = ?", (run,))
    db.execute(
        "UPDATE run SET state = 'interrupted', ended = ? WHERE id = ?", (ended, run)
    )


def release(db: Database, run: int) -> None:
    """Give back the lease of a run that its own process leaves unfinished."""
    query = "SELECT max(expires) FROM lease WHERE run = ?"
    expires = db.execute(query, (run,)).fetchone()[0]
    if expires is not None:
        interrupt(db, run, expires)


def fence(db: Database, run: Run) -> None:
    """Raise ``LeaseLost`` unless the run still holds all its sources."""
    query = "SELECT count(*) FROM lease WHERE run = ?"
    if db.execute(query, (run.token,)).fetchone()[0] != len(run.sources):
        raise LeaseLost(
            f"run {run.id} on {', '.join(run.sources)} was ended or taken over;"
            " nothing more was written under it"
        )


def source_id(db: Database, name: str) -> int:
    """Return the number of a source, added if it is new."""
    db.execute("INSERT INTO source (name) VALUES (?) ON CONFLICT DO NOTHING", (name,))
    query = "SELECT id FROM source WHERE name = ?"
    return int(db.execute(query, (name,)).fetchone()[0])


def _stale_runs(
    db: Database, names: tuple[str, ...], now: float, me: Owner
) -> list[tuple[int, float]]:
    """Return the dead or expired runs that hold sources, and when their leases end."""
    stale = []
    for name in names:
        row = db.execute(
            "SELECT run.id, run.owner, run.began, lease.expires FROM lease"
            " JOIN run ON run.id = lease.run JOIN source ON source.id = lease.source"
            " WHERE source.name = ?",
            (name,),
        ).fetchone()
        if row is None:
            continue
        run, holder, began, expires = row[0], Owner.parse(row[1]), row[2], row[3]
        if expires > now and not holder.is_gone(me):
            raise AlreadyRunning(
                f"source {name!r} is being synced by process {holder.pid} on"
                f" {holder.host} since {_moment(began)}; wait until it ends, or stop"
                f" it (kill {holder.pid}) and run this again"
            )
        stale.append((run, expires))
    return stale


def _moment(days: float) -> str:
    """Return a time for people; numpy formats every year a clock may show."""
    moment = str(np.datetime64(int(days * 86400), "s"))
    return f"{moment.replace('T', ' ')} UTC"


def _beginning(db: Database, names: tuple[str, ...], now: float) -> tuple[float, bool]:
    """Return when the run counts as begun, and whether it resumes an earlier one."""
    row = db.execute(
        "SELECT state, began, ended FROM run WHERE sources = ?"
        " ORDER BY id DESC LIMIT 1",
        (json.dumps(names),),
    ).fetchone()
    if row and row[0] == "interrupted" and now - row[2] <= RESUME_WITHIN:
        return row[1], True
    return now, False
