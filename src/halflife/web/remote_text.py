"""Sanitise remote text for a page.

A page escapes it, so it is never markup. This module shows deceptive characters by
their numbers: those that change the writing direction, are invisible, or control a
terminal.
"""

import json
import unicodedata
from urllib.parse import urlsplit

LONGEST = 240  # characters of a value in a list
_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_SPACES = {"\t": " ", "\n": " ", "\r": " "}


def reveal(text: object) -> str:
    r"""Return text in which invisible characters are written by their numbers.

    >>> reveal("a\tb\x1b]0;x \u202efdp.exe")
    'a b⟨U+001B⟩]0;x ⟨U+202E⟩fdp.exe'
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _named(c) for c in text)


def _named(character: str) -> str:
    if character in _SPACES:
        return _SPACES[character]
    if unicodedata.category(character) in _HIDDEN:
        return f"⟨U+{ord(character):04X}⟩"
    return " " if character.isspace() else f"⟨U+{ord(character):04X}⟩"


def shorten(text: str, most: int = LONGEST) -> str:
    """Return text cut to a length for a list.

    >>> shorten("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def field_text(value: object) -> str:
    """Return a value of a field as text.

    >>> [field_text(value) for value in (None, True, 4200.0, {"a": [1]})]
    ['', 'true', '4200', '{"a": [1]}']
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return reveal(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return reveal(json.dumps(value, ensure_ascii=False, default=str))


def link(address: object) -> str:
    """Return an address that is safe as a link; empty if it is no web address.

    >>> link("https://a.example/x?y=1"), link("javascript:alert(1)"), link("17")
    ('https://a.example/x?y=1', '', '')
    """
    text = str(address)
    if len(text) > 4096 or not text.isprintable() or any(c.isspace() for c in text):
        return ""
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    is_web = parts.scheme in {"http", "https"} and parts.hostname
    return text if is_web and "@" not in parts.netloc else ""
