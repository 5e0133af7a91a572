"""What a rule for summaries does for the databases of a live store.

In a replay of weekly recordings a rule ranks databases once a week and takes the best
until the week's refreshes are spent. A service turns every few minutes, refreshes
differ in cost, and other sources want the same requests. So here the rank becomes an
interval: a database is due as soon as its score, as a function of its age, reaches a
level, and the level is the one at which all databases of the rule together take the
income that they share, sum(cost / interval) = income. For Eq. 4, whose score is age
times frequency, the level is 1 and the interval 1 / frequency; for a rule that goes by
the oldest first all intervals are the same; for the index rule it is the price of a
request.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Protocol, runtime_checkable

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.errors import UsageError
from halflife.core.wording import span
from halflife.market import price
from halflife.models.drift import WeibullSurvival
from halflife.policies.texts import (
    CountChecks,
    Refreshes,
    Samples,
    SummaryShelf,
    TextPolicy,
    TrainingData,
)
from halflife.policies.texts.checked_index import CheckedIndex
from halflife.policies.texts.samples import SHARE

WEEK = 7.0
SHORTEST = 1.0  # days between two renewals of a summary, however much may be spent
FIRST = 2.0  # rank of what comes before all that is merely due
_TIGHT = 1e-9


@dataclass(frozen=True, slots=True)
class SummaryChecks:
    """What the latest check of each database showed.

    Attributes:
        at: When it was, in days; ``-inf`` if there was none since the summary was made.
        share: Share of the documents seen again that had changed.
        kl: How far the documents were from those of the summary, beyond chance.
        asked: Checks of the database so far.
        passed: Those of them that it passed.

    """

    at: Floats
    share: Floats
    kl: Floats
    asked: Ints
    passed: Ints


@dataclass(frozen=True, slots=True)
class Databases:
    """What is known of all databases that go by one rule, a value for each.

    Attributes:
        now: The time, in days.
        domain: The kind of site: com, edu, gov, org or misc.
        method: How summaries are made: ``QBS`` or ``FPS``.
        size: Documents.
        tau: The divergence from which a summary counts as out of date.
        made: When the summary in use was made, in days.
        looked: When the database was last summarised or checked, in days.
        doubted: Whether the summary did not pass its last check.
        cost: Requests of a new summary.
        check: Requests of a check; ``inf`` where the summary cannot be checked.
        weight: How much a database counts.
        income: Requests a day that all of them share.
        refreshes: What refreshes showed so far, oldest first; gaps in weeks.
        checks: What checks showed last.
        counts: What match counts showed of the summaries in use, for a price in
            requests; None if the rule does not go by them.
        fitted: Models that were fitted to these refreshes before.

    """

    now: float
    domain: tuple[str, ...]
    method: tuple[str, ...]
    size: Floats
    tau: Floats
    made: Floats
    looked: Floats
    doubted: Bools
    cost: Floats
    check: Floats
    weight: Floats
    income: float
    refreshes: Refreshes
    checks: SummaryChecks
    counts: CountChecks | None = None
    fitted: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.domain)

    @property
    def every(self) -> float:
        """T: weeks in which the income renews every database once."""
        return float(self.cost.sum()) / max(self.income * WEEK, 1e-300)

    @property
    def checkable(self) -> Bools:
        """Whether a check is cheaper than a new summary."""
        return np.asarray(self.check < self.cost)

    def shelf(self) -> SummaryShelf:
        """Return the same as rules for recorded weeks see it."""
        n = len(self)
        return SummaryShelf(
            0,
            np.asarray((self.now - self.made) / WEEK),
            np.unique(self.domain, return_inverse=True)[1].astype(np.intp),
            self.size,
            self._seen(),
            Samples(np.full(n, -1), np.zeros(n)),
            n / self.every,
            self.counts,
        )

    def _seen(self) -> Refreshes:
        """Return the refreshes, and of summaries in use the latest check."""
        gap = (self.checks.at - self.made) / WEEK
        some = np.flatnonzero((gap > 0) & np.isfinite(self.checks.kl) & ~self.doubted)
        return self.refreshes.and_then(some, gap[some], self.checks.kl[some])


@dataclass(frozen=True, slots=True)
class Choices:
    """What to do for each database.

    Attributes:
        renews: Whether it is summarised anew; else its summary is checked.
        due: Whether that is to be done now.
        every: Days between two, at the present pace; ``inf`` if it is not planned.
        since: When the present interval began, in days.
        rank: Of what is due the order: the highest comes first.
        cost: Requests that one takes in the long run, what follows from it included.
        why: The reason, in a few words.
        survival: How long summaries hold as the rule has it, in days; None if it does
            not say.

    """

    renews: Bools
    due: Bools
    every: Floats
    since: Floats
    rank: Floats
    cost: Floats
    why: tuple[str, ...]
    survival: WeibullSurvival | None = None


@runtime_checkable
class SearchPolicy(Protocol):
    """What ``[[source]] policy`` of a search stands for, ours or a plug-in's."""

    @property
    def about(self) -> str:
        """What it does, in one line."""
        ...

    @property
    def paper(self) -> str:
        """Where it was published; empty if nowhere."""
        ...

    def choose(self, known: Databases) -> Choices | None:
        """Return what to do for each database; None if the market's price decides.

        A pure function: no clock, no chance and no memory but what is given.
        """
        ...


