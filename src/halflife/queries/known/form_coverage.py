"""Server coverage from the hit counts that a form reports."""

import numpy as np
from numpy.random import Generator

from halflife.queries.known.coverage import (
    Reference,
    ScaledCorpus,
    count_matches,
    ratio,
)
from halflife.queries.known.keywords import Pool
from halflife.queries.ledger import Ledger


def count_hits(ledger: Ledger, pool: Pool, number: int) -> int | None:
    """Return the hits of a candidate, for a request; None if they are unknown.

    They are unknown if the count is capped, or not reported and there is more than a
    page.
    """
    query = pool.query(number)
    if query is None:
        return 1
    found = ledger.first(query)
    if not found.more:
        return len(found.records)
    cut = ledger.interface.counts == "capped" and found.total == ledger.interface.cap
    return None if cut else found.total


def learn_factor(
    pool: Pool, reference: Reference, ledger: Ledger, queries: int, rng: Generator
) -> ScaledCorpus:
    """Return a scaled reference; its factor is learned from a few counted queries.

    The queries are drawn in proportion to their count in the reference, without
    replacement, since the ratio is of sums; each costs a request.
    """
    shown = count_matches(pool, reference)
    fit = np.flatnonzero(shown > 0)
    weight = shown[fit] / shown[fit].sum()
    drawn = rng.choice(fit, min(queries, fit.size), replace=False, p=weight)
    hits = {int(j): count_hits(ledger, pool, int(j)) for j in drawn}
    reported = np.array([j for j, count in hits.items() if count is not None], np.intp)
    counts = np.array([hits[int(j)] for j in reported], dtype=np.float64)
    return ScaledCorpus(reference, ratio(counts, shown[reported]))
