"""Discovery: what pages that maps and links have found may take of the budget.

Pages that the settings name are fetched as soon as the budget's window has room. Pages
that were found are not: whoever writes a sitemap could else spend the whole window, and
leave nothing for other sources. Before its requests have come in, each source may spend
an equal part of a quarter of the window on pages it has found. The rest comes out of
the income, of which the policy gives found pages their share (``discovery``).
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

AHEAD = 0.25  # of the window, for all; as for the first look at a search or a form


def named(sources: Iterable[SourceConfig]) -> set[str]:
    """Return the addresses of pages and maps that the settings name, as keys."""
    keys: set[str] = set()
    for source in PagesConfig.among(sources):
        keys |= _keys(source.addresses)
    return keys


@lru_cache(maxsize=64)  # settings of many pages, which a service asks for at each turn
def _keys(urls: tuple[str, ...]) -> frozenset[str]:
    from halflife.net.addresses import canonical  # noqa: PLC0415  (slow)

    return frozenset(map(canonical, urls))


def found_by(
    sources: Sequence[SourceConfig], source_of: Callable[[str], str]
) -> Callable[[str], str]:
    """Return what names the source that has found a page; empty if nobody had to."""
    known = named(sources)
    return lambda key: "" if key in known else source_of(key)


def first_requests(
    config: Config,
    store: Store,
    sources: Sequence[SourceConfig],
    evidence: Evidence,
    now: float,
) -> int:
    """Return the requests for pages never tried that need not wait for their income.

    With one request more for the robots.txt of each of their hosts. A page that was
    tried in vain waits its turn, or pages that are forbidden would keep the door open.
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


class Parts:
    """What is left of each source's equal part of the window, for pages it has found.

    Args:
        config: The settings.
        store: What is known.
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
        """Return how many found pages of each source may be fetched now.

        A source that has the budget to itself has no such limit.
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
        """Return the rows of pages that each source has found."""
        evidence = self._evidence
        given = np.zeros(len(evidence), dtype=np.bool_)
        rows = (evidence.row(key) for key in self._named)
        given[[row for row in rows if row is not None]] = True
        mine = rows_of(self._store, self._names, evidence)
        return {name: found[~given[found]] for name, found in mine.items()}


def equal_part(config: Config) -> int:
    """Return what a source may spend on pages it has found before that has come in.

    That is an equal part of a quarter of the budget's window: what is spent ahead is
    missing later, for all sources. Alone, a source may spend the whole window.
    """
    many = len(config.source)
    share = AHEAD / many if many > 1 else 1.0
    return max(int(config.budget.requests * share), 1)


def _room(config: Config, tried_at: Floats, now: float) -> int:
    """Return how many more of these pages a source's part of the window pays for."""
    part = equal_part(config)
    lately = int(np.count_nonzero(tried_at > now - config.budget.days))
    return max(part - lately, 0)


def limits(store: Store, source: PagesConfig, evidence: Evidence) -> "MapLimits":
    """Return which of the pages that a source's maps name may become known."""
    from halflife.kinds.pages.map_limits import MapLimits  # noqa: PLC0415  (slow)

    return MapLimits(
        named([source]),
        lambda key: evidence.row(key) is not None,
        lambda: known(store, source.name),
        most=source.most_pages,
        followed=FOLLOWED_MAPS.load(store, source.name) or (),
        keep=lambda marks: FOLLOWED_MAPS.save(store, tuple(marks), source.name),
    )


def known(store: Store, source: str) -> int:
    """Return how many items of a source are known."""
    return store.item_count([source])


def full(store: Store, sources: Iterable[SourceConfig]) -> list[str]:
    """Return a line for each source whose maps may make no more pages known."""
    return [
        f"{source.name}: the limit of {source.most_pages} pages is reached: "
        "set most higher for more"
        for source in PagesConfig.among(sources)
        if not source.crawls and known(store, source.name) >= source.most_pages
    ]
