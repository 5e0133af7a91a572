"""Databases behind forms that say a wrong number of hits, each in a way of its own."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from form_worlds import ATTRIBUTES
from halflife.core.forms import Interface, Query, ResultPage
from halflife.core.object_store import Attributes
from halflife.queries.table_form import TableForm, round_count

CAP = 50

# of a query: how many terms it has, hits there are, records on the page, chance
Lie: TypeAlias = Callable[[int, int, int, Generator], int | None]


def _off(factor: float) -> Lie:
    return lambda _, hits, __, rng: round(hits * factor ** rng.uniform(-1.0, 1.0))


LIES: Mapping[str, Lie] = {
    "off by up to 2": _off(2.0),
    "off by up to 3": _off(3.0),
    "half of it": lambda _, hits, __, ___: hits // 2,
    "twice as many": lambda _, hits, __, ___: hits * 2,
    "rounded": lambda _, hits, __, ___: round_count(hits),
    "always 400": lambda *_: 400,
    "always 37": lambda *_: 37,
    "up to the cap": lambda _, hits, __, ___: min(hits, CAP),
    "nothing": lambda *_: 0,
    "right total, wrong parts": lambda terms, hits, __, rng: (
        round(hits * 2.5 ** rng.uniform(-1.0, 1.0)) if terms else hits
    ),
    "right parts, half the total": lambda terms, hits, __, ___: (
        hits if terms else hits // 2
    ),
    "right parts, twice the total": lambda terms, hits, __, ___: (
        hits if terms else hits * 2
    ),
    "of the page": lambda _, __, shown, ___: shown,
    "not said": lambda *_: None,
    "less than nothing": lambda _, hits, __, ___: -hits,
    "huge": lambda *_: 10**9,
}
CHANGING = "another each time"  # off by up to 2, differently at each request
NAMES = (*LIES, CHANGING)


class Lying(TableForm):
    """A table that says of each query what a lie makes of its number of hits."""

    def __init__(
        self,
        lie: str,
        records: Mapping[str, Attributes],
        *,
        seed: int = 0,
        **shape: object,
    ) -> None:
        usual = {
            "attributes": ATTRIBUTES,
            "page_size": 10,
            "cap": CAP,
            "counts": "exact",
            "everything": True,
        }
        interface = Interface(**{**usual, **shape})  # type: ignore[arg-type]
        super().__init__(interface, records, rng=np.random.default_rng(seed))
        self._changes = lie == CHANGING
        self._tell = LIES["off by up to 2" if self._changes else lie]
        self._seed, self._asked = seed, 0

    def ask(self, query: Query, page: int = 0, *, newest: bool = False) -> ResultPage:
        """Return a page of results with a number of hits that is none."""
        found = super().ask(query, page, newest=newest)
        self._asked += 1
        salt = [self._seed, self._asked * self._changes, *str(query).encode()]
        hits, shown = self.matches(query).size, len(found.records)
        told = self._tell(len(query), hits, shown, np.random.default_rng(salt))
        return replace(found, total=told)


class AsAsked:
    """A form as the client over HTTP sees it: its numbers say where results end."""

    def __init__(self, form: TableForm) -> None:
        self.form, self.interface = form, form.interface

    def ask(self, query: Query, page: int = 0, *, newest: bool = False) -> ResultPage:
        """Return a page of results, and whether there should be another."""
        found, known = self.form.ask(query, page, newest=newest), self.interface
        told = found.total
        total = None if told is None or told < 0 else told
        end = page * known.page_size + len(found.records)
        if not found.records or (known.cap is not None and end >= known.cap):
            more = False
        elif known.counts == "exact" and total is not None:
            more = end < total
        else:
            more = len(found.records) >= known.page_size
        return replace(found, total=total, more=more)

    def fetch(self, key: str) -> ResultPage:
        """Return the record of a key."""
        return self.form.fetch(key)

    def distrust(self, _: str) -> None:
        """Go by its numbers no more."""
        self.interface = replace(self.interface, counts="none")
