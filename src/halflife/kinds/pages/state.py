"""What is believed of pages at one moment, read once for all sources of pages.

Pages tell of one another, so all of them are believed together; but of very many, only
those that are kept together are, one group at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halflife.allocation import index
from halflife.config import Config
from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.view import View
from halflife.engine import bootstrap
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.pages.source_rows import rows_of
from halflife.kinds.protocol import Reading
from halflife.models.quality import parts
from halflife.policies.champion import PATIENCE
from halflife.policies.shortlist import MANY
from halflife.stores import Store

SAMPLE = 65_536  # pages that stand for all, where there are many more


class Believed:
    """What is believed of the pages of some sources.

    Args:
        config: The settings.
        store: What is known.
        now: The time, in days.
        sources: The sources.

    """

    def __init__(
        self, config: Config, store: Store, now: float, sources: Sequence[PagesConfig]
    ) -> None:
        self._config, self._store, self._now = config, store, now
        self.sources = tuple(sources)

    @cached_property
    def seen(self) -> tuple[bootstrap.Outlook, dict[str, Ints]]:
        """What is known of all pages, and the rows of each source."""
        sources = self.sources
        seen = bootstrap.outlook(self._config, self._store, sources, self._now)
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
    def gain(self) -> Floats:
        """What a look at each page buys now, in days of freshness.

        With a little patience, as the champion has it: no page is left for ever.
        """
        view, _ = self.pages
        gain = np.empty(len(view))
        for at, some in parts(view):
            late = index(some, view.exposure[at], "harmonic")
            gain[at] = index(some, view.exposure[at], "freshness") + PATIENCE * late
        return gain


class Neighbourhood:
    """All sources of pages, by those whose pages are believed together.

    One group of very many pages is believed at a time: what was worked out for another
    is given up.
    """

    def __init__(self, reading: Reading, sources: Sequence[PagesConfig]) -> None:
        self._reading = reading
        self.everything = self._believed(sources)
        self._nearest: Believed | None = None

    def near(self, source: PagesConfig) -> Believed:
        """Return what is believed of the pages that are believed with a source's."""
        group = self._kept_with.get(source.name)
        if group is None:
            return self.everything
        if self._nearest is None or self._nearest.sources != group:
            self._nearest = self._believed(group)
        return self._nearest

    def _believed(self, sources: Sequence[PagesConfig]) -> Believed:
        reading = self._reading
        return Believed(reading.config, reading.store, reading.now, sources)

    @cached_property
    def _kept_with(self) -> dict[str, tuple[PagesConfig, ...]]:
        """The groups of sources with pages, where these are very many."""
        mine = {source.name for source in self.everything.sources}
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
