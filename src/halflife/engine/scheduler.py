"""The decision of a turn of the service: which sources get how many requests.

A turn grants at most the income of an hour, or of the nap before it, however much
unspent income there is. Three things may exceed that: sources never fetched, items that
waited for longer than the settings or their policy allow, and the one offer that costs
more and was saved for. Nothing exceeds what is left in the budget's window.

An offer that gains less than a request gains in the long run waits. Its cost is saved
for later, the less readily the more was saved already (``market.price``).

A target's demand does not wait, whatever else the budget is spent on. In targets mode a
source gets no more than its target demands, and the rest is not spent.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple

import numpy as np

from halflife.config import Config, SourceConfig
from halflife.core.arrays import Ints
from halflife.core.ranking import best_rows
from halflife.core.value_curve import Offers, join_offers
from halflife.engine import groups, prices, targets, zones
from halflife.engine.appraisal import Appraiser
from halflife.engine.decision import Decision
from halflife.engine.wallet import Wallet
from halflife.kinds.protocol import Memo, Reading
from halflife.kinds.registry import kind_of
from halflife.kinds.terms import GrantTerms
from halflife.market import Limits, take, target_rule
from halflife.market.offers import OfferTurn, TakenOffers, intervals
from halflife.market.target_status import SOONEST
from halflife.stores import Store


@dataclass(frozen=True, slots=True)
class Situation:
    """The input of a decision.

    Attributes:
        config: The settings.
        store: The store.
        now: The time, in days.
        groups: The groups of sources that are fetched together: pages that no setting
            separates are one group, every other source is its own.
        busy: Groups with work under way, or that must not be fetched now.
        memo: Results computed before.
        nap: Days slept since the last decision.

    """

    config: Config
    store: Store
    now: float
    groups: Sequence[tuple[SourceConfig, ...]]
    busy: Collection[tuple[str, ...]] = ()
    memo: Memo = field(default_factory=Memo)
    nap: float = 0.0

    @property
    def wallet(self) -> Wallet:
        """The wallet of the store's ledger."""
        return Wallet(self.store, self.config.budget)

    @property
    def ration(self) -> int:
        """The requests of a turn: the income of an hour, or of a longer nap."""
        budget = self.config.budget
        return max(budget.hourly, math.ceil(budget.pace * self.nap - 1e-9))

    def free(self) -> list[tuple[SourceConfig, ...]]:
        """Return the groups that may be fetched now."""
        return [
            group
            for group in self.groups
            if names(group) not in self.busy and self._open(group)
        ]

    def _open(self, group: Sequence[SourceConfig]) -> bool:
        return all(zones.window_of(s, self.now).is_open(self.now) for s in group)

    def left(self, source: SourceConfig) -> float:
        """Return the requests that a source's own limit leaves it in the window."""
        if source.max_requests is None:
            return inf
        since = math.nextafter(self.now - self.config.budget.days, inf)
        spent = self.store.spent_by([source.name], since)
        return float(max(source.max_requests - spent, 0))


def names(group: Sequence[SourceConfig]) -> tuple[str, ...]:
    """Return the names of a group's sources."""
    return tuple(source.name for source in group)


def grouped(
    sources: Sequence[SourceConfig], *, apart: bool = False, usual: str = ""
) -> list[tuple[SourceConfig, ...]]:
    """Return the groups of sources that are fetched together, as their kind says.

    A source with hours, intervals, a target or a limit of its own is separate, and so
    is each if ``apart``. ``usual`` is the policy that the settings name for all.
    """
    return groups.grouped(sources, usual, is_apart=lambda s: apart or _is_apart(s))


def _is_apart(source: SourceConfig) -> bool:
    limited = source.window or source.min_interval or source.max_requests is not None
    return bool(limited) or _may_press(source)


def decide(at: Situation) -> Decision:
    """Return the grants of this turn, and the income that they use."""
    room, free = at.wallet.room(at.now), at.free()
    grants: dict[tuple[str, ...], int] = {}
    cut = False
    for group in free:
        first = min(_first(at, group, room), *map(at.left, group))
        if first >= 1 and room >= 1:
            grants[names(group)] = int(min(first, room))
            room -= grants[names(group)]
        else:
            cut |= first >= 1
    return replace(_after_first(at, free, grants, room), cut=cut)


