"""What a turn of the service does: which sources get how many requests.

Never more comes out of a turn than came in within an hour, or within the nap before it,
however long nobody was there to spend it. Three things go beyond: what was never looked
at, what waited for longer than the settings or its policy allow, and the one thing that
costs more than that and was saved for. None goes beyond what the budget's window has
left.

What would buy less than a request buys in the long run waits, and what it would have
cost is kept for later, the less readily the more was kept already (``market.pricing``).

What a target asks for does not wait, whatever else the budget is spent on. If the
settings ask for the least requests that keep targets, a source gets no more than its
target asks for, and what nobody asks for is not spent.
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
    """What a decision goes by.

    Attributes:
        config: The settings.
        store: What is known.
        now: The time, in days.
        groups: Sources by those that are worked at together: pages that no setting
            sets apart are one group, everything else is alone.
        busy: Groups that are being worked at, or left alone.
        memo: What was worked out before.
        nap: Days that were slept since the last decision.

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
        """What the ledger and the clock allow."""
        return Wallet(self.store, self.config.budget)

    @property
    def ration(self) -> int:
        """Requests of a turn: those of an hour, or of a nap that was longer."""
        budget = self.config.budget
        return max(budget.hourly, math.ceil(budget.pace * self.nap - 1e-9))

    def free(self) -> list[tuple[SourceConfig, ...]]:
        """Return the groups that may be asked now."""
        return [
            group
            for group in self.groups
            if names(group) not in self.busy and self._open(group)
        ]

    def _open(self, group: Sequence[SourceConfig]) -> bool:
        return all(zones.window_of(s, self.now).is_open(self.now) for s in group)

    def left(self, source: SourceConfig) -> float:
        """Return what a source's own limit leaves it in the window."""
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
    """Return the sources that are worked at together, as their kind says.

    A source with hours, intervals, a target or a limit of its own is kept apart, and
    so is each if ``apart``. ``usual`` is the policy that the settings name for all.
    """
    return groups.grouped(sources, usual, is_apart=lambda s: apart or _apart(s))


def _apart(source: SourceConfig) -> bool:
    limited = source.window or source.min_interval or source.max_requests is not None
    return bool(limited) or _presses(source)


def decide(at: Situation) -> Decision:
    """Return what is done next, and what that takes of what has come in."""
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
    """Return what is done next, where first looks were granted what they take."""
    rest = [group for group in free if not _whole(group, grants)]
    credit = min(at.wallet.income(at.now), room)
    if not rest or room <= 0:
        return Decision(grants)
    if targets.is_on(at.config):
        return _aimed(at, rest, grants, credit, room)
    if credit < 1 and not any(_presses(s) for group in rest for s in group):
        return Decision(grants, idle=True)
    if len(rest) == 1 and not (_terms(rest[0]).is_weighed or _apart(rest[0][0])):
        return _all_to(names(rest[0]), grants, min(credit, at.ration))
    return _shared(at, rest, grants, credit, room)


def _presses(source: SourceConfig) -> bool:
    """Say whether a source may have to be fetched before anything has come in."""
    pressed = targets.latest(source) < inf or targets.level(source) is not None
    return pressed or kind_of(source).is_scheduled(source)


def _whole(
    group: Sequence[SourceConfig], grants: Mapping[tuple[str, ...], int]
) -> bool:
    """Say whether a group gets no more than its first fetch, which was granted."""
    return names(group) in grants and _terms(group).first_fetch_is_all


def _terms(group: Sequence[SourceConfig]) -> GrantTerms:
    """Return on what terms a group is granted requests."""
    return kind_of(group[0]).terms


def _all_to(
    group: tuple[str, ...], grants: dict[tuple[str, ...], int], income: int
) -> Decision:
    """Give one group of pages all that has come in; what is new comes first."""
    grants[group] = max(income, grants.get(group, 0))
    return Decision({name: n for name, n in grants.items() if n}, {group: income})


def _first(at: Situation, group: Sequence[SourceConfig], room: int) -> float:
    """Return what the first look at what was never tried takes; 0 if all was."""
    reading = Reading(at.config, at.store, at.now)
    return kind_of(group[0]).first_cost(reading, group, room)


