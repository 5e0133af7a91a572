"""Fetch sources once: what ``halflife sync`` and the page's buttons do."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from halflife.config import Config, SourceConfig
from halflife.core.errors import BudgetSpent, UsageError
from halflife.engine import bootstrap, breakers, groups, network
from halflife.engine.appraisal import Appraiser
from halflife.engine.fleet import presence
from halflife.engine.loop import Clock
from halflife.engine.signals import Stop, until_stopped
from halflife.engine.wallet import Wallet
from halflife.kinds.protocol import Desk, Errand, Report
from halflife.kinds.registry import kind_of
from halflife.market import take
from halflife.stores import Store


def fetched(config: Config, names: Sequence[str]) -> list[SourceConfig]:
    """Return the sources that ``sync`` fetches; naming another is a mistake.

    A source that is paused is fetched only if it is named.
    """
    chosen = [one for one in config.named(names) if names or not one.paused]
    if config.source and not chosen:
        raise UsageError("every source is paused; name one to fetch it all the same")
    kept = synced(chosen)
    others = [source for source in chosen if source not in kept]
    if others and (names or not kept):
        other = others[0]
        raise UsageError(
            f"{other.name} is a {other.kind}, {kind_of(other).not_synced}; "
            f"run `halflife {kind_of(other).verb} {other.name}`"
        )
    return kept


def synced(sources: Sequence[SourceConfig]) -> list[SourceConfig]:
    """Return the sources that ``sync`` fetches; others have a verb of their own."""
    return [source for source in sources if not kind_of(source).not_synced]


def shared_income(
    config: Config,
    store: Store,
    together: Sequence[tuple[SourceConfig, ...]],
    now: float,
) -> dict[tuple[str, ...], int]:
    """Return what each group of joint sources gets of what has come in.

    Nothing is said of a single group: it gets all. Of several, each gets what its best
    offers cost among those of all; the first fetch of new items comes on top of that.
    """
    joint = [group for group in together if groups.by_item(group)]
    if len(joint) < 2:
        return {}
    sources = [source for group in joint for source in group]
    appraiser = Appraiser(config, store, now, groups=joint)
    offers = appraiser.offers(sources)
    taken = take(offers, float(Wallet(store, config.budget).income(now)))
    cost = np.bincount(
        offers.source[taken.rows], offers.cost[taken.rows], len(offers.sources)
    )
    each = dict(zip(offers.sources, cost.tolist(), strict=True))
    return {
        tuple(s.name for s in group): int(sum(each[s.name] for s in group))
        for group in joint
    }


async def sync(
    config: Config,
    store: Store,
    chosen: Sequence[SourceConfig],
    errand: Errand,
    stop: Stop,
    clock: Clock = bootstrap.clock,
) -> list[Report]:
    """Fetch sources one after the other until the budget is spent or we are stopped.

    What would be worth a look is fetched; forecasts are scored, as in the service.
    ``BudgetSpent`` passes through if nothing came at all. Raise ``AlreadyRunning``
    if workers share the store.
    """
    presence.refuse_beside_workers(store)
    try:
        done = await _sync(config, store, chosen, errand, stop, clock)
    except BudgetSpent:  # what was found before may still wait to be delivered
        await _deliver(config, store, stop, clock)
        raise
    await _deliver(config, store, stop, clock)
    return done


async def _deliver(config: Config, store: Store, stop: Stop, clock: Clock) -> None:
    """Let sinks have what changed."""
    if config.sink:
        from halflife.engine import deliveries  # noqa: PLC0415  (few have any)

        await deliveries.deliver(config, store, clock=clock, stop=stop.asked)


async def _sync(
    config: Config,
    store: Store,
    chosen: Sequence[SourceConfig],
    errand: Errand,
    stop: Stop,
    clock: Clock,
) -> list[Report]:
    bootstrap.names(chosen)
    done: list[Report] = []
    async with network.way_out(config, store, clock, None) as gate:
        desk = Desk(config, store, gate, clock, audits=True)
        together = groups.grouped(chosen, config.policy.name)
        income = shared_income(config, store, together, clock())
        for group in together:
            own = income.get(tuple(source.name for source in group))
            left = replace(_left(errand, done), income=own)
            if stop.asked.is_set() or left.most == 0:
                break
            try:
                report = await _fetch(desk, group, left, stop)
            except BudgetSpent as error:
                if not done:
                    raise
                note = f"{group[0].name} was not reached: {error}"
                done.append(Report((group[0].name,), note=note))
                break
            done += [report] if report is not None else []
            if report is not None:
                kind_of(group[0]).keep_faults(store, group, report.mishandled)
                _remember(store, group, report, clock())
    return done


def _remember(
    store: Store, group: Sequence[SourceConfig], report: Report, now: float
) -> None:
    """Keep how it goes with sources, as the service does; what our network did not."""
    for source in () if report.lost else group:
        old = breakers.recall(store, source.name)
        new = kind_of(source).breaker(source, old, report, now)
        if new is not old:
            breakers.remember(store, source.name, new)


async def _fetch(
    desk: Desk, group: tuple[SourceConfig, ...], errand: Errand, stop: Stop
) -> Report | None:
    """Fetch a group of sources; None if it had to be broken off."""
    async with kind_of(group[0]).open(desk, group) as worker:
        return await until_stopped(worker.sync(errand), stop, worker.ease)


def _left(errand: Errand, done: Sequence[Report]) -> Errand:
    """Return the errand with what earlier sources have left of it."""
    if errand.most is None:
        return errand
    spent = sum(report.requests for report in done)
    return replace(errand, most=max(errand.most - spent, 0))
