"""How each source is now, as far as anybody has to be told."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf, isnan, nan
from typing import TypeAlias

import numpy as np

from halflife.alerts import Health
from halflife.belief import FIRST_PAUSE, LONGEST_PAUSE
from halflife.config import Config, SourceConfig
from halflife.forecast import Forecast
from halflife.live import selecting
from halflife.live.breakers import Breaker
from halflife.live.spending import Wallet
from halflife.live.worths import Appraiser, Seen
from halflife.models.quality import freshness_forecast
from halflife.models.setquality import forecast
from halflife.stores import Store, summaries

Casts: TypeAlias = dict[Seen, Forecast]

FAR = np.concatenate([[0.0], np.geomspace(1.0 / 24.0, 100.0, 8)])  # days
AHEAD = np.concatenate([[0.0], np.geomspace(1.0 / 96.0, 30.0, 24)])  # days


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
        self._appraiser = Appraiser(config, store, now)
        self._held = {one.source: one.why for one in store.staged()}
        self._breakers, self._casts = breakers, casts

    def health(self, source: SourceConfig) -> Health:
        """Return how a source is."""
        cast, target = self._forecast(source), level(source)
        breaker = self._breakers.get(source.name)
        failures, silent = _silence(self._appraiser, source, breaker)
        health = Health(
            source.name,
            target=target,
            held=self._held.get(source.name, ""),
            failures=failures,
            silent=silent,
        )
        if cast is None:
            return health
        below = None if isnan(target) else cast.first_below(target)
        return replace(
            health,
            mean=float(cast.mean[0]),
            low=float(cast.low[0]),
            high=float(cast.high[0]),
            first_below=inf if below is None else max(below - self._appraiser.now, 0.0),
        )

    def _forecast(self, source: SourceConfig) -> Forecast | None:
        """Return the quality from now on if nothing is done; None if unknown."""
        if source.has_pages:
            return _of_pages(self._appraiser, source)
        if source.kind == "search":
            return _of_search(self._appraiser, source)
        return self._of_set(source)

    def _of_set(self, source: SourceConfig) -> Forecast | None:
        store, now = self._appraiser.store, self._appraiser.now
        if source.name not in store.collections():
            return None
        collection = store.collection(source.name)
        if collection.looks.size < 2:
            return None
        last = float(collection.looks[-1])
        seen = source.name, int(collection.looks.size), last
        if seen not in self._casts:
            recall = forecast(collection, last, FAR.tolist(), 0.95).recall
            self._casts[seen] = Forecast(
                "recall", last + FAR, recall.mean, recall.low, recall.high
            )
        known, at = self._casts[seen], max(now, last) + AHEAD
        mean, low, high = (
            np.interp(at, known.at, column)
            for column in (known.mean, known.low, known.high)
        )
        return Forecast("recall", now + AHEAD, mean, low, high)


def whole(config: Config, store: Store, now: float, *, offline: bool) -> Health:
    """Return how it is with what all sources share."""
    left = Wallet(store, config.budget).room(now) / config.budget.requests
    return Health(left=left, offline=offline)


def level(source: SourceConfig) -> float:
    """Return the quality that is asked for; nan if none is.

    Of several targets the strictest counts. How old copies may be is no quality.
    """
    asked = [t.level for t in source.targets if t.measure != "age"]
    if not asked and source.kind == "listing" and "recall" in source.model_fields_set:
        asked = [source.recall]
    return max(asked, default=nan)


def _of_pages(appraiser: Appraiser, source: SourceConfig) -> Forecast | None:
    view, of = appraiser.pages
    mine = np.zeros(len(view))
    mine[of[source.name]] = view.weight[of[source.name]]
    if not mine.any():
        return None
    ahead = AHEAD[:1] if isnan(level(source)) else AHEAD
    return freshness_forecast(replace(view, weight=mine), ahead)


def _of_search(appraiser: Appraiser, source: SourceConfig) -> Forecast | None:
    """Return the chance that the summary holds; of one summary there are no bounds."""
    kept = summaries.current(appraiser.store, source.name)
    if kept is None:
        return None
    survival = selecting.survival(kept, source)
    age = np.maximum(appraiser.now - kept.at, 0.0) + AHEAD
    alive = np.array([float(survival.alive(np.array([t]))[0]) for t in age])
    return Forecast("summary", appraiser.now + AHEAD, alive, alive, alive)


def _silence(
    appraiser: Appraiser, source: SourceConfig, breaker: Breaker | None
) -> tuple[int, float]:
    """Return the failures since the last good look, and the days since then."""
    if not source.has_pages:
        one = breaker or Breaker()
        since = one.well if one.well > 0 else appraiser.now
        return one.failures, max(appraiser.now - since, 0.0)
    evidence = appraiser.store.evidence([source.name])
    tried = evidence.failures > 0
    last = float(evidence.last_at.max(initial=-inf))
    if not tried.any():
        return 0, 0.0
    later = tried & (evidence.tried_at > last)
    waited = _waited(int(evidence.failures.max()))
    silent = appraiser.now - last if last > -inf else waited
    return int(evidence.failures[later].sum()), max(silent, 0.0)


def _waited(failures: int) -> float:
    """Return the days that lie between so many failures in a row, at least."""
    doubled = min(failures - 1, 8)
    return FIRST_PAUSE * (2.0**doubled - 1.0) + (failures - 1 - doubled) * LONGEST_PAUSE
