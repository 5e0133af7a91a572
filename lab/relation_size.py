"""How many records a database behind a form holds."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from math import inf

import numpy as np
from numpy.random import Generator

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats
from halflife.core.errors import BudgetSpent
from halflife.core.forms import Query
from halflife.core.object_store import Attributes
from halflife.probing.size import LEVEL, SizeInterval, ratio
from halflife.queries.completeness import QueryReader
from halflife.queries.drill_down import Drill, DrillWalk
from halflife.queries.ledger import Ledger
from halflife.queries.levels import Guide, LocalChances
from lab.capture import chapman


class FormSizeMethod(StrEnum):
    """How a size was found."""

    COUNT = "the form counts everything"
    WALKS = "drill-downs"
    RECAPTURE = "capture-recapture"


@dataclass(frozen=True, slots=True)
class RelationSize:
    """How many records a database holds.

    Attributes:
        mean: The estimate.
        low: Lower bound of its interval.
        high: Upper bound; infinity if there is none.
        requests: Requests that it took.
        method: How it was found.
        walks: Drill-downs that it rests on.
        unresolved: Share of these that ended with more hits than could be read: where
            it is not 0 there may be records beyond reach, which are not in the
            estimate.

    """

    mean: float
    low: float
    high: float
    requests: int
    method: FormSizeMethod = FormSizeMethod.WALKS
    walks: int = 0
    unresolved: float = 0.0


def estimate(
    ledger: Ledger,
    walks: int,
    rng: Generator,
    *,
    known: Iterable[Attributes] | LocalChances = (),
    guide: Guide = "known",
    level: float = LEVEL,
) -> RelationSize:
    """Return how many records a database holds.

    One request is enough if the form answers the empty query and counts exactly.
    Otherwise it is the mean over random drill-downs of sum(1/chance) over the records
    found, which is unbiased (Horvitz and Thompson), of all records that drill-downs
    can reach. If these find nothing that can be read whole, words or values are asked
    for at random and the size is that of capture and recapture, which is too small
    where some records are easier to find than others.

    Args:
        ledger: Where the requests are counted; when they are spent, the walks made so
            far count.
        walks: Drill-downs to make.
        rng: Chance.
        known: Records seen before; their values are asked for, too.
        guide: Chances of the conditions; see ``halflife.queries.drill_down.Drill``.
        level: Chance that the interval is meant to hold the size.

    """
    before = ledger.requests
    interface = ledger.interface
    if interface.everything and interface.counts == "exact":
        total = ledger.first(Query()).total
        if total is not None:
            spent = ledger.requests - before
            return RelationSize(total, total, total, spent, FormSizeMethod.COUNT)
    if not isinstance(known, LocalChances):
        known = LocalChances(interface, known, guide)
    drill, made = Drill(ledger, known), list[DrillWalk]()
    with suppress(BudgetSpent):
        made.extend(drill.walk(rng) for _ in range(walks))
    if made and not any(walk.whole or walk.records for walk in made):
        return recapture(ledger, walks, rng, known=known, level=level)
    return of_walks(made, rng, ledger.requests - before, level=level)


def of_walks(
    walks: Sequence[DrillWalk],
    rng: Generator,
    requests: int = 0,
    *,
    level: float = LEVEL,
) -> RelationSize:
    """Return the size that drill-downs estimate, bounded below by what they saw."""
    sizes = np.array([walk.size for walk in walks], dtype=np.float64)
    seen = len(set[str]().union(*(walk.records for walk in walks)))
    bound = skewed(sizes, rng, level)
    missed = [not walk.whole for walk in walks]
    unresolved = float(np.mean(missed)) if missed else 0.0
    low, high = max(bound.low, seen), max(bound.high, seen)
    return RelationSize(
        bound.size, low, high, requests, walks=len(walks), unresolved=unresolved
    )


def averaged(values: Floats, level: float = LEVEL) -> SizeInterval:
    """Return the mean with Student's interval.

    >>> found = averaged(np.array([8.0, 10.0, 12.0]))
    >>> round(found.size, 2), round(found.low, 2), round(found.high, 2)
    (10.0, 5.03, 14.97)
    """
    if values.size < 2:
        return SizeInterval(float(values.sum()), -inf, inf)
    error = float(values.std(ddof=1)) / values.size**0.5
    reach = float(lazy_scipy.stdtrit(values.size - 1, 0.5 + level / 2.0)) * error
    mean = float(values.mean())
    return SizeInterval(mean, mean - reach, mean + reach)


def skewed(values: Floats, rng: Generator, level: float = LEVEL) -> SizeInterval:
    """Return the mean with an interval for values of which a few are large.

    By bootstrap of Student's t on the log scale (``halflife.probing.size.ratio``).
    """
    if values.size < 2 or not values.any():
        return SizeInterval(float(values.sum()), 0.0, inf)
    return ratio(values, np.ones(values.size), rng, level)


def recapture(
    ledger: Ledger,
    queries: int,
    rng: Generator,
    *,
    known: Iterable[Attributes] | LocalChances = (),
    level: float = LEVEL,
) -> RelationSize:
    """Return the size from the records that two halves of random queries share.

    Chapman's estimate (``halflife.probing.capture.chapman``) of the records that the
    queries can reach.
    """
    before, reader = ledger.requests, QueryReader(ledger)
    if not isinstance(known, LocalChances):
        known = LocalChances(ledger.interface, known)
    terms = [term for step in known.levels for term in step.terms]
    asked = rng.permutation(len(terms))[:queries]
    halves: tuple[set[str], set[str]] = set(), set()
    with suppress(BudgetSpent):
        for turn, at in enumerate(asked.tolist()):
            halves[turn % 2].update(reader.read(Query.of(terms[at])).records)
    first, second = halves
    bound = chapman(len(first), len(second), len(first & second), level)
    spent = ledger.requests - before
    return RelationSize(
        bound.size, bound.low, bound.high, spent, FormSizeMethod.RECAPTURE
    )
