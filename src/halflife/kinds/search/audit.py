"""Audit of summary forecasts: the next fetch shows whether the last one held."""

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from halflife.kinds.listing.audit import interpolated_forecast
from halflife.kinds.pages.audit import BRIEF, issued_at, outcome
from halflife.kinds.search import selection
from halflife.kinds.search.settings import SearchConfig
from halflife.stores import Store, summaries, summary_lifetimes
from halflife.stores.forecasts import IssuedForecast
from halflife.stores.summaries import StoredSummary

HORIZONS = 2.0 ** np.arange(-5.0, 11.0)  # days ahead of forecasts


def audit_summary(store: Store, source: SearchConfig) -> bool:
    """Score the forecasts of a summary by the latest check or renewal.

    A passed check shows that the summary held. So does another summary, whether or not
    that is in use, if it is no farther from the first than the source's ``tau``, less
    the difference of two samples of one database. A failed check shows nothing before
    there is another summary. Return whether a forecast was scored. New forecasts of the
    summary in use are saved.
    """
    used = summaries.current(store, source.name)
    forecasts = store.forecasts
    waiting = forecasts.waiting(source.name)
    made = waiting[0].made if waiting else -np.inf
    if used is None or selection.life(store, used).is_doubted:
        return False
    at = selection.last_checked(store, used)
    if at <= made + BRIEF:
        return False
    settled = _settled(store, _LastCheck(used, at, source.tau), waiting)
    with store.together():
        forecasts.record(settled)
        forecasts.drop(waiting)
        forecasts.issue(_forecasts(store, used, source, at))
    return bool(settled)


@dataclass(frozen=True, slots=True)
class _LastCheck:
    """The last check or renewal, and the summary that is in use after it."""

    used: StoredSummary
    at: float
    tau: float

    def held(self, store: Store, made: float) -> bool | None:
        """Say whether the summary in use before still held; None if unknown."""
        for life in reversed(summary_lifetimes.lives(store, self.used.source)):
            if life.looked > life.made and abs(life.looked - self.at) <= BRIEF:
                return not np.isfinite(life.failed)
        before = [
            life
            for life in summaries.versions(store, self.used.source)
            if abs(life.at - made) <= BRIEF
        ]
        return (
            selection.still_holds(before[-1], self.used, self.tau) if before else None
        )


def _settled(
    store: Store, check: _LastCheck, waiting: Sequence[IssuedForecast]
) -> list[IssuedForecast]:
    """Return the forecast for now with its outcome; nothing if unknown."""
    cast = interpolated_forecast(waiting, check.at)
    held = None if cast is None else check.held(store, cast.made)
    if cast is None or held is None:
        return []
    used = check.used
    rng = np.random.default_rng([used.version, crc32(used.source.encode())])
    return [outcome(cast, check.at, float(held), 1.0, rng)]


def _forecasts(
    store: Store, used: StoredSummary, source: SearchConfig, at: float
) -> list[IssuedForecast]:
    """Return the chance that a summary holds; a single summary has no bounds."""
    age = max(at - used.at, 0.0)
    alive = selection.holding(used, source, store).alive(age + HORIZONS)
    return issued_at(source.name, "summary", at, HORIZONS, (alive, alive, alive))
