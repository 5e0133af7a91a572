"""The state of a listing, and when its policy wants it fetched."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from math import inf, isnan
from typing import TypeVar

import numpy as np

from halflife import plugins
from halflife.core.arrays import Floats
from halflife.core.lifetimes import Collection
from halflife.core.wording import span
from halflife.engine import costs, rhythms
from halflife.engine.renewals import recall_decay
from halflife.kinds.listing import groups, incremental
from halflife.kinds.listing.groups import GroupPlan
from halflife.kinds.listing.settings import ListingConfig
from halflife.kinds.protocol import NEVER_SEEN, Memo, Reading
from halflife.market.curves import Decay
from halflife.market.target_status import FIRST
from halflife.models.recall_curve import Knots
from halflife.models.rhythm import LearnedRhythm
from halflife.plugins.containment import blaming, check
from halflife.policies.listings import ListingPolicy, ListingTerms
from halflife.policies.listings.group_dues import GroupDue, group_dues
from halflife.stores.notes.group_fetches import GroupFetches
from halflife.stores.notes.held_removals import HELD_REMOVALS, HeldRemovals

Cached = TypeVar("Cached")
_TIGHT = 1e-6  # days; a difference of two times is not exact


@dataclass(frozen=True)
class ListingState:
    """The state of a listing.

    Attributes:
        source: Its settings.
        now: When the state was read, in days.
        whole: Requests of a full fetch.
        shortest: Days between two full fetches that settings allow.
        collection: Its history; None if it was never fetched.
        habit: The learned hours at which it changes.
        memo: Cached results.
        expected: Expected requests of the next fetch.
        refreshed: When newer records were last read; ``-inf`` if never. All arrivals
            until then are in the copy, as after a full fetch.
        waits: Removals that wait for a decision; None if there are none.
        fetches: When single groups were fetched; None if they cannot be.

    """

    source: ListingConfig
    now: float
    whole: float
    shortest: float
    collection: Collection | None
    habit: LearnedRhythm
    memo: Memo
    expected: int
    refreshed: float = -inf
    waits: HeldRemovals | None = None
    fetches: GroupFetches | None = None

    @property
    def last(self) -> float:
        """Time of the last fetch of everything, apart from departures since."""
        history = self.collection
        whole = float(history.looks[-1]) if history and history.looks.size else -inf
        groups = self.plan.refreshed if self.plan else -inf
        return max(whole, min(max(self.refreshed, groups), self.now))

    @cached_property
    def plan(self) -> GroupPlan | None:
        """The next fetch of groups that have schedules; None if all is fetched."""
        history, done = self.history, self.fetches
        if history is None or done is None or self.policy.groups is None:
            return None
        now_and_cost = self.now, max(round(self.whole), 1)
        return groups.plan(
            self.source, history, self._groups(history, done), done, now_and_cost
        )

    def _groups(self, history: Collection, done: GroupFetches) -> tuple[GroupDue, ...]:
        """Return when each group is due; cached until the next fetch."""
        mark = int(history.looks.size), float(history.looks[-1]), self.terms
        parts = self._once("groups", mark, lambda: self._parts(history))
        given = history, self.terms, parts, done.at
        fetched = *mark, tuple(done.at.items())
        return self._once("dues", fetched, lambda: group_dues(self.policy, *given))

    def _parts(self, history: Collection) -> list[tuple[str, ...]]:
        policy = self.policy.groups
        return policy(self.terms).groups(history) if policy else []

    def _once(self, what: str, mark: object, make: Callable[[], Cached]) -> Cached:
        """Return a cached result, computed again if its mark has changed."""
        key, rules = (what, self.source.name), self.memo.rules
        if key not in rules or rules[key][0] != mark:
            rules[key] = mark, make()
        result: Cached = rules[key][1]
        return result

    @property
    def cost(self) -> float:
        """Requests of the next fetch."""
        return float(self.plan.cost) if self.plan else self.whole

    @property
    def history(self) -> Collection | None:
        """The history if it has at least two fetches, and so shows changes."""
        enough = self.collection is not None and self.collection.looks.size > 1
        return self.collection if enough else None

    @cached_property
    def policy(self) -> ListingPolicy:
        """The policy that its settings name."""
        return policy_of(self.source)

    @property
    def terms(self) -> ListingTerms:
        """The settings that policies use."""
        source = self.source
        return ListingTerms(
            source.recall,
            source.confidence,
            source.weight,
            self.whole,
            source.group,
            source.latest,
        )

    @cached_property
    def due(self) -> float:
        """The time at which its policy wants it fetched; ``inf`` if the market decides.

        After a partial fetch it is tried again an hour later.
        """
        history = self.collection
        if self.policy.schedule is None:
            return inf
        if history is None:
            return 0.0
        if self.plan is not None:
            last_seen = self.now - age_of(history, self.now)
            partly = last_seen > self.plan.fetched + _TIGHT
            return max(self.plan.due, last_seen + FIRST) if partly else self.plan.due
        due, age = self._due(history), age_of(history, self.now)
        if history.looks.size:
            due += self.last - float(history.looks[-1])
        partly = self.now - age > self.last + _TIGHT
        return max(due, self.now - age + FIRST) if partly else due

    def _due(self, history: Collection) -> float:
        """Return when it is due by the complete fetches; cached until the next."""
        reads, dues = history.looks, self.memo.dues
        last = float(reads[-1]) if reads.size else -inf
        mark = int(reads.size), last, name_of(self.source), self.terms
        if self.source.name not in dues or dues[self.source.name][0] != mark:
            name = name_of(self.source)
            with blaming(name):
                due = float(self.policy.due(history, self.terms))
            check(name, "returns NaN as the time of a fetch" if isnan(due) else "")
            dues[self.source.name] = mark, due
        return dues[self.source.name][1]

    def gains(self, ages: Floats) -> Floats:
        """Return the gain of a fetch at these ages of the copy, in quality-days."""
        history, gain = self.history, self.policy.gain
        if history is not None and gain is not None:
            name = name_of(self.source)
            with blaming(name):
                gains = np.asarray(gain(history, ages, self.terms), np.float64)
            fine = gains.shape == ages.shape and np.isfinite(gains).all()
            check(name, "" if fine else "returns gains that are not one number an age")
            return np.maximum(gains, 0.0)
        if self.decay is None:
            return np.full(ages.size, NEVER_SEEN)
        return np.array([self.decay.index(age) for age in ages.tolist()])

    @cached_property
    def gain(self) -> float:
        """The gain of a fetch now, by effective days of the source's rhythm."""
        if self.history is None:
            return NEVER_SEEN
        last = min(self.last, self.now)
        age = self.habit.rhythm.between(*np.array([last, self.now]))
        return float(self.gains(np.array([float(age)]))[0])

    @cached_property
    def decay(self) -> Decay | None:
        """How the copy decays after a fetch."""
        return self.decay_within(self.history, 0.95) if self.history else None

    def decay_within(self, history: Collection, confidence: float) -> Decay:
        """Return the decay with other bounds; cached until the next fetch."""
        least = self.shortest
        mark = int(history.looks.size), float(history.looks[-1]), least
        make = partial(recall_decay, history, confidence, least)
        return self._once(f"decay within {confidence}", mark, make)

    def knots(self, history: Collection, confidence: float) -> Knots:
        """Return the cache of forecasts since the last fetch; drop older ones."""
        reads, casts = history.looks, self.memo.casts
        mark = history.name, int(reads.size), float(reads[-1]), confidence
        for old in [m for m in casts if m[0] == mark[0] and m[1:3] != mark[1:3]]:
            del casts[old]
        return casts.setdefault(mark, {})

    @property
    def pace(self) -> float | None:
        """Requests a day that a schedule spends; None if the market decides."""
        if self.policy.schedule is None or self.history is None:
            return None
        if self.plan is not None:
            return self.plan.pace
        days = max(self.due - self.last, self.shortest)
        return self.whole / days

    def when(self) -> str:
        """Return when its policy wants it fetched, in words."""
        name, wait = name_of(self.source), self.due - self.now
        if self.policy.schedule is None:
            return f"policy {name}: when a fetch is worth its price"
        if self.plan and self.plan.values:
            name = f"{name}, {self.source.group} {', '.join(self.plan.values)}"
        if wait > 0:
            return f"policy {name}: due in {span(wait)}"
        late = f" since {span(-wait)}" if -wait < self.now else ""
        return f"policy {name}: due{late}"


