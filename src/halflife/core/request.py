"""Requests that can be sent to a source."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias, overload

from halflife.core.observation import Observation


@dataclass(frozen=True, slots=True)
class Fetch:
    """A request for one item by its key.

    Attributes:
        key: The item to fetch.
        held: Its last successful observation, if any. A source that can answer "not
            modified" cheaply (ETag, If-Modified-Since) needs it.
        gain: The gain that the plan expects.

    """

    key: str
    held: Observation | None = field(default=None, compare=False, repr=False)
    gain: float = field(default=0.0, compare=False, repr=False)


Request: TypeAlias = Fetch


class Fetches(Sequence[Fetch]):
    """Requests for many items, made when the first is read.

    A replay uses the keys alone, and there are millions of them.

    Args:
        keys: The items to fetch.
        held: Returns the last successful observation of each.
        gain: The expected gain of each.

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
    def _fetches(self) -> list[Fetch]:
        rows = zip(self.keys, self._held(self.keys), self.gain, strict=True)
        return [Fetch(key, held, float(gain)) for key, held, gain in rows]

    @overload
    def __getitem__(self, at: int) -> Fetch: ...
    @overload
    def __getitem__(self, at: slice) -> list[Fetch]: ...
    def __getitem__(self, at: int | slice) -> Fetch | list[Fetch]:
        return self._fetches[at]

    def __iter__(self) -> Iterator[Fetch]:
        return iter(self._fetches)

    def __len__(self) -> int:
        return len(self.keys)
