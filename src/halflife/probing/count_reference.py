"""The match counts that a database is checked by: kept from when it was summarised.

The words that the size was found with were drawn by their share in the sample, and what
the database said of them is known (``sample_resample``). A check asks for a few of them
again, drawn anew each time. That is done only where the totals agree with the sample;
rounded ones do. Words at a limit are left out. A few words that were asked for twice
say by how much counts are off by chance: beyond ``LOUDEST`` they are of no use.
"""

import numpy as np
from numpy.random import Generator

from halflife.core.search import Searchable
from halflife.probing.sample import Sample
from halflife.probing.size import DatabaseSize
from halflife.probing.totals import USABLE
from halflife.summary.count_check import (
    WORDS,
    ReferenceCounts,
    count_noise,
    counted_divergence,
)

TWICE = 6  # words that are asked for twice at least
LOUDEST = 0.01  # variance of ln(count): a tenth, up or down; a check then sees 0.01
FEWEST = 2 * WORDS  # different words: with fewer, checks draw nearly the same ones


def reference(
    db: Searchable, sample: Sample, size: DatabaseSize
) -> ReferenceCounts | None:
    """Return the counts that checks go by; None if the database tells none of use."""
    drawn = size.drawn
    if drawn is None or size.told not in USABLE:
        return None
    known = np.isfinite(drawn.told) & (drawn.told > 0)
    words = tuple(w for w, ok in zip(drawn.words, known, strict=True) if ok)
    told = dict(zip(words, drawn.told[known].tolist(), strict=True))
    if len(told) < FEWEST:
        return None
    noise = _noise(db, sample, told)
    if not noise <= LOUDEST:
        return None
    return ReferenceCounts(words, tuple(told[w] for w in words), noise)


def _noise(db: Searchable, sample: Sample, told: dict[str, float]) -> float:
    """Return by how much counts are off by chance, by words asked for twice."""
    before = sample.totals
    again = {w: float(before[w]) for w in told if w in before}
    for word in [w for w in told if w not in again][: max(TWICE - len(again), 0)]:
        total = db.search(word, 1).total
        if total is not None:
            again[word] = float(total)
    if len(again) < TWICE:
        return np.inf  # it no longer tells
    first = np.array([told[w] for w in again])
    return count_noise(first, np.array(list(again.values())))


def check_counts(
    db: Searchable, known: ReferenceCounts, rng: Generator, words: int = WORDS
) -> float:
    """Return how far a database is from its summary by the counts of a few words.

    NaN if it did not tell enough of them. A word whose total is missing is left out,
    as nobody knows whether nothing matched.
    """
    names = list(dict.fromkeys(known.words))
    times = np.array([known.words.count(name) for name in names], np.float64)
    count = dict(zip(known.words, known.counts, strict=True))
    some = rng.choice(
        len(names), min(words, len(names)), replace=False, p=times / times.sum()
    )
    asked = [names[i] for i in some.tolist()]
    told = [db.search(word, 1).total for word in asked]
    return counted_divergence(
        np.array([count[word] for word in asked]),
        np.array([np.nan if n is None else n for n in told], np.float64),
        noise=known.noise,
    )