def _after_first(
    at: Situation,
    free: Sequence[Sequence[SourceConfig]],
    grants: dict[tuple[str, ...], int],
    room: int,
) -> Decision:
    """Return the decision, given the grants for first fetches."""
    rest = [group for group in free if not _whole(group, grants)]
    credit = min(at.wallet.income(at.now), room)
    if not rest or room <= 0:
        return Decision(grants)
    if targets.is_on(at.config):
        return _aimed(at, rest, grants, credit, room)
    if credit < 1 and not any(_may_press(s) for group in rest for s in group):
        return Decision(grants, idle=True)
    if len(rest) == 1 and not (_terms(rest[0]).is_weighed or _is_apart(rest[0][0])):
        return _all_to(names(rest[0]), grants, min(credit, at.ration))
    return _shared(at, rest, grants, credit, room)


def _may_press(source: SourceConfig) -> bool:
    """Say whether a source may have to be fetched ahead of the income."""
    pressed = targets.latest(source) < inf or targets.level(source) is not None
    return pressed or kind_of(source).is_scheduled(source)


def _whole(
    group: Sequence[SourceConfig], grants: Mapping[tuple[str, ...], int]
) -> bool:
    """Say whether a group gets no more than its first fetch, which was granted."""
    return names(group) in grants and _terms(group).first_fetch_is_all


def _terms(group: Sequence[SourceConfig]) -> GrantTerms:
    """Return the terms on which a group is granted requests."""
    return kind_of(group[0]).terms


def _all_to(
    group: tuple[str, ...], grants: dict[tuple[str, ...], int], income: int
) -> Decision:
    """Grant one group of pages all of the income; new pages come first."""
    grants[group] = max(income, grants.get(group, 0))
    return Decision({name: n for name, n in grants.items() if n}, {group: income})


def _first(at: Situation, group: Sequence[SourceConfig], room: int) -> float:
    """Return the cost of the first fetch of items never tried; 0 if all were."""
    reading = Reading(at.config, at.store, at.now)
    return kind_of(group[0]).first_cost(reading, group, room)


def _shared(
    at: Situation,
    groups: Sequence[Sequence[SourceConfig]],
    grants: dict[tuple[str, ...], int],
    credit: int,
    room: int,
) -> Decision:
    """Grant the income to the offers that gain most per request."""
    sources = [source for group in groups for source in group]
    appraiser = Appraiser(at.config, at.store, at.now, at.memo, at.groups)
    aim = targets.aim(appraiser, sources)
    offers = _worth_it(appraiser.offers(sources), sources, aim.asks)
    turn = _pressed(_turn(appraiser, sources, offers), offers, aim.asks)
    price = prices.kept_for_later(appraiser, credit)
    means = _means(at, sources, offers, turn, (credit, room), at.ration)
    taken = take(offers, *means, turn=turn, price=price, patient=True)
    taken = _saved_for(offers, taken, credit, at.ration)
    due = int(np.count_nonzero(turn.ready & (offers.gain > 0))) - taken.rows.size
    decision = _decision(appraiser, groups, grants, aim, (offers, taken))
    return replace(decision, due=max(due, 0))


def _pressed(turn: OfferTurn, offers: Offers, asks: Mapping[str, float]) -> OfferTurn:
    """Mark the demand of targets as urgent: each source's offers with most gain."""
    urgent = turn.urgent.copy()
    for i, name in enumerate(offers.sources):
        mine = np.flatnonzero((offers.source == i) & turn.ready)
        if not asks.get(name) or not mine.size:
            continue
        most = asks[name] / max(float(offers.cost[mine].min()), 1e-12) + 1.0
        order = mine[best_rows(offers.gain[mine], math.ceil(min(most, mine.size)))]
        before = np.cumsum(offers.cost[order]) - offers.cost[order]
        urgent[order[before < asks[name]]] = True
    return OfferTurn(turn.ready, urgent)


def _reasons(
    appraiser: Appraiser,
    groups: Sequence[Sequence[SourceConfig]],
    aim: targets.Aim,
    got: Mapping[tuple[str, ...], float],
) -> dict[tuple[str, ...], str]:
    """Return the reasons for grants that a target or a schedule demands."""
    found = {}
    for group in (group for group in groups if got.get(names(group))):
        first = group[0]
        if first.name in aim.asks:
            found[names(group)] = aim.stands[first.name].reason
        elif _until_due(appraiser, first) <= 0:
            found[names(group)] = f"due by policy {', '.join(first.policies)}"
    return found


