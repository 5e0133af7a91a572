"""Least and most requests to a source or a host."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from halflife.core.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Limits:
    """The least and most requests of sources and hosts.

    For long-run shares they are requests a day; for the next turn, requests now.

    Attributes:
        least: By source; 0 if not named.
        most: By source; no limit if not named.
        host: The host, or any other group, of a source. A source that is not named
            shares its host with no other source.
        room: Most requests by host; no limit if not named.

    """

    least: Mapping[str, float] = field(default_factory=dict)
    most: Mapping[str, float] = field(default_factory=dict)
    host: Mapping[str, str] = field(default_factory=dict)
    room: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for table in (self.least, self.most, self.room):
            for name, value in table.items():
                if not value >= 0:
                    raise ValueError(f"the limit of {name} must not be below 0")

    def fewest(self, sources: Sequence[str]) -> Floats:
        """Return the least requests of each source, never above its most."""
        least = np.array([self.least.get(name, 0.0) for name in sources])
        fewest: Floats = np.minimum(least, self.caps(sources))
        return fewest

    def caps(self, sources: Sequence[str]) -> Floats:
        """Return the most requests of each source."""
        return np.array([self.most.get(name, inf) for name in sources])

    def hosts(self, sources: Sequence[str]) -> tuple[Ints, Floats]:
        """Return the group of each source, and the room of each group."""
        names = [self.host.get(name, "") for name in sources]
        named = sorted({name for name in names if name})
        place = {name: i for i, name in enumerate(named)}
        next_group = iter(range(len(named), len(named) + len(names)))
        group = [place[name] if name else next(next_group) for name in names]
        room = [self.room.get(name, inf) for name in named]
        ungrouped = len(set(group)) - len(named)
        return np.array(group, dtype=np.intp), np.array(room + [inf] * ungrouped)


FREE = Limits()
