"""Parsers of values on the command line."""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from halflife.core.errors import Refused, UsageError

_UNIT_DAYS = {"s": 1 / 86400, "m": 1 / 1440, "h": 1 / 24, "d": 1.0, "w": 7.0}
_SPAN = re.compile(r"\+?(\d+(?:\.\d+)?)([smhdw]?)")


def name_option(text: str) -> str:
    """Return an error message that names the option, not the key of the settings.

    >>> name_option("its address is not public; name its network in the source's allow")
    'its address is not public; name its network with --allow'
    """
    return text.replace("in the source's allow", "with --allow")


@contextmanager
def naming_options() -> Iterator[None]:
    """Let errors name the option to use, while no settings are written yet."""
    try:
        yield
    except Refused as error:
        raise Refused(name_option(str(error))) from error


def comma_list(text: str) -> list[str]:
    """Return the words of a comma-separated list, each once.

    >>> comma_list("a, b,,a")
    ['a', 'b']
    """
    return list(dict.fromkeys(w for word in text.split(",") if (w := word.strip())))


def positive(option: str, word: str) -> float:
    """Parse a number above zero; raise ``UsageError`` naming the option."""
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise UsageError(f"{option}: {word!r} is not a number above 0")
    return number


def spans(option: str, text: str) -> list[float]:
    """Parse comma-separated spans of time, in days; raise ``UsageError``.

    >>> spans("--horizons", "6h,7d")
    [0.25, 7.0]
    """
    found = [days(option, word) for word in comma_list(text)]
    if not found or min(found) <= 0:
        raise UsageError(f"{option}: name at least one, each longer than 0: 1d,7d")
    return found


def days(option: str, word: str) -> float:
    """Parse a span of time such as ``+6h``, ``30m`` or ``2`` (days), in days.

    >>> days("--at", "+6h"), days("--at", "2")
    (0.25, 2.0)
    """
    found = _SPAN.fullmatch(word.strip())
    if not found:
        raise UsageError(f"{option}: {word!r} is not a time; write +6h, 30m, 2d or 1w")
    return float(found[1]) * _UNIT_DAYS[found[2] or "d"]


def moment(option: str, word: str) -> float:
    """Parse a date, or a date and time, in days since the epoch; UTC by default.

    >>> moment("--from", "2024-01-01"), moment("--from", "2024-01-01T18:00:00+06:00")
    (19723.0, 19723.5)
    """
    try:
        found = datetime.fromisoformat(word.strip())
    except ValueError:
        raise UsageError(
            f"{option}: {word!r} is not a date; write 2024-01-31 or 2024-01-31T18:00"
        ) from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() / 86400


def share(option: str, number: float) -> float:
    """Check that a number is between 0 and 1, exclusive; raise ``UsageError``."""
    if not 0 < number < 1:
        raise UsageError(f"{option}: {number:g} is not between 0 and 1")
    return number


def refuse_set_options(since: str | None, where: str | None, confidence: float) -> None:
    """Raise ``UsageError`` if options of set sources were given for pages."""
    given = {"--from": since, "--where": where}
    given["--confidence"] = None if confidence == 0.95 else str(confidence)
    for option, value in given.items():
        if value is not None:
            raise UsageError(f"{option}: only the forecast of a set source takes this")


def refuse_page_options(target: float | None) -> None:
    """Raise ``UsageError`` if an option of other kinds was given for a set source."""
    if target is not None:
        raise UsageError("--target: not for sets; ask `halflife when NAME --recall Q`")
