"""Build the store, the belief and the policy from settings; see ``network`` for more.

Reading verbs need no more than this module, so it imports nothing that is slow.
"""

import time
from collections.abc import Callable, Container, Iterable, MutableMapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from halflife import plugins
from halflife.belief import Belief, PartialBelief
from halflife.belief.hints import HintedBelief
from halflife.belief.neighbours import Neighbours
from halflife.belief.poisson import PoissonBelief
from halflife.config import Config, SourceConfig
from halflife.core.arrays import Floats, Ints
from halflife.core.budget import Budget
from halflife.core.errors import ConfigError
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.plan import Plan
from halflife.core.store import Items
from halflife.core.view import View
from halflife.engine import allocator, logs
from halflife.kinds.pages import (
    belief_notes as pages_belief_notes,
    crawl as pages_crawl,
    hours as pages_hours,
    topics as pages_topics,
)
from halflife.kinds.pages.joint_view import (
    PlannedOffer,
    by_value,
    joined_view,
    market_value,
    shares,
)
from halflife.kinds.pages.settings import map_addresses
from halflife.kinds.pages.source_rows import rows_of
from halflife.models.week_rhythm import WeekCalendar
from halflife.policies import Policy, Strategy
from halflife.policies.rounds import InRounds
from halflife.policies.shortlist import MANY, Shortlist
from halflife.policies.valuation import gain_policy, turn_plan, valued
from halflife.policies.view_rows import take_rows
from halflife.stores import Store, location
from halflife.stores.memory import MemoryStore
from halflife.stores.table_store import TableStore


def clock() -> float:
    """Return the time now, in days since the epoch."""
    return time.time() / 86400.0


def reading(config: Config) -> AbstractContextManager[Store]:
    """Open the state file for reading; without one, return an empty store."""
    allocator.be_thrifty()
    found = location.find_store(config.store_place)
    return nullcontext(MemoryStore()) if found is None else found


def state_file(config: Config) -> AbstractContextManager[TableStore | None]:
    """Open the state file for reading; None if there is none yet."""
    allocator.be_thrifty()
    return location.find_store(config.store_place) or nullcontext(None)


def writing(
    config: Config, notify: Callable[[str], None] = lambda _: None
) -> TableStore:
    """Open the state file for writing, with the settings' items; create it if missing.

    ``notify`` receives a line for pages that another source owns now, and for a state
    file that has disappeared.
    """
    from halflife.engine import state_record  # noqa: PLC0415  (only writers need it)

    allocator.be_thrifty()
    store, lost = state_record.open_store(config)
    for words in (*((lost,) if lost else ()), *add_items(config, store)):
        notify(words)
    return store


def add_items(config: Config, store: Store) -> list[str]:
    """Add the settings' items to a store; return a line for pages with a new owner."""
    from halflife.engine import ownership  # noqa: PLC0415  (which needs this module)

    claims = ownership.named_items(config.source)
    named: dict[str, Item] = {}
    for item in claims:
        named.setdefault(item.key, item)
    store.add(named.values())
    taken = ownership.take_over(config, store, claims, clock())
    for pages in taken:
        logs.event("taken over", fields={"source": pages.source, "owner": pages.owner})
    return [pages.words() for pages in taken]


def items(sources: Iterable[SourceConfig], known: Container[str] = ()) -> list[Item]:
    """Return the items that the settings name: pages, and maps that list pages.

    URLs that are ``known`` as the keys of items are left out.
    """
    found: dict[str, Item] = {}
    for source in sources:
        for url in source.item_urls:
            if url not in known:
                item = _item(url, source)
                found.setdefault(item.key, item)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class KnownItems:
    """The names of the items of some sources that a store knows.

    The store is asked: evidence would have to sort all names first.
    """

    store: Items
    sources: Container[str]

    def __contains__(self, key: object) -> bool:
        return self.store.source_of(str(key)) in self.sources


