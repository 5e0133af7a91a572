"""Some rows of a view, and the columns of its survival."""

from dataclasses import fields, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Ints
from halflife.core.categories import Categories
from halflife.core.keys import KeySubset
from halflife.core.view import View
from halflife.models.mixed_survival import survival_rows
from halflife.models.quality import columns

Columns: TypeAlias = dict[str, NDArray[np.generic]]


def survival_columns(view: View) -> Columns | None:
    """Return the columns of a view's survival; None if it is not made of columns."""
    return columns(view) or None


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
