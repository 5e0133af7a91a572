"""Measure a figure that the documentation claims.

    python -m lab.bench NAME [--items N] [--seeds N]

prints it as JSON; NAME is ``fit``, ``index``, ``learn``, ``lifetimes`` or ``turns``.
``halflife bench allocate`` is the one that comes with the package.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from lab import fit, known_rates, lifetime_fits, turns

Rows: TypeAlias = Sequence[Mapping[str, object]]

BENCHES: dict[str, Callable[[int | None, int], Rows]] = {
    "fit": lambda items, _: [fit.run(items or 100_000)],
    "index": lambda items, _: [known_rates.known_rates(items or 10_000)],
    "learn": lambda items, seeds: known_rates.learning(seeds, items=items or 2000),
    "lifetimes": lambda items, _: [lifetime_fits.run(items or 50_000)],
    "turns": lambda items, _: [turns.run(items or 1_000_000)],
}


def main(words: Sequence[str] | None = None) -> None:
    """Print what a bench measured."""
    parser = argparse.ArgumentParser(prog="lab.bench", description=__doc__)
    parser.add_argument("name", choices=sorted(BENCHES))
    parser.add_argument("--items", type=int, default=None)
    parser.add_argument("--seeds", type=int, default=20, help="repetitions (learn)")
    given = parser.parse_args(words)
    rows = BENCHES[given.name](given.items, given.seeds)
    only = rows[0] if len(rows) == 1 else {}
    answer = {"bench": given.name, **only, "results": rows}
    sys.stdout.write(json.dumps(answer, indent=2) + "\n")


if __name__ == "__main__":
    main()
