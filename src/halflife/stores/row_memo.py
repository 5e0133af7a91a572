"""The rows of evidence by source, cached while they hold."""

from collections.abc import Sequence
from weakref import ref

from halflife.core.arrays import Ints
from halflife.core.evidence import Evidence
from halflife.stores import tables
from halflife.stores.database import Database

_NEWEST = "SELECT max(id) FROM item"


class RowMemo:
    """The rows of each source's items in evidence, as last computed.

    Computing them reads all items. They hold until items are added or another process
    writes; a caller that moves items to another source must ``clear`` it.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget the rows."""
        self._evidence: ref[Evidence] | None = None
        self._known: tuple[object, ...] = ()
        self._rows: dict[str, Ints] = {}

    def rows(
        self, db: Database, sources: Sequence[str], evidence: Evidence, version: int
    ) -> dict[str, Ints]:
        """Return the rows of each source's items in evidence on them, ascending.

        ``version`` changes when another process has written.
        """
        newest = db.execute(_NEWEST).fetchone()[0]
        known = (frozenset(sources), len(evidence), newest, version)
        same = self._evidence is not None and self._evidence() is evidence
        if not same or self._known != known:
            self._rows = tables.rows_by_source(db, sources, evidence)
            self._evidence, self._known = ref(evidence), known
        return dict(self._rows)
