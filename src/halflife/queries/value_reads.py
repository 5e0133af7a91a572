"""When each value of a choice was last read, and what was found in it.

A record that is new in a value is not known before the value is read. So each turn and
each check notes which values it read whole, also those that showed no record.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.forms import Attribute, Interface, Query, Term, terms_of
from halflife.models.value_arrivals import ValueReads
from halflife.queries.ledger import Ledger

if TYPE_CHECKING:
    from halflife.queries.form_copy import FormCopy


class ChoiceReads(NamedTuple):
    """What was found in the values of one attribute.

    Attributes:
        last: When each was last read, in days.
        reads: What was found in each.

    """

    last: Floats
    reads: ValueReads


def values_read(ledger: Ledger, copy: "FormCopy", now: float) -> dict[Term, float]:
    """Return when each value of a choice was last read, after the answers of a turn.

    Only attributes whose values the form lists: of others it is unknown which there
    are. A value that was never read since the first crawl was read at its end.
    """
    listed = _listed(ledger.interface)
    begun = copy.since if isfinite(copy.since) else now
    terms = {term for attribute in listed.attributes for term in _offered(attribute)}
    terms |= terms_of(listed, [*copy.records.values(), *ledger.seen.values()])
    before = copy.reads
    every = ledger.whole(Query())
    return {
        term: now
        if every or ledger.whole(Query.of(term))
        else before.get(term, begun)
        for term in sorted(terms)
    }


def total_counted(
    ledger: Ledger, copy: "FormCopy", now: float
) -> tuple[float, float] | None:
    """Return when the form last counted all its records exactly, and how many."""
    if ledger.interface.counts != "exact":
        return None
    total = ledger.totals.get(Query())
    return copy.counted if total is None else (now, float(total))


def choice_reads(copy: "FormCopy") -> Iterator[ChoiceReads]:
    """Yield what was found in the values of each attribute; none if none was noted."""
    if not copy.reads or not copy.begun:
        return
    for name in sorted({term.attribute for term in copy.reads}):
        attribute = Attribute(name)
        terms = [term for term in copy.reads if term.attribute == name]
        held = ((copy.came[key], record) for key, record in copy.records.items())
        gone = zip((first for first, *_ in copy.gone), copy.lost, strict=False)
        old: Counter[Term] = Counter()
        new: Counter[Term] = Counter()
        for came, record in (*held, *gone):
            count = new if came > copy.since else old
            count.update(attribute.terms(record.get(name)))
        last = np.array([copy.reads[term] for term in terms])
        found = ValueReads(
            np.array([float(new[term]) for term in terms]),
            np.maximum(last - copy.since, 0.0),
            np.array([float(not old[term]) for term in terms]),
            float(sum(number == 1 for number in old.values())),
        )
        yield ChoiceReads(last, found)


def _listed(interface: Interface) -> Interface:
    """Return the interface with only the choices whose values are listed."""
    choices = (a for a in interface.attributes if a.kind == "select" and a.values)
    return replace(interface, attributes=tuple(choices))


def _offered(attribute: Attribute) -> Iterable[Term]:
    return (Term(attribute.name, value) for value in attribute.values)


def read_note(row: Mapping[str, Mapping[str, float]]) -> dict[Term, float]:
    """Return what was noted by ``write_note``."""
    return {
        Term(name, value): float(at)
        for name, values in row.items()
        for value, at in values.items()
    }


def write_note(reads: Mapping[Term, float]) -> dict[str, dict[str, float]]:
    """Return when each value was read as plain values, by attribute."""
    rows: dict[str, dict[str, float]] = {}
    for term, at in reads.items():
        rows.setdefault(term.attribute, {})[term.value] = at
    return rows
