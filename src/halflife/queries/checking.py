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

import numpy as np
from numpy.random import Generator

from halflife.arrays import Floats
from halflife.errors import BudgetSpent, SourceError
from halflife.forms import Interface, Query
from halflife.queries.drilling import Drill
from halflife.queries.ledger import Ledger
from halflife.register import Attributes

CHECKED = "drawn to check the copy"  # the note of a look that such records make

Records: TypeAlias = Mapping[str, Attributes]
Same: TypeAlias = Callable[[Attributes, Attributes], bool]


@dataclass(slots=True)
class Draws:
    """What was drawn through a form.

    Attributes:
        shown: Of each draw the records that it showed and are there.
        weight: Records of the database that each of them stands for.
        total: Records that there are, if the form tells that; else None.
        parts: Records that were drawn from; None if from all that there are.

    """

    shown: list[Records] = field(default_factory=list)
    weight: list[Floats] = field(default_factory=list)
    total: int | None = None
    parts: int | None = None

    def __len__(self) -> int:
        return len(self.shown)

    def note(self, records: Records, weight: Floats) -> None:
        """Write a draw down."""
        self.shown.append(records)
        self.weight.append(weight)

    def sums(self, held: Records, same: Same) -> tuple[Floats, Floats]:
        """Return what each draw says of a copy: its true records, and those it lacks.

        Each is an estimate without bias: sum(weight) over the records shown that the
        copy has as they are, and over those that it does not have. If the form tells
        how many records there are, it lacks those less the ones it has.
        """
        true, lacks = np.zeros(len(self)), np.zeros(len(self))
        for i, (records, weight) in enumerate(
            zip(self.shown, self.weight, strict=True)
        ):
            has = np.array([key in held for key in records], dtype=np.bool_)
            right = [k in held and same(held[k], r) for k, r in records.items()]
            true[i] = weight[np.array(right, dtype=np.bool_)].sum()
            lacks[i] = weight[~has].sum()
            if self.total is not None:
                lacks[i] = self.total - weight[has].sum()
        return true, lacks

    def effective(self) -> float:
        """Return how many records of equal weight would tell as much.

        Of n looked up among N it is n / (1 - n / N). Of each drill-down it is
        (sum(w))^2 / sum(w^2) over the records it found (Kish, "Survey sampling",
        1965), and one if it found none. That those found together are alike is not
        in it.
        """
        if self.parts is not None:
            n = float(len(self))
            return inf if n >= self.parts else n / (1.0 - n / self.parts)
        some = [w.sum() ** 2 / np.sum(w**2) if w.size else 1.0 for w in self.weight]
        return float(np.sum(some))


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
    draws = Draws()
    with suppress(BudgetSpent, SourceError):
        drill = Drill(ledger, held.values())
        for _ in range(requests):  # a walk may take none: all of it was asked before
            walk = drill.walk(rng)
            draws.note(walk.records, walk.weight)
            if ledger.requests >= requests:
                break
    return draws


def _looked_up(
    ledger: Ledger, held: Records, rng: Generator, requests: int, *, known: bool
) -> Draws:
    draws, n = Draws(parts=len(held)), float(len(held))
    keys = list(held)
    with suppress(BudgetSpent, SourceError):
        if not known:
            draws.total = ledger.first(Query()).total
        for at in rng.permutation(len(keys)).tolist():
            found = ledger.fetch(keys[at]).records
            draws.note(found, np.full(len(found), n))
            if ledger.requests >= requests:
                break
    # Without the number of all records nothing can be said of those that are lacking.
    return draws if known or draws.total is not None else Draws()
