"""A sink that writes one change a line into a file."""

import os
import re
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from halflife.config.sinks import SinkConfig
from halflife.sinks import files
from halflife.sinks.event import as_lines
from halflife.sinks.protocol import Batch, Outlet

_BEGINS = b'{"seq":'  # the beginning of every line


class JsonLinesConfig(SinkConfig):
    """A file of JSON Lines; with ``rotate`` a new one begins after so many bytes.

    Attributes:
        kind: `jsonl`.
        path: The file or folder.
        rotate: Bytes after which a new file begins.

    """

    kind: Literal["jsonl"]
    batch: int = Field(default=2000, ge=1, le=100_000)  # pays for two transactions
    path: str = Field(min_length=1)
    rotate: int | None = Field(default=None, ge=1024)


class JsonLines:
    """Appends changes to a file and makes them durable.

    A line that a crash cut off is removed before the next is written, and the part of
    the batch that the file already has is not written twice. When the file would grow
    beyond ``rotate`` bytes, it becomes ``NAME.1``, ``NAME.2`` and so on, the oldest
    first.

    Args:
        settings: The file.
        outlet: Resolves relative paths.

    """

    Settings: ClassVar[type[SinkConfig]] = JsonLinesConfig

    def __init__(self, settings: JsonLinesConfig, outlet: Outlet) -> None:
        self._path, self._rotate = outlet.path(settings.path), settings.rotate
        self._handle = -1
        self._size = 0
        self._is_first = True  # of the batches since it was opened

    def open(self) -> None:
        """Open the file; remove an incomplete last line."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        self._handle = os.open(self._path, flags, 0o644)
        self._size = files.cut_torn_line(self._handle, _BEGINS, str(self._path))
        files.sync_folder(self._path.parent)

    def deliver(self, batch: Batch) -> None:
        """Append the changes."""
        data = as_lines(batch.changes)
        if self._is_first:
            data = data[self._written_bytes(data) :]
            self._is_first = False
        if self._rotate and self._size and self._size + len(data) > self._rotate:
            self._rename_full_file()
        files.append(self._handle, data, self._size)
        self._size += len(data)

    def close(self) -> None:
        """Close the file."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def cancel(self) -> None:
        """Do nothing: a write does not take long."""

    def _written_bytes(self, data: bytes) -> int:
        """Return how many bytes of a batch, whole lines, the file already ends with.

        Comparing the numbers of changes would not be enough: after a restored backup
        of the state file they stand for other changes.
        """
        start = max(self._size - len(data) - 1, 0)
        tail = os.pread(self._handle, self._size - start, start)
        last = tail[tail.rfind(b"\n", 0, -1) + 1 :]
        found = data.find(last) + len(last)  # where the last line ends in the batch
        ours = tail.endswith(b"\n" + data[:found]) or tail == data[:found]
        return found if last in data and ours else 0

    def _rename_full_file(self) -> None:
        self.close()
        self._path.rename(_next(self._path))
        self.open()


def _next(path: Path) -> Path:
    """Return the new name of a full file."""
    pattern = re.compile(re.escape(path.name) + r"\.(\d+)")
    found = (pattern.fullmatch(other.name) for other in path.parent.iterdir())
    number = max((int(match[1]) for match in found if match), default=0)
    return path.with_name(f"{path.name}.{number + 1}")
