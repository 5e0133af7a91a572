"""Parts of a source that behave alike, on its page: folders, companies, dealers."""

from collections.abc import Sequence

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.lifetimes import Collection
from halflife.grouping.places import folder
from halflife.kinds.page_view import Row

SHOWN = 10  # groups, the largest first
MOST = 50  # distinct values, at most, of an attribute that groups objects
MANY = 20_000  # pages; of more, their folders are not listed


def of_pages(keys: Sequence[str], rate: Floats, stale: Floats) -> list[Row]:
    """Return the folders with the most pages; nothing if there is only one."""
    if not 1 < len(keys) <= MANY:
        return []
    names, code = np.unique([folder(key, 1) for key in keys], return_inverse=True)
    if names.size < 2:
        return []
    size = np.bincount(code)
    changes, gone = np.bincount(code, rate), np.bincount(code, np.nan_to_num(stale))
    return [
        {
            "group": str(names[i]),
            "items": int(size[i]),
            "rate": float(changes[i] / size[i]),
            "changed": float(gone[i] / size[i]),
        }
        for i in np.argsort(-size, kind="stable")[:SHOWN].tolist()
    ]


def of_objects(collection: Collection, attribute: str) -> tuple[str, list[Row]]:
    """Return the attribute that groups objects, and the largest groups.

    That is the attribute of the settings, or else the one with the fewest values.
    """
    name = attribute or _grouping_attribute(collection)
    column = collection.lives.attributes.get(name)
    if column is None or not collection.looks.size:
        return "", []
    lives, last = collection.lives, float(collection.looks[-1])
    names, code = np.unique([str(value) for value in column], return_inverse=True)
    there, ended = lives.present(last), lives.ended
    lived = np.minimum(lives.gone_by, last) - lives.first_seen
    size, went = _sums(code, there), _sums(code, ended)
    days = np.bincount(code, np.maximum(lived, 0.0), minlength=names.size)
    rows: list[Row] = [
        {
            "group": str(names[i])[:80] or "none",
            "items": int(size[i]),
            "gone": int(went[i]),
            "rate": float(went[i] / days[i]) if days[i] > 0 else None,
        }
        for i in np.argsort(-size, kind="stable")[:SHOWN].tolist()
    ]
    return name, rows


def _sums(code: Ints, chosen: Bools) -> Ints:
    sums: Ints = np.bincount(code[chosen], minlength=int(code.max(initial=-1)) + 1)
    return sums


def _grouping_attribute(collection: Collection) -> str:
    """Return the attribute with the fewest values, but at least two."""
    best, fewest = "", MOST + 1
    for name, column in collection.lives.attributes.items():
        values = {str(value) for value in column[: MOST * 200].tolist()}
        if 2 <= len(values) < fewest:
            best, fewest = name, len(values)
    return best
