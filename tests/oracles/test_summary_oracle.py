import math

import numpy as np
import pytest
from scipy.stats import entropy

from halflife.summary import Summary, compare, kl
from halflife.summary.pairs import compare_all
from halflife.summary.tables import Summaries, compare as compare_tables

WORDS = [f"w{k}" for k in range(60)]


def slow(old, new):
    """The five metrics by their definitions, with sets and loops."""
    w_o, w_c = {w for w in old if old[w]}, {w for w in new if new[w]}
    both = w_o & w_c
    a, b = sum(old[w] for w in both), sum(new[w] for w in both)
    return {
        "ur": len(both) / len(w_c),
        "up": len(both) / len(w_o),
        "wr": b / sum(new.values()),
        "wp": a / sum(old.values()),
        "kl": sum(
            new[w] / b * math.log((new[w] / b) / (old[w] / a)) for w in sorted(both)
        ),
    }


def pair(seed):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.5, 8.0, (2, len(WORDS))))
    counts[:, :2] += 1
    return [dict(zip(WORDS, map(int, row), strict=True)) for row in counts]


PAIRS = [pair(seed) for seed in range(30)]


@pytest.mark.parametrize("old_new", PAIRS[:10], ids=range(10))
def test_metrics_of_a_pair_agree_with_their_definitions(old_new):
    found = compare(*old_new)
    for metric, value in slow(*old_new).items():
        assert found.of(metric)[0] == pytest.approx(value, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("base", [math.e, 2.0, 10.0])
def test_divergence_agrees_with_scipy(base):
    for old, new in PAIRS:
        both = [w for w in WORDS if old[w] and new[w]]
        theirs = entropy([new[w] for w in both], [old[w] for w in both], base=base)
        assert kl(old, new, base=base) == pytest.approx(theirs, rel=1e-11, abs=1e-14)


def test_tables_and_all_pairs_agree_with_the_definitions():
    tables = [
        Summaries.of({str(k): Summary.of(p[side], 1.0, 1) for k, p in enumerate(PAIRS)})
        for side in (0, 1)
    ]
    rows = compare_tables(*tables)
    dense = [np.array([[p[s][w] for w in WORDS] for p in PAIRS]) for s in (0, 1)]
    every = compare_all(*(d.astype(np.int32) for d in dense))
    for i, (old, _) in enumerate(PAIRS):
        for metric, value in slow(*PAIRS[i]).items():
            assert rows.of(metric)[i] == pytest.approx(value, rel=1e-12, abs=1e-13)
        for j in (0, i, 29):
            for metric, value in slow(old, PAIRS[j][1]).items():
                assert every.of(metric)[i, j] == pytest.approx(value, rel=1e-9)
