"""The reference match counts of a database, from when it was summarised.

The words by which the size was estimated were drawn by their share in the sample, and
their match counts are known (``sample_resample``). A check queries a few of them again,
drawn independently each time. Reference counts exist only where the totals agree with
the sample; rounded ones do. Words at a limit are left out. Words that were queried
twice show the noise of counts: beyond ``LOUDEST`` they are useless.
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

TWICE = 6  # words that are queried twice, at least
LOUDEST = 0.01  # variance of ln(count): a tenth, up or down; a check then sees 0.01
FEWEST = 2 * WORDS  # different words: with fewer, checks draw nearly the same ones


def reference(
    db: Searchable, sample: Sample, size: DatabaseSize
) -> ReferenceCounts | None:
    """Return the reference counts for checks; None if the totals are not usable."""
    drawn = size.drawn
    if drawn is None or size.trust not in USABLE:
        return None
    known = np.isfinite(drawn.totals) & (drawn.totals > 0)
    words = tuple(w for w, ok in zip(drawn.words, known, strict=True) if ok)
    counts = dict(zip(words, drawn.totals[known].tolist(), strict=True))
    if len(counts) < FEWEST:
        return None
    noise = _noise(db, sample, counts)
    if not noise <= LOUDEST:
        return None
    return ReferenceCounts(words, tuple(counts[w] for w in words), noise)


def _noise(db: Searchable, sample: Sample, counts: dict[str, float]) -> float:
    """Return the noise of counts, by words queried twice."""
    before = sample.totals
    again = {w: float(before[w]) for w in counts if w in before}
    for word in [w for w in counts if w not in again][: max(TWICE - len(again), 0)]:
        total = db.search(word, 1).total
        if total is not None:
            again[word] = float(total)
    if len(again) < TWICE:
        return np.inf  # it no longer reports totals
    first = np.array([counts[w] for w in again])
    return count_noise(first, np.array(list(again.values())))


def check_counts(
    db: Searchable, reference_: ReferenceCounts, rng: Generator, words: int = WORDS
) -> float:
    """Return the divergence of a database from its summary by counts of a few words.

    NaN if it reported too few of them. A word whose total is missing is left out, as
    that does not mean that nothing matched.
    """
    names = list(dict.fromkeys(reference_.words))
    times = np.array([reference_.words.count(name) for name in names], np.float64)
    count = dict(zip(reference_.words, reference_.counts, strict=True))
    chosen = rng.choice(
        len(names), min(words, len(names)), replace=False, p=times / times.sum()
    )
    drawn = [names[i] for i in chosen.tolist()]
    totals = [db.search(word, 1).total for word in drawn]
    return counted_divergence(
        np.array([count[word] for word in drawn]),
        np.array([np.nan if n is None else n for n in totals], np.float64),
        noise=reference_.noise,
    )
