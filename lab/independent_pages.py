"""What the champion loses where pages have nothing in common.

``python -m lab.independent_pages`` makes up populations of pages that change
independently at lognormal rates (``bench.population``), replays the plain index and the
champion without one of its pieces at a time, and prints the freshness of each, one
figure for each population and seed. Then it says how far the rule is ahead of the plain
index, with the standard error over populations: a few heavy pages decide in each.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial

import numpy as np

from halflife.belief.neighbours import TRUST, Neighbours
from halflife.bench.population import poisson_recording, rates_and_weights
from halflife.core.arrays import Floats
from halflife.policies import Strategy
from halflife.policies.champion import PATIENCE, PatientIndex, champion
from halflife.policies.index import freshness
from halflife.policies.rounds import InRounds
from halflife.replay.pages import Replay


def without(*, patience: float = PATIENCE, trust: bool = True) -> Strategy:
    """Return the champion without patience, or without trust in neighbours."""
    degrees = TRUST if trust else np.zeros(1)
    policy = InRounds(PatientIndex("freshness", patience=patience))
    return Strategy(policy, partial(Neighbours, trust=degrees), "a variant")


RULES = {
    "freshness": freshness,
    "champion": champion,
    "champion without patience": without(patience=0.0),
    "champion without trust": without(trust=False),
    "champion without both": without(patience=0.0, trust=False),
}


def main(words: Sequence[str] | None = None) -> None:
    """Play the rules and print how fresh each kept the pages."""
    parser = argparse.ArgumentParser(prog="lab.independent_pages")
    parser.add_argument("--items", type=int, default=1200)
    parser.add_argument("--days", type=float, default=140.0)
    parser.add_argument("--share", type=float, default=0.03)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--populations", type=int, default=8)
    given = parser.parse_args(words)
    worlds = [_replay(given, number) for number in range(given.populations)]
    plain: Floats | None = None
    for name, rule in RULES.items():
        rows = [
            [replay.score(rule, seed).freshness for seed in range(given.seeds)]
            for replay in worlds
        ]
        mean = np.array(rows).mean(axis=1)
        plain = mean if plain is None else plain
        figures = ", ".join(f"{one:.4f}" for row in rows for one in row)
        sys.stdout.write(f"{name}: {figures}{_ahead(mean - plain)}\n")
        sys.stdout.flush()


def _replay(given: argparse.Namespace, number: int) -> Replay:
    """Return a replay of one of the populations."""
    rate, weight = rates_and_weights(given.items, 1 + 2 * number)
    recording = poisson_recording(rate, weight, given.days, 2 + 2 * number)
    budget, warm = given.share * given.items, min(40.0, given.days / 2.0)
    return Replay(recording, budget, 0.0, given.days, ticks=1, warm=warm)


def _ahead(gain: Floats) -> str:
    """Return the mean gain over the plain index and its standard error, in words."""
    if gain.size < 2:
        return ""
    error = gain.std(ddof=1) / np.sqrt(gain.size)
    return f"; {gain.mean():+.4f}, standard error {error:.4f}"


if __name__ == "__main__":
    main()