@runtime_checkable
class ScoredSummaries(Protocol):
    """A rule that ranks databases by a score that grows with their age."""

    def score(self, shelf: SummaryShelf, age: Floats) -> Floats:
        """Return the score of each database if its summary were so many weeks old."""
        ...


@dataclass(frozen=True, slots=True)
class DueSummaries:
    """When a rule renews a live summary, and how.

    Attributes:
        prepare: Makes the rule from what is known, for any T.
        checks: Whether a summary that is due is checked, and renewed if that fails.
        samples: Whether checks are samples that decide what is renewed.
        level: The score at which a database is due whatever that costs; None if the
            income decides.
        survival: How long summaries hold as the rule has it, in weeks.
        counts: The rule, if it checks by match counts where a database reports them.

    """

    prepare: Callable[[TrainingData], Callable[[float], TextPolicy]]
    checks: bool = False
    samples: bool = False
    level: float | None = None
    survival: Callable[[TrainingData], WeibullSurvival] | None = None
    counts: CheckedIndex | None = None


def choose(rule: DueSummaries, known: Databases) -> Choices:
    """Return what a rule does for each database."""
    from halflife.policies.texts.experience import Experience  # noqa: PLC0415  (scipy)

    if rule.samples:
        return sampled(known)
    taught = Experience(known)
    policy = rule.prepare(taught)(known.every)
    if not isinstance(policy, ScoredSummaries):
        raise UsageError(f"{type(policy).__name__} has no score by age")
    counts = known.counts
    if rule.counts and counts is not None and np.isfinite(counts.price).any():
        return counted(rule.counts, rule, known, counts)
    found = scheduled(policy, rule, known)
    if rule.survival is None:
        return found
    lives = rule.survival(taught)
    days = WeibullSurvival(lives.rate * WEEK**-lives.shape, lives.shape)
    return replace(found, survival=days)


def scheduled(policy: ScoredSummaries, rule: DueSummaries, known: Databases) -> Choices:
    """Return what is due by a score that reaches its level."""
    checks = known.checkable & rule.checks
    cost = np.where(checks, known.check + _failing(known) * known.cost, known.cost)
    since = np.where(checks, known.looked, known.made)
    shelf, n = known.shelf(), len(known)
    days = np.asarray(np.maximum(known.now - since, 0.0))
    dear = known.weight / cost if getattr(policy, "by_cost", False) else np.ones(n)
    none = None if shelf.checks is None else CountChecks.none(shelf.checks.price)
    steady = _dense(policy, replace(shelf, checks=none), dear)
    dense = steady if none is None else _dense(policy, shelf, dear)
    top = max(float(dense.max(initial=0.0)), 1e-300)
    level = _level(rule, steady / top, cost, known.income, top)
    now = np.nan_to_num(policy.score(shelf, days / WEEK) * dear) / top
    every = price.interval_at(dense / top, level)
    if shelf.checks is not None:  # by what a check showed it leaps between two ages
        every = np.where(now >= level, np.minimum(every, days), every)
    every = np.maximum(every, SHORTEST)
    doubted = checks & known.doubted
    due = doubted | (days >= every * (1.0 - _TIGHT))
    rank = np.where(doubted, FIRST, 1.0) * np.maximum(now / max(level, 1e-300), 1.0)
    why = [
        _why("checked" if check else "made", *one)
        for check, *one in zip(checks, doubted, every, days, strict=True)
    ]
    return Choices(~checks | doubted, due, every, since, rank, cost, tuple(why))


