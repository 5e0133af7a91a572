"""What the champion loses where pages have nothing in common.

``python -m lab.independent_pages`` makes up pages that change independently at
lognormal rates (``bench.population``), replays the plain index and the champion without
one of its pieces at a time, and prints the freshness of each, one figure a seed.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial

import numpy as np

from halflife.belief.neighbours import TRUST, Neighbours
from halflife.bench.population import poisson_recording, rates_and_weights
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
    parser.add_argument("--seeds", type=int, default=2)
    given = parser.parse_args(words)
    rate, weight = rates_and_weights(given.items, 1)
    recording = poisson_recording(rate, weight, given.days, 2)
    budget, warm = given.share * given.items, min(40.0, given.days / 2.0)
    replay = Replay(recording, budget, 0.0, given.days, ticks=1, warm=warm)
    for name, rule in RULES.items():
        found = [replay.score(rule, seed).freshness for seed in range(given.seeds)]
        figures = ", ".join(f"{one:.4f}" for one in found)
        sys.stdout.write(f"{name}: {figures}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
