"""The attributes of a form over a table."""

from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np

from halflife.core.errors import UsageError
from halflife.core.forms import Attribute, Kind
from halflife.core.object_store import Attributes, Scalar

KINDS: tuple[Kind, ...] = ("select", "keyword", "range")
FEW = 200  # values of a select
CUTS = 10  # parts into which the numbers of a range are cut
SECONDS = 86400.0


def parse_day(text: str) -> float:
    """Return a date as days since the epoch; raise ``UsageError`` if it is invalid.

    >>> parse_day("1970-01-03")
    2.0
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is not a date; write it 2025-06-30") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.timestamp() / SECONDS


def form_attributes(
    records: Mapping[str, Attributes], wanted: str = ""
) -> tuple[Attribute, ...]:
    """Return the attributes of a form over these records.

    ``wanted`` names the attributes, each with its kind if necessary: ``a,b:keyword``.
    Otherwise all columns are used: numbers as ranges, texts of few values as selects,
    other texts as keywords.
    """
    names = dict.fromkeys(name for record in records.values() for name in record)
    if not wanted:
        columns = {name: _column(records, name) for name in names}
        return tuple(_attribute(n, _kind(v), v) for n, v in columns.items() if v)
    attributes = []
    for word in wanted.split(","):
        name, _, kind = word.strip().partition(":")
        if name not in names or (kind and kind not in KINDS):
            raise UsageError(
                f"{word!r} is not an attribute of the history, or not a kind; it has "
                + ", ".join(names)
            )
        values = _column(records, name)
        given = next((k for k in KINDS if k == kind), None)
        attributes.append(_attribute(name, given or _kind(values), values))
    return tuple(attributes)


def _column(records: Mapping[str, Attributes], name: str) -> list[Scalar]:
    values = (record.get(name) for record in records.values())
    return [value for value in values if value not in (None, "")]


def _kind(values: list[Scalar]) -> Kind:
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        return "range"
    return "select" if len(set(map(str, values))) <= FEW else "keyword"


def _attribute(name: str, kind: Kind, values: list[Scalar]) -> Attribute:
    if kind == "select":
        return Attribute(name, kind, tuple(sorted(set(map(str, values)))))
    if kind == "keyword":
        return Attribute(name, kind)
    numbers = [float(v) for v in values if isinstance(v, int | float)]
    cuts = np.unique(np.quantile(numbers, np.linspace(0, 1, CUTS + 1)[1:-1]))
    return Attribute(name, kind, cuts=tuple(cuts.tolist()))
