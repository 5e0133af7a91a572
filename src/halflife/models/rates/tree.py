"""Rates learned from the whole population, and from an item's host and folder.

The likelihood of each rate of a grid is kept for every item that has had a gap. The
distribution of rates, the prior, is learned at each level of a tree: all items, a
host's items, a folder's items. A group's prior is

    (sum of its items' posteriors + strength * prior of the level above)
        / (items + strength)

iterated until convergence: a large group is determined by its own items, a small one by
the level above. The strength is chosen, among a few, by how well the prior of a group
without an item predicts that item (leave one out).
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Floats, Ints
from halflife.models.empirical_bayes import Table, fit_prior

Likelihoods: TypeAlias = NDArray[np.float32]

STRENGTHS = (2.0, 8.0, 32.0, 128.0)
_CHUNK = 2048  # rows at a time, so that scratch space stays small
_ROUNDS = 25
_SETTLED = 1e-3  # largest change of a weight in the last round
_SAMPLE = 6000  # items by which the strength is chosen


class GroupPriors(NamedTuple):
    """The distribution of rates in each group of one level.

    Attributes:
        mass: Probability of each rate of the grid; one row for each group.
        strength: The weight of the level above, in items.
        predicted: Mean log-probability of an item, given the others in its group.

    """

    mass: Floats
    strength: float
    predicted: float


def likelihoods(table: Table) -> Likelihoods:
    """Return the likelihood of each rate, relative to the best of each item."""
    best = table.max(axis=1, keepdims=True)
    return np.asarray(np.exp(table - best), dtype=np.float32)


def fit_groups(
    likelihood: Likelihoods, code: Ints, above: Floats, strength: float
) -> GroupPriors:
    """Return the prior of every group, given that of the level above, by EM.

    ``code`` is the group of each item; ``above`` has one row for each group.
    """
    order = np.argsort(code, kind="stable")
    rows, group = likelihood[order], code[order]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    within = np.repeat(np.arange(first.size), np.diff(first, append=group.size))
    items = np.bincount(within, minlength=first.size)[:, None].astype(np.float64)
    parent = above[group[first]]
    mass = parent
    for _ in range(_ROUNDS):
        after = (_totals(rows, within, mass) + strength * parent) / (items + strength)
        change = float(np.max(np.abs(after - mass), initial=0.0))
        mass = after
        if change < _SETTLED:
            break
    mass_of_all = above.copy()
    mass_of_all[group[first]] = mass
    return GroupPriors(
        mass_of_all, strength, _predicted(rows, within, mass, items + strength)
    )


def _totals(rows: Likelihoods, within: Ints, mass: Floats) -> Floats:
    """Return the sum of the posteriors of each group's items."""
    total = np.zeros(mass.shape)
    single = mass.astype(np.float32)  # the slow part of the fit
    for part in _parts(within.size):
        group = within[part]
        first = np.flatnonzero(np.diff(group, prepend=-1))
        chance = np.einsum("ij,ij->i", rows[part], single[group])
        share = rows[part] / chance[:, None]
        total[group[first]] += np.add.reduceat(share, first, axis=0)
    return total * mass


def _predicted(rows: Likelihoods, within: Ints, mass: Floats, weight: Floats) -> float:
    """Return the mean log-probability of an item under its group's prior without it.

    Without item i the prior is (weight * mass - posterior of i) / (weight - 1).
    """
    total = 0.0
    for part in _parts(within.size):
        group = within[part]
        whole = weight[group] * mass[group]
        others = np.maximum(whole - _shares(rows[part], mass[group]), 0.0)
        chance = np.sum(rows[part] * others, axis=1) / (weight[group, 0] - 1.0)
        total += float(np.log(np.maximum(chance, 1e-300)).sum())
    return total / max(within.size, 1)


def _shares(rows: Likelihoods, mass: Floats) -> Floats:
    share = rows * mass
    return np.asarray(share / share.sum(axis=1, keepdims=True))


def _parts(n: int) -> list[slice]:
    return [slice(start, start + _CHUNK) for start in range(0, n, _CHUNK)]


def choose_strength(likelihood: Likelihoods, code: Ints, above: Floats) -> float:
    """Return the strength that predicts items best from the others in their group.

    Groups are sampled evenly by size, and items in them if they are too many.
    """
    count = np.bincount(code, minlength=len(above))
    step = max(1, int(np.ceil(code.size / _SAMPLE)))
    order = np.argsort(-count, kind="stable")
    sampled = np.zeros(len(above), np.bool_)
    sampled[order[::step]] = True
    rows = np.flatnonzero(sampled[code])
    rows = rows[:: max(1, rows.size // _SAMPLE)]
    scores = [
        fit_groups(likelihood[rows], code[rows], above, strength).predicted
        for strength in STRENGTHS
    ]
    return STRENGTHS[int(np.argmax(scores))]


class Tree(NamedTuple):
    """The groups of items on two levels.

    Attributes:
        host: The host of each item.
        folder: The folder of each item.
        host_of: The host of each folder.

    """

    host: Ints
    folder: Ints
    host_of: Ints

    @property
    def hosts(self) -> int:
        """The number of hosts."""
        return int(self.host.max(initial=-1)) + 1


class TreePriors(NamedTuple):
    """The priors of all items, of each host and of each folder."""

    root: Floats
    hosts: GroupPriors
    folders: GroupPriors


def fit_tree(table: Table, item: Ints, tree: Tree) -> TreePriors:
    """Return the priors on all levels; row ``i`` of the table is item ``item[i]``."""
    root = fit_prior(table)
    likelihood = likelihoods(table)
    above = np.tile(root, (tree.hosts, 1))
    hosts = _fit_level(likelihood, tree.host[item], above)
    folders = _fit_level(likelihood, tree.folder[item], hosts.mass[tree.host_of])
    return TreePriors(root, hosts, folders)


def _fit_level(likelihood: Likelihoods, code: Ints, above: Floats) -> GroupPriors:
    return fit_groups(likelihood, code, above, choose_strength(likelihood, code, above))
