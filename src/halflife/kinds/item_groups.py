"""Parts of a source that behave alike, on its page: folders, companies, dealers."""

from collections.abc import Sequence

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.lifetimes import Collection
from halflife.grouping.places import folder
from halflife.kinds.page_view import Row

SHOWN = 10  # groups, the largest first
MOST = 50  # values of an attribute that tell groups apart
MANY = 20_000  # pages; of more, their folders are not listed


def of_pages(keys: Sequence[str], rate: Floats, stale: Floats) -> list[Row]:
    """Return the folders in which most pages lie; nothing if there is only one."""
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


def of_objects(known: Collection, attribute: str) -> tuple[str, list[Row]]:
    """Return what tells groups of objects apart, and the largest groups.

    The attribute that the settings name, or else the one with the fewest values.
    """
    name = attribute or _telling(known)
    column = known.lives.attributes.get(name)
    if column is None or not known.looks.size:
        return "", []
    lives, last = known.lives, float(known.looks[-1])
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
    found: Ints = np.bincount(code[chosen], minlength=int(code.max(initial=-1)) + 1)
    return found


def _telling(known: Collection) -> str:
    """Return the attribute with the fewest values, but two of them at least."""
    best, fewest = "", MOST + 1
    for name, column in known.lives.attributes.items():
        values = {str(value) for value in column[: MOST * 200].tolist()}
        if 2 <= len(values) < fewest:
            best, fewest = name, len(values)
    return best
