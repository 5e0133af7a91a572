"""Times in a text: clocks, dates and ages ("2 hours ago"), and whether they advance.

A page that shows the current time, or the age of a comment, has another text at each
fetch although it was not edited. Such a time differs from one that an author wrote: it
advances as much as our own clock, and a date is today's.
"""

import re
from datetime import date
from typing import NamedTuple

TIME = "\x02"  # stands for any time in a pattern
_SLOW = 120.0 / 86400.0  # days by which a clock may differ
_NEAR = 1.5  # days from the middle of a date to now, whatever the time zone
_MONTHS = (
    "jan(?:uary|uar|vier)?|enero", "feb(?:ruary|ruar|rero)?|f[eé]vr(?:ier)?",
    "mar(?:ch|s|zo)?|märz", "apr(?:il)?|avril|abril", "may|mai|mayo",
    "jun[ei]?|juin|junio", "jul[yi]?|juillet|julio", "aug(?:ust)?|ao[uû]t|agosto",
    "sept?(?:ember|iembre|embre)?", "o[ck]t(?:ober|obre|ubre)?",
    "nov(?:ember|iembre|embre)?", "de[cz](?:ember)?|d[eé]cembre|diciembre",
)  # fmt: skip
_MONTH = "|".join(f"(?:{names})" for names in _MONTHS)
_WEEKDAY = (
    r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|montag|"
    r"dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|lundi|mardi|mercredi|jeudi|"
    r"vendredi|samedi|dimanche|lunes|martes|mi[eé]rcoles|jueves|viernes|s[aá]bado|"
    r"domingo)\.?,?\ "
)
_DAYS = {"s": 1 / 86400, "m": 1 / 1440, "h": 1 / 24, "d": 1.0, "w": 7.0}
_DAYS |= {"M": 30.4, "y": 365.2}
_UNIT = (
    r"(?P<s>sec(?:ond)?s?|sekunden?|secondes?|segundos?)|(?P<M>months?|monat(?:en)?|"
    r"mois|mes(?:es)?)|(?P<m>min(?:ute)?[sn]?|minutos?)|(?P<h>h(?:ou)?rs?|stunden?|"
    r"heures?|horas?)|(?P<d>days?|tag(?:en)?|jours?|d[ií]as?)|(?P<w>weeks?|wochen?|"
    r"semaines?|semanas?)|(?P<y>y(?:ea)?rs?|jahr(?:en)?|ans?|años?)"
)
_CLOCK = (
    r"[0-2]?\d[:h][0-5]\d(?::[0-5]\d(?:[.,]\d{1,6})?)?(?:\ ?[ap]\.?m\b\.?)?"
    r"(?:\ ?(?:GMT|UTC|Z|[A-Z]{1,3}ST|[A-Z]{1,2}E?T|CES?T)\b|\ ?[+-]\d\d:?\d\d\b)?"
)
_DATE = (
    rf"(?:{_WEEKDAY})?(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}[./]\d{{1,2}}[./](?:\d{{4}}|\d\d)\b"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.)?\ (?:de\ )?(?:{_MONTH})\.?,?\ (?:de\ )?\d{{4}}"
    rf"|(?:{_MONTH})\.?\ \d{{1,2}}(?:st|nd|rd|th)?,?\ \d{{4}})"
)
_COUNT = r"(?:an?|one|eine[rm]?|une?|un[ao]?|\d{1,4})"
_ANY_UNIT = re.sub(r"\?P<\w>", "?:", _UNIT)
_AGE = (
    rf"{_COUNT}\ (?:{_ANY_UNIT})\ ago|(?:vor|il\ y\ a|hace)\ {_COUNT}\ (?:{_ANY_UNIT})"
    r"|just\ now|moments?\ ago|a\ moment\ ago|gerade\ eben|yesterday|gestern|ayer"
)
_NOW = frozenset({"just now", "moments ago", "moment ago", "a moment ago"})
_NOW |= {"gerade eben"}
_LAST_DAY = frozenset({"yesterday", "gestern", "ayer"})
_ONE = re.compile(  # the part after the T of ISO 8601 is a clock, too
    rf"(?:(?<![\w.])|(?<=\dT))(?:(?P<date>{_DATE})|(?P<clock>{_CLOCK})|(?P<age>{_AGE}))"
    rf"(?!\w)|(?P<iso>\d{{4}}-\d\d-\d\d)(?=T)",
    re.IGNORECASE | re.VERBOSE,
)
_CLOCK_PARTS = re.compile(
    r"(\d{1,2})[:h](\d\d)(?::(\d\d))?[.,\d]*\ ?([ap])?", re.IGNORECASE
)
_NUMBERS = re.compile(r"\d+")
_NAMED_MONTH = re.compile(
    "|".join(f"(?P<m{i}>{names})" for i, names in enumerate(_MONTHS, 1)), re.IGNORECASE
)
_SIZE = re.compile(_UNIT, re.IGNORECASE)
_DATE_ONLY = re.compile(rf"(?:{_WEEKDAY})?", re.IGNORECASE | re.VERBOSE)


class TextTime(NamedTuple):
    """A time in a text.

    Attributes:
        start: Where it begins.
        end: Where it ends.
        kind: ``clock``, ``date`` or ``age``.
        values: For a clock, the part of the day that has passed; for a date, the days
            since the epoch that it may mean; for an age, the least and the most days.

    """

    start: int
    end: int
    kind: str
    values: tuple[float, ...]


