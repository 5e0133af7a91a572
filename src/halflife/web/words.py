"""How numbers, times and remote text are written on a page."""

import math
from datetime import UTC, datetime

from halflife.core.wording import number

_UNITS = ((1.0, "day"), (1 / 24, "h"), (1 / 1440, "min"))


def plain(text: object) -> str:
    r"""Return remote text as one line without control characters.

    Marks that turn the direction of writing are dropped too. A page escapes what is
    left, so that no text is taken for markup.

    >>> plain("a\tb\x1b]0;x\x07 \u202efdp.exe")
    'a b]0;x fdp.exe'
    """
    said = str(text)
    if said.isprintable():
        return said
    return "".join(c if c.isprintable() else " " if c.isspace() else "" for c in said)


def date(days: float | None) -> str | None:
    """Return a moment as ISO 8601 in UTC; None if it is not one.

    >>> date(19722.75), date(math.inf)
    ('2023-12-31T18:00:00Z', None)
    """
    if days is None or not math.isfinite(days):
        return None
    moment = datetime.fromtimestamp(round(days * 86400), tz=UTC)
    return moment.isoformat().replace("+00:00", "Z")


def moment(days: float | None) -> str:
    """Return a moment for people, to the minute.

    >>> moment(19722.75), moment(None)
    ('2023-12-31 18:00 UTC', '-')
    """
    said = date(days)
    return "-" if said is None else f"{said[:10]} {said[11:16]} UTC"


def span(days: float | None) -> str:
    """Return a stretch of time as people say it.

    >>> span(3.0), span(0.25), span(0.0005), span(math.inf), span(1.0)
    ('3 days', '6 h', '43 s', 'never', '24 h')
    """
    if days is None or not math.isfinite(days):
        return "never"
    for size, name in _UNITS:
        if days >= 1.5 * size:
            many = number(days / size, 2)
            return f"{many} {name}{'s' if name == 'day' else ''}"
    return f"{days * 86400:.0f} s"


def ago(days: float | None, now: float) -> str:
    """Return how long ago, or how far ahead, a moment is.

    >>> ago(9.0, 12.0), ago(12.5, 12.0), ago(None, 12.0)
    ('3 days ago', 'in 12 h', 'never')
    """
    if days is None or not math.isfinite(days):
        return "never"
    wait = days - now
    if abs(wait) < 0.5 / 86400:
        return "now"
    return f"in {span(wait)}" if wait > 0 else f"{span(-wait)} ago"


def share(value: float | None) -> str:
    """Return a quality between 0 and 1.

    >>> share(0.91234), share(None), share(math.nan)
    ('0.912', '-', '-')
    """
    return "-" if value is None or not math.isfinite(value) else f"{value:.3f}"


def count(value: float | None) -> str:
    """Return a number of things, short.

    >>> count(12345.0), count(0.01234), count(None), count(7.25)
    ('12,345', '0.012', '-', '7.2')
    """
    if value is None or not math.isfinite(value):
        return "-"
    if float(value).is_integer() or abs(value) >= 100:
        return f"{value:,.0f}"
    return number(value, 2)


def finite(value: object) -> object:
    """Return a value that JSON can hold: what is not a number becomes None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return value
