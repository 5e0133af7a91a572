"""Hierarchies of topics."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np

from halflife.core.arrays import Ints
from halflife.core.errors import ConfigError, UsageError

Tree: TypeAlias = "Mapping[str, Tree] | Iterable[str]"


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A tree of topics with one root.

    >>> topics = Hierarchy.of({"Health": ["Diseases", "Fitness"], "Sports": {}})
    >>> topics.path("Fitness"), topics.leaves
    (('Root', 'Health', 'Fitness'), ('Diseases', 'Fitness', 'Sports'))

    Attributes:
        names: The topics, each after its parent; the root is the first.
        parent: Place of each topic's parent; -1 for the root.

    """

    names: tuple[str, ...]
    parent: Ints

    @classmethod
    def of(cls, tree: Tree, root: str = "Root") -> Self:
        """Return the hierarchy of nested mappings, as TOML tables give them.

        Args:
            tree: Topics with their subtopics; a list if these have none.
            root: Name of the root.

        """
        names, parent = [root], [-1]
        for name, above in _walk(tree, 0):
            names.append(name)
            parent.append(above)
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise ConfigError(f"names of topics must differ; twice: {twice}")
        return cls(tuple(names), np.array(parent, np.intp))

    @property
    def root(self) -> str:
        """The root topic, which includes everything."""
        return self.names[0]

    @property
    def leaves(self) -> tuple[str, ...]:
        """The topics without subtopics."""
        inner = set(self.parent.tolist())
        return tuple(n for i, n in enumerate(self.names) if i not in inner)

    @property
    def inner(self) -> tuple[str, ...]:
        """The topics with subtopics, each after its parent."""
        inner = set(self.parent.tolist())
        return tuple(n for i, n in enumerate(self.names) if i in inner)

    def place(self, name: str) -> int:
        """Return the index of a topic in ``names``."""
        if name not in self.names:
            raise UsageError(f"no topic is called {name!r}; there are {self.names}")
        return self.names.index(name)

    def children(self, name: str) -> tuple[str, ...]:
        """Return the subtopics of a topic."""
        below = np.flatnonzero(self.parent == self.place(name)).tolist()
        return tuple(self.names[i] for i in below)

    def path(self, name: str) -> tuple[str, ...]:
        """Return the topics from the root down to a topic."""
        at, path = self.place(name), []
        while at >= 0:
            path.append(self.names[at])
            at = int(self.parent[at])
        return tuple(reversed(path))

    def holds(self, name: str, other: str) -> bool:
        """Return whether a topic is an ancestor of another, or the same."""
        return name in self.path(other)


def _walk(tree: Tree, above: int) -> Iterator[tuple[str, int]]:
    """Return each topic with its parent's place, parents first."""
    if isinstance(tree, str):
        raise ConfigError(f"topics are a table or a list, got {tree!r}")
    below = tree if isinstance(tree, Mapping) else dict.fromkeys(tree, ())
    at = above
    for name, deeper in below.items():
        at += 1
        yield name, above
        for found in _walk(deeper, at):
            at += 1
            yield found
