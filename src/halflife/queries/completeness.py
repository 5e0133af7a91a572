"""Whether all that answers a query was seen, or only what the form shows of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from halflife.core.forms import Query, ResultPage
from halflife.core.object_store import Attributes
from halflife.queries.ledger import Ledger

ROUNDING = 1.06  # a count of two digits is off by less


@dataclass(frozen=True, slots=True)
class Read:
    """What is known of the answer to a query.

    Attributes:
        records: What was shown.
        whole: Whether that is everything; if not, the query overflows.
        total: The number of hits, if the form tells it exactly.

    """

    records: Mapping[str, Attributes]
    whole: bool
    total: int | None = None


@dataclass(slots=True)
class Begun:
    """A query that is being read.

    Attributes:
        query: The query.
        page_size: Records on a page.
        pages: Pages read so far.
        records: What they showed.
        total: The number of hits, if the form tells it exactly.

    """

    query: Query
    page_size: int
    pages: int = 0
    records: dict[str, Attributes] = field(default_factory=dict)
    total: int | None = None


class AnswerCompleter:
    """Reads the answers to queries as far as that is worth it, each once.

    Args:
        ledger: Where the requests are counted.
        most: Records of a query that are worth reading; a query with more of them
            overflows, as one with more than the form's cap does. No limit if None.
        known: What was read before.
        begun: What was being read when it was cut short.

    Attributes:
        reads: What was read, by query.
        begun: What is being read, or was last.

    """

    def __init__(
        self,
        ledger: Ledger,
        most: float | None = None,
        *,
        known: Mapping[Query, Read] | None = None,
        begun: Begun | None = None,
    ) -> None:
        self.ledger = ledger
        self._cap = ledger.interface.cap
        self.most = min(inf if end is None else end for end in (most, self._cap))
        self.reads = dict(known or {})
        self.begun = begun

    def answers(self, query: Query) -> bool:
        """Say whether the form can be asked this."""
        interface = self.ledger.interface
        return (interface.everything or bool(query)) and len(
            query
        ) <= interface.together

    def known(self, query: Query) -> Read | None:
        """Return what was read before, if anything."""
        return self.reads.get(query)

    def read(self, query: Query) -> Read:
        """Return the answer to a query; pages are read until it is sure to overflow.

        What the form cannot be asked is taken to overflow. A form without counts that
        shows as many records as its cap is taken to have more. One that counts exactly
        and shows less than it counts has more, too.
        """
        known = self.reads.get(query)
        if known is None:
            asks = self.answers(query)
            known = self._ask(query) if asks else Read({}, whole=False)
            self.reads[query] = known
        return known

    def _ask(self, query: Query) -> Read:
        self.begun = begun = self._begin(query)
        exact = self.ledger.interface.counts == "exact"
        if not begun.pages:
            first = self.ledger.first(query)
            begun.total = first.total if exact else None
            if self._overflows(first):
                return Read(first.records, whole=False, total=begun.total)
        pages = None if self.most == inf else self.ledger.interface.pages(self.most)
        more = self._go_on(begun, pages)
        records, total = begun.records, begun.total
        capped = self._cap is not None and len(records) >= self._cap
        if total is None or self.ledger.trust.refuted:
            return Read(records, not more and not capped)
        if not more and not capped and self._ends_full(begun):
            more = self._go_on(begun, None)
        whole = not more and len(records) >= total
        # Counting may stop at the cap; a number above it shows that it does not.
        return Read(records, whole and not (capped and not self._counts_on), total)

    @property
    def _counts_on(self) -> bool:
        trust = self.ledger.trust
        return trust.past_cap and trust.agrees

    def _ends_full(self, begun: Begun) -> bool:
        """Say whether only a number that nothing confirms yet says that this is all.

        The page after the last one then tells.
        """
        full = len(begun.records) >= begun.pages * begun.page_size
        return full and bool(begun.records) and not self.ledger.trust.agrees

    def _go_on(self, begun: Begun, pages: int | None) -> bool:
        """Read pages after those that were read; say whether there are more."""
        more = True
        for page in self.ledger.pages(begun.query, pages, begin=begun.pages):
            begun.page_size = self.ledger.interface.page_size
            begun.pages += 1
            begun.records.update(page.records)
            more = page.more
        return more

    def reach(self, query: Query) -> Read:
        """Return all that can be reached of a query that has more."""
        known = self.read(query)
        interface = self.ledger.interface
        if not self.answers(query):
            return known
        self.begun = begun = self._begin(query)
        if self._cap is None or begun.pages < interface.pages(self._cap):
            self._go_on(begun, None)
        found = Read({**known.records, **begun.records}, known.whole, known.total)
        self.reads[query] = found
        return found

    def _begin(self, query: Query) -> Begun:
        """Return how far a query was read, if its pages are still numbered alike."""
        begun = self.begun
        if begun is not None and begun.query == query and begun.pages:
            if begun.page_size != self.ledger.interface.page_size:
                self.ledger.first(query)  # only its answer may tell how long pages are
            if begun.page_size == self.ledger.interface.page_size:
                return begun
        return Begun(query, self.ledger.interface.page_size)

    def _overflows(self, first: ResultPage) -> bool:
        """Say whether the number of hits alone tells that there are too many."""
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
