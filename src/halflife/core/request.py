"""The questions a source can be asked."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias, overload

from halflife.core.observation import Observation


@dataclass(frozen=True, slots=True)
class Fetch:
    """Look at one item by its key.

    Attributes:
        key: The item to look at.
        held: The last good look at it, if any. A source that can tell "still the
            same" cheaply (ETag, If-Modified-Since) needs to know what we hold.
        gain: What the look is expected to buy, by the plan.

    """

    key: str
    held: Observation | None = field(default=None, compare=False, repr=False)
    gain: float = field(default=0.0, compare=False, repr=False)


Request: TypeAlias = Fetch


class Fetches(Sequence[Fetch]):
    """Looks at many items, made when the first is asked for.

    A replay answers by the keys alone, and there are millions of them.

    Args:
        keys: The items to look at.
        held: Returns the last good look at each.
        gain: What each is expected to buy.

    """

    def __init__(
        self,
        keys: Sequence[str],
        held: Callable[[Sequence[str]], Sequence[Observation | None]],
        gain: Sequence[float] = (),
    ) -> None:
        self.keys = keys
        self.gain = gain if len(gain) else [0.0] * len(keys)
        self._held = held

    @cached_property
    def _made(self) -> list[Fetch]:
        rows = zip(self.keys, self._held(self.keys), self.gain, strict=True)
        return [Fetch(key, held, float(gain)) for key, held, gain in rows]

    @overload
    def __getitem__(self, at: int) -> Fetch: ...
    @overload
    def __getitem__(self, at: slice) -> list[Fetch]: ...
    def __getitem__(self, at: int | slice) -> Fetch | list[Fetch]:
        return self._made[at]

    def __iter__(self) -> Iterator[Fetch]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self.keys)
