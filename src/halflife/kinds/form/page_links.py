"""The addresses of the pages of a query, for forms that link page to page."""

from collections.abc import Hashable

from yarl import URL

from halflife.core.errors import SourceError, UsageError
from halflife.net.addresses import check_url, host_of, parse_reference


class PageLinks:
    """The addresses of the pages of queries, learned from links in answers.

    A walk is the key of a sequence of pages: a query and the order of its results.
    Addresses from an earlier session (``bookmark``) may have expired.
    """

    def __init__(self) -> None:
        self._walks: dict[Hashable, dict[int, URL | SourceError]] = {}
        self._old: set[tuple[Hashable, int]] = set()

    def bookmark(self, walk: Hashable, page: int, url: URL) -> None:
        """Add the address of a page from an earlier session."""
        self._walks.setdefault(walk, {})[page] = url
        self._old.add((walk, page))

    def is_old(self, walk: Hashable, page: int) -> bool:
        """Say whether the address of a page is from an earlier session."""
        return (walk, page) in self._old

    def forget(self, walk: Hashable) -> None:
        """Forget the pages of a walk."""
        self._walks.pop(walk, None)
        self._old = {old for old in self._old if old[0] != walk}

    def address(self, walk: Hashable, page: int) -> URL | None:
        """Return the address of a page; None if it is unknown.

        Raise ``SourceError`` if the link of the page before it is not usable.
        """
        entry = self._walks.get(walk, {}).get(page)
        if isinstance(entry, SourceError):
            raise entry
        return entry

    def nearest(self, walk: Hashable, page: int) -> int:
        """Return the last page up to this one with a known address; 0 if none."""
        pages = self._walks.get(walk, {})
        return max((number for number in pages if number <= page), default=0)

    def note(self, walk: Hashable, page: int, url: URL, link: str) -> bool:
        """Note the link of a page to the next one; say whether it leads on.

        A link to a page that was read before leads nowhere.
        """
        if not page:
            self._walks[walk] = {}
        pages = self._walks.setdefault(walk, {})
        pages[page] = url
        self._old.discard((walk, page))
        for number in [number for number in pages if number > page]:
            del pages[number]
        if not link:
            return False
        try:
            target = next_address(url, link)
        except SourceError as error:
            pages[page + 1] = error
            return True
        if target in pages.values():
            return False
        pages[page + 1] = target
        return True


def next_address(url: URL, link: str) -> URL:
    """Return the address that a page links to; it must be on the same host."""
    try:
        target = check_url(url.join(parse_reference(link)))
    except UsageError:
        raise SourceError(f"{url.raw_host}: its next page has no address") from None
    if host_of(str(target)) != host_of(str(url)):
        raise SourceError(f"{url.raw_host}: its next page lies on another host")
    return target
