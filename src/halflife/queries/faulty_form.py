"""A form with faults that its interface does not show, for tests and probes."""

from dataclasses import dataclass
from itertools import islice

from halflife.core.errors import SourceError
from halflife.core.forms import Form, Interface, Query, ResultPage, Term


@dataclass(frozen=True, slots=True)
class FormFaults:
    """The faults of a form.

    Attributes:
        deaf: Attributes that it ignores.
        either: Whether it joins terms by «or»: half of a page answers the first term,
            the other half the rest.
        stuck: Whether every page is the first.
        overlap: Records of the previous page with which each page begins.
        unsorted: Whether it ignores a request for the newest first.
        lost: Whether it finds no record by its key.
        fails: One answer in so many fails; none if 0.

    """

    deaf: frozenset[str] = frozenset()
    either: bool = False
    stuck: bool = False
    overlap: int = 0
    unsorted: bool = False
    lost: bool = False
    fails: int = 0


class FaultyForm:
    """A form with faults that claims the interface ``claimed``."""

    def __init__(
        self, form: Form, troubles: FormFaults, claimed: Interface | None = None
    ) -> None:
        self.form = form
        self.troubles = troubles
        self.interface = claimed or form.interface
        self.asked = 0

    def ask(self, query: Query, page: int = 0, *, newest: bool = False) -> ResultPage:
        """Return a page of results; the first is number 0."""
        self._stumble()
        honoured = [t for t in query if t.attribute not in self.troubles.deaf]
        page = 0 if self.troubles.stuck else page
        newest = newest and not self.troubles.unsorted
        if self.troubles.either and len(honoured) > 1:
            rest = Query.of(*honoured[1:])
            return self._either(honoured[0], rest, page, newest=newest)
        return self._page(Query.of(*honoured), page, newest=newest)

    def fetch(self, key: str) -> ResultPage:
        """Return the record of a key, or nothing if there is none."""
        self._stumble()
        return ResultPage() if self.troubles.lost else self.form.fetch(key)

    def _stumble(self) -> None:
        self.asked += 1
        if self.troubles.fails and self.asked % self.troubles.fails == 0:
            raise SourceError("the form failed")

    def _page(self, query: Query, page: int, *, newest: bool) -> ResultPage:
        found = self.form.ask(query, page, newest=newest)
        if not (self.troubles.overlap and page and found.records):
            return found
        before = list(self.form.ask(query, page - 1, newest=newest).records.items())
        shown = [*before[-self.troubles.overlap :], *found.records.items()]
        kept = dict(shown[: self.form.interface.page_size])
        return ResultPage(kept, found.total, found.more, found.requests)

    def _either(
        self, first: Term, rest: Query, page: int, *, newest: bool
    ) -> ResultPage:
        left = self.form.ask(Query.of(first), page, newest=newest)
        right = self.form.ask(rest, page, newest=newest)
        half = max(self.form.interface.page_size // 2, 1)
        mixed = {
            **dict(islice(left.records.items(), half)),
            **dict(islice(right.records.items(), half)),
        }
        totals = [found.total for found in (left, right) if found.total is not None]
        total = sum(totals) if totals else None
        return ResultPage(mixed, total, left.more or right.more)
