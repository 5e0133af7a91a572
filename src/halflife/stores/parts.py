"""The parts of a store: forecasts, changes, versions, held answers and reports."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from halflife.core.change import Change
from halflife.core.host import HostState
from halflife.core.observation import Content, Observation
from halflife.stores.change_search import ChangeFilter, ChangeSlice
from halflife.stores.forecasts import Checks, ForecastCheck, IssuedForecast
from halflife.stores.held_pages import HeldFetch, HeldPage
from halflife.stores.owner import Owner
from halflife.stores.ownership import SourceHoldings
from halflife.stores.page_versions import PageVersion
from halflife.stores.run_history import FailedFetch, PastRun
from halflife.stores.runs import RunAccount


class ForecastLog(Protocol):
    """Forecasts as they were made, their outcomes, and random checks of the copy."""

    def issue(self, forecasts: Iterable[IssuedForecast]) -> None:
        """Store forecasts."""
        ...

    def waiting(self, source: str) -> list[IssuedForecast]:
        """Return the forecasts that have no outcome yet, oldest first."""
        ...

    def settled(self, source: str, since: float = 0.0) -> list[IssuedForecast]:
        """Return the forecasts with an outcome, in the order of the outcomes."""
        ...

    def settled_sources(self, since: float) -> set[str]:
        """Return the sources with an outcome since then."""
        ...

    def made(self, source: str, since: float) -> list[IssuedForecast]:
        """Return all forecasts made since then, oldest first."""
        ...

    def settle(self, forecasts: Iterable[IssuedForecast]) -> None:
        """Store outcomes; an outcome that is known stays as it is."""
        ...

    def record(self, forecasts: Iterable[IssuedForecast]) -> None:
        """Store forecasts derived from others, with their outcomes."""
        ...

    def drop(self, forecasts: Iterable[IssuedForecast]) -> None:
        """Remove forecasts that have no outcome."""
        ...

    def note(self, source: str, checks: Iterable[ForecastCheck]) -> None:
        """Store checks of a source."""
        ...

    def checks(self, source: str, since: float = 0.0) -> Checks:
        """Return the checks of a source since then."""
        ...

    def still(self, keys: Sequence[str], then: float) -> list[bool | None]:
        """Return whether each copy held then equals what was last seen of its item.

        None if no copy of it was held then.
        """
        ...

    def audited(self, since: float, most: int) -> tuple[list[str], int]:
        """Return sources with forecasts or checks, and how many forecasts wait."""
        ...


class ChangeLog(Protocol):
    """The changes of pages and records, numbered in the order of writing."""

    def append(self, changes: Iterable[Change]) -> None:
        """Append changes, in the current transaction if there is one."""
        ...

    def read(
        self, after: int = 0, most: int = 1000, sources: Sequence[str] = ()
    ) -> list[Change]:
        """Return the changes after a number, oldest first; of all sources if none."""
        ...

    def older(self, wanted: ChangeFilter, before: int, most: int) -> ChangeSlice:
        """Return the newest matching changes before a number."""
        ...

    def newer(self, wanted: ChangeFilter, after: int, most: int) -> ChangeSlice:
        """Return the oldest matching changes after a number, newest first."""
        ...

    def last(self) -> int:
        """Return the number of the newest change ever logged; 0 if there is none."""
        ...

    def removed(self) -> int:
        """Return the number up to which changes were removed; 0 if none were."""
        ...

    def before(self, at: float) -> int:
        """Return the number after which all changes observed since then follow."""
        ...


class Versions(Protocol):
    """Texts of pages: the latest few of each, with their bodies."""

    def of(self, key: str) -> list[PageVersion]:
        """Return the stored versions of a page, newest first."""
        ...

    def content(self, key: str, version: PageVersion) -> Content | None:
        """Return the body of a version; None if it is not stored any more."""
        ...


class HeldAnswers(Protocol):
    """Answers of pages held back as doubtful; at most one per page."""

    def rows(self, sources: Iterable[str] = ()) -> list[HeldPage]:
        """Return the pages of sources, or of all, with held answers, oldest first."""
        ...

    def row(self, key: str) -> HeldPage | None:
        """Return a page whose answer is held back; None if there is none."""
        ...

    def save(self, run: int, answer: HeldFetch, *, room: bool = True) -> None:
        """Hold an answer back, replacing an earlier one of the same page.

        Without ``room`` its body is not stored, and accepting it takes another request.
        """
        ...

    def set_state(self, pages: Iterable[HeldPage], state: str, why: str = "") -> None:
        """Set the state of held answers, and the reason unless it is empty."""
        ...

    def observation(self, page: HeldPage) -> Observation | None:
        """Return a held answer as an observation; None if it is gone."""
        ...

    def host(self, key: str) -> str:
        """Return the host of a page; empty if the page is not known."""
        ...

    def put_back(self, observation: Observation) -> None:
        """Restore a body as the copy of its page; the log stays as it is."""
        ...

    def well_since(self, source: str, host: str, at: float) -> int:
        """Return how many pages of a host had a good observation since a moment."""
        ...

    def others(self, source: str, host: str) -> int:
        """Return how many pages of a host have a copy and no held answer."""
        ...


@dataclass(frozen=True, slots=True)
class Holder:
    """The holder of the lease on a source, and when the lease ends, in days."""

    source: str
    owner: Owner
    expires: float


class Reports(Protocol):
    """Reports on the state: runs, owners, failures, and what seems wrong."""

    def recent_runs(self, source: str, most: int) -> list[PastRun]:
        """Return the latest runs that covered a source, latest first."""
        ...

    def account(self, run: int) -> RunAccount:
        """Return what a run did; raise ``UsageError`` if the run is unknown."""
        ...

    def observations(
        self, items: Sequence[int], since: float
    ) -> list[tuple[int, float, bool]]:
        """Return good observations: item number, time, whether it had changed."""
        ...

    def failures(self, items: Sequence[int], since: float) -> list[FailedFetch]:
        """Return the failed fetches of items since a moment, in order."""
        ...

    def rejected(self, source: str, since: float) -> list[tuple[float, str]]:
        """Return when a set source gave no usable answer, and why."""
        ...

    def owners(self) -> list[SourceHoldings]:
        """Return every source that has data, by name."""
        ...

    def foreign(self, claims: Iterable[tuple[str, str]]) -> list[tuple[str, str, str]]:
        """Return (key, owner, claimant) of items that another source owns.

        ``claims`` are pairs of an item's key and the source that claims it.
        """
        ...

    def ahead_of(self, moment: float) -> Mapping[str, int]:
        """Return how many observations and charges are dated later, by table."""
        ...

    def last_finished(self) -> float | None:
        """Return when the last finished run ended; None if none has."""
        ...

    def holders(self) -> list[Holder]:
        """Return the holders of leases."""
        ...

    def failing_hosts(self, failures: int, closed_at: float) -> list[HostState]:
        """Return hosts with so many failures in a row, or closed at a moment."""
        ...

    def hosts_without_robots(self) -> list[str]:
        """Return the hosts whose robots.txt could not be read."""
        ...

    def old_observations(self, before: float) -> int:
        """Return how many observations in the log are older and not compacted yet."""
        ...
