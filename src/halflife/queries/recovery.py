"""The search for records that a form reports and that are not held.

When nothing else is worth a request and the form still reports more records than are
held, all that it shows is read again, divided where results are cut off. The search
finds the missing records or shows why it cannot, and is not repeated until more are
missing.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil

from halflife.core.errors import BudgetSpent, SourceError
from halflife.core.forms import Attribute, Interface, Query, Term
from halflife.core.object_store import Attributes
from halflife.queries.first_crawl import (
    UNREAD,
    describe_crawl,
    explained_records,
    unseen_of,
)
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.frontier import CrawlPart, CrawlState
from halflife.queries.ledger import Ledger
from halflife.queries.reported_total import (
    ReportedTotal,
    missing_of_value,
    reported_records,
)
from halflife.queries.split_crawl import CrawlRun
from halflife.queries.turn_result import PlannedQuery, TurnResult
from halflife.queries.unseen import UnseenRecords, estimate_overflow

NOTHING_MORE = "nothing more is worth a request"
SPENT = "the budget is spent"


class Recovery:
    """The search for missing records in a turn.

    Args:
        ledger: Counts the requests to the form.
        held: The copy as it was before the turn.
        wish: What it is for.
        now: The time, in days.
        begins: Receives the crawl when it begins, so that it can be saved.

    """

    def __init__(
        self,
        ledger: Ledger,
        held: FormCopy,
        wish: FormWish,
        now: float,
        begins: Callable[[CrawlRun], None],
    ) -> None:
        self._ledger, self._held, self._now = ledger, held, now
        self._begins = begins
        self._wanted = wish.purpose != "known"
        self._absent: frozenset[str] = frozenset()
        self.report, self.unseen = held.reported, held.unseen
        self._searched = False  # whether everything was read in this turn
        self.search = held.search if self._wanted else None

    def go_on(self) -> None:
        """Continue an interrupted search; it comes before anything else."""
        if self.search is not None:
            self._crawl(self.search)

    def finish(self, done: TurnResult) -> None:
        """Search for missing records if no other query is worth a request."""
        over, self._absent = done.stop == NOTHING_MORE, done.absent
        try:
            if over and self._asks_for_total():
                self._ledger.first(Query())
            self.update_report()
            if over:
                self._look()
        except BudgetSpent:
            done.stop = SPENT
        except SourceError as error:
            done.stop = done.trouble = str(error)
        self._close(done)

    @property
    def _there(self) -> dict[str, Attributes]:
        """The records that are held or were shown in this turn, and are not gone."""
        records = {**self._held.records, **self._ledger.seen}
        return {key: row for key, row in records.items() if key not in self._absent}

    def update_report(self) -> None:
        """Update the report with what the form has reported in this turn."""
        there = self._there
        total = reported_records(self._ledger, there)
        if total is not None:
            rough = self._ledger.trust.rough
            before = self.report or ReportedTotal(self._now, total, rough=rough)
            self.report = before.with_total(self._now, total, len(there))

    def _asks_for_total(self) -> bool:
        """Return whether to request the number of all records."""
        interface = self._ledger.interface
        known = self._ledger.totals.get(Query()) is not None
        counts = interface.everything and interface.counts != "none"
        return self._wanted and counts and not known and self._ledger.requests > 0

    def _open(self) -> int:
        """Return how many records are still to be searched for."""
        if self.report is None or not self._wanted:
            return 0
        return self.report.open(len(self._there))

    def _look(self) -> None:
        """Search for missing records where they must be, and then everywhere."""
        blank = replace(CrawlState.of_nothing(), records=self._there)
        lacking = self._lacking() if self._open() else []
        if lacking:
            left = tuple(CrawlPart(query) for query in lacking)
            self._crawl(replace(blank, left=left, whole=False))
        if self._open():
            self._crawl(blank)

    def _lacking(self) -> list[Query]:
        """Return the values of an attribute that hold all missing records, if any do.

        Each value costs a request, so they must be fewer than the pages of everything
        and than half of the requests left.
        """
        ledger, interface = self._ledger, self._ledger.interface
        pages = ceil(len(self._there) / interface.page_size)
        most = pages if ledger.left is None else min(pages, ledger.left // 2)
        for attribute in interface.attributes:
            values = choices(attribute, self._there)
            if attribute.kind != "select" or len(values) > most:
                continue
            queries = [Query.of(term) for term in values]
            for query in queries:
                ledger.first(query)
            lacks = {
                query: missing_of_value(ledger, query, self._there) for query in queries
            }
            if sum(lacks.values()) >= self._open():
                return [query for query in queries if lacks[query]]
        return []

    def _crawl(self, begin: CrawlState) -> None:
        """Read all that the form shows, or continue to."""
        walk = CrawlRun(self._ledger, self._held.records.values(), resume=begin)
        self._begins(walk)
        done = walk.done()
        self.search = done if done.left else None
        if done.left:
            failed = done.why == self._ledger.trouble
            raise SourceError(done.why) if failed else BudgetSpent(SPENT)
        self.update_report()
        if self.report is not None and begin.whole:
            interface = self._ledger.interface
            why, there = describe_crawl(done, interface), len(self._there)
            report = self.report.after_full_read(
                there, why, explained=explained_records(done, interface)
            )
            self.report = replace(report, rough=self._ledger.trust.rough)
        if begin.whole:
            self.unseen, self._searched = unseen_of(walk, done), True

    def _distrust(self) -> None:
        """Plan to read everything again: refuted counts prove nothing.

        Until that is done it is unknown how many records were never shown.
        """
        self.report = None
        if self._wanted and not self._searched:
            likely, most = estimate_overflow([len(self._there)])
            self.unseen = UnseenRecords(likely, most, 1)
            self.search = self.search or replace(
                CrawlState.of_nothing(), records=self._there
            )

    def _close(self, done: TurnResult) -> None:
        if self._ledger.trust.refuted:
            self._distrust()
        done.reported, done.search = self.report, self.search
        done.unseen = self.unseen
        if done.stop == NOTHING_MORE and self.report is not None and self._wanted:
            done.stop = self.report.words(len(self._there)) or NOTHING_MORE


def choices(attribute: Attribute, held: Mapping[str, Attributes]) -> set[Term]:
    """Return the known values of an attribute; none if some record shows none."""
    values = {Term(attribute.name, value) for value in attribute.values}
    for record in held.values():
        terms = attribute.terms(record.get(attribute.name))
        if not terms:
            return set()
        values.update(terms)
    return values


def search_ahead(held: FormCopy, interface: Interface) -> list[PlannedQuery]:
    """Return the planned search for missing records; empty if none are missing."""
    report = held.reported
    count = len(held.records)
    if report is None or not report.open(count):
        return []
    missing = report.open(count)
    pages = ceil(report.total / interface.page_size)
    why = f"{missing} more records are reported than are held"
    return [
        PlannedQuery("everything, query by query", pages, missing / pages * UNREAD, why)
    ]
