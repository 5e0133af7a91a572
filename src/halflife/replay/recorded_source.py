"""What a recorded source must be able to do, whatever its kind."""

from typing import Protocol

from halflife.replay.world import Asked, Told
from halflife.stores.sqlite import SqliteStore


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

    def answer(self, asked: Asked, now: float) -> Told:
        """Return what it answered to a request at a time."""
        ...

    def settings(self, origin: str) -> str:
        """Return the keys of its table in ``halflife.toml``, at a place to ask it."""
        ...

    def quality(self, store: SqliteStore, now: float) -> float:
        """Return how good the copy in a store is at a time, from 0 to 1."""
        ...
