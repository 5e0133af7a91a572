"""Files that are complete after a crash: replaced at once, or repaired at the end."""

import os
from contextlib import suppress
from pathlib import Path

from halflife.sinks.protocol import DeliveryError

_TAIL = 1 << 16  # bytes that are read at a time to find the end of the last line


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file by a new one, durably, or leave it as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def cut_torn_line(handle: int, begins: bytes, name: str) -> int:
    """Remove a last line that a crash left incomplete; return the file's size.

    A line that does not begin like ours was not written here: raise ``DeliveryError``
    and leave it.
    """
    size = os.fstat(handle).st_size
    end = _end_of_lines(handle, size)
    torn = os.pread(handle, min(size - end, len(begins)), end)
    if not begins.startswith(torn):
        raise DeliveryError(
            f"{name} does not end with a line of ours; name another file in path"
        )
    if end < size:
        os.ftruncate(handle, end)
        os.fsync(handle)
    return end


def _end_of_lines(handle: int, size: int) -> int:
    """Return where the last complete line ends."""
    place = size
    while place > 0:
        start = max(place - _TAIL, 0)
        found = os.pread(handle, place - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        place = start
    return 0


def append(handle: int, data: bytes, size: int) -> None:
    """Append to a file of a known size, durably, or change nothing."""
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(handle, left) :]
        os.fsync(handle)
    except OSError:  # the disk is full, after a part was written
        with suppress(OSError):
            os.ftruncate(handle, size)
        raise