def state_of(reading: Reading, source: ListingConfig) -> ListingState:
    """Read the state of a listing."""
    store, name = reading.store, source.name
    further = incremental.progress(store, source, reading.now)
    done = incremental.last_progress(store, source)
    whole = float(further.cost if further else costs.noted(store, source))
    collection = store.collection(name) if name in store.collections() else None
    least, habit = reading.shortest(source, whole), rhythms.recall(store, name)
    waits = HELD_REMOVALS.load(store, name)
    refreshed = max(-inf if seen is None else seen.at for seen in (done, waits))
    return ListingState(
        source=source,
        now=reading.now,
        whole=whole,
        shortest=least,
        collection=collection,
        habit=habit,
        memo=reading.memo,
        expected=further.cost if further else costs.expected(store, source),
        refreshed=refreshed,
        waits=waits,
        fetches=groups.fetches(store, source) if source.group_request else None,
    )


def name_of(source: ListingConfig) -> str:
    """Return the name of the policy of a listing."""
    return next(iter((*source.policies, *source.usual_policies)))


def policy_of(source: ListingConfig) -> ListingPolicy:
    """Return the policy of a listing."""
    return _loaded(source.policy_group, name_of(source))


@cache  # entry points are read from disk
def _loaded(group: str, name: str) -> ListingPolicy:
    return plugins.load(group, name, ListingPolicy)


def age_of(collection: Collection | None, now: float) -> float:
    """Return the days since any object of a collection was seen; ``inf`` if never."""
    if collection is None or len(collection.lives) + collection.looks.size == 0:
        return inf
    seen = collection.lives.last_seen.max(initial=-inf)  # also in partial fetches
    last = max(float(collection.looks[-1:].max(initial=-inf)), float(seen))
    return max(now - last, 0.0)
