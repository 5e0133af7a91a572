"""Random drill-downs: records drawn through a form with a known probability.

A drill-down starts with the empty query and adds a random condition of one attribute
after the other until the query no longer overflows. Every record lies at the end of
one path (of a known number of paths, with keyword queries), so each has a known
chance, and weighted by its inverse the records found stand for the database:
E[sum(w(r) f(r))] = sum(f(r)) over all records that some path can reach.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats, Ints
from halflife.core.errors import UsageError
from halflife.core.forms import Query, Term, within
from halflife.core.object_store import Attributes
from halflife.queries.completeness import QueryAnswer, QueryReader
from halflife.queries.ledger import Ledger
from halflife.queries.levels import DrillLevel, Guide, LocalChances

WORDS = 2  # words of one attribute that a query may join


@dataclass(frozen=True, slots=True)
class DrillStep:
    """A condition added at a level, or None for the rest, and its chance."""

    level: DrillLevel
    term: Term | None
    chance: float


@dataclass(frozen=True, slots=True)
class DrillWalk:
    """One drill-down.

    Attributes:
        query: The query that it ended with.
        records: The records found that belong to its path.
        weight: Records of the database that each stands for, in this walk alone.
        probability: Chance that a walk takes this path.
        requests: Requests that it took.
        whole: Whether its last query was read whole. If not, no condition was left to
            add. If the hits are counted and all belong to the path, those shown stand
            for them; otherwise no estimate includes the others.
        steps: The conditions added, one after the other.

    """

    query: Query
    records: Mapping[str, Attributes]
    weight: Floats
    probability: float
    requests: int
    whole: bool = True
    steps: tuple[DrillStep, ...] = ()

    @property
    def size(self) -> float:
        """The records of the database, as this walk estimates them."""
        return float(self.weight.sum())


def count_paths(record: Attributes, steps: Iterable[DrillStep]) -> int:
    """Return how many paths through the levels of a walk lead to a record.

    There are d (d - 1) ... (d - j + 1) ways to query j of the d known words of a
    record, one after the other. It is 0 if the walk does not lead to the record.
    """
    number = 1
    used: set[Term] = set()
    for step in steps:
        held = step.level.held(record) - used
        if step.term is None and held:
            return 0
        if step.term is not None and not step.level.parts:
            number *= len(held | {step.term})
            used.add(step.term)
    return number


def finish_walk(
    read: QueryAnswer, query: Query, steps: tuple[DrillStep, ...], requests: int
) -> DrillWalk:
    """Return the walk that ends with an answer; its weights are 1/(chance ways)."""
    chance = float(np.prod([step.chance for step in steps]))
    number = {key: count_paths(record, steps) for key, record in read.records.items()}
    mine = {key: read.records[key] for key, n in number.items() if n}
    weight = 1.0 / (chance * np.array([number[key] for key in mine], dtype=np.float64))
    plain = all(step.level.parts and step.term is not None for step in steps)
    if not read.whole and read.total is not None and plain:
        weight *= read.total / max(weight.size, 1)
    return DrillWalk(query, mine, weight, chance, requests, read.whole, steps)


def skips_level(level: DrillLevel, steps: Iterable[DrillStep]) -> bool:
    """Return whether a path took the rest of a level and so skips its conditions."""
    name = level.attribute.name
    return any(s.term is None and s.level.attribute.name == name for s in steps)


class Drill:
    """Drill-downs through a form.

    Args:
        ledger: Where the requests are counted.
        known: Records seen before, whose values are conditions, too; or the chances
            already computed from them, which have their own guide.
        guide: Chances of the conditions: ``even``; ``known``, like the known records
            that meet the conditions so far;
            ``counts``, like the hits that the form counts exactly (Dasgupta, Zhang,
            Das, ICDE 2009), for which each condition at a query is sent once.
        order: The attributes in order; a random order for each walk if None.
        most: Records that the last query may have. If None, a page of them; or as many
            as the form shows if there are only keywords, which do not divide the
            records well.
        backtrack: Whether a condition without hits is passed over for the next
            (HD-UNBIASED-SIZE; Dasgupta, Jin, Jewell, Zhang, Das, SIGMOD 2010); if
            not, the walk ends there with nothing. If None, when no record is known.

    """

    def __init__(
        self,
        ledger: Ledger,
        known: Iterable[Attributes] | LocalChances = (),
        *,
        guide: Guide = "known",
        order: Sequence[str] | None = None,
        most: int | None = None,
        backtrack: bool | None = None,
    ) -> None:
        if not isinstance(known, LocalChances):
            known = LocalChances(ledger.interface, known, guide)
        self.local, self.levels = known, known.levels
        if most is None and any(level.parts for level in self.levels):
            most = ledger.interface.page_size
        self.reader = QueryReader(ledger, most)
        if not self.levels and not ledger.interface.everything:
            raise UsageError("no query is possible: give values, or records, or words")
        self._counted = known.guide == "counts" and ledger.interface.counts == "exact"
        self._chances: dict[tuple[Query, str], DrillLevel] = {}
        self._order = order
        lost = not self.local.rows.size  # known records mostly lead to hits
        self._backtrack = lost if backtrack is None else backtrack

    def walk(self, rng: Generator) -> DrillWalk:
        """Return a random drill-down."""
        before = self.reader.ledger.requests
        query, read = Query(), self.reader.read(Query())
        steps: tuple[DrillStep, ...] = ()
        rows = self.local.rows
        for level in self.order_levels(rng):
            full = len(query) >= self.reader.ledger.interface.together
            if read.whole or full or skips_level(level, steps):
                continue
            step = self._step(query, self.guide_level(level, query, rows), rng)
            steps = (*steps, step)
            rows = self.local.among(level, step.term, rows)
            if step.term is not None:
                query &= step.term
                read = self.reader.read(query)
        while not read.whole and read.total is None:  # counts would cover the rest
            halves = _halves(query, read, self.levels)
            if halves is None:
                break
            steps = (*steps, step := DrillStep(halves, *halves.draw(rng)))
            query = _narrowed(query, step.term)
            read = self.reader.read(query)
        return finish_walk(read, query, steps, self.reader.ledger.requests - before)

    def order_levels(self, rng: Generator) -> list[DrillLevel]:
        """Return the levels of a walk in order; keywords last, and more than once.

        If the order is random, attributes that fewer known records lack come first.
        """
        named = {level.attribute.name: level for level in self.levels}
        if self._order is None:
            found = [self.levels[i] for i in rng.permutation(len(self.levels))]
            found.sort(key=lambda level: round(level.gaps, 2))
        else:
            found = [named[name] for name in self._order if name in named]
        parts = [level for level in found if level.parts]
        return parts + [level for level in found if not level.parts] * WORDS

    def guide_level(self, level: DrillLevel, query: Query, rows: Ints) -> DrillLevel:
        """Return a level with the chances given by known records that meet a query."""
        level = self.local.given(level, rows)
        # A second word is not the first.
        return level if level.parts else level.without(query)

    def _step(self, query: Query, level: DrillLevel, rng: Generator) -> DrillStep:
        if self._counted and level.parts:
            at = query, level.attribute.name
            if at not in self._chances:
                self._chances[at] = self._weighted(query, level)
            level = self._chances[at]
        term, chance = level.draw(rng)
        if term is None or not self._backtrack or self._counted or not level.parts:
            return DrillStep(level, term, chance)
        return self._backtracked(query, level, level.place[term])

    def _weighted(self, query: Query, level: DrillLevel) -> DrillLevel:
        """Return a level with chances like the hits that the form counts."""
        counts = [self.reader.ledger.first(query & t).total or 0 for t in level.terms]
        hits = np.array(counts, dtype=np.float64)
        whole = self.reader.ledger.totals.get(query)
        if whole is None:
            share = (1.0 - level.rest) / max(hits.sum(), 1.0)
            return replace(level, chance=hits * share)
        rest = max(whole - hits.sum(), 0.0)
        every = max(hits.sum() + rest, 1.0)
        return replace(level, chance=hits / every, rest=rest / every)

    def _backtracked(self, query: Query, level: DrillLevel, at: int) -> DrillStep:
        """Return the first condition with hits, from here on and cyclically.

        Its chance is its own and that of all conditions before it without hits.
        """
        n = len(level.terms)
        for ahead in range(n):
            here = (at + ahead) % n
            if not self._empty(query, level.terms[here]):
                break
        else:
            return DrillStep(level, level.terms[at], float(level.chance[at]))
        chance = float(level.chance[here])
        for back in range(1, n):
            before = (here - back) % n
            if not self._empty(query, level.terms[before]):
                break
            chance += float(level.chance[before])
        return DrillStep(level, level.terms[here], chance)

    def _empty(self, query: Query, term: Term) -> bool:
        """Return whether a condition has no hits, by the shown records if possible."""
        shown = self.reader.known(query)
        if shown is not None:
            attribute = self.reader.ledger.interface.attribute(term.attribute)
            held = (record.get(term.attribute) for record in shown.records.values())
            if any(attribute.meets(value, term) for value in held):
                return False
        return not self.reader.ledger.first(query & term).records


def _halves(
    query: Query, read: QueryAnswer, levels: Iterable[DrillLevel]
) -> DrillLevel | None:
    """Return a range of a query cut at the median of its records, if one can be.

    Both halves have the same chance wherever the cut is, so the answer may choose it.
    """
    ranges = {level.attribute.name: level.attribute for level in levels}
    for term in query:
        attribute = ranges[term.attribute]
        if attribute.kind != "range":
            continue
        shown = [record.get(term.attribute) for record in read.records.values()]
        numbers = np.unique([float(value) for value in shown if value is not None])
        if numbers.size > 1:
            low, high = term.bounds
            cut = float(numbers[numbers.size // 2])
            sides = within(term.attribute, low, cut), within(term.attribute, cut, high)
            halved = replace(attribute, cuts=(low, cut, high))
            return DrillLevel(halved, sides, np.full(2, 0.5), rest=0.0)
    return None


def _narrowed(query: Query, term: Term | None) -> Query:
    """Return a query whose range is replaced by a part of it."""
    assert term is not None  # there is no rest
    others = (kept for kept in query if kept.attribute != term.attribute)
    return Query.of(*others, term)
