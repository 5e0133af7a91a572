"""Beliefs about pages at one moment, computed once for all sources of pages.

The belief about a page is learned from other pages too, so all sources share one
belief. With very many pages each group of sources that is kept together has its own,
one group at a time.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from halflife.config import Config
from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.view import View
from halflife.engine import bootstrap
from halflife.engine.bootstrap import policy_of
from halflife.kinds.pages.joint_view import market_value, shares
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.pages.source_rows import rows_of
from halflife.kinds.protocol import Memo, Reading
from halflife.policies.shortlist import MANY
from halflife.policies.valuation import offered
from halflife.stores import Store

HOURS = 24.0
SAMPLE = 65_536  # pages of a sample, where there are many more


class PageBeliefs:
    """The belief about the pages of some sources.

    Args:
        config: The settings.
        store: The store.
        now: The time, in days.
        sources: The sources; all are kept by one policy.
        groups: Their names, by groups that share their requests; one group if empty.
        memo: Earlier results.

    """

    def __init__(
        self,
        config: Config,
        store: Store,
        now: float,
        sources: Sequence[PagesConfig],
        groups: Sequence[Sequence[str]] = (),
        memo: Memo | None = None,
    ) -> None:
        self._config, self._store, self._now = config, store, now
        self._memo = memo or Memo()
        self.sources, self._groups = tuple(sources), groups

    @cached_property
    def seen(self) -> tuple[bootstrap.Outlook, dict[str, Ints]]:
        """The outlook of all pages, and the rows of each source."""
        sources = self.sources
        seen = bootstrap.outlook(
            self._config, self._store, sources, self._now, self._memo.filed
        )
        names = [source.name for source in sources]
        rows = rows_of(
            self._store, names, seen.evidence, lambda: bootstrap.items(sources)
        )
        return seen, rows

    @cached_property
    def pages(self) -> tuple[View, dict[str, Ints]]:
        """The view of all pages, and the rows of each source."""
        seen, rows = self.seen
        return seen.view, rows

    @cached_property
    def sampled(self) -> tuple[View, dict[str, Ints]]:
        """The view of a sample of the pages, and its rows of each source."""
        seen, of = self.seen
        samples = {name: sampled(rows) for name, rows in of.items()}
        if all(samples[name].size == rows.size for name, rows in of.items()):
            return self.pages
        rows = np.unique(np.concatenate(list(samples.values())))
        return seen.some(rows), {
            n: np.searchsorted(rows, s) for n, s in samples.items()
        }

    @cached_property
    def buys(self) -> Floats:
        """The value of the next requests to each page, in weighted quality-days.

        It follows the next plans of the pages' policy, group by group; pages that it
        would not fetch now have no value.
        """
        seen, of = self.seen
        view, share = seen.view, np.zeros(len(seen.evidence))
        for source in self.sources:
            rows = of[source.name]
            share[rows] = shares(view.weight[rows], source)
        value = market_value(view, share)
        if len(self._groups) < 2:
            return offered(seen.policy, view, value, self._block)
        buys = np.zeros(len(view))
        for group in self._groups:
            is_own = np.zeros(len(view), dtype=np.bool_)
            is_own[np.concatenate([of[name] for name in group])] = True
            own_view = replace(view, looked=view.looked | ~is_own)
            buys += np.where(
                is_own, offered(seen.policy, own_view, value, self._block), 0.0
            )
        return buys

    @property
    def _block(self) -> int:
        """The most requests of a turn: the income of an hour.

        Targets and intervals may need more.
        """
        budget = self._config.budget
        if any(source.targets or source.latest < inf for source in self.sources):
            return budget.requests
        return max(math.ceil(budget.pace / HOURS), 1)


class BeliefGroups:
    """All sources of pages, grouped by those that share a belief.

    With very many pages only the belief of one group is in memory at a time.
    """

    def __init__(self, reading: Reading, sources: Sequence[PagesConfig]) -> None:
        self._reading, self._sources = reading, tuple(sources)
        self._nearest: PageBeliefs | None = None

    def near(self, source: PagesConfig) -> PageBeliefs:
        """Return the belief that a source shares with others."""
        group = self._kept_with.get(source.name)
        if group is None:
            return self._by_policy[policy_of(self._reading.config, source)]
        if self._nearest is None or self._nearest.sources != group:
            self._nearest = self._believed(group)
        return self._nearest

    @cached_property
    def _by_policy(self) -> dict[str, PageBeliefs]:
        """The beliefs about all pages, by the policies that keep them."""
        by_policy: dict[str, list[PagesConfig]] = {}
        for source in self._sources:
            name = policy_of(self._reading.config, source)
            by_policy.setdefault(name, []).append(source)
        return {name: self._believed(mine) for name, mine in by_policy.items()}

    def _believed(self, sources: Sequence[PagesConfig]) -> PageBeliefs:
        reading, own = self._reading, {source.name for source in sources}
        groups = [
            [source.name for source in group if source.name in own]
            for group in reading.groups
        ]
        kept = [group for group in groups if group]
        now, memo = reading.now, reading.memo
        return PageBeliefs(reading.config, reading.store, now, sources, kept, memo)

    @cached_property
    def _kept_with(self) -> dict[str, tuple[PagesConfig, ...]]:
        """The group of each source, if there are very many pages."""
        own = {source.name for source in self._sources}
        groups = (PagesConfig.among(group) for group in self._reading.groups)
        paged = [tuple(s for s in group if s.name in own) for group in groups]
        paged = [group for group in paged if group]
        if len(paged) < 2 or self._reading.store.item_count() < MANY:
            return {}
        return {source.name: group for group in paged for source in group}


@dataclass(frozen=True, slots=True)
class PagesState:
    """The state of the pages of a source.

    Attributes:
        source: Its settings.
        reading: The state of the store that was read.
        around: All sources of pages, by those that share a belief.

    """

    source: PagesConfig
    reading: Reading
    around: BeliefGroups

    @property
    def now(self) -> float:
        """When it was read, in days."""
        return self.reading.now

    @property
    def near(self) -> PageBeliefs:
        """The belief about its pages and those that share it."""
        return self.around.near(self.source)

    @property
    def pages(self) -> tuple[View, Ints]:
        """The view of pages, and the rows of this source."""
        view, of = self.near.pages
        return view, of[self.source.name]

    @property
    def sampled(self) -> tuple[View, Ints]:
        """The view of a sample of pages, and its rows of this source."""
        view, of = self.near.sampled
        return view, of[self.source.name]

    @property
    def evidence(self) -> tuple[Evidence, Ints]:
        """The evidence of pages, and the rows of this source."""
        seen, of = self.near.seen
        return seen.evidence, of[self.source.name]


def sampled(rows: Ints) -> Ints:
    """Return the rows, or a random sample of them if there are very many.

    Results of the sample hold for all with an error of about 1 in 500; the bounds are
    wider by about as much.
    """
    if rows.size <= 2 * SAMPLE:
        return rows
    drawn: Ints = np.random.default_rng(0).choice(rows, SAMPLE, replace=False)
    return np.sort(drawn)
