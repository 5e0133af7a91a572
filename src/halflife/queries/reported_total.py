"""How many records a form reports, and how many of them the copy lacks.

A hit count above the number of records held shows that records are missing. Records
that the form reports but did not show when everything was read are "unfound": they
cannot be fetched.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from halflife.core.forms import Counts, Interface, Query
from halflife.core.object_store import Attributes
from halflife.queries.completeness import ROUNDING
from halflife.queries.ledger import Ledger

_LATER = frozenset({"explained", "rough"})  # fields that older notes do not have


@dataclass(frozen=True, slots=True)
class ReportedTotal:
    """How many records a form reports, and what is known of the missing ones.

    Attributes:
        at: When it last reported so, in days.
        total: The records that it reports, at least.
        unfound: Records that it reports and did not show when everything was read.
        why: Why these could not be found; empty if there are none.
        doubted: Whether some may not exist: no query that could not be divided
            counts them.
        explained: How many of them such queries count.
        rough: The relative error of the total, if it is rounded.

    """

    at: float
    total: int
    unfound: int = 0
    why: str = ""
    doubted: bool = False
    explained: int = 0
    rough: float = 0.0

    def row(self) -> dict[str, Any]:
        """Return the fields as plain values, without unknown optional ones."""
        row = asdict(self)
        return {name: row[name] for name in row if row[name] or name not in _LATER}

    def missing(self, held: int) -> int:
        """Return how many records are reported and not held."""
        return max(self.total - held, 0)

    def open(self, held: int) -> int:
        """Return how many of the missing records are still to be searched for."""
        return max(self.missing(held) - self.unfound, 0)

    def span(self, held: int) -> tuple[float, float]:
        """Return how many records are missing, at least and at most.

        >>> report = ReportedTotal(0.0, 315, rough=0.06)
        >>> [round(end, 1) for end in report.span(255)], report.span(315)
        ([42.2, 78.9], (0.0, 0.0))
        """
        if not self.missing(held):
            return 0.0, 0.0
        most = self.total * (1.0 + self.rough) - held
        least = max(self.total / (1.0 + self.rough) - held, 0.0)
        unfound = min(self.unfound, self.missing(held))
        doubtful = max(unfound - self.explained, 0) if self.doubted else 0
        return max(least - doubtful, 0.0), most

    def after_full_read(
        self, held: int, why: str, *, explained: int
    ) -> "ReportedTotal":
        """Return the report after all that the form shows was read.

        ``explained`` records are counted by queries that cannot be divided and exceed
        the cap.
        """
        left = self.missing(held)
        hidden = min(explained, left)
        report = replace(self, unfound=left, why=why, doubted=hidden < left)
        return replace(report, explained=hidden) if left else self._complete()

    def _complete(self) -> "ReportedTotal":
        return ReportedTotal(self.at, self.total, rough=self.rough)

    def with_total(self, at: float, total: int, held: int) -> "ReportedTotal":
        """Return the report after the form has reported another total.

        The number of unfound records does not grow: further ones may be found.
        """
        unfound = min(self.unfound, max(total - held, 0))
        if not unfound:
            return replace(self._complete(), at=at, total=total)
        return replace(self, at=at, total=total, unfound=unfound)

    def words(self, held: int) -> str:
        """Return how many records are missing and why, in words; empty if none are."""
        left = self.missing(held)
        if not left:
            return ""
        text = f"it reports {self.total} records, {held} are held"
        return f"{text}: {self.why}" if self.why and not self.open(held) else text


def at_least(counts: Counts, total: int | None) -> int | None:
    """Return how many records a hit count proves; None if it proves nothing.

    >>> at_least("exact", 630), at_least("rounded", 1200), at_least("none", 630)
    (630, 1132, None)
    """
    if total is None or counts == "none":
        return None
    return int(total / ROUNDING) if counts == "rounded" else total


def reported_records(ledger: Ledger, held: Mapping[str, Attributes]) -> int | None:
    """Return how many records the answers of this turn report, at least.

    That is the count of the empty query, if the form answers it. Else it is the number
    held plus the missing records of the attribute whose values lack most: the sum over
    its values of what is reported and neither held nor shown. A record has one value,
    so none counts twice.
    """
    interface = ledger.interface
    whole = at_least(interface.counts, ledger.totals.get(Query()))
    if whole is not None or interface.everything:
        return whole
    lacks: dict[str, int] = {}
    for query in ledger.totals:
        if len(query) == 1 and _is_choice(interface, query):
            name = query.terms[0].attribute
            lacks[name] = lacks.get(name, 0) + missing_of_value(ledger, query, held)
    return len(held) + max(lacks.values()) if any(lacks.values()) else None


def _is_choice(interface: Interface, query: Query) -> bool:
    return interface.attribute(query.terms[0].attribute).kind == "select"


def missing_of_value(
    ledger: Ledger, query: Query, held: Mapping[str, Attributes]
) -> int:
    """Return how many records of one value are reported and neither held nor shown.

    Values that no held record shows are not compared: they may be codes behind names,
    or the attribute may not be shown.
    """
    interface = ledger.interface
    total = at_least(interface.counts, ledger.totals.get(query))
    keys = {key for key, record in held.items() if interface.meets(record, query)}
    if total is None or not keys:
        return 0
    return max(total - len(keys | ledger.shown.get(query, set())), 0)
