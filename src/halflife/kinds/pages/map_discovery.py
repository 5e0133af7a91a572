"""Limits on the requests for pages that maps and links have discovered.

Pages named in the settings are fetched as soon as the budget's window has room.
Discovered pages are not: the author of a sitemap could otherwise use the whole window
and leave nothing for other sources. In advance of its income, each source may spend an
equal part of a quarter of the window on discovered pages. The rest is paid from the
income, of which the policy gives discovered pages a share (``discovery``).
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from halflife.config import Config, SourceConfig
from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.pages.source_rows import rows_of
from halflife.stores import Store
from halflife.stores.notes.followed_maps import FOLLOWED_MAPS

if TYPE_CHECKING:
    from halflife.kinds.pages.map_limits import MapLimits

AHEAD = 0.25  # of the window, for all sources; as for the first fetch of other kinds


def named(sources: Iterable[SourceConfig]) -> set[str]:
    """Return the keys of the pages and maps in the settings."""
    keys: set[str] = set()
    for source in PagesConfig.among(sources):
        keys |= _keys(source.addresses)
    return keys


@lru_cache(maxsize=64)  # a service calls it with many pages at each turn
def _keys(urls: tuple[str, ...]) -> frozenset[str]:
    from halflife.net.addresses import canonical  # noqa: PLC0415  (slow)

    return frozenset(map(canonical, urls))


def found_by(
    sources: Sequence[SourceConfig], source_of: Callable[[str], str]
) -> Callable[[str], str]:
    """Return a function from a key to the source that discovered it; empty if named."""
    named_keys = named(sources)
    return lambda key: "" if key in named_keys else source_of(key)


def first_requests(
    config: Config,
    store: Store,
    sources: Sequence[SourceConfig],
    evidence: Evidence,
    now: float,
) -> int:
    """Return the requests for pages never tried that need not wait for income.

    One more request for the robots.txt of each host is included. A page that failed
    waits for income: forbidden pages would otherwise be paid in advance for ever.
    ``evidence`` is that of the sources.
    """
    untried = (evidence.looks == 0) & (evidence.failures == 0)
    if not untried.any():
        return 0
    given = np.zeros(len(evidence), dtype=np.bool_)
    rows = (evidence.row(key) for key in named(sources))
    given[[row for row in rows if row is not None]] = True
    chosen = np.flatnonzero(untried & given).tolist()
    mine = rows_of(store, tuple(s.name for s in sources), evidence)
    for rows_found in mine.values():
        found = rows_found[~given[rows_found]]
        waiting = found[untried[found]]
        room = _room(config, evidence.tried_at[found], now)
        chosen += waiting[:room].tolist()
    hosts = np.unique(evidence.group[chosen]).size
    return len(chosen) + hosts


class DiscoveryAllowance:
    """The discovered pages that each source may still fetch in this window.

    Args:
        config: The settings.
        store: The store.
        sources: The sources of pages.
        clock: The time in days.

    """

    def __init__(
        self,
        config: Config,
        store: Store,
        sources: Sequence[PagesConfig],
        clock: Callable[[], float],
    ) -> None:
        self._config, self._store, self._clock = config, store, clock
        self._names = tuple(source.name for source in sources)
        self._named = named(sources)
        self._evidence = store.evidence(self._names)
        self._rows: dict[str, Ints] = {}
        self._counted = -1

    def __call__(self) -> dict[str, int]:
        """Return how many discovered pages of each source may be fetched now.

        A single source has no such limit.
        """
        if len(self._config.source) < 2:
            return {}
        evidence, now = self._evidence, self._clock()
        if len(evidence) != self._counted:
            self._counted = len(evidence)
            self._rows = self._found()
        tried = evidence.tried_at
        return {
            name: _room(self._config, tried[rows], now)
            for name, rows in self._rows.items()
        }

    def _found(self) -> dict[str, Ints]:
        """Return the rows of the pages discovered by each source."""
        evidence = self._evidence
        given = np.zeros(len(evidence), dtype=np.bool_)
        rows = (evidence.row(key) for key in self._named)
        given[[row for row in rows if row is not None]] = True
        mine = rows_of(self._store, self._names, evidence)
        return {name: found[~given[found]] for name, found in mine.items()}


def equal_part(config: Config) -> int:
    """Return the requests that a source may spend on discovered pages in advance.

    An equal part of a quarter of the budget's window: requests spent in advance are
    missing later, for all sources. A single source may spend the whole window.
    """
    many = len(config.source)
    share = AHEAD / many if many > 1 else 1.0
    return max(int(config.budget.requests * share), 1)


def _room(config: Config, tried_at: Floats, now: float) -> int:
    """Return how many more of these pages the source's part of the window allows."""
    allowance = equal_part(config)
    recent = int(np.count_nonzero(tried_at > now - config.budget.days))
    return max(allowance - recent, 0)


def limits(store: Store, source: PagesConfig, evidence: Evidence) -> "MapLimits":
    """Return the limits on the pages that a source's maps may make known."""
    from halflife.kinds.pages.map_limits import MapLimits  # noqa: PLC0415  (slow)

    return MapLimits(
        named([source]),
        lambda key: evidence.row(key) is not None,
        lambda: store.item_count([source.name]),
        most=source.most_pages,
        followed=FOLLOWED_MAPS.load(store, source.name) or (),
        keep=lambda marks: FOLLOWED_MAPS.save(store, tuple(marks), source.name),
    )


def full(store: Store, sources: Iterable[SourceConfig]) -> list[str]:
    """Return a line for each source whose maps have reached the limit of pages."""
    return [
        f"{source.name}: the limit of {source.most_pages} pages is reached: "
        "set most higher for more"
        for source in PagesConfig.among(sources)
        if not source.crawls and store.item_count([source.name]) >= source.most_pages
    ]
