"""Probe a form: a few requests that show where it deviates from its claims.

Hit counts are compared with queries that can be read whole, with broader queries, and
with the last page that they imply. Pages are requested twice. Results of two queries
that end at the same place show a cap.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from numpy.random import Generator

from halflife.core.errors import BudgetSpent, SourceError
from halflife.core.forms import Query, ResultPage, Term
from halflife.queries.counts import BELIEVED
from halflife.queries.form_facts import FormFacts
from halflife.queries.ledger import Ledger
from halflife.queries.notes import SLACK, ProbeNotes, ResultEnd, usual_ends
from halflife.queries.verdicts import judge_form

REQUESTS = 20
SINGLES = 3  # queries of at most one term
MISSES = 6  # seeds without results before the search for one ends
SMALL = 7  # small queries, at most
SUSPECT = 5  # small queries, at most, if results end before they should
UNCOUNTED = 2  # small queries, if the form reports no hit counts
FILLED = 0.7  # share of a page that a small query should fill
TELLING = 0.4  # share of a page below which a small query proves little
STRETCH = 4  # the page number grows by this factor while the end is unknown
DIGITS = 2  # of a count that may be rounded


def measure(
    ledger: Ledger,
    seeds: Iterable[Term],
    rng: Generator,
    most: int = REQUESTS,
    *,
    date: str = "",
    brief: bool = False,
) -> FormFacts:
    """Return what a form really does, with at most ``most`` requests.

    ``seeds`` are terms that may find something; the records that they find lead to
    other terms. ``date`` is the attribute with the date of a record, if there is one.
    ``brief`` checks only what a crawl uses, and neither the newest-first order nor
    look-ups by key. What the budget did not reach stays unknown.
    """
    inquiry = _Inquiry(ledger, rng, most)
    if brief:
        claimed = replace(inquiry.notes.claimed, newest=False, lookup=False)
        inquiry.notes.claimed = claimed
    try:
        inquiry.run(tuple(seeds))
    except BudgetSpent as error:
        inquiry.notes.trouble = inquiry.notes.trouble or str(error)
    return judge_form(inquiry.notes, inquiry.spent, date)


class _Inquiry:
    """The requests of a probe, most informative first."""

    def __init__(self, ledger: Ledger, rng: Generator, most: int) -> None:
        self.notes = ProbeNotes(ledger.interface, ledger.interface.page_size)
        self._ledger, self._rng, self._most = ledger, rng, most
        self._began = ledger.requests

    @property
    def spent(self) -> int:
        """Requests so far, failed ones included."""
        return self._ledger.requests - self._began + self.notes.failures

    def run(self, seeds: tuple[Term, ...]) -> None:
        """Send all requests that the probe needs."""
        self._begin(seeds)
        big = self.notes.biggest()
        if big is None:
            return
        self._pages(big)
        kept = self._promised(big)
        self._small(SMALL if kept else SUSPECT)
        self._newest(big)
        self._lookups()
        self._end(big)
        self._rest()

    def _ask(
        self, query: Query, page: int = 0, *, newest: bool = False
    ) -> ResultPage | None:
        """Return an answer after at most two attempts; None if both failed."""
        for _ in range(2):
            if self.spent >= self._most:
                raise BudgetSpent(f"all {self._most} requests are spent")
            try:
                found = self._ledger.ask(query, page, newest=newest)
            except SourceError as error:
                self.notes.note_failure(str(error))
                continue
            if not newest:
                self.notes.pages.setdefault((query, page), found)
            return found
        return None

    def _begin(self, seeds: tuple[Term, ...]) -> None:
        """Send the empty query, and queries of single terms."""
        notes, everything = self.notes, self.notes.claimed.everything
        plain = self._ask(Query()) if everything else None
        hits, misses = int(bool(plain and plain.records)), 0
        for term in self._terms(seeds):
            if hits >= SINGLES or misses >= MISSES:
                break
            found = self._ask(Query.of(term))
            has_records = bool(found and found.records)
            hits += has_records
            misses += 0 if has_records else 1 if found else 2
        if everything and notes.pages:  # else it answers nothing at all
            notes.everything = bool(plain and plain.records)

    def _terms(self, seeds: tuple[Term, ...]) -> Iterator[Term]:
        """Yield terms to query, of one attribute after the other.

        Terms that many of the records shown meet come first, except those that all
        meet; then the seeds.
        """
        tried: set[Term] = set()
        while True:
            used = {term.attribute for term in tried}
            shares = self.notes.shares()
            untried = [t for t in shares if t not in tried and shares[t] < 1.0]
            preferred = [t for t in untried if t.attribute not in used] or untried
            left = [seed for seed in seeds if seed not in tried]
            if preferred:
                term = max(preferred, key=lambda t: (shares[t], t))
            elif left:
                term = left[0]
            else:
                return
            tried.add(term)
            yield term

    def _pages(self, big: Query) -> None:
        """Read the second page, and the first one again; learn the page size."""
        first = self.notes.pages[big, 0]
        self.notes.size = self._ledger.interface.page_size
        if first.more or len(first.records) < self.notes.size:
            second = self._ask(big, 1)
            if second and second.records.keys() - first.records.keys():
                self.notes.size = len(first.records)
        again = self._ask(big)
        if again is not None:
            self.notes.repeated[big] = again

    def _promised(self, big: Query) -> bool:
        """Read the last page that the count implies; return whether it exists."""
        pages = [(p, f) for (q, p), f in self.notes.pages.items() if q == big]
        last, found = max(
            (entry for entry in pages if entry[1].records), default=pages[0]
        )
        self.notes.ends[big] = ResultEnd(last, len(found.records))
        if self.notes.claimed.walks:  # all pages before it would cost requests
            return True
        total, stuck = self.notes.total(big), last and self.notes.repeats(big, last)
        return bool(stuck) or total is None or self._try(big, self._goal(total))

    def _goal(self, total: int) -> int:
        """Return the last page that a query with so many hits can have."""
        return (min(total, self.notes.claimed.cap or total) - 1) // self.notes.size

    def _small(self, most: int) -> None:
        """Send a few queries that one page answers, to check their counts."""
        scale, counted = 1.0, bool(self.notes.totals())
        for _ in range(most if counted else UNCOUNTED):
            agreed = not self.notes.wrong_counts() and self.notes.luck() <= BELIEVED
            settled = counted and (agreed or self.notes.counts_lie())
            query = None if settled else self._narrow(scale)
            if query is None:
                return
            found = self._ask(query)
            if found is None:
                continue
            if len(found.records) >= self.notes.size:
                scale *= 2.0
                self._doubt(query, found)
            elif len(found.records) < self.notes.size * TELLING:
                scale /= 2.0

    def _narrow(self, scale: float) -> Query | None:
        """Return a query that should have about half a page of results.

        It begins with a term that was queried, and adds terms of one of its records
        until it should be narrow enough, as if terms were independent.
        """
        notes, shares = self.notes, self.notes.shares()
        broad = [(q, f) for q, f in notes.first_pages() if f.records and len(q) < 2]
        broad = [(q, f) for q, f in broad if len(f.records) >= notes.size] or broad
        together = notes.claimed.together
        for _ in range(SMALL):
            query, found = broad[int(self._rng.integers(len(broad)))]
            key = list(found.records)[int(self._rng.integers(len(found.records)))]
            hits = float(found.total or STRETCH * notes.size) * scale
            terms = [t for t in notes.claimed.terms(found.records[key]) if t in shares]
            for i in self._rng.permutation(len(terms)).tolist():
                room = len(query) < together and hits > notes.size * FILLED
                if room and shares[terms[i]] < 1.0 and terms[i] not in query.terms:
                    query, hits = query & terms[i], hits * shares[terms[i]]
            if query and notes.first_page(query) is None:
                return query
        return None

    def _rest(self) -> None:
        """Query attributes, and two terms at once, that were not queried yet."""
        notes = self.notes
        queried = {
            t.attribute for q, _ in notes.first_pages() if len(q) == 1 for t in q
        }
        shares = notes.shares()
        for attribute in notes.claimed.attributes:
            terms = [t for t in shares if t.attribute == attribute.name]
            if attribute.name not in queried and terms:
                self._ask(Query.of(max(terms, key=lambda t: (shares[t], t))))
        joined = any(len(q) > 1 and f.records for q, f in notes.first_pages())
        if not joined and notes.claimed.together > 1:
            common = sorted(shares, key=lambda t: (-shares[t], t))
            pairs = (
                (a, b) for a in common for b in common if a.attribute < b.attribute
            )
            for pair in islice(pairs, 1):
                self._ask(Query.of(*pair))

    def _doubt(self, query: Query, found: ResultPage) -> None:
        """Read the last page of a query that reports more hits than its terms."""
        totals = [self.notes.total(Query.of(term)) for term in query]
        bounds = [total for total in totals if total is not None]
        exceeds = found.total and bounds and found.total > min(bounds) * SLACK + 1
        if exceeds and found.total and not self.notes.claimed.walks:
            size, cap = self.notes.size, self.notes.claimed.cap
            self._ask(query, (min(found.total, cap or found.total) - 1) // size)

    def _newest(self, big: Query) -> None:
        """Read the first page in newest-first order."""
        if self.notes.claimed.newest:
            self.notes.newest[big] = self._ask(big, newest=True)

    def _lookups(self) -> None:
        """Look up a key that exists, and one that does not."""
        if not self.notes.claimed.lookup:
            return
        keys = list(self.notes.records())
        key = keys[int(self._rng.integers(len(keys)))]
        self.notes.lookups[key] = self._fetch(key)
        missing = self._fetch(f"{key[:50]}-none")
        self.notes.absent = bool(missing and missing.records)

    def _fetch(self, key: str) -> ResultPage | None:
        if self.spent >= self._most:
            raise BudgetSpent(f"all {self._most} requests are spent")
        try:
            return self._ledger.fetch(key)
        except SourceError as error:
            self.notes.note_failure(str(error))
            return None

    def _end(self, big: Query) -> None:
        """Find the end of the results, and check whether another query ends there."""
        first, total = self.notes.pages[big, 0], self.notes.total(big)
        stuck = (big, 1) in self.notes.pages and self.notes.repeats(big, 1)
        last, lies = self.notes.ends[big].last, self.notes.counts_lie()
        if self.notes.claimed.walks or lies or stuck or (not first.more and last == 0):
            return
        self._search(big, total)
        end = self.notes.ends[big]
        short = total is None or end.reach(self.notes.size) * SLACK < total
        if (
            end.sharp
            and short
            and end.last > 0
            and not list(self.notes.one_page_answers())
        ):
            self._compare(big, end)

    def _search(self, query: Query, total: int | None) -> None:
        """Narrow down where the results of a query end."""
        size, cap = self.notes.size, self.notes.claimed.cap
        if total is not None:
            promised = min(total, cap or total)
            if self._try(query, self._goal(total)):
                self._overshoot(query, promised)
                return
            rough = str(promised).rstrip("0")
            if len(rough) <= DIGITS and self._try(query, int(promised / SLACK) // size):
                return
        while not self.notes.ends[query].sharp:
            end = self.notes.ends[query]
            if end.beyond is not None:
                self._try(query, _between(end.last, end.beyond, size))
            elif cap is not None and end.last >= (cap - 1) // size:
                return
            else:
                ahead = (end.last + 1) * STRETCH
                self._try(query, min(ahead, (cap - 1) // size) if cap else ahead)

    def _overshoot(self, query: Query, promised: int) -> None:
        """Read a later page unless the last page shows that it is the last."""
        end, size, cap = self.notes.ends[query], self.notes.size, self.notes.claimed.cap
        full = end.shown >= size or end.reach(size) > promised
        if full and (cap is None or promised < cap):
            self._try(query, max(int(promised * SLACK) // size, end.last + 1))

    def _try(self, query: Query, page: int) -> bool:
        """Read a page; return whether it, or one after it, has records."""
        end = self.notes.ends[query]
        if page <= end.last:
            return True
        if end.beyond is not None and page >= end.beyond:
            return False
        found = self._ask(query, page)
        if found is None:
            raise BudgetSpent("a page of results could not be read")
        if found.records and not self.notes.repeats(query, page):
            is_last = len(found.records) < self.notes.size and not found.more
            beyond = page + 1 if is_last else end.beyond
            self.notes.ends[query] = ResultEnd(page, len(found.records), beyond)
            return True
        self.notes.ends[query] = end._replace(beyond=page)
        return False

    def _compare(self, big: Query, end: ResultEnd) -> None:
        """Check whether another query, with more results, ends where this one does."""
        reach = end.reach(self.notes.size) * SLACK
        others = [
            query
            for query, found in self.notes.first_pages()
            if query != big
            and len(found.records) >= self.notes.size
            and (found.total is None or found.total > reach)
        ]
        for query in others[:1]:
            inside = self._ask(query, end.last)
            if inside is not None and not inside.records:
                self.notes.shared = False
                return
            outside = self._ask(query, end.beyond or end.last + 1)
            if inside is not None and outside is not None:
                self.notes.shared = not outside.records


def _between(last: int, beyond: int, size: int) -> int:
    """Return the page to try next: a usual end of results, else about the middle.

    The page after a usual end shows whether the end lies before it.
    """
    ends = usual_ends(size)
    usual = sorted(page for page in ends if last < page < beyond)
    if usual:
        return usual[len(usual) // 2]
    if beyond in ends:
        return beyond - 1
    middle = int(((last + 1) * (beyond + 1)) ** 0.5) - 1
    return max(middle, last + 1)
