"""What a round shows about the form: how many records stay, how exact counts are."""

from collections.abc import Sequence
from math import inf, log, sqrt

import numpy as np

from halflife.core.forms import Query
from halflife.queries.fresh.outlook import ReadingProgress, RoundSetting
from halflife.queries.local import LocalRecords, QueryReading

STAYS = (17.0, 20.0)  # prior: so many old records stay, of so many
DOUBT = {"exact": 0.01, "rounded": 0.03, "capped": 0.01, "none": 1.0}
TRIED = 2.0  # queries after which the errors found weigh as much as ``DOUBT``


class FormTraits:
    """Estimates from a round: the share of records that stay, and errors of counts."""

    def __init__(self) -> None:
        self._held = np.zeros((0, 4))
        self._read = 0
        self._stayed: set[str] = set()
        self._elsewhere: dict[str, set[str]] = {}
        self._off = 0.0
        self._tried = 0

    def catch_up(self, local: LocalRecords) -> None:
        """Note the pages that were read since the last call."""
        more = len(local.terms) - len(self._held)
        if more:
            blank = np.tile([np.nan, 0.0, 0.0, 0.0], (more, 1))
            self._held = np.vstack([self._held, blank])
        for query in dict.fromkeys(local.log[self._read :]):
            reading = local.reads[query]
            self._show(local, query, reading)
            if len(query) == 1:
                number = local.number(query.terms[0])
                if number is not None:
                    self._held[number] = _row(local, reading)
            if reading.done and not _cut(local, reading):
                self._finish(local, reading)
        self._read = len(local.log)

    def _show(self, local: LocalRecords, query: Query, reading: QueryReading) -> None:
        """Note which old records were shown by queries without each attribute."""
        queried = {term.attribute for term in query}
        old = {key for key in reading.keys if not local.origin(key)}
        for attribute in local.interface.attributes:
            if attribute.name not in queried:
                self._elsewhere.setdefault(attribute.name, set()).update(old)

    def _finish(self, local: LocalRecords, reading: QueryReading) -> None:
        """Learn from a query that was read whole."""
        self._stayed |= {key for key in reading.keys if not local.origin(key)}
        if reading.total and reading.keys:
            self._off += log(reading.total / len(reading.keys)) ** 2
            self._tried += 1

    def setting(self, local: LocalRecords) -> RoundSetting:
        """Return the setting of the round, the same for all queries."""
        interface = local.interface
        stayed, all_ = len(self._stayed), len(self._stayed) + len(local.gone)
        stays = (STAYS[0] + stayed) / (STAYS[1] + all_)
        usual = DOUBT[interface.counts] ** 2 * TRIED
        return RoundSetting(
            page=float(interface.page_size),
            cap=inf if interface.cap is None else float(interface.cap),
            stays=stays,
            doubt=sqrt((usual + self._off) / (TRIED + self._tried)),
        )

    def shown(self, local: LocalRecords, stays: float) -> dict[str, float]:
        """Return the share of the old records shown by queries without each attribute.

        An unknown term can only be found by queries on other attributes.
        """
        there = max(stays * local.old, 1.0)
        return {
            attribute.name: min(
                len(self._elsewhere.get(attribute.name, ())) / there, 1.0
            )
            for attribute in local.interface.attributes
        }

    def progress(self) -> ReadingProgress:
        """Return how far the one-term queries were read, in the order of the terms."""
        total, pages, floor, done = self._held.T
        return ReadingProgress(total, pages, floor, done > 0)


def progress_of(local: LocalRecords, queries: Sequence[Query]) -> ReadingProgress:
    """Return how far queries were read."""
    rows = [_row(local, local.reads.get(query, QueryReading())) for query in queries]
    total, pages, floor, done = np.array(rows).T
    return ReadingProgress(total, pages, floor, done > 0)


def _row(
    local: LocalRecords, reading: QueryReading
) -> tuple[float, float, float, bool]:
    interface = local.interface
    total = np.nan if reading.total is None else float(reading.total)
    if interface.counts == "capped" and interface.cap and total >= interface.cap:
        total = np.nan
    floor = reading.pages * interface.page_size + 1.0
    if not reading.pages:
        floor = 0.0
    elif reading.done:
        floor = len(reading.keys) + float(_cut(local, reading))
    return total, float(reading.pages), floor, reading.done


def _cut(local: LocalRecords, reading: QueryReading) -> bool:
    """Return whether there may be results that cannot be reached."""
    cap = local.interface.cap
    return cap is not None and len(reading.keys) >= cap
