"""The program with a part that spins and never lets go: see test_busy_signals.

A part named with ``stalled:`` before it waits a while, as for a slow disk, and goes on.
"""

import importlib
import sys
import time
from functools import wraps
from pathlib import Path

from halflife.cli import main


def spin(*_, **__):
    Path("spinning").touch()
    while True:
        pass


def stalled(part):
    @wraps(part)
    def wait(*args, **named):
        Path("spinning").touch()
        time.sleep(1.6)
        return part(*args, **named)

    return wait


if __name__ == "__main__":
    where, *words = sys.argv[1:]
    module, _, name = where.removeprefix("stalled:").partition(":")
    holder = importlib.import_module(module)
    for part in name.split(".")[:-1]:
        holder = getattr(holder, part)
    last = name.split(".")[-1]
    slow = where.startswith("stalled:")
    setattr(holder, last, stalled(getattr(holder, last)) if slow else spin)
    sys.exit(main(words))
