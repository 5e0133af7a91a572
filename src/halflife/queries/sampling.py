"""Samples of a database behind a form, drawn by random drill-downs."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import ceil, inf
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats
from halflife.core.errors import BudgetSpent
from halflife.core.object_store import Attributes
from halflife.queries.drill_down import Drill, DrillWalk
from halflife.queries.ledger import Ledger
from halflife.queries.levels import Guide

Sampling: TypeAlias = Literal["weighted", "counts", "rejection", "naive"]
FRUITLESS = 200  # walks in a row without a new record that end a sample
PILOT = 30  # walks that show how unequal chances are
SKEW = 0.1  # the quantile of the first chances that scales rejection


@dataclass(frozen=True, slots=True)
class RecordSample:
    """Records drawn from a database behind a form.

    Attributes:
        records: The records, each once.
        weight: Records of the database that each stands for; they add up to ``size``.
        requests: Requests that it took.
        size: Records in the database, as the same walks estimate it.
        walks: Drill-downs that it took.

    """

    records: dict[str, Attributes]
    weight: Floats
    requests: int
    size: float
    walks: int


@dataclass(frozen=True, slots=True)
class DrawnSoFar:
    """The state of an interrupted sample, as it is stored.

    Attributes:
        keys: The records drawn.
        chances: The chances of the first records found, which scale rejection.
        sum: The sum of the sizes that the walks have estimated.
        walks: Drill-downs so far.
        idle: The last of them without a new record.
        complete: Whether the sample has the requested size.

    """

    keys: tuple[str, ...] = ()
    chances: tuple[float, ...] = ()
    sum: float = 0.0
    walks: int = 0
    idle: int = 0
    complete: bool = False


class _Drawn:
    """The records drawn so far."""

    def __init__(self) -> None:
        self.records: dict[str, Attributes] = {}
        self.weight: dict[str, float] = {}
        self.sum = 0.0
        self.walks = 0
        self.idle = 0
        self.chances: list[float] = []

    def go_on(self, before: DrawnSoFar, records: Mapping[str, Attributes]) -> None:
        """Resume an interrupted sample, without records that are gone."""
        self.records = {key: records[key] for key in before.keys if key in records}
        self.weight = dict.fromkeys(self.records, 0.0)
        self.sum, self.walks, self.idle = before.sum, before.walks, before.idle
        self.chances = list(before.chances)

    @property
    def size(self) -> float:
        return self.sum / max(self.walks, 1)

    def note(self, walk: DrillWalk, keys: Iterable[str]) -> None:
        before = len(self.records)
        weight = dict(zip(walk.records, walk.weight.tolist(), strict=True))
        for key in keys:
            self.records[key] = walk.records[key]
            self.weight[key] = self.weight.get(key, 0.0) + weight[key]
        self.walks += 1
        self.sum += walk.size
        self.idle = 0 if len(self.records) > before else self.idle + 1


def _one(walk: DrillWalk, rng: Generator) -> tuple[str, float] | None:
    """Return a random record of a walk, and the chance that a walk draws it."""
    if not walk.records:
        return None
    at = int(rng.integers(len(walk.records)))
    return list(walk.records)[at], 1.0 / (len(walk.records) * float(walk.weight[at]))


def _every(drawn: _Drawn, walk: DrillWalk, rng: Generator, skew: float) -> list[str]:
    del drawn, rng, skew
    return list(walk.records)


def _first(drawn: _Drawn, walk: DrillWalk, rng: Generator, skew: float) -> list[str]:
    del drawn, skew
    pick = _one(walk, rng)
    return [pick[0]] if pick else []


def _accepted(drawn: _Drawn, walk: DrillWalk, rng: Generator, skew: float) -> list[str]:
    """Accept a record of chance s with the chance min(1, C / s)."""
    pick = _one(walk, rng)
    if pick is None:
        return []
    key, chance = pick
    drawn.chances.append(chance)
    if len(drawn.chances) <= PILOT:
        return []
    scale = float(np.quantile(drawn.chances[:PILOT], skew))
    return [key] if rng.random() < scale / chance else []


_Keep: TypeAlias = Callable[[_Drawn, DrillWalk, Generator, float], list[str]]
_METHODS: Mapping[Sampling, tuple[Guide, bool | None, _Keep]] = {
    "weighted": ("known", None, _every),
    "counts": ("counts", False, _every),
    "rejection": ("even", False, _accepted),
    "naive": ("even", False, _first),
}


class SampleDrawing:
    """A sample that is drawn walk by walk, so that it can be interrupted.

    Args:
        ledger: Where the requests are counted.
        n: Records wanted; below 1, as a share of the database.
        known: Records seen before; their values are queried, too.
        method: See ``sample``.
        skew: See ``sample``.
        before: The state of the interrupted sample, whose records are in ``known``.

    """

    def __init__(
        self,
        ledger: Ledger,
        n: float,
        *,
        known: Mapping[str, Attributes],
        method: Sampling = "rejection",
        skew: float = SKEW,
        before: DrawnSoFar | None = None,
    ) -> None:
        guide, backtrack, self._keep = _METHODS[method]
        self._drill = Drill(ledger, known.values(), guide=guide, backtrack=backtrack)
        self._n, self._skew, self._drawn = n, skew, _Drawn()
        if before is not None:
            self._drawn.go_on(before, known)

    @property
    def records(self) -> Mapping[str, Attributes]:
        """The records drawn."""
        return self._drawn.records

    @property
    def over(self) -> bool:
        """Whether it has the requested size, or walks find nothing new."""
        return _ends(self._n, self._drawn)

    def walk(self, rng: Generator) -> None:
        """Draw once; ``BudgetSpent`` is not caught."""
        walk = self._drill.walk(rng)
        self._drawn.note(walk, self._keep(self._drawn, walk, rng, self._skew))

    def so_far(self) -> DrawnSoFar:
        """Return the state of the sample, to be stored."""
        drawn = self._drawn
        pilot = tuple(drawn.chances[: PILOT + 1])
        counts = drawn.sum, drawn.walks, drawn.idle, self.over
        return DrawnSoFar(tuple(drawn.records), pilot, *counts)


def _ends(n: float, drawn: _Drawn) -> bool:
    return len(drawn.records) >= _wanted(n, drawn) or drawn.idle >= FRUITLESS


def sample(
    ledger: Ledger,
    n: float,
    rng: Generator,
    *,
    known: Iterable[Attributes] = (),
    method: Sampling = "weighted",
    skew: float = SKEW,
) -> RecordSample:
    """Return a random sample of the database behind a form.

    It ends with ``n`` records, when walks bring nothing new, or when the budget is
    spent.

    Args:
        ledger: Where the requests are counted.
        n: Records wanted; below 1, as a share of the database.
        rng: The source of randomness.
        known: Records seen before; their values are queried, too.
        method: ``weighted`` keeps all that a walk finds, weighted by the inverse of
            its chance. ``counts`` does so with chances like the hits counted.
            ``rejection`` keeps one record a walk, of chance s, with the chance
            min(1, C/s): nearly uniform, all of one weight (HIDDEN-DB-SAMPLER;
            Dasgupta, Das, Mannila, SIGMOD 2007). ``naive`` keeps one record of each
            walk as if all were equally likely, which they are not.
        skew: Where C is among the chances of the first records found: 0, at the
            smallest, is the most uniform and the dearest.

    """
    guide, backtrack, keep = _METHODS[method]
    drill = Drill(ledger, known, guide=guide, backtrack=backtrack)
    before, drawn = ledger.requests, _Drawn()
    with suppress(BudgetSpent):
        while not _ends(n, drawn):
            walk = drill.walk(rng)
            drawn.note(walk, keep(drawn, walk, rng, skew))
    weight = np.array([drawn.weight[key] for key in drawn.records], dtype=np.float64)
    if method in {"rejection", "naive"}:
        weight = np.full(weight.size, drawn.size / max(weight.size, 1))
    else:
        weight /= drawn.walks
    spent = ledger.requests - before
    return RecordSample(drawn.records, weight, spent, drawn.size, drawn.walks)


def _wanted(n: float, drawn: _Drawn) -> float:
    if n >= 1.0:
        return n
    return inf if drawn.walks < PILOT else max(1, ceil(n * drawn.size))
