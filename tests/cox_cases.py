"""Spells for tests of Cox's regression, and its likelihood written out plainly."""

import numpy as np

TRUE = np.array([0.5, -1.0, 0.1])


def spells(seed, n=300, p=3, strata=3, *, weekly=True, late=False):
    """Return covariates, times, whether they ended, strata and entries."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) * np.array([1.0, 0.3, 5.0])[:p]
    stratum = rng.integers(0, strata, n)
    life = (
        10.0 * (1 + stratum) * (rng.exponential(size=n) / np.exp(x @ TRUE[:p])) ** 0.8
    )
    entry = rng.uniform(0, 6, n) * (rng.random(n) < 0.5) if late else np.zeros(n)
    kept = life > entry
    x, stratum, life, entry = x[kept], stratum[kept], life[kept], entry[kept]
    watched = entry + rng.uniform(1, 30, life.size)
    time = np.minimum(life, watched)
    if weekly:
        time, entry = np.ceil(time), np.floor(entry)
    return x, time, life < watched, stratum, entry


def log_likelihood(beta, data, weight, ties):
    """Return the partial log-likelihood, one death time and one tie after another."""
    x, time, ended, stratum, entry = data
    total = 0.0
    risk = weight * np.exp(x @ beta)
    for s in np.unique(stratum):
        for t in np.unique(time[ended & (stratum == s)]):
            dead = ended & (stratum == s) & (time == t) & (entry < t)
            there = (stratum == s) & (time >= t) & (entry < t)
            m = int(dead.sum())
            if not m:
                continue
            total += float(weight[dead] @ (x[dead] @ beta))
            for k in range(m):
                part = k / m if ties == "efron" else 0.0
                left = risk[there].sum() - part * risk[dead].sum()
                total -= weight[dead].sum() / m * np.log(left)
    return total
