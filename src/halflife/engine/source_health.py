"""The present state of each source, as alerts judge it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import floor, inf, nan

import numpy as np

from halflife.alerts import Health, Lateness
from halflife.alerts.rules import span
from halflife.config import Config, SourceConfig
from halflife.core.arrays import Floats
from halflife.core.forecast import Forecast
from halflife.engine import (
    deliveries,
    held_answers,
    redirects,
    scheduler,
    stored_sources,
    targets,
    zones,
)
from halflife.engine.appraisal import Appraiser
from halflife.engine.breakers import Breaker
from halflife.engine.quality_forecast import AHEAD, NOW, quality, quality_now
from halflife.engine.wallet import Wallet
from halflife.kinds.protocol import Memo, relief
from halflife.kinds.registry import kind_of
from halflife.market.target_status import TURN
from halflife.market.targets import Target
from halflife.stores import Store

LONGEST = 300  # characters of an error in the settings that are reported


class HealthJudge:
    """Judges the state of sources.

    Args:
        config: The settings.
        store: The store.
        now: The time, in days.
        breakers: The circuit breakers of sources without pages.
        memo: Results computed before; they hold until the next fetch.

    """

    def __init__(
        self,
        config: Config,
        store: Store,
        now: float,
        breakers: Mapping[str, Breaker],
        memo: Memo,
    ) -> None:
        self._config, self._now = config, now
        groups = scheduler.grouped(
            config.source, apart=targets.is_on(config), usual=config.policy.name
        )
        self._appraiser = Appraiser(config, store, now, memo, groups)
        self._held = {
            one.source: one.why for one in held_answers.pending_answers(store)
        }
        self._breakers = breakers

    def health(self, source: SourceConfig) -> Health:
        """Return how a source is."""
        kind, state = kind_of(source), self._appraiser.state(source)
        breaker = self._breakers.get(source.name, Breaker())
        failures, silent = kind.silence(state, breaker, self._now)
        lost, new = kind.drift(self._appraiser.reading, source, breaker)
        health = Health(
            source.name,
            held=self._held.get(source.name, ""),
            failures=failures,
            silent=silent,
            trouble=breaker.trouble,
            moved_to=redirects.where(self._appraiser.store, source),
            drift=tuple(lost),
            novelty=tuple(new),
        )
        wait, blocked = self._relief(source, health)
        late = self._lateness(source, goes_on=not blocked)
        health = replace(health, relief=wait, blocked=blocked, lateness=late)
        health = self._with_quality(source, health)
        return health if blocked else self._expected(source, health)

    def _with_quality(self, source: SourceConfig, health: Health) -> Health:
        """Return the same with how good the copy is, and when it is too bad."""
        wanted = targets.level(source)
        level, sure = wanted or (nan, None)
        now = quality(self._appraiser, source, sure, looks=False, ahead=NOW)
        if now is None:
            return replace(health, target=level)
        ahead = None
        if wanted:
            goes_on = not health.blocked
            ahead = quality(self._appraiser, source, sure, looks=goes_on, ahead=AHEAD)
        return replace(
            health,
            mean=float(now.mean[0]),
            low=float(now.low[0]),
            high=float(now.high[0]),
            target=level,
            measure=now.measure,
            sure=nan if sure is None else sure,
            first_below=_first_below(ahead, wanted),
        )

    def qualities(self, chosen: Sequence[SourceConfig]) -> dict[str, Forecast]:
        """Return the quality of sources, and of those known only from the store."""
        extra = stored_sources.stored(self._config, self._appraiser.store)
        found = {s.name: quality_now(self._appraiser, s) for s in (*chosen, *extra)}
        return {name: cast for name, cast in found.items() if cast is not None}

    def _relief(self, source: SourceConfig, health: Health) -> tuple[float, str]:
        """Return the days until a source can be fetched, and what prevents it."""
        if health.failures:
            times = "fetch" if health.failures == 1 else f"{health.failures} fetches"
            return inf, f"its last {times} failed"
        if health.held:
            return inf, "an answer waits for a decision"
        if self.refill > 0:
            return self.refill, f"the budget is spent for {span(self.refill)}"
        if not source.window:
            return inf, ""
        opens = zones.window_of(source, self._now).next_open(self._now) - self._now
        return (opens, f"its hours begin in {span(opens)}") if opens > 0 else (inf, "")

    def _expected(self, source: SourceConfig, health: Health) -> Health:
        """Return the health with the time of the next fetch.

        In targets mode a fetch comes in time, unless it is too late for that. The
        forecast of pages already includes the fetches to come.
        """
        if targets.is_on(self._config):
            late = inf if health.lateness is None else health.lateness.wait
            soon = min(health.first_below, late) <= TURN / 2.0
            return replace(health, relief=inf if soon else 0.0)
        reads = kind_of(source).looks(self._appraiser.state(source))
        return replace(health, relief=relief(reads, self._now))

    @cached_property
    def refill(self) -> float:
        """Days until a request can be sent; 0 if one can now."""
        wallet = Wallet(self._appraiser.store, self._config.budget)
        return wallet.refill(self._now)

    def _lateness(self, source: SourceConfig, *, goes_on: bool) -> Lateness | None:
        ages = [target for target in source.targets if target.measure == "age"]
        if not ages:
            return None
        target = min(ages, key=lambda one: one.interval)
        kind, state = kind_of(source), self._appraiser.state(source)
        parts = kind.parts(state)
        gap = kind.gaps(state) if goes_on else np.full(parts.size, inf)
        seen = np.isfinite(parts)  # what was never seen has no age yet
        return lateness(target, parts[seen], gap[seen])


def lateness(target: Target, age: Floats, gap: Floats) -> Lateness | None:
    """Return how well parts of these ages meet a target; None if there are none.

    With fetches evenly T apart the ages are spread evenly over 0..T, so that the share
    1 - p of them exceeds p T. A part older than T was not fetched often enough. A part
    whose usual gap is at most T does not get late.

    >>> target = Target("age", 0.24, 0.96)
    >>> found = lateness(target, np.array([0.1, 0.3]), np.full(2, np.inf))
    >>> found.late, round(found.wait, 2)
    (0.5, 0.0)
    """
    if not age.size:
        return None
    interval, most = target.interval, round(1.0 - (target.confidence or 1.0), 12)
    place = min(floor(most * age.size + 1e-9), age.size - 1)
    wait = np.where(gap > interval, np.maximum(interval - age, 0.0), inf)
    wait = np.where(age > interval, 0.0, wait)
    late, decides = float(np.mean(age > interval)), float(np.sort(-age)[place])
    return Lateness(
        str(target), interval, late, most, -decides, float(np.sort(wait)[place])
    )


def _first_below(
    cast: Forecast | None, wanted: tuple[float, float | None] | None
) -> float:
    """Return the days until the quality, or its lower bound, falls below a level."""
    if wanted is None or cast is None:
        return inf
    level, sure = wanted
    column = cast.mean if sure is None else cast.low
    at = replace(cast, low=column).first_below(level)
    return inf if at is None else max(at - float(cast.at[0]), 0.0)


def whole(
    config: Config, store: Store, now: float, *, offline: bool, settings: str = ""
) -> Health:
    """Return the health of what all sources share: budget, network, settings, sinks."""
    wallet = Wallet(store, config.budget)
    left = wallet.room(now) / config.budget.requests
    wait, error = wallet.refill(now), " ".join(settings.split())[:LONGEST]
    reports = deliveries.reports(config, store) if config.sink else []
    sinks = tuple(f"{r.settings.name}: {r.trouble()}" for r in reports if r.trouble())
    return Health(left=left, refill=wait, offline=offline, settings=error, sinks=sinks)
