"""Which rows of evidence are of which source, found once for as long as that holds."""

import sqlite3
from collections.abc import Sequence
from weakref import ref

from halflife.core.arrays import Ints
from halflife.core.evidence import Evidence
from halflife.stores import tables

_STAND = "SELECT max(id), (SELECT data_version FROM pragma_data_version()) FROM item"


class RowMemo:
    """The rows of each source's items, as they were found last.

    To find them, all items are read. They stay as they are until items become known or
    another process writes; whoever gives items to another source has to ``clear`` it.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget them."""
        self._evidence: ref[Evidence] | None = None
        self._known: tuple[object, ...] = ()
        self._rows: dict[str, Ints] = {}

    def rows(
        self, db: sqlite3.Connection, sources: Sequence[str], evidence: Evidence
    ) -> dict[str, Ints]:
        """Return the rows of each source's items in evidence on them, ascending."""
        stand = db.execute(_STAND).fetchone()
        known = (frozenset(sources), len(evidence), *stand)
        same = self._evidence is not None and self._evidence() is evidence
        if not same or self._known != known:
            self._rows = tables.rows_by_source(db, sources, evidence)
            self._evidence, self._known = ref(evidence), known
        return dict(self._rows)
