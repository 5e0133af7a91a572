"""Replay of rules for summaries on recorded databases, week by week.

The divergence of each summary from those of all later weeks is computed beforehand
(``summary.drift``), so a replay only stores the week of each summary and finds the
rest: the same figures as from real summaries, in a thousandth of the time.

All rules start alike: with a summary of every database in each of ``history`` weeks.
From then on each week allows n / T refreshes; fractions are saved for later weeks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from halflife.bench.textcounts import RecordedCounts
from halflife.core.arrays import Bools, Ints
from halflife.core.errors import UsageError
from halflife.policies.texts import (
    CountChecks,
    Refreshes,
    Samples,
    SummaryShelf,
    TextPolicy,
)
from halflife.policies.texts.lessons import Lessons
from halflife.policies.texts.samples import DOCUMENTS, READ
from halflife.probing.query_sampling import PER_QUERY
from halflife.summary.count_check import WORDS
from halflife.summary.drift import SummaryDrift
from halflife.summary.weekly import Weekly

_TIGHT = 1e-9
REQUESTS = READ + READ // PER_QUERY  # of a summary: its documents, and their queries
CHECK = WORDS / REQUESTS  # of a check by match counts, in refreshes


@dataclass(frozen=True)
class TextWorld:
    """Recorded databases whose summaries can be compared in all weeks.

    Attributes:
        found: The drift of their summaries.
        size: Documents (databases x weeks).
        gone: Documents of a week that had changed or gone by a later one
            (databases x weeks x weeks).
        counts: The match counts that they report; None if they report none.

    """

    found: tuple[SummaryDrift, ...]
    size: Ints
    gone: Ints
    counts: RecordedCounts | None = None

    @classmethod
    def of(cls, weekly: Weekly, found: Sequence[SummaryDrift]) -> "TextWorld":
        """Return the databases whose divergence is defined for all pairs of weeks."""
        kept = tuple(d for d in found if not np.isnan(np.triu(d.change.kl)).any())
        if len(kept) < 2:
            raise UsageError(
                f"{len(kept)} of {len(found)} databases have summaries that can be "
                "compared in every week; a replay needs 2"
            )
        gone = np.array([_gone(weekly, d.name) for d in kept])
        size = np.array([d.size for d in kept]).astype(np.intp)
        counts = RecordedCounts(weekly, tuple(d.name for d in kept))
        return cls(kept, size, gone, counts)


def _gone(weekly: Weekly, site: str) -> Ints:
    """Return how many documents of each week (row) are gone in a later one."""
    place = weekly.place(site)
    rows = slice(weekly.first[place], weekly.first[place + 1])
    since, weeks = weekly.since, weekly.weeks - weekly.since
    begin = np.clip(weekly.week_from[rows] - since, 0, weeks)
    end = np.clip(weekly.week_to[rows] + 1 - since, 0, weeks)
    step = np.zeros((weeks + 1, weeks + 1), dtype=np.intp)
    np.add.at(step, (begin, end), 1)  # there from begin, and gone from end on
    np.add.at(step, (end, end), -1)
    there = np.cumsum(step, axis=0)[:weeks, :weeks]
    return np.asarray(np.cumsum(there, axis=1))


@dataclass(frozen=True, slots=True)
class TextRun:
    """The actions of a rule.

    Attributes:
        made: The week of each summary, after the refreshes of each week
            (databases x weeks); places, not numbers, of weeks.
        before: The same before the refreshes.
        sampled: Samples taken in each week.
        checked: Checks by match counts in each week.

    """

    made: Ints
    before: Ints
    sampled: Ints
    checked: Ints

    @property
    def renewed(self) -> Bools:
        """Whether a summary was refreshed in a week (databases x weeks)."""
        return np.asarray(self.made != self.before)


@dataclass(frozen=True, slots=True)
class TextTerms:
    """The budget of a rule: one refresh of each database in ``every`` weeks."""

    every: float
    price: float = 0.0
    bounded: bool = True


def replay(
    world: TextWorld,
    lessons: Lessons,
    policy: TextPolicy,
    terms: TextTerms,
    rng: Generator,
) -> TextRun:
    """Return the actions of a rule from the end of the history to the last week."""
    weeks = lessons.kl.shape[2]
    crawler = _Crawler(world, lessons, terms, rng)
    made, before, requests = [], [], []
    for week in range(lessons.begin, weeks):
        before.append(crawler.made.copy())
        requests.append(crawler.turn(policy, week) if week > lessons.begin else (0, 0))
        made.append(crawler.made.copy())
    sampled, checked = np.array(requests).T
    return TextRun(np.array(made).T, np.array(before).T, sampled, checked)


class _Crawler:
    """Carries out the requests of a rule and keeps the results."""

    def __init__(
        self, world: TextWorld, lessons: Lessons, terms: TextTerms, rng: Generator
    ) -> None:
        self.world, self.kl, self.terms, self.rng = world, lessons.kl, terms, rng
        self.stratum = lessons.stratum
        n, begin = self.stratum.size, lessons.begin
        self.income = n / terms.every
        self.purse = float(rng.random())  # saved from the week before, at random
        self.made = np.full(n, begin, dtype=np.intp)
        week = np.arange(lessons.start, begin)
        drift = self.kl[:, week, week + 1].T.ravel()
        self.seen = Refreshes(
            np.tile(np.arange(n), week.size), np.ones(drift.size), drift
        )
        self.samples = Samples(np.full(n, -1), np.zeros(n))
        price = CHECK if world.counts is not None else np.inf
        self.checks = CountChecks.none(np.full(n, price))

    def turn(self, policy: TextPolicy, week: int) -> tuple[int, int]:
        """Carry out the requests of a week; return the number of samples and checks."""
        self.purse += self.income
        sampled = checked = 0
        while True:
            shelf = SummaryShelf(
                week,
                week - self.made,
                self.stratum,
                self.world.size[np.arange(self.made.size), self.made].astype(float),
                self.seen,
                self.samples,
                self.income,
                self.checks,
            )
            wish = policy(shelf, self.purse + _TIGHT, self.rng)
            if wish.sample.size:
                self._charge(self.terms.price * wish.sample.size)
                self._sample(wish.sample, week)
                sampled += wish.sample.size
            elif wish.check.size:
                self._charge(float(self.checks.price[wish.check].sum()))
                self._check(wish.check, week)
                checked += wish.check.size
            elif wish.refresh.size:
                self._charge(wish.refresh.size)
                self._refresh(wish.refresh, week)
            else:
                return sampled, checked

    def _charge(self, cost: float) -> None:
        self.purse -= cost
        if self.terms.bounded and self.purse < -1e-6:
            raise UsageError(f"a rule overspent by {-self.purse:.3g} refreshes")

    def _refresh(self, some: Ints, week: int) -> None:
        old = self.made[some]
        if (old == week).any() or np.unique(some).size < some.size:
            raise UsageError("a rule refreshed a summary twice in one week")
        gap = (week - old).astype(np.float64)
        self.seen = self.seen.and_then(some, gap, self.kl[some, old, week])
        self.made[some] = week
        price = self.checks.price.copy()
        price[some] = np.inf if self.world.counts is None else CHECK
        self.checks = replace(self.checks.without(some), price=price)

    def _check(self, some: Ints, week: int) -> None:
        """Request the match counts of a few words of each summary.

        A database that reports too few of them is not queried again.
        """
        old, counts = self.made[some], self.world.counts
        age = (week - old).astype(np.float64)
        if counts is None or np.unique(some).size < some.size or (age <= 0).any():
            raise UsageError("a rule checked a summary that cannot be checked now")
        kl = [
            counts.check(i, made, week, self.rng)
            for i, made in zip(some.tolist(), old.tolist(), strict=True)
        ]
        price = self.checks.price.copy()
        price[some[np.isnan(kl)]] = np.inf  # until it is summarised again
        self.checks = replace(
            self.checks.and_then(some, age, np.array(kl)), price=price
        )

    def _sample(self, some: Ints, week: int) -> None:
        """Fetch some documents of the old summary, and count the changed ones."""
        old = self.made[some]
        size, gone = self.world.size[some, old], self.world.gone[some, old, week]
        taken = np.minimum(size, DOCUMENTS)
        changed = self.rng.hypergeometric(gone, size - gone, taken)
        share, at = self.samples.share.copy(), self.samples.week.copy()
        share[some], at[some] = changed / np.maximum(taken, 1), week
        self.samples = Samples(at, share)
