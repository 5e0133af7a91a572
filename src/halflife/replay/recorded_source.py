"""The interface of a recorded source, whatever its kind."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

from halflife.replay.world import RecordedAnswer, RecordedRequest
from halflife.stores import Store


class RecordedSource(Protocol):
    """A source whose content is known at every moment of a period.

    It answers requests as the real one did, has the settings with which it is
    synced, and compares the copy in a store with the truth, independently of all
    that the program believes.
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
        """The first and last moment of the recording, in days."""
        ...

    def items(self, now: float) -> int:
        """Return how many pages, objects or documents there were at a time."""
        ...

    def moved(self, days: float) -> Self:
        """Return the same source as if all had happened ``days`` later."""
        ...

    def answer(self, request: RecordedRequest, now: float) -> RecordedAnswer:
        """Return its answer to a request at a time."""
        ...

    def settings(self, origin: str) -> str:
        """Return the keys of its table in ``halflife.toml``, for an origin."""
        ...

    def quality(self, store: Store, now: float) -> float:
        """Return the quality of the copy in a store at a time, from 0 to 1."""
        ...


def source_name(text: str) -> str:
    """Return a text as a valid name of a source.

    >>> source_name("example/docs")
    'example-docs'
    """
    return re.sub(r"[^A-Za-z0-9._:-]", "-", text).lstrip("._:-")[:200] or "recorded"


@dataclass(frozen=True, slots=True)
class RecordedHistory:
    """A history in a folder that can be played as a source of some kind.

    Attributes:
        name: Its name, by which sources are picked.
        load: Reads its last so many days.

    """

    name: str
    load: Callable[[float], RecordedSource]
