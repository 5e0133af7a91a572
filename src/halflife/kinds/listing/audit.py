"""Checking forecasts of set sources: every look at one shows what came of them."""

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
from halflife.stores.forecasts import Issued

FAR = (*AHEAD, 30.0)  # days of which forecasts are made; looks may be weeks apart


def audit_set(store: Store, source: str, run: int) -> int:
    """Score the forecasts that the latest look at a set source tells of.

    The look is the audit: it shows all objects. Return how many forecasts got their
    outcome: those that are due, and what the look before said of just this moment.
    What is believed of the copy from now on is written down.
    """
    if source not in store.collections():
        return 0
    collection = store.collection(source)
    if collection.looks.size < 2:
        return 0
    before, last = collection.looks[-2:].tolist()
    kept, rng = store.forecasts, np.random.default_rng(run)
    due, missed = due_at(kept, source, last)
    some = [*due, *kept.settled(source, last)]
    read = None
    if not any(abs(one.made - before) <= BRIEF for one in some):
        waiting = [f for f in kept.waiting(source) if abs(f.made - before) <= BRIEF]
        read = read_off(waiting, last, rhythms.rhythm(store, source))
    told = []
    for cast in [*due, *([read] if read else [])]:
        synced = collection.looks[collection.looks <= cast.made + BRIEF]
        if synced.size:
            _, recall = collection.quality(float(synced[-1]), last)
            told.append(outcome(cast, last, recall, np.inf, rng))
    with store.together():
        kept.settle(one for one in told if one.id)
        kept.record(one for one in told if not one.id)
        kept.drop(missed)
        rhythm = rhythms.rhythm(store, source)
        issue(kept, source, _foreseen(collection, last, rhythm))
    return len(told)


def read_off(
    waiting: Sequence[Issued], now: float, rhythm: Rhythm = FLAT
) -> Issued | None:
    """Return what forecasts made at one moment say of another between theirs.

    A line between the two nearest of them, by days as the rhythm has them; just after
    it is made a copy is whole. None if there is no forecast as far ahead.
    """
    casts = sorted(waiting, key=lambda one: one.ahead)
    if not casts:
        return None
    days = now - casts[0].made
    after = [one for one in casts if one.ahead >= days - LATE * one.ahead]
    if days <= BRIEF or not after:
        return None
    made = np.array(casts[0].made)
    own = rhythm.between(made, made + np.array([0.0, *(one.ahead for one in casts)]))
    passed = float(rhythm.between(made, np.array(now)))
    mean, low, high = (
        float(np.interp(passed, own, [1.0, *(getattr(one, name) for one in casts)]))
        for name in ("mean", "low", "high")
    )
    return replace(after[0], id=0, ahead=days, mean=mean, low=low, high=high)


def _foreseen(collection: Collection, last: float, rhythm: Rhythm) -> list[Issued]:
    """Return what is believed later on, after as many of the source's own days."""
    ahead = np.array(FAR)
    own = ahead if rhythm.flat else rhythm.between(np.array(last), last + ahead)
    recall = recall_ahead(collection, last, own.tolist())
    return issued_at(collection.name, "recall", last, ahead, recall)
