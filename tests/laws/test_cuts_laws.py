"""Cuts of blocks in two, against all ways to part them."""

from itertools import combinations
from math import inf, log

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from halflife.grouping.cuts import (
    SIMULATIONS,
    Blocks,
    _beyond,
    best_cut,
    carried_gain,
    gain_of,
)


def d_log(d, t):
    return d * log(d / t) if d > 0 and t > 0 else 0.0


def gain(deaths, time, left):
    """Return what a cut gains, and the ends expected of its lesser side."""
    d, t = sum(deaths[i] for i in left), sum(time[i] for i in left)
    all_d, all_t = sum(deaths), sum(time)
    found = 2 * (d_log(d, t) + d_log(all_d - d, all_t - t) - d_log(all_d, all_t))
    return max(found, 0.0), min(t, all_t - t) * all_d / all_t if all_t else 0.0


def ways(count, *, ordered, loose):
    """Yield the left sides that a cut may have."""
    if not ordered:
        for size in range(1, count):
            yield from combinations(range(count), size)
        return
    for end in range(1, count):
        yield tuple(range(end))
        if loose:  # the last block goes with the small ones
            yield (count - 1, *range(end - 1))


def best_of_all(deaths, time, least, **kind):
    found = [gain(deaths, time, left) for left in ways(len(time), **kind)]
    return max((g for g, small in found if small >= least - 1e-12), default=-inf)


COUNTS = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from([0.0, 1.0, 5.0, 20.0])),
    min_size=1,
    max_size=5,
)


@given(COUNTS, st.sampled_from([0.0, 1.0, 4.0]), st.booleans(), st.booleans())
def test_the_best_cut_of_all_that_are_allowed_is_found(counts, least, ordered, loose):
    deaths = [float(d if t else 0) for d, t in counts]
    time = [t for _, t in counts]
    blocks = Blocks(np.array(deaths), np.array(time), ordered, loose)
    found = best_cut(blocks, least, 1.0, np.random.default_rng(0), 0.0)
    kind = {"ordered": ordered, "loose": loose}
    wanted = best_of_all(deaths, time, least, **kind)
    if not ordered and least:  # the scan tries only cuts of the list sorted by rate
        assert found.gain <= max(wanted, 0.0) + 1e-9
    elif wanted == -inf:
        assert found == (0.0, (), 1.0)
    else:
        assert found.gain == pytest.approx(wanted, abs=1e-9)
    if found.left:
        assert found.gain == pytest.approx(gain(deaths, time, found.left)[0], abs=1e-9)
        assert gain(deaths, time, found.left)[1] >= least - 1e-9
        assert tuple(sorted(found.left)) == found.left
        assert found.left in {tuple(sorted(w)) for w in ways(len(time), **kind)}


def test_a_side_with_exactly_the_least_expected_ends_is_enough():
    blocks = Blocks(np.array([1.0, 9.0]), np.array([10.0, 10.0]), True, False)
    rng = np.random.default_rng(0)
    assert best_cut(blocks, 5.0, 1.0, rng, 0.0).left == (0,)
    assert best_cut(blocks, 5.001, 1.0, rng, 0.0).left == ()


def test_a_chance_that_settles_the_question_is_the_bound_of_all_blocks_apart():
    time = np.array([10.0, 10.0, 10.0, 0.0])  # of the last nothing is known
    for deaths, widened, level in (
        ([5.0, 50.0, 5.0, 0.0], 2.0, 0.01),  # far below the level
        ([5.0, 6.0, 5.0, 0.0], 1.0, 0.01),  # far above it
    ):
        blocks = Blocks(np.array(deaths), time, True, False)
        found = best_cut(blocks, 0.0, widened, np.random.default_rng(0), level)
        wanted = stats.chi2.sf(found.gain / widened, 3 - 1)
        assert found.chance == pytest.approx(wanted)


@pytest.mark.parametrize("widened", [1.0, 1.3])
def test_else_the_chance_is_the_share_of_simulated_gains_that_are_as_large(widened):
    deaths, time = [12.0, 20.0, 9.0, 24.0], [10.0, 12.0, 9.0, 11.0]
    blocks = Blocks(np.array(deaths), np.array(time), False, False)
    found = best_cut(blocks, 0.0, widened, np.random.default_rng(7), 0.1)
    scaled = found.gain / widened
    assert stats.chi2.sf(scaled, 1) <= 0.1 < stats.chi2.sf(scaled, 3)
    share = np.array(time) / sum(time)
    drawn = np.random.default_rng(7).multinomial(65, share, size=SIMULATIONS)
    kind = {"ordered": False, "loose": False}
    rivals = [best_of_all(row, time, 0.0, **kind) for row in drawn.tolist()]
    reached = sum(rival >= scaled - 1e-12 for rival in rivals)
    assert found.chance == (1 + reached) / (1 + SIMULATIONS)
    assert 0 < reached < SIMULATIONS


@pytest.mark.parametrize("free", [0, 1, 2, 7])
@pytest.mark.parametrize("value", [-1.0, 0.0, 0.5, 9.0])
def test_the_chance_to_be_beyond_is_that_of_chi_squared(free, value):
    wanted = stats.chi2.sf(max(value, 0.0), max(free, 1))
    assert _beyond(free, value) == pytest.approx(wanted)


def test_a_rate_at_its_best_is_worth_its_logarithm():
    d, t = np.array([0.0, 3.0, 2.0, 5.0]), np.array([4.0, 6.0, 0.0, 1.0])
    wanted = [d_log(*pair) for pair in zip(d, t, strict=True)]
    assert gain_of(d, t) == pytest.approx(wanted)


@given(
    st.lists(
        st.tuples(*[st.integers(0, 9)] * 4, st.integers(0, 1)), min_size=1, max_size=5
    )
)
def test_early_rates_are_judged_by_what_comes_later(rows):
    early, et, late, dt, side = (np.array(c, float) for c in zip(*rows, strict=True))
    found = carried_gain(
        Blocks(early, et, False, False),
        Blocks(late, dt, False, False),
        side.astype(int),
    )
    days = [et[side == s].sum() for s in (0, 1)]
    if min(days) <= 0:
        assert found == 0.0
        return
    one = (early.sum() + 0.5) / et.sum()
    wanted = 0.0
    for s in (0, 1):
        rate = (early[side == s].sum() + 0.5) / days[s]
        wanted += late[side == s].sum() * log(rate / one)
        wanted -= (rate - one) * dt[side == s].sum()
    assert found == pytest.approx(wanted, abs=1e-9)
