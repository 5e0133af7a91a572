"""Axes of charts: the positions and labels of the marks on a scale."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from halflife.core.arrays import Floats

_UNITS = ((1.0, "days"), (1 / 24, "hours"), (1 / 1440, "minutes"))
MOST_SPANS, MOST_DATES = 6, 7  # marks whose labels fit beside one another
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTES = (1, 5, 15, 60, 180, 360, 720)
_STEPS = (*(m / 1440 for m in _MINUTES), 1.0, 2.0, 7.0, 14.0)
_MONTH_STEPS = (1, 2, 3, 6, 12, 24, 60, 120, 600)


@dataclass(frozen=True, slots=True)
class Axis:
    """One scale of a chart.

    Attributes:
        label: The quantity, and its unit.
        low: The value at its beginning.
        high: The value at its end; above ``low``.
        ticks: Values that are marked, with their labels.
        is_log: Whether equal ratios, and not equal differences, are equally far apart.

    """

    label: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    is_log: bool = False

    def place(self, values: Floats, begin: float, end: float) -> Floats:
        """Return the positions of values on a scale drawn from ``begin`` to ``end``."""
        at, low, high = np.asarray(values, float), self.low, self.high
        if self.is_log:
            at, low, high = np.log(np.maximum(at, low)), math.log(low), math.log(high)
        return begin + (at - low) / (high - low) * (end - begin)


def nice_step(width: float, most: int) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten for ``most`` steps at most.

    >>> nice_step(1.0, 5), nice_step(37.0, 5), nice_step(0.03, 4)
    (0.2, 10.0, 0.01)
    """
    rough = width / most
    power = 10.0 ** math.floor(math.log10(rough))
    factor = next(f for f in (1, 2, 5, 10) if f * power >= rough * (1 - 1e-9))
    return factor * power if power >= 1 else factor / round(1 / power)


def linear(label: str, low: float, high: float, *, most: int = 5) -> Axis:
    """Return an axis of plain numbers that covers ``low`` to ``high``.

    >>> [label for _, label in linear("n", 0.0, 1.0).ticks]
    ['0.0', '0.2', '0.4', '0.6', '0.8', '1.0']
    """
    low, high = _ordered(low, high)
    step = nice_step(high - low, most)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    marks = tuple((k * step, _number(k * step, step)) for k in range(first, last + 1))
    return Axis(label, first * step, last * step, marks)


def logarithmic(label: str, low: float, high: float) -> Axis:
    """Return an axis of positive numbers on which equal ratios are equally far apart.

    Marks are at powers of ten, with 2 and 5 times them where there is room.

    >>> [label for _, label in logarithmic("n", 1.0, 1200.0).ticks]
    ['1', '10', '100', '1,000']
    >>> [label for _, label in logarithmic("n", 5.0, 40.0).ticks]
    ['5', '10', '20']
    """
    low = max(low, 1e-9)
    high = max(high, low * 1.0001)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1, 2, 5) if high / low < 100 else (1,)
    values = (f * 10.0**k for k in range(first, last + 1) for f in factors)
    marks = tuple((v, _short(v)) for v in values if low * 0.999 <= v <= high * 1.001)
    return Axis(label, low, high, marks, is_log=True)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:.9f}".rstrip("0")


def percent(label: str, low: float = 0.0, high: float = 1.0) -> Axis:
    """Return an axis of shares, marked in percent.

    >>> [label for _, label in percent("share").ticks]
    ['0 %', '20 %', '40 %', '60 %', '80 %', '100 %']
    """
    axis = linear(label, low, high)
    step = 100 * (axis.ticks[1][0] - axis.ticks[0][0])
    marks = tuple((v, f"{_number(100 * v, step)} %") for v, _ in axis.ticks)
    return Axis(label, axis.low, axis.high, marks)


def spans(label: str, high: float) -> Axis:
    """Return an axis of durations from 0 to ``high`` days, in a suitable unit.

    >>> axis = spans("after", 0.5)
    >>> axis.label, axis.ticks[1]
    ('after (hours)', (0.08333333333333333, '2'))
    """
    _, high = _ordered(0.0, high)
    size, unit = next((u for u in _UNITS if high >= 2 * u[0]), _UNITS[-1])
    step = nice_step(high / size, MOST_SPANS)
    count = math.floor(high / size / step + 1e-9)
    marks = tuple((k * step * size, _number(k * step, step)) for k in range(count + 1))
    return Axis(f"{label} ({unit})", 0.0, high, marks)


def calendar(label: str, low: float, high: float) -> Axis:
    """Return an axis of dates, in days since the epoch, UTC.

    >>> [label for _, label in calendar("date", 19358.0, 19723.0).ticks]
    ['2023-01', '2023-03', '2023-05', '2023-07', '2023-09', '2023-11', '2024-01']
    """
    low, high = _ordered(low, high)
    days = high - low
    for step in _STEPS:
        if days / step <= MOST_DATES:
            form = "%Y-%m-%d" if step >= 1 else "%m-%d %H:%M"
            return Axis(label, low, high, _even(low, high, step, form))
    months = next((m for m in _MONTH_STEPS if days / 30.4 / m <= MOST_DATES), 1200)
    form = "%Y" if months >= 12 else "%Y-%m"
    return Axis(label, low, high, _months(low, high, months, form))


def _ordered(low: float, high: float) -> tuple[float, float]:
    """Return two finite bounds with a distance between them."""
    low = low if math.isfinite(low) else 0.0
    high = high if math.isfinite(high) else low
    low, high = min(low, high), max(low, high)
    return (low, high) if high - low > 1e-9 * max(1.0, abs(high)) else (low, low + 1.0)


def _number(value: float, step: float) -> str:
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value + 0.0:,.{digits}f}"


def _moment(days: float) -> datetime:
    return _EPOCH + timedelta(days=days)


def _even(
    low: float, high: float, step: float, form: str
) -> tuple[tuple[float, str], ...]:
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    values = (k * step for k in range(first, last + 1))
    return tuple((v, _moment(v + 1e-7).strftime(form)) for v in values)


def _months(
    low: float, high: float, step: int, form: str
) -> tuple[tuple[float, str], ...]:
    begin, end = _moment(low), _moment(high)
    marks = []
    month = -(-(12 * begin.year + begin.month - 1) // step) * step
    while month <= 12 * end.year + end.month - 1:
        moment = datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC)
        at = (moment - _EPOCH) / timedelta(days=1)
        if low <= at <= high:
            marks.append((at, moment.strftime(form)))
        month += step
    return tuple(marks)
