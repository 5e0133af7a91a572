"""What the program asks of the system's allocator."""

import ctypes
from contextlib import suppress

LARGE = 1 << 20  # bytes; from this size on, what is freed goes back to the system
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # as glibc's malloc.h has them


def be_thrifty() -> None:
    """Let large arrays go back to the system as soon as they are not needed.

    Left to itself, glibc keeps what was freed once a large block has been: with a
    million items that is 30 MB. And it gives each thread a heap of its own, which
    keeps what the thread's largest piece of work took: Python's threads wait for each
    other anyway, so one heap will do. Other C libraries have no such call, and are
    left to themselves.
    """
    with suppress(AttributeError, OSError):
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, LARGE)
        library.mallopt(_ARENA_MAX, 1)
