"""Rates pooled over hosts and folders, group by group."""

import math

import numpy as np
import pytest

from halflife.models.empirical_bayes import GRID, fit_prior, posterior
from halflife.models.gaps import check_gaps
from halflife.models.rates import pool, tree as trees
from halflife.models.rates.pool import PooledRates, _with_new_groups
from halflife.models.rates.tree import (
    STRENGTHS,
    GroupPriors,
    Tree,
    TreePriors,
    choose_strength,
    fit_groups,
    fit_tree,
    likelihoods,
)
from lab.rates.empirical_bayes import log_likelihood


def tables(seed=0, items=12, days=15):
    rng = np.random.default_rng(seed)
    rate = np.exp(rng.normal(-1.5, 1.5, items))
    item = np.tile(np.arange(items), days)
    changed = rng.random(item.size) < -np.expm1(-rate[item])
    return log_likelihood(*check_gaps(item, np.ones(item.size), changed, None, items))


def group_by_hand(rows, above, strength):
    """Return the mass of one group, and how well each item is told by the others."""
    mass = above
    for _ in range(25):
        share = [row * mass / (row @ mass) for row in rows]
        after = (sum(share) + strength * above) / (len(rows) + strength)
        moved = np.abs(after - mass).max()
        mass = after
        if moved < 1e-3:
            break
    told = []
    for row in rows:
        others = (len(rows) + strength) * mass - row * mass / (row @ mass)
        others = np.maximum(others, 0.0) / (len(rows) + strength - 1)
        told.append(math.log(row @ others))
    return mass, told


@pytest.mark.parametrize("chunk", [2048, 5])
@pytest.mark.parametrize("strength", [0.5, 8.0])
def test_groups_are_learned_one_by_one(monkeypatch, chunk, strength):
    monkeypatch.setattr(trees, "_CHUNK", chunk)
    rows = likelihoods(tables()).astype(np.float64)
    code = np.array([3, 0, 0, 3, 1, 1, 1, 3, 3, 1, 3, 3])
    rng = np.random.default_rng(1)
    above = rng.dirichlet(np.ones(GRID.points), 4)
    found = fit_groups(rows.astype(np.float32), code, above, strength)
    assert found.strength == strength
    told = []
    for group in (0, 1, 3):
        # All groups go on as long as any of them moves; the limit is the same.
        mass, each = group_by_hand(rows[code == group], above[group], strength)
        assert found.mass[group] == pytest.approx(mass, abs=3e-3)
        told += each
    assert found.mass[2].tolist() == above[2].tolist()  # nobody is in it
    assert found.predicted == pytest.approx(np.mean(told), abs=2e-2)
    one = fit_groups(rows.astype(np.float32)[:1], code[:1], above, strength)
    mass, each = group_by_hand(rows[:1], above[3], strength)
    assert one.mass[3] == pytest.approx(mass, abs=1e-6)
    assert one.predicted == pytest.approx(each[0], rel=1e-4)


