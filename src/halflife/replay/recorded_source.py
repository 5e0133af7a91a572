"""What a recorded source must be able to do, whatever its kind."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

from halflife.replay.world import RecordedAnswer, RecordedRequest
from halflife.stores import Store


class RecordedSource(Protocol):
    """A source of which it is known what it held at every moment of a stretch of time.

    It answers requests as the real one did, says with which settings it is kept, and
    compares what a store holds with what is true. Nothing that the program believes
    goes into that.
    """

    @property
    def name(self) -> str:
        """The name of the source."""
        ...

    @property
    def kind(self) -> str:
        """The kind of the source, as in the settings."""
        ...

    @property
    def measure(self) -> str:
        """The measure of its quality, such as ``freshness`` or ``recall``."""
        ...

    @property
    def span(self) -> tuple[float, float]:
        """The first and last moment that the recording knows, in days."""
        ...

    def items(self, now: float) -> int:
        """Return how many pages, objects or documents there were at a time."""
        ...

    def moved(self, days: float) -> Self:
        """Return the same source as if all had happened so many days later."""
        ...

    def answer(self, asked: RecordedRequest, now: float) -> RecordedAnswer:
        """Return what it answered to a request at a time."""
        ...

    def settings(self, origin: str) -> str:
        """Return the keys of its table in ``halflife.toml``, at a place to ask it."""
        ...

    def quality(self, store: Store, now: float) -> float:
        """Return how good the copy in a store is at a time, from 0 to 1."""
        ...


def source_name(text: str) -> str:
    """Return a text as the name of a source, which settings can hold.

    >>> source_name("example/docs")
    'example-docs'
    """
    return re.sub(r"[^A-Za-z0-9._:-]", "-", text).lstrip("._:-")[:200] or "recorded"


@dataclass(frozen=True, slots=True)
class RecordedHistory:
    """A history in a folder that can be played as a source of some kind.

    Attributes:
        name: What it is called; sources are picked by it.
        load: Reads it; only the last so many days matter.

    """

    name: str
    load: Callable[[float], RecordedSource]
