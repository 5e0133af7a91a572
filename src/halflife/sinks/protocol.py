"""The interface of sinks: they take changes and return when these are durable.

A kind of sink is a class with an attribute ``Settings`` in the entry point group
``halflife.sinks``. It is created with its settings and an ``Outlet``. All its methods
are called in one thread of its own and may block; only the later changes of the same
sink wait for them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from halflife.config.sinks import SinkConfig
from halflife.core.change import Change
from halflife.core.observation import Content


class DeliveryError(Exception):
    """The changes were not delivered; trying again may help.

    Args:
        why: What went wrong, in a line, without secrets.
        wait: Seconds for which the receiver asked to be left alone.

    """

    def __init__(self, why: str, wait: float = 0.0) -> None:
        super().__init__(why)
        self.wait = wait


class ChangeRefusedError(DeliveryError):
    """The receiver will never accept one of these changes, however often it is sent."""


class Reader(Protocol):
    """Reads the copy of a page or a record, for sinks that need more than changes."""

    def content(self, key: str, text: str = "") -> Content | None:
        """Return the copy of a page: with this fingerprint of its text, or the current.

        None if it is not stored any more.
        """
        ...

    def record(self, source: str, key: str) -> Mapping[str, Any] | None:
        """Return the fields of a record; None if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes to be delivered together.

    A batch that is delivered again has the same ``first`` and ``last``, so these can
    name it. Numbers in between that are not among the changes were filtered out.

    Attributes:
        sink: The name of the sink.
        first: The number after the last change of the batch before.
        last: The number of its last change, filtered ones included.
        changes: The changes in order; at least one.
        newest: The newest change in the log.
        reader: Reads the current copies.

    """

    sink: str
    first: int
    last: int
    changes: Sequence[Change]
    newest: int
    reader: Reader

    @property
    def key(self) -> str:
        """A name of the batch by which a receiver can recognise a second copy."""
        return f"{self.sink}:{self.first}-{self.last}"


@dataclass(frozen=True, slots=True)
class Outlet:
    """The environment of sinks.

    Attributes:
        folder: The folder of relative paths.
        state: The state file; a sink may store a file beside it whose name begins with
            its name.
        contact: How to reach the person who runs this.

    """

    folder: Path
    state: Path
    contact: str = ""

    def path(self, text: str) -> Path:
        """Return a path of the settings; relative ones begin at the settings file."""
        return self.folder / Path(text).expanduser()


@runtime_checkable
class Sink(Protocol):
    """Takes changes: each at least once, and those of one key in order."""

    def open(self) -> None:
        """Get ready; repair what a crash left behind. Raise ``DeliveryError``."""
        ...

    def deliver(self, batch: Batch) -> None:
        """Return when the changes are durable; raise ``DeliveryError`` if not.

        After an error the sink is closed, and created again for the next try.
        """
        ...

    def close(self) -> None:
        """Release everything; no delivery is under way."""
        ...

    def cancel(self) -> None:
        """Cancel the delivery under way, if possible; called in another thread."""
        ...


class SinkKind(Protocol):
    """A registered kind of sink: its settings, and its constructor."""

    Settings: ClassVar[type[SinkConfig]]

    def __call__(self, settings: Any, outlet: Outlet) -> Sink:  # noqa: ANN401  (its own)
        """Return a sink that is not open yet."""
        ...
