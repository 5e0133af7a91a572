"""How far a database is from its summary, by the match counts of a few words.

Words are drawn by their share in the summary, f_o(w) / sum(f_o), and the database is
asked how many documents match each now. With r = f_c / f_o and rho = r / E[r], both
over such draws from the words that still match,

    kl = E[rho ln rho]

exactly, since rho is p_c / p_o (``summary.metrics``). Of k draws the mean of r is not
known but estimated, which takes a k-th of the spread away:

    kl ~ k / (k - 1) mean(rho ln rho).

A database whose counts are off by chance, each by a variance s^2 of its logarithm,
seems to have moved by s^2 where nothing did; that is taken off. Rounding is no such
chance: a count that did not change is rounded the same way.

Five words are off by a factor of three or so, and k words by as much less as the root
of k says. So a summary that may drift as far as tau holds for sure if

    kl <= tau exp(-UNSURE / sqrt(k)).

That it does not hold is never said by counts, only that they do not tell.
"""

from dataclasses import dataclass
from math import exp, log, nan, sqrt

import numpy as np

from halflife.core.arrays import Floats

WORDS = 5  # of a check: three to eight did as well for the same requests
FEWEST = 2  # words without which nothing can be compared
FEW = 3  # of a check that only asks whether a summary holds
UNSURE = 3.6  # of ln(kl) by one word, the error that is allowed for


@dataclass(frozen=True, slots=True)
class ReferenceCounts:
    """What a database told of some words when its summary was made.

    Attributes:
        words: The words, drawn by their share in the summary; some more than once.
        counts: Documents that matched each.
        noise: The variance of the logarithm of a count by chance alone.
        version: The summary; 0 before it is kept.

    """

    words: tuple[str, ...]
    counts: tuple[float, ...]
    noise: float = 0.0
    version: int = 0


def counted_divergence(old: Floats, new: Floats, *, noise: float = 0.0) -> float:
    """Return the divergence by the counts of words that were drawn by their share.

    NaN if fewer than two words have both counts. Where most of the words no longer
    match anything, the others tell little of it, and ln(words / words that match) is
    added: the divergence that words without matches would have, were they counted.

    Args:
        old: Documents with each word in the summary; NaN where that is not known.
        new: Documents that match it now; the same.
        noise: The variance of the logarithm of a count by chance alone.

    >>> round(counted_divergence(np.array([100.0, 50.0]), np.array([110.0, 45.0])), 6)
    0.010017

    """
    known = np.isfinite(new) & (old > 0)
    many = int(np.count_nonzero(known))
    if many < FEWEST:
        return nan
    left = known & (new > 0)
    same = int(np.count_nonzero(left))
    gone = log(many / max(same, 0.5)) if 2 * same < many else 0.0
    if same < FEWEST:
        return gone
    ratio = new[left] / old[left]
    rho = ratio / ratio.mean()
    found = float((rho * np.log(rho)).mean()) * same / (same - 1)
    return max(found - noise, 0.0) + gone


def count_noise(first: Floats, again: Floats) -> float:
    """Return the variance of the logarithm of a count, by words asked for twice.

    0 if none was, or if both counts were always the same. Half the mean square of
    ln(again / first), as both are off.

    >>> round(count_noise(np.array([100.0, 40.0]), np.array([105.0, 40.0])), 6)
    0.000595
    """
    some = (first > 0) & (again > 0)
    if not some.any():
        return 0.0
    return float(np.mean(np.log(again[some] / first[some]) ** 2) / 2.0)


def clear(words: int) -> float:
    """Return the part of tau up to which so many words show that a summary holds.

    >>> round(clear(3), 3), round(clear(5), 3)
    (0.125, 0.2)
    """
    return exp(-UNSURE / sqrt(max(words, 1)))
