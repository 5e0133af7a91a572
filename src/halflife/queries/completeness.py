"""QueryAnswer the answers to queries, and decide whether they are complete."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from halflife.core.forms import Query, ResultPage
from halflife.core.object_store import Attributes
from halflife.queries.ledger import Ledger

ROUNDING = 1.06  # a count of two digits is off by less


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """What is known of the answer to a query.

    Attributes:
        records: The records shown.
        whole: Whether these are all; if not, the query overflows.
        total: The number of hits, if the form reports it exactly.

    """

    records: Mapping[str, Attributes]
    whole: bool
    total: int | None = None


@dataclass(slots=True)
class PartialAnswer:
    """The answer to a query of which some pages were read.

    Attributes:
        query: The query.
        page_size: Records on a page.
        pages: Pages read so far.
        records: The records on them.
        total: The number of hits, if the form reports it exactly.

    """

    query: Query
    page_size: int
    pages: int = 0
    records: dict[str, Attributes] = field(default_factory=dict)
    total: int | None = None


class QueryReader:
    """Reads the answers to queries up to a limit, each once.

    Args:
        ledger: Where the requests are counted.
        most: Records of a query that are worth reading; a query with more of them
            overflows, as one with more than the form's cap does. No limit if None.
        known: Answers read before.
        begun: The answer whose reading was interrupted.

    Attributes:
        reads: The answers read, by query.
        begun: The answer being read, or read last.

    """

    def __init__(
        self,
        ledger: Ledger,
        most: float | None = None,
        *,
        known: Mapping[Query, QueryAnswer] | None = None,
        begun: PartialAnswer | None = None,
    ) -> None:
        self.ledger = ledger
        self._cap = ledger.interface.cap
        self.most = min(inf if end is None else end for end in (most, self._cap))
        self.reads = dict(known or {})
        self.begun = begun

    def answers(self, query: Query) -> bool:
        """Return whether the form accepts a query."""
        interface = self.ledger.interface
        return (interface.everything or bool(query)) and len(
            query
        ) <= interface.together

    def known(self, query: Query) -> QueryAnswer | None:
        """Return the answer read before, if there is one."""
        return self.reads.get(query)

    def read(self, query: Query) -> QueryAnswer:
        """Return the answer to a query; pages are read until it is sure to overflow.

        A query that the form does not accept is taken to overflow. So is one of a form
        without counts that shows as many records as its cap, and one that shows fewer
        records than an exact count.
        """
        answer = self.reads.get(query)
        if answer is None:
            accepted = self.answers(query)
            answer = self._ask(query) if accepted else QueryAnswer({}, whole=False)
            self.reads[query] = answer
        return answer

    def _ask(self, query: Query) -> QueryAnswer:
        self.begun = begun = self._begin(query)
        exact = self.ledger.interface.counts == "exact"
        if not begun.pages:
            first = self.ledger.first(query)
            begun.total = first.total if exact else None
            if self._overflows(first):
                return QueryAnswer(first.records, whole=False, total=begun.total)
        pages = None if self.most == inf else self.ledger.interface.pages(self.most)
        more = self._go_on(begun, pages)
        records, total = begun.records, begun.total
        capped = self._cap is not None and len(records) >= self._cap
        if total is None or self.ledger.trust.refuted:
            return QueryAnswer(records, not more and not capped)
        if not more and not capped and self._ends_full(begun):
            more = self._go_on(begun, None)
        whole = not more and len(records) >= total
        # Counting may stop at the cap; a number above it shows that it does not.
        return QueryAnswer(
            records, whole and not (capped and not self._counts_on), total
        )

    @property
    def _counts_on(self) -> bool:
        trust = self.ledger.trust
        return trust.past_cap and trust.agrees

    def _ends_full(self, begun: PartialAnswer) -> bool:
        """Return whether only an unconfirmed count shows that this is all.

        The next page then decides.
        """
        full = len(begun.records) >= begun.pages * begun.page_size
        return full and bool(begun.records) and not self.ledger.trust.agrees

    def _go_on(self, begun: PartialAnswer, pages: int | None) -> bool:
        """Read the pages after those already read; return whether there are more."""
        more = True
        for page in self.ledger.pages(begun.query, pages, begin=begun.pages):
            begun.page_size = self.ledger.interface.page_size
            begun.pages += 1
            begun.records.update(page.records)
            more = page.more
        return more

    def reach(self, query: Query) -> QueryAnswer:
        """Return all reachable records of a query that overflows."""
        answer = self.read(query)
        interface = self.ledger.interface
        if not self.answers(query):
            return answer
        self.begun = begun = self._begin(query)
        if self._cap is None or begun.pages < interface.pages(self._cap):
            self._go_on(begun, None)
        records = {**answer.records, **begun.records}
        self.reads[query] = extended = QueryAnswer(records, answer.whole, answer.total)
        return extended

    def _begin(self, query: Query) -> PartialAnswer:
        """Return how far a query was read, if its pages still have the same size."""
        begun = self.begun
        if begun is not None and begun.query == query and begun.pages:
            if begun.page_size != self.ledger.interface.page_size:
                self.ledger.first(query)  # its answer may show the page size
            if begun.page_size == self.ledger.interface.page_size:
                return begun
        return PartialAnswer(query, self.ledger.interface.page_size)

    def _overflows(self, first: ResultPage) -> bool:
        """Return whether the hit count alone shows that there are too many."""
        if first.total is None:
            return False
        match self.ledger.interface.counts:
            case "exact":
                return first.total > self.most
            case "rounded":
                return first.total > self.most * ROUNDING
            case "capped":
                return self._cap is not None and first.total >= self._cap
            case "none":
                return False
