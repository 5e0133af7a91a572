"""Small made-up recordings of text databases."""

import numpy as np

from halflife.summary.weekly import Weekly

WEEKS = 20


def world(rng, sites=4, documents=30, words=25):
    """Return databases that each prefer words of their own, with turnover."""
    counts = rng.integers(documents // 2, documents + 1, sites)
    total = int(counts.sum())
    home = np.repeat(np.arange(sites), counts)
    week_from = np.where(
        rng.random(total) < 0.4, 0, rng.integers(0, WEEKS, total)
    ).astype(np.intp)
    week_to = np.minimum(week_from + rng.integers(0, WEEKS, total), WEEKS - 1)
    week_to[0], week_from[0] = WEEKS - 1, 0
    terms = [
        np.unique((rng.integers(0, words, 8) + 5 * h * (rng.random(8) < 0.7)) % words)
        for h in home.tolist()
    ]
    vocabulary = np.empty(words, dtype=object)
    vocabulary[:] = [f"w{j}" for j in range(words)]
    page = np.empty(total, dtype=object)
    page[:] = [f"p{i % 17}" for i in range(total)]
    return Weekly(
        sites=tuple(f"site {'dbca'[i % 4]}{i}" for i in range(sites)),
        stratum=("com",) * sites,
        begin=np.zeros(sites),
        words=vocabulary,
        weeks=WEEKS,
        since=0,
        first=np.concatenate(([0], np.cumsum(counts))).astype(np.intp),
        page=page,
        week_from=week_from,
        week_to=week_to,
        start=np.concatenate(([0], np.cumsum([t.size for t in terms]))).astype(np.intp),
        term=np.concatenate(terms).astype(np.int32),
    )
