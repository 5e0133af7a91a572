"""The categories of a view's items."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from halflife.core.categories import Categories
from halflife.core.view import View
from halflife.grouping.places import folder

Categorise: TypeAlias = Callable[[View], Categories]
FEWEST = 20  # least pages of a folder that is a category of its own


def by_site(view: View) -> Categories:
    """Return the items' groups as categories: sites, hosts or sources.

    Cho and Ntoulas, "Effective change detection using sampling", VLDB 2002.
    """
    rows = np.argsort(view.group, kind="stable")
    codes, start = np.unique(view.group[rows], return_index=True)
    names = tuple(f"group {code}" for code in codes.tolist())
    return Categories(names, np.append(start, len(view)), rows, len(view))


def by_topic(view: View) -> Categories:
    """Return the topics of the items in a view; a few each, or none.

    Taleghani and Ugur-Ozekinci, "Sampling-based refresh policy with correlation", s. 3.
    """
    topics = view.topics()
    if topics is None:
        nothing = np.zeros(0, dtype=np.intp)
        return Categories.of_pairs((), nothing, nothing, len(view))
    return topics


class KeyCategories:
    """Categories derived from keys, computed once for each set of items.

    All views of a turn share one tuple of keys.

    Args:
        file: Computes the categories of items from their keys.

    """

    def __init__(self, file: Callable[[Sequence[str]], Categories]) -> None:
        self.file = file
        self._keys: Sequence[str] | None = None
        self._found = Categories.of_labels(())

    def __call__(self, view: View) -> Categories:
        """Return the categories of the view's items."""
        if self._keys is not view.keys:
            self._keys, self._found = view.keys, self.file(view.keys)
        return self._found


def by_folder(fewest: int = FEWEST) -> KeyCategories:
    """Return categories by folder; small folders are merged with their parent.

    A folder of fewer than ``fewest`` pages is not a category of its own.
    """
    return KeyCategories(partial(file_by_folder, fewest=fewest))


def file_by_folder(keys: Sequence[str], *, fewest: int = FEWEST) -> Categories:
    """Return the folders of the items of these keys as categories."""
    folders = [folder(key) for key in keys]
    merged = merge_small(folders, fewest)
    return Categories.of_labels([merged[name] for name in folders])


class FixedCategories:
    """Fixed categories by key; an item may be in several, or in none.

    >>> filed = FixedCategories({"a": ("sport", "news"), "b": ("news",)})
    >>> filed.of(["b", "c", "a"]).names
    ('news', 'sport')
    """

    def __init__(self, categories: Mapping[str, Iterable[str]]) -> None:
        self._names = {key: tuple(names) for key, names in categories.items()}
        self._kept = KeyCategories(self.of)

    def __call__(self, view: View) -> Categories:
        """Return the categories of the view's items."""
        return self._kept(view)

    def of(self, keys: Sequence[str]) -> Categories:
        """Return the categories of the items of these keys."""
        code: dict[str, int] = {}
        pairs = [
            (code.setdefault(name, len(code)), row)
            for row, key in enumerate(keys)
            for name in self._names.get(key, ())
        ]
        where, rows = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        return Categories.of_pairs(tuple(code), where, rows, len(keys))


def merge_small(names: Iterable[str], fewest: int) -> dict[str, str]:
    """Return the category of each folder: itself, or the nearest large parent.

    >>> sorted(merge_small(["a/b/", "a/b/", "a/c/"], 2).items())
    [('a/', 'a/'), ('a/b/', 'a/b/'), ('a/c/', 'a/')]
    """
    count = Counter(names)
    parent: dict[str, str] = {}
    for depth in range(max((n.count("/") for n in count), default=0), 0, -1):
        for name in [n for n in count if n.count("/") == depth]:
            if count[name] < fewest and name != folder(name, 0):
                parent[name] = name[:-1].rpartition("/")[0] + "/"
                count[parent[name]] += count.pop(name)
    return {name: _root(name, parent) for name in {*parent, *count}}


def _root(name: str, parent: Mapping[str, str]) -> str:
    while name in parent:
        name = parent[name]
    return name


def covering(categories: Categories) -> Categories:
    """Return the categories, plus one for items that are in none of them."""
    held = np.bincount(categories.item, minlength=categories.n_items)
    rest = np.flatnonzero(held == 0)
    if rest.size == 0:
        return categories
    return Categories(
        (*categories.names, "none"),
        np.append(categories.start, categories.item.size + rest.size),
        np.concatenate([categories.item, rest]),
        categories.n_items,
    )
