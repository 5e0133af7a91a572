"""Detect pages that show nothing without JavaScript."""

from itertools import islice

from halflife.readers.text import MARKUP, is_html, to_text

LARGEST = 1 << 18  # bytes; a larger page is taken to have text
LEAST = 40  # characters of text without which a page shows nothing
MOST_TAGS = 20_000  # after which a page is taken to have text
_TITLES = ("</title", "</TITLE", "</Title")


def needs_script(content_type: str, body: bytes) -> bool:
    """Say whether a page has scripts, and hardly any text without them.

    >>> needs_script("text/html", b"<title>A</title><div id=x></div><script src=a>")
    True
    >>> needs_script("text/html", b"<p>" + b"some words " * 10 + b"<script src=a>")
    False
    """
    if len(body) > LARGEST or b"<script" not in body.lower():
        return False
    return is_html(content_type, body) and not _has_text(to_text(content_type, body))


def _has_text(page: str) -> bool:
    """Say whether a page shows some text besides its title; stop when it does."""
    at = seen = 0
    for tag in islice(MARKUP.finditer(page), MOST_TAGS):
        if not page.startswith(_TITLES, tag.start()):
            seen += len(page[at : tag.start()].strip())
        at = tag.end()
        if seen >= LEAST:
            return True
    return seen + len(page[at : at + LARGEST].strip()) >= LEAST