def _shared(
    at: Situation,
    groups: Sequence[Sequence[SourceConfig]],
    grants: dict[tuple[str, ...], int],
    credit: int,
    room: int,
) -> Decision:
    """Give what has come in to the offers that gain most per request."""
    sources = [source for group in groups for source in group]
    appraiser = Appraiser(at.config, at.store, at.now, at.memo, at.groups)
    aim = targets.aim(appraiser, sources)
    offers = _worth_it(appraiser.offers(sources), sources, aim.asks)
    turn = _pressed(_turn(appraiser, sources, offers), offers, aim.asks)
    price = prices.kept_for_later(appraiser, credit)
    means = _means(at, sources, offers, turn, (credit, room), at.ration)
    taken = take(offers, *means, turn=turn, price=price, patient=True)
    taken = _saved_for(offers, taken, credit, at.ration)
    paid = _grant(grants, groups, _shares(offers, taken))
    due = int(np.count_nonzero(turn.ready & (offers.gain > 0))) - taken.rows.size
    return Decision(
        grants,
        paid,
        max(due, 0),
        _waits(offers, taken),
        aim,
        _reasons(appraiser, groups, aim, paid),
        aim.memories,
        _values(offers, taken),
        again=_again(appraiser, sources, aim),
        due_in=_due_in(appraiser, sources),
    )


def _pressed(turn: OfferTurn, offers: Offers, asks: Mapping[str, float]) -> OfferTurn:
    """Let what targets ask for not wait: of each source what gains most."""
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
    """Return why groups that a target or a schedule asks for get something."""
    found = {}
    for group in (one for one in groups if got.get(names(one))):
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
    """Give each source what its target asks for, and no more."""
    appraiser = Appraiser(at.config, at.store, at.now, at.memo, at.groups)
    sources = [source for group in groups for source in group]
    aim, some, offers, turn = _asked(appraiser, sources)
    asks = aim.asks
    means = _means(at, some, offers, turn, (credit, room), credit)
    taken = target_rule.take_for_targets(offers, asks, *means, turn=turn)
    shares = _shares(offers, taken)
    paid = _grant(grants, groups, shares)
    return Decision(
        grants,
        paid,
        sum(shares.get(name, 0.0) <= 0 for name in asks),
        _waits(offers, taken),
        aim,
        _reasons(appraiser, groups, aim, paid),
        aim.memories,
        _values(offers, taken),
        again=_again(appraiser, sources, aim),
        due_in=_due_in(appraiser, sources),
    )


def _again(
    appraiser: Appraiser, sources: Sequence[SourceConfig], aim: targets.Aim
) -> float:
    """Return the days after which a target or a schedule may ask for something."""
    stands = [stand.recheck_in for stand in aim.stands.values()]
    ages = [targets.latest(source) / 2.0 for source in sources]
    # What is due and not served waits for requests, so that nobody asks at once again.
    dues = [_until_due(appraiser, source) or SOONEST for source in sources]
    return min([*stands, *ages, *dues], default=inf)


def _until_due(appraiser: Appraiser, source: SourceConfig) -> float:
    """Return the days until a source is due by its policy; ``inf`` if it has no say."""
    kind = kind_of(source)
    if not kind.is_scheduled(source):
        return inf
    return max(kind.due(appraiser.state(source)) - appraiser.now, 0.0)


def _due_in(appraiser: Appraiser, sources: Sequence[SourceConfig]) -> float:
    """Return the days until a longest interval is over or a schedule asks for more."""
    soonest = inf
    for source in sources:
        soonest = min(soonest, _until_due(appraiser, source) or inf)
        latest = targets.latest(source)
        if latest < inf:
            left = latest - appraiser.age(source)
            soonest = min(soonest, float(left[left > 0].min(initial=inf)))
    return soonest


class TargetDemand(NamedTuple):
    """What sources with targets ask for, and what could be done for them.

    Attributes:
        aim: What they ask for.
        sources: Those that ask, or that must not wait for ever.
        offers: What could be done for these now.
        turn: Which of it may be done, and which must not wait.

    """

    aim: targets.Aim
    sources: Sequence[SourceConfig]
    offers: Offers
    turn: OfferTurn