def keys(urls: Iterable[str]) -> set[str]:
    """Return the names of the items at some addresses."""
    from halflife.net.addresses import canonical  # noqa: PLC0415  (slow)

    return {canonical(url) for url in urls}


def _item(url: str, source: SourceConfig) -> Item:
    from halflife.net.addresses import canonical, host_of  # noqa: PLC0415  (slow)

    key = canonical(url)
    return Item(key, source.name, weight=source.weight, group=host_of(key))


def names(sources: Iterable[SourceConfig]) -> tuple[str, ...]:
    """Return the names of sources; raise ``ConfigError`` if there are none."""
    found = tuple(source.name for source in sources)
    if not found:
        raise ConfigError("there is nothing to keep yet; run `halflife add URL` first")
    return found


@dataclass(frozen=True)
class Outlook:
    """The belief at this moment, for verbs that only read.

    A belief learns as much data as its view of very many items has. So it learns on a
    copy, which is discarded.

    Attributes:
        evidence: The evidence of all observations.
        belief: The belief; it has learned nothing yet.
        now: The time of the view.
        policy: The policy that spends the budget.
        name: The policy's name in settings.
        calendar: The hours at which items change, for forecasts.

    """

    evidence: Evidence
    belief: Belief
    now: float
    policy: Policy
    name: str
    calendar: WeekCalendar | None = field(default=None, kw_only=True)

    def part_of(self, key: str) -> "Outlook":
        """Return the outlook of the policy that keeps this item."""
        del key
        return self

    @cached_property
    def view(self) -> View:
        """The view of all items."""
        found = deepcopy(self.belief)(self.evidence, self.now, self.now)
        return replace(found, calendar=self.calendar)

    def some(self, rows: Ints) -> View:
        """Return the view of the items at these rows."""
        belief = deepcopy(self.belief)
        if isinstance(belief, PartialBelief) and belief.learn(self.evidence, self.now):
            found = belief.view_rows(self.evidence, rows, self.now, self.now)
            return replace(found, calendar=self.calendar)
        return take_rows(self.view, rows)

    def plan(self, requests: int) -> Plan:
        """Return the plan for this many requests, in the policy's order.

        Of very many items only a shortlist is planned, as in the service. The gain of a
        step is the policy's own, or else the days of freshness that it buys.
        """
        rng, budget = np.random.default_rng(0), Budget(requests)
        if len(self.evidence) < MANY:
            plan = turn_plan(self.policy, self.view, budget, rng)
            return plan if gain_policy(self.policy) else valued(plan, self.view)
        few = Shortlist(deepcopy(self.belief), self.policy)
        return few.plan(self.evidence, self.now, self.now, budget, rng)


@dataclass(frozen=True)
class JointOutlook(Outlook):
    """The outlook on pages that are kept by several policies.

    Each policy has its own pages, and its own belief about them.

    Attributes:
        parts: The outlook of each policy on its own pages.
        share: The weight of each page: its share of its source, times that source's
            weight.

    """

    parts: tuple[Outlook, ...]
    share: Floats

    def part_of(self, key: str) -> Outlook:
        """Return the outlook of the policy that keeps this item."""
        return next(part for part in self.parts if part.evidence.row(key) is not None)

    @cached_property
    def rows(self) -> tuple[Ints, ...]:
        """The rows of each part's pages."""
        found = [map(self.evidence.row, part.evidence.keys) for part in self.parts]
        return tuple(np.array([*rows], dtype=np.intp) for rows in found)

    @cached_property
    def view(self) -> View:
        """The view of all items, each by the belief of its policy."""
        views = [part.view for part in self.parts]
        found = joined_view(self.evidence, views, self.rows)
        return replace(found, calendar=self.calendar)

    def some(self, rows: Ints) -> View:
        """Return the view of the items at these rows."""
        return take_rows(self.view, rows)

    def plan(self, requests: int) -> Plan:
        """Return the plan for this many requests, best first.

        They are shared by the value of the next requests of each policy, as in the
        service.
        """
        plans = []
        for part, rows in zip(self.parts, self.rows, strict=True):
            value = market_value(part.view, self.share[rows])
            plans.append(PlannedOffer(part.plan(requests), rows, value, part.view.cost))
        return by_value(plans, requests)


