"""Parsers of parameters of the API; a malformed one is answered with status 400."""

from datetime import UTC, datetime

from starlette.exceptions import HTTPException

from halflife.engine.versions import VersionChoice

LONGEST = 15  # digits of a number
MANY = 100  # moments of one forecast
FARTHEST = 3650.0  # days ahead


def is_whole(word: str) -> bool:
    """Return whether a word is a whole number of at most ``LONGEST`` digits.

    >>> is_whole("12"), is_whole("-1"), is_whole("²"), is_whole("9" * 99)
    (True, False, False, False)
    """
    return word.isascii() and word.isdecimal() and len(word) <= LONGEST


def whole(name: str, word: str, least: int, most: int) -> int:
    """Parse a whole number within bounds."""
    if not is_whole(word) or not least <= int(word) <= most:
        message = f"{name}: give a whole number from {least} to {most}"
        raise HTTPException(400, message)
    return int(word)


def moment(name: str, word: str) -> float:
    """Parse a time in ISO 8601, in days since the epoch; UTC by default.

    >>> moment("as_of", "2024-01-01"), moment("as_of", "2024-01-01T18:00:00 06:00")
    (19723.0, 19723.5)
    """
    day, then, time = word.strip().partition("T")
    try:  # in an address a plus sign stands for a space
        found = datetime.fromisoformat(day + then + time.replace(" ", "+"))
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        return found.timestamp() / 86400
    except (ValueError, OverflowError):
        message = f"{name}: give a time such as 2024-01-31 or 2024-01-31T18:00:00Z"
        raise HTTPException(400, message) from None


def version(name: str, word: str) -> VersionChoice:
    """Parse a version: so many back, or the one of a time."""
    if is_whole(word):
        return VersionChoice(int(word))
    return VersionChoice(at=moment(name, word))


def days(name: str, text: str) -> list[float]:
    """Parse a comma-separated list of days from now; return them ascending.

    >>> days("days", "7,0,0.5")
    [0.0, 0.5, 7.0]
    """
    try:
        found = sorted({float(word) for word in text.split(",")})
    except ValueError:
        found = []
    if not 0 < len(found) <= MANY or not all(0 <= day <= FARTHEST for day in found):
        limits = f"give up to {MANY} numbers from 0 to {FARTHEST:g}, as in 0,1,7"
        raise HTTPException(400, f"{name}: {limits}")
    return found
