"""Replay a recorded set source under schedules: the quality that syncs buy.

Up to ``begin`` everything recorded is known, as after a training period. From then
on a schedule knows only the observations that it chose to make itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from halflife.core import notebook
from halflife.core.arrays import Floats, Ints
from halflife.core.errors import UsageError
from halflife.core.lifetimes import Collection, Lives
from halflife.core.wording import number
from halflife.metrics.intervals import Interval, mean_interval
from halflife.policies.listings.schedules import FixedInterval, Schedule

ALLOWED = 0.05  # share of time, or of cycles, below the target
BLOCKS = 10  # of time, for intervals by the jackknife
_SOON = 1e-9  # days; observations on a grid of minutes are not exact numbers


def thin(source: Collection, times: Floats) -> Collection:
    """Return the source as seen by some of its observations only.

    What came and went between two of them was never there; an object that was away
    only between two of them never left. Updates show at the next observation, several
    as one. Attributes are as first recorded.
    """
    first = np.searchsorted(times, source.lives.first_seen)
    last = np.searchsorted(times, source.lives.last_seen, side="right") - 1
    rows = np.flatnonzero(first <= last)
    order = rows[np.lexsort((first[rows], source.lives.object[rows]))]
    object_ = source.lives.object[order]
    begins = np.ones(order.size, dtype=np.bool_)
    begins[1:] = (np.diff(object_) != 0) | (first[order][1:] > last[order][:-1] + 1)
    spell = np.cumsum(begins) - 1
    heads = order[begins]
    ends = np.zeros(heads.size, dtype=np.intp)
    np.maximum.at(ends, spell, last[order])
    lives = _through(source.lives.take(heads), times, first[heads], ends)
    number = np.full(len(source.lives), -1, dtype=np.intp)
    number[order] = spell
    changed, at = _updates(source, times, lives, number)
    return replace(source, looks=times, lives=lives, changed=changed, changed_at=at)


def _through(lives: Lives, times: Floats, first: Ints, last: Ints) -> Lives:
    padded = np.concatenate([[-np.inf], times, [np.inf]])
    return replace(
        lives,
        absent_before=padded[first],
        first_seen=padded[first + 1],
        last_seen=padded[last + 1],
        gone_by=padded[last + 2],
    )


def _updates(
    source: Collection, times: Floats, lives: Lives, number: Ints
) -> tuple[Ints, Floats]:
    spell = number[source.changed]
    seen = np.searchsorted(times, source.changed_at)
    there = (spell >= 0) & (seen < times.size)
    spell, seen = spell[there], seen[there]
    at = times[seen]
    there = (at > lives.first_seen[spell]) & (at <= lives.last_seen[spell])
    code = np.unique(spell[there] * max(times.size, 1) + seen[there])
    spell, seen = np.divmod(code, max(times.size, 1))
    return spell, times[seen]


@dataclass(frozen=True, slots=True)
class ScheduleScore:
    """The score of a schedule; series have one entry per gap between observations.

    Attributes:
        recall: Share of the source's objects held, averaged over time.
        precision: Share of held objects still there, averaged over time.
        below: Share of time in which recall was below the target.
        missed: Share of cycles at whose end recall was below the target.
        syncs: Full syncs spent; a group's sync counts its share of the objects.
        days: The length of each gap.
        recalls: Recall averaged over each gap.
        precisions: Precision averaged over each gap.
        spent: Syncs spent at the beginning of each gap.

    """

    recall: float
    precision: float
    below: float
    missed: float
    syncs: float
    days: Floats
    recalls: Floats
    precisions: Floats
    spent: Floats

    @property
    def rho(self) -> float:
        """Mean recall per sync, papers/000 s. 6.2; with no sync, as with one."""
        return self.recall / max(self.syncs, 1.0)

    def plot(self) -> str:
        """Return the recall of each gap as a stand-alone SVG."""
        middle = np.cumsum(self.days) - self.days / 2.0
        ends = ("day 0", f"day {number(self.days.sum(), 3)}")
        return notebook.line("recall between observations", middle, self.recalls, ends)

    def _repr_html_(self) -> str:
        """Return HTML for a notebook: recall over time, and the scores."""
        rows = [
            ("recall", f"{self.recall:.3f}"),
            ("precision", f"{self.precision:.3f}"),
            ("time below the target", f"{self.below:.3f}"),
            ("syncs", f"{number(self.syncs, 4)}"),
            ("recall per sync", f"{number(self.rho, 3)}"),
        ]
        return self.plot() + notebook.table(["score", "value"], rows)


@dataclass(frozen=True)
class SetReplay:
    """A recorded set source, and the rules under which schedules are compared.

    Syncs happen at recorded observations only: the paper's fixed grid. A schedule's
    sync is made at the last observation by the moment it is due, or at the next one if
    that has passed. All copies are in sync at ``begin``, free of charge. A sync of a
    group costs the share of the source's objects that are in the group, as it reads
    that share of the pages of a listing; the source must be able to list one group.

    Attributes:
        source: The true history.
        begin: When schedules take over, in days.
        target: The recall to be kept.
        group: The group of each lifetime; one group for all if not given.

    """

    source: Collection
    begin: float
    target: float = 0.9
    group: Ints | None = None

    def __post_init__(self) -> None:
        """Refuse a source that cannot be replayed."""
        if self.source.looks.size < 2:
            raise UsageError(
                f"{self.source.name}: a replay needs at least two observations"
            )

    def score(self, schedules: Schedule | Sequence[Schedule]) -> ScheduleScore:
        """Return the score of a schedule, or of one schedule per group."""
        each = schedules if isinstance(schedules, Sequence) else [schedules]
        chosen = [self.syncs(g, s) for g, s in enumerate(each)]
        return self.score_of(chosen)

    def syncs(self, group: int, schedule: Schedule) -> Ints:
        """Return the observations, counted from ``begin``, that sync a group."""
        part = _without_updates(self.source.select(self._groups == group))
        times, start = self.source.looks, self._start
        chosen = list(range(start + 1))
        while chosen[-1] < times.size - 1:
            due = schedule(thin(part, times[chosen]))
            chosen.append(_next(times, chosen[-1], due))
        return np.array(chosen[start:-1], dtype=np.intp) - start

    def score_of(self, chosen: Sequence[Ints]) -> ScheduleScore:
        """Return the score of syncs at these observations, one list for each group."""
        days = np.diff(self.source.looks[self._start :])
        count = days.size
        synced = np.array([_latest(made, count) for made in chosen])
        sizes = np.array([np.diagonal(s) for s in self._shared])
        now, group = np.arange(count), np.arange(len(chosen))[:, None]
        held = sizes[group, synced].sum(axis=0)
        quality = []
        for at in (now, now + 1):
            shared = self._shared[group, synced, at].sum(axis=0)
            there = sizes[:, at].sum(axis=0)
            quality.append((_share(shared, there), _share(shared, held)))
        (r0, p0), (r1, p1) = quality
        spent = self._costs(chosen, sizes)
        ends = np.append(np.flatnonzero(spent) - 1, count - 1)
        weight = days / max(float(days.sum()), 1e-12)
        recalls, precisions = (r0 + r1) / 2.0, (p0 + p1) / 2.0
        return ScheduleScore(
            recall=float(weight @ recalls),
            precision=float(weight @ precisions),
            below=float(weight @ _below(r0, r1, self.target)),
            missed=float(np.mean(r1[ends] < self.target)),
            syncs=float(spent.sum()),
            days=days,
            recalls=recalls,
            precisions=precisions,
            spent=spent,
        )

    def _costs(self, chosen: Sequence[Ints], sizes: Floats) -> Floats:
        """Return the syncs spent at each observation but the first, which is free."""
        spent = np.zeros(sizes.shape[1] - 1)
        whole = np.maximum(sizes.sum(axis=0), 1.0)
        for size, made in zip(sizes, chosen, strict=True):
            share = size / whole if len(chosen) > 1 else np.ones_like(whole)
            spent[made[made > 0]] += share[made[made > 0]]
        return spent

    def longest_fixed(
        self, *, at_ends: bool = False
    ) -> tuple[FixedInterval, ScheduleScore]:
        """Return, in hindsight, the longest fixed interval that keeps the target.

        That is, with recall below the target for at most 5 % of the time, or at the
        ends of at most 5 % of the cycles, as a threshold promises;
        the shortest interval if none does. Intervals are multiples of the usual gap.
        """
        gap = float(np.median(np.diff(self.source.looks)))
        best, score = FixedInterval(gap), self.score_of([self.evenly(gap)])
        for times in range(2, self.source.looks.size - self._start):
            found = self.score_of([self.evenly(times * gap)])
            if (found.missed if at_ends else found.below) <= ALLOWED:
                best, score = FixedInterval(times * gap), found
            if found.syncs == 0 or found.below > 0.5:
                break
        return best, score

    def evenly(self, days: float) -> Ints:
        """Return the observations, counted from ``begin``, of syncs every ``days``."""
        times = self.source.looks[self._start :]
        made = [0]
        while made[-1] < times.size - 1:
            made.append(_next(times, made[-1], float(times[made[-1]]) + days))
        return np.array(made[:-1], dtype=np.intp)

    @property
    def _start(self) -> int:
        after = int(np.searchsorted(self.source.looks, self.begin - _SOON))
        return min(after, self.source.looks.size - 2)

    @property
    def _groups(self) -> Ints:
        zeros = np.zeros(len(self.source.lives), dtype=np.intp)
        return zeros if self.group is None else self.group

    @cached_property
    def _shared(self) -> Floats:
        """The number of objects of each group that two observations share."""
        times = self.source.looks[self._start :]
        count = int(self._groups.max(initial=0)) + 1
        return np.array(
            [
                _overlaps(self.source.lives.take(self._groups == g), times)
                for g in range(count)
            ]
        )


def _without_updates(source: Collection) -> Collection:
    """Return the source without updates, which schedules do not use."""
    empty = np.zeros(0)
    return replace(source, changed=empty.astype(np.intp), changed_at=empty)


def _overlaps(lives: Lives, times: Floats) -> Floats:
    first = np.searchsorted(times, lives.first_seen)
    after = np.searchsorted(times, lives.last_seen, side="right")
    rows = first < after
    _, row = np.unique(lives.object[rows], return_inverse=True)
    steps = np.zeros((row.max(initial=-1) + 1, times.size + 1), dtype=np.float32)
    np.add.at(steps, (row, first[rows]), 1.0)
    np.add.at(steps, (row, after[rows]), -1.0)
    there = (np.cumsum(steps, axis=1)[:, :-1] > 0).astype(np.float32)
    return (there.T @ there).astype(np.float64)


def _next(times: Floats, last: int, due: float) -> int:
    """Return the last observation by the moment due, or the next if that has passed."""
    latest = int(np.searchsorted(times, due + _SOON, side="right")) - 1
    return max(latest, last + 1)


def _latest(made: Ints, count: int) -> Ints:
    """Return the last sync at or before each observation."""
    marks = np.zeros(count, dtype=np.intp)
    marks[made] = made
    return np.maximum.accumulate(marks)


def _share(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.ones_like(part), where=whole > 0)


def _below(start: Floats, end: Floats, level: float) -> Floats:
    """Return the share of each line from ``start`` to ``end`` that is below a level."""
    low, high = np.minimum(start, end), np.maximum(start, end)
    cut = (level - low) / np.maximum(high - low, 1e-12)
    return np.clip(np.where(high < level, 1.0, np.where(low >= level, 0.0, cut)), 0, 1)


def recall_difference(one: ScheduleScore, other: ScheduleScore) -> Interval:
    """Return the mean recall of one less that of the other, paired (``_jackknife``)."""

    def difference(kept: Floats) -> float:
        return _recall(one, kept) - _recall(other, kept)

    return _jackknife(difference, one.days.size)


def rho_ratio(one: ScheduleScore, other: ScheduleScore) -> Interval:
    """Return rho of one over that of the other, less 1, paired (``_jackknife``)."""

    def log_ratio(kept: Floats) -> float:
        rho = [
            max(_recall(s, kept), 1e-9) / max(float(kept @ s.spent), 1.0)
            for s in (one, other)
        ]
        return float(np.log(rho[0] / rho[1]))

    found = _jackknife(log_ratio, one.days.size)
    return Interval(*(float(np.expm1(v)) for v in found))


def _recall(score: ScheduleScore, kept: Floats) -> float:
    days = kept * score.days
    return float(days @ score.recalls / max(float(days.sum()), 1e-12))


def _jackknife(figure: Callable[[Floats], float], gaps: int) -> Interval:
    """Return a figure of all gaps and its interval, by the block jackknife.

    Neighbours in time are alike, so whole blocks of time are left out in turn. Efron,
    "The Jackknife, the Bootstrap and Other Resampling Plans", 1982, s. 3.
    """
    block = np.arange(gaps) * BLOCKS // max(gaps, 1)
    whole = figure(np.ones(gaps))
    less = [figure((block != b).astype(np.float64)) for b in range(BLOCKS)]
    pseudo = BLOCKS * whole - (BLOCKS - 1) * np.array(less)
    around = mean_interval(pseudo)
    half = (around.high - around.low) / 2.0
    return Interval(whole, whole - half, whole + half)
