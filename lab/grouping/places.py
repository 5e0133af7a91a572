"""Categories by place: the site of each page, and its folders."""

from collections.abc import Iterable, Sequence

import numpy as np

from halflife.core.categories import Categories
from halflife.grouping.places import folder, root_and_path, site

DEEPEST = 32  # folders above a page that count


def by_site(keys: Iterable[str], group: Sequence[str] = ()) -> Categories:
    """Return a category for each site; ``group`` has the sites if they are known.

    >>> by_site(["http://a/1", "http://b/2", "http://a/3"]).names
    ('a', 'b')
    """
    return Categories.of_labels(group or map(site, keys))


def folders(keys: Iterable[str], depth: int | None = None) -> Categories:
    """Return a category for each folder, with the pages directly in it.

    With ``depth``, folders deeper below the root count as their ancestor there.
    """
    return Categories.of_labels(folder(key, depth) for key in keys)


def ancestors(keys: Iterable[str], deepest: int = DEEPEST) -> Categories:
    """Return a category for each folder; a page is in its own and in all above it.

    >>> ancestors(["http://a/x/1", "http://a/2"]).size
    array([2, 1])
    """
    code: dict[str, int] = {}
    above: dict[str, list[int]] = {}
    category: list[int] = []
    count: list[int] = []
    for key in keys:
        own = folder(key, deepest)
        if own not in above:
            above[own] = [code.setdefault(name, len(code)) for name in _chain(own)]
        category += above[own]
        count.append(len(above[own]))
    rows = np.repeat(np.arange(len(count)), np.array(count, np.intp))
    where = np.array(category, np.intp)
    return Categories.of_pairs(tuple(code), where, rows, len(count))


def _chain(own: str) -> list[str]:
    """Return the folders from the root down to this one."""
    root, path = root_and_path(own)
    names = [root]
    for part in path.split("/")[:-1]:
        names.append(names[-1] + part + "/")
    return names
