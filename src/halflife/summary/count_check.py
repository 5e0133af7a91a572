"""The divergence of a database from its summary, by the match counts of a few words.

Words are drawn by their share in the summary, f_o(w) / sum(f_o), and the database
reports how many documents match each now. With r = f_c / f_o and rho = r / E[r], both
over such draws from the words that still match,

    kl = E[rho ln rho]

exactly, since rho is p_c / p_o (``summary.metrics``). The mean of r is estimated from k
draws, which reduces the spread by a k-th:

    kl ~ k / (k - 1) mean(rho ln rho).

A database whose counts vary by chance, each by a variance s^2 of its logarithm, appears
to have moved by s^2 without a change; that is subtracted. Rounding is no such noise: a
count that did not change is rounded in the same way.

Five words are off by a factor of about three, and k words by as much less as the root
of k. So a summary that may drift as far as tau certainly holds if

    kl <= tau exp(-UNSURE / sqrt(k)).

Counts never show that a summary does not hold, only that they do not decide.
"""

from dataclasses import dataclass
from math import exp, log, nan, sqrt

import numpy as np

from halflife.core.arrays import Floats

WORDS = 5  # of a check: three to eight did as well for the same requests
FEWEST = 2  # words needed for a comparison
FEW = 3  # of a check that only tests whether a summary holds
UNSURE = 3.6  # of ln(kl) by one word, the error that is allowed for


@dataclass(frozen=True, slots=True)
class ReferenceCounts:
    """The match counts of some words from when a summary was made.

    Attributes:
        words: The words, drawn by their share in the summary; some more than once.
        counts: Documents that matched each.
        noise: The variance of the logarithm of a count by chance alone.
        version: The summary; 0 before it is stored.

    """

    words: tuple[str, ...]
    counts: tuple[float, ...]
    noise: float = 0.0
    version: int = 0


def counted_divergence(old: Floats, new: Floats, *, noise: float = 0.0) -> float:
    """Return the divergence by the counts of words that were drawn by their share.

    NaN if fewer than two words have both counts. Where most of the words have no
    matches any more, the others are weak evidence, and ln(words / words that match) is
    added: the divergence that words without matches would have, were they counted.

    Args:
        old: Documents with each word in the summary; NaN where unknown.
        new: Documents that match it now; NaN where unknown.
        noise: The variance of the logarithm of a count by chance alone.

    >>> round(counted_divergence(np.array([100.0, 50.0]), np.array([110.0, 45.0])), 6)
    0.010017

    """
    both = np.isfinite(new) & (old > 0)
    words = int(np.count_nonzero(both))
    if words < FEWEST:
        return nan
    matching = both & (new > 0)
    matches = int(np.count_nonzero(matching))
    gone = log(words / max(matches, 0.5)) if 2 * matches < words else 0.0
    if matches < FEWEST:
        return gone
    ratio = new[matching] / old[matching]
    rho = ratio / ratio.mean()
    divergence = float((rho * np.log(rho)).mean()) * matches / (matches - 1)
    return max(divergence - noise, 0.0) + gone


def count_noise(first: Floats, again: Floats) -> float:
    """Return the variance of the logarithm of a count, by words queried twice.

    0 if none was, or if both counts were always the same. Half the mean square of
    ln(again / first), as both vary.

    >>> round(count_noise(np.array([100.0, 40.0]), np.array([105.0, 40.0])), 6)
    0.000595
    """
    positive = (first > 0) & (again > 0)
    if not positive.any():
        return 0.0
    return float(np.mean(np.log(again[positive] / first[positive]) ** 2) / 2.0)


def safe_share(words: int) -> float:
    """Return the share of tau up to which ``words`` words show that a summary holds.

    >>> round(safe_share(3), 3), round(safe_share(5), 3)
    (0.125, 0.2)
    """
    return exp(-UNSURE / sqrt(max(words, 1)))
