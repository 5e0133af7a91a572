"""The first turns at a form: read all records, as far as the budget goes."""

from collections.abc import Sequence
from math import ceil

from halflife.core.forms import Interface, Query
from halflife.core.wording import count
from halflife.queries.form_copy import FormCopy
from halflife.queries.frontier import CrawlPart, CrawlState
from halflife.queries.ledger import Ledger
from halflife.queries.reported_total import ReportedTotal, at_least, reported_records
from halflife.queries.split_crawl import CrawlRun
from halflife.queries.turn_result import PlannedQuery, QueryOutcome, TurnResult
from halflife.queries.unseen import UnseenRecords, estimate_unseen

UNREAD = 365.0  # days that an unread record counts as missing, at most


def start_crawl(ledger: Ledger, held: FormCopy) -> CrawlRun:
    """Return the first crawl, from its beginning or from where it was interrupted."""
    return CrawlRun(ledger, held.records.values(), resume=held.crawl)


def first_crawl(walk: CrawlRun, now: float = 0.0) -> TurnResult:
    """Read all records, as far as the budget goes.

    A crawl of several turns does not show the database at one moment, so it is not a
    complete snapshot. A crawl that has come to keyword queries continues only if a
    count shows when it is done; otherwise the search for new records is better.
    """
    done, ledger = walk.done(), walk.ledger
    goes_on = bool(done.left) and (not done.words or done.total is not None)
    report = _report(walk, done, now, over=not goes_on)
    queries = [
        PlannedQuery(str(query), 1, 0.0, "the first crawl") for query in ledger.asked
    ]
    return TurnResult(
        dict(ledger.seen),
        complete=done.complete and not walk.resumed,
        asked=queries,
        stop=_stop(done, report, ledger),
        trouble=ledger.trouble if done.why else "",
        tried=[_tried(ledger, query) for query in ledger.asked],
        left=done if goes_on else None,
        reported=report,
        unseen=None if goes_on else unseen_of(walk, done),
    )


def unseen_of(walk: CrawlRun, done: CrawlState) -> UnseenRecords:
    """Return how many records a finished crawl may have missed.

    Exact counts that were confirmed leave none unknown.
    """
    counts = walk.ledger.interface.counts == "exact" and walk.ledger.trust.agrees
    if done.complete or (counts and done.total is not None):
        return UnseenRecords()
    stuck = _each_once(done.stuck)
    divided = [walk.loss_of(part) for part in stuck if part.tried]
    whole = [len(part.own) for part in stuck if not part.tried]
    # Parts still to be divided by words overflow, and show as much as a query can.
    least = walk.interface.cap or walk.interface.page_size
    whole += [max(len(part.own), least) for part in done.left if part.above is None]
    return estimate_unseen([*done.losses, *divided], whole)


def explained_records(done: CrawlState, interface: Interface) -> int:
    """Return how many records are hidden behind the cap of undivided queries."""
    if interface.cap is None:
        return 0
    cut = [part for part in _each_once(done.stuck) if len(part.own) >= interface.cap]
    return sum(part.lacks for part in cut if not part.tried)


def _each_once(stuck: Sequence[CrawlPart]) -> list[CrawlPart]:
    """Return the parts with distinct queries: keywords start each part again."""
    return list({part.query: part for part in stuck}.values())


def _report(
    walk: CrawlRun, done: CrawlState, now: float, *, over: bool
) -> ReportedTotal | None:
    """Return how many records the form reports, and why some were not found."""
    ledger = walk.ledger
    counts = ledger.interface.counts
    total = reported_records(ledger, done.records) or at_least(counts, done.total)
    if total is None:
        return None
    report = ReportedTotal(now, total, rough=ledger.trust.rough)
    if not over:
        return report
    why = describe_crawl(done, ledger.interface)
    hidden = explained_records(done, ledger.interface)
    return report.after_full_read(len(done.records), why, explained=hidden)


def _stop(crawl: CrawlState, report: ReportedTotal | None, ledger: Ledger) -> str:
    short = report.words(len(crawl.records)) if report and not crawl.left else ""
    return short or describe_crawl(crawl, ledger.interface)


def describe_crawl(crawl: CrawlState, interface: Interface) -> str:
    """Return in words how far a crawl has come."""
    if crawl.complete:
        return "everything was read"
    if crawl.left:
        return f"{count(len(crawl.left), 'query', 'queries')} left open"
    uncertain = len(set(crawl.unresolved + crawl.unproven))
    if not uncertain:
        return "all that it shows was read"
    most = f" (it shows {interface.cap} of a query at most)" if interface.cap else ""
    left = count(uncertain, "query", "queries")
    return f"all queries were sent; {left} may have more than shown{most}"


def _tried(ledger: Ledger, query: Query) -> QueryOutcome:
    """Return the outcome of a query of the first crawl; all records are new."""
    shown = len(ledger.shown[query])
    pages = max(1, ceil(shown / ledger.interface.page_size))
    return QueryOutcome(str(query), pages, shown, shown, ledger.totals.get(query))


def crawl_ahead(held: FormCopy, interface: Interface) -> list[PlannedQuery]:
    """Return the next queries of the first crawl; all records may be new."""
    crawl = held.crawl or CrawlState.of_nothing()
    # Parts that were divided take no request, unless nothing else is left.
    undivided = [part for part in reversed(crawl.left) if not part.tried]
    waiting = [part.query for part in undivided or crawl.left[-1:]]
    why = f"the first crawl goes on; {count(len(held.records), 'record')} found so far"
    gain = interface.page_size * UNREAD
    return [
        PlannedQuery(str(query), _pages_left(crawl, query, interface), gain, why)
        for query in waiting
    ]


def _pages_left(crawl: CrawlState, query: Query, interface: Interface) -> int:
    """Return the pages of a query still to be read, if it is being read; else one.

    Without a hit count it is as many as were read already.
    """
    begun = crawl.begun
    if begun is None or begun.query != query:
        return 1
    if begun.total is None:
        return max(begun.pages, 1)
    return max(interface.pages(begun.total) - begun.pages, 1)
