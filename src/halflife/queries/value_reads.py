"""When each value of a choice was last read, and what was found in it.

A record that is new in a value is not known before the value is read. So each turn and
each check notes which values it read whole, also those that showed no record.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.forms import Attribute, Interface, Query, Term, terms_of
from halflife.models.value_arrivals import ValueReads, arrival_rates
from halflife.queries.fresh.rotation import ReadValue, Rotation
from halflife.queries.ledger import Ledger
from halflife.queries.turnover import turnover

if TYPE_CHECKING:
    from halflife.queries.form_copy import FormCopy


class ChoiceReads(NamedTuple):
    """What was found in the values of one attribute.

    Attributes:
        terms: The values.
        last: When each was last read, in days.
        reads: What was found in each.

    """

    terms: tuple[Term, ...]
    last: Floats
    reads: ValueReads


@dataclass(frozen=True, slots=True)
class FormReads:
    """What was read of a form, and when.

    Attributes:
        last: When each value of a choice was last read whole; empty if not noted.
        counted: When the form last counted all its records exactly, and how many.

    """

    last: Mapping[Term, float] = field(default_factory=dict)
    counted: tuple[float, float] | None = None

    def after(self, ledger: Ledger, held: "FormCopy", now: float) -> "FormReads":
        """Return the same after the answers of a turn.

        Only attributes whose values the form lists count: of others it is unknown which
        there are. A value that was never read since the first crawl was read at its
        end; and so was everything in the turn in which that crawl ends.
        """
        listed = _listed(ledger.interface)
        terms = {Term(a.name, value) for a in listed.attributes for value in a.values}
        terms |= terms_of(listed, [*held.records.values(), *ledger.seen.values()])
        every = ledger.whole(Query()) or not held.begun
        last = {
            term: now
            if every or ledger.whole(Query.of(term))
            else self.last.get(term, held.since)
            for term in sorted(terms)
        }
        if ledger.interface.counts != "exact":
            return FormReads(last)
        total = ledger.totals.get(Query())
        return FormReads(last, self.counted if total is None else (now, float(total)))


def choice_reads(copy: "FormCopy") -> Iterator[ChoiceReads]:
    """Yield what was found in the values of each attribute; none if none was noted."""
    noted = copy.reads.last
    if not copy.begun:
        return
    for name in sorted({term.attribute for term in noted}):
        attribute = Attribute(name)
        terms = [term for term in noted if term.attribute == name]
        held = ((copy.came[key], record) for key, record in copy.records.items())
        gone = zip((first for first, *_ in copy.gone), copy.lost, strict=False)
        old: Counter[Term] = Counter()
        new: Counter[Term] = Counter()
        for came, record in (*held, *gone):
            count = new if came > copy.since else old
            count.update(attribute.terms(record.get(name)))
        # A crawl of several turns may have begun to read before its end.
        last = np.maximum([noted[term] for term in terms], copy.since)
        found = ValueReads(
            np.array([float(new[term]) for term in terms]),
            last - copy.since,
            np.array([float(not old[term]) for term in terms]),
            float(sum(number == 1 for number in old.values())),
        )
        yield ChoiceReads(tuple(terms), last, found)


def rotation(copy: "FormCopy", interface: Interface) -> Rotation:
    """Return what each value of a choice is likely to bring; empty without choices.

    Values without any record held are known by when they were last read, if noted. But
    where a form counts all its records, the count shows that some are missing, and the
    search for them finds the values: reading empty ones beside it would cost more than
    it brings.
    """
    came = {key for key, moment in copy.came.items() if moment > copy.since}
    goes = turnover(copy).goes
    noted: dict[Term, ReadValue] = {}
    for terms, last, reads in choice_reads(copy) if not copy.reads.counted else ():
        each = zip(terms, last.tolist(), arrival_rates(reads, goes), strict=True)
        noted.update({term: ReadValue(day, float(rate)) for term, day, rate in each})
    held = copy.records, copy.seen
    return Rotation(interface, *held, came, copy.arrival[1], noted=noted, goes=goes)


def _listed(interface: Interface) -> Interface:
    """Return the interface with only the choices whose values are listed."""
    choices = (a for a in interface.attributes if a.kind == "select" and a.values)
    return replace(interface, attributes=tuple(choices))
