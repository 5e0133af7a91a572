"""A form that does not do what it says, to try others on."""

from dataclasses import dataclass
from itertools import islice

from halflife.core.errors import SourceError
from halflife.core.forms import Form, Interface, Query, ResultPage, Term


@dataclass(frozen=True, slots=True)
class Troubles:
    """What is wrong with a form.

    Attributes:
        deaf: Attributes that it ignores.
        either: Whether it joins terms by «or»: half of a page has what the first
            finds, the other half what the rest finds.
        stuck: Whether every page is the first.
        overlap: Records of the page before with which each page begins.
        unsorted: Whether it ignores that the newest are wanted.
        lost: Whether it finds no record by its key.
        fails: Every how many answers it fails; never if 0.

    """

    deaf: frozenset[str] = frozenset()
    either: bool = False
    stuck: bool = False
    overlap: int = 0
    unsorted: bool = False
    lost: bool = False
    fails: int = 0


class Troubled:
    """A form with troubles, which says that it can do what ``claimed`` says."""

    def __init__(
        self, form: Form, troubles: Troubles, claimed: Interface | None = None
    ) -> None:
        self.form = form
        self.troubles = troubles
        self.interface = claimed or form.interface
        self.asked = 0

    def ask(self, query: Query, page: int = 0, *, newest: bool = False) -> ResultPage:
        """Return a page of results; the first is number 0."""
        self._stumble()
        heard = [t for t in query if t.attribute not in self.troubles.deaf]
        page = 0 if self.troubles.stuck else page
        newest = newest and not self.troubles.unsorted
        if self.troubles.either and len(heard) > 1:
            return self._either(heard[0], Query.of(*heard[1:]), page, newest=newest)
        return self._page(Query.of(*heard), page, newest=newest)

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
        one = self.form.ask(Query.of(first), page, newest=newest)
        two = self.form.ask(rest, page, newest=newest)
        half = max(self.form.interface.page_size // 2, 1)
        mixed = {
            **dict(islice(one.records.items(), half)),
            **dict(islice(two.records.items(), half)),
        }
        told = [found.total for found in (one, two) if found.total is not None]
        total = sum(told) if told else None
        return ResultPage(mixed, total, one.more or two.more)
