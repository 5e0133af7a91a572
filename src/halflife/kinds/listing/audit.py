"""Audit of forecasts for listings: every full fetch shows their outcomes."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from halflife.core.lifetimes import Collection
from halflife.engine import rhythms
from halflife.kinds.pages.audit import (
    AHEAD,
    BRIEF,
    LATE,
    due_at,
    issue,
    issued_at,
    outcome,
)
from halflife.models.rhythm import FLAT, Rhythm
from halflife.models.setquality import recall_ahead
from halflife.stores import Store
from halflife.stores.forecasts import IssuedForecast

FAR = (*AHEAD, 30.0)  # days ahead of forecasts; fetches may be weeks apart


def audit_set(store: Store, source: str, run: int) -> int:
    """Score the forecasts that the latest fetch of a listing verifies.

    The fetch is the audit: it shows all objects. Return how many forecasts got their
    outcome: those that are due, and the one interpolated to just this time. Save
    forecasts for the time from now on.
    """
    if source not in store.collections():
        return 0
    collection = store.collection(source)
    if collection.looks.size < 2:
        return 0
    before, last = collection.looks[-2:].tolist()
    forecasts, rng = store.forecasts, np.random.default_rng(run)
    due, missed = due_at(forecasts, source, last)
    earlier = [*due, *forecasts.settled(source, last)]
    interpolated = None
    if not any(abs(forecast.made - before) <= BRIEF for forecast in earlier):
        waiting = [
            f for f in forecasts.waiting(source) if abs(f.made - before) <= BRIEF
        ]
        interpolated = interpolated_forecast(
            waiting, last, rhythms.rhythm(store, source)
        )
    settled = []
    for cast in [*due, *([interpolated] if interpolated else [])]:
        synced = collection.looks[collection.looks <= cast.made + BRIEF]
        if synced.size:
            _, recall = collection.quality(float(synced[-1]), last)
            settled.append(outcome(cast, last, recall, np.inf, rng))
    with store.together():
        forecasts.settle(forecast for forecast in settled if forecast.id)
        forecasts.record(forecast for forecast in settled if not forecast.id)
        forecasts.drop(missed)
        rhythm = rhythms.rhythm(store, source)
        issue(forecasts, source, _forecasts(collection, last, rhythm))
    return len(settled)


def interpolated_forecast(
    waiting: Sequence[IssuedForecast], now: float, rhythm: Rhythm = FLAT
) -> IssuedForecast | None:
    """Return the forecast for a time between those of given forecasts.

    It interpolates linearly between the two nearest, in effective days of the rhythm; a
    new copy has quality 1. None if no forecast reaches that far ahead.
    """
    casts = sorted(waiting, key=lambda forecast: forecast.ahead)
    if not casts:
        return None
    days = now - casts[0].made
    after = [
        forecast for forecast in casts if forecast.ahead >= days - LATE * forecast.ahead
    ]
    if days <= BRIEF or not after:
        return None
    made = np.array(casts[0].made)
    own = rhythm.between(
        made, made + np.array([0.0, *(forecast.ahead for forecast in casts)])
    )
    passed = float(rhythm.between(made, np.array(now)))
    mean, low, high = (
        float(
            np.interp(
                passed, own, [1.0, *(getattr(forecast, name) for forecast in casts)]
            )
        )
        for name in ("mean", "low", "high")
    )
    return replace(after[0], id=0, ahead=days, mean=mean, low=low, high=high)


def _forecasts(
    collection: Collection, last: float, rhythm: Rhythm
) -> list[IssuedForecast]:
    """Return forecasts of recall, by effective days of the rhythm."""
    ahead = np.array(FAR)
    own = ahead if rhythm.flat else rhythm.between(np.array(last), last + ahead)
    recall = recall_ahead(collection, last, own.tolist())
    return issued_at(collection.name, "recall", last, ahead, recall)
