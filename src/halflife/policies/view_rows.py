"""Some rows of a view."""

from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np

from halflife.core.arrays import Ints
from halflife.core.categories import Categories
from halflife.core.keys import KeySubset
from halflife.core.view import View
from halflife.models.mixed_survival import survival_rows


def take_rows(view: View, rows: Ints) -> View:
    """Return some rows of a view."""
    columns: dict[str, Any] = {}
    for field in fields(view):
        value = getattr(view, field.name)
        if isinstance(value, np.ndarray) and value.shape[:1] == (len(view),):
            columns[field.name] = value[rows]
    survival = survival_rows(view.survival, rows, len(view))
    return replace(
        view,
        keys=KeySubset(view.keys, rows),
        survival=survival,
        topics=partial(_topics, view, rows),
        **columns,
    )


def _topics(view: View, rows: Ints) -> Categories | None:
    """Return the topics of some rows of a view."""
    found = view.topics()
    return None if found is None else found.of_items(rows)
