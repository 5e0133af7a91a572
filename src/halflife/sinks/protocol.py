"""What a sink is: something that takes changes, and returns when it has them for good.

A kind of sink is a class with an attribute ``Settings`` in the entry point group
``halflife.sinks``. It is made with its settings and an ``Outlet``. All its methods are
called in one thread of its own and may block; nothing waits for them but the sink's own
later changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from halflife.config.sinks import SinkConfig
from halflife.core.change import Change
from halflife.core.observation import Content


class DeliveryError(Exception):
    """The changes did not arrive; they are worth another try.

    Args:
        why: What went wrong, in a line, without secrets.
        wait: Seconds for which the receiver asked us to stay away.

    """

    def __init__(self, why: str, wait: float = 0.0) -> None:
        super().__init__(why)
        self.wait = wait


class ChangeRefusedError(DeliveryError):
    """The receiver will never take one of these changes, however often it is tried."""


class Reader(Protocol):
    """What is held now of a page or a record; for sinks that need more than changes."""

    def content(self, key: str, text: str = "") -> Content | None:
        """Return the copy of a page whose text has this fingerprint, or the present.

        None if it is not kept any more.
        """
        ...

    def record(self, source: str, key: str) -> Mapping[str, Any] | None:
        """Return the fields of a record; None if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes to be delivered together.

    A batch that is delivered again has the same ``first`` and ``last``, so that they
    can name it. Numbers in between that are not among the changes were filtered out.

    Attributes:
        sink: The name of the sink.
        first: The number after the last change of the batch before.
        last: The number of its last change, filtered ones included.
        changes: The changes in their order; one at least.
        newest: The newest change in the log.
        reader: Reads what is held now.

    """

    sink: str
    first: int
    last: int
    changes: Sequence[Change]
    newest: int
    reader: Reader

    @property
    def key(self) -> str:
        """A name of the batch by which a receiver can tell a second copy."""
        return f"{self.sink}:{self.first}-{self.last}"


@dataclass(frozen=True, slots=True)
class Outlet:
    """What sinks are given of the world.

    Attributes:
        folder: Where relative paths begin.
        state: The state file; a sink may keep a file beside it that begins with its
            name.
        contact: Under which people can reach whoever runs this.

    """

    folder: Path
    state: Path
    contact: str = ""

    def path(self, text: str) -> Path:
        """Return a path of the settings; relative ones begin at the settings file."""
        return self.folder / Path(text).expanduser()


@runtime_checkable
class Sink(Protocol):
    """Takes changes; at least once, and those of one key in their order."""

    def open(self) -> None:
        """Get ready; mend what a crash left behind. Raise ``DeliveryError``."""
        ...

    def deliver(self, batch: Batch) -> None:
        """Return when the changes are durable; raise ``DeliveryError`` if not.

        After an error the sink is closed, and made anew for the next try.
        """
        ...

    def close(self) -> None:
        """Let go of everything; nothing is under way."""
        ...

    def cancel(self) -> None:
        """Break off what is under way, if that can be; called in another thread."""
        ...


class SinkKind(Protocol):
    """What is registered as a kind of sink: its settings, and how one is made."""

    Settings: ClassVar[type[SinkConfig]]

    def __call__(self, settings: Any, outlet: Outlet) -> Sink:  # noqa: ANN401  (its own)
        """Return a sink; nothing is opened yet."""
        ...
