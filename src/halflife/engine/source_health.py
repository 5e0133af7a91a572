"""How each source is now, as far as anybody has to be told."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from math import floor, inf, isfinite, nan
from typing import TypeAlias

import numpy as np

from halflife.alerts import Health, Lateness
from halflife.alerts.rules import span
from halflife.belief import FIRST_PAUSE, LONGEST_PAUSE
from halflife.config import Config, SourceConfig
from halflife.core.arrays import Floats
from halflife.core.forecast import Forecast
from halflife.engine import quality_forecast, redirects, scheduler, targets, zones
from halflife.engine.appraisal import Appraiser
from halflife.engine.breakers import Breaker
from halflife.engine.quality_forecast import AHEAD, TURN, Foresight, Known, form_ages
from halflife.engine.wallet import Wallet
from halflife.kinds.form.settings import FormConfig
from halflife.kinds.listing import schema_drift as listing_schema_drift
from halflife.kinds.pages import guard as pages_guard
from halflife.market.targets import Target
from halflife.stores import Store

Casts: TypeAlias = quality_forecast.Casts

LONGEST = 300  # characters that are told of what is wrong with the settings
_EXACT = 30  # halvings that find when some of the budget is there again


class Judge:
    """Says how sources are.

    Args:
        config: The settings.
        store: What is known.
        now: The time, in days.
        breakers: How it went with sources that have no pages.
        casts: Forecasts that were made before; they hold until the next look.

    """

    def __init__(
        self,
        config: Config,
        store: Store,
        now: float,
        breakers: Mapping[str, Breaker],
        casts: Casts,
    ) -> None:
        self._config, self._now = config, now
        groups = scheduler.grouped(config.source, apart=targets.is_on(config))
        self._appraiser = Appraiser(config, store, now, groups=groups)
        self._foresight = Foresight(self._appraiser, casts)
        self._held = {one.source: one.why for one in store.staged()}
        self._held |= {one.source: one.why for one in pages_guard.held(store)}
        self._breakers = breakers

    def health(self, source: SourceConfig) -> Health:
        """Return how a source is."""
        breaker = self._breakers.get(source.name)
        failures, silent = _silence(self._appraiser, source, breaker)
        known = Known.of(self._appraiser, source)
        health = Health(
            source.name,
            held=self._held.get(source.name, ""),
            failures=failures,
            silent=silent,
            trouble=breaker.trouble if breaker else "",
            moved_to=self._moved_to(source),
        )
        health = self._with_drift(source, health)
        relief, blocked = self._relief(source, health)
        late = self._lateness(known, looks=not blocked)
        health = replace(health, relief=relief, blocked=blocked, lateness=late)
        health = self._with_quality(known, health)
        return health if blocked else self._expected(known, health)

    def _moved_to(self, source: SourceConfig) -> str:
        pages = self._appraiser.count(source) if source.has_pages else 0
        return redirects.where(self._appraiser.store, source, pages)

    def _with_drift(self, source: SourceConfig, health: Health) -> Health:
        """Return the same with what is different about a source's answers."""
        if source.has_pages:
            return health
        store, breaker = self._appraiser.store, self._breakers.get(source.name)
        one = breaker or Breaker()
        lost = listing_schema_drift.lost(store, source, one.trouble, one.failures)
        new = listing_schema_drift.new(store, source, self._now)
        return replace(health, drift=tuple(lost), novelty=tuple(new))

    def _with_quality(self, known: Known, health: Health) -> Health:
        """Return the same with how good the copy is, and when it is too bad."""
        wanted = targets.level(known.source)
        level, sure = wanted or (nan, None)
        now = self._foresight.quality(
            known, sure, looks=False, ahead=quality_forecast.NOW
        )
        if now is None:
            return replace(health, target=level)
        ahead = None
        if wanted:
            looks = not health.blocked
            ahead = self._foresight.quality(known, sure, looks=looks, ahead=AHEAD)
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

    def now(self, source: SourceConfig) -> Forecast | None:
        """Return the quality of a source's copy at this moment; None if not known."""
        return self._foresight.now(Known.of(self._appraiser, source))

    def _relief(self, source: SourceConfig, health: Health) -> tuple[float, str]:
        """Return the days until a source can be looked at, and what is in the way."""
        if health.failures:
            times = "look" if health.failures == 1 else f"{health.failures} looks"
            return inf, f"its last {times} failed"
        if health.held:
            return inf, "an answer waits for a decision"
        if self.refill > 0:
            return self.refill, f"the budget is spent for {span(self.refill)}"
        if not source.window:
            return inf, ""
        opens = zones.window_of(source, self._now).next_open(self._now) - self._now
        return (opens, f"its hours begin in {span(opens)}") if opens > 0 else (inf, "")

    def _expected(self, known: Known, health: Health) -> Health:
        """Return the same with when the next look is expected.

        Whoever spends only what targets ask for looks in time, unless it is too late
        for that. Of pages the forecast has the looks to come in it already.
        """
        if targets.is_on(self._config):
            late = inf if health.lateness is None else health.lateness.wait
            soon = min(health.first_below, late) <= TURN / 2.0
            return replace(health, relief=inf if soon else 0.0)
        return replace(health, relief=known.relief(self._now))

    @cached_property
    def refill(self) -> float:
        """Days until a request can be sent; 0 if one can now."""
        wallet = Wallet(self._appraiser.store, self._config.budget)
        return refill(wallet, self._now)

    def _lateness(self, known: Known, *, looks: bool) -> Lateness | None:
        source = known.source
        ages = [target for target in source.targets if target.measure == "age"]
        if not ages:
            return None
        target = min(ages, key=lambda one: one.interval)
        if known.copy is not None:
            parts = form_ages(known.copy, FormConfig.of(source), self._now)
        else:
            parts = self._appraiser.age(source, some=True)
        gap = np.full(parts.size, inf)
        if looks and source.has_pages:
            gap = self._foresight.gaps(source)
        seen = np.isfinite(parts)  # what was never seen has no age yet
        return lateness(target, parts[seen], gap[seen])


