"""What is believed of pages at one moment, read once for all sources of pages.

Pages tell of one another, so all of them are believed together; but of very many, only
those that are kept together are, one group at a time.
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
SAMPLE = 65_536  # pages that stand for all, where there are many more


class Believed:
    """What is believed of the pages of some sources.

    Args:
        config: The settings.
        store: What is known.
        now: The time, in days.
        sources: The sources; all are kept by one policy.
        groups: Their names, by those that get their requests together; all do if there
            are none.
        memo: What was worked out before.

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
        """What is known of all pages, and the rows of each source."""
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
        """What is believed of all pages, and the rows of each source."""
        seen, rows = self.seen
        return seen.view, rows

    @cached_property
    def sampled(self) -> tuple[View, dict[str, Ints]]:
        """The same of pages that stand for all: of very many, some are drawn."""
        seen, of = self.seen
        some = {name: sampled(rows) for name, rows in of.items()}
        if all(some[name].size == rows.size for name, rows in of.items()):
            return self.pages
        rows = np.unique(np.concatenate(list(some.values())))
        return seen.some(rows), {n: np.searchsorted(rows, s) for n, s in some.items()}

    @cached_property
    def buys(self) -> Floats:
        """What the next requests at each page buy, in weighted quality-days.

        That is what the policy of these pages would fetch next, group by group; what it
        would not fetch now offers nothing.
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
            mine = np.zeros(len(view), dtype=np.bool_)
            mine[np.concatenate([of[name] for name in group])] = True
            some = replace(view, looked=view.looked | ~mine)
            buys += np.where(mine, offered(seen.policy, some, value, self._block), 0.0)
        return buys

    @property
    def _block(self) -> int:
        """The requests that a turn grants at most: what comes in within an hour.

        What targets and intervals ask for may be more.
        """
        budget = self._config.budget
        if any(source.targets or source.latest < inf for source in self.sources):
            return budget.requests
        return max(math.ceil(budget.pace / HOURS), 1)


class Neighbourhood:
    """All sources of pages, by those whose pages are believed together.

    One group of very many pages is believed at a time: what was worked out for another
    is given up.
    """

    def __init__(self, reading: Reading, sources: Sequence[PagesConfig]) -> None:
        self._reading, self._sources = reading, tuple(sources)
        self._nearest: Believed | None = None

    def near(self, source: PagesConfig) -> Believed:
        """Return what is believed of the pages that are believed with a source's."""
        group = self._kept_with.get(source.name)
        if group is None:
            return self._by_policy[policy_of(self._reading.config, source)]
        if self._nearest is None or self._nearest.sources != group:
            self._nearest = self._believed(group)
        return self._nearest

    @cached_property
    def _by_policy(self) -> dict[str, Believed]:
        """All pages, by the policies that keep them."""
        found: dict[str, list[PagesConfig]] = {}
        for source in self._sources:
            name = policy_of(self._reading.config, source)
            found.setdefault(name, []).append(source)
        return {name: self._believed(mine) for name, mine in found.items()}

    def _believed(self, sources: Sequence[PagesConfig]) -> Believed:
        reading, mine = self._reading, {source.name for source in sources}
        groups = [
            [source.name for source in group if source.name in mine]
            for group in reading.groups
        ]
        kept = [group for group in groups if group]
        now, memo = reading.now, reading.memo
        return Believed(reading.config, reading.store, now, sources, kept, memo)

    @cached_property
    def _kept_with(self) -> dict[str, tuple[PagesConfig, ...]]:
        """The groups of sources with pages, where these are very many."""
        mine = {source.name for source in self._sources}
        groups = (PagesConfig.among(group) for group in self._reading.groups)
        paged = [tuple(s for s in group if s.name in mine) for group in groups]
        paged = [group for group in paged if group]
        if len(paged) < 2 or self._reading.store.item_count() < MANY:
            return {}
        return {source.name: group for group in paged for source in group}


@dataclass(frozen=True, slots=True)
class PagesState:
    """What is known of the pages of a source.

    Attributes:
        source: Its settings.
        reading: Where it was read from, and when.
        around: All pages, by those that are believed together.

    """

    source: PagesConfig
    reading: Reading
    around: Neighbourhood

    @property
    def now(self) -> float:
        """When it was read, in days."""
        return self.reading.now

    @property
    def near(self) -> Believed:
        """What is believed of its pages and those that are believed with them."""
        return self.around.near(self.source)

    @property
    def pages(self) -> tuple[View, Ints]:
        """What is believed of pages, and the rows of this source's."""
        view, of = self.near.pages
        return view, of[self.source.name]

    @property
    def sampled(self) -> tuple[View, Ints]:
        """The same of pages that stand for all."""
        view, of = self.near.sampled
        return view, of[self.source.name]

    @property
    def evidence(self) -> tuple[Evidence, Ints]:
        """What all looks at pages add up to, and the rows of this source's."""
        seen, of = self.near.seen
        return seen.evidence, of[self.source.name]


def sampled(rows: Ints) -> Ints:
    """Return rows that stand for all: of very many, some drawn by chance.

    What is said of these holds for all but for an error of 1 in 500 or so; as there
    are fewer of them, the bounds are wider by about as much.
    """
    if rows.size <= 2 * SAMPLE:
        return rows
    drawn: Ints = np.random.default_rng(0).choice(rows, SAMPLE, replace=False)
    return np.sort(drawn)
