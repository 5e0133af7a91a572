"""Checking forecasts of summaries: the next summary shows whether the last one held."""

import zlib
from collections.abc import Sequence

import numpy as np

from halflife.config import SourceConfig
from halflife.live import selecting
from halflife.live.audit_sets import read_off
from halflife.live.auditing import BRIEF, issued_at, outcome
from halflife.stores import Store, summaries
from halflife.stores.forecasts import Forecasts, Issued
from halflife.stores.sqlite import SqliteStore
from halflife.stores.summaries import Kept
from halflife.summary.resplitting import excess

HORIZONS = 2.0 ** np.arange(-5.0, 11.0)  # days of which forecasts are made


def audit_summary(store: Store, source: SourceConfig) -> bool:
    """Score what was forecast of the last summary by the one that has replaced it.

    It held if the new one is no farther from it than ``selecting.CHANGED``, less what
    two samples of one database differ by; return whether that could be told. What is
    believed of the new summary is written down.
    """
    if not isinstance(store, SqliteStore):
        return False
    new = summaries.current(store, source.name)
    kept = Forecasts(store)
    waiting = kept.waiting(source.name)
    made = waiting[0].made if waiting else -np.inf
    if new is None or new.at <= made + BRIEF:
        return False
    told = _told(store, new, waiting)
    with store.together():
        kept.record(told)
        kept.drop(waiting)
        kept.issue(_foreseen(new, source))
    return bool(told)


def _told(store: Store, new: Kept, waiting: Sequence[Issued]) -> list[Issued]:
    """Return what was forecast for now, with whether it came true."""
    cast = read_off(waiting, new.at)
    if cast is None:
        return []
    before = [
        one
        for one in summaries.versions(store, new.source)
        if abs(one.at - cast.made) <= BRIEF
    ]
    if not before:
        return []
    number = zlib.crc32(new.source.encode())
    rng = np.random.default_rng([new.version, number])
    differs = excess(before[-1].documents, new.documents, rng)
    if differs is None:
        return []
    held = float(differs.excess <= selecting.CHANGED)
    return [outcome(cast, new.at, held, 1.0, rng)]


def _foreseen(new: Kept, source: SourceConfig) -> list[Issued]:
    """Return the chance that a summary holds; one summary holds or does not."""
    survival = selecting.survival(new, source)
    alive = np.array([float(survival.alive(np.array([t]))[0]) for t in HORIZONS])
    return issued_at(source.name, "summary", new.at, HORIZONS, (alive, alive, alive))
