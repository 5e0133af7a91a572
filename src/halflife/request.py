"""The questions a source can be asked."""

from dataclasses import dataclass, field
from typing import TypeAlias

from halflife.observation import Observation


@dataclass(frozen=True, slots=True)
class Fetch:
    """Look at one item by its key.

    Attributes:
        key: The item to look at.
        held: The last good look at it, if any. A source that can tell "still the
            same" cheaply (ETag, If-Modified-Since) needs to know what we hold.

    """

    key: str
    held: Observation | None = field(default=None, compare=False, repr=False)


Request: TypeAlias = Fetch
