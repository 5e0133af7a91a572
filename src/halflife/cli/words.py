"""What people write on the command line, as values."""

import math
import re

from halflife.errors import UsageError

_UNIT_DAYS = {"s": 1 / 86400, "m": 1 / 1440, "h": 1 / 24, "d": 1.0, "w": 7.0}
_SPAN = re.compile(r"\+?(\d+(?:\.\d+)?)([smhdw]?)")


def listed(text: str) -> list[str]:
    """Return the words of a list that commas separate, each once.

    >>> listed("a, b,,a")
    ['a', 'b']
    """
    return list(dict.fromkeys(w for word in text.split(",") if (w := word.strip())))


def positive(option: str, word: str) -> float:
    """Return a number above zero; raise ``UsageError`` naming the option."""
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise UsageError(f"{option}: {word!r} is not a number above 0")
    return number


def days(option: str, word: str) -> float:
    """Return a stretch of time such as ``+6h``, ``30m`` or ``2`` (days) in days.

    >>> days("--at", "+6h"), days("--at", "2")
    (0.25, 2.0)
    """
    found = _SPAN.fullmatch(word.strip())
    if not found:
        raise UsageError(f"{option}: {word!r} is not a time; write +6h, 30m, 2d or 1w")
    return float(found[1]) * _UNIT_DAYS[found[2] or "d"]
