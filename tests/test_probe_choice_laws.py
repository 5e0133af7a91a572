"""What blocks of results show, what counts settle to, and what samples promise."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.allocation.signals import SignalRates
from halflife.core.forms import Attribute, Interface, Query, Term
from halflife.models.lifetime import LifeStatus, WeibullLifetime
from halflife.queries.fresh.simple import GammaPoissonRule
from halflife.queries.known.coverage import at_least_held
from halflife.queries.known.greedy import _State, offers, units_of
from halflife.queries.known.keywords import pool_of
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords, Origin
from halflife.queries.table_form import TableForm
from lab.hit_counts import HitCounts, TrueCoverage
from probe_worlds import relation, worlds


@given(
    world=worlds(lookup=False), page=st.integers(1, 4), cap=st.sampled_from([None, 6])
)
def test_all_blocks_together_show_a_match_as_likely_as_it_can_be_reached(
    world, page, cap
):
    pool, value, hits = world
    offered = offers(hits, page_size=page, cap=cap)
    state = _State(pool, value, offered)
    for j in range(len(pool)):
        hidden = 1.0
        for block in range(int(offered.blocks[j])):
            chance = state.chance(j)
            assert 0.0 <= chance <= 1.0
            hidden *= 1.0 - chance
            shown = min((block + 1) * offered.share[j], offered.reach[j])
            assert 1.0 - hidden == pytest.approx(shown, abs=1e-9)
            state.read[j] += 1
        assert state.chance(j) == 0.0


def test_what_is_worth_anything_is_worth_a_unit():
    units = units_of(np.array([0.0, 1e-30, 0.5, 1.0]))
    assert units[:2] == [0, 1]
    assert units[3] == 2 * units[2]
    assert units_of(np.zeros(2)) == [0, 0]


def test_counts_are_no_less_than_what_is_held_and_a_look_up_finds_one():
    pool = pool_of(relation([{0}, {0}, {0, 1}]), together=1, lookup=True)
    n = len(pool)
    found = at_least_held(pool, np.full(n, 1.5), np.full(n, 0.2))
    for j in range(n):
        if pool.lookup[j]:
            assert (found.count[j], found.error[j]) == (1.0, 0.0)
        elif pool.held[j] > 1.5:
            assert (found.count[j], found.error[j]) == (pool.held[j], math.inf)
        else:
            assert (found.count[j], found.error[j]) == (1.5, 0.2)
    few = at_least_held(pool, np.zeros(n), np.zeros(n))
    assert (few.count >= 1.0).all()
    assert (
        few.count[~pool.lookup].tolist()
        == np.maximum(pool.held, 1)[~pool.lookup].tolist()
    )


def test_what_never_changes_is_not_made_older_by_hints():
    assert SignalRates.of(0.0, 0.5, 1.0).shift == 0.0
    assert SignalRates.of(1.0, 0.5, 0.0).shift > 0.0
    assert np.isfinite(SignalRates.of(1.0, 1.0, 0.1).shift)


@pytest.mark.parametrize("shape", [0.6, 1.0, 2.5])
def test_who_is_not_born_yet_is_as_one_just_born(shape):
    model = WeibullLifetime()
    model.rate_, model.shape_ = 0.2, shape
    t, age = np.array([0.0, 1.0, 4.0, -3.0]), np.array([2.0, 2.0, -5.0, 1.0])
    found = model.conditional(t, age)

    def alive(x):
        return math.exp(-((0.2 * x) ** shape))

    by_hand = [1.0, alive(3.0) / alive(2.0), alive(4.0), 1.0]
    assert found == pytest.approx(by_hand)


FORM = Interface(
    (Attribute("city", "select"), Attribute("make", "select")), page_size=2
)


def test_a_sample_promises_new_records_by_the_mean_of_a_gamma():
    copy = {f"k{i}": {"city": "Oslo", "make": f"m{i % 3}"} for i in range(12)}
    local = LocalRecords(FORM, copy)
    ledger = Ledger(TableForm(FORM, copy, rng=np.random.default_rng(0)))
    for i in range(4):  # a third of the copy was drawn again, and two new ones
        local.note(f"k{i}", copy[f"k{i}"], Origin.SAMPLED)
        local.sampled.add(f"k{i}")
    for i in range(2):
        local.note(f"n{i}", {"city": "Oslo", "make": "m0"}, Origin.SAMPLED)
        local.sampled.add(f"n{i}")
    rule = GammaPoissonRule(shape=1.5, least=0.0)
    choice = rule.next(local, ledger, np.random.default_rng(0))
    rho = 4 / 12
    growth = (2 / rho) / 12
    best, left_of_best = None, 0.0
    for term, held, fresh in zip(
        local.terms, local.held.values, local.fresh.values, strict=True
    ):
        usual = growth * max(held, 0.3)
        new = (1.5 + fresh) / (1.5 / usual + rho)
        left = max(new - fresh, 0.0)
        pages = max(1.0, math.ceil((held + new) / 2))
        if best is None or left / pages > best[0] + 1e-12:
            best, left_of_best = (left / pages, term), left
    assert choice.query == Query.of(best[1])
    assert choice.expected == pytest.approx(left_of_best)
    assert (
        GammaPoissonRule(least=99.0).next(local, ledger, np.random.default_rng(0))
        is None
    )


def test_a_sample_without_new_records_still_promises_half_of_one():
    copy = {f"k{i}": {"city": "Oslo", "make": f"m{i % 3}"} for i in range(6)}
    local = LocalRecords(FORM, copy)
    ledger = Ledger(TableForm(FORM, copy, rng=np.random.default_rng(0)))
    for key, row in copy.items():
        local.note(key, row, Origin.SAMPLED)
        local.sampled.add(key)
    choice = GammaPoissonRule(least=0.0).next(local, ledger, np.random.default_rng(0))
    growth = 0.5 / 6
    left = {
        term: 1.0 / (1.0 / (growth * held) + 1.0)
        for term, held in zip(local.terms, local.held.values, strict=True)
    }
    per_page = {
        term: x / math.ceil((held + x) / 2)
        for (term, x), held in zip(left.items(), local.held.values, strict=True)
    }
    best = max(per_page, key=per_page.get)
    assert choice.query == Query.of(best)
    assert choice.expected == pytest.approx(left[best])
    assert isinstance(best, Term)


@pytest.mark.parametrize(
    ("counts", "cap", "least"),
    [("capped", 50, 51), ("capped", None, 6), ("none", 50, 6), ("exact", None, 6)],
)
def test_a_count_that_is_kept_back_says_that_there_is_more(counts, cap, least):
    form = Interface(FORM.attributes, page_size=5, counts=counts, cap=cap)
    ledger = Ledger(TableForm(form, {}, rng=np.random.default_rng(0)))
    told = HitCounts(ledger, TrueCoverage(relation([{0}])))
    assert told._least() == least


@pytest.mark.parametrize("shape", [0.7, 1.0, 2.0])
def test_the_mean_life_is_the_integral_of_survival(shape):
    model = WeibullLifetime()
    model.rate_, model.shape_ = 0.2, shape
    model.status_ = LifeStatus.OK
    t = np.linspace(0.0, 400.0, 400_001)
    alive = np.exp(-((0.2 * t) ** shape))
    area = ((alive[1:] + alive[:-1]) / 2).sum() * (t[1] - t[0])
    assert model.mean() == pytest.approx(area, rel=1e-4)
    for p in (0.1, 0.5, 0.9):
        (age,) = model.quantile(np.array([p]))
        assert 1 - math.exp(-((0.2 * age) ** shape)) == pytest.approx(p)


@pytest.mark.parametrize("shape", [0.7, 1.0, 2.0])
def test_the_hazard_is_how_fast_survival_falls(shape):
    model = WeibullLifetime()
    model.rate_, model.shape_, model.status_ = 0.2, shape, LifeStatus.OK
    t, step = np.array([0.5, 2.0, 9.0]), 1e-6
    fall = np.log(model.survival(t - step) / model.survival(t + step)) / (2 * step)
    np.testing.assert_allclose(model.hazard(t), fall, rtol=1e-5)