def _dense(policy: ScoredSummaries, shelf: SummaryShelf, dear: Floats) -> Floats:
    """Return the score of each database at ``price.AGES``; it never falls."""
    grid = [policy.score(shelf, np.full(dear.size, t / WEEK)) for t in price.AGES]
    scored = np.nan_to_num(np.column_stack(grid)) * dear[:, None]
    return np.asarray(np.maximum.accumulate(scored, axis=1))


def counted(
    policy: CheckedIndex, rule: DueSummaries, known: Databases, counts: CountChecks
) -> Choices:
    """Return what is due where some databases are checked by match counts.

    They are renewed when their index, by all checks so far, reaches its level, and
    else checked in turn. The others go by ``scheduled``: documents are read to check
    them. Checks by counts have a share of the income.
    """
    able = np.isfinite(counts.price)
    left = known.income * (1.0 - policy.share)
    plain = replace(known, check=np.where(able, inf, known.check), income=left)
    found = scheduled(policy, rule, plain)
    scale = policy.drift(known.shelf()).scale
    every = policy.every(scale, counts.price, known.income)
    every = np.maximum(every, SHORTEST)
    last = known.made.copy()
    np.maximum.at(
        last, counts.database, known.made[counts.database] + counts.age * WEEK
    )
    checks = able & ~found.due & (every < found.every)
    days = np.asarray(np.maximum(known.now - last, 0.0))
    late = days >= every * (1.0 - _TIGHT)
    with np.errstate(invalid="ignore"):
        both = counts.price + known.cost * every / found.every
        rank = np.maximum(days / every, 1.0)
    why = [
        _why("checked", np.False_, one, ago) if check else old
        for check, one, ago, old in zip(checks, every, days, found.why, strict=True)
    ]
    return Choices(
        found.renews & ~checks,
        np.where(checks, late, found.due),
        np.where(checks, every, found.every),
        np.where(checks, last, found.since),
        np.where(checks, rank, found.rank),
        np.where(checks, both, found.cost),
        tuple(why),
    )


def _level(
    rule: DueSummaries, dense: Floats, cost: Floats, income: float, top: float
) -> float:
    """Return the score, over ``top``, from which databases are due."""
    if rule.level is not None:
        return rule.level / top
    found = price.long_run(dense * cost[:, None], cost, income, np.ones(cost.size))
    return max(found, 1e-12)


def _failing(known: Databases) -> float:
    """Return the share of checks that are not passed, one of each lent beforehand."""
    asked, passed = known.checks.asked.sum(), known.checks.passed.sum()
    return float((asked - passed + 1.0) / (asked + 2.0))


def _why(done: str, doubted: np.bool_, every: float, days: float) -> str:
    if doubted:
        return "it did not pass its check"
    if every == inf:
        return "it changes too fast to be worth renewing at this budget"
    return f"due every {span(every)}, {done} {span(days)} ago"


def sampled(known: Databases) -> Choices:
    """Return whom to sample, oldest sample first, and whom to renew.

    A quarter of the income goes into samples, each database in turn; the rest renews
    what has the most changed documents, share times size, by its latest sample. Where
    no check can be made the sample is a new summary; if that is so everywhere, all of
    the income goes into these. Cho and Ntoulas, VLDB 2002.
    """
    can = known.checkable
    each = np.where(can, known.check, known.cost)
    pace = max((SHARE if can.any() else 1.0) * known.income, 1e-300)
    every = np.full(len(known), max(float(each.sum()) / pace, SHORTEST))
    fresh = known.checks.at > known.made  # an older one is of what was thrown away
    changed = np.where(fresh, np.nan_to_num(known.checks.share), 0.0) * known.size
    renews = ~can | (changed > 0)
    days = np.asarray(np.maximum(known.now - known.looked, 0.0))
    late = days >= every * (1.0 - _TIGHT)
    most = max(float(changed.max(initial=0.0)), 1e-300)
    rank = np.where(changed > 0, changed / most, FIRST)
    why = [
        f"{share:.0%} of its sampled documents had changed"
        if gone > 0
        else f"sampled every {span(one)}, last {span(ago)} ago"
        for share, gone, one, ago in zip(
            known.checks.share, changed, every, days, strict=True
        )
    ]
    cost = np.where(renews, known.cost, each)
    due = late | (changed > 0)
    return Choices(renews, due, every, known.looked, rank, cost, tuple(why))
