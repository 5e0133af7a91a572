"""What the program asks of the system's allocator."""

import ctypes
from contextlib import suppress

LARGE = 1 << 20  # bytes; from this size on, what is freed goes back to the system
_MMAP_THRESHOLD = -3  # as glibc's malloc.h has it


def be_thrifty() -> None:
    """Let large arrays go back to the system as soon as they are not needed.

    Left to itself, glibc keeps what was freed once a large block has been: with a
    million items that is 30 MB, and more from turn to turn. Other C libraries have no
    such call, and are left to themselves.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, LARGE)