def _aimed(
    at: Situation,
    groups: Sequence[Sequence[SourceConfig]],
    grants: dict[tuple[str, ...], int],
    credit: int,
    room: int,
) -> Decision:
    """Grant each source the demand of its target, and no more."""
    appraiser = Appraiser(at.config, at.store, at.now, at.memo, at.groups)
    sources = [source for group in groups for source in group]
    aim, demanding, offers, turn = _demand(appraiser, sources)
    asks = aim.asks
    means = _means(at, demanding, offers, turn, (credit, room), credit)
    taken = target_rule.take_for_targets(offers, asks, *means, turn=turn)
    decision = _decision(appraiser, groups, grants, aim, (offers, taken))
    return replace(decision, due=len(asks.keys() - decision.values.keys()))


def _decision(
    appraiser: Appraiser,
    groups: Sequence[Sequence[SourceConfig]],
    grants: dict[tuple[str, ...], int],
    aim: targets.Aim,
    bought: tuple[Offers, TakenOffers],
) -> Decision:
    """Return the decision to grant the offers that were taken, ``bought``."""
    offers, taken = bought
    sources = [source for group in groups for source in group]
    paid = _grant(grants, groups, _shares(offers, taken))
    row = taken.waits
    return Decision(
        grants,
        paid,
        waits="" if row is None else offers.sources[offers.source[row]],
        aim=aim,
        why=_reasons(appraiser, groups, aim, paid),
        values=_values(offers, taken),
        again=_again(appraiser, sources, aim),
        due_in=_due_in(appraiser, sources),
    )


def _shares(offers: Offers, taken: TakenOffers) -> dict[str, float]:
    """Return the requests that each source gets."""
    rows, n = taken.rows, len(offers.sources)
    cost = np.bincount(offers.source[rows], offers.cost[rows], n)
    return dict(zip(offers.sources, cost.tolist(), strict=True))


def _values(offers: Offers, taken: TakenOffers) -> dict[str, float]:
    """Return the gain per request of each source that gets some."""
    gain = np.bincount(offers.source[taken.rows], offers.gain[taken.rows])
    shares = enumerate(_shares(offers, taken).items())
    return {name: float(gain[i] / cost) for i, (name, cost) in shares if cost > 0}


def _again(
    appraiser: Appraiser, sources: Sequence[SourceConfig], aim: targets.Aim
) -> float:
    """Return the days after which a target or a schedule may demand a fetch."""
    stands = [stand.recheck_in for stand in aim.stands.values()]
    ages = [targets.latest(source) / 2.0 for source in sources]
    # A source that is due and got nothing waits for requests, so it is not asked again
    # at once.
    dues = [_until_due(appraiser, source) or SOONEST for source in sources]
    return min([*stands, *ages, *dues], default=inf)


def _until_due(appraiser: Appraiser, source: SourceConfig) -> float:
    """Return the days until a source is due by its schedule; ``inf`` without one."""
    kind = kind_of(source)
    if not kind.is_scheduled(source):
        return inf
    return max(kind.due(appraiser.state(source)) - appraiser.now, 0.0)


def _due_in(appraiser: Appraiser, sources: Sequence[SourceConfig]) -> float:
    """Return the days until a longest interval ends or a schedule demands a fetch."""
    soonest = inf
    for source in sources:
        soonest = min(soonest, _until_due(appraiser, source) or inf)
        latest = targets.latest(source)
        if latest < inf:
            left = latest - appraiser.age(source)
            soonest = min(soonest, float(left[left > 0].min(initial=inf)))
    return soonest


class TargetDemand(NamedTuple):
    """The demand of sources with targets, and the offers that can meet it.

    Attributes:
        aim: Their demand.
        sources: The sources with a demand, or with a longest interval or schedule.
        offers: The offers of these now.
        turn: Which offers may be taken, and which must not wait.

    """

    aim: targets.Aim
    sources: Sequence[SourceConfig]
    offers: Offers
    turn: OfferTurn


def _demand(appraiser: Appraiser, sources: Sequence[SourceConfig]) -> TargetDemand:
    """Return the demand of sources, computed one after the other."""
    demands = [_demand_of(appraiser, source) for source in sources]
    stands = {name: s for d in demands for name, s in d.aim.stands.items()}
    memories = {name: m for d in demands for name, m in d.aim.memories.items()}
    none = np.zeros(0, dtype=np.bool_)
    return TargetDemand(
        targets.Aim(stands, memories),
        [source for demand in demands for source in demand.sources],
        join_offers([demand.offers for demand in demands]),
        OfferTurn(
            np.concatenate([none, *(demand.turn.ready for demand in demands)]),
            np.concatenate([none, *(demand.turn.urgent for demand in demands)]),
        ),
    )


