"""Format numbers, times and remote text for a page."""

import math
import re

from markupsafe import Markup

from halflife.core.wording import (
    # The pages take these from here, too.
    date as date,  # noqa: PLC0414
    number,
    plain as plain,  # noqa: PLC0414
)
from halflife.market.targets import parse

NARROW = 0.99  # from this share on, intervals show tenths of a per cent
_SECOND = 0.5 / 86400  # days
ROUNDING = 1e-6  # the tolerated rounding error of a float
_WHOLE = re.compile(r"(?<![\d.,:-])\d{4,}(?![\d.,:-]*\d)")  # no fraction, no date
_UNITS = ((1.0, "day"), (1 / 24, "h"), (1 / 1440, "min"))


def moment(days: float | None) -> str:
    """Return a moment for people, to the minute.

    >>> moment(19722.75), moment(None)
    ('2023-12-31 18:00 UTC', '-')
    """
    return _minute(date(days))


def _minute(iso: str | None) -> str:
    return "-" if iso is None else f"{iso[:10]} {iso[11:16]} UTC"


def clock(when: float | str | None) -> Markup:
    """Return a moment, in days or ISO 8601, as an element of a page.

    It shows UTC; the script of the pages replaces that by the reader's local time and
    shows UTC on hover.

    >>> print(clock(19722.75))
    <time datetime="2023-12-31T18:00:00Z">2023-12-31 18:00 UTC</time>
    >>> print(clock(None))
    -
    """
    iso = when if isinstance(when, str) else date(when)
    if iso is None:
        return Markup("-")
    return Markup('<time datetime="{}">{}</time>').format(iso, _minute(iso))


def span(days: float | None) -> str:
    """Return a span of time in a readable unit.

    >>> span(3.0), span(0.25), span(0.0005), span(math.inf), span(1.0), span(0.0)
    ('3 days', '6 h', '43 s', 'never', '24 h', '<1 s')
    """
    if days is None or not math.isfinite(days):
        return "never"
    for size, name in _UNITS:
        if days >= 1.5 * size:
            many = number(days / size, 2)
            return f"{many} {name}{'s' if name == 'day' else ''}"
    return f"{days * 86400:.0f} s" if days >= _SECOND else "<1 s"


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
    """Return a share in per cent; less than all of it is never shown as 100 %.

    >>> share(0.91234), share(0.9978), share(1.0), share(0.99996), share(0.0)
    ('91 %', '99.8 %', '100 %', '>99.9 %', '0 %')
    >>> share(0.004), share(1e-9), share(None), share(math.nan)
    ('0.4 %', '<0.1 %', '-', '-')
    """
    if value is None or not math.isfinite(value):
        return "-"
    return f"{_percent(value)} %"


def _percent(value: float) -> str:
    """Return the number before the per cent sign."""
    tenths = round(1000 * value)
    if value < 1 and tenths >= 1000:
        return ">99.9"
    if value > 0 and tenths <= 0:
        return "<0.1"
    if 10 <= tenths < 990 or tenths % 1000 == 0:
        return f"{100 * value:.0f}"
    return f"{tenths / 10:g}"


def interval(low: float, high: float) -> str:
    """Return two shares as the ends of an interval; its ends are rounded outwards.

    >>> interval(0.719, 0.966), interval(0.97, 1.0), interval(0.06, 0.9996)
    ('71\u201397 %', '97\u2013100 %', '6\u2013100 %')
    >>> interval(0.05, 0.05), interval(0.9912, 0.9987)
    ('5 %', '99.1\u201399.9 %')
    """
    digits = 1 if low >= NARROW else 0
    scale = 10**digits
    first = math.floor(100 * scale * low + ROUNDING) / scale
    last = math.ceil(100 * scale * high - ROUNDING) / scale
    ends = f"{first:g}" if first >= last else f"{first:g}\u2013{last:g}"
    return f"{ends} %"


def count(value: float | None) -> str:
    """Return a number in short form.

    >>> count(12345.0), count(0.01234), count(None), count(7.25)
    ('12,345', '0.012', '-', '7.2')
    """
    if value is None or not math.isfinite(value):
        return "-"
    if float(value).is_integer() or abs(value) >= 100:
        return f"{value:,.0f}"
    return number(value, 2)


def gain(value: float) -> str:
    """Return a gain with its sign; a tiny one as a bound.

    >>> gain(0.0241), gain(12.0), gain(0.00035), gain(0.0)
    ('+0.024', '+12', '<0.001', '0')
    """
    if value <= 0:
        return "0"
    return "<0.001" if value < 0.001 else f"+{count(value)}"


def many(value: int, thing: str, things: str = "") -> str:
    """Return a number with its noun.

    >>> many(1, "request"), many(2596, "request"), many(0, "class", "classes")
    ('1 request', '2,596 requests', '0 classes')
    """
    return f"{value:,} {thing if value == 1 else things or f'{thing}s'}"


def separated(text: str) -> str:
    """Return a sentence with thousands separators in its whole numbers.

    >>> separated("7488 objects, 31432 lifetimes, 74.9 a day, 0.00012 of them")
    '7,488 objects, 31,432 lifetimes, 74.9 a day, 0.00012 of them'
    """
    return _WHOLE.sub(lambda found: f"{int(found[0]):,}", text)


def exact(value: float) -> str:
    """Return a share from the settings in per cent, without rounding it.

    >>> exact(0.9), exact(0.925), exact(0.9995)
    ('90 %', '92.5 %', '99.95 %')
    """
    return f"{number(100 * value, 4)} %"


def target(text: str) -> str:
    """Return a target of the settings in readable form.

    >>> target("recall >= 0.9 with confidence 0.95"), target("freshness >= 0.6")
    ('recall \u2265 90 % with 95 % confidence', 'freshness \u2265 60 %')
    >>> target("age p95 <= 6 h")
    'age p95 \u2264 6 h'
    """
    parsed = parse(text)
    sure = parsed.confidence
    if parsed.measure == "age":
        return str(parsed).replace("<=", "\u2264")
    level = f"{parsed.measure} \u2265 {exact(parsed.level)}"
    return f"{level} with {exact(sure)} confidence" if sure else level
