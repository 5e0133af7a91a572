"""At which hours of the week pages change: learned at each turn, used by forecasts.

What is learned of each host is pooled over its pages, and kept in the store. Forecasts
of hosts whose rhythm has proven itself go by it; what is fetched next does not (see
``docs/rhythm.md`` for what was measured).
"""

from collections.abc import Mapping
from math import inf

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.models.week_rhythm import LearnedWeek, WeekCalendar
from halflife.stores import NoteBook
from halflife.stores.notes.week_rhythms import WEEK_RHYTHMS

MOST_HOSTS = 200  # whose rhythms are learned: those with the most pages
FEWEST = 5  # pages of a host: fewer tell too little
SAVED = 1.0 / 24.0  # days between two moments at which it is written down


class WeekLearner:
    """Learns from turns at which hours of the week the pages of hosts change.

    Args:
        store: Where it is kept.
        evidence: What all fetches add up to; it is followed from turn to turn.

    """

    def __init__(self, store: NoteBook, evidence: Evidence) -> None:
        self._store, self._evidence = store, evidence
        self.known = WEEK_RHYTHMS.load(store) or {}
        self._before = np.zeros(0)
        self._saved, self._changed = -inf, False

    def begin_turn(self) -> None:
        """Take in when pages were fetched before a turn."""
        self._before = self._evidence.last_at.copy()

    def end_turn(self, now: float) -> None:
        """Learn from the fetches of a turn."""
        before, last = self._before, self._evidence.last_at[: self._before.size]
        rows = np.flatnonzero((last > before) & np.isfinite(before))
        if rows.size:
            self._learn(rows, before[rows])
        if self._changed and not 0.0 <= now - self._saved < SAVED:
            self._saved = now
            self.save()

    def _learn(self, rows: Ints, since: Floats) -> None:
        evidence = self._evidence
        group, many = evidence.group[rows], np.bincount(evidence.group)
        large = np.argsort(-many, kind="stable")[:MOST_HOSTS]
        for one in np.intersect1d(group, large[many[large] >= FEWEST]).tolist():
            mine, name = group == one, evidence.groups[one]
            at, changed = evidence.last_at[rows[mine]], evidence.changed[rows[mine]]
            old = self.known.get(name, LearnedWeek())
            self.known[name] = old.after(at, since[mine], changed)
            self._changed = self._changed or self.known[name] is not old

    def calendar(self, now: float) -> WeekCalendar | None:
        """Return how time passes for pages from now on; None if for all alike."""
        return _calendar(self.known, self._evidence, now)

    def save(self) -> None:
        """Write down what was learned."""
        if self._changed:
            latest = sorted(self.known.items(), key=lambda one: -one[1].last)
            self.known = dict(latest[:MOST_HOSTS])
            WEEK_RHYTHMS.save(self._store, self.known)
            self._changed = False


def calendar(store: NoteBook, evidence: Evidence, now: float) -> WeekCalendar | None:
    """Return how time passes for pages from now on; None if for all alike."""
    return _calendar(WEEK_RHYTHMS.load(store) or {}, evidence, now)


def _calendar(
    known: Mapping[str, LearnedWeek], evidence: Evidence, now: float
) -> WeekCalendar | None:
    rhythms = {
        number: known[name].fit()
        for number, name in enumerate(evidence.groups)
        if name in known and known[name].is_proven
    }
    return WeekCalendar(now, rhythms) if rhythms else None