def _demand_of(appraiser: Appraiser, source: SourceConfig) -> TargetDemand:
    aim = targets.aim(appraiser, [source])
    asks = sum(aim.asks.values())
    late = targets.latest(source) < inf or kind_of(source).is_scheduled(source)
    sources = [source] if asks > 0 or late else []
    asked = dict.fromkeys([source.name], 1.0)
    offers = _worth_it(appraiser.offers(sources), sources, asked)
    turn = _turn(appraiser, sources, offers)
    rows = best(offers, turn, asks)
    offers = Offers(
        offers.sources, offers.source[rows], offers.cost[rows], offers.gain[rows]
    )
    return TargetDemand(
        aim, sources, offers, OfferTurn(turn.ready[rows], turn.urgent[rows])
    )


def best(offers: Offers, turn: OfferTurn, asks: float) -> Ints:
    """Return the rows of offers that a source may get within its demand.

    These are the urgent ones, and those that gain most; where costs differ, all.
    """
    cost = float(offers.cost.min(initial=inf))
    if len(offers) == 0 or cost <= 0 or cost < float(offers.cost.max()):
        return np.arange(len(offers))
    ready = np.flatnonzero(turn.ready)
    order = ready[best_rows(offers.gain[ready], math.ceil(asks / cost) + 1)]
    return np.union1d(np.flatnonzero(turn.urgent), order)


def _worth_it(
    offers: Offers, sources: Sequence[SourceConfig], asks: Mapping[str, float]
) -> Offers:
    """Return offers with at least the least gain of a source that a target demands."""
    asked = [asks.get(source.name, 0.0) > 0 for source in sources]
    gains = [kind_of(source).terms.least_gain for source in sources]
    least = np.where(asked, gains, 0.0)
    return replace(offers, gain=np.maximum(offers.gain, least[offers.source]))


def _means(
    at: Situation,
    sources: Sequence[SourceConfig],
    offers: Offers,
    turn: OfferTurn,
    purse: tuple[int, int],
    most: int,
) -> tuple[float, Limits]:
    """Return the requests that a turn may take, and the limits of the sources.

    These are at most ``most`` of the income, or the cost of the urgent offers if that
    is more. ``purse`` has the income, and the requests left in the budget's window.
    """
    credit, room = purse
    urgent = min(float(offers.cost[turn.urgent].sum()), room)
    ration = max(float(min(credit, most)), urgent)
    return ration, Limits(most={source.name: at.left(source) for source in sources})


def _saved_for(
    offers: Offers, taken: TakenOffers, credit: float, ration: int
) -> TakenOffers:
    """Take the offer that costs more than a turn's income once enough was saved for it.

    A cheaper offer waits for the next turn.
    """
    row = taken.waits
    if row is None or offers.cost[row] <= ration:
        return replace(taken, waits=None)
    if taken.requests + offers.cost[row] > credit:
        return taken
    rows = np.append(taken.rows, row)
    cost, gain = float(offers.cost[row]), float(offers.gain[row])
    return TakenOffers(rows, taken.requests + cost, taken.gain + gain, taken.price)


def _turn(
    appraiser: Appraiser, sources: Sequence[SourceConfig], offers: Offers
) -> OfferTurn:
    """Return which offers may be taken now, and which must not wait.

    A source that is not made of pages has one offer, which is repeated as soon as
    settings and politeness allow, or within minutes while its change rate is unknown.
    An offer that costs more than the whole budget is never ready. An offer that is due
    by its policy must not wait.
    """
    ready, urgent = np.zeros((2, len(offers)), dtype=np.bool_)
    for i, source in enumerate(sources):
        mine, age = offers.source == i, appraiser.age(source)
        least = kind_of(source).least(appraiser.state(source))
        until = _until_due(appraiser, source)
        by_policy = age + until if until < inf else inf
        latest = np.maximum(np.minimum(targets.latest(source), by_policy), least)
        turn = intervals(age, max(source.soonest, least), latest)
        fits = offers.cost[mine] <= appraiser.config.budget.requests
        ready[mine], urgent[mine] = turn.ready & fits, turn.urgent & fits
    return OfferTurn(ready, urgent)


def _grant(
    grants: dict[tuple[str, ...], int],
    groups: Sequence[Sequence[SourceConfig]],
    shares: Mapping[str, float],
) -> dict[tuple[str, ...], float]:
    """Add the grant of each group; a first fetch that costs more includes it."""
    paid = {}
    for group in groups:
        got = math.ceil(sum(shares.get(source.name, 0.0) for source in group) - 1e-9)
        if got > 0:
            paid[names(group)] = float(got)
            grants[names(group)] = max(got, grants.get(names(group), 0))
    return paid
