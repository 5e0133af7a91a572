"""Where observations are kept, and everything that follows from them.

``core.store`` has the parts of a store that speak of the field's nouns. Here are those
whose nouns belong to a store, and ``Store``, the sum of all parts. Three
stores have them all: ``SqliteStore`` (a file), ``PostgresStore`` (a schema of a
database, for several machines), ``MemoryStore`` (as long as the program runs).
"""

from typing import TYPE_CHECKING, Protocol

from halflife.core.host import HostBook
from halflife.core.lazy_import import lazy_modules
from halflife.core.store import (
    RESUME_WITHIN,
    Items,
    Leases,
    Log,
    Note,
    NoteBook,
    Objects,
    RequestLedger,
    Run,
    Staged,
    Transactions,
)

if TYPE_CHECKING:
    from halflife.stores.holdings import Holdings
    from halflife.stores.outbox import Outbox
    from halflife.stores.parts import (
        ChangeLog,
        ForecastLog,
        HeldAnswers,
        Reports,
        Versions,
    )
    from halflife.stores.sink_rows import SinkRows
    from halflife.stores.work import FleetState
else:  # what searches take is much to import, and not all have any
    __getattr__ = lazy_modules(__name__, "summaries")

__all__ = [
    "RESUME_WITHIN",
    "Items",
    "Leases",
    "Log",
    "Note",
    "NoteBook",
    "Objects",
    "RequestLedger",
    "Run",
    "Staged",
    "Store",
    "Transactions",
]


class Store(
    Items,
    Log,
    Leases,
    RequestLedger,
    HostBook,
    Objects,
    NoteBook,
    Transactions,
    Protocol,
):
    """All parts: an append-only log of observations, and what is derived from it."""

    def size(self) -> int:
        """Return the bytes that it takes on a disk."""
        ...

    def fleet(self) -> "FleetState":
        """Return the workers that share it, and what is handed out to them."""
        ...

    @property
    def changes(self) -> "ChangeLog":
        """What became of pages and records."""
        ...

    @property
    def forecasts(self) -> "ForecastLog":
        """Forecasts as they were made, and what came of them."""
        ...

    @property
    def held_answers(self) -> "HeldAnswers":
        """Answers of pages that are not believed yet."""
        ...

    @property
    def holdings(self) -> "Holdings":
        """What is held of sources, one by one."""
        ...

    @property
    def outbox(self) -> "Outbox":
        """Alarms, and messages that wait to be sent."""
        ...

    @property
    def versions(self) -> "Versions":
        """Texts that pages had."""
        ...

    @property
    def reports(self) -> "Reports":
        """What people ask of the state."""
        ...

    @property
    def sinks(self) -> "SinkRows":
        """How far each sink has come, and what it did not take."""
        ...
