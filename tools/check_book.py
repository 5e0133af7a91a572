"""Fail when a page of the built book would make a browser ask another host.

A link that a reader may click is fine; what a browser loads by itself is not: scripts,
styles, pictures, frames, fonts, prefetches. Also fails when a link within the book
leads nowhere.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    "audio": ("src",), "embed": ("src",), "iframe": ("src",), "img": ("src", "srcset"),
    "image": ("href", "xlink:href"), "input": ("src",), "link": ("href",),
    "object": ("data",), "script": ("src",), "source": ("src", "srcset"),
    "track": ("src",), "use": ("href", "xlink:href"), "video": ("src", "poster"),
}  # fmt: skip
STYLED = re.compile(r"""(?i)(?:url\(|@import)\s*['"]?((?:https?:)?//[^'")\s]+)""")


class _Page(HTMLParser):
    """What a page loads, where it links to, and which places it has."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.places: set[str] = {""}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag names."""
        given = {name: value or "" for name, value in attrs}
        self.loaded += [given[name] for name in LOADED.get(tag, ()) if name in given]
        self.loaded += STYLED.findall(given.get("style", ""))
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.linked.append(given["href"])

    handle_startendtag = handle_starttag


def is_elsewhere(address: str) -> bool:
    """Say whether a browser would ask another host.

    >>> [is_elsewhere(one) for one in ("a.css", "data:x", "//b/c.js", "https://b/")]
    [False, False, True, True]
    """
    return bool(urlsplit(address).netloc)


def read(path: Path) -> _Page:
    """Return what a page of the book holds."""
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def complaints(book: Path) -> Iterator[str]:
    """Return what is wrong with a built book, one line each."""
    pages = {path: read(path) for path in sorted(book.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(book)
        yield from (f"{name}: loads {one}" for one in page.loaded if is_elsewhere(one))
        for link in page.linked:
            to, _, place = link.partition("#")
            if urlsplit(link).scheme or is_elsewhere(link):
                continue
            there = (path.parent / unquote(to)).resolve() if to else path
            if not there.exists():
                yield f"{name}: links to {link}, which is not there"
            elif there in pages and unquote(place) not in pages[there].places:
                yield f"{name}: links to {link}, which has no such place"
    for path in sorted(book.rglob("*.css")):
        found = STYLED.findall(path.read_text(encoding="utf-8"))
        yield from (f"{path.relative_to(book)}: loads {one}" for one in found)


def main() -> int:
    """Check the book in a folder; return the exit code."""
    book = Path(sys.argv[1]).resolve()
    found = list(complaints(book))
    pages = len(list(book.rglob("*.html")))
    print(
        "\n".join(found) or f"book: {pages} pages in {book}, nothing from other hosts"
    )
    return bool(found) or not pages


if __name__ == "__main__":
    sys.exit(main())
