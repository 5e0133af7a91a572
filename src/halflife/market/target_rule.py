"""The least requests that keep targets: what each source asks for this round.

What is renewed bit by bit (pages, values of a form) is looked at in lots, best first,
until the chance that its quality falls below the level before the next round is hardly
higher than if all of it were looked at. What is renewed whole (a listing, a summary) is
looked at when that chance is no longer small. How small depends on how often the level
was missed lately: the more often, the more careful, and in the end everything is looked
at. So the level is kept as often as is asked for whatever the source does, if a look at
everything each round would keep it (Gibbs and Candes, "Adaptive conformal inference
under distribution shift", NeurIPS 2021; Angelopoulos, Candes and Tibshirani, "Conformal
PID control", NeurIPS 2023).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, floor, inf

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats
from halflife.core.value_curve import Offers
from halflife.market.limits import FREE, Limits
from halflife.market.offers import OfferTurn, TakenOffers, take

TIMES: Floats = np.concatenate([[0.02], np.geomspace(0.1, 200.0, 20)])
AIM = 0.8  # of the share of time that may be missed, what is made use of
TENSE = 0.1  # of the allowance, what is left when more than that was missed
SHORTEST = 0.125  # days of a round of which most is left then
BOLD = 0.5  # of the share of time that may still be missed, the risk of a round
WARY = 0.3  # the same of what is left when more than that was missed
WINDOW = 100.0  # days after which what was missed counts 1/e
HALF = 60.0  # days after which what a round has shown counts half
SHORT, LATELY = 1.0, 10.0  # the same of busy times, and rounds that these count for
LENT = 30.0  # days that are lent
MISSED = 0.4  # how much of the allowance these have missed
FAILED, WATCHED = 1.0, 90.0  # failures of a whole that are lent, and days for them
ONCE = 0.6  # of what is allowed in a window: what fails at once fails more than once
USUAL, BURST = 1.0, 1.0  # rounds that are lent: as believed, and anything above
CALM = 3.0  # times what is believed, above which it is a burst
LOT = 1.0 / 20.0  # of all units, how many are looked at before thinking again
_LEAST, _TIGHT = 1e-4, 1e-9
_LOGS: Floats = np.log(TIMES)
_PARTS: Floats = (np.arange(16) + 0.5) / 16  # of an interval, where misses are counted


@dataclass(frozen=True, slots=True)
class Goal:
    """What is to be kept.

    Attributes:
        level: The least quality.
        confidence: The share of time at which it must hold; None: on average.

    """

    level: float
    confidence: float | None = None

    @property
    def loss(self) -> float:
        """The loss that the level allows."""
        return 1.0 - self.level

    @property
    def allowed(self) -> float:
        """The share of time that may miss the level; of a mean, the loss itself."""
        return self.loss if self.confidence is None else 1.0 - self.confidence


@dataclass(frozen=True, slots=True)
class Past:
    """What rounds have shown of a source; older ones count less.

    Attributes:
        days: Days that are looked back on.
        missed: Days of them below the level; for a mean, the loss times days.
        times: Rounds in which the loss was ``TIMES`` what was believed; empty if none.
        lately: The same of the last rounds alone: busy times come together.
        failed: Looks that found a whole below its level.
        watched: Days before those looks, and before all others; of pages, days with
            looks before there was a level.
        debt: Days missed beyond what is made use of; below 0 it is forgotten.

    """

    days: float = 0.0
    missed: float = 0.0
    times: tuple[float, ...] = ()
    lately: tuple[float, ...] = ()
    failed: float = 0.0
    watched: float = 0.0
    debt: float = 0.0

    def spare(self, goal: Goal, left: float = -inf) -> float:
        """Return the share of time that may still be missed, 0 or less if none.

        That is what is allowed, less what was missed lately; at first a part of the
        allowance counts as missed. If that is used up, so much of the allowance is
        ``left``, unless a mean is to be kept. Nor may more be missed in all, with
        c = 2 days and what is made use of in a window, than ``AIM`` times what is
        allowed, and c.
        """
        lent = LENT * MISSED * goal.allowed
        rate = (self.missed + lent) / (self.days + LENT)
        room = 1.0 + AIM * goal.allowed * WINDOW - self.debt
        share = AIM * goal.allowed - rate
        if goal.confidence is not None:
            share = max(share, left * goal.allowed)
        return min(share, room / WINDOW)

    def weights(self, expected: float, days: float = 1.0) -> Floats:
        """Return how likely the loss of so many days is ``TIMES`` what is believed.

        To what was seen so far one round is added that is about as believed, and one
        that is anything from there to the loss of all (Newton, "On a nonparametric
        recursive estimator of the mixing distribution", Sankhya 2002). In less than a
        day bursts are as much less likely.
        """
        usual = np.exp(-0.5 * _LOGS**2)
        top = max(1.0 / max(expected, _LEAST), 2.0)
        burst = (np.clip(TIMES, 1.0, 1.3 * top) == TIMES).astype(np.float64)
        seen = _counts(self.times) + LATELY * _counts(self.lately)
        weight = USUAL * usual / usual.sum() + BURST * burst / burst.sum() + seen
        weight = weight / weight.sum()
        calm = np.where(TIMES > CALM, 0.0, weight)
        part = min(max(days, 0.0), 1.0)
        return np.asarray(part * weight + (1.0 - part) * calm / calm.sum())

    def learned(self, round_: "TargetRound", days: float) -> "Past":
        """Return the past with a round that has shown how wrong beliefs are.

        One that lasted for less than a day counts as much less, unless it has shown
        more than that: the distance of what is believed after it from what was before.
        """
        shown = round_.shown(self)
        told = np.abs(shown - self.weights(round_.began, round_.days)).sum() / 2.0
        days = max(days, 0.0)
        count = max(min(days, 1.0), float(told))
        times = _counts(self.times) * 0.5 ** (days / HALF) + count * shown
        short = 0.5 ** (max(days, count) / SHORT)
        lately = _counts(self.lately) * short + shown * (1.0 - short)
        return replace(self, times=tuple(times.tolist()), lately=tuple(lately.tolist()))

    def judged(self, missed: float, days: float, goal: Goal) -> "Past":
        """Return the past with so many days, a share of them missed."""
        fade = exp(-max(days, 0.0) / WINDOW)
        lost = min(max(missed, 0.0), 1.0) * days
        return replace(
            self,
            days=self.days * fade + days,
            missed=self.missed * fade + lost,
            debt=max(self.debt + lost - AIM * goal.allowed * days, 0.0),
        )


def _counts(seen: tuple[float, ...]) -> Floats:
    return np.array(seen) if seen else np.zeros(TIMES.size)


@dataclass(frozen=True, slots=True)
class TargetRound:
    """How a source stands within a round; losses are shares of all that there is.

    Attributes:
        things: How many things are lost one by one; things that go together are one.
        began: Loss that was believed when the round began, in what was held then.
        left: Of that, what is in units that were not looked at since.
        found: Loss that the looks of the round have found.
        now: Loss that is believed now in units that were not looked at since.
        coming: Loss to come until the next round, in all units.
        unseen: Share of all that was not looked at since the round began.
        days: Days for which nobody had looked when it began, in the mean.
        ahead: Days until the next round.

    """

    things: float
    began: float
    left: float
    found: float
    now: float
    coming: float
    unseen: float
    days: float = 1.0
    ahead: float = 1.0

    def shown(self, past: Past) -> Floats:
        """Return how likely the loss of this round is ``TIMES`` what was believed.

        What is found is Poisson with the mean times what was believed of those units.
        """
        x = self.found * self.things
        of = max(self.began - self.left, 0.0) * self.things
        logs = (
            np.log(past.weights(self.began, self.days) + _TIGHT)
            + x * _LOGS
            - of * TIMES
        )
        likely = np.exp(logs - logs.max())
        return np.asarray(likely / likely.sum())

    def unfound(self) -> Floats:
        """Return the things lost in what was not looked at, for each of ``TIMES``."""
        lost = np.maximum(TIMES * self.left, np.minimum(TIMES, 1.0) * self.now)
        return np.asarray(np.minimum(lost, self.unseen) * self.things)


@dataclass(frozen=True, slots=True)
class SourceRisk:
    """What may happen to a source until the next round.

    Attributes:
        miss: The chance to fall below the level.
        least: The same if all were looked at now.
        loss: The loss that is expected then.
        missed: The chance that it was below the level when the round began.
        lost: The loss that is expected to have been there then.

    """

    miss: float
    least: float
    loss: float
    missed: float
    lost: float


def risk(past: Past, now: TargetRound, level: float) -> SourceRisk:
    """Return what may happen until the next round.

    Each round has a factor of its own by which losses are off; of this one the looks
    have shown something. With S things lost unseen and C to come, the number lost is
    Poisson with the mean S + C, and a miss is more than the level allows.
    """
    things = max(now.things, _TIGHT)
    most = floor((1.0 - level) * things + _TIGHT)
    fresh, likely = past.weights(now.began, now.ahead), now.shown(past)
    unfound = now.unfound()
    coming = np.minimum(TIMES * now.coming * things, things)
    both = lazy_scipy.gammainc(most + 1.0, unfound[:, None] + coming)
    left = most - now.found * things
    had = lazy_scipy.gammainc(max(left, 0.0) + 1.0, unfound) if left >= 0 else 1.0
    expected = float(likely @ unfound) / things
    return SourceRisk(
        float(likely @ both @ fresh),
        float(lazy_scipy.gammainc(most + 1.0, coming) @ fresh),
        min(expected + float(fresh @ coming) / things, 1.0),
        float(np.sum(likely * had)),
        min(now.found + expected, 1.0),
    )


def wants(past: Past, now: TargetRound, goal: Goal) -> bool:
    """Say whether a source is to be looked at further in this round.

    Yes as long as that lowers the chance of a miss by more than ``BOLD`` times the
    share of time that may still be missed, or ``WARY`` times what is left at the least;
    for a mean, as long as the loss to expect is above what is allowed, and what was
    spared before.
    """
    if now.unseen <= _TIGHT:
        return False
    spare = past.spare(goal, _left(now.ahead))
    ahead = risk(past, now, goal.level)
    if goal.confidence is None:
        return spare + goal.loss <= 0 or ahead.loss > min(spare, goal.loss) + goal.loss
    risked = max(BOLD * past.spare(goal), WARY * spare)
    return spare <= 0 or ahead.miss - ahead.least > risked


def closed(past: Past, now: TargetRound, goal: Goal, days: float) -> Past:
    """Return the past with a round at its end, which judges the days before it."""
    found = risk(past, now, goal.level)
    missed = found.lost if goal.confidence is None else found.missed
    return past.judged(missed, days, goal).learned(now, days)


@dataclass(frozen=True, slots=True)
class Whole:
    """How a source stands that is renewed whole.

    Attributes:
        things: How many things are lost one by one; 1 if it holds or does not.
        age: Days since it was made.
        later: Loss that is believed at the next round, if nothing is done.
        fresh: The same of a copy made now.
        step: Days until the next round.

    """

    things: float
    age: float
    later: float
    fresh: float
    step: float

    def chance(self, past: Past, level: float) -> float:
        """Return by how much more likely a miss is than with a copy made now."""
        if self.things <= 1.0:
            return self.later - self.fresh
        most = floor((1.0 - level) * self.things + _TIGHT) + 1.0
        weight = past.weights(self.later, self.age + self.step)
        later, fresh = (
            float(weight @ lazy_scipy.gammainc(most, TIMES * loss * self.things))
            for loss in (self.later, self.fresh)
        )
        return later - fresh

    def summed(self, past: Past, level: float) -> float:
        """Return the share of days until the next round that miss the level.

        Beyond the share that a copy made now misses until then. All days since the
        copy was made count, with a loss that grows evenly: a miss a day before the end
        is as likely as one with a loss that is a day less.
        """
        if self.things <= 1.0:
            return (self.later - self.fresh) / 2.0
        most = floor((1.0 - level) * self.things + _TIGHT) + 1.0
        weight = past.weights(self.later, self.age + self.step)
        grown = TIMES[:, None] * self.things * _PARTS
        later, fresh = (
            float(np.mean(weight @ lazy_scipy.gammainc(most, grown * loss)))
            for loss in (self.later, self.fresh)
        )
        return later - fresh


def _left(days: float) -> float:
    """Return how much of the allowance is left in a round when more was missed.

    The more the shorter it is: each costs as much and saves less.
    """
    return TENSE / max(days, SHORTEST)


def _spare(past: Past, goal: Goal, step: float) -> float:
    """Return what may be missed of a whole; at a look a day nothing can be chosen."""
    return past.spare(goal, _left(step) if step < 1.0 else -inf)


def longest(past: Past, goal: Goal, whole: Whole) -> float:
    """Return the days after which a whole is looked at whatever is believed of it.

    A whole can fail at once, and nobody knows until the next look. With h failures a
    day, looks T apart miss h (T - step) / 2 of the time more than looks at each step;
    and no single failure may last longer than all that is allowed in a window, or
    ``ONCE`` of it for what holds or does not.
    """
    pace = (past.failed + FAILED) / (past.watched + WATCHED)
    spare = max(_spare(past, goal, whole.step), 0.0)
    most = WINDOW * goal.allowed * (ONCE if whole.things <= 1.0 else 1.0)
    return min(whole.step + 2.0 * spare / pace, most)


def due(past: Past, whole: Whole, goal: Goal) -> bool:
    """Say whether a whole is to be looked at now.

    It is when more of the days since the last look and until the next round are to be
    expected to miss the level than may still be missed; for a mean, when the loss since
    the last look is above what is allowed, and what was spared before: with an even
    loss its mean is half of its end.
    """
    spare = _spare(past, goal, whole.step)
    if goal.confidence is None:
        allowed = min(spare, goal.loss) + goal.loss
        return allowed <= 0 or whole.later > 2.0 * allowed
    old = whole.age + _TIGHT >= longest(past, goal, whole)
    return spare <= 0 or old or whole.summed(past, goal.level) > spare


def looked(
    past: Past,
    whole: Whole,
    found: float,
    believed: float,
    goal: Goal,
    *,
    missed: float | None = None,
) -> Past:
    """Return the past with a look at a whole, which has lost so much.

    If the loss grew evenly, it was above what is allowed for age (1 - allowed / found);
    ``missed`` is that share of the time if it did not, or the mean loss for a mean.
    """
    failed = found > goal.loss + _TIGHT  # 5 of 50 lost at a level of 0.9 is kept
    if missed is None:
        share = 1.0 - goal.loss / found if failed else 0.0
        missed = found / 2.0 if goal.confidence is None else share
    told = TargetRound(whole.things, believed, 0.0, found, 0.0, 0.0, 0.0, whole.age)
    after = past.judged(missed, whole.age, goal).learned(told, whole.age)
    return replace(after, failed=past.failed + failed, watched=past.watched + whole.age)


def kept(
    offers: Offers,
    asks: Mapping[str, float],
    budget: float,
    limits: Limits = FREE,
    *,
    turn: OfferTurn,
) -> TakenOffers:
    """Return the offers that give each source what it asks for, and what is urgent.

    A source that asks for nothing gets what must not wait, and no more. If the budget
    is not enough for all, those that ask share it by gain per request, as without
    targets.
    """
    cost = np.where(turn.urgent, offers.cost, 0.0)
    urgent = np.bincount(offers.source, cost, len(offers.sources)).tolist()
    most = {
        name: min(max(asks.get(name, 0.0), due), limits.most.get(name, inf))
        for name, due in zip(offers.sources, urgent, strict=True)
    }
    return take(offers, budget, replace(limits, most=most), turn=turn, patient=True)
