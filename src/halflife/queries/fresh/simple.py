"""Baseline policies for new records."""

from collections.abc import Mapping
from math import nan

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats, Ints
from halflife.core.forms import Query
from halflife.core.object_store import Attributes
from halflife.core.wording import count
from halflife.queries.fresh import Choice
from halflife.queries.incidence import Incidence
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords
from halflife.queries.reported_total import at_least


class Exhaustive:
    """Read everything again by one-term queries, each whole.

    The next query is the one with most records of the copy per request that this
    round has not shown yet (a greedy cover, Wu et al., ICDE 2006). It ends when every
    record was shown or found missing and every new term was queried.
    """

    samples = False

    def next(
        self, local: LocalRecords, _ledger: Ledger, _rng: Generator
    ) -> Choice | None:
        """Return the query with most records not shown yet, per request."""
        unseen = local.held.values - local.seen.values
        value = np.maximum(unseen, 0.5 * (local.held.values == 0))
        value /= _pages(local, local.count)
        value[_asked(local)] = 0.0
        best = int(np.argmax(value)) if value.size else 0
        if not value.size or value[best] <= 0:
            return None
        why = f"{count(unseen[best], 'record')} not seen again yet"
        return Choice(Query.of(local.terms[best]), pages=None, why=why)


class GammaPoissonRule:
    """Estimate the new records of every query from a sample, read the best per page.

    The new records of a query are n ~ Gamma(k, mean g h), of which a sample of the
    share rho shows s ~ Poisson(rho n), so E[n | s] = (k + s) / (k / (g h) + rho).

    Args:
        shape: k, how little queries differ in the share of their new records.
        least: New records for a request, below which it ends.

    """

    samples = True

    def __init__(self, *, shape: float = 1.0, least: float = 0.05) -> None:
        self.shape = shape
        self.least = least
        self._drawn: Ints | None = None

    def next(
        self, local: LocalRecords, _ledger: Ledger, _rng: Generator
    ) -> Choice | None:
        """Return the query with most new records for a request."""
        if self._drawn is None:
            self._drawn = local.fresh.values.copy()
            old = sum(not local.origin(key) for key in local.sampled)
            held = sum(not local.origin(key) for key in local.keys)
            self._share = max(old / max(held, 1), 1e-3)
            found = len(local.sampled) - old
            self._growth = max(found / self._share, 0.5) / max(held, 1)
        drawn = np.zeros(len(local.terms), dtype=np.intp)
        drawn[: self._drawn.size] = self._drawn
        usual = self._growth * np.maximum(local.held.values, 0.3)
        new = (self.shape + drawn) / (self.shape / usual + self._share)
        left = np.maximum(new - local.fresh.values, 0.0)
        value = left / _pages(local, local.held.values + new)
        value[_asked(local)] = 0.0
        best = int(np.argmax(value)) if value.size else 0
        if not value.size or value[best] < self.least:
            return None
        why = f"{left[best]:.1f} new records expected, {value[best]:.2f} for a request"
        query = Query.of(local.terms[best])
        return Choice(query, pages=None, expected=float(left[best]), why=why)


class FreshOracle:
    """Choose by the truth: the query with most new records for a request, whole.

    Args:
        truth: All records of the database.

    """

    samples = False

    def __init__(self, truth: Mapping[str, Attributes]) -> None:
        self.truth = truth
        self._table: Incidence | None = None

    def next(
        self, local: LocalRecords, _ledger: Ledger, _rng: Generator
    ) -> Choice | None:
        """Return the query with most new records for a request."""
        table = self._table or Incidence.of(local.interface, self.truth)
        self._table = table
        row = np.repeat(np.arange(len(table)), np.diff(table.start))
        new = np.array([key not in local for key in table.keys])
        left = np.bincount(table.term, new[row], len(table.terms))
        value = left / _pages(local, table.hits)
        read = [table.number.get(q.terms[0], -1) for q in local.reads if len(q) == 1]
        value[[number for number in read if number >= 0]] = 0.0
        best = int(np.argmax(value)) if value.size else 0
        if not value.size or value[best] <= 0:
            return None
        why = f"{left[best]:.0f} new records"
        query = Query.of(table.terms[best])
        return Choice(query, pages=None, expected=float(left[best]), why=why)


class Newest:
    """Read newest first until no further record can be new.

    The form must answer the empty query, newest first. Backdated records may follow a
    page of known ones, so one more page is read than necessary. Records of the same
    date may come in any order, so a new one may follow known ones: reading continues
    while the form reports more records than are held, and while the last record shown
    has the date of the newest one that was known before.

    The choice depends only on the pages read, not on how often ``next`` was called.

    Args:
        margin: Pages in a row without new records that end it.
        date: The attribute that results are ordered by; ties are not noticed if empty.
        unfound: Records that the form reports and does not show.

    """

    samples = False

    def __init__(self, *, margin: int = 2, date: str = "", unfound: int = 0) -> None:
        self.margin = margin
        self.date = date
        self.unfound = unfound

    def next(
        self, local: LocalRecords, _ledger: Ledger, _rng: Generator
    ) -> Choice | None:
        """Return the next page, newest first."""
        interface, reading = local.interface, local.newest
        if not (interface.newest and interface.everything):
            raise ValueError("the form does not show everything, newest first")
        missing = self._missing(local)
        open_ = missing > 0 or self._tied(local)
        if reading.done or (reading.barren >= self.margin and not open_):
            return None
        why = "newest first, until nothing is new"
        if reading.barren >= self.margin:
            why = "newest first; " + (
                f"{missing} more are reported than are held"
                if missing > 0
                else "records of the same date may be new"
            )
        expected = float(missing) if missing > 0 else nan
        return Choice(Query(), reading.pages, 1, expected, why, newest=True)

    def _missing(self, local: LocalRecords) -> int:
        """Return how many reported records are not held and might be shown."""
        total = at_least(local.interface.counts, local.newest.total)
        held = len(local) - len(local.gone)
        return 0 if total is None else total - held - self.unfound

    def _tied(self, local: LocalRecords) -> bool:
        """Return whether the last record shown has the date of the newest known one."""
        if not self.date:
            return False
        shown = local.newest.shown
        known = next((key for key in shown if not local.origin(key)), None)
        if known is None:
            return False
        newest, last = (local[key].get(self.date) for key in (known, shown[-1]))
        return newest is not None and newest == last


def _pages(local: LocalRecords, hits: Ints | Floats) -> Floats:
    """Return the requests that queries with so many hits take."""
    cap = local.interface.cap
    reachable = np.asarray(hits, dtype=np.float64)
    if cap is not None:
        reachable = np.minimum(reachable, cap)
    return np.maximum(1.0, np.ceil(reachable / local.interface.page_size))


def _asked(local: LocalRecords) -> Ints:
    """Return the terms that were queried alone."""
    numbers = [local.number(query.terms[0]) for query in local.reads if len(query) == 1]
    return np.array([n for n in numbers if n is not None], dtype=np.intp)