def find_times(text: str) -> list[TextTime]:
    """Return the times in a text, in order.

    >>> [(t.kind, t.values) for t in find_times("Tue, 2 January 1970 at 6:00 PM GMT")]
    [('date', (1.0,)), ('clock', (0.75,))]
    >>> [t.values for t in find_times("2 weeks ago")]
    [(10.5, 21.0)]
    """
    found = []
    for match in _ONE.finditer(text):
        kind = match.lastgroup or ""
        written = match[kind]
        kind = "date" if kind == "iso" else kind
        values = _READ[kind](written)
        if values:
            end = match.start() + len(written)
            found.append(TextTime(match.start(), end, kind, values))
    return found


def _read_clock(text: str) -> tuple[float, ...]:
    parts = _CLOCK_PARTS.match(text)
    if parts is None:
        return ()
    hour, half = int(parts[1]), (parts[4] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    seconds = 3600.0 * hour + 60.0 * int(parts[2]) + float(parts[3] or 0)
    return (seconds / 86400.0,) if hour < 24 else ()


def _read_date(text: str) -> tuple[float, ...]:
    plain = _DATE_ONLY.sub("", text, count=1)
    numbers = [int(n) for n in _NUMBERS.findall(plain)]
    month = _NAMED_MONTH.search(plain)
    if month is not None:
        number = int((month.lastgroup or "m0")[1:])
        ways = [(numbers[-1], number, numbers[0])]
    elif "-" in plain:
        ways = [(numbers[0], numbers[1], numbers[2])]
    else:
        a, b, year = numbers
        year += 2000 if year < 100 else 0
        ways = list(dict.fromkeys([(year, b, a), (year, a, b)]))
    return tuple(day for way in ways if (day := _days(*way)) is not None)


def _days(year: int, month: int, day: int) -> float | None:
    try:
        return float(date(year, month, day).toordinal() - date(1970, 1, 1).toordinal())
    except ValueError:
        return None


def _read_age(text: str) -> tuple[float, ...]:
    word = text.lower()
    if word in _NOW:
        return 0.0, 1 / 96
    if word in _LAST_DAY:
        return 0.0, 2.0
    size = _SIZE.search(word.partition(" ")[2])
    if size is None:
        return ()
    number = _NUMBERS.search(text)
    n, unit = int(number[0]) if number else 1, _DAYS[size.lastgroup or "d"]
    return (n - 0.5) * unit, (n + 1.0) * unit  # rounded or truncated


_READ = {"clock": _read_clock, "date": _read_date, "age": _read_age}


def goes_on(old: TextTime, new: TextTime, days: float, at: float) -> bool:
    """Say whether a time advanced by so many days, or a date was the present one.

    ``at`` is when the new one was observed, in days since the epoch.
    """
    if old.kind != new.kind:
        return False
    if new.kind == "clock":
        passed = (new.values[0] - old.values[0] - days) % 1.0
        return min(passed, 1.0 - passed) <= _SLOW
    if new.kind == "date":
        return is_today(old, at - days) and is_today(new, at)
    (low, high), (least, most) = old.values, new.values
    return low + days <= most and high + days >= least


def is_today(time: TextTime, at: float) -> bool:
    """Say whether a date is that of a moment, in any time zone."""
    return time.kind == "date" and any(abs(v + 0.5 - at) <= _NEAR for v in time.values)


def time_pattern(old: str, new: str, days: float, at: float) -> str:
    """Return two texts with ``TIME`` where a time advanced; empty if more differs.

    >>> one, two = "Today is 1 January 1970, 10:00", "Today is 2 January 1970, 11:00"
    >>> time_pattern(one, two, 25 / 24, 1.5).replace(TIME, "*")
    'Today is *, *'
    >>> time_pattern("Held on 1 May 1971", "Held on 2 May 1971", 1.0, 1.5)
    ''
    """
    if old == new:
        return ""
    before, after = find_times(old), find_times(new)
    if len(before) != len(after):
        return ""
    parts, differs, ends = [], False, (0, 0)
    for one, two in zip(before, after, strict=True):
        between = new[ends[1] : two.start]
        if old[ends[0] : one.start] != between:
            return ""
        same = old[one.start : one.end] == new[two.start : two.end]
        if not same and not goes_on(one, two, days, at):
            return ""
        wild = not same or is_today(two, at)
        parts += [between, TIME if wild else new[two.start : two.end]]
        differs, ends = differs or not same, (one.end, two.end)
    if not differs or old[ends[0] :] != new[ends[1] :]:
        return ""
    return "".join([*parts, new[ends[1] :]])


def fits_pattern(pattern: str, text: str) -> bool:
    """Say whether a text matches a pattern, with any times in it.

    >>> fits_pattern(f"Now {TIME}.", "Now 10:15."), fits_pattern(f"Now {TIME}.", "Now.")
    (True, False)
    """
    first, *rest = pattern.split(TIME)
    if not text.startswith(first):
        return False
    ends, place = {time.start: time.end for time in find_times(text)}, len(first)
    for piece in rest:
        end = ends.get(place, -1)
        if end < 0 or not text.startswith(piece, end):
            return False
        place = end + len(piece)
    return place == len(text)
