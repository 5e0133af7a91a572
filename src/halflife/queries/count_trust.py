"""Whether the hit counts that a form reports agree with the records it shows.

A probe sends a few queries before the first crawl; every later answer is a further
test. An answer that ends on a page which is not full is whole, whatever the count
says: it has as many records as reported, or the count is wrong.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from halflife.core.forms import Counts, Query, ResultPage
from halflife.queries.notes import LUCK, SLACK

# Share of its hits that a count may be off by: records come, go, or are unreadable.
AMISS = 0.1
ROUGHLY = 0.25  # the same for rounded counts
GROSS = 0.25  # one count that is off by more than this, and by more than FEW, refutes
FEW = 5  # records
DIGITS = 2  # that a rounded count keeps
MANY = 100  # hits from which on rounding shows
TWICE = 2  # queries that disagree refute the counts
LUCKY = 0.5  # counts are not believed while they agree by luck with a larger chance


@dataclass(slots=True)
class CountTrust:
    """Evidence from the answers so far for or against the reported hit counts.

    Attributes:
        counts: What the form claims of its counts.
        luck: The chance that wrong counts agree in all cases where these did.
        refuted: Why the counts are not believed any more; empty if they are.
        past_cap: Whether a count above the cap was reported: counting goes on there.

    """

    counts: Counts = "exact"
    luck: float = 1.0
    refuted: str = ""
    past_cap: bool = False
    _past_page: bool = False  # a count exceeded its page: it counts hits, not rows
    _fullest: int = 0
    _told: dict[Query, int] = field(default_factory=dict)
    _read: dict[Query, int] = field(default_factory=dict)  # pages, one after the other
    _against: dict[Query, str] = field(default_factory=dict)

    @property
    def rough(self) -> float:
        """The relative error of large counts: above 0 if all may be rounded."""
        large = [str(total) for total in self._told.values() if total >= MANY]
        exact = any(len(digits.rstrip("0")) > DIGITS for digits in large)
        sharp = not large or (exact and self.counts != "rounded")
        return 0.0 if sharp else SLACK - 1.0

    @property
    def agrees(self) -> bool:
        """Whether counts were checked, and none was wrong."""
        sound = not self.refuted and not self._against
        return sound and self._past_page and self.luck <= LUCKY

    @property
    def confirmed(self) -> float:
        """The chance that wrong counts agreed as these did; 1 without evidence."""
        return self.luck if self.agrees else 1.0

    def recall(self, luck: float) -> None:
        """Continue from the confidence that earlier answers gave."""
        if luck < 1.0:
            self.luck, self._past_page = self.luck * luck, True

    def note_answer(
        self,
        query: Query,
        page: int,
        found: ResultPage,
        shown: AbstractSet[str],
        cap: int | None,
    ) -> None:
        """Note an answer; ``shown`` are all records of the query so far, with it."""
        self._fullest = max(self._fullest, len(found.records))
        if page == self._read.get(query, 0):
            self._read[query] = page + 1
        if not page and found.total is not None:
            self._compare(query, found.total)
            self.past_cap |= cap is not None and found.total > cap
            self._past_page |= found.total > len(found.records) > 0
        total = self._told.get(query)
        if self.counts == "none" or total is None:
            return
        if self.counts == "capped" and cap is not None and total >= cap:
            return
        whole = self._read.get(query, 0) == page + 1 and self._is_last(found)
        # Without a cap a count that is too high hides no record, and its growth shows
        # that records have come.
        proves = not self._cut(shown, cap) if cap is not None else total == len(shown)
        if len(shown) > total:
            self.weigh(query, total, len(shown), "shown")
        elif whole and proves:
            self.weigh(query, total, len(shown), "found")

    def _is_last(self, found: ResultPage) -> bool:
        return len(found.records) < self._fullest

    def _cut(self, shown: AbstractSet[str], cap: int) -> bool:
        return len(shown) >= cap

    def _compare(self, query: Query, total: int) -> None:
        """Compare a count with the earlier one, and with those of broader queries."""
        before = self._told.get(query)
        if before is not None and self._far(before, total):
            self._doubt(query, f"{query}: {before} reported, then {total}")
        for term in query:
            broader = Query.of(*(other for other in query if other != term))
            bound = self._told.get(broader)
            if bound is not None and total > bound and self._far(bound, total):
                self._doubt(
                    query, f"{query}: {total} reported, but {bound} for {broader}"
                )
        self._told[query] = total

    def weigh(self, query: Query, total: int, true: int, how: str) -> None:
        """Compare a reported count with the true number of records."""
        if self._far(true, total):
            gross = abs(total - true) > max(FEW, GROSS * true)
            why = f"{query}: {total} reported, {true} {how}"
            self._doubt(query, why, weight=TWICE if gross else 1)
        elif how == "found" and total == true and true:
            self.luck *= min(LUCK / true, 1.0)

    def _far(self, true: int, total: int) -> bool:
        slack = ROUGHLY if self.counts == "rounded" else AMISS
        return abs(total - true) > max(1.0, slack * true)

    def _doubt(self, query: Query, why: str, weight: int = 1) -> None:
        if self.counts == "none" or self.refuted:
            return
        self._against.setdefault(query, why)
        if len(self._against) + weight - 1 >= TWICE:
            self.refuted = why
