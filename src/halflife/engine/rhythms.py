"""Daily rhythms of listings and forms: learned at each fetch, kept in the store.

The store keeps the observed changes of a source by hour, and the observed record-days
by hour: a few dozen numbers.
"""

from collections import Counter
from collections.abc import Collection as Some, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from halflife.core.arrays import Floats
from halflife.core.lifetimes import Collection
from halflife.core.object_store import Attributes
from halflife.models.rhythm import HALF, LearnedRhythm, ObservedRecords, Rhythm
from halflife.stores import NoteBook, Store
from halflife.stores.notes.rhythm import RHYTHM

if TYPE_CHECKING:
    from halflife.queries.form_copy import FormCopy, FormWish

BACK = HALF  # days of a history to learn from when nothing is kept yet
MANY = 400  # the most observations of it


def recall(store: NoteBook, name: str) -> LearnedRhythm:
    """Return the learned rhythm of a source."""
    return RHYTHM.load(store, name) or LearnedRhythm()


def rhythm(store: NoteBook, name: str) -> Rhythm:
    """Return the rhythm of a source; flat without evidence for one."""
    return recall(store, name).rhythm


def keep(store: NoteBook, name: str, learned: LearnedRhythm) -> None:
    """Store the learned rhythm of a source."""
    if learned.last != -inf:
        RHYTHM.save(store, learned, name)


def learn_listing(store: Store, name: str) -> None:
    """Learn from the observations of a listing that were not learned from yet."""
    learned = recall(store, name)
    for observed in arrivals(store.collection(name), learned.last):
        learned = learned.after(observed)
    keep(store, name, learned)


def arrivals(collection: Collection, after: float) -> list[ObservedRecords]:
    """Return the arrivals that observations of a listing after a moment showed.

    A copy lacks the objects that arrived; departures are known only later.
    """
    at, lives = collection.looks, collection.lives
    came = Counter(lives.first_seen[~lives.truncated].tolist())
    begin = max(after, float(at[-1]) - BACK) if at.size else inf
    pairs = [(a, b) for a, b in pairwise(at.tolist()) if b > begin]
    found = []
    for since, until in pairs[-MANY:]:
        there = float(np.count_nonzero(lives.present(since)))
        row = np.array([[since], [max(there, 1.0)], [came[until]]])
        found.append(ObservedRecords(until, *row))
    return found


@dataclass(frozen=True, slots=True)
class TurnRecords:
    """The records that a turn at a form showed.

    Attributes:
        at: The moment, in days.
        records: The records.
        absent: The held records that no longer exist.

    """

    at: float
    records: Mapping[str, Attributes]
    absent: Some[str] = ()


def learn(
    store: NoteBook, name: str, copy: "FormCopy", wish: "FormWish", shown: TurnRecords
) -> None:
    """Learn from the records of a turn at a form and the copy before it."""
    observed = changes(copy, wish, shown)
    if observed is not None:
        keep(store, name, recall(store, name).after(observed))


def changes(
    copy: "FormCopy", wish: "FormWish", shown: TurnRecords
) -> ObservedRecords | None:
    """Return the changes that a turn at a form found, by the last time of each record.

    Known records may have changed or gone. New records count from the median time at
    which the other shown records had been seen. None if there is nothing to compare.
    """
    known = [key for key in shown.records if key in copy.records]
    if not copy.begun or not known:
        return None
    seen, new = [copy.seen[key] for key in known], 0.0
    moved = np.zeros(len(known))
    if wish.purpose != "new":
        pairs = ((copy.records[key], shown.records[key]) for key in known)
        moved = np.array([float(wish.measure.differ(a, b) > 0) for a, b in pairs])
        gone = [copy.seen[key] for key in shown.absent if key in copy.seen]
        seen, moved = [*seen, *gone], np.concatenate([moved, np.ones(len(gone))])
    if wish.purpose != "known":
        new = float(len(shown.records) - len(known))
    return _grouped(shown.at, np.array(seen), moved, new)


def in_effective_time(copy: "FormCopy", rhythm: Rhythm) -> "FormCopy":
    """Return a copy with all moments in the effective time of a rhythm.

    Plans by age then use effective ages.
    """
    if rhythm.flat:
        return copy

    def moved(moments: Mapping[str, float]) -> dict[str, float]:
        at = np.array(list(moments.values()), dtype=np.float64)
        return dict(zip(moments, rhythm.time(at).tolist(), strict=True))

    last, since = rhythm.time(np.array([copy.last, copy.since])).tolist()
    came, seen = moved(copy.came), moved(copy.seen)
    return replace(copy, came=came, seen=seen, last=last, since=since)


def _grouped(at: float, seen: Floats, moved: Floats, new: float) -> ObservedRecords:
    """Return an observation, grouped by the moment at which records were last seen."""
    since, place = np.unique(seen, return_inverse=True)
    shown = np.bincount(place, minlength=since.size).astype(np.float64)
    changed: Floats = np.bincount(place, moved, since.size).astype(np.float64)
    middle = int(np.searchsorted(np.cumsum(shown), seen.size / 2.0))
    changed[middle] += new
    return ObservedRecords(at, since, shown, changed)
