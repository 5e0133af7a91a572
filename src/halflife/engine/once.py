"""Fetch sources once: what ``halflife sync`` and the page's buttons do."""

from collections.abc import Sequence
from dataclasses import replace

from halflife.config import Config, SourceConfig
from halflife.core.errors import BudgetSpent, UsageError
from halflife.engine import bootstrap, groups, network
from halflife.engine.loop import Clock
from halflife.engine.signals import Stop, until_stopped
from halflife.kinds.protocol import Desk, Errand, Report
from halflife.kinds.registry import kind_of
from halflife.stores import Store


def fetched(config: Config, names: Sequence[str]) -> list[SourceConfig]:
    """Return the sources that ``sync`` fetches; naming another is a mistake."""
    chosen = config.named(names)
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
    ``BudgetSpent`` passes through if nothing came at all.
    """
    bootstrap.names(chosen)
    done: list[Report] = []
    async with network.way_out(config, store, clock, None) as gate:
        desk = Desk(config, store, gate, clock, audits=True)
        for group in groups.grouped(chosen, config.policy.name):
            left = _left(errand, done)
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
    return done


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
