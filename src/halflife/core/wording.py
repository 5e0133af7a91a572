"""The text of numbers, counts, times and remote text, the same everywhere."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime

LEAST = 1e-6  # smaller values are shown as "<0.000001"
LONGEST_REASON = 200  # characters of a library's error text


def number(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits, never in scientific notation.

    >>> number(578.4), number(0.01234, 2), number(1234567.8), number(2.0)
    ('578', '0.012', '1234568', '2')
    >>> number(3e-9), number(-3e-9), number(math.inf), number(0.0)
    ('<0.000001', '>-0.000001', '-', '0')
    """
    if not math.isfinite(value):
        return "-"
    size = abs(value)
    if size == 0:
        return "0"
    if size < LEAST:
        return "<0.000001" if value > 0 else ">-0.000001"
    places = max(digits - 1 - math.floor(math.log10(size)), 0)
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text


def count(value: float, thing: str, things: str = "") -> str:
    """Return a count with its noun in the singular or plural.

    >>> count(1, "request"), count(7, "request"), count(0, "query", "queries")
    ('1 request', '7 requests', '0 queries')
    """
    text = number(value)
    return f"{text} {thing if text == '1' else things or f'{thing}s'}"


def span(days: float) -> str:
    """Return a duration as readable text.

    >>> span(3.0), span(0.25), span(0.001), span(0.0001), span(math.inf)
    ('3 days', '6 h', '1.4 min', '9 s', 'never')
    >>> span(99.7), span(1.0), span(365.0)
    ('100 days', '24 h', '365 days')
    """
    if not math.isfinite(days):
        return "never"
    for unit, name in ((1.0, "days"), (1 / 24, "h"), (1 / 1440, "min")):
        if days >= 1.5 * unit or (name == "min" and days >= unit):
            return f"{number(days / unit, 2)} {name}"
    return f"{days * 86400:.0f} s"


def date(days: float | None) -> str | None:
    """Return a time in days since the epoch as ISO 8601 in UTC; None if it is none.

    >>> date(19722.75), date(math.inf)
    ('2023-12-31T18:00:00Z', None)
    """
    if days is None or not math.isfinite(days):
        return None
    moment = datetime.fromtimestamp(round(days * 86400), tz=UTC)
    return moment.isoformat().replace("+00:00", "Z")


def plain(text: object) -> str:
    r"""Return remote text as one line that a terminal cannot take for commands.

    Control characters, escape sequences, marks of writing direction and other
    invisible characters are dropped; line breaks and tabs become spaces. A page
    escapes the rest, so that no text is taken for markup.

    >>> plain("a\tb\x1b]0;title\x07 \u202efdp.exe")
    'a b]0;title fdp.exe'
    """
    line = str(text)
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else " " if c.isspace() else "" for c in line)


def one_line(error: object) -> str:
    r"""Return the text of an error in one short line.

    >>> one_line(ValueError("not\n  a number"))
    'not a number'
    """
    return " ".join(str(error).split())[:LONGEST_REASON]


def finite(value: object) -> object:
    """Return a value that JSON can represent: a non-finite number becomes None.

    >>> finite({"a": [1.5, math.nan], 2: (math.inf,)})
    {'a': [1.5, None], '2': [None]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value
