"""Records of a form drawn at random, to see how good a copy is without bias.

What upkeep asks for is chosen for being stale or new, so it says nothing of the rest.
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
from halflife.queries.drill_down import Drill, DrillWalk, ways
from halflife.queries.ledger import Ledger

CHECKED = "drawn to check the copy"  # the note of a look that such records make

Records: TypeAlias = Mapping[str, Attributes]
Same: TypeAlias = Callable[[Attributes, Attributes], bool]


@dataclass(frozen=True, slots=True)
class DrawTally:
    """What draws say of a copy, in sums over the database that each estimates.

    Attributes:
        true: Records that the copy has as they are.
        held: Records that the copy has, there or not.
        lacks: Records that it does not have.
        looks: How many records of equal weight would tell as much.

    """

    true: float
    held: float
    lacks: float
    looks: float


@dataclass(slots=True)
class LookedUp:
    """Records drawn from a copy and looked up by their keys.

    Attributes:
        parts: Records that were drawn from, each with the same chance.
        shown: Of each that was drawn the record as it is; nothing if it is gone.
        total: Records that there are, if the form tells that; else None.

    """

    parts: int
    shown: list[Records] = field(default_factory=list)
    total: int | None = None

    def tally(self, held: Records, same: Same) -> DrawTally:
        """Return what they say of a copy.

        Each of the n that were drawn of N stands for N / n. If the form tells how many
        records there are, the copy lacks those less the ones it has. They tell as much
        as n / (1 - n / N) of many would, times what the sums stand for over what is
        held: so means over audits, each by its looks, are ratios of sums as well.
        """
        n, each = float(len(self.shown)), self.parts / max(len(self.shown), 1)
        there = [(k, r) for one in self.shown for k, r in one.items() if k in held]
        true = each * sum(same(held[k], r) for k, r in there)
        here, whole = each * len(there), float(len(held))
        lacks = 0.0 if self.total is None else max(self.total - here, 0.0)
        looks = inf if n >= self.parts else n / (1.0 - n / self.parts)
        return DrawTally(true, whole, lacks, looks * (whole + lacks) / max(whole, 1.0))


@dataclass(slots=True)
class DrilledRecords:
    """Records found by random drill-downs that saw everything at their ends.

    Attributes:
        interface: What the form can do.
        walks: The drill-downs.

    """

    interface: Interface
    walks: list[DrillWalk] = field(default_factory=list)

    def tally(self, held: Records, same: Same) -> DrawTally:
        """Return what they say of a copy.

        Each record at the end of a drill-down stands for w = 1 / chance of them, also
        one that the copy has and that should be there. All three sums go over the same
        paths, so that their ratios vary little (Cochran, "Sampling techniques", 1977,
        chapter 6). A drill-down counts as one look if what it found stands for a copy
        of this size, and for more or less if for more or less: so means over audits,
        each by its looks, are ratios of sums as well.
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
        """Return what each record of a copy that lies on a path stands for."""
        some = [
            ways(record, walk.steps)
            for record in held.values()
            if self.interface.meets(record, walk.query)
        ]
        return [1.0 / (walk.probability * n) for n in some if n]


Draws: TypeAlias = LookedUp | DrilledRecords


def counts_all(interface: Interface) -> bool:
    """Say whether one request tells how many records there are."""
    return interface.everything and interface.counts == "exact"


def by_key(interface: Interface, *, known: bool) -> bool:
    """Say whether single records can be drawn from the copy and looked up.

    That is enough if only the records that are held matter (``known``), or if the form
    tells how many there are.
    """
    return interface.lookup and (known or counts_all(interface))


def draw(
    ledger: Ledger, held: Records, rng: Generator, requests: int, *, known: bool
) -> Draws:
    """Draw records until so many requests are spent; the last draw may take more.

    Where single records tell all (``by_key``), n of the N that are held are looked up,
    each with the chance n / N. Elsewhere by random drill-downs (``queries.drilling``),
    which find also what the copy lacks.
    """
    if by_key(ledger.interface, known=known):
        return _looked_up(ledger, held, rng, requests, known=known)
    draws = DrilledRecords(ledger.interface)
    with suppress(BudgetSpent, SourceError):
        drill = Drill(ledger, held.values())
        for _ in range(requests):  # a walk may take none: all of it was asked before
            walk = drill.walk(rng)
            if walk.whole:
                draws.walks.append(walk)
            if ledger.requests >= requests:
                break
    return draws


def _looked_up(
    ledger: Ledger, held: Records, rng: Generator, requests: int, *, known: bool
) -> LookedUp:
    draws, keys = LookedUp(len(held)), list(held)
    with suppress(BudgetSpent, SourceError):
        if not known:
            draws.total = ledger.first(Query()).total
        for at in rng.permutation(len(keys)).tolist():
            draws.shown.append(ledger.fetch(keys[at]).records)
            if ledger.requests >= requests:
                break
    # Without the number of all records nothing can be said of those that are lacking.
    return draws if known or draws.total is not None else LookedUp(len(held))
