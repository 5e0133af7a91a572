"""The ledger of a form: counts every request and keeps every record."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from halflife.core.errors import BudgetSpent, SourceError
from halflife.core.forms import Form, Interface, Query, ResultPage
from halflife.queries.count_trust import CountTrust

if TYPE_CHECKING:
    from halflife.core.object_store import Attributes


class Ledger:
    """A form with all queries sent to it and all records it has shown.

    Any request through a ledger may raise ``BudgetSpent``; the ledger keeps what was
    learned until then.

    Args:
        form: The form.
        most: Requests that may be sent; no limit if None.
        stopped: Returns whether to stop sending requests.
        refuted: Receives the reason why hit counts are not believed any more.

    Attributes:
        requests: Requests sent so far, probes included.
        returned: Records returned so far, repeated ones included.
        seen: Every record that was shown, by key, as last shown.
        totals: The hit count that the form reported, by query.
        finished: The queries of which all reachable results were read.
        asked: The queries of which a page was requested, in order, each once.
        shown: The records that each query has shown.
        sought: The keys that were looked up.
        trust: The evidence for and against the hit counts.
        trouble: Why the last failed request failed; empty if none has.

    """

    def __init__(
        self,
        form: Form,
        most: int | None = None,
        *,
        stopped: Callable[[], bool] = lambda: False,
        refuted: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.requests = 0
        self.returned = 0
        self.seen: dict[str, Attributes] = {}
        self.totals: dict[Query, int | None] = {}
        self.finished: set[Query] = set()
        self.asked: dict[Query, None] = {}
        self.shown: dict[Query, set[str]] = {}
        self.looked_up: set[str] = set()
        self.trouble = ""
        self._form = form
        self._most = most
        self._stopped, self._refuted = stopped, refuted
        self.trust = CountTrust(form.interface.counts)
        self._first: dict[Query, ResultPage] = {}

    @property
    def interface(self) -> Interface:
        """What the form can do, as far as it is known; refuted counts are none."""
        claimed = self._form.interface
        return replace(claimed, counts="none") if self.trust.refuted else claimed

    @property
    def left(self) -> int | None:
        """Requests that may still be sent; None if there is no limit."""
        return None if self._most is None else self._most - self.requests

    def check_stop(self) -> None:
        """Raise ``BudgetSpent`` if a stop was requested.

        A loop that may send no request calls this, so that a signal ends it too.
        """
        if self._stopped():
            raise BudgetSpent("queries were stopped")

    def ask(self, query: Query, page: int = 0, *, newest: bool = False) -> ResultPage:
        """Request a page of results and record it."""
        self._check()
        try:
            found = self._form.ask(query, page, newest=newest)
        except SourceError as error:
            self.trouble = str(error)
            raise
        self._note(found)
        self.asked.setdefault(query)
        self.shown.setdefault(query, set()).update(found.records)
        if not page:
            self.totals[query] = found.total
        if not page and not newest:
            self._first[query] = found
            if not found.more:
                self.finished.add(query)
        if not newest:
            self._weigh(query, page, found)
        return found

    def _weigh(self, query: Query, page: int, found: ResultPage) -> None:
        """Compare an answer with the hit counts."""
        believed, shown = not self.trust.refuted, self.shown[query]
        self.trust.note_answer(query, page, found, shown, self.interface.cap)
        if believed and self.trust.refuted:
            self.distrust()

    def distrust(self) -> None:
        """Stop using refuted hit counts."""
        self._refuted(self.trust.refuted)
        self.forget()

    def forget(self) -> None:
        """Forget conclusions from earlier claims: where answers end."""
        self.trust.counts = self.interface.counts
        self._first.clear()
        self.finished.clear()

    def fetch(self, key: str) -> ResultPage:
        """Look up the record of a key and record the answer."""
        self._check()
        found = self._form.fetch(key)
        self.looked_up.add(key)
        self._note(found)
        return found

    def first(self, query: Query) -> ResultPage:
        """Return the first page of a query, which is requested only once."""
        page = self._first.get(query)
        return page if page is not None else self.ask(query)

    def pages(
        self, query: Query, most: int | None = None, *, begin: int = 0
    ) -> Iterator[ResultPage]:
        """Yield the pages of a query, each requested when it is needed.

        A known first page is not requested again. A caller that has read some pages
        may ``begin`` after them, and must itself note whether that was all.
        """
        cap = self.interface.cap
        reachable = inf if cap is None else self.interface.pages(cap)
        limit = reachable if most is None else min(reachable, most)
        number, found = begin, self.ask(query, begin) if begin else self.first(query)
        yield found
        while found.more and number + 1 < limit:
            number += 1
            found = self.ask(query, number)
            yield found
        if not begin and (not found.more or number + 1 >= reachable):
            self.finished.add(query)

    def whole(self, query: Query) -> bool:
        """Return whether all records that answer a query were shown.

        It was read to its end, the end is not the cap, and as many records were shown
        as the form counts: pages can shift while they are read.
        """
        if query not in self.finished:
            return False
        shown, interface = len(self.shown.get(query, ())), self.interface
        if interface.cap is not None and shown >= interface.cap:
            return False
        return interface.counts != "exact" or shown >= (self.totals.get(query) or 0)

    def _check(self) -> None:
        self.check_stop()
        if self._most is not None and self.requests >= self._most:
            raise BudgetSpent(f"all {self._most} requests are spent")

    def _note(self, found: ResultPage) -> None:
        self.requests += found.requests
        self.returned += len(found.records)
        self.seen.update(found.records)