def lateness(target: Target, age: Floats, gap: Floats) -> Lateness | None:
    """Return how parts of these ages stand to a target; None if there are none.

    With looks evenly T apart the ages are spread evenly over 0..T, so that the share
    1 - p of them exceeds p T. A part older than T was not looked at often enough. One
    with a usual gap of T at most will be, and does not get late.

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
    """Return how it is with what all sources share."""
    wallet = Wallet(store, config.budget)
    left = wallet.room(now) / config.budget.requests
    later, said = refill(wallet, now), " ".join(settings.split())[:LONGEST]
    return Health(left=left, refill=later, offline=offline, settings=said)


def refill(wallet: Wallet, now: float) -> float:
    """Return the days until a spent budget has room again, if nothing is spent."""
    if wallet.room(now):
        return 0.0
    none, some = 0.0, wallet.budget.days
    for _ in range(_EXACT):
        middle = (none + some) / 2.0
        if wallet.room(now + middle):
            some = middle
        else:
            none = middle
    return some


def _silence(
    appraiser: Appraiser, source: SourceConfig, breaker: Breaker | None
) -> tuple[int, float]:
    """Return the failures since the last good look, and the days since then."""
    if not source.has_pages:
        one = breaker or Breaker()
        since = one.well if one.well > 0 else appraiser.now
        return one.failures, max(appraiser.now - since, 0.0)
    evidence, rows = appraiser.looked_at(source)
    failures, tried_at = evidence.failures[rows], evidence.tried_at[rows]
    tried = failures > 0
    last = float(evidence.last_at[rows].max(initial=-inf))
    if not tried.any():
        return 0, 0.0
    later = tried & (tried_at > last)
    waited = _waited(int(failures.max()))
    silent = appraiser.now - last if isfinite(last) else waited
    return int(failures[later].sum()), max(silent, 0.0)


def _waited(failures: int) -> float:
    """Return the days that lie between so many failures in a row, at least."""
    doubled = min(failures - 1, 8)
    return FIRST_PAUSE * (2.0**doubled - 1.0) + (failures - 1 - doubled) * LONGEST_PAUSE
