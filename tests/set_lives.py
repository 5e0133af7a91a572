"""Lives with known rates, for tests of groups and of replays of set sources."""

import numpy as np

from halflife.core.lifetimes import Collection, Lives


def grown(
    rng, rates, *, days=60, arrivals=5.0, start=100, gap=1.0, values=None, name="set"
):
    """Return a source looked at every ``gap`` days, its objects of as many kinds.

    Kind k dies at ``rates[k]``; its label is ``values[k]``.
    """
    count = start + int(rng.poisson(arrivals * days))
    born = np.r_[np.full(start, -1.0), rng.uniform(0.0, days, count - start)]
    kind = rng.integers(len(rates), size=count)
    died = np.maximum(born, 0.0) + rng.exponential(1.0 / np.asarray(rates)[kind])
    looks = np.arange(0.0, days + gap / 2, gap)
    labels = np.array(values or [f"k{i}" for i in range(len(rates))], dtype=object)
    return seen(name, looks, born, died, {"kind": labels[kind]})


def seen(name, looks, born, died, attributes, keys=None):
    """Return what looks show of objects born and dead at exact moments."""
    first = np.searchsorted(looks, born)
    gone = np.searchsorted(looks, died)
    rows = np.flatnonzero(first < gone)
    first, gone = first[rows], gone[rows]
    padded = np.r_[-np.inf, looks, np.inf]
    lives = Lives(
        keys=tuple(keys[i] if keys else f"o{i}" for i in rows.tolist()),
        absent_before=padded[first],
        first_seen=looks[first],
        last_seen=looks[gone - 1],
        gone_by=padded[gone + 1],
        attributes={n: v[rows] for n, v in attributes.items()},
    )
    nothing = np.zeros(0)
    return Collection(name, looks, lives, nothing.astype(np.intp), nothing)
