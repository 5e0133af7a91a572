"""Small webs of pages, links and terms."""

import hypothesis.strategies as st
import numpy as np

from halflife.core.categories import Categories
from halflife.grouping.topic import LinkMatrix


@st.composite
def webs(draw, pages=12, terms=4):
    n = draw(st.integers(1, pages))
    page = st.integers(0, n - 1)
    ends = draw(st.lists(st.tuples(page, page), max_size=4 * n))
    holds = draw(st.lists(st.tuples(st.integers(0, terms - 1), page), max_size=3 * n))
    return web(n, ends, holds, terms)


def web(n, ends, holds, terms):
    source, target = np.array(ends, np.intp).reshape(-1, 2).T
    term, page = np.array(holds, np.intp).reshape(-1, 2).T
    names = [f"t{i}" for i in range(terms)]
    links = LinkMatrix.of_pairs(source, target, n)
    return links, Categories.of_pairs(names, term, page, n)


def random_web(n, links, terms, seed):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n, (links, 2))
    holds = np.column_stack([rng.integers(0, terms, 3 * n), rng.integers(0, n, 3 * n)])
    return web(n, ends, holds, terms)


def solved(links, terms, jump, kept=None):
    """The reputations by a dense solution of (I - (1 - d) P') R = d B."""
    n, out = links.n_pages, links.out
    step = np.zeros((n, n))
    for link, (q, p) in enumerate(zip(links.source, links.target, strict=True)):
        if kept is None or kept[link]:
            step[p, q] += (1.0 - jump) / out[q]
    begin = np.zeros((n, len(terms)))
    for t in range(len(terms)):
        if terms.size[t]:
            begin[terms.members(t), t] = jump / terms.size[t]
    return np.linalg.solve(np.eye(n) - step, begin)