def _asked(appraiser: Appraiser, sources: Sequence[SourceConfig]) -> TargetDemand:
    """Return what sources ask for, one after the other, and what could be done."""
    found = [_asked_by(appraiser, source) for source in sources]
    stands = {name: one for asked in found for name, one in asked.aim.stands.items()}
    memories = {
        name: one for asked in found for name, one in asked.aim.memories.items()
    }
    none = np.zeros(0, dtype=np.bool_)
    return TargetDemand(
        targets.Aim(stands, memories),
        [source for asked in found for source in asked.sources],
        join_offers([asked.offers for asked in found]),
        OfferTurn(
            np.concatenate([none, *(asked.turn.ready for asked in found)]),
            np.concatenate([none, *(asked.turn.urgent for asked in found)]),
        ),
    )


def _asked_by(appraiser: Appraiser, source: SourceConfig) -> TargetDemand:
    aim = targets.aim(appraiser, [source])
    asks = sum(aim.asks.values())
    late = targets.latest(source) < inf or kind_of(source).is_scheduled(source)
    some = [source] if asks > 0 or late else []
    offers = _worth_it(appraiser.offers(some), some, dict.fromkeys([source.name], 1.0))
    turn = _turn(appraiser, some, offers)
    rows = best(offers, turn, asks)
    offers = Offers(
        offers.sources, offers.source[rows], offers.cost[rows], offers.gain[rows]
    )
    return TargetDemand(
        aim, some, offers, OfferTurn(turn.ready[rows], turn.urgent[rows])
    )


def best(offers: Offers, turn: OfferTurn, asks: float) -> Ints:
    """Return the rows of what a source could get if it gets no more than it asks for.

    That is what must not wait, and what gains most; where costs differ, anything.
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
    """Return offers with the gain that each has at least if a target asks for it."""
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
    """Return what a turn may take: what has come in, or what must not wait.

    Of the former it is ``most``. With it come the limits of the sources. ``purse`` is
    what has come in, and what the budget's window has left.
    """
    credit, room = purse
    urgent = min(float(offers.cost[turn.urgent].sum()), room)
    ration = max(float(min(credit, most)), urgent)
    return ration, Limits(most={source.name: at.left(source) for source in sources})


def _shares(offers: Offers, taken: TakenOffers) -> dict[str, float]:
    """Return what each source gets."""
    rows, n = taken.rows, len(offers.sources)
    each = np.bincount(offers.source[rows], offers.cost[rows], n)
    return dict(zip(offers.sources, each.tolist(), strict=True))


def _values(offers: Offers, taken: TakenOffers) -> dict[str, float]:
    """Return what a request buys at each source that gets some."""
    rows, n = taken.rows, len(offers.sources)
    cost = np.bincount(offers.source[rows], offers.cost[rows], n)
    gain = np.bincount(offers.source[rows], offers.gain[rows], n)
    some = np.flatnonzero(cost > 0).tolist()
    return {offers.sources[i]: float(gain[i] / cost[i]) for i in some}


def _waits(offers: Offers, taken: TakenOffers) -> str:
    row = taken.waits
    return "" if row is None else offers.sources[offers.source[row]]


def _saved_for(
    offers: Offers, taken: TakenOffers, credit: float, ration: int
) -> TakenOffers:
    """Take what costs more than a turn brings, as soon as enough was saved for it.

    What costs less just waits for the next turn.
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

    Whatever is not a page is one thing, which is done again as soon as settings and
    politeness allow, or within minutes as long as nobody knows how it changes. What
    takes more than the budget ever has is not waited for. What is due by its policy
    must not wait either.
    """
    ready, urgent = np.zeros((2, len(offers)), dtype=np.bool_)
    for i, source in enumerate(sources):
        mine, age = offers.source == i, appraiser.age(source)
        least = kind_of(source).least(appraiser.state(source))
        until = _until_due(appraiser, source)
        by_policy = age + until if until < inf else inf  # one number does for all
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
    """Add what each group got; a first look that is dearer pays for it as well."""
    paid = {}
    for group in groups:
        got = math.ceil(sum(shares.get(source.name, 0.0) for source in group) - 1e-9)
        if got > 0:
            paid[names(group)] = float(got)
            grants[names(group)] = max(got, grants.get(names(group), 0))
    return paid
