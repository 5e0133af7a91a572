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


@dataclass(frozen=True, slots=True)
class ReportedTotal:
    """How many records a form said that there are, and what is known of the rest.

    Attributes:
        at: When it said so last, in days.
        total: The records that it reports, at least.
        unfound: Records that it reports and did not show when everything was read.
        why: Why these could not be found; empty if there are none.
        doubted: Whether they may not be there at all: results were not cut off, and
            yet fewer were shown than are reported.

    """

    at: float
    total: int
    unfound: int = 0
    why: str = ""
    doubted: bool = False

    def row(self) -> dict[str, Any]:
        """Return it in plain values."""
        return asdict(self)

    def missing(self, held: int) -> int:
        """Return how many records are reported and not held."""
        return max(self.total - held, 0)

    def open(self, held: int) -> int:
        """Return how many of the missing ones are still to be looked for."""
        return max(self.missing(held) - self.unfound, 0)

    def settled(self, held: int, why: str, *, cut: bool) -> "ReportedTotal":
        """Return the same after all that the form shows was read.

        ``cut`` says whether it shows only so many results of a query.
        """
        left = self.missing(held)
        found = replace(self, unfound=left, why=why, doubted=not cut)
        return found if left else ReportedTotal(self.at, self.total)

    def heard(self, at: float, total: int, held: int) -> "ReportedTotal":
        """Return the same after the form has reported another number.

        What could not be found does not grow by that: further ones may be found.
        """
        unfound = min(self.unfound, max(total - held, 0))
        if not unfound:
            return ReportedTotal(at, total)
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
