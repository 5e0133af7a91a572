"""Scores of crawlers: how fresh their copies are, by the answers they were served.

A server hands out the current version, so a copy is current from when it was served
until the item changes next. Nothing that a crawler reports affects its score.
"""

from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.recordings.pages import Recording


class SourceScore(TypedDict):
    """The score of a client at one source.

    ``freshness`` is the share of existing items, averaged over the scored time, of
    which the client had been served the current version; ``current`` is the same at
    the end. ``fetched`` counts the items that it was ever served, of ``items`` that
    existed at some time.
    """

    freshness: float
    current: float
    fetched: int
    items: int
    requests: int


@dataclass
class ClientLog:
    """The requests of one client to one source.

    Attributes:
        row: The items that it was served.
        at: When, in days.
        requests: All requests, whatever their answers.

    """

    row: list[int] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    requests: int = 0


def score(truth: Recording, log: ClientLog, begin: float, end: float) -> SourceScore:
    """Return how fresh a client's copy of a source was between two moments."""
    rows, at = np.array(log.row, dtype=np.intp), np.array(log.at)
    held = HeldVersions.of(truth, rows, at)
    there = overlap(truth.born, truth.died, begin, end)
    fresh = overlap(held.since, held.until, begin, end)
    alive = (truth.born <= end) & (end < truth.died)
    now = (held.since <= end) & (end < held.until)
    return {
        "freshness": float(fresh.sum() / max(there.sum(), 1e-12)),
        "current": int((alive[held.row] & now).sum()) / max(int(alive.sum()), 1),
        "fetched": int(np.unique(rows).size),
        "items": int(((truth.born <= end) & (truth.died > begin)).sum()),
        "requests": log.requests,
    }


@dataclass(frozen=True, slots=True)
class HeldVersions:
    """The times during which a client held current versions: each version once."""

    row: Ints
    since: Floats
    until: Floats

    @classmethod
    def of(cls, truth: Recording, rows: Ints, at: Floats) -> "HeldVersions":
        """Return the versions held by a client that was served items at these times."""
        if not rows.size:
            empty = np.zeros(0)
            return cls(rows, empty, empty)
        state = truth.states(rows, at)
        order = np.lexsort((at, state, rows))
        rows, at, state = rows[order], at[order], state[order]
        first = np.append(True, (np.diff(rows) != 0) | (np.diff(state) != 0))
        rows, at = rows[first], at[first]
        until = np.minimum(truth.next_change(rows, at), truth.died[rows])
        return cls(rows, at, until)


def overlap(since: Floats, until: Floats, begin: float, end: float) -> Floats:
    """Return how much of each period lies between two moments.

    >>> overlap(np.array([0.0, 3.0]), np.array([2.0, np.inf]), 1.0, 4.0).tolist()
    [1.0, 1.0]
    """
    inside = np.minimum(until, end) - np.maximum(since, begin)
    return np.asarray(np.maximum(inside, 0.0))
