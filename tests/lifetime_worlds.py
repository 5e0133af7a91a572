"""Made-up sources whose objects live as long as a law says, seen through looks."""

import numpy as np

from halflife.core.lifetimes import Lives


def watched(looks, birth, death):
    """Return what looks show of objects that were there from birth until death."""
    first = np.searchsorted(looks, birth, side="left")
    after = np.searchsorted(looks, death, side="left")
    seen = first < after
    first, after = first[seen], after[seen]
    padded = np.concatenate(([-np.inf], looks, [np.inf]))
    return Lives(
        keys=tuple(map(str, np.flatnonzero(seen).tolist())),
        absent_before=padded[first],
        first_seen=looks[first],
        last_seen=looks[after - 1],
        gone_by=padded[after + 1],
        attributes={},
    )


def world(seed, *, shape=1.0, mean=60.0, gaps=(1, 1), days=300, rate=8.0, past=600):
    """Return the looks at, and lives of, a source in equilibrium; scale ``mean``."""
    rng = np.random.default_rng(seed)
    looks = np.cumsum(rng.integers(gaps[0], gaps[1] + 1, days)).astype(float)
    looks = looks[looks <= days]
    birth = rng.uniform(-past, days, rng.poisson(rate * (days + past)))
    return looks, watched(looks, birth, birth + mean * rng.weibull(shape, birth.size))
