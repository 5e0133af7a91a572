"""Read one value after another, each whole: the policy for small, frequent budgets.

A round that learns from its answers needs many requests at once. With a few requests
each hour it is better to read all records of one value and to store when that was:
then it is known how long each value has waited, and how many new records it brought.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from math import ceil
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from halflife.core.forms import Interface, Query, Term, terms_of
from halflife.core.object_store import Attributes
from halflife.core.wording import span
from halflife.models.value_arrivals import still_there
from halflife.queries.fresh import Choice
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords

SURE = 1.0  # new records after which a value's own pace weighs as much as the usual one
EARLY = 0.25  # the quantile of ages taken as the time since a value was read
NOBODY = 0.5  # the number of records assumed for a value without any
NEVER_GOES = 1e-9  # a day: the rate at which records go if that is not known


class ReadValue(NamedTuple):
    """What was found in a value of a choice.

    Attributes:
        last: When it was last read whole, in days; when the first crawl ended if never.
        rate: The records that come to it, a day.

    """

    last: float
    rate: float


class Rotation:
    """The expected new records of each value of a choice since it was read.

    With c new records of a value in W days, and lambda new ones a day for each record
    of the whole copy, its pace is r = (c + k) / (W + k / (lambda n)) for n records
    held; E = r t new ones are expected t days after it was read.

    Records held show when their value was read, but an empty one shows nothing: it
    waited since it was last noted as read, and has its own rate r. It may wait for
    weeks, so only what is still there counts: E = r (1 - exp(-d t)) / d new ones if
    records go at the rate d. What is not noted is taken as usual.

    Args:
        interface: What the form can do.
        records: The copy, by key.
        seen: When each was last seen, in days.
        came: The records that came since the copy was first read.
        watched: The days since then.
        noted: When values were last read, and at which rate records come to them.
        goes: The rate at which records go.

    """

    def __init__(  # noqa: PLR0913  (the copy, and what was noted beside it)
        self,
        interface: Interface,
        records: Mapping[str, Attributes],
        seen: Mapping[str, float],
        came: Collection[str],
        watched: float,
        *,
        noted: Mapping[Term, ReadValue] = MappingProxyType({}),
        goes: float = NEVER_GOES,
    ) -> None:
        self._interface, self._watched = interface, watched
        self._usual = max((len(came) + NOBODY) / watched / max(len(records), 1), 1e-9)
        self._seen: dict[Term, list[float]] = {}
        self._came: dict[Term, int] = {}
        for attribute in interface.attributes:
            for value in attribute.values if attribute.kind == "select" else ():
                self._seen.setdefault(Term(attribute.name, value), [])
        for key, record in records.items():
            for term in terms_of(interface, [record]):
                if interface.attribute(term.attribute).kind != "keyword":
                    self._seen.setdefault(term, []).append(seen[key])
                    self._came[term] = self._came.get(term, 0) + (key in came)
        empty = noted.keys() & {term for term, held in self._seen.items() if not held}
        self._empty = {term: noted[term] for term in empty}
        self._goes = goes

    def __bool__(self) -> bool:
        return bool(self._seen)

    def __contains__(self, query: object) -> bool:
        return (
            isinstance(query, Query)
            and len(query) == 1
            and query.terms[0] in (self._seen)
        )

    def pages(self) -> int:
        """Return the requests that all values of one attribute take, at most."""
        requests: dict[str, int] = {}
        for term, seen in self._seen.items():
            pages = self._interface.pages(len(seen))
            requests[term.attribute] = requests.get(term.attribute, 0) + pages
        return max(requests.values(), default=0)

    def days_since_read(self, query: Query, now: float, usual: float) -> float:
        """Return the days since a value was read; ``usual`` if nothing shows it."""
        term = query.terms[0]
        seen = self._seen.get(term, ())
        if not len(seen):
            waited = now - self._empty[term].last if term in self._empty else usual
            return max(waited, 0.0)
        return max(float(np.quantile(now - np.array(seen), EARLY)), 0.0)

    def ranked(self, now: float, usual: float) -> list[Choice]:
        """Return all values, the largest gain in records times days first."""
        ranking = []
        for term in self._seen:
            query = Query.of(term)
            days = self.days_since_read(query, now, usual)
            expected = self._expected(term, days)
            held = len(self._seen[term])
            pages = max(ceil((held + expected) / self._interface.page_size), 1)
            why = f"about {expected:.1f} new, {held} held, read {span(days)} ago"
            ranking.append(
                (expected * days / pages, Choice(query, 0, pages, expected, why))
            )
        ranking.sort(key=lambda entry: -entry[0])
        return [choice for gain, choice in ranking if gain > 0]

    def _expected(self, term: Term, days: float) -> float:
        if term in self._empty:
            there = still_there(np.array(days), self._goes)
            return self._empty[term].rate * float(there)
        return self._pace(term) * days

    def _pace(self, term: Term) -> float:
        held = max(float(len(self._seen[term])), NOBODY)
        came = self._came.get(term, 0)
        return (came + SURE) / (self._watched + SURE / (self._usual * held))


class RotationRule:
    """Read one value after the other, each whole, and nothing else.

    Args:
        values: What each value is likely to bring.
        now: The time, in days.
        usual: The mean of the days since records were seen.

    """

    samples = False

    def __init__(self, values: Rotation, now: float, usual: float) -> None:
        self.values = values
        self._now, self._usual = now, usual

    def next(
        self, _local: LocalRecords, ledger: Ledger, _rng: Generator
    ) -> Choice | None:
        """Return the best value of those that the budget can read.

        If none can be read whole, the best one is read as far as the budget goes.
        """
        sent = set(ledger.asked)
        choices = [c for c in self._ranked() if c.query not in sent]
        if ledger.left is None:
            return choices[0] if choices else None
        for choice in choices:
            if (choice.pages or 1) <= ledger.left:
                return choice
        return replace(choices[0], pages=max(ledger.left, 1)) if choices else None

    def ranked(self, _local: LocalRecords, most: int) -> list[Choice]:
        """Return the best values now, best first."""
        return self._ranked()[:most]

    def _ranked(self) -> list[Choice]:
        return self.values.ranked(self._now, self._usual)
