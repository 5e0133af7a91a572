"""Whether the numbers of hits that a form tells agree with what it shows.

A probe asks a few questions before the first crawl; every answer after it is a further
test. An answer that ends on a page which is not full is whole, whatever is counted: its
records are then as many as were told, or the number is wrong.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from halflife.core.forms import Counts, Query, ResultPage
from halflife.queries.notes import LUCK, SLACK

AMISS = (
    0.1  # of its hits that a number may be off by: records come, go, or are unreadable
)
ROUGHLY = 0.25  # the same of numbers that are rounded
GROSS = 0.25  # off by more than this, and by more than a few records, once is enough
FEW = 5  # records
DIGITS = 2  # that a rounded number keeps
MANY = 100  # hits from which on rounding shows
TWICE = 2  # queries that disagree refute the numbers
LUCKY = 0.5  # chance of agreeing by luck from which on numbers are not believed yet


@dataclass(slots=True)
class CountTrust:
    """What the answers so far say about the numbers of hits.

    Attributes:
        counts: What the numbers are said to be worth.
        luck: The chance that numbers which lie agree wherever they did.
        refuted: Why they are not believed any more; empty if they are.
        past_cap: Whether a number above the cap was told: counting goes on there.

    """

    counts: Counts = "exact"
    luck: float = 1.0
    refuted: str = ""
    past_cap: bool = False
    _past_page: bool = False  # a number of hits, and not of records on the page
    _fullest: int = 0
    _told: dict[Query, int] = field(default_factory=dict)
    _read: dict[Query, int] = field(default_factory=dict)  # pages, one after the other
    _against: dict[Query, str] = field(default_factory=dict)

    @property
    def rough(self) -> float:
        """By what factor less one large numbers may be off: all may be rounded."""
        large = [str(told) for told in self._told.values() if told >= MANY]
        exact = any(len(told.rstrip("0")) > DIGITS for told in large)
        sharp = not large or (exact and self.counts != "rounded")
        return 0.0 if sharp else SLACK - 1.0

    @property
    def agrees(self) -> bool:
        """Whether numbers were checked, and none was wrong."""
        sound = not self.refuted and not self._against
        return sound and self._past_page and self.luck <= LUCKY

    @property
    def confirmed(self) -> float:
        """The chance that wrong numbers agreed as these did; 1 if nothing shows it."""
        return self.luck if self.agrees else 1.0

    def recall(self, luck: float) -> None:
        """Go on from what earlier answers have confirmed."""
        if luck < 1.0:
            self.luck, self._past_page = self.luck * luck, True

    def hear(
        self,
        query: Query,
        page: int,
        found: ResultPage,
        shown: AbstractSet[str],
        cap: int | None,
    ) -> None:
        """Take in an answer; ``shown`` is what the query has shown so far, with it."""
        self._fullest = max(self._fullest, len(found.records))
        if page == self._read.get(query, 0):
            self._read[query] = page + 1
        if not page and found.total is not None:
            self._compare(query, found.total)
            self.past_cap |= cap is not None and found.total > cap
            self._past_page |= found.total > len(found.records) > 0
        told = self._told.get(query)
        if self.counts == "none" or told is None:
            return
        if self.counts == "capped" and cap is not None and told >= cap:
            return
        whole = self._read.get(query, 0) == page + 1 and self._is_last(found)
        # Where nothing is cut off a number that is too high hides no record, and what
        # it grows by says that some have come.
        telling = not self._cut(shown, cap) if cap is not None else told == len(shown)
        if len(shown) > told:
            self.weigh(query, told, len(shown), "shown")
        elif whole and telling:
            self.weigh(query, told, len(shown), "there")

    def _is_last(self, found: ResultPage) -> bool:
        return len(found.records) < self._fullest

    def _cut(self, shown: AbstractSet[str], cap: int) -> bool:
        return len(shown) >= cap

    def _compare(self, query: Query, total: int) -> None:
        """Hold a number against the one told before, and those of wider queries."""
        before = self._told.get(query)
        if before is not None and self._far(before, total):
            self._doubt(query, f"{query}: {before} were told, then {total}")
        for term in query:
            wide = Query.of(*(one for one in query if one != term))
            bound = self._told.get(wide)
            if bound is not None and total > bound and self._far(bound, total):
                self._doubt(
                    query, f"{query}: {total} were told, but {bound} for {wide}"
                )
        self._told[query] = total

    def weigh(self, query: Query, told: int, true: int, how: str) -> None:
        """Hold a number that was told against the records that there are."""
        if self._far(true, told):
            gross = abs(told - true) > max(FEW, GROSS * true)
            why = f"{query}: {told} were told, {true} {how}"
            self._doubt(query, why, weight=TWICE if gross else 1)
        elif how == "there" and told == true and true:
            self.luck *= min(LUCK / true, 1.0)

    def _far(self, true: int, told: int) -> bool:
        slack = ROUGHLY if self.counts == "rounded" else AMISS
        return abs(told - true) > max(1.0, slack * true)

    def _doubt(self, query: Query, why: str, weight: int = 1) -> None:
        if self.counts == "none" or self.refuted:
            return
        self._against.setdefault(query, why)
        if len(self._against) + weight - 1 >= TWICE:
            self.refuted = why
