"""Every version of a database's summary against every other, in matrix form.

With F a matrix of counts (versions x words) and I = (F > 0), the sums of all pairs
are products of matrices, for

    kl(o, c) = (sum(c log c, S) - sum(c log o, S)) / C + log(O / C)

where O and C are the counts of the old and the new version on the shared words S.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Floats, Ints
from halflife.summary.metrics import SummaryChange, SummaryOverlap

Counts: TypeAlias = NDArray[np.float64] | NDArray[np.int32]

BLOCK = 8192  # words at a time, which bounds the memory

SMALL = 1 << 18  # multiplications in a product that OpenBLAS does without threads

# Below this the sums of logarithms cannot distinguish a divergence from 0.
LEAST = 1e-13

# Odd multipliers, from the golden ratio; a collision of the hash only costs time.
MIX = np.arange(1, 257, dtype=np.uint64) ** np.uint64(3) * np.uint64(
    0x9E3779B97F4A7C15
) | np.uint64(1)


def compare_all(old: Counts, new: Counts) -> SummaryChange:
    """Compare each row of ``old`` with each row of ``new``; same columns.

    Rows are versions, columns words and values counts. The metrics come back as
    matrices, old versions down and new ones across.
    """
    if old.ndim != 2 or new.ndim != 2 or old.shape[1] != new.shape[1]:
        raise ValueError(f"versions with different words: {old.shape} and {new.shape}")
    shape = old.shape[0], new.shape[0]
    first, times = word_groups(old, new)
    sums = np.zeros((9, *shape))
    for begin in range(0, first.size, BLOCK):
        block = slice(begin, begin + BLOCK)
        a, b = (side[:, first[block]].astype(np.float64) for side in (old, new))
        sums += _sums(a, b, times[block])
    return _change(sums)


def word_groups(old: Counts, new: Counts) -> tuple[Ints, Floats]:
    """Return one word of each group with the same counts in all rows, and group sizes.

    Most words of a database are in the same few documents, so that there are far fewer
    histories than words. Groups are found by a hash, which is then checked.
    """
    code = np.zeros(old.shape[1], dtype=np.uint64)
    for k, row in enumerate((*old, *new)):
        code += _bits(row) * MIX[k % MIX.size] ^ (code >> np.uint64(29))
    _, first, group = np.unique(code, return_index=True, return_inverse=True)
    chosen = first[group]
    if all((row == row[chosen]).all() for row in (*old, *new)):
        return first, np.bincount(group, minlength=first.size).astype(np.float64)
    return np.arange(old.shape[1]), np.ones(old.shape[1])


def _bits(row: Counts) -> NDArray[np.uint64]:
    return np.ascontiguousarray(row, dtype=np.float64).view(np.uint64)


def _sums(a: Floats, b: Floats, times: Floats) -> Floats:
    """Return the nine sums over some words from which the metrics are computed."""
    if not all((np.isfinite(side) & (side >= 0)).all() for side in (a, b)):
        raise ValueError("counts of words must be finite and not below 0")
    in_a, in_b = ((side > 0).astype(np.float64) for side in (a, b))
    log_a, log_b = (np.log(np.where(side > 0, side, 1.0)) for side in (a, b))
    shape = a.shape[0], b.shape[0]
    return np.stack(
        [
            np.broadcast_to((in_a @ times)[:, None], shape),
            np.broadcast_to(in_b @ times, shape),
            product(in_a * times, in_b),
            np.broadcast_to((a @ times)[:, None], shape),
            np.broadcast_to(b @ times, shape),
            product(a * times, in_b),
            product(in_a * times, b),
            product(in_a * times, b * log_b),
            product(log_a * times, b),
        ]
    )


def product(a: Floats, b: Floats) -> Floats:
    """Return ``a @ b.T`` for few long rows, in pieces too small for threads.

    Threads that wait for each other cost more here than they gain: on a busy machine
    the plain product takes twenty times as long.
    """
    width = max(SMALL // (a.shape[0] * b.shape[0]), 1)
    missing = -a.shape[1] % width
    pieces = [
        np.pad(side, ((0, 0), (0, missing)))
        .reshape(side.shape[0], -1, width)
        .transpose(1, 0, 2)
        for side in (a, b)
    ]
    total: Floats = np.matmul(pieces[0], pieces[1].transpose(0, 2, 1)).sum(axis=0)
    return total


def _change(sums: Floats) -> SummaryChange:
    overlap = SummaryOverlap(*sums[:7])
    shared = overlap.shared > 0
    a, b = (np.where(shared, x, 1.0) for x in (overlap.old_shared, overlap.new_shared))
    divergence = (sums[7] - sums[8]) / b + np.log(a / b)
    return overlap.change(np.where(divergence < LEAST, 0.0, divergence))
