"""How many faults are tried: a sample, or all if HALFLIFE_FAULTS is ``full``."""

import os

FULL = os.environ.get("HALFLIFE_FAULTS") == "full"


def count(everywhere, sample):
    """Return how many faults to try: all of them, or a sample."""
    return everywhere if FULL else sample


def shares(total, parts):
    """Return the numbers below total, dealt out to so many tests.

    >>> shares(7, 3)
    [[0, 3, 6], [1, 4], [2, 5]]
    """
    return [list(range(part, total, parts)) for part in range(parts)]
