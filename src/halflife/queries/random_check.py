"""Random samples of a form's records that measure a copy without bias.

Upkeep chooses queries for stale or new records, so its answers say nothing of the rest.
Here each record has a known chance of being drawn, whatever is believed of it, and is
weighted by its inverse.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import TypeAlias

from numpy.random import Generator

from halflife.core.errors import BudgetSpent, SourceError
from halflife.core.forms import Interface, Query
from halflife.core.object_store import Attributes
from halflife.queries.drill_down import Drill, DrillWalk, count_paths
from halflife.queries.ledger import Ledger

CHECKED = "drawn to check the copy"  # the note of a snapshot of such records

Records: TypeAlias = Mapping[str, Attributes]
Same: TypeAlias = Callable[[Attributes, Attributes], bool]


@dataclass(frozen=True, slots=True)
class DrawTally:
    """The state of a copy, as sums over the database estimated from a sample.

    Attributes:
        true: Records that the copy holds in their present version.
        held: Records that the copy holds, whether they still exist or not.
        lacks: Records that it does not hold.
        looks: The effective sample size: so many records of equal weight.

    """

    true: float
    held: float
    lacks: float
    looks: float


@dataclass(slots=True)
class LookupSample:
    """Records drawn from a copy and looked up by their keys.

    Attributes:
        parts: Records that were drawn from, each with the same chance.
        shown: The present version of each drawn record; empty if it is gone.
        total: Records in the database, if the form reports that; else None.

    """

    parts: int
    shown: list[Records] = field(default_factory=list)
    total: int | None = None

    def tally(self, held: Records, same: Same) -> DrawTally:
        """Return the estimated state of a copy.

        Each of the n records drawn out of N stands for N / n. If the form reports how
        many records exist, the copy lacks those minus the ones it has. The effective
        sample size is n / (1 - n / N), times the size that the sums stand for over the
        number held: so means over audits, weighted by it, are ratios of sums as well.
        """
        n, factor = float(len(self.shown)), self.parts / max(len(self.shown), 1)
        there = [(k, r) for shown in self.shown for k, r in shown.items() if k in held]
        true = factor * sum(same(held[k], r) for k, r in there)
        here, whole = factor * len(there), float(len(held))
        lacks = 0.0 if self.total is None else max(self.total - here, 0.0)
        looks = inf if n >= self.parts else n / (1.0 - n / self.parts)
        return DrawTally(true, whole, lacks, looks * (whole + lacks) / max(whole, 1.0))


@dataclass(slots=True)
class DrilledRecords:
    """Records found by random drill-downs whose last query was read whole.

    Attributes:
        interface: What the form can do.
        walks: The drill-downs.

    """

    interface: Interface
    walks: list[DrillWalk] = field(default_factory=list)

    def tally(self, held: Records, same: Same) -> DrawTally:
        """Return the estimated state of a copy.

        Each record at the end of a drill-down stands for w = 1 / chance records, also
        one that the copy holds and that should be there. All three sums use the same
        paths, so their ratios vary little (Cochran, "Sampling techniques", 1977,
        chapter 6). A drill-down counts as one observation if its records stand for a
        copy of this size, and for more or less in proportion: so means over audits,
        weighted by observations, are ratios of sums as well.
        """
        true = here = lacks = 0.0
        for walk in self.walks:
            weight = dict(zip(walk.records, walk.weight.tolist(), strict=True))
            here += sum(self._on(walk, held))
            lacks += sum(w for k, w in weight.items() if k not in held)
            right = [k for k, r in walk.records.items() if k in held]
            true += sum(weight[k] for k in right if same(held[k], walk.records[k]))
        return DrawTally(true, here, lacks, (here + lacks) / max(len(held), 1))

    def _on(self, walk: DrillWalk, held: Records) -> list[float]:
        """Return the weight of each record of a copy that lies on a path."""
        paths = [
            count_paths(record, walk.steps)
            for record in held.values()
            if self.interface.meets(record, walk.query)
        ]
        return [1.0 / (walk.probability * n) for n in paths if n]


Draws: TypeAlias = LookupSample | DrilledRecords


def counts_all(interface: Interface) -> bool:
    """Return whether one request gives the number of all records."""
    return interface.everything and interface.counts == "exact"


def by_key(interface: Interface, *, known: bool) -> bool:
    """Return whether an audit can look up random records of the copy by their keys.

    That is enough if only the records held matter (``known``), or if the form reports
    how many there are.
    """
    return interface.lookup and (known or counts_all(interface))


def draw(
    ledger: Ledger, held: Records, rng: Generator, requests: int, *, known: bool
) -> Draws:
    """Draw records until ``requests`` are spent; the last draw may exceed them.

    Where look-ups are enough (``by_key``), n of the N records held are looked up, each
    with the chance n / N. Elsewhere random drill-downs (``queries.drill_down``) are
    used, which also find what the copy lacks.
    """
    if by_key(ledger.interface, known=known):
        return _looked_up(ledger, held, rng, requests, known=known)
    draws = DrilledRecords(ledger.interface)
    with suppress(BudgetSpent, SourceError):
        drill = Drill(ledger, held.values(), guide="half")
        for _ in range(requests):  # a walk of queries already sent takes no request
            walk = drill.walk(rng)
            if walk.whole:
                draws.walks.append(walk)
            if ledger.requests >= requests:
                break
    return draws


def _looked_up(
    ledger: Ledger, held: Records, rng: Generator, requests: int, *, known: bool
) -> LookupSample:
    draws, keys = LookupSample(len(held)), list(held)
    with suppress(BudgetSpent, SourceError):
        if not known:
            draws.total = ledger.first(Query()).total
        for at in rng.permutation(len(keys)).tolist():
            draws.shown.append(ledger.fetch(keys[at]).records)
            if ledger.requests >= requests:
                break
    # Without the number of all records it is unknown how many the copy lacks.
    return draws if known or draws.total is not None else LookupSample(len(held))
