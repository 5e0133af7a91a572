"""The levels of a drill-down: the conditions that can be added, and their chances."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats, Ints
from halflife.core.forms import Attribute, Interface, Term
from halflife.core.object_store import Attributes, Scalar
from halflife.queries.incidence import Incidence

Guide: TypeAlias = Literal["even", "known", "counts", "half"]
CUTS = 7  # of a range without given cuts: the eighths of the known numbers
DEFENCE = 0.2  # share of each chance that does not depend on earlier conditions
# The same of the guide "half": by known records alone, what a copy lacks is drawn too
# rarely to measure it.
HALF = 0.5
REST = 0.02  # chance of unknown values, at least


@dataclass(frozen=True)
class DrillLevel:
    """One level of a drill-down: conditions on an attribute, of which one is added.

    Attributes:
        attribute: The attribute.
        terms: The conditions.
        chance: The chance of each condition.
        rest: The chance to add none, and continue with the records that meet none:
            those without a value, or with an unknown one.
        gaps: Share of the known records that meet none of them.
        place: The position of each condition.

    """

    attribute: Attribute
    terms: tuple[Term, ...]
    chance: Floats
    rest: float
    gaps: float = 0.0
    place: dict[Term, int] = field(default_factory=dict, repr=False, compare=False)
    _held: dict[Scalar, frozenset[Term]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not self.place:
            self.place.update((term, i) for i, term in enumerate(self.terms))

    @property
    def parts(self) -> bool:
        """Whether a record meets at most one of the conditions."""
        return self.attribute.kind != "keyword"

    def held(self, record: Attributes) -> frozenset[Term]:
        """Return the conditions that a record meets."""
        value = record.get(self.attribute.name)
        met = self._held.get(value)
        if met is None:
            terms = self.attribute.terms(value)
            met = frozenset(term for term in terms if term in self.place)
            self._held[value] = met
        return met

    def draw(self, rng: Generator) -> tuple[Term | None, float]:
        """Return a random condition, or None for the rest, and its chance."""
        chance = np.append(self.chance, self.rest)
        chance /= chance.sum()
        at = int(rng.choice(chance.size, p=chance))
        return (*self.terms, None)[at], float(chance[at])

    def without(self, used: Iterable[Term]) -> "DrillLevel":
        """Return the level without the chances of used conditions."""
        chance = self.chance.copy()
        chance[[self.place[term] for term in used if term in self.place]] = 0.0
        share = (1.0 - self.rest) / chance.sum() if chance.any() else 0.0
        return replace(self, chance=chance * share)


def levels(
    interface: Interface,
    known: Iterable[Attributes] = (),
    guide: Guide = "known",
) -> tuple[DrillLevel, ...]:
    """Return the levels that an interface allows; keywords come last.

    The conditions are the values that the interface lists and those of the known
    records. With m of them, the rest has the chance
    (records without + 1) / (records + m + 1), and 2 % at least, because there may be
    unknown values; the conditions share what is left evenly, or (``known``) like the
    known records + 1. Any chances give unbiased estimates; the nearer they are to the
    truth, the less the estimates vary.
    """
    records = tuple(known)
    found = [_level(attribute, records, guide) for attribute in interface.attributes]
    possible = [level for level in found if level is not None]
    return tuple(sorted(possible, key=lambda level: not level.parts))


def _level(
    attribute: Attribute, known: Sequence[Attributes], guide: Guide
) -> DrillLevel | None:
    attribute = _cut(attribute, known)
    rows = [attribute.terms(record.get(attribute.name)) for record in known]
    count = Counter(term for row in rows for term in row)
    terms = tuple(sorted({*_offered(attribute), *count}))
    if not terms:
        return None
    lacking = sum(not row for row in rows)
    rest = max((lacking + 1) / (len(rows) + len(terms) + 1), _floor(attribute))
    even = guide in {"even", "half"}
    share = np.array([1.0 if even else count[t] + 1.0 for t in terms])
    chance = (1.0 - rest) * share / share.sum()
    return DrillLevel(attribute, terms, chance, rest, gaps=lacking / max(len(rows), 1))


def _floor(attribute: Attribute) -> float:
    """Return the least chance of the rest.

    It is 0 for numbers, which all lie in some range, and where the form lists all
    values that can be selected.
    """
    return 0.0 if attribute.kind == "range" or attribute.values else REST


def _cut(attribute: Attribute, known: Sequence[Attributes]) -> Attribute:
    """Return a range attribute with cuts, from the known numbers if it has none."""
    if attribute.kind != "range" or attribute.cuts:
        return attribute
    column = (record.get(attribute.name) for record in known)
    numbers = [float(v) for v in column if v is not None and attribute.terms(v)]
    if not numbers:
        return attribute
    share = np.arange(1, CUTS + 1) / (CUTS + 1)
    return replace(
        attribute, cuts=tuple(np.unique(np.quantile(numbers, share)).tolist())
    )


def _offered(attribute: Attribute) -> set[Term]:
    """Return the conditions that the interface itself lists."""
    if attribute.kind == "range":
        points = [attribute.cuts[0] - 1.0, *attribute.cuts] if attribute.cuts else []
        return {term for point in points for term in attribute.terms(point)}
    return {term for value in attribute.values for term in attribute.terms(value)}


class LocalChances:
    """Chances of the next condition, given by the known records and earlier conditions.

    The chance of a condition is 1 - e times its share of the known records that meet
    the conditions so far, plus e times its chance in the level: a path that no known
    record takes stays possible, and no weight becomes much larger than without them
    (a defensive mixture: Hesterberg, Technometrics 1995). With the guide ``half`` e is
    one half, and the chances in the level are even.
    """

    def __init__(
        self,
        interface: Interface,
        known: Iterable[Attributes] = (),
        guide: Guide = "known",
    ) -> None:
        records = tuple(known)
        self.guide = guide
        self.levels = levels(interface, records, guide)
        guides = records if guide in {"known", "half"} else ()
        self._defence = HALF if guide == "half" else DEFENCE
        self.rows: Ints = np.arange(len(guides))
        keys = tuple(map(str, self.rows.tolist()))
        self._held = {
            level.attribute.name: Incidence.from_terms(
                keys, [tuple(level.held(record)) for record in guides]
            )
            for level in self.levels
        }

    def given(self, level: DrillLevel, rows: Ints) -> DrillLevel:
        """Return a level with the chances that some known records give."""
        held = self._held[level.attribute.name]
        if not rows.size:
            return level
        begin, size = held.start[rows], np.diff(held.start)[rows]
        ahead = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
        count = np.bincount(
            held.term[np.repeat(begin, size) + ahead], minlength=len(held.terms)
        )
        lack = float(np.mean(size == 0))
        share = np.zeros(len(level.terms))
        share[[level.place[t] for t in held.terms]] = count / max(count.sum(), 1)
        even, known = self._defence, 1.0 - self._defence
        chance = known * (1.0 - lack) * share + even * level.chance
        rest = known * lack + even * level.rest
        rest = max(rest, _floor(level.attribute))
        chance *= (1.0 - rest) / chance.sum()
        return replace(level, chance=chance, rest=rest)

    def among(self, level: DrillLevel, term: Term | None, rows: Ints) -> Ints:
        """Return the known records of ``rows`` that meet a condition, or the rest."""
        held = self._held[level.attribute.name]
        if term is None:
            left: Ints = rows[np.diff(held.start)[rows] == 0]
            return left
        number = held.number.get(term)
        if number is None:
            return rows[:0]
        return np.intersect1d(rows, held.of_term(number), assume_unique=True)
