"""The attributes by which objects can be split into groups."""

from collections.abc import Mapping

import numpy as np

from halflife.core.filters import missing, numbers
from halflife.core.lifetimes import Values


def splitting_attributes(columns: Mapping[str, Values]) -> list[str]:
    """Return the attributes worth grouping by: few values, or numbers.

    A text with distinct values for more than one in four objects is a name or a
    description, and a column with a single value splits nothing.
    """
    return [name for name, column in sorted(columns.items()) if _can_split(column)]


def _can_split(column: Values) -> bool:
    present = column[~missing(column)]
    distinct = len(set(present.tolist()))
    number = column.dtype.kind != "b" and not np.isnan(numbers(present)).any()
    return distinct > 1 and (number or distinct <= len(column) / 4)