def policy_of(config: Config, source: SourceConfig) -> str:
    """Return the name of the policy that keeps the pages of a source."""
    return next(iter(source.policies), config.policy.name)


def strategy(config: Config, sources: Iterable[SourceConfig] = ()) -> Strategy:
    """Return the strategy by which pages of these sources are kept.

    All of them name the same policy, or none.
    """
    named = next((name for source in sources for name in source.policies), "")
    return plugins.strategy(named or config.policy.name, config.policy.objective)


def belief(
    config: Config, store: Store, sources: Iterable[SourceConfig] = ()
) -> Belief:
    """Return the belief that the policy uses, with what earlier runs learned.

    A Poisson belief uses hints too, as far as they prove true. A belief that uses hints
    gets the keys of maps.
    """
    found = strategy(config, sources).belief()
    inner = found.inner if isinstance(found, HintedBelief) else found
    if isinstance(inner, PoissonBelief):
        inner.prior = pages_belief_notes.recall(store)
    if isinstance(inner, Neighbours):
        inner.resume(pages_belief_notes.recall_busy(store))
    if isinstance(found, PoissonBelief):
        found = HintedBelief(found, announced=False)
    if isinstance(found, HintedBelief):
        found.maps = keys(map_addresses(config.source))
    return found


def outlook(
    config: Config,
    store: Store,
    sources: Sequence[SourceConfig],
    now: float | None = None,
    filed: MutableMapping[tuple[str, ...], object] | None = None,
) -> Outlook:
    """Return the outlook on sources now; nothing is written.

    ``filed`` caches what is slow to compute about pages (``kinds.pages.topics``).
    """
    now = clock() if now is None else now
    mine = names(sources)
    by_policy: dict[str, list[SourceConfig]] = {}
    for source in sources:
        by_policy.setdefault(policy_of(config, source), []).append(source)
    if len(by_policy) < 2:
        return _outlook(config, store, sources, now, filed)
    parts = tuple(
        _outlook(config, store, group, now, filed) for group in by_policy.values()
    )
    evidence = _evidence(store, sources, mine)
    rows = rows_of(store, mine, evidence, lambda: items(sources))
    share = np.zeros(len(evidence))
    for source in sources:
        share[rows[source.name]] = shares(evidence.weight[rows[source.name]], source)
    first = parts[0]
    return JointOutlook(
        evidence,
        first.belief,
        now,
        first.policy,
        first.name,
        parts,
        share,
        calendar=pages_hours.calendar(store, evidence, now),
    )


def _outlook(
    config: Config,
    store: Store,
    sources: Sequence[SourceConfig],
    now: float,
    filed: MutableMapping[tuple[str, ...], object] | None,
) -> Outlook:
    """Return the outlook on sources that are kept by one policy."""
    evidence = _evidence(store, sources, names(sources))
    owners = pages_crawl.owners(store, sources, evidence)
    chosen = strategy(config, sources)
    policy, mine = chosen.policy, names(sources)
    believed = pages_crawl.belief(belief(config, store, sources), sources)
    if isinstance(policy, InRounds):  # results of the first round cannot be predicted
        policy = policy.policy
    return Outlook(
        evidence,
        pages_topics.with_topics(believed, chosen, store, mine, filed),
        now,
        pages_crawl.policy(policy, sources, lambda key: owners.get(key, "")),
        policy_of(config, sources[0]),
        calendar=pages_hours.calendar(store, evidence, now),
    )


def _evidence(
    store: Store, sources: Sequence[SourceConfig], mine: Sequence[str]
) -> Evidence:
    """Return the evidence of sources, with the items that the settings name."""
    evidence = store.evidence(mine)
    # Items added to the settings since the last sync are not in the store yet.
    evidence.add(items(sources, known=KnownItems(store, frozenset(mine))))
    return evidence
