"""The first turns at a form: all there is is read, as far as the budget goes."""

from math import ceil

from halflife.forms import Interface, Query
from halflife.queries.frontier import Crawl
from halflife.queries.held import Held
from halflife.queries.kept import Asked, Kept, Tried
from halflife.queries.ledger import Ledger
from halflife.queries.splitting import Crawling
from halflife.wording import count

UNREAD = 365.0  # days that a record which was never read is missed for, at most


def crawling(ledger: Ledger, held: Held) -> Crawling:
    """Return the first crawl: from its beginning, or from where it was cut short."""
    return Crawling(ledger, held.records.values(), resume=held.crawl)


def first_crawl(walk: Crawling) -> Kept:
    """Read all there is, as far as the budget goes.

    What takes several turns was not all there at one moment, so it is no complete
    look. A crawl that asks for words goes on only if a number can tell when it is done;
    what it lacks is better looked for as new records are.
    """
    done, ledger = walk.done(), walk.ledger
    goes_on = bool(done.left) and (not done.words or done.total is not None)
    asked = [Asked(str(query), 1, 0.0, "the first crawl") for query in ledger.asked]
    return Kept(
        dict(ledger.seen),
        complete=done.complete and not walk.resumed,
        asked=asked,
        stop=_said(done),
        trouble=ledger.trouble if done.why else "",
        tried=[_tried(ledger, query) for query in ledger.asked],
        left=done if goes_on else None,
    )


def _said(crawl: Crawl) -> str:
    """Return how far a crawl has come."""
    if crawl.complete:
        return "everything was read"
    if crawl.left:
        return f"{count(len(crawl.left), 'query', 'queries')} left open"
    less = len(set(crawl.unresolved + crawl.unproven))
    return f"all was asked; {count(less, 'query', 'queries')} may have more than shown"


def _tried(ledger: Ledger, query: Query) -> Tried:
    """Return what a query of the first crawl brought; all of it is new."""
    shown = len(ledger.shown[query])
    pages = max(1, ceil(shown / ledger.interface.page_size))
    return Tried(str(query), pages, shown, shown, ledger.totals.get(query))


def crawl_ahead(held: Held, interface: Interface) -> list[Asked]:
    """Return what the first crawl asks next; each page may be all new."""
    crawl = held.crawl or Crawl.of_nothing()
    # What was divided already is only looked at again, unless nothing else is left.
    fresh = [part for part in reversed(crawl.left) if not part.tried]
    waiting = [part.query for part in fresh or crawl.left[-1:]]
    why = f"the first crawl goes on; {count(len(held.records), 'record')} found so far"
    gain = interface.page_size * UNREAD
    return [
        Asked(str(query), _pages_left(crawl, query, interface), gain, why)
        for query in waiting
    ]


def _pages_left(crawl: Crawl, query: Query, interface: Interface) -> int:
    """Return the pages of a query still to be read, if it is being read; else one.

    Where nobody says how many there are, as many as were read already.
    """
    begun = crawl.begun
    if begun is None or begun.query != query:
        return 1
    if begun.total is None:
        return max(begun.pages, 1)
    return max(interface.pages(begun.total) - begun.pages, 1)
