"""The parts of a store of tables: changes, forecasts, held answers and others."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from halflife.stores import held_pages, page_versions
from halflife.stores.change_log import ChangeRows
from halflife.stores.database import Database
from halflife.stores.forecasts import Forecasts
from halflife.stores.holdings import HoldingRows
from halflife.stores.outbox import Outbox
from halflife.stores.sink_rows import SinkRows

if TYPE_CHECKING:
    from halflife.stores.reports import StateReports


class TableParts(ABC):
    """The parts that use the tables through the store's transactions."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Database]:
        """Run several queries on the tables as of one moment."""

    @abstractmethod
    def together(self) -> AbstractContextManager[Database]:
        """Make several changes, all of them or none."""

    @property
    def changes(self) -> ChangeRows:
        """The changes of pages and records."""
        return ChangeRows(self)

    @property
    def forecasts(self) -> Forecasts:
        """Forecasts and their outcomes."""
        return Forecasts(self)

    @property
    def held_answers(self) -> held_pages.HeldPages:
        """Answers of pages held back as doubtful."""
        return held_pages.HeldPages(self)

    @property
    def outbox(self) -> Outbox:
        """Alerts, and messages that wait to be sent."""
        return Outbox(self)

    @property
    def holdings(self) -> HoldingRows:
        """The records and pages held of sources, as rows."""
        return HoldingRows(self)

    @property
    def versions(self) -> page_versions.PageVersions:
        """Current and earlier texts of pages."""
        return page_versions.PageVersions(self)

    @property
    def reports(self) -> "StateReports":
        """Reports on the state."""
        from halflife.stores.reports import StateReports  # noqa: PLC0415  (not all need it)

        return StateReports(self)

    @property
    def sinks(self) -> SinkRows:
        """The progress of sinks, and the changes they refused."""
        return SinkRows(self)
