"""Which attributes of a table a form asks for."""

from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np

from halflife.core.errors import UsageError
from halflife.core.forms import Attribute, Kind
from halflife.core.object_store import Attributes, Scalar

KINDS: tuple[Kind, ...] = ("select", "keyword", "range")
FEW = 200  # values that people would choose from
CUTS = 10  # parts into which the numbers of a range are cut
SECONDS = 86400.0


def day(text: str) -> float:
    """Return a date as days since the epoch; raise ``UsageError`` if it is none.

    >>> day("1970-01-03")
    2.0
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is no date; write it 2025-06-30") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.timestamp() / SECONDS


def shaped(
    records: Mapping[str, Attributes], wanted: str = ""
) -> tuple[Attribute, ...]:
    """Return what a form over these records asks for.

    ``wanted`` names the attributes, each with its kind if need be: ``a,b:keyword``.
    Else all that can be asked for are: numbers by range, texts of few values as a
    choice, other texts by their words.
    """
    names = dict.fromkeys(name for record in records.values() for name in record)
    if not wanted:
        columns = {name: _column(records, name) for name in names}
        return tuple(_attribute(n, _kind(v), v) for n, v in columns.items() if v)
    found = []
    for word in wanted.split(","):
        name, _, kind = word.strip().partition(":")
        if name not in names or (kind and kind not in KINDS):
            raise UsageError(
                f"{word!r} is no attribute of the history, or no kind; it has "
                + ", ".join(names)
            )
        values = _column(records, name)
        given = next((k for k in KINDS if k == kind), None)
        found.append(_attribute(name, given or _kind(values), values))
    return tuple(found)


def _column(records: Mapping[str, Attributes], name: str) -> list[Scalar]:
    found = (record.get(name) for record in records.values())
    return [value for value in found if value not in (None, "")]


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
