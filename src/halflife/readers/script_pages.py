"""Pages that show nothing without JavaScript."""

import re

from halflife.readers.text import is_html, to_text, visible

LARGEST = 1 << 18  # bytes that are looked at; a page with more has text
LEAST = 40  # characters of text without which a page shows nothing
_TITLE = re.compile(r"<title\b[^>]*+>[^<]*+</title\s*+>", re.IGNORECASE)


def needs_script(content_type: str, body: bytes) -> bool:
    """Say whether a page has scripts, and without them hardly any text.

    >>> needs_script("text/html", b"<title>A</title><div id=x></div><script src=a>")
    True
    >>> needs_script("text/html", b"<p>" + b"some words " * 10 + b"<script src=a>")
    False
    """
    if len(body) > LARGEST or b"<script" not in body.lower():
        return False
    if not is_html(content_type, body):
        return False
    return len(visible(_TITLE.sub("", to_text(content_type, body)))) < LEAST
