"""Checking forecasts of summaries: the next look shows whether the last one held."""

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from halflife.kinds.listing.audit import interpolated_forecast
from halflife.kinds.pages.audit import BRIEF, issued_at, outcome
from halflife.kinds.search import selection
from halflife.kinds.search.settings import SearchConfig
from halflife.stores import Store, summaries, summary_lifetimes
from halflife.stores.forecasts import Issued
from halflife.stores.summaries import StoredSummary

HORIZONS = 2.0 ** np.arange(-5.0, 11.0)  # days of which forecasts are made


def audit_summary(store: Store, source: SearchConfig) -> bool:
    """Score what was forecast of a summary by the last look at its database.

    That is a check that it passed, or another summary, whether or not that is in use:
    it held if the new one is no farther from it than the source's ``tau``, less what
    two samples of one database differ by. A check that it did not pass tells nothing
    before there is another. Return whether anything could be told. What is believed of
    the summary in use from now on is written down.
    """
    used = summaries.current(store, source.name)
    kept = store.forecasts
    waiting = kept.waiting(source.name)
    made = waiting[0].made if waiting else -np.inf
    if used is None or selection.life(store, used).is_doubted:
        return False
    at = selection.looked(store, used)
    if at <= made + BRIEF:
        return False
    told = _told(store, _Look(used, at, source.tau), waiting)
    with store.together():
        kept.record(told)
        kept.drop(waiting)
        kept.issue(_foreseen(store, used, source, at))
    return bool(told)


@dataclass(frozen=True, slots=True)
class _Look:
    """The last look at a database, and the summary that is in use after it."""

    used: StoredSummary
    at: float
    tau: float

    def held(self, store: Store, made: float) -> bool | None:
        """Say whether what was in use before still held; None if nobody knows."""
        for one in reversed(summary_lifetimes.lives(store, self.used.source)):
            if one.looked > one.made and abs(one.looked - self.at) <= BRIEF:
                return not np.isfinite(one.failed)
        before = [
            one
            for one in summaries.versions(store, self.used.source)
            if abs(one.at - made) <= BRIEF
        ]
        return selection.held(before[-1], self.used, self.tau) if before else None


def _told(store: Store, look: _Look, waiting: Sequence[Issued]) -> list[Issued]:
    """Return what was forecast for now, with whether it came true."""
    cast = interpolated_forecast(waiting, look.at)
    held = None if cast is None else look.held(store, cast.made)
    if cast is None or held is None:
        return []
    used = look.used
    rng = np.random.default_rng([used.version, crc32(used.source.encode())])
    return [outcome(cast, look.at, float(held), 1.0, rng)]


def _foreseen(
    store: Store, used: StoredSummary, source: SearchConfig, at: float
) -> list[Issued]:
    """Return the chance that a summary holds; one summary holds or does not."""
    age = max(at - used.at, 0.0)
    alive = selection.holding(used, source, store).alive(age + HORIZONS)
    return issued_at(source.name, "summary", at, HORIZONS, (alive, alive, alive))
