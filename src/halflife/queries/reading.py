"""Whether all that answers a query was seen, or only what the form shows of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from halflife.forms import Found, Query
from halflife.queries.ledger import Ledger
from halflife.register import Attributes

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


class Reader:
    """Reads the answers to queries as far as that is worth it, each once.

    Args:
        ledger: Where the requests are counted.
        most: Records of a query that are worth reading; a query with more of them
            overflows, as one with more than the form's cap does. No limit if None.

    """

    def __init__(self, ledger: Ledger, most: float | None = None) -> None:
        self.ledger = ledger
        self._cap = ledger.interface.cap
        self.most = min(inf if end is None else end for end in (most, self._cap))
        self._known: dict[Query, Read] = {}

    def answers(self, query: Query) -> bool:
        """Say whether the form can be asked this."""
        interface = self.ledger.interface
        return (interface.everything or bool(query)) and len(
            query
        ) <= interface.together

    def known(self, query: Query) -> Read | None:
        """Return what was read before, if anything."""
        return self._known.get(query)

    def read(self, query: Query) -> Read:
        """Return the answer to a query; pages are read until it is sure to overflow.

        What the form cannot be asked is taken to overflow. A form without counts that
        shows as many records as its cap is taken to have more. One that counts exactly
        and shows less than it counts has more, too.
        """
        known = self._known.get(query)
        if known is None:
            asks = self.answers(query)
            known = self._ask(query) if asks else Read({}, whole=False)
            self._known[query] = known
        return known

    def _ask(self, query: Query) -> Read:
        first = self.ledger.first(query)
        total = first.total if self.ledger.interface.counts == "exact" else None
        if self._overflows(first):
            return Read(first.records, whole=False, total=total)
        records: dict[str, Attributes] = {}
        more = True
        pages = None if self.most == inf else self.ledger.interface.pages(self.most)
        for page in self.ledger.pages(query, pages):
            records.update(page.records)
            more = page.more
        if total is not None:
            return Read(records, not more and len(records) >= total, total)
        capped = self._cap is not None and len(records) >= self._cap
        return Read(records, not more and not capped)

    def _overflows(self, first: Found) -> bool:
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
