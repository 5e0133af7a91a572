"""Limits on the pages and maps that the maps of one source make known.

Sitemaps, sitemap indexes and feeds are untrusted, and some never end: an index that
names another index, or a map with new addresses at each fetch. So the pages that maps
make known are limited for each source, and so are the maps that are not named in the
settings. Exceeding a limit is not an error: the map is kept like any page, and it still
gives hints about known pages.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from halflife.core.observation import Observation
from halflife.readers.text import fingerprint

MAPS = 500  # maps of a source, found in other maps, that may make pages known
INDEX = "sitemapindex"


class MapLimits:
    """Chooses which pages listed by a source's maps become known.

    Args:
        named: The addresses in the settings; a map among them is trusted more.
        is_known: Returns whether an address is known already.
        count: Returns the number of known pages of the source.
        most: Most pages that may be known.
        followed: Marks of the maps found in other maps so far.
        keep: Stores these marks.

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
        self._page_count = -1  # known pages; -1: not counted yet

    def admit(
        self, key: str, kind: str, hints: Sequence[Observation]
    ) -> list[Observation]:
        """Return the admitted hints of a map.

        An index that is not in the settings may not name others: the sitemap protocol
        has no index of indexes, and a chain of them may be endless.
        """
        known = [hint for hint in hints if self._is_known(hint.key)]
        if len(known) == len(hints):
            return known
        if key not in self._named and (kind == INDEX or not self._follow(key)):
            return known
        if self._page_count < 0:
            self._page_count = self._count()
        room = max(self._most - self._page_count, 0)
        new = [hint for hint in hints if not self._is_known(hint.key)][:room]
        self._page_count += len(new)
        return [*known, *new]

    def _follow(self, key: str) -> bool:
        """Return whether a map found in another map may make pages known."""
        mark = fingerprint(key.encode())[:16]
        if mark not in self._followed:
            if len(self._followed) >= MAPS:
                return False
            self._followed[mark] = None
            self._keep(tuple(self._followed))
        return True
