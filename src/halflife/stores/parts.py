"""The parts of a store whose nouns are its own: forecasts, held answers, reports."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from halflife.core.change import Change
from halflife.core.host import HostState
from halflife.core.observation import Content, Observation
from halflife.stores.change_search import ChangeFilter, ChangeSlice
from halflife.stores.forecasts import Checks, ForecastCheck, Issued
from halflife.stores.held_pages import HeldFetch, HeldPage
from halflife.stores.owner import Owner
from halflife.stores.ownership import SourceHoldings
from halflife.stores.page_versions import PageVersion
from halflife.stores.run_history import FailedFetch, Ran
from halflife.stores.runs import RunAccount


class ForecastLog(Protocol):
    """Forecasts as they were made, what came of them, and parts drawn to check."""

    def issue(self, forecasts: Iterable[Issued]) -> None:
        """Write forecasts down."""
        ...

    def waiting(self, source: str) -> list[Issued]:
        """Return the forecasts whose outcome was not seen yet, oldest first."""
        ...

    def settled(self, source: str, since: float = 0.0) -> list[Issued]:
        """Return the forecasts whose outcome was seen, in the order of that."""
        ...

    def told(self, since: float) -> set[str]:
        """Return the sources that any outcome was seen of since then."""
        ...

    def made(self, source: str, since: float) -> list[Issued]:
        """Return all forecasts made since then, oldest first."""
        ...

    def settle(self, forecasts: Iterable[Issued]) -> None:
        """Write down what came true; an outcome that is known stays as it is."""
        ...

    def record(self, forecasts: Iterable[Issued]) -> None:
        """Write down forecasts that were read off others, with what came true."""
        ...

    def drop(self, forecasts: Iterable[Issued]) -> None:
        """Remove forecasts whose outcome nobody saw."""
        ...

    def note(self, source: str, checks: Iterable[ForecastCheck]) -> None:
        """Write down what was drawn of a source, and what was found."""
        ...

    def checks(self, source: str, since: float = 0.0) -> Checks:
        """Return what was drawn of a source since then."""
        ...

    def still(self, keys: Sequence[str], then: float) -> list[bool | None]:
        """Return whether what was held of each item then is what was seen last.

        None if nothing was held of it then.
        """
        ...

    def audited(self, since: float, most: int) -> tuple[list[str], int]:
        """Return sources with forecasts or checks, and how many forecasts wait."""
        ...


class ChangeLog(Protocol):
    """What became of pages and records, numbered in the order of writing."""

    def append(self, changes: Iterable[Change]) -> None:
        """Write changes down, in the transaction that is under way if one is."""
        ...

    def read(
        self, after: int = 0, most: int = 1000, sources: Sequence[str] = ()
    ) -> list[Change]:
        """Return the changes after a number, oldest first; of all sources if none."""
        ...

    def older(self, wanted: ChangeFilter, before: int, most: int) -> ChangeSlice:
        """Return the newest changes that are wanted before a number."""
        ...

    def newer(self, wanted: ChangeFilter, after: int, most: int) -> ChangeSlice:
        """Return the oldest changes that are wanted after a number, newest first."""
        ...

    def last(self) -> int:
        """Return the number of the newest change ever written; 0 if none was."""
        ...

    def removed(self) -> int:
        """Return the number up to which changes were removed; 0 if none was."""
        ...

    def before(self, at: float) -> int:
        """Return the number after which all changes observed since then come."""
        ...


class Versions(Protocol):
    """Texts that pages had: so many of each, with their bodies."""

    def of(self, key: str) -> list[PageVersion]:
        """Return the versions of a page that are kept, newest first."""
        ...

    def content(self, key: str, version: PageVersion) -> Content | None:
        """Return the body of a version; None if it is not kept any more."""
        ...


class HeldAnswers(Protocol):
    """Answers of pages that are not believed yet; a page has one at most."""

    def rows(self, sources: Iterable[str] = ()) -> list[HeldPage]:
        """Return the pages of sources, or of all, with such an answer, oldest first."""
        ...

    def row(self, key: str) -> HeldPage | None:
        """Return a page with such an answer; None if there is none."""
        ...

    def save(self, run: int, answer: HeldFetch, *, room: bool = True) -> None:
        """Put an answer aside, in place of an earlier one of the same page.

        Without ``room`` its body is not kept: when it is believed, it is asked for
        again.
        """
        ...

    def set_state(self, pages: Iterable[HeldPage], state: str, why: str = "") -> None:
        """Say what is made of answers that were put aside, and why if that is new."""
        ...

    def observation(self, page: HeldPage) -> Observation | None:
        """Return an answer as it was observed; None if it is no longer there."""
        ...

    def host(self, key: str) -> str:
        """Return the host of a page; empty if the page is not known."""
        ...

    def put_back(self, look: Observation) -> None:
        """Keep a body as the copy of its page again; the log stays as it is."""
        ...

    def well_since(self, source: str, host: str, at: float) -> int:
        """Return how many pages of a host were seen to be well from a moment on."""
        ...

    def others(self, source: str, host: str) -> int:
        """Return how many pages of a host have a copy and nothing put aside."""
        ...


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds the lease on a source, and until when, in days."""

    source: str
    owner: Owner
    expires: float


class Reports(Protocol):
    """What people ask of the state: what was done, by whom, and what looks wrong."""

    def recent_runs(self, source: str, most: int) -> list[Ran]:
        """Return the latest runs that covered a source, latest first."""
        ...

    def account(self, run: int) -> RunAccount:
        """Return what a run did; raise ``UsageError`` if nothing is known of it."""
        ...

    def observations(
        self, items: Sequence[int], since: float
    ) -> list[tuple[int, float, bool]]:
        """Return good observations: the item's number, when, whether it had changed."""
        ...

    def failures(self, items: Sequence[int], since: float) -> list[FailedFetch]:
        """Return the fetches of items that failed from a moment on, in order."""
        ...

    def rejected(self, source: str, since: float) -> list[tuple[float, str]]:
        """Return when a set source gave no answer that could be used, and why."""
        ...

    def owners(self) -> list[SourceHoldings]:
        """Return every source of which something is kept, by name."""
        ...

    def foreign(self, claims: Iterable[tuple[str, str]]) -> list[tuple[str, str, str]]:
        """Return (key, owner, claimant) of items that another source owns.

        ``claims`` are pairs of an item's key and the source that wants it.
        """
        ...

    def ahead_of(self, moment: float) -> Mapping[str, int]:
        """Return how many observations and charges are dated later, by table."""
        ...

    def last_finished(self) -> float | None:
        """Return when a run was last finished; None if none was."""
        ...

    def holders(self) -> list[Holder]:
        """Return who holds leases."""
        ...

    def failing_hosts(self, failures: int, closed_at: float) -> list[HostState]:
        """Return hosts that failed so often in a row, or are closed at a moment."""
        ...

    def hosts_without_robots(self) -> list[str]:
        """Return the hosts whose robots.txt could not be read."""
        ...

    def old_observations(self, before: float) -> int:
        """Return how many observations in the log are older and not compacted yet."""
        ...