def test_likelihoods_are_relative_to_the_best_rate_of_each_item():
    table = tables(2)
    found = likelihoods(table)
    assert found.dtype == np.float32
    best = table.max(axis=1, keepdims=True)
    assert found == pytest.approx(np.exp(table.astype(float) - best), rel=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_the_strength_chosen_foretells_best(seed):
    rows, rng = likelihoods(tables(seed, 30)), np.random.default_rng(seed)
    code = rng.integers(0, 5, 30)
    above = np.tile(rng.dirichlet(np.ones(GRID.points)), (5, 1))
    told = [fit_groups(rows, code, above, s).predicted for s in STRENGTHS]
    assert choose_strength(rows, code, above) == STRENGTHS[int(np.argmax(told))]


def test_of_many_items_every_other_group_tells_the_strength(monkeypatch):
    rows, code = likelihoods(tables(4, 30)), np.repeat([2, 0, 3, 1], [12, 9, 6, 3])
    above = np.tile(np.random.default_rng(0).dirichlet(np.ones(GRID.points)), (4, 1))
    monkeypatch.setattr(trees, "_SAMPLE", 15)
    asked = []

    def noted(likelihood, groups, given, strength):
        asked.append(groups.copy())
        return fit_groups(likelihood, groups, given, strength)

    monkeypatch.setattr(trees, "fit_groups", noted)
    for enough in (30, 31, 6000):
        monkeypatch.setattr(trees, "_SAMPLE", enough)
        asked.clear()
        choose_strength(rows, code, above)
        assert asked[0].tolist() == code.tolist()  # all of them
    monkeypatch.setattr(trees, "_SAMPLE", 15)
    asked.clear()
    choose_strength(rows, code, above)
    # Twice as many as wanted: of the groups by size, the first and the third.
    assert asked[0].tolist() == [2] * 12 + [3] * 6
    monkeypatch.setattr(trees, "_SAMPLE", 6)
    asked.clear()
    choose_strength(rows, code, above)
    assert asked[0].tolist() == [2] * 6  # of 12 in the largest, every other one


def test_a_tree_is_learned_from_the_top():
    table, rng = tables(5, 20), np.random.default_rng(5)
    item = np.array([4, 9, 1, *range(12, 29)])
    host_of = np.array([0, 0, 1, 2, 2])
    folder = rng.integers(0, 5, 30)
    tree = Tree(host_of[folder], folder, host_of)
    assert tree.hosts == 3
    found = fit_tree(table, item, tree)
    root = fit_prior(table)
    assert found.root == pytest.approx(root)
    rows, above = likelihoods(table), np.tile(root, (3, 1))
    hosts = fit_groups(
        rows, tree.host[item], above, choose_strength(rows, tree.host[item], above)
    )
    assert found.hosts.mass == pytest.approx(hosts.mass)
    below = hosts.mass[host_of]
    folders = fit_groups(
        rows, folder[item], below, choose_strength(rows, folder[item], below)
    )
    assert found.folders.mass == pytest.approx(folders.mass)
    assert Tree(np.zeros(0, int), np.zeros(0, int), np.zeros(0, int)).hosts == 0


def test_new_groups_begin_with_the_prior_of_the_level_above():
    rng = np.random.default_rng(6)
    root, hosts, folders = (rng.dirichlet(np.ones(4), n) for n in (1, 2, 3))
    priors = TreePriors(
        root[0], GroupPriors(hosts, 2.0, -1.0), GroupPriors(folders, 8.0, -2.0)
    )
    host_of = np.array([0, 0, 1, 1, 2, 3])
    tree = Tree(host_of, np.arange(6), host_of)
    found = _with_new_groups(priors, tree)
    assert found.hosts.mass.tolist() == [*hosts.tolist(), *root.tolist() * 2]
    new = [hosts[1].tolist(), root[0].tolist(), root[0].tolist()]
    assert found.folders.mass.tolist() == [*folders.tolist(), *new]
    assert (found.hosts.strength, found.folders.strength) == (2.0, 8.0)
    old = Tree(host_of[:3], np.arange(3), host_of[:3])
    assert _with_new_groups(priors, old).hosts.mass.tolist() == hosts.tolist()


@pytest.mark.parametrize("chunk", [4096, 3])
def test_pooled_rates_are_posteriors_under_the_prior_of_the_folder(monkeypatch, chunk):
    monkeypatch.setattr(pool, "_CHUNK", chunk)
    rng = np.random.default_rng(7)
    host_of = np.array([0, 0, 1])
    folder = np.arange(11) % 3
    tree = Tree(host_of[folder], folder, host_of)
    item = rng.integers(0, 9, 60)  # two items are never looked at
    length, changed = rng.uniform(0.5, 4, 60), rng.random(60) < 0.4
    model = PooledRates()
    model.grow(11)
    model.place(tree)
    model.add(item, length, changed)
    held = list(dict.fromkeys(np.unique(item).tolist()))
    table = log_likelihood(*check_gaps(item, length, changed, None, 11))
    priors = fit_tree(table[held], np.array(held), tree)
    shape, exposure, mean = (np.zeros(11) for _ in range(3))
    for i in range(11):
        one = posterior(table[i : i + 1].astype(float), priors.folders.mass[folder[i]])
        shape[i], exposure[i], mean[i] = (float(c[0]) for c in one)
    assert model.rate() == pytest.approx(mean, rel=1e-3)
    law = model.survival()
    t = np.full(11, 3.0)
    by_hand = (1 + t / exposure) ** -shape
    assert law.alive(t) == pytest.approx(by_hand, rel=1e-3)
    assert model.priors is not None


def test_pooled_priors_are_learned_again_when_gaps_have_grown_by_the_factor():
    model = PooledRates(refit=2.0)
    model.grow(3)
    one = np.ones(1)
    first = model.rate()[2]
    learned = []
    for k in range(16):
        before = model._root
        model.add(np.array([k % 2]), one, np.array([k % 3 == 0]))
        model.rate()
        if model._root is not before:
            learned.append(k + 1)
    assert learned == [1, 3, 7, 15]
    assert model.rate()[2] != first  # who has no gap follows the population
    assert model._table.shape[0] >= 2
    slots = model._slot.tolist()
    assert slots == [0, 1, -1]


def test_items_without_a_gap_follow_their_folder_however_many_folders(monkeypatch):
    rng = np.random.default_rng(8)
    folder = np.concatenate([np.repeat(np.arange(5), 2), np.arange(5), [4, 0, 2]])
    tree = Tree(np.zeros(folder.size, np.intp), folder, np.zeros(5, np.intp))
    item = np.repeat(np.arange(10), 12)
    busy = -np.expm1(-np.array([0.02, 0.3, 0.15, 2.0, 0.7]))
    changed = rng.random(item.size) < busy[folder[item]]
    found = []
    for chunk in (1, 2, 3, 4096):
        monkeypatch.setattr(pool, "_CHUNK", chunk)
        model = PooledRates()
        model.grow(folder.size)
        model.place(tree)
        model.add(item, np.ones(item.size), changed)
        found.append(model.rate())
    assert model.priors is not None
    for i in range(10, folder.size):
        told = float(model.priors.folders.mass[folder[i]] @ GRID.rate)
        for rate in found:
            assert rate[i] == pytest.approx(told, rel=1e-3)
    assert np.unique(found[0][10:15].round(6)).size >= 4  # they differ
