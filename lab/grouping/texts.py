"""Pages that read alike: clusters of their words.

A page is the vector of its terms, each weighted by ln(N / N(t)) so that what is on
every page counts for nothing, and scaled to length 1. Spherical k-means (Dhillon and
Modha, Machine Learning 2001) moves k directions until each is the mean of the pages
nearest to it; they start at pages drawn one by one with chances in proportion to
their distance 1 - cos from those drawn before (Arthur and Vassilvitskii, SODA 2007).
"""

from collections.abc import Sequence
from math import sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats, Ints
from halflife.core.categories import Categories

ROUNDS = 25
_ROWS = 8192  # at a time, so that scratch space stays small

Sparse: TypeAlias = Any  # a matrix of scipy.sparse, which has no types


def usual_number(pages: int) -> int:
    """Return how many clusters so many pages are cut into: about sqrt(n / 2).

    Mardia, Kent and Bibby, "Multivariate analysis", 1979.

    >>> usual_number(200)
    10
    """
    return max(1, round(sqrt(pages / 2.0)))


def clusters(
    terms: Categories,
    rng: Generator,
    *,
    k: int | None = None,
    rounds: int = ROUNDS,
) -> Categories:
    """Return pages that share terms, at most ``k`` categories of them.

    A page is in one, or in none if no term tells it from the others. A category is
    named by its number and its three heaviest terms; none is empty.
    """
    vectors = _vectors(terms)
    pages = np.flatnonzero(np.diff(vectors.indptr))
    if pages.size == 0:
        return Categories.of_pairs((), pages, pages, terms.n_items)
    vectors = vectors[pages]
    number = min(usual_number(pages.size) if k is None else max(k, 1), pages.size)
    label, centres = k_means(vectors, _seeds(vectors, number, rng), rounds)
    used, code = np.unique(label, return_inverse=True)
    names = _names(centres[used], terms.names)
    return Categories.of_pairs(names, code, pages, terms.n_items)


def k_means(vectors: Sparse, centres: Floats, rounds: int) -> tuple[Ints, Floats]:
    """Return the nearest centre of each row, and the centres when they rest.

    ``vectors`` have length 1, row by row. A centre that no row is nearest to stays.
    """
    label = _nearest(vectors, centres)
    for _ in range(rounds):
        centres = _means(vectors, label, centres)
        after = _nearest(vectors, centres)
        if np.array_equal(after, label):
            break
        label = after
    return label, centres


def _vectors(terms: Categories) -> Sparse:
    """Return the pages' weighted terms, a row a page, of length 1 or empty."""
    from scipy import sparse  # noqa: PLC0415  (slow)

    size = terms.size
    pages = np.unique(terms.item).size
    weight = np.log(max(pages, 1) / np.maximum(size, 1))
    shape = (terms.n_items, len(terms))
    columns = (np.repeat(weight, size), terms.item, terms.start)
    rows = sparse.csc_array(columns, shape=shape).tocsr()
    rows.eliminate_zeros()
    length = np.sqrt(np.asarray(rows.power(2).sum(axis=1)).ravel())
    rows.data /= np.repeat(length, np.diff(rows.indptr))
    return rows


def _seeds(vectors: Sparse, number: int, rng: Generator) -> Floats:
    """Return pages far from each other as the first centres."""
    far = np.ones(vectors.shape[0])
    centres = np.zeros((number, vectors.shape[1]))
    for row in centres:
        reach = np.cumsum(far)
        if reach[-1] <= 0:
            break
        drawn = int(np.searchsorted(reach, rng.random() * reach[-1], side="right"))
        drawn = min(drawn, far.size - 1)
        row[:] = vectors[[drawn]].toarray()[0]
        far = np.minimum(far, np.maximum(1.0 - vectors @ row, 0.0))
        far[far < 1e-12] = 0.0  # a page like one drawn is no new centre
    return centres


def _nearest(vectors: Sparse, centres: Floats) -> Ints:
    """Return the centre of the smallest angle to each row."""
    across = np.ascontiguousarray(centres.T)
    starts = range(0, vectors.shape[0], _ROWS)
    parts = [(vectors[s : s + _ROWS] @ across).argmax(axis=1) for s in starts]
    return np.concatenate(parts)


def _means(vectors: Sparse, label: Ints, centres: Floats) -> Floats:
    from scipy import sparse  # noqa: PLC0415  (slow)

    rows = np.arange(label.size)
    shape = (len(centres), label.size)
    member = sparse.csr_array((np.ones(label.size), (label, rows)), shape=shape)
    total: Floats = (member @ vectors).toarray()
    length = np.sqrt(np.square(total).sum(axis=1, keepdims=True))
    return np.where(length > 0, total / np.where(length > 0, length, 1.0), centres)


def _names(centres: Floats, terms: Sequence[str]) -> list[str]:
    heavy = np.argsort(-centres, axis=1, kind="stable")[:, :3]
    return [
        f"{i} " + " ".join(terms[j] for j in row if centres[i, j] > 0)
        for i, row in enumerate(heavy.tolist())
    ]
