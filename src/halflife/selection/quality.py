"""Quality measures of a selection of databases.

An order is rows of databases, best first, of those that are queried at all; relevant
is the number of documents in each database that answer the query.
"""

import numpy as np

from halflife.core.arrays import Floats, Ints


def recall(order: Ints, relevant: Floats, n: int) -> float:
    """Return the share of the relevant documents in the first n; nan if none is.

    >>> recall(np.array([2, 0]), np.array([1.0, 2.0, 1.0]), 1)
    0.25
    """
    total = float(relevant.sum())
    return float(relevant[order[:n]].sum()) / total if total > 0 else np.nan


def r_n(order: Ints, relevant: Floats, n: int) -> float:
    """Return recall of the first n over that of the best possible n.

    R_n: Gravano and Garcia-Molina, "Generalizing GlOSS to vector-space databases and
    broker hierarchies", VLDB 1995. nan if nothing is relevant.

    >>> r_n(np.array([2, 0]), np.array([1.0, 2.0, 1.0]), 1)
    0.5
    """
    best = float(np.sort(relevant)[::-1][:n].sum())
    return float(relevant[order[:n]].sum()) / best if best > 0 else np.nan


def ndcg(order: Ints, relevant: Floats, k: int) -> float:
    """Return DCG at k over that of the best order; nan if nothing is relevant.

    DCG = sum(gain(j) / log2(j + 1), j = 1..k), with the relevant documents as gain.
    Jarvelin and Kekalainen, "Cumulated gain-based evaluation", TOIS 2002.

    >>> round(ndcg(np.array([2, 0, 1]), np.array([0.0, 1.0, 0.0]), 3), 2)
    0.5
    """
    best = _gain(np.sort(relevant)[::-1][:k])
    return _gain(relevant[order[:k]]) / best if best > 0 else np.nan


def _gain(relevant: Floats) -> float:
    return float((relevant / np.log2(np.arange(2.0, relevant.size + 2.0))).sum())


def overlap(order: Ints, fresh: Ints, k: int) -> float:
    """Return how much the first k of two orders share: |A and B| / max(|A|, |B|).

    Orders may have fewer than k databases; nan if both are empty.

    >>> overlap(np.array([1, 2, 3]), np.array([3, 4]), 2)
    0.0
    >>> overlap(np.array([1, 2, 3]), np.array([3, 1]), 3)
    0.6666666666666666
    """
    first, second = order[:k], fresh[:k]
    longer = max(first.size, second.size)
    return np.intersect1d(first, second).size / longer if longer else np.nan
