"""Limits on what maps lead to: how many pages, and how many maps, of one source.

A sitemap, a sitemap index or a feed is written by somebody else, and some never end: an
index that names another index, a map with new addresses at each visit. So the pages
that maps may make known are limited for each source, and so are the maps that were not
named in the settings. What is beyond a limit is not an error: the map is kept like any
page, and it still tells of the pages that are known.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from halflife.core.observation import Observation
from halflife.readers.text import fingerprint

MAPS = 500  # maps of a source that other maps have led to, and that may name pages
INDEX = "sitemapindex"


class MapLimits:
    """Chooses which of the pages that a source's maps name become known.

    Args:
        named: The addresses that the settings name; a map among them is trusted more.
        is_known: Says whether an address is known already.
        count: Returns how many pages of the source are known.
        most: Pages that may be known.
        followed: Marks of the maps that others have led to so far.
        keep: Keeps these marks.

    """

    def __init__(
        self,
        named: Collection[str],
        is_known: Callable[[str], bool],
        count: Callable[[], int],
        *,
        most: int,
        followed: Iterable[str] = (),
        keep: Callable[[Sequence[str]], None] = lambda _: None,
    ) -> None:
        self._named, self._is_known, self._count = named, is_known, count
        self._most, self._keep = most, keep
        self._followed = dict.fromkeys(followed)
        self._found = -1  # pages known; not counted yet

    def admit(
        self, key: str, kind: str, hints: Sequence[Observation]
    ) -> list[Observation]:
        """Return the hints of a map that may count, the others left out.

        An index that the settings do not name may not name others: the sitemap
        protocol has no index of indexes, and a chain of them has no end.
        """
        known = [hint for hint in hints if self._is_known(hint.key)]
        if len(known) == len(hints):
            return known
        if key not in self._named and (kind == INDEX or not self._follow(key)):
            return known
        if self._found < 0:
            self._found = self._count()
        room = max(self._most - self._found, 0)
        new = [hint for hint in hints if not self._is_known(hint.key)][:room]
        self._found += len(new)
        return [*known, *new]

    def _follow(self, key: str) -> bool:
        """Say whether a map that others have led to may name pages."""
        mark = fingerprint(key.encode())[:16]
        if mark not in self._followed:
            if len(self._followed) >= MAPS:
                return False
            self._followed[mark] = None
            self._keep(tuple(self._followed))
        return True
