"""What a source or a host may be asked at least and at most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from halflife.core.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Limits:
    """Requests that sources and hosts get at least, or take at most.

    For long-run shares these are requests a day; for what to do next, requests now.

    Attributes:
        least: By source; 0 if not named.
        most: By source; no limit if not named.
        host: The host, or any other group, that a source belongs to. A source that
            is not named shares its host with nobody.
        room: By host; no limit if not named.

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
        """Return the least that each source gets, never above its most."""
        least = np.array([self.least.get(name, 0.0) for name in sources])
        fewest: Floats = np.minimum(least, self.caps(sources))
        return fewest

    def caps(self, sources: Sequence[str]) -> Floats:
        """Return the most that each source takes."""
        return np.array([self.most.get(name, inf) for name in sources])

    def hosts(self, sources: Sequence[str]) -> tuple[Ints, Floats]:
        """Return the group of each source, and the room of each group."""
        names = [self.host.get(name, "") for name in sources]
        known = sorted({name for name in names if name})
        place = {name: i for i, name in enumerate(known)}
        alone = iter(range(len(known), len(known) + len(names)))
        group = [place[name] if name else next(alone) for name in names]
        room = [self.room.get(name, inf) for name in known]
        lonely = len(set(group)) - len(known)
        return np.array(group, dtype=np.intp), np.array(room + [inf] * lonely)


FREE = Limits()
