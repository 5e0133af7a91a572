"""Believed freshness item by item, and bounds against scipy's distributions."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from halflife.core.view import Unrest, View
from halflife.models import quality
from halflife.models.poisson import Exponential, GammaSurvival
from halflife.models.quality import (
    alive_at,
    beta_bounds,
    columns,
    fates,
    freshness_forecast,
    item_blocks,
    round_to_items,
    survival_of,
)
from halflife.models.unrest import PRIOR


def a_view(seed=0, n=11, *, unrest=(), doubt=0.0):
    rng = np.random.default_rng(seed)
    looks = rng.integers(0, 4, n)
    age = np.where(looks > 0, rng.uniform(0, 9, n), np.inf)
    rate = rng.uniform(0.01, 0.5, n)
    none = np.zeros(n)
    return View(
        now=100.0,
        keys=[f"p{i}" for i in range(n)],
        weight=rng.uniform(0.5, 3.0, n),
        cost=np.ones(n),
        group=rng.integers(0, 3, n),
        rate=rate,
        survival=GammaSurvival(rng.uniform(0.5, 3, n), rng.uniform(5, 30, n)),
        age=age,
        looks=looks,
        changes=none.astype(int),
        looked=none > 0,
        changed=none > 0,
        ready=none == 0,
        due=np.zeros(0),
        exposure=np.where(looks > 0, age * rng.uniform(0.5, 2.0, n), np.inf),
        doubt=doubt * rng.uniform(0, 2, n),
        room=np.full(n, np.inf),
        unrest=lambda: Unrest(*unrest),
    )


def fate_by_hand(view, i, later):
    """Return the chance that one copy is fresh, its own variance and its swing."""
    law = view.survival

    def alive(t):
        return (1 + max(t, 0.0) / law.exposure[i]) ** -law.shape[i]

    if view.looks[i] == 0:
        return 0.0, 0.0, 0.0
    u, watched, pace, _ = view.unrest().of(view.group[i])
    lived, doubt = view.exposure[i] + pace * later, view.doubt[i]
    chance = alive(lived)
    swing = (alive(lived - doubt) - alive(lived + doubt)) / 2
    if not u:
        return chance, chance * (1 - chance), swing
    span = view.unsettled_age[i] + later
    v = pace**2 * u * span + u * lived**2 / watched
    r = -math.log(chance) / lived
    both = 2 - min(u * pace * r, 1) * pace * later / lived
    once, twice = ((1 + c * r * v / lived) ** (-(lived**2) / v) for c in (1, both))
    n = watched / max(span, 1.0) + PRIOR
    more = math.sqrt(min((twice - once**2) * n / (n - 2), once * (1 - once)))
    return once, once - twice, max(swing, more)


CASES = [
    a_view(0),
    a_view(1, doubt=1.0),
    a_view(2, unrest=(3.0, 50.0)),
    a_view(3, unrest=(0.4, 20.0), doubt=4.0),
    a_view(4, unrest=(np.array([0.0, 2.0, 40.0]), 60.0, np.array([0.7, 1.0, 1.8]))),
    replace(a_view(5, unrest=(3.0, 50.0)), unsettled=0.2 * a_view(5).age),
]


@pytest.mark.parametrize("view", CASES)
@pytest.mark.parametrize("later", [0.0, 2.5])
def test_fates_are_those_of_each_item_alone(view, later):
    found = fates(view, slice(0, len(view)), view.survival, later)
    by_hand = [fate_by_hand(view, i, later) for i in range(len(view))]
    for column, expected in zip(found[:3], np.array(by_hand).T, strict=True):
        assert column == pytest.approx(expected)
    some = slice(3, 8)
    part = fates(view, some, survival_of(view, some), later)
    for one, whole in zip(part, found, strict=True):
        assert one == pytest.approx(whole[some])


@pytest.mark.parametrize("view", CASES)
def test_the_share_that_is_fresh_has_the_moments_of_weighted_tosses(view):
    ahead = np.array([0.0, 1.0, 30.0])
    found = freshness_forecast(view, ahead, confidence=0.9)
    assert found.at == pytest.approx(100.0 + ahead)
    assert found.confidence == 0.9
    total = view.weight.sum()
    for k, later in enumerate(ahead):
        rows = [fate_by_hand(view, i, later) for i in range(len(view))]
        share = view.weight / total
        mean = sum(s * r[0] for s, r in zip(share, rows, strict=True))
        spread = sum(s**2 * r[1] for s, r in zip(share, rows, strict=True))
        for g in range(3):
            mine = [
                s * r[2]
                for s, r, h in zip(share, rows, view.group, strict=True)
                if h == g
            ]
            spread += sum(mine) ** 2
        assert found.mean[k] == pytest.approx(mean)
        both = mean * (1 - mean) / min(spread, mean * (1 - mean) * (1 - 1e-12)) - 1
        law = stats.beta(mean * both, (1 - mean) * both)
        n = total**2 / np.sum(view.weight**2)
        low, high = law.ppf(0.05), law.ppf(0.95)
        low, high = min(low, round(low * n) / n), max(high, round(high * n) / n)
        assert found.low[k] == pytest.approx(low, abs=1e-6)
        if found.high[k] < 1.0:
            assert found.high[k] == pytest.approx(high, abs=1e-6)
        else:  # that it is all fresh is likelier than the tail
            assert high >= 1.0 - 1e-6 or (view.looks > 0).all()


@pytest.mark.parametrize("view", CASES)
def test_all_copies_sway_together_with_what_is_not_known_of_the_pace(view):
    doubt, ahead = 0.3, np.array([0.0, 2.5])
    unrest = view.unrest()
    unsure = replace(view, unrest=lambda: unrest._replace(doubt=doubt))
    sway, share = np.zeros(2), view.weight / view.weight.sum()
    for k, later in enumerate(ahead):
        for i in range(len(view)):
            pace = unrest.of(view.group[i]).pace
            if view.looks[i]:
                lived = view.exposure[i] + pace * later
                law = view.survival
                less, more = (
                    (1 + lived * f / law.exposure[i]) ** -law.shape[i]
                    for f in (math.exp(-doubt), math.exp(doubt))
                )
                sway[k] += share[i] * (less - more) / 2
    for k, later in enumerate(ahead.tolist()):
        mean, variance, calm = quality._moments(view, view.weight.sum(), later)
        found = quality._moments(unsure, view.weight.sum(), later)
        assert found == pytest.approx((mean, variance + sway[k] ** 2, calm))


def test_what_weighs_nothing_is_fresh():
    view = replace(a_view(0), weight=np.zeros(11))
    found = freshness_forecast(view, np.array([0.0, 5.0]))
    assert found.mean.tolist() == found.low.tolist() == found.high.tolist() == [1, 1]


def test_many_items_are_computed_in_blocks_with_the_same_result(monkeypatch):
    view, ahead = a_view(5, unrest=(1.0, 30.0), doubt=1.0), np.array([1.0])
    whole = freshness_forecast(view, ahead)
    assert [at for at, _ in item_blocks(view)] == [slice(0, 11)]
    monkeypatch.setattr(quality, "BLOCK", 5)
    cut = [slice(0, 5), slice(5, 10), slice(10, 11)]
    assert [at for at, _ in item_blocks(view)] == cut
    for at, law in item_blocks(view):
        assert law.shape.tolist() == view.survival.shape[at].tolist()
    again = freshness_forecast(view, ahead)
    assert again.mean == pytest.approx(whole.mean)
    assert again.low == pytest.approx(whole.low)
    # Twice a block is not many yet.
    few = a_view(5, n=10)
    assert [at for at, _ in item_blocks(few)] == [slice(0, 10)]


@dataclass(frozen=True)
class Odd:
    """A survival that is not made of columns, one row an item."""

    table: np.ndarray

    def alive(self, t):
        return np.exp(-self.table[0] * t)


class Plain:
    """A survival that is no dataclass."""

    def __init__(self, n):
        self.rate = np.linspace(0.1, 0.5, n)

    def alive(self, t):
        return np.exp(-self.rate * t)


def test_a_survival_that_cannot_be_cut_is_taken_whole(monkeypatch):
    monkeypatch.setattr(quality, "BLOCK", 3)
    view = a_view(6)
    assert list(columns(view)) == ["shape", "exposure"]
    for law in (Odd(np.full((2, 11), 0.3)), Plain(11)):
        other = replace(view, survival=law)
        assert columns(other) == {}
        assert [at for at, _ in item_blocks(other)] == [slice(0, 11)]
        assert survival_of(other, slice(2, 4)) is law
        held = int(np.flatnonzero(view.looks)[1])
        own = law.alive(view.exposure[view.looks > 0].max() * np.ones(11))
        assert own.shape == (11,)
        by_hand = law.alive(np.where(view.looks > 0, view.exposure, 1.0))[held]
        assert alive_at(other, held) == pytest.approx(by_hand)


def test_the_chance_of_one_copy_is_its_own():
    view = a_view(7)
    for row in np.flatnonzero(view.looks).tolist():
        by_hand = fate_by_hand(view, row, 0.0)[0]
        assert alive_at(view, row) == pytest.approx(by_hand)
    plain = replace(view, survival=Exponential(view.rate))
    row = int(np.flatnonzero(view.looks)[-1])
    by_hand = math.exp(-view.rate[row] * view.exposure[row])
    assert alive_at(plain, row) == pytest.approx(by_hand)


def test_bounds_are_quantiles_of_the_beta_law_of_mean_and_variance():
    mean = np.array([0.2, 0.5, 0.9, 0.97])
    variance = np.array([0.01, 0.08, 0.002, 0.0004])
    for confidence in (0.5, 0.9, 0.99):
        low, high = beta_bounds(mean, variance, confidence)
        both = mean * (1 - mean) / variance - 1
        law = stats.beta(mean * both, (1 - mean) * both)
        tail = (1 - confidence) / 2
        assert low == pytest.approx(law.ppf(tail))
        assert high == pytest.approx(law.ppf(1 - tail))


def test_bounds_without_variance_are_the_mean_and_with_all_of_it_a_toss():
    mean = np.array([0.3, 0.0, 1.0])
    for bound in beta_bounds(mean, np.zeros(3), 0.9):
        assert bound.tolist() == mean.tolist()
    # 1 with chance m: the lower bound is 1 only if at most a tail is 0.
    mean = np.array([0.25, 0.26, 0.5, 0.74, 0.75, 0.76])
    low, high = beta_bounds(mean, mean * (1 - mean), 0.5)
    assert low.tolist() == [0, 0, 0, 0, 1, 1]
    assert high.tolist() == [0, 1, 1, 1, 1, 1]
    # Rounding away from its limit the variance is that of a toss still.
    near = mean * (1 - mean) * (1 - 1e-10)
    assert beta_bounds(mean, near, 0.5)[0].tolist() == [0, 0, 0, 0, 1, 1]
    mixed_low, mixed_high = beta_bounds(
        np.array([0.5, 0.5, 0.5]), np.array([0.0, 0.25, 1 / 12]), 0.9
    )
    assert mixed_low == pytest.approx([0.5, 0.0, 0.05])
    assert mixed_high == pytest.approx([0.5, 1.0, 0.95])


def test_no_share_varies_more_than_a_toss_however_great_the_doubt():
    view = a_view(8, n=1, doubt=50.0)
    view = replace(view, looks=np.ones(1, int), age=np.ones(1), exposure=np.ones(1))
    chance, alone, swing = fate_by_hand(view, 0, 0.5)
    assert alone + swing**2 > chance * (1 - chance)
    found = freshness_forecast(view, np.array([0.5]), confidence=0.9)
    assert found.mean == pytest.approx([chance])
    low, high = beta_bounds(found.mean, found.mean * (1 - found.mean), 0.9)
    assert (found.low.tolist(), found.high.tolist()) == (low.tolist(), high.tolist())


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.integers(1, 500))
def test_bounds_of_whole_items_hold_what_they_held_and_half_an_item_more(a, b, n):
    low, high = round_to_items(np.array([min(a, b)]), np.array([max(a, b)]), n)
    assert 0.0 <= low[0] <= min(a, b)
    assert max(a, b) <= high[0] <= 1.0
    for bound, old in ((low[0], min(a, b)), (high[0], max(a, b))):
        assert abs(bound - old) <= 0.5 / n + 1e-9
        assert bound == old or bound * n == pytest.approx(round(bound * n), abs=1e-6)
    again = round_to_items(low, high, n)
    assert again[0] == pytest.approx(low)
    assert again[1] == pytest.approx(high)
