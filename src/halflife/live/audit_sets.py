"""Checking forecasts of set sources: every look at one shows what came of them."""

import numpy as np

from halflife.live.auditing import AHEAD, BRIEF, due_at, issue, issued_at, outcome
from halflife.lives import Collection
from halflife.models.setquality import forecast as set_forecast
from halflife.stores import Store
from halflife.stores.forecasts import Forecasts, Issued
from halflife.stores.sqlite import SqliteStore


def audit_set(store: Store, source: str, run: int) -> int:
    """Score the forecasts that the latest look at a set source tells of.

    The look is the audit: it shows all objects. Return how many forecasts got their
    outcome. What is believed of the copy from now on is written down.
    """
    if not isinstance(store, SqliteStore) or source not in store.collections():
        return 0
    collection = store.collection(source)
    if collection.looks.size < 2:
        return 0
    last = float(collection.looks[-1])
    kept, rng = Forecasts(store), np.random.default_rng(run)
    due, missed = due_at(kept, source, last)
    told = []
    for cast in due:
        synced = collection.looks[collection.looks <= cast.made + BRIEF]
        if synced.size:
            _, recall = collection.quality(float(synced[-1]), last)
            told.append(outcome(cast, last, recall, np.inf, rng))
    with store.together():
        kept.settle(told)
        kept.drop(missed)
        issue(kept, source, _foreseen(collection, last))
    return len(told)


def _foreseen(collection: Collection, last: float) -> list[Issued]:
    recall = set_forecast(collection, last, AHEAD).recall
    return issued_at(collection.name, "recall", last, np.array(AHEAD), recall)
