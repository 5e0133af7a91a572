"""Set sources made up for tests: objects come at an even pace and live as told."""

import numpy as np
from hypothesis import strategies as st

from halflife.core.lifetimes import Collection, Lives

INF = np.inf


def collection(looks, born, died, keys=None, name="world"):
    """Return what looks at these moments show of objects there from born to died."""
    looks = np.asarray(looks, float)
    born, died = np.asarray(born, float), np.asarray(died, float)
    start = np.searchsorted(looks, born, side="left")
    stop = np.searchsorted(looks, died, side="left") - 1
    seen = np.flatnonzero(stop >= start)
    start, stop = start[seen], stop[seen]
    before = np.where(start > 0, looks[np.maximum(start - 1, 0)], -INF)
    after = np.append(looks, INF)[stop + 1]
    names = tuple(str(i) for i in seen) if keys is None else keys
    lives = Lives(names, before, looks[start], looks[stop], after, {})
    return Collection(name, looks, lives, np.empty(0, np.intp), np.empty(0))


def arrival_survival(seed, *, days=120, rate=0.03, arrivals=15.0, looks=None):
    """Return a world of the paper: exponential lives, Poisson arrivals, in balance."""
    rng = np.random.default_rng(seed)
    there = rng.poisson(arrivals / rate)
    come = rng.poisson(arrivals * days)
    born = np.concatenate([np.full(there, -1.0), rng.uniform(0.0, days, come)])
    died = np.maximum(born, 0.0) + rng.exponential(1.0 / rate, born.size)
    return collection(np.arange(days + 1.0) if looks is None else looks, born, died)


@st.composite
def worlds(draw):
    """Return small worlds of all kinds: few looks, no deaths, all gone at once."""
    gaps = draw(st.lists(st.sampled_from([0.25, 1.0, 1.0, 2.0, 7.0]), max_size=25))
    looks = np.concatenate([[0.0], np.cumsum(gaps)])[: draw(st.integers(0, 26))]
    count = draw(st.integers(0, 30))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    born = rng.uniform(-20.0, 40.0, count)
    life = draw(st.sampled_from([0.1, 3.0, 30.0, 1e9]))
    died = born + rng.exponential(life, count)
    if draw(st.booleans()) and looks.size:
        died = np.minimum(died, looks[draw(st.integers(0, looks.size - 1))] + 0.1)
    return collection(looks, born, died)
