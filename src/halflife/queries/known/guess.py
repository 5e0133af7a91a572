"""Estimate the hits of queries that were not sent: section 4.1 of the paper.

By default the copy itself is the similar relation, with a factor learned from the
queries of a turn (``coverage.ReportedCoverage``). Two other methods cost requests at
first, and their results are kept: a factor from random queries that are counted
(``corpus``), and the co-occurrence of terms in a random sample of the server
(``sample``). The corpus is the copy, or a collection with known word counts.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from halflife.core.errors import BudgetSpent
from halflife.core.forms import Interface, Term
from halflife.core.object_store import Attributes
from halflife.queries.incidence import Incidence
from halflife.queries.known.association import SampledCoverage
from halflife.queries.known.coverage import (
    Factor,
    Hits,
    Reference,
    ScaledCorpus,
    count_matches,
    ratio,
)
from halflife.queries.known.keywords import Pool
from halflife.queries.known.word_counts import WordCounts
from halflife.queries.ledger import Ledger
from halflife.queries.sampling import DrawnSoFar, SampleDrawing

Coverage: TypeAlias = Literal["held", "corpus", "sample"]
Row: TypeAlias = dict[str, Any]

COUNTED = 5  # queries that the factor is learned from
DRAWN = 60  # records of a sample
OLD = 30.0  # days after which everything is learned again
SHARE = 0.5  # share of a turn's requests for it, at most


@dataclass(frozen=True)
class Guess:
    """What is known of the server beside the copy.

    Attributes:
        at: When it began to be learned, in days.
        factor: How many times larger the server is than the copy, or than the corpus;
            0 if unknown.
        error: Its standard error.
        counted: The number of queries that the factor was learned from.
        drawn: The sample.
        size: Records on the server, as the sample estimates.
        margins: How many records of the server have a term, where it was reported.

    """

    at: float
    factor: float = 0.0
    error: float = 0.0
    counted: int = 0
    drawn: DrawnSoFar = field(default_factory=DrawnSoFar)
    size: float = 0.0
    margins: Mapping[Term, float] = field(default_factory=dict, repr=False)

    def hits(
        self,
        interface: Interface,
        records: Mapping[str, Attributes],
        pool: Pool,
        corpus: WordCounts | None = None,
    ) -> Hits | None:
        """Return how many records answer each candidate; None if unknown."""
        if self.factor > 0:
            reference = corpus or Incidence.of(interface, records)
            factor = Factor(self.factor, self.error, self.counted)
            return ScaledCorpus(reference, factor).hits(pool)
        sample = {key: records[key] for key in self.drawn.keys if key in records}
        if not sample or not self.drawn.complete:
            return None
        size = max(self.size, float(len(sample)), float(len(records)))
        return SampledCoverage(
            Incidence.of(interface, sample), size, self.margins
        ).hits(pool)


def is_learned(coverage: Coverage, guess: Guess | None, now: float) -> bool:
    """Return whether a method has all that it needs to estimate hits."""
    if coverage == "held":
        return True
    if guess is None or now - guess.at > OLD:
        return False
    return guess.counted > 0 if coverage == "corpus" else guess.drawn.complete


def learn(
    coverage: Coverage,
    before: Guess | None,
    pool: Pool,
    records: Mapping[str, Attributes],
    asked: tuple[Ledger, float, Generator],
    corpus: WordCounts | None = None,
) -> Guess:
    """Return the estimate after more queries, with at most half of the requests left.

    Args:
        coverage: The method.
        before: The estimate so far.
        pool: The candidates.
        records: The copy.
        asked: The ledger, the time, and the source of randomness.
        corpus: The collection to scale; the copy if None.

    """
    ledger, now, rng = asked
    known = before if before is not None and now - before.at <= OLD else Guess(now)
    if coverage == "corpus":
        return _counted(known, pool, corpus or pool.local, ledger, rng)
    return _drawn(known, records, ledger, rng)


def _counted(
    known: Guess, pool: Pool, corpus: Reference, ledger: Ledger, rng: Generator
) -> Guess:
    """Return the factor by which the server is larger than the corpus."""
    searches = pool.only(~pool.lookup)
    if not len(searches):
        return replace(known, factor=1.0, counted=1)
    try:
        found = learn_factor(searches, corpus, ledger, COUNTED, rng).factor
    except ValueError:  # the form does not report its counts
        return replace(known, factor=1.0, counted=1)
    error = found.error if found.queries > 1 else found.value
    return replace(known, factor=found.value, error=error, counted=found.queries)


def _drawn(
    known: Guess, records: Mapping[str, Attributes], ledger: Ledger, rng: Generator
) -> Guess:
    """Return the sample after some more walks, and the hits reported on them."""
    most = None if ledger.left is None else SHARE * ledger.left
    drawing = SampleDrawing(ledger, DRAWN, known=records, before=known.drawn)
    before = ledger.requests
    with suppress(BudgetSpent):  # the next request will raise it again
        while not drawing.over and (most is None or ledger.requests - before < most):
            ledger.check_stop()
            drawing.walk(rng)
    margins = {
        query.terms[0]: float(total)
        for query, total in ledger.totals.items()
        if len(query) == 1 and total is not None
    }
    drawn = drawing.so_far()
    size = drawn.sum / max(drawn.walks, 1)
    margins = {**known.margins, **margins}
    return replace(known, drawn=drawn, size=size, margins=margins)


def write_guess(guess: Guess) -> Row:
    """Return an estimate as JSON values."""
    rest = {name: getattr(guess, name) for name in ("at", "factor", "error", "counted")}
    margins = [[t.attribute, t.value, n] for t, n in guess.margins.items()]
    drawn = asdict(guess.drawn)
    return {**rest, "drawn": drawn, "size": guess.size, "margins": margins}


def read_guess(row: Row) -> Guess:
    """Return the estimate stored in a row."""
    drawn = row["drawn"]
    return Guess(
        float(row["at"]),
        float(row["factor"]),
        float(row["error"]),
        int(row["counted"]),
        DrawnSoFar(
            tuple(map(str, drawn["keys"])), tuple(map(float, drawn["chances"])),
            float(drawn["sum"]), int(drawn["walks"]), int(drawn["idle"]),
            bool(drawn["complete"]),
        ),
        float(row["size"]),
        {Term(str(a), str(v)): float(n) for a, v, n in row["margins"]},
    )  # fmt: skip


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
