"""The least requests that keep targets: what each source needs in this round.

Sources that are renewed item by item (pages, values of a form) are fetched in lots,
best first, until the chance that their quality falls below the level before the next
round is hardly higher than after a fetch of everything. Sources that are renewed whole
(a listing, a summary) are fetched when that chance is no longer small. The threshold
depends on how often the level was missed recently: the more often, the lower, until
everything is fetched. So the level is kept as often as required whatever the source
does, if fetching everything each round would keep it (Gibbs and Candes, "Adaptive
conformal inference under distribution shift", NeurIPS 2021; Angelopoulos, Candes and
Tibshirani, "Conformal PID control", NeurIPS 2023).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import exp, expm1, floor, inf

import numpy as np

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats
from halflife.core.value_curve import Offers
from halflife.market.burst_rows import BurstRows
from halflife.market.limits import FREE, Limits
from halflife.market.offers import OfferTurn, TakenOffers, take

TIMES: Floats = np.concatenate([[0.02], np.geomspace(0.1, 200.0, 20)])
AIM = 0.8  # used share of the time that may be missed
TENSE = 0.1  # share of the allowance that remains after more than it was missed
SHORTEST = 0.125  # days of a round for which the remaining allowance is largest
BOLD = 0.5  # risk of a round, as a share of the time that may still be missed
WARY = 0.3  # the same after more than the allowance was missed
WINDOW = 100.0  # days after which missed time counts 1/e
HALF = 60.0  # days after which the evidence of a round counts half
SHORT, LATELY = 1.0, 10.0  # the same for busy times, and their weight in rounds
LENT = 30.0  # days of the prior
MISSED = 0.4  # share of the allowance that the prior has missed
FAILED, WATCHED = 1.0, 90.0  # failures of a whole copy in the prior, and its days
ONCE = 0.6  # share of a window's allowance for one failure: failures recur
USUAL, BURST = 1.0, 1.0  # rounds of the prior: as believed, and with a higher loss
CALM = 3.0  # factor of the believed loss above which it is a burst
LOT = 1.0 / 20.0  # share of units that are fetched between two decisions
_LEAST, _TIGHT = 1e-4, 1e-9
_LOGS: Floats = np.log(TIMES)
_PARTS: Floats = (np.arange(16) + 0.5) / 16  # of an interval with misses


@dataclass(frozen=True, slots=True)
class Goal:
    """A target: the least quality, and how often it must hold.

    Attributes:
        level: The least quality.
        confidence: The share of time at which it must hold; None: the mean.

    """

    level: float
    confidence: float | None = None

    @property
    def loss(self) -> float:
        """The loss that the level allows."""
        return 1.0 - self.level

    @property
    def allowed(self) -> float:
        """The share of time that may miss the level; for a mean, the loss itself."""
        return self.loss if self.confidence is None else 1.0 - self.confidence


@dataclass(frozen=True, slots=True)
class LossHistory:
    """The losses of a source in past rounds, discounted by age; stored by field name.

    Attributes:
        days: Days of history.
        missed: Days of them below the level; for a mean, the loss times days.
        times: Rounds in which the loss was ``TIMES`` the believed one; empty if none.
        lately: The same for recent rounds only: busy times cluster.
        failed: Fetches that found a whole copy below its level.
        watched: Days before all fetches of a whole copy; for pages, days with fetches
            before there was a target.
        debt: Days missed beyond the used allowance, never below 0.
        rows: How often bursts caused others.

    """

    days: float = 0.0
    missed: float = 0.0
    times: tuple[float, ...] = ()
    lately: tuple[float, ...] = ()
    failed: float = 0.0
    watched: float = 0.0
    debt: float = 0.0
    rows: BurstRows = field(default_factory=BurstRows)

    def spare(self, goal: Goal, left: float = -inf) -> float:
        """Return the share of time that may still be missed; 0 or less if none.

        That is the allowance less the time missed recently; at first a part of the
        allowance counts as missed. If it is used up, the share ``left`` of the
        allowance remains, unless the target is a mean. In addition, the total missed
        time is bounded: ``AIM`` times the allowance of a window plus 1 day, less the
        debt, is spread over the window.
        """
        lent = LENT * MISSED * goal.allowed
        rate = (self.missed + lent) / (self.days + LENT)
        room = 1.0 + AIM * goal.allowed * WINDOW - self.debt
        share = AIM * goal.allowed - rate
        if goal.confidence is not None:
            share = max(share, left * goal.allowed)
        return min(share, room / WINDOW)

    def weights(self, expected: float, days: float = 1.0) -> Floats:
        """Return the chances that the loss of some days is ``TIMES`` the believed one.

        To the rounds seen so far one round is added with about the believed loss, and
        one with any loss from there to the loss of everything (Newton, "On a
        nonparametric recursive estimator of the mixing distribution", Sankhya 2002).
        The chance of bursts is proportional to the days, up to one day; or that of a
        burst caused by recent ones, if it is larger.
        """
        usual = np.exp(-0.5 * _LOGS**2)
        top = max(1.0 / max(expected, _LEAST), 2.0)
        burst = (np.clip(TIMES, 1.0, 1.3 * top) == TIMES).astype(np.float64)
        seen = _counts(self.times) + LATELY * _counts(self.lately)
        weight = USUAL * usual / usual.sum() + BURST * burst / burst.sum() + seen
        weight = weight / weight.sum()
        days = max(days, 0.0)
        bursts = np.where(TIMES > CALM, weight, 0.0)
        whole = float(bursts.sum())
        chance = max(min(days, 1.0) * whole, -expm1(-self.rows.expected(days)))
        calm = (weight - bursts) / (1.0 - whole)
        return np.asarray(chance * bursts / whole + (1.0 - chance) * calm)

    def with_round(self, round_: "TargetRound", days: float) -> "LossHistory":
        """Return the history with the evidence of a round on how wrong beliefs are.

        A round of less than a day counts in proportion, unless its evidence is
        stronger: the distance between the probabilities before and after it.
        """
        likely = round_.likelihoods(self)
        distance = np.abs(likely - self.weights(round_.began, round_.days)).sum() / 2.0
        days = max(days, 0.0)
        count = max(min(days, 1.0), float(distance))
        times = _counts(self.times) * 0.5 ** (days / HALF) + count * likely
        short = 0.5 ** (max(days, count) / SHORT)
        lately = _counts(self.lately) * short + likely * (1.0 - short)
        usual = float(self.weights(round_.began)[TIMES > CALM].sum())
        burst = float(likely[TIMES > CALM].sum())
        return replace(
            self,
            times=tuple(times.tolist()),
            lately=tuple(lately.tolist()),
            rows=self.rows.after(burst, days, usual),
        )

    def with_missed(
        self, missed: float, days: float, goal: Goal, earlier: float = 0.0
    ) -> "LossHistory":
        """Return the history with so many more days, a share of them missed.

        ``earlier`` are days of the history that turn out to have been missed.
        """
        fade = exp(-max(days, 0.0) / WINDOW)
        lost = min(max(missed, 0.0), 1.0) * days + earlier
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
    """The state of a source within a round; losses are shares of the whole source.

    Attributes:
        things: The number of units that are lost independently.
        began: The loss believed at the start of the round.
        left: The part of that loss in units not fetched since.
        found: The loss found by the fetches of the round.
        now: The loss believed now in units not fetched since.
        coming: The loss expected until the next round, in all units.
        unseen: The share of units not fetched since the start of the round.
        days: The mean age of units at the start of the round, in days.
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

    def likelihoods(self, past: LossHistory) -> Floats:
        """Return the chances that this round's loss is ``TIMES`` the believed one.

        The found loss is Poisson with the mean ``TIMES`` the believed loss of the
        fetched units.
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

    def undetected(self) -> Floats:
        """Return the losses in units not fetched, for each of ``TIMES``."""
        lost = np.maximum(TIMES * self.left, np.minimum(TIMES, 1.0) * self.now)
        return np.asarray(np.minimum(lost, self.unseen) * self.things)


@dataclass(frozen=True, slots=True)
class SourceRisk:
    """The risk of a source until the next round.

    Attributes:
        miss: The chance to fall below the level.
        least: The same after a fetch of everything now.
        loss: The loss expected at the next round.
        missed: The chance that it was below the level at the start of the round.
        lost: The loss expected to have been there at that time.

    """

    miss: float
    least: float
    loss: float
    missed: float
    lost: float


def risk(past: LossHistory, now: TargetRound, level: float) -> SourceRisk:
    """Return the risk until the next round.

    Each round has its own factor between actual and believed losses; the fetches of
    this round are evidence for it. With S undetected losses and C to come, the number
    of losses is Poisson with the mean S + C, and a miss is more than the level allows.
    """
    things = max(now.things, _TIGHT)
    most = floor((1.0 - level) * things + _TIGHT)
    fresh, likely = past.weights(now.began, now.ahead), now.likelihoods(past)
    undetected = now.undetected()
    coming = np.minimum(TIMES * now.coming * things, things)
    misses = lazy_scipy.gammainc(most + 1.0, undetected[:, None] + coming)
    left = most - now.found * things
    missed = lazy_scipy.gammainc(max(left, 0.0) + 1.0, undetected) if left >= 0 else 1.0
    expected = float(likely @ undetected) / things
    return SourceRisk(
        float(likely @ misses @ fresh),
        float(lazy_scipy.gammainc(most + 1.0, coming) @ fresh),
        min(expected + float(fresh @ coming) / things, 1.0),
        float(np.sum(likely * missed)),
        min(now.found + expected, 1.0),
    )


def wants_more(past: LossHistory, now: TargetRound, goal: Goal) -> bool:
    """Return whether to fetch more of a source in this round.

    Yes as long as that lowers the chance of a miss by more than ``BOLD`` times the
    share of time that may still be missed, and by more than ``WARY`` times the share
    that always remains; for a mean, as long as the expected loss exceeds the allowed
    loss plus the unused allowance.
    """
    if now.unseen <= _TIGHT:
        return False
    spare = past.spare(goal, _left(now.ahead))
    ahead = risk(past, now, goal.level)
    if goal.confidence is None:
        return spare + goal.loss <= 0 or ahead.loss > min(spare, goal.loss) + goal.loss
    risked = max(BOLD * past.spare(goal), WARY * spare)
    return spare <= 0 or ahead.miss - ahead.least > risked


def round_length(
    past: LossHistory, now: TargetRound, goal: Goal, shortest: float
) -> float:
    """Return the days that a new round may last, at most ``now.ahead``.

    What comes within a round is noticed at its end at the latest. So it is halved as
    long as a fetch of everything now would leave a larger chance of a miss at its end
    than the share of time that may be missed. For a mean no moment is worse than
    another, so that nothing is halved.
    """
    if goal.confidence is None:
        return now.ahead
    length = now.ahead
    while length > shortest:
        part = length / now.ahead
        then = replace(now, coming=now.coming * part, ahead=length)
        if risk(past, then, goal.level).least <= goal.allowed:
            return length
        length = max(length / 2.0, shortest)
    return length


def after_round(
    past: LossHistory,
    now: TargetRound,
    goal: Goal,
    days: float,
    *,
    below: float | None = None,
) -> LossHistory:
    """Return the history after a round, which covers the days before it.

    ``below`` are the days below the level that ended in the round, if that is known
    better than by its own days: they may have begun before it.
    """
    result = risk(past, now, goal.level)
    missed = result.lost if goal.confidence is None else result.missed
    if below is None or goal.confidence is None:
        return past.with_missed(missed, days, goal).with_round(now, days)
    share, earlier = min(below / max(days, _TIGHT), 1.0), max(below - days, 0.0)
    return past.with_missed(share, days, goal, earlier).with_round(now, days)


@dataclass(frozen=True, slots=True)
class WholeCopy:
    """The state of a copy that is renewed whole.

    Attributes:
        things: The number of units that are lost independently; 1 for a copy that is
            either right or wrong.
        age: Days since it was made.
        later: The loss believed at the next round without a fetch.
        fresh: The same for a copy made now.
        step: Days until the next round.

    """

    things: float
    age: float
    later: float
    fresh: float
    step: float

    def chance(self, past: LossHistory, level: float) -> float:
        """Return how much a copy made now would lower the chance of a miss."""
        if self.things <= 1.0:
            return self.later - self.fresh
        most = floor((1.0 - level) * self.things + _TIGHT) + 1.0
        weight = past.weights(self.later, self.age + self.step)
        later, fresh = (
            float(weight @ lazy_scipy.gammainc(most, TIMES * loss * self.things))
            for loss in (self.later, self.fresh)
        )
        return later - fresh

    def missed_share(self, past: LossHistory, level: float) -> float:
        """Return the share of days until the next round that miss the level.

        The share of a copy made now is subtracted. All days since the copy was made
        count, with a loss that grows linearly: a miss a day before the end is as likely
        as one with the loss of a day less.
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
    """Return the share of the allowance that remains in a round after it was used up.

    It is larger for a shorter round: each costs as much and saves less.
    """
    return TENSE / max(days, SHORTEST)


def _spare(past: LossHistory, goal: Goal, step: float) -> float:
    """Return the share of time that a whole copy may still miss."""
    # With at most one fetch a day there is nothing to choose.
    return past.spare(goal, _left(step) if step < 1.0 else -inf)


def longest_interval(past: LossHistory, goal: Goal, whole: WholeCopy) -> float:
    """Return the days after which a whole copy is fetched whatever the belief.

    A whole copy can fail suddenly, which only the next fetch shows. With h failures a
    day, fetches T apart miss h (T - step) / 2 of the time more than fetches at each
    step; and no single failure may last longer than the allowance of a window, or
    ``ONCE`` of it for a copy that is either right or wrong.
    """
    pace = (past.failed + FAILED) / (past.watched + WATCHED)
    spare = max(_spare(past, goal, whole.step), 0.0)
    most = WINDOW * goal.allowed * (ONCE if whole.things <= 1.0 else 1.0)
    return min(whole.step + 2.0 * spare / pace, most)


def is_due(past: LossHistory, whole: WholeCopy, goal: Goal) -> bool:
    """Return whether to fetch a whole copy now.

    Yes if the share of days between the last fetch and the next round that are expected
    to miss the level exceeds the share that may still be missed; for a mean, if the
    mean loss exceeds the allowed loss plus the unused allowance (with linear growth the
    mean is half of the final loss).
    """
    spare = _spare(past, goal, whole.step)
    if goal.confidence is None:
        allowed = min(spare, goal.loss) + goal.loss
        return allowed <= 0 or whole.later > 2.0 * allowed
    old = whole.age + _TIGHT >= longest_interval(past, goal, whole)
    return spare <= 0 or old or whole.missed_share(past, goal.level) > spare


def after_check(
    past: LossHistory,
    whole: WholeCopy,
    found: float,
    believed: float,
    goal: Goal,
    *,
    missed: float | None = None,
) -> LossHistory:
    """Return the history after a fetch of a whole copy, which found a loss.

    With linear growth the loss was above the allowed one for age (1 - allowed / found);
    ``missed`` is the actual share of the time, or the mean loss for a mean, if known.
    """
    failed = found > goal.loss + _TIGHT  # 5 of 50 lost at a level of 0.9 is kept
    if missed is None:
        share = 1.0 - goal.loss / found if failed else 0.0
        missed = found / 2.0 if goal.confidence is None else share
    round_ = TargetRound(whole.things, believed, 0.0, found, 0.0, 0.0, 0.0, whole.age)
    after = past.with_missed(missed, whole.age, goal).with_round(round_, whole.age)
    return replace(after, failed=past.failed + failed, watched=past.watched + whole.age)


def take_for_targets(
    offers: Offers,
    asks: Mapping[str, float],
    budget: float,
    limits: Limits = FREE,
    *,
    turn: OfferTurn,
) -> TakenOffers:
    """Return the offers that give each source its needed requests, and urgent ones.

    A source that needs no requests gets only its urgent offers. If the budget is not
    enough for all, the sources share it by gain per request, as without targets.
    """
    cost = np.where(turn.urgent, offers.cost, 0.0)
    urgent = np.bincount(offers.source, cost, len(offers.sources)).tolist()
    most = {
        name: min(max(asks.get(name, 0.0), due), limits.most.get(name, inf))
        for name, due in zip(offers.sources, urgent, strict=True)
    }
    return take(offers, budget, replace(limits, most=most), turn=turn, patient=True)
