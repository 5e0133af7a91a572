"""Quantiles of three forecasts, mixed as far as each proved right."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from halflife.models import quantile_mixture as q
from halflife.models.conformal import (
    FREEDOM,
    LENT,
    LENT_MIDDLE,
    MEDIAN,
    Calibrated,
    Scored,
    row_quantiles,
)
from halflife.models.quantile_mixture import Mixture, block_sums, pinball

LEVELS = np.array([0.05, 0.45, 0.95])


def mixture(seed=0, n=60, cycle=2.0, lag=2, members=q.MEMBERS):
    """Return forecasts from n looks, each told ``lag`` looks later."""
    rng = np.random.default_rng(seed)
    guess = rng.uniform(0.02, 0.2, n)
    found = guess * rng.gamma(3.0, 1 / 3, n)
    later = np.where(np.arange(n) < n - lag, np.arange(n) + lag, -1)
    scored = Scored(guess, found, np.full(n, 200.0), later, cycle, 4)
    steps = rng.gamma(1.0, 0.05, n - 1)
    ahead = cycle * rng.uniform(0.9, 1.2, n)
    return Mixture(Calibrated(scored, np.full(n, 0.4)), steps, ahead, members)


def calm(n=300):
    """Return a source that loses nothing, though models expect a little."""
    later = np.append(np.arange(1, n), -1)
    scored = Scored(np.full(n, 0.02), np.zeros(n), np.full(n, 500.0), later, 1.0, 4)
    return Mixture(Calibrated(scored, np.full(n, 0.5)), np.zeros(n - 1), np.ones(n))


def by_hand(values, weights, level):
    """Return the least value below or at which a share of the weight lies."""
    pairs = sorted(zip(values, weights, strict=True))
    total, so_far = sum(weights), 0.0
    for value, weight in pairs:
        so_far += weight
        if so_far >= level * total - 1e-12:
            return value
    return pairs[-1][0]


def lent(mixed, look):
    t = stats.t(FREEDOM).ppf((np.arange(199) + 0.5) / 199)
    size, guess, c = 200.0, mixed.scored.guess[look], 0.4
    y = 2 / c * math.asinh(c * math.sqrt(size * guess + 3 / 8)) + t
    x = np.sinh(np.maximum(y * c / 2, 0)) ** 2 / c**2 - 3 / 8
    return np.maximum(x, 0) / size


def farther(values, cycles):
    """Return values sqrt(1 + 1/n) as far from their mean, no less than nothing."""
    mean = np.mean(values) if len(values) else 0.0
    factor = math.sqrt(1 + 1 / max(cycles, 1))
    return [max(mean + factor * (value - mean), 0.0) for value in values]


@pytest.mark.parametrize("look", [0, 5, 30, 59])
def test_the_past_counts_each_outcome_once_and_two_cycles_are_lent(look):
    mixed = mixture(members=(q.PAST,))
    s = mixed.scored
    pace = s.found / mixed.ahead * mixed.ahead[look]
    seen = [pace[i] for i in range(60) if 0 <= s.later[i] <= look]
    weight = [1.0] * len(seen) + [q.OWN * LENT * s.cycle / 199] * 199
    found = mixed.each(np.array([look]), s.guess[[look]], LEVELS)[0, 0]
    values = [*farther(seen, look / s.cycle), *lent(mixed, look)]
    for level, one in zip(LEVELS, found, strict=True):
        assert one == pytest.approx(by_hand(values, weight, level), rel=1e-6)


def test_blocks_are_runs_of_steps_already_seen():
    steps = 10.0 ** np.arange(12)
    runs = {round(steps[k : k + 7].sum()) for k in range(4)}  # within the first ten
    found = block_sums(steps, np.array([10]), 7)
    assert set(found.round().astype(int)[0].tolist()) == runs
    # Ten steps are two blocks of seven, taken in proportion.
    pairs = {round((a + b) * 10 / 14, -2) for a in runs for b in runs}
    found = block_sums(steps, np.array([10]), 10)
    assert {round(x, -2) for x in found[0].tolist()} <= pairs
    # As long as there is less than a block, there is one.
    assert set(block_sums(steps, np.array([3]), 7)[0].tolist()) == {111.0}
    assert set(block_sums(steps, np.array([0]), 7)[0].tolist()) == {0.0}


def test_blocks_are_scaled_to_what_is_expected_and_count_as_cycles_seen():
    mixed = mixture(members=(q.BLOCKS,), cycle=7.0, lag=7)
    look = np.array([40])
    guess = mixed.scored.guess[40]
    far = mixed.ahead[40]
    sums = block_sums(mixed.steps, look, 7)[0] * far / 7
    sums = sums * math.sqrt(guess / (far * mixed.steps[:40].mean()))
    weight = [40 / 7 / q.DRAWS] * q.DRAWS + [q.OWN * LENT / 199] * 199
    found = mixed.each(look, np.array([guess]), LEVELS)[0, 0]
    values = [*farther(sums, 40 / 7), *lent(mixed, 40)]
    for level, one in zip(LEVELS, found, strict=True):
        assert one == pytest.approx(by_hand(values, weight, level), rel=1e-6)


def test_members_weigh_by_a_power_of_what_they_paid_beyond_what_all_did():
    mixed = mixture(cycle=1.0)  # every forecast is a cycle: none is skipped
    s, look = mixed.scored, np.array([50])
    seen = np.array([i for i in range(4, 60) if 0 <= s.later[i] <= 50])
    each = np.exp(-mixed.each(seen, s.guess[seen], LEVELS))
    truth = np.exp(-s.found[seen])
    n = seen.size
    power = q.SHARPNESS * n / (n + q.HALF)
    for k, level in enumerate(1.0 - LEVELS):
        off = truth - each[:, :, k]
        paid = np.where(off > 0, level * off, (level - 1) * off)
        excess = (paid - n / (n + 10.0) * paid.min(axis=0)).mean(axis=1) + 1e-9
        share = (excess / excess.min()) ** -power
        found = mixed.weights(look, LEVELS)[:, 0, k]
        np.testing.assert_allclose(found, share / share.sum(), rtol=1e-6)


def test_what_a_shorter_horizon_shows_counts_as_a_few_cycles_of_this_one():
    short, mixed = mixture(seed=1, cycle=1.0, lag=1), mixture(cycle=4.0, lag=4)
    both, look = replace(mixed, shorter=short), np.array([20])
    (n, own), (more, told) = (m._record(look, LEVELS, q.PAID) for m in (mixed, short))
    assert n.item() == 13 / 4  # of the looks 4 to 16
    assert more.item() == 16  # of the looks 4 to 19
    worth = 4.0 * 16 / (16 + 4)
    total = 13 / 4 + worth
    power = q.SHARPNESS * total / (total + q.HALF)
    share = np.exp(-power * (13 / 4 * own + worth * told) / total)
    expected = share / share.sum(axis=0)
    np.testing.assert_allclose(both.weights(look, LEVELS), expected, rtol=1e-9)
    # At look 6 nothing is known of four looks ahead, but two forecasts of one look.
    early = np.array([6])
    np.testing.assert_allclose(mixed.weights(early, LEVELS), 1 / 3)
    _, told = short._record(early, LEVELS, q.PAID)
    total = 4.0 * 2 / (2 + 4)
    share = np.exp(-q.SHARPNESS * total / (total + 2) * told)
    expected = share / share.sum(axis=0)
    np.testing.assert_allclose(both.weights(early, LEVELS), expected, rtol=1e-9)


def test_a_calm_source_is_known_by_its_shorter_horizon_before_a_cycle_has_passed():
    short = calm()
    later = np.where(np.arange(300) < 270, np.arange(300) + 30, -1)
    scored = replace(short.scored, guess=np.full(300, 0.3), later=later, cycle=30.0)
    ready = Calibrated(scored, np.full(300, 0.5))
    alone = Mixture(ready, np.zeros(299), np.full(300, 30.0))
    both, look = replace(alone, shorter=short), np.array([40])
    assert alone.scored.cycles[40] < 0.3
    even, sharp = (m.weights(look, np.array([0.975]))[:, 0, 0] for m in (alone, both))
    assert even[0] > even[1] / 3
    assert sharp[0] < sharp[1] / 10


def test_a_shorter_horizon_is_weighed_with_the_same_members():
    short, mixed = mixture(seed=1, cycle=1.0, lag=1), mixture(cycle=4.0, lag=4)
    two = (q.PAST, q.BLOCKS)
    found, expected = (
        replace(mixed, members=two, shorter=s).weights(np.array([50]), LEVELS)
        for s in (short, replace(short, members=two))
    )
    np.testing.assert_allclose(found, expected)


def test_half_as_many_forecasts_of_the_shorter_horizon_count(monkeypatch):
    monkeypatch.setattr(q, "PAID", 8)
    short, mixed = mixture(seed=1, cycle=1.0, lag=1), mixture(cycle=4.0, lag=4)
    look = np.array([50])
    (n, own), (more, told) = (
        mixed._record(look, LEVELS, 8),
        short._record(look, LEVELS, 4),
    )
    found = replace(mixed, shorter=short)._record(look, LEVELS, 8)[1]
    worth = 4.0 * more / (more + 4.0)
    np.testing.assert_allclose(found, (n * own + worth * told) / (n + worth))
    assert not np.allclose(told, short._record(look, LEVELS, 8)[1])


@pytest.mark.parametrize("cycle", [1.0, 8.0, 30.0])
def test_weights_go_by_two_forecasts_a_cycle_and_the_latest_of_them(cycle, monkeypatch):
    monkeypatch.setattr(q, "PAID", 5)
    mixed = mixture(n=300, cycle=cycle, lag=int(cycle), members=(q.SCORES, q.PAST))
    s = mixed.scored
    grid = s.order[:: max(1, round(cycle / 2))]
    looks = np.array([280, 150])  # in any order
    weights = np.moveaxis(mixed.weights(looks, LEVELS), 1, 0)
    for look, found in zip(looks, weights, strict=True):
        seen = [i for i in grid.tolist() if s.later[i] <= look][-5:]
        each = mixed.each(np.array(seen), s.guess[seen], LEVELS)
        paid = pinball(each, s.found[seen], LEVELS)
        n = s.cycles[look]
        common = n / (n + q.COMMON) * paid.min(axis=0)
        excess = (paid - common).mean(axis=1) + 1e-9
        share = (excess / excess.min(axis=0)) ** -(q.SHARPNESS * n / (n + q.HALF))
        np.testing.assert_allclose(found, share / share.sum(axis=0), rtol=1e-6)


def test_a_collapse_that_none_foresaw_does_not_hide_which_member_is_the_best(
    monkeypatch,
):
    quiet, collapse = np.array([0.01, 0.02, 0.04]), np.array([1.00, 1.01, 1.03])
    mixed = mixture(n=40, cycle=1.0, lag=1)

    def paid(looks, levels):
        once = (looks == 10)[None, :, None]
        found = np.where(once, collapse[:, None, None], quiet[:, None, None])
        return np.broadcast_to(found, (3, looks.size, levels.size))

    monkeypatch.setattr(Mixture, "_paid", lambda _, *asked: paid(*asked))
    found = mixed.weights(np.array([39]), LEVELS)[:, 0, 1]
    # 35 forecasts came true. Their whole losses, 0.0383 and 0.0483 in the mean, would
    # give the best only 97 %; without 35/45 of the common part the next gets nothing.
    excess = (quiet * 34 + collapse) / 35 - 35 / 45 * (0.01 * 34 + 1.0) / 35
    weight = excess ** -(16.0 * 35 / 37)
    np.testing.assert_allclose(found, weight / weight.sum(), rtol=1e-4)
    assert found[0] > 0.9999


def test_without_a_past_all_members_count_alike():
    found = mixture().weights(np.array([0]), LEVELS)
    np.testing.assert_allclose(found, 1 / 3)


def test_bounds_cut_off_the_same_chance_on_both_sides():
    mixed = mixture()
    look = np.array([55])
    guess = mixed.scored.guess[look]
    low, middle, high = mixed.bounds(look, guess, 0.9)[:, 0]
    levels = np.array([0.05, 0.5, 0.95])
    by_levels = mixed.quantiles(look, levels)[0]
    assert [low, middle, high] == pytest.approx(by_levels)


def test_a_source_that_never_lost_anything_has_bounds_that_say_so():
    mixed = calm()
    looks = np.array([30, 298])
    low, _, high = mixed.bounds(looks, mixed.scored.guess[looks], 0.95)
    alone = replace(mixed, members=(q.SCORES,))
    _, _, wide = alone.bounds(looks, mixed.scored.guess[looks], 0.95)
    assert low.tolist() == [0.0, 0.0]
    assert (high < wide).all()
    # After 297 times nothing, the chance of any loss is below that of a miss.
    assert high[0] > 0.02
    assert high[1] < 0.002


def test_a_forecast_for_other_days_takes_what_the_source_did_in_proportion():
    mixed = mixture(members=(q.PAST, q.BLOCKS))
    look = np.array([50])
    guess = mixed.scored.guess[look]
    one, two = (mixed.each(look, k * guess, LEVELS) for k in (1.0, 2.0))
    np.testing.assert_allclose(two, 2.0 * one)
    scores = replace(mixed, members=(q.SCORES,))
    found = scores.each(look, 2.0 * guess, LEVELS)[0]
    np.testing.assert_allclose(found, mixed.ready.quantiles(look, 2 * guess, LEVELS))


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_bounds_of_overdispersed_losses_hold_as_often_as_promised(confidence):
    rng = np.random.default_rng(3)
    n = 500
    guess = rng.uniform(0.05, 0.3, n)
    later = np.append(np.arange(1, n), -1)
    found = guess * rng.gamma(6.0, 1 / 6, n)
    scored = Scored(guess, found, np.full(n, 1000.0), later, 1.0, 0)
    mixed = Mixture(Calibrated(scored, np.full(n, 0.41)), found[:-1], np.ones(n))
    looks = np.arange(60, n - 1)
    low, _, high = mixed.bounds(looks, guess[looks], confidence)
    held = (low <= found[looks]) & (found[looks] <= high)
    assert held.mean() == pytest.approx(confidence, abs=0.03)


@given(st.floats(0.0, 3.0), st.lists(st.floats(0.0, 3.0), min_size=1, max_size=30))
def test_no_forecast_pays_less_than_the_true_quantile(said, losses):
    found, levels = np.array(losses), np.array([0.1, 0.5, 0.9])
    true = -np.quantile(-found, 1.0 - levels, method="inverted_cdf")
    best = pinball(np.tile(true, (found.size, 1)), found, levels).mean(axis=0)
    other = pinball(np.full((found.size, 3), said), found, levels).mean(axis=0)
    assert (best <= other + 1e-9).all()


@settings(max_examples=30)
@given(
    seed=st.integers(0, 99),
    n=st.integers(2, 40),
    cycle=st.sampled_from([1.0, 3.0, 20.0]),
)
def test_no_outcome_counts_before_it_was_seen_and_quantiles_ascend(seed, n, cycle):
    mixed = mixture(seed, n, cycle, lag=min(int(cycle), n - 1))
    s, cut = mixed.scored, n // 2
    other = np.where(s.later > cut, s.found + 1.0, s.found)
    changed = Scored(s.guess, other, s.size, s.later, s.cycle, s.first)
    steps = np.where(np.arange(n - 1) < cut, mixed.steps, 9.0)
    told = Mixture(Calibrated(changed, mixed.ready.spread), steps, mixed.ahead)
    short, again = (replace(m, shorter=m) for m in (mixed, told))
    mixed, told = replace(mixed, shorter=short), replace(told, shorter=again)
    looks, guess = np.array([cut]), s.guess[[cut]]
    one, two = (m.bounds(looks, guess, 0.9) for m in (mixed, told))
    np.testing.assert_allclose(one, two)
    assert np.isfinite(one).all()
    assert one[0] <= one[1] <= one[2]


@given(
    past=st.lists(st.floats(-5, 5), min_size=1, max_size=8),
    share=st.floats(0.1, 9.0),
    level=st.floats(0.01, 0.99),
)
def test_quantiles_by_rows_are_those_of_each_row_alone(past, share, level):
    lend = np.array([-1.0, 0.0, 2.0])
    rows = np.array([past, [*past[:-1], np.inf]])
    found = row_quantiles(rows, np.array([share, LENT]), lend, np.array([level]))
    for row, lent_here, one in zip(rows, (share, LENT), found[:, 0], strict=True):
        own = row[np.isfinite(row)].tolist()
        weight = [1.0] * len(own) + [lent_here / 3] * 3
        near = [by_hand([*own, *lend], weight, level + d) for d in (-1e-9, 0.0, 1e-9)]
        assert min(near) <= one <= max(near)


@pytest.mark.parametrize("member", [q.PAST, q.BLOCKS])
def test_the_middle_leans_on_the_forecast_more_than_the_bounds_do(member):
    mixed = mixture(members=(member,))
    look = np.array([50])
    guess = mixed.scored.guess[look]
    plain = mixed.each(look, guess, np.array([0.499, 0.501])).mean()
    middle = mixed.each(look, guess, np.array([0.5])).item()
    expected = np.median(lent(mixed, 50))
    assert abs(middle - expected) <= abs(plain - expected)


@pytest.mark.parametrize("look", [5, 30, 59])
def test_the_middle_of_the_past_has_half_of_the_middle_cycles_lent(look):
    mixed = mixture(members=(q.PAST,))
    s = mixed.scored
    pace = s.found / mixed.ahead * mixed.ahead[look]
    seen = [pace[i] for i in range(60) if 0 <= s.later[i] <= look]
    weight = [1.0] * len(seen) + [q.OWN * LENT_MIDDLE * s.cycle / 199] * 199
    values = [*farther(seen, look / s.cycle), *lent(mixed, look)]
    found = mixed.each(np.array([look]), s.guess[[look]], np.array([0.5])).item()
    expected = np.mean([by_hand(values, weight, near) for near in (0.4, 0.6)])
    assert found == pytest.approx(expected, rel=1e-6)


@given(
    losses=st.lists(st.floats(0.0, 3.0), min_size=2, max_size=6),
    cycles=st.floats(0.0, 1e4),
)
def test_few_cycles_are_spread_wider_than_they_were_seen(losses, cycles):
    values = np.array([[*losses, np.inf]])
    few, more, many = (
        q.widened(values, np.array([n]))[0] for n in (cycles, cycles + 1.0, 1e12)
    )
    np.testing.assert_allclose(many[:-1], losses, atol=1e-9)
    np.testing.assert_allclose(few[:-1], farther(losses, cycles), atol=1e-12)
    assert few[-1] == np.inf
    in_order = few[np.argsort([*losses, np.inf], kind="stable")]
    assert (in_order[1:] >= in_order[:-1]).all()  # what is cut off at 0 is alike
    assert np.ptp(few[:-1]) >= np.ptp(more[:-1]) - 1e-12
    if few[:-1].min() > 0.0:  # then nothing was cut off
        # The variance of a prediction from n outcomes is 1 + 1/n times theirs.
        factor = 1 + 1 / max(cycles, 1.0)
        assert np.var(few[:-1]) == pytest.approx(factor * np.var(losses), abs=1e-12)
        assert few[:-1].mean() == pytest.approx(np.mean(losses))


def test_scores_are_placed_by_the_usual_dispersion_and_others_lent_the_whole():
    mixed = mixture()
    usual = Calibrated(mixed.scored, np.full(60, 0.2))
    both, look = replace(mixed, usual=usual), np.array([50])
    guess = mixed.scored.guess[look]
    scores, past, blocks = both.each(look, guess, LEVELS)
    np.testing.assert_allclose(scores, usual.quantiles(look, guess, LEVELS))
    np.testing.assert_allclose((past, blocks), mixed.each(look, guess, LEVELS)[1:])


def test_the_middle_borrows_nothing_from_a_shorter_horizon():
    short = mixture(seed=1, cycle=1.0, lag=1)
    alone, look = mixture(), np.array([30])
    both = replace(alone, shorter=short)
    levels = np.array([0.05, MEDIAN, 0.95])
    own, mixed = alone.weights(look, levels), both.weights(look, levels)
    np.testing.assert_array_equal(own[..., 1], mixed[..., 1])
    assert (own[..., [0, 2]] != mixed[..., [0, 2]]).all()
