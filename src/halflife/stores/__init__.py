"""The store of observations, and of everything derived from them.

``core.store`` has the parts of a store that belong to the core. Here are the other
parts, and ``Store``, the sum of all parts. Three stores have them all: ``SqliteStore``
(a file), ``PostgresStore`` (a schema of a database, for several machines),
``MemoryStore`` (as long as the program runs).
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
else:  # summaries import much, and only searches need them
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
        """Return its size on disk in bytes."""
        ...

    def fleet(self) -> "FleetState":
        """Return the workers that share it, and their work in progress."""
        ...

    @property
    def changes(self) -> "ChangeLog":
        """The changes of pages and records."""
        ...

    @property
    def forecasts(self) -> "ForecastLog":
        """Forecasts and their outcomes."""
        ...

    @property
    def held_answers(self) -> "HeldAnswers":
        """Answers of pages held back as doubtful."""
        ...

    @property
    def holdings(self) -> "Holdings":
        """The records and pages held of sources, as rows."""
        ...

    @property
    def outbox(self) -> "Outbox":
        """Alerts, and messages that wait to be sent."""
        ...

    @property
    def versions(self) -> "Versions":
        """Current and earlier texts of pages."""
        ...

    @property
    def reports(self) -> "Reports":
        """Reports on the state."""
        ...

    @property
    def sinks(self) -> "SinkRows":
        """The progress of sinks, and the changes they refused."""
        ...
