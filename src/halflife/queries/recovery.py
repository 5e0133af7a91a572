"""Looking for records that a form reports and that are not held.

When nothing else is worth a request and the form still reports more records than are
held, all that it shows is read once more, divided where results are cut off. Either
that brings them, or it is known why it cannot, and it is not tried again until more
are missing.
"""

from collections.abc import Callable
from dataclasses import replace
from math import ceil

from halflife.errors import BudgetSpent, SourceError
from halflife.forms import Interface, Query
from halflife.queries.beginning import UNREAD, said
from halflife.queries.frontier import Crawl
from halflife.queries.held import Held, Wish
from halflife.queries.kept import Asked, Kept
from halflife.queries.ledger import Ledger
from halflife.queries.reported import Reported, reported
from halflife.queries.splitting import Crawling

NOTHING_MORE = "nothing more is worth a request"
SPENT = "the budget is spent"


class Recovery:
    """The search for missing records in a turn.

    Args:
        ledger: The form, asked on account.
        held: The copy as it was before the turn.
        wish: What it is kept for.
        now: The time, in days.
        begins: Is told of the crawl when it begins, so that it can be written down.

    """

    def __init__(
        self,
        ledger: Ledger,
        held: Held,
        wish: Wish,
        now: float,
        begins: Callable[[Crawling], None],
    ) -> None:
        self._ledger, self._held, self._now = ledger, held, now
        self._begins = begins
        self._wanted = wish.purpose != "known"
        self.report = held.reported
        self.search = held.search if self._wanted else None

    def go_on(self) -> None:
        """Go on with a search that was cut short; it comes before anything else."""
        if self.search is not None:
            self._crawl(self.search)

    def finish(self, done: Kept) -> None:
        """Look for what is missing after all that was worth it was asked."""
        ledger = self._ledger
        over = done.stop == NOTHING_MORE
        try:
            if over and self._asks_for_total():
                ledger.first(Query())
            self.hear(done.absent)
            if over and self.search is None and self._open(done.absent):
                whole = replace(
                    Crawl.of_nothing(), records={**self._held.records, **ledger.seen}
                )
                self._crawl(whole)
        except BudgetSpent:
            done.stop = SPENT
        except SourceError as error:
            done.stop = done.trouble = str(error)
        self._close(done)

    def hear(self, absent: frozenset[str] = frozenset()) -> None:
        """Take in what the form has reported in this turn."""
        there = {
            key: record
            for key, record in {**self._held.records, **self._ledger.seen}.items()
            if key not in absent
        }
        total = reported(self._ledger, there)
        if total is not None:
            before = self.report or Reported(self._now, total)
            self.report = before.heard(self._now, total, len(there))

    def _asks_for_total(self) -> bool:
        """Say whether a request would tell how many records there are."""
        interface = self._ledger.interface
        known = self._ledger.totals.get(Query()) is not None
        tells = interface.everything and interface.counts != "none"
        return self._wanted and tells and not known and self._ledger.requests > 0

    def _count(self, absent: frozenset[str]) -> int:
        return len((self._held.records.keys() | self._ledger.seen.keys()) - absent)

    def _open(self, absent: frozenset[str]) -> bool:
        if self.report is None or not self._wanted:
            return False
        return self.report.open(self._count(absent)) > 0

    def _crawl(self, begin: Crawl) -> None:
        """Read all that the form shows, or go on with that."""
        walk = Crawling(self._ledger, self._held.records.values(), resume=begin)
        self._begins(walk)
        done = walk.done()
        self.search = done if done.left else None
        if done.left and done.why:
            raise SourceError(done.why) if self._ledger.trouble else BudgetSpent(SPENT)
        self.hear()
        if self.report is not None:
            interface = self._ledger.interface
            why, cut = said(done, interface), interface.cap is not None
            count = self._count(frozenset())
            self.report = self.report.settled(count, why, cut=cut)

    def _close(self, done: Kept) -> None:
        done.reported, done.search = self.report, self.search
        if done.stop == NOTHING_MORE and self.report is not None and self._wanted:
            done.stop = self.report.words(self._count(done.absent)) or NOTHING_MORE


def search_ahead(held: Held, interface: Interface) -> list[Asked]:
    """Return what a search for missing records would ask; nothing if none are."""
    report = held.reported
    count = len(held.records)
    if report is None or not report.open(count):
        return []
    missing = report.open(count)
    pages = max(ceil(report.total / interface.page_size), 1)
    why = f"{missing} more records are reported than are held"
    return [Asked("everything, query by query", pages, missing / pages * UNREAD, why)]
