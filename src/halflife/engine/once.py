"""Fetch sources once, for ``halflife sync`` and the web page's buttons."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from halflife.config import Config, SourceConfig
from halflife.core.errors import BudgetSpent, ConfigError, HalflifeError, UsageError
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


def sources_to_sync(config: Config, names: Sequence[str]) -> list[SourceConfig]:
    """Return the sources that ``sync`` fetches; raise if another one is named.

    A source that is paused is fetched only if it is named.
    """
    chosen = [source for source in config.named(names) if names or not source.paused]
    if config.source and not chosen:
        raise UsageError("every source is paused; name one to fetch it all the same")
    kept = syncable(chosen)
    others = [source for source in chosen if source not in kept]
    if others and (names or not kept):
        other = others[0]
        raise UsageError(
            f"{other.name} is a {other.kind}, {kind_of(other).not_synced}; "
            f"run `halflife {kind_of(other).verb} {other.name}`"
        )
    return kept


def syncable(sources: Sequence[SourceConfig]) -> list[SourceConfig]:
    """Return the sources that ``sync`` fetches; others have a verb of their own."""
    return [source for source in sources if not kind_of(source).not_synced]


def shared_income(
    config: Config,
    store: Store,
    together: Sequence[tuple[SourceConfig, ...]],
    now: float,
) -> dict[tuple[str, ...], int]:
    """Return the share of each group of joint sources in the income.

    Empty for a single group, which gets everything. Of several, each gets the cost of
    its best offers among those of all; the first fetch of new items is extra.
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
    costs = dict(zip(offers.sources, cost.tolist(), strict=True))
    return {
        tuple(s.name for s in group): int(sum(costs[s.name] for s in group))
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
    """Fetch sources one after the other, until a stop or the end of the budget.

    Items worth a request are fetched; forecasts are scored, as in the service. Raise
    ``BudgetSpent`` if nothing was fetched, ``AlreadyRunning`` if workers share the
    store.
    """
    presence.refuse_beside_workers(store)
    try:
        done = await _sync(config, store, chosen, errand, stop, clock)
    except BudgetSpent:  # earlier changes may still wait for delivery
        await _deliver(config, store, stop, clock)
        raise
    await _deliver(config, store, stop, clock)
    return done


async def _deliver(config: Config, store: Store, stop: Stop, clock: Clock) -> None:
    """Deliver changes to the sinks."""
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
            except (ConfigError, UsageError) as error:
                if len(together) == 1:
                    raise
                report = _refused(group, error)
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


def _refused(group: Sequence[SourceConfig], error: HalflifeError) -> Report:
    """Return the report on sources whose own settings cannot be used."""
    names = tuple(source.name for source in group)
    troubles = dict.fromkeys(names, f"could not be fetched: {error}")
    return Report(names, trouble=str(error), troubles=troubles)


def _remember(
    store: Store, group: Sequence[SourceConfig], report: Report, now: float
) -> None:
    """Update the breakers of sources, unless our own network failed."""
    for source in () if report.lost else group:
        old = breakers.recall(store, source.name)
        new = kind_of(source).breaker(source, old, report, now)
        if new is not old:
            breakers.remember(store, source.name, new)


async def _fetch(
    desk: Desk, group: tuple[SourceConfig, ...], errand: Errand, stop: Stop
) -> Report | None:
    """Fetch a group of sources; return None if it had to be cancelled."""
    async with kind_of(group[0]).open(desk, group) as worker:
        return await until_stopped(worker.sync(errand), stop, worker.ease)


def _left(errand: Errand, done: Sequence[Report]) -> Errand:
    """Return the errand with the requests that earlier sources have left."""
    if errand.most is None:
        return errand
    spent = sum(report.requests for report in done)
    return replace(errand, most=max(errand.most - spent, 0))
