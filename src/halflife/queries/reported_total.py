"""How many records a form reports, beside how many of them are held.

A number of hits that is larger than what is held says that records are missing. How
many are counted as missing for good ("unfound") is learned by reading all that the
form shows: what it reports and never shows cannot be had, and only then is that said.
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
    """How many records a form said that there are, and what is known of the rest.

    Attributes:
        at: When it said so last, in days.
        total: The records that it reports, at least.
        unfound: Records that it reports and did not show when everything was read.
        why: Why these could not be found; empty if there are none.
        doubted: Whether some may not be there at all: no single query that could not
            be divided counts them.
        explained: How many of them such queries count.
        rough: By what factor less one the number may be off, because it is rounded.

    """

    at: float
    total: int
    unfound: int = 0
    why: str = ""
    doubted: bool = False
    explained: int = 0
    rough: float = 0.0

    def row(self) -> dict[str, Any]:
        """Return it in plain values; what nothing is known of is left out."""
        row = asdict(self)
        return {name: row[name] for name in row if row[name] or name not in _LATER}

    def missing(self, held: int) -> int:
        """Return how many records are reported and not held."""
        return max(self.total - held, 0)

    def open(self, held: int) -> int:
        """Return how many of the missing ones are still to be looked for."""
        return max(self.missing(held) - self.unfound, 0)

    def span(self, held: int) -> tuple[float, float]:
        """Return how many records are missing at least and at most.

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

    def settled(self, held: int, why: str, *, explained: int) -> "ReportedTotal":
        """Return the same after all that the form shows was read.

        ``explained`` records are counted by queries that cannot be divided and show
        only so many results.
        """
        left = self.missing(held)
        some = min(explained, left)
        found = replace(self, unfound=left, why=why, doubted=some < left)
        return replace(found, explained=some) if left else self._met()

    def _met(self) -> "ReportedTotal":
        return ReportedTotal(self.at, self.total, rough=self.rough)

    def heard(self, at: float, total: int, held: int) -> "ReportedTotal":
        """Return the same after the form has reported another number.

        What could not be found does not grow by that: further ones may be found.
        """
        unfound = min(self.unfound, max(total - held, 0))
        if not unfound:
            return replace(self._met(), at=at, total=total)
        return replace(self, at=at, total=total, unfound=unfound)

    def words(self, held: int) -> str:
        """Say how many are missing and why; empty if none are."""
        left = self.missing(held)
        if not left:
            return ""
        said = f"it reports {self.total} records, {held} are held"
        return f"{said}: {self.why}" if self.why and not self.open(held) else said


def at_least(counts: Counts, told: int | None) -> int | None:
    """Return how many records a number of hits proves; None if it proves nothing.

    >>> at_least("exact", 630), at_least("rounded", 1200), at_least("none", 630)
    (630, 1132, None)
    """
    if told is None or counts == "none":
        return None
    return int(told / ROUNDING) if counts == "rounded" else told


def reported(ledger: Ledger, held: Mapping[str, Attributes]) -> int | None:
    """Return how many records the form's answers of this turn say there are, at least.

    The number for everything if that was asked for. Else what is held and, of the
    attribute whose values lack most, the sum of what the form reports beyond what is
    held or was shown of each value; values never meet, so nothing counts twice.
    """
    interface = ledger.interface
    whole = at_least(interface.counts, ledger.totals.get(Query()))
    if whole is not None or interface.everything:
        return whole
    lacks: dict[str, int] = {}
    for query in ledger.totals:
        if len(query) == 1 and _is_choice(interface, query):
            name = query.terms[0].attribute
            lacks[name] = lacks.get(name, 0) + short(ledger, query, held)
    return len(held) + max(lacks.values()) if any(lacks.values()) else None


def _is_choice(interface: Interface, query: Query) -> bool:
    return interface.attribute(query.terms[0].attribute).kind == "select"


def short(ledger: Ledger, query: Query, held: Mapping[str, Attributes]) -> int:
    """Return how many records of one value are reported and neither held nor shown.

    Values that no record shows as they are asked for are not compared: codes behind
    names, and attributes that records do not show.
    """
    interface = ledger.interface
    told = at_least(interface.counts, ledger.totals.get(query))
    known = {key for key, record in held.items() if interface.meets(record, query)}
    if told is None or not known:
        return 0
    return max(told - len(known | ledger.shown.get(query, set())), 0)
