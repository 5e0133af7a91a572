"""The true quality of our copy, by the whole recording.

During a replay only the fetches are recorded. The quality of the copy follows from
them and from the moments of change: a change makes a copy stale from then until the
next fetch of it.
"""

from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.metrics.sums import GroupSums, group_codes, sum_by_group
from halflife.recordings.pages import Recording


@dataclass(frozen=True, slots=True)
class MissedChanges:
    """Every change after the first fetch of its item; one row a change.

    Attributes:
        item: The item that changed.
        at: When.
        until: When it was next fetched, or the time reached if it was not.
        rank: 1 for the first change since a fetch, 2 for the second, and so on.

    """

    item: Ints
    at: Floats
    until: Floats
    rank: Ints


class TrueCopy:
    """The true quality of each part of a copy; times in days.

    Everything is current at the beginning. Time before the moment given to
    ``score_from`` counts only for the daily figures.

    Attributes:
        now: The time reached.
        fetched: Which items were fetched in the scored time.

    """

    def __init__(self, recording: Recording, began: float, end: float) -> None:
        self.now = began
        self.fetched = np.zeros(len(recording), dtype=np.bool_)
        self._recording, self._began, self._end = recording, began, end
        self._scored = began
        self._last = np.full(len(recording), began)
        total = float(recording.weight.sum())
        self._share = recording.weight / (total if total > 0 else 1.0)
        self._rows: list[Ints] = [np.arange(len(recording))]
        self._times: list[float] = [began]

    def score_from(self, moment: float) -> None:
        """Exclude what happens before a moment from the scores."""
        self._scored = moment

    @property
    def scoring(self) -> bool:
        """Whether what happens now counts."""
        return self.now >= self._scored - 1e-9

    def pass_time(self, until: float) -> None:
        """Move time forward without a request."""
        self.now = until

    def refresh(self, rows: Ints) -> None:
        """Make the copies of these items current."""
        self._rows.append(rows)
        self._times.append(self.now)
        self._last[rows] = self.now
        if self.scoring:
            self.fetched[rows] = True

    @property
    def freshness(self) -> float:
        """The weighted share of copies that are current now."""
        every = np.arange(self._last.size)
        until = self._recording.next_change(every, self._last)
        return float(self._share @ (until > self.now))

    @property
    def mean_freshness(self) -> float:
        """The same, averaged over the scored time."""
        time = self.now - self._scored
        if time <= 0:
            return self.freshness
        missed, _, _ = self._changes_and_fetches()
        first = missed.rank == 1
        stale = _length(missed, self._scored)[first]
        return 1.0 - float(self._share[missed.item[first]] @ stale) / time

    @property
    def daily(self) -> Floats:
        """Freshness of each day since the beginning."""
        missed, _, _ = self._changes_and_fetches()
        first = missed.rank == 1
        share = self._share[missed.item[first]]
        edges = np.arange(max(int(np.ceil(self._end - self._began)), 1) + 1.0)
        edges = np.minimum(edges + self._began, max(self._end, self._began))
        stale = _passed(edges, missed.at[first], share)
        stale = stale - _passed(edges, missed.until[first], share)
        days = np.diff(edges)
        return 1.0 - np.diff(stale) / np.where(days > 0, days, 1.0)

    def sums(self) -> GroupSums:
        """Return the quality of the copy in the scored time, group by group."""
        missed, item, found = self._changes_and_fetches()
        names, code = group_codes(self._recording.group, len(self._recording))
        weight, time = self._recording.weight, max(self.now - self._scored, 0.0)
        first, length = missed.rank == 1, _length(missed, self._scored)
        began = np.maximum(missed.at, self._scored)
        late = (missed.until - missed.at) ** 2 - (began - missed.at) ** 2
        late = np.where(first & (length > 0), late / 2.0, 0.0)

        n, home, heft = len(names), code[missed.item], weight[missed.item]
        total = sum_by_group(code, weight, n) * time
        return GroupSums(
            names=names,
            weight=total,
            fresh=total - sum_by_group(home, heft * np.where(first, length, 0.0), n),
            age=sum_by_group(home, heft * late, n),
            harmonic=sum_by_group(home, heft * length / missed.rank, n),
            looks=sum_by_group(code[item], np.ones(item.size), n),
            changed=sum_by_group(code[item], found.astype(np.float64), n),
        )

    def _changes_and_fetches(self) -> tuple[MissedChanges, Ints, Bools]:
        """Return changes with the fetches that ended them, and scored fetches.

        Of each scored fetch: its item, and whether it found a change.
        """
        start, moments = self._recording.moments
        item = np.repeat(np.arange(len(self._recording)), np.diff(start))
        inside = (moments > self._began) & (moments <= self.now)
        sizes = [rows.size for rows in self._rows]
        rows = np.concatenate([item[inside], *self._rows])
        at = np.concatenate([moments[inside], np.repeat(self._times, sizes)])
        is_fetch = np.arange(rows.size) >= int(inside.sum())
        # a fetch at the very moment of a change sees it, so it comes after
        order = np.lexsort((is_fetch, at, rows))
        rows, at, is_fetch = rows[order], at[order], is_fetch[order]
        return _missed(rows, at, is_fetch, self.now), *self._counted(rows, at, is_fetch)

    def _counted(self, rows: Ints, at: Floats, is_fetch: Bools) -> tuple[Ints, Bools]:
        after = np.concatenate([[False], ~is_fetch[:-1]]) & is_fetch
        again = np.concatenate([[False], rows[1:] == rows[:-1]])
        mine = is_fetch & again & (at >= self._scored - 1e-9)
        return rows[mine], after[mine]


def _missed(rows: Ints, at: Floats, is_fetch: Bools, now: float) -> MissedChanges:
    """Return the changes among changes and fetches; each item begins with a fetch."""
    change = np.flatnonzero(~is_fetch)
    fetches = np.flatnonzero(is_fetch)
    following = np.cumsum(is_fetch)[change]
    item = rows[change]
    later = fetches[np.minimum(following, fetches.size - 1)]
    seen = (following < fetches.size) & (rows[later] == item)
    return MissedChanges(
        item=item,
        at=at[change],
        until=np.where(seen, at[later], now),
        rank=change - fetches[following - 1],
    )


def _length(missed: MissedChanges, since: float) -> Floats:
    """Return how long each change was missed, from ``since`` on."""
    began = np.maximum(missed.at, since)
    return np.maximum(missed.until - began, 0.0)


def _passed(edges: Floats, at: Floats, share: Floats) -> Floats:
    """Return the sum of share * max(edge - at, 0) at each edge."""
    order = np.argsort(at)
    at, share = at[order], share[order]
    count = np.searchsorted(at, edges)
    amount = np.concatenate([[0.0], np.cumsum(share)])[count]
    moment = np.concatenate([[0.0], np.cumsum(share * (at - edges[0]))])[count]
    passed: Floats = (edges - edges[0]) * amount - moment
    return passed
