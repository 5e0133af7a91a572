"""Recorded histories of objects as tables behind forms, with their attributes."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from halflife.core.errors import UsageError
from halflife.core.forms import Attribute, Interface
from halflife.core.lifetimes import Values
from halflife.kinds.form.recorded_source import RecordedForm
from halflife.recordings.relations import Relation, is_relation, load_relation
from halflife.replay.recorded_source import RecordedHistory, source_name

MOST_VALUES = 200  # of a select
MOST_ATTRIBUTES = 5  # of a form
LONGEST = 100  # characters of a value that can be selected
LEARNED = 0.25  # share of the time after which the form is described
TENTHS = np.arange(1, 10) / 10.0  # where numbers are cut into ranges


def table_histories(folder: Path) -> Sequence[RecordedHistory]:
    """Return the history of objects in a folder, under the folder's name."""
    if not is_relation(folder):
        return ()
    name = source_name(folder.resolve().name)
    return [RecordedHistory(name, partial(_load, folder, name))]


def _load(folder: Path, name: str, days: float) -> RecordedForm:
    relation = load_relation(folder)
    last = float(relation.looks[-1])
    begin = max(last - days, float(relation.looks[0]))
    attributes = attributes_of(relation, begin + LEARNED * (last - begin))
    if not attributes:
        raise UsageError(
            f"{folder}: no column that a form could query; replay it as a listing "
            "with --kind listing"
        )
    return RecordedForm(name, relation, Interface(tuple(attributes), lookup=True))


def attributes_of(relation: Relation, at: float) -> list[Attribute]:
    """Return the attributes of a form over a table, by the values until a time.

    A column of few texts becomes a select, one of many numbers a range, and other texts
    keywords; in this order, up to ``MOST_ATTRIBUTES``.
    """
    rows = np.flatnonzero(relation.since <= at)
    attributes = [
        attribute
        for name, values in relation.columns.items()
        if (attribute := _attribute(name, values[rows])) is not None
    ]
    order = ("select", "range", "keyword")
    return sorted(attributes, key=lambda a: order.index(a.kind))[:MOST_ATTRIBUTES]


def _attribute(name: str, column: Values) -> Attribute | None:
    values = [v for v in column.tolist() if v not in (None, "")]
    distinct = set(values)
    if len(distinct) < 2:
        return None
    if all(isinstance(v, int | float) for v in values):
        numbers = [float(v) for v in values if v is not None]
        cuts = np.unique(np.quantile(numbers, TENTHS)).tolist()
        return Attribute(name, "range", cuts=tuple(cuts))
    texts = sorted({str(v) for v in distinct})
    if len(texts) <= MOST_VALUES and all(_is_selectable(text) for text in texts):
        return Attribute(name, "select", tuple(texts))
    return Attribute(name, "keyword")


def _is_selectable(text: str) -> bool:
    return len(text) <= LONGEST and text.isprintable() and text == text.strip()
