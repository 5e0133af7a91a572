"""The program with a part that spins and never lets go: see test_signals_busy."""

import importlib
import sys
from pathlib import Path

from halflife.cli import main


def spin(*_, **__):
    Path("spinning").touch()
    while True:
        pass


if __name__ == "__main__":
    where, *words = sys.argv[1:]
    module, _, name = where.partition(":")
    holder = importlib.import_module(module)
    for part in name.split(".")[:-1]:
        holder = getattr(holder, part)
    setattr(holder, name.split(".")[-1], spin)
    sys.exit(main(words))
