"""The attributes by which objects may be parted into groups."""

from collections.abc import Mapping

import numpy as np

from halflife.core.filters import missing, numbers
from halflife.core.lifetimes import Values


def attributes_that_part(columns: Mapping[str, Values]) -> list[str]:
    """Return the attributes worth grouping by: few values, or numbers.

    Text with a value of its own for more than one in four objects is a name or a
    description, and a column with a single value parts nothing.
    """
    return [name for name, column in sorted(columns.items()) if _parts(column)]


def _parts(column: Values) -> bool:
    there = column[~missing(column)]
    different = len(set(there.tolist()))
    number = column.dtype.kind != "b" and not np.isnan(numbers(there)).any()
    return different > 1 and (number or different <= len(column) / 4)
