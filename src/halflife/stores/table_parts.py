"""The parts of a store of tables whose nouns are a store's own."""

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
    """Parts that see the tables through the store's transactions."""

    @abstractmethod
    def looking(self) -> AbstractContextManager[Database]:
        """Let several queries see the tables as they were at one moment."""

    @abstractmethod
    def together(self) -> AbstractContextManager[Database]:
        """Let several changes happen all or not at all."""

    @property
    def changes(self) -> ChangeRows:
        """What became of pages and records."""
        return ChangeRows(self)

    @property
    def forecasts(self) -> Forecasts:
        """Forecasts as they were made, and what came of them."""
        return Forecasts(self)

    @property
    def held_answers(self) -> held_pages.HeldPages:
        """Answers of pages that are not believed yet."""
        return held_pages.HeldPages(self)

    @property
    def outbox(self) -> Outbox:
        """Alarms, and messages that wait to be sent."""
        return Outbox(self)

    @property
    def holdings(self) -> HoldingRows:
        """What is held of sources, one by one."""
        return HoldingRows(self)

    @property
    def versions(self) -> page_versions.PageVersions:
        """Texts that pages had."""
        return page_versions.PageVersions(self)

    @property
    def reports(self) -> "StateReports":
        """What people ask of the state."""
        from halflife.stores.reports import StateReports  # noqa: PLC0415  (not all need it)

        return StateReports(self)

    @property
    def sinks(self) -> SinkRows:
        """How far each sink has come, and what it did not take."""
        return SinkRows(self)
