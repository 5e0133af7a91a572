"""The hours of the week at which pages change: learned in turns, used by forecasts.

The rhythm of each host is pooled over its pages and stored. Forecasts use a rhythm that
has proven itself; planning does not (``docs/rhythm.md`` has the measurements).
"""

from collections.abc import Mapping
from math import inf

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.models.week_rhythm import LearnedWeek, WeekCalendar
from halflife.stores import NoteBook
from halflife.stores.notes.week_rhythms import WEEK_RHYTHMS

MOST_HOSTS = 200  # hosts with a rhythm: those with the most pages
FEWEST = 5  # least pages of a host with a rhythm
SAVED = 1.0 / 24.0  # least days between two saves


class WeekLearner:
    """Learns the hours of the week at which the pages of hosts change.

    Args:
        store: Where the rhythms are stored.
        evidence: The evidence of all fetches; each turn updates it.

    """

    def __init__(self, store: NoteBook, evidence: Evidence) -> None:
        self._store, self._evidence = store, evidence
        self.rhythms = WEEK_RHYTHMS.load(store) or {}
        self._before = np.zeros(0)
        self._saved, self._changed = -inf, False

    def begin_turn(self) -> None:
        """Note when pages were last fetched before a turn."""
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
        group, sizes = evidence.group[rows], np.bincount(evidence.group)
        large = np.argsort(-sizes, kind="stable")[:MOST_HOSTS]
        for host in np.intersect1d(group, large[sizes[large] >= FEWEST]).tolist():
            is_own, name = group == host, evidence.groups[host]
            at, changed = evidence.last_at[rows[is_own]], evidence.changed[rows[is_own]]
            old = self.rhythms.get(name, LearnedWeek())
            self.rhythms[name] = old.after(at, since[is_own], changed)
            self._changed = self._changed or self.rhythms[name] is not old

    def calendar(self, now: float) -> WeekCalendar | None:
        """Return the calendar of proven rhythms from now on; None if there is none."""
        return _calendar(self.rhythms, self._evidence, now)

    def save(self) -> None:
        """Store the learned rhythms."""
        if self._changed:
            latest = sorted(self.rhythms.items(), key=lambda pair: -pair[1].last)
            self.rhythms = dict(latest[:MOST_HOSTS])
            WEEK_RHYTHMS.save(self._store, self.rhythms)
            self._changed = False


def calendar(store: NoteBook, evidence: Evidence, now: float) -> WeekCalendar | None:
    """Return the calendar of proven rhythms from now on; None if there is none."""
    return _calendar(WEEK_RHYTHMS.load(store) or {}, evidence, now)


def _calendar(
    rhythms: Mapping[str, LearnedWeek], evidence: Evidence, now: float
) -> WeekCalendar | None:
    proven = {
        number: rhythms[name].fit()
        for number, name in enumerate(evidence.groups)
        if name in rhythms and rhythms[name].is_proven
    }
    return WeekCalendar(now, proven) if proven else None
