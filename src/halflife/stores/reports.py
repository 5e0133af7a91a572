"""Reports on a state file: the SQL."""

from collections.abc import Iterable, Mapping, Sequence

from halflife.core.host import HostState
from halflife.stores import compaction, ownership, run_history, runs
from halflife.stores.connection import Tables
from halflife.stores.database import Database
from halflife.stores.owner import Owner
from halflife.stores.parts import Holder

_AHEAD = {
    "observation": "SELECT count(*) FROM observation WHERE at > ?",
    "ledger": "SELECT count(*) FROM ledger WHERE at > ?",
}
_OLD = "SELECT count(*) FROM observation WHERE at < ? AND id > ?"
_FAILING = "SELECT * FROM host WHERE failures >= ? OR not_before > ? ORDER BY name"
_NO_ROBOTS = "SELECT name FROM host WHERE robots_status = 0 OR robots_status >= 500"
_HOLDERS = """
SELECT source.name, run.owner, lease.expires FROM lease
JOIN run ON run.id = lease.run JOIN source ON source.id = lease.source
"""


class StateReports:
    """The reports on a database."""

    def __init__(self, store: Tables) -> None:
        self._store = store

    def recent_runs(self, source: str, most: int) -> list[run_history.PastRun]:
        """Return the latest runs that covered a source, latest first."""
        with self._store.reading() as db:
            return run_history.recent(db, source, most)

    def account(self, run: int) -> runs.RunAccount:
        """Return what a run did; raise ``UsageError`` if the run is unknown."""
        with self._store.reading() as db:
            return runs.account(db, run)

    def observations(
        self, items: Sequence[int], since: float
    ) -> list[tuple[int, float, bool]]:
        """Return good observations: item number, time, whether it had changed."""
        with self._store.reading() as db:
            return run_history.observations(db, items, since)

    def failures(
        self, items: Sequence[int], since: float
    ) -> list[run_history.FailedFetch]:
        """Return the failed fetches of items since a moment, in order."""
        with self._store.reading() as db:
            return run_history.failures(db, items, since)

    def rejected(self, source: str, since: float) -> list[tuple[float, str]]:
        """Return when a set source gave no usable answer, and why."""
        with self._store.reading() as db:
            return run_history.rejected(db, source, since)

    def owners(self) -> list[ownership.SourceHoldings]:
        """Return every source that has data, by name."""
        with self._store.reading() as db:
            return ownership.owners(db)

    def foreign(self, claims: Iterable[tuple[str, str]]) -> list[tuple[str, str, str]]:
        """Return (key, owner, claimant) of items that another source owns."""
        with self._store.reading() as db:
            return ownership.foreign(db, claims)

    def ahead_of(self, moment: float) -> Mapping[str, int]:
        """Return how many observations and charges are dated later, by table."""
        with self._store.reading() as db:
            return {name: _number(db, query, moment) for name, query in _AHEAD.items()}

    def last_finished(self) -> float | None:
        """Return when the last finished run ended; None if none has."""
        with self._store.reading() as db:
            row = db.execute("SELECT max(ended) FROM run WHERE state = 'done'")
            ended: float | None = row.fetchone()[0]
        return ended

    def holders(self) -> list[Holder]:
        """Return the holders of leases."""
        with self._store.reading() as db:
            rows = db.execute(_HOLDERS).fetchall()
        return [Holder(name, Owner.parse(text), until) for name, text, until in rows]

    def failing_hosts(self, failures: int, closed_at: float) -> list[HostState]:
        """Return hosts with so many failures in a row, or closed at a moment."""
        with self._store.reading() as db:
            rows = db.execute(_FAILING, (failures, closed_at)).fetchall()
        return [HostState(*row) for row in rows]

    def hosts_without_robots(self) -> list[str]:
        """Return the hosts whose robots.txt could not be read."""
        with self._store.reading() as db:
            return [str(name) for (name,) in db.execute(_NO_ROBOTS)]

    def old_observations(self, before: float) -> int:
        """Return how many observations in the log are older and not compacted yet."""
        with self._store.reading() as db:
            return _number(db, _OLD, before, compaction.until(db))


def _number(db: Database, query: str, *values: float) -> int:
    return int(db.execute(query, values).fetchone()[0])
