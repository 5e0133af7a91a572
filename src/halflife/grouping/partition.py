"""A tree that splits objects by attributes into groups with different lifetimes.

Papers/000, s. 5, with a test instead of its fixed threshold, for categories and
numbers, and for several attributes at once. Each rule is a filter that can be read, and
used again, as text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats, Ints
from halflife.core.filters import AllOf, Filter, Not
from halflife.core.lifetimes import Lives, Values
from halflife.grouping.columns import Column
from halflife.grouping.cuts import best_cut, carried_gain
from halflife.grouping.risk import (
    ExposureSpans,
    at_risk,
    rate_interval,
)

FOLDS = 3  # periods of the past, each predicted from the one before


@dataclass(frozen=True, slots=True)
class ObjectGroup:
    """Objects with one common rate of ending.

    Attributes:
        rule: The filter of the objects, as text; empty for all.
        lives: The number of lifetimes it was learned from.
        deaths: How many of them ended.
        time: Object-days at risk.
        rate: Ends per object and day.
        low: Its lower 95 % bound, for independent ends.
        high: Its upper bound.

    """

    rule: str
    lives: int
    deaths: int
    time: float
    rate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Split:
    """One accepted cut.

    Attributes:
        rule: The filter that one side matches.
        gain: Twice the log-likelihood ratio.
        dispersion: The over-dispersion of ends, by which the gain is divided.
        chance: Probability of such a gain under equal rates, over all cuts and
            attributes.

    """

    rule: str
    gain: float
    dispersion: float
    chance: float


@dataclass(frozen=True, slots=True)
class Branch:
    """A rule, and the subtrees for objects that match it or not."""

    rule: Filter
    yes: "Tree"
    no: "Tree"


Tree: TypeAlias = Branch | int  # a group's number


@dataclass(frozen=True, slots=True)
class Partition:
    """Groups of objects and the tree that leads to them.

    Attributes:
        groups: The groups, fewest ends per day first.
        splits: The cuts, in the order they were made.
        of: The group of each lifetime it was learned from.
        tree: The rules.

    """

    groups: tuple[ObjectGroup, ...]
    splits: tuple[Split, ...]
    of: Ints
    tree: Tree

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def rates(self) -> Floats:
        """Ends per object and day of each group."""
        return np.array([g.rate for g in self.groups])

    def assign(self, attributes: Mapping[str, Values]) -> Ints:
        """Return the group of each new object; unknown values go with the rest."""
        count = max((len(v) for v in attributes.values()), default=0)
        group = np.zeros(count, dtype=np.intp)
        _follow(self.tree, attributes, np.arange(count), group)
        return group


@dataclass(frozen=True, slots=True)
class PartitionTerms:
    """The requirements of a partition.

    Attributes:
        level: The probability that equal rates are cut at all.
        least: Expected ends on either side of a cut, at least.
        rare: Categories with fewer expected ends are pooled.
        most: Groups at most.
        stretches: The number of quantile ranges of a numeric attribute.
        periods: Periods of time over which dispersion is measured.
        bursts: Whether to allow for similar objects that end together; if not, every
            end counts as independent.
        lasting: Whether a cut must hold over time: found in the first third of the ends
            it must predict the second better than no cut, and found in the first two
            thirds the last.

    """

    level: float = 0.01
    least: float = 20.0
    rare: float = 5.0
    most: int = 12
    stretches: int = 20
    periods: int = 30
    bursts: bool = True
    lasting: bool = True


def partition(
    lives: Lives,
    names: Sequence[str],
    rng: Generator,
    *,
    terms: PartitionTerms | None = None,
    risk: ExposureSpans | None = None,
) -> Partition:
    """Return groups of lifetimes with one rate each, cut by the named attributes.

    Top-down: of all leaves, attributes and cuts the most significant one is made, until
    none passes the test (``best_cut``, divided by the dispersion, Bonferroni over
    attributes). Without data (no lifetimes, no ends, no attributes) there is one group.
    """
    terms = terms or PartitionTerms()
    risk = risk or at_risk(lives)
    builder = _Builder(lives, sorted(set(names)), risk, terms, rng)
    leaves = [builder.leaf(np.arange(len(lives)), ())]
    splits: list[Split] = []
    while len(leaves) < terms.most:
        best = min(range(len(leaves)), key=lambda i: leaves[i].rank)
        offer = leaves[best].offer
        if offer is None:
            break
        splits.append(offer.split)
        leaves[best : best + 1] = builder.split_leaf(leaves[best], offer)
    return _partition_of(leaves, splits, risk)


@dataclass(frozen=True, slots=True)
class _Offer:
    rule: Filter
    split: Split


@dataclass(frozen=True, slots=True)
class _Leaf:
    rows: Ints
    path: tuple[tuple[Filter, bool], ...]
    offer: _Offer | None = field(default=None)

    @property
    def rank(self) -> tuple[float, float]:
        """The most significant first, then the largest gain."""
        if self.offer is None:
            return (np.inf, 0.0)
        return (self.offer.split.chance, -self.offer.split.gain)

    @property
    def rule(self) -> str:
        parts = tuple(r if yes else Not(r) for r, yes in self.path)
        return str(AllOf(parts)) if len(parts) > 1 else "".join(map(str, parts))


@dataclass(frozen=True, slots=True)
class _Builder:
    lives: Lives
    names: Sequence[str]
    risk: ExposureSpans
    terms: PartitionTerms
    rng: Generator

    def leaf(self, rows: Ints, path: tuple[tuple[Filter, bool], ...]) -> _Leaf:
        """Return a leaf with its best acceptable cut, if there is one."""
        offers = [self._offer(name, rows) for name in self.names]
        accepted = [o for o in offers if o is not None]
        best = min(
            accepted, key=lambda o: (o.split.chance, -o.split.gain), default=None
        )
        return _Leaf(rows, path, best)

    def split_leaf(self, leaf: _Leaf, offer: _Offer) -> list[_Leaf]:
        """Return the two leaves of a cut."""
        values = {n: v[leaf.rows] for n, v in self.lives.attributes.items()}
        yes = offer.rule(values)
        return [
            self.leaf(leaf.rows[yes], (*leaf.path, (offer.rule, True))),
            self.leaf(leaf.rows[~yes], (*leaf.path, (offer.rule, False))),
        ]

    def _offer(self, name: str, rows: Ints) -> _Offer | None:
        risk, terms = self.risk.take(rows), self.terms
        if risk.dead.sum() < 2 * terms.least or risk.time.sum() <= 0:
            return None
        values = self.lives.attributes[name][rows]
        column = Column.of(
            name, values, risk, rare=terms.rare, stretches=terms.stretches
        )
        blocks = column.blocks(risk)
        dispersion = column.dispersion(risk, terms.periods) if terms.bursts else 1.0
        level = terms.level / len(self.names)
        cut = best_cut(blocks, terms.least, dispersion, self.rng, level)
        if cut.chance > level or not cut.left:
            return None
        if terms.lasting and not self._holds_over_time(column, risk):
            return None
        rule, chance = column.rule(cut, blocks), cut.chance * len(self.names)
        return _Offer(rule, Split(str(rule), cut.gain, dispersion, chance))

    def _holds_over_time(self, column: Column, risk: ExposureSpans) -> bool:
        """Return whether the best cut of each period predicts the next one."""
        shares = np.arange(1, FOLDS + 1) / FOLDS
        moments = np.quantile(risk.leave[risk.dead], shares).tolist()
        return all(
            self._predicts(column, risk, now, then) for now, then in pairwise(moments)
        )

    def _predicts(
        self, column: Column, risk: ExposureSpans, now: float, then: float
    ) -> bool:
        past = column.blocks(risk.between(-np.inf, now))
        after = column.blocks(risk.between(now, then))
        cut = best_cut(past, self.terms.least / FOLDS, 1.0, self.rng, 1.0)
        if not cut.left:
            return False
        side = np.zeros(len(column.values), dtype=np.intp)
        side[list(cut.left)] = 1
        return carried_gain(past, after, side) > 0


def _partition_of(
    leaves: Sequence[_Leaf], splits: Sequence[Split], risk: ExposureSpans
) -> Partition:
    groups = [_group(leaf, risk.take(leaf.rows)) for leaf in leaves]
    order = sorted(range(len(groups)), key=lambda i: (groups[i].rate, groups[i].rule))
    of = np.zeros(risk.dead.size, dtype=np.intp)
    for number, i in enumerate(order):
        of[leaves[i].rows] = number
    paths = {number: leaves[i].path for number, i in enumerate(order)}
    tree = _tree(paths, 0)
    return Partition(tuple(groups[i] for i in order), tuple(splits), of, tree)


def _group(leaf: _Leaf, risk: ExposureSpans) -> ObjectGroup:
    deaths, time = int(risk.dead.sum()), float(risk.time.sum())
    rate, low, high = rate_interval(deaths, time)
    return ObjectGroup(leaf.rule, leaf.rows.size, deaths, time, rate, low, high)


def _tree(paths: Mapping[int, tuple[tuple[Filter, bool], ...]], depth: int) -> Tree:
    if len(paths) == 1:
        return next(iter(paths))
    rule = next(iter(paths.values()))[depth][0]
    sides = {
        side: {n: p for n, p in paths.items() if p[depth][1] is side}
        for side in (True, False)
    }
    return Branch(rule, _tree(sides[True], depth + 1), _tree(sides[False], depth + 1))


def _follow(
    tree: Tree, attributes: Mapping[str, Values], rows: Ints, found: Ints
) -> None:
    if isinstance(tree, int):
        found[rows] = tree
        return
    yes = tree.rule({n: v[rows] for n, v in attributes.items()})
    _follow(tree.yes, attributes, rows[yes], found)
    _follow(tree.no, attributes, rows[~yes], found)
