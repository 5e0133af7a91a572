"""Small pools of queries, for tests."""

import numpy as np
from hypothesis import strategies as st

from halflife.core.arrays import Floats
from halflife.core.forms import Term
from halflife.queries.incidence import Incidence
from halflife.queries.known.keywords import Pool, pool_of

WORDS = tuple(Term("word", letter) for letter in "abcdefgh")


def relation(rows: list[set[int]]) -> Incidence:
    """Return records r0, r1 ... with words given by number."""
    names = [f"r{i}" for i in range(len(rows))]
    return Incidence.from_terms(names, [tuple(WORDS[w] for w in row) for row in rows])


rows = st.lists(
    st.sets(st.integers(0, 5), min_size=1, max_size=4), min_size=1, max_size=8
)


@st.composite
def worlds(draw: st.DrawFn, *, lookup: bool = True) -> tuple[Pool, Floats, Floats]:
    """Return a pool, what its records are worth, and hits on a server."""
    local = relation(draw(rows))
    pool = pool_of(local, together=draw(st.integers(1, 3)), lookup=lookup)
    more = draw(st.lists(st.integers(0, 30), min_size=len(pool), max_size=len(pool)))
    worth = st.sampled_from([0.5, 1.0, 1.0, 2.0, 3.7])
    value = draw(st.lists(worth, min_size=len(local), max_size=len(local)))
    hits = np.where(pool.lookup, 1.0, pool.held + np.array(more, dtype=float))
    return pool, np.array(value), hits
