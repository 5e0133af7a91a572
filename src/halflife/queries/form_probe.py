"""What a form really does: a few requests that show where it deviates from its claims.

The number of hits is held against what can be read whole, against wider queries, and
against the last page it promises; pages are asked for twice; an end of the results that
two queries share is a cap.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from numpy.random import Generator

from halflife.core.errors import BudgetSpent, SourceError
from halflife.core.forms import Query, ResultPage, Term
from halflife.queries.counts import BELIEVED
from halflife.queries.form_facts import Measured
from halflife.queries.ledger import Ledger
from halflife.queries.notes import SLACK, End, Notes, usual_ends
from halflife.queries.verdicts import judged

REQUESTS = 20
SINGLES = 3  # queries of one term or none
MISSES = 6  # seeds that may find nothing
SMALL = 7  # small queries, at most
SUSPECT = 5  # small queries, at most, if results end before they should
UNCOUNTED = 2  # small queries, if there is nothing to count for
FILLED = 0.7  # part of a page that a small query should fill
TELLING = 0.4  # part of a page from which on it tells much
STRETCH = 4  # pages are skipped by this factor when nothing says where they end
DIGITS = 2  # of a number that may be rounded


def measure(
    ledger: Ledger,
    seeds: Iterable[Term],
    rng: Generator,
    most: int = REQUESTS,
    *,
    date: str = "",
    brief: bool = False,
) -> Measured:
    """Find out what a form does, with at most so many requests.

    ``seeds`` are terms that may find something; the first that do lead to others.
    ``date`` is the attribute that says how new a record is, if there is one. ``brief``
    asks only for what a crawl goes by, and neither for the newest nor by keys. What
    the budget did not reach stays unknown.
    """
    inquiry = _Inquiry(ledger, rng, most)
    if brief:
        claimed = replace(inquiry.notes.claimed, newest=False, lookup=False)
        inquiry.notes.claimed = claimed
    try:
        inquiry.run(tuple(seeds))
    except BudgetSpent as error:
        inquiry.notes.trouble = inquiry.notes.trouble or str(error)
    return judged(inquiry.notes, inquiry.spent, date)


class _Inquiry:
    """The questions, in the order of what they are worth."""

    def __init__(self, ledger: Ledger, rng: Generator, most: int) -> None:
        self.notes = Notes(ledger.interface, ledger.interface.page_size)
        self._ledger, self._rng, self._most = ledger, rng, most
        self._began = ledger.requests

    @property
    def spent(self) -> int:
        """Requests so far, those without an answer included."""
        return self._ledger.requests - self._began + self.notes.failures

    def run(self, seeds: tuple[Term, ...]) -> None:
        """Ask everything that is worth a request."""
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
        """Return an answer, asked for twice if need be; None if none came."""
        for _ in range(2):
            if self.spent >= self._most:
                raise BudgetSpent(f"all {self._most} requests are spent")
            try:
                found = self._ledger.ask(query, page, newest=newest)
            except SourceError as error:
                self.notes.fail(str(error))
                continue
            if not newest:
                self.notes.pages.setdefault((query, page), found)
            return found
        return None

    def _begin(self, seeds: tuple[Term, ...]) -> None:
        """Ask for everything, and for what single terms find."""
        notes, everything = self.notes, self.notes.claimed.everything
        plain = self._ask(Query()) if everything else None
        hits, misses = int(bool(plain and plain.records)), 0
        for term in self._terms(seeds):
            if hits >= SINGLES or misses >= MISSES:
                break
            found = self._ask(Query.of(term))
            good = bool(found and found.records)
            hits += good
            misses += 0 if good else 1 if found else 2
        if everything and notes.pages:  # else it answers nothing at all
            notes.everything = bool(plain and plain.records)

    def _terms(self, seeds: tuple[Term, ...]) -> Iterator[Term]:
        """Return terms to ask for, of one attribute after the other.

        Those that many of the records shown meet come first, but not those that all
        do; then the seeds.
        """
        tried: set[Term] = set()
        while True:
            used = {term.attribute for term in tried}
            shares = self.notes.shares()
            known = [t for t in shares if t not in tried and shares[t] < 1.0]
            fresh = [t for t in known if t.attribute not in used] or known
            left = [seed for seed in seeds if seed not in tried]
            if fresh:
                term = max(fresh, key=lambda t: (shares[t], t))
            elif left:
                term = left[0]
            else:
                return
            tried.add(term)
            yield term

    def _pages(self, big: Query) -> None:
        """Ask for the second page and for the first one again; learn their size."""
        first = self.notes.pages[big, 0]
        self.notes.size = self._ledger.interface.page_size
        if first.more or len(first.records) < self.notes.size:
            second = self._ask(big, 1)
            if second and second.records.keys() - first.records.keys():
                self.notes.size = len(first.records)
        again = self._ask(big)
        if again is not None:
            self.notes.again[big] = again

    def _promised(self, big: Query) -> bool:
        """Ask for the last page there should be; say whether it is there."""
        pages = [(p, f) for (q, p), f in self.notes.pages.items() if q == big]
        last, found = max((one for one in pages if one[1].records), default=pages[0])
        self.notes.ends[big] = End(last, len(found.records))
        if self.notes.claimed.walks:  # all pages before it would have to be paid for
            return True
        told, stuck = self.notes.total(big), last and self.notes.repeats(big, last)
        return bool(stuck) or told is None or self._try(big, self._goal(told))

    def _goal(self, told: int) -> int:
        """Return the last page that can be there."""
        return (min(told, self.notes.claimed.cap or told) - 1) // self.notes.size

    def _small(self, most: int) -> None:
        """Ask for a few results that one page holds, to count them."""
        scale, told = 1.0, bool(self.notes.totals())
        for _ in range(most if told else UNCOUNTED):
            agreed = not self.notes.off() and self.notes.luck() <= BELIEVED
            sure = told and (agreed or self.notes.lied())
            query = None if sure else self._narrow(scale)
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
        """Return a query that about half a page of results should answer.

        It begins with a term that was asked for, and adds what one of its records
        meets until it should be narrow enough, as if terms came independently.
        """
        notes, shares = self.notes, self.notes.shares()
        wide = [(q, f) for q, f in notes.firsts() if f.records and len(q) < 2]
        wide = [(q, f) for q, f in wide if len(f.records) >= notes.size] or wide
        together = notes.claimed.together
        for _ in range(SMALL):
            query, found = wide[int(self._rng.integers(len(wide)))]
            key = list(found.records)[int(self._rng.integers(len(found.records)))]
            hits = float(found.total or STRETCH * notes.size) * scale
            terms = [t for t in notes.claimed.terms(found.records[key]) if t in shares]
            for i in self._rng.permutation(len(terms)).tolist():
                room = len(query) < together and hits > notes.size * FILLED
                if room and shares[terms[i]] < 1.0 and terms[i] not in query.terms:
                    query, hits = query & terms[i], hits * shares[terms[i]]
            if query and notes.first(query) is None:
                return query
        return None

    def _rest(self) -> None:
        """Ask for attributes, and for two terms at once, if nothing did yet."""
        notes = self.notes
        asked = {t.attribute for q, _ in notes.firsts() if len(q) == 1 for t in q}
        shares = notes.shares()
        for attribute in notes.claimed.attributes:
            terms = [t for t in shares if t.attribute == attribute.name]
            if attribute.name not in asked and terms:
                self._ask(Query.of(max(terms, key=lambda t: (shares[t], t))))
        joined = any(len(q) > 1 and f.records for q, f in notes.firsts())
        if not joined and notes.claimed.together > 1:
            common = sorted(shares, key=lambda t: (-shares[t], t))
            pairs = (
                (a, b) for a in common for b in common if a.attribute < b.attribute
            )
            for pair in islice(pairs, 1):
                self._ask(Query.of(*pair))

    def _doubt(self, query: Query, found: ResultPage) -> None:
        """Look at the last results of a query that found more than its terms do."""
        wider = [self.notes.total(Query.of(term)) for term in query]
        known = [total for total in wider if total is not None]
        odd = found.total and known and found.total > min(known) * SLACK + 1
        if odd and found.total and not self.notes.claimed.walks:
            size, cap = self.notes.size, self.notes.claimed.cap
            self._ask(query, (min(found.total, cap or found.total) - 1) // size)

    def _newest(self, big: Query) -> None:
        """Ask for the newest."""
        if self.notes.claimed.newest:
            self.notes.newest[big] = self._ask(big, newest=True)

    def _lookups(self) -> None:
        """Look up a record that is there, and one that nobody has."""
        if not self.notes.claimed.lookup:
            return
        keys = list(self.notes.records())
        key = keys[int(self._rng.integers(len(keys)))]
        self.notes.looked[key] = self._fetch(key)
        missing = self._fetch(f"{key[:50]}-none")
        self.notes.absent = bool(missing and missing.records)

    def _fetch(self, key: str) -> ResultPage | None:
        if self.spent >= self._most:
            raise BudgetSpent(f"all {self._most} requests are spent")
        try:
            return self._ledger.fetch(key)
        except SourceError as error:
            self.notes.fail(str(error))
            return None

    def _end(self, big: Query) -> None:
        """Look for the end of the results, and whether another query ends there."""
        first, told = self.notes.pages[big, 0], self.notes.total(big)
        stuck = (big, 1) in self.notes.pages and self.notes.repeats(big, 1)
        last, lies = self.notes.ends[big].last, self.notes.lied()
        if self.notes.claimed.walks or lies or stuck or (not first.more and last == 0):
            return
        self._search(big, told)
        end = self.notes.ends[big]
        short = told is None or end.reach(self.notes.size) * SLACK < told
        if end.sharp and short and end.last > 0 and not list(self.notes.whole()):
            self._compare(big, end)

    def _search(self, query: Query, told: int | None) -> None:
        """Narrow down where the results of a query end."""
        size, cap = self.notes.size, self.notes.claimed.cap
        if told is not None:
            promised = min(told, cap or told)
            if self._try(query, self._goal(told)):
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
        """Look further on unless the last page shows that it is the last."""
        end, size, cap = self.notes.ends[query], self.notes.size, self.notes.claimed.cap
        full = end.shown >= size or end.reach(size) > promised
        if full and (cap is None or promised < cap):
            self._try(query, max(int(promised * SLACK) // size, end.last + 1))

    def _try(self, query: Query, page: int) -> bool:
        """Ask for a page; say whether it, or one after it, has records."""
        end = self.notes.ends[query]
        if page <= end.last:
            return True
        if end.beyond is not None and page >= end.beyond:
            return False
        found = self._ask(query, page)
        if found is None:
            raise BudgetSpent("a page of results could not be read")
        if found.records and not self.notes.repeats(query, page):
            part = len(found.records) < self.notes.size and not found.more
            beyond = page + 1 if part else end.beyond
            self.notes.ends[query] = End(page, len(found.records), beyond)
            return True
        self.notes.ends[query] = end._replace(beyond=page)
        return False

    def _compare(self, big: Query, end: End) -> None:
        """See whether another query that should go on ends where this one does."""
        reach = end.reach(self.notes.size) * SLACK
        others = [
            query
            for query, found in self.notes.firsts()
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
    """Return the page to try next: where sites often end, else about the middle.

    The page after a usual end tells whether the end lies before it.
    """
    ends = usual_ends(size)
    usual = sorted(page for page in ends if last < page < beyond)
    if usual:
        return usual[len(usual) // 2]
    if beyond in ends:
        return beyond - 1
    middle = int(((last + 1) * (beyond + 1)) ** 0.5) - 1
    return max(middle, last + 1)
