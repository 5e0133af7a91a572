"""Numbers in words for readers."""

import math
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def day(at: float) -> str:
    """Return a moment, in days since the epoch, as a date; with the hour if not 0.

    >>> day(19723.0), day(19723.5)
    ('2024-01-01', '2024-01-01 12:00')
    """
    moment = _EPOCH + timedelta(seconds=round(at * 86400))
    whole = moment.hour == moment.minute == 0
    return moment.strftime("%Y-%m-%d" if whole else "%Y-%m-%d %H:%M")


def share(value: float) -> str:
    """Return a share in percent.

    >>> share(0.914), share(0.9991), share(float("nan"))
    ('91 %', '99.9 %', 'unknown')
    """
    if not math.isfinite(value):
        return "unknown"
    digits = 1 if 0 < value < 0.01 or 0.99 < value < 1 else 0
    return f"{100 * value:.{digits}f} %"


def stretch(days: float) -> str:
    """Return a duration in words.

    >>> stretch(1.0), stretch(53.2), stretch(0.25), stretch(0.01)
    ('1 day', '53 days', '6 hours', '14 minutes')
    """
    if not math.isfinite(days):
        return "more than was seen"
    for size, name in ((1.0, "day"), (1 / 24, "hour"), (1 / 1440, "minute")):
        if days >= size * (1 - 1e-9) or name == "minute":
            count = days / size
            number = f"{count:.2g}" if count < 10 else f"{count:.0f}"
            return f"{number} {name}" + ("" if number == "1" else "s")
    raise AssertionError(days)


def many(value: float) -> str:
    """Return a count with spaces between thousands.

    >>> many(50000)
    '50 000'
    """
    return f"{round(value):,}".replace(",", " ")


def rate_per(rate: float) -> str:
    """Return a rate per day as a share of objects that go.

    >>> rate_per(0.0123), rate_per(7.9)
    ('1.2 % a day', '33 % an hour')
    """
    return (
        f"{100 * rate:.2g} % a day" if rate < 2 else f"{100 * rate / 24:.2g} % an hour"
    )
