"""What keeps targets, written out plainly: shares, weights, rounds and wholes."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate, stats

from halflife.market import burst_rows, target_rule as k
from halflife.market.burst_rows import BurstRows
from halflife.market.missed_time import days_below
from halflife.market.target_rule import TIMES, Goal, LossHistory, TargetRound, WholeCopy

SURE, MEAN = Goal(0.9, 0.95), Goal(0.9)
some = st.floats(0.0, 50.0)
share = st.floats(0.0, 1.0)


def weights(past, expected, days):
    """Return the weights by their description, one factor after another."""
    usual = [math.exp(-0.5 * math.log(t) ** 2) for t in TIMES]
    top = max(1.0 / max(expected, 1e-4), 2.0)
    burst = [1.0 if 1.0 <= t <= 1.3 * top else 0.0 for t in TIMES]
    seen = list(past.times or [0.0] * TIMES.size)
    lately = list(past.lately or [0.0] * TIMES.size)
    both = [
        k.USUAL * u / sum(usual) + k.BURST * b / sum(burst) + s + k.LATELY * x
        for u, b, s, x in zip(usual, burst, seen, lately, strict=True)
    ]
    whole = np.array(both) / sum(both)
    is_burst = TIMES > k.CALM
    chance = min(max(days, 0.0), 1.0) * whole[is_burst].sum()
    chance = max(chance, stats.poisson.sf(0, caused(past, max(days, 0.0))))
    return np.where(
        is_burst,
        chance * whole / whole[is_burst].sum(),
        (1.0 - chance) * whole / whole[~is_burst].sum(),
    )


def caused(past, days):
    """Return how many bursts follow, by integrating the density of each."""
    own = past.rows.followed + burst_rows.FOLLOWERS * burst_rows.KNOWN
    over = max(past.rows.bursts - past.rows.heat, 0.0)
    own = min(own / (over + burst_rows.KNOWN), burst_rows.MOST)
    density = stats.expon(scale=1.0 / burst_rows.RUSH)
    return own * past.rows.heat * density.cdf(days)


def shown(past, now):
    """Return the posterior of the factors by Bayes' rule with a Poisson count."""
    prior = weights(past, now.began, now.days) + 1e-9
    of = max(now.began - now.left, 0.0) * now.things
    x = now.found * now.things
    logs = np.log(prior) + x * np.log(np.maximum(of * TIMES, 1e-300)) - of * TIMES
    likely = np.exp(logs - logs.max())
    return likely / likely.sum()


@pytest.mark.parametrize("expected", [1e-6, 0.01, 0.2, 0.9])
@pytest.mark.parametrize("days", [-1.0, 0.0, 0.3, 1.0, 9.0])
def test_weights_are_as_described(expected, days):
    rng = np.random.default_rng(0)
    seen = tuple(rng.random(TIMES.size).tolist())
    for past in (
        LossHistory(),
        LossHistory(times=seen),
        LossHistory(lately=seen, times=seen),
        LossHistory(times=seen, rows=BurstRows(8.0, 6.0, 2.5)),
        LossHistory(rows=BurstRows(heat=0.9)),
    ):
        found = past.weights(expected, days)
        np.testing.assert_allclose(found, weights(past, expected, days))
        assert found.sum() == pytest.approx(1.0)


@given(days=some, missed=some, debt=st.floats(0, 20), level=st.floats(0.5, 0.99))
def test_what_may_still_be_missed_is_the_allowance_less_what_was(
    days, missed, debt, level
):
    past = LossHistory(days=days, missed=missed, debt=debt)
    for goal in (Goal(level), Goal(level, 0.9)):
        allowed = 1.0 - level if goal.confidence is None else 0.1
        assert goal.allowed == pytest.approx(allowed)
        assert goal.loss == pytest.approx(1.0 - level)
        lent = k.LENT * k.MISSED * allowed
        rest = k.AIM * allowed - (missed + lent) / (days + k.LENT)
        room = (1.0 + k.AIM * allowed * k.WINDOW - debt) / k.WINDOW
        assert past.spare(goal) == pytest.approx(min(rest, room))
        if goal.confidence is not None:
            left = past.spare(goal, 0.5)
            assert left == pytest.approx(min(max(rest, 0.5 * allowed), room))
        else:
            assert past.spare(goal, 0.5) == pytest.approx(min(rest, room))


@given(days=st.floats(0.0, 30.0), missed=st.floats(-0.5, 1.5), old=some, debt=share)
def test_days_are_judged_and_older_ones_fade(days, missed, old, debt):
    past = LossHistory(days=old, missed=old / 2, debt=debt)
    found = past.with_missed(missed, days, SURE)
    fade = math.exp(-days / k.WINDOW)
    lost = min(max(missed, 0.0), 1.0) * days
    assert found.days == pytest.approx(old * fade + days)
    assert found.missed == pytest.approx(old / 2 * fade + lost)
    spent = debt + lost - k.AIM * 0.05 * days
    assert found.debt == pytest.approx(max(spent, 0.0), abs=1e-12)


ROUND = TargetRound(
    things=200.0,
    began=0.05,
    left=0.02,
    found=0.04,
    now=0.03,
    coming=0.01,
    unseen=0.4,
    days=0.7,
    ahead=0.5,
)
CASES = [
    ROUND,
    TargetRound(200.0, 0.05, 0.05, 0.0, 0.05, 0.01, 1.0),
    TargetRound(5.0, 0.2, 0.0, 0.2, 0.0, 0.05, 0.0),
    TargetRound(1000.0, 0.01, 0.002, 0.1, 0.002, 0.002, 0.1, 2.0, 2.0),
]


@pytest.mark.parametrize("now", CASES)
def test_what_a_round_has_shown_is_bayes_rule(now):
    seen = tuple(np.random.default_rng(1).random(TIMES.size).tolist())
    for past in (LossHistory(), LossHistory(times=seen)):
        if now.began > now.left:
            np.testing.assert_allclose(
                now.likelihoods(past), shown(past, now), atol=1e-12
            )
        assert now.likelihoods(past).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("now", CASES)
def test_what_was_not_found_is_in_what_was_not_looked_at(now):
    for times, found in zip(TIMES, now.undetected(), strict=True):
        lost = max(times * now.left, min(times, 1.0) * now.now)
        assert found == pytest.approx(min(lost, now.unseen) * now.things)


@pytest.mark.parametrize("now", CASES)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_risks_are_poisson_sums_over_the_factors_of_two_rounds(now, level):
    past = LossHistory()
    found = k.risk(past, now, level)
    n = now.things
    most = math.floor((1.0 - level) * n + 1e-9)
    fresh, likely, unfound = (
        weights(past, now.began, now.ahead),
        now.likelihoods(past),
        now.undetected(),
    )
    miss = least = missed = come = 0.0
    for f, t in zip(fresh, TIMES, strict=True):
        coming = min(t * now.coming * n, n)
        least += f * stats.poisson.sf(most, coming)
        come += f * coming / n
        for p, unseen in zip(likely, unfound, strict=True):
            miss += f * p * stats.poisson.sf(most, unseen + coming)
    left = most - now.found * n
    for p, unseen in zip(likely, unfound, strict=True):
        # a count that may be broken is continued by the gamma function
        had = stats.gamma.cdf(unseen, left + 1.0) if left >= 0 else 1.0
        missed += p * had
    unseen = float(likely @ unfound) / n
    assert found.miss == pytest.approx(miss)
    assert found.least == pytest.approx(least)
    assert found.missed == pytest.approx(missed)
    assert found.loss == pytest.approx(min(unseen + come, 1.0))
    assert found.lost == pytest.approx(min(now.found + unseen, 1.0))


@pytest.mark.parametrize("now", CASES)
@pytest.mark.parametrize("days", [-1.0, 0.2, 1.0, 30.0])
def test_a_round_counts_by_its_days_or_by_what_it_has_shown(now, days):
    seen = tuple(np.random.default_rng(2).random(TIMES.size).tolist())
    past = LossHistory(times=seen, lately=seen)
    found = past.with_round(now, days)
    after = now.likelihoods(past)
    told = np.abs(after - weights(past, now.began, now.days)).sum() / 2.0
    days = max(days, 0.0)
    count = max(min(days, 1.0), told)
    times = np.array(seen) * 0.5 ** (days / k.HALF) + count * after
    short = 0.5 ** (max(days, count) / k.SHORT)
    lately = np.array(seen) * short + (1.0 - short) * after
    np.testing.assert_allclose(found.times, times)
    np.testing.assert_allclose(found.lately, lately)


@pytest.mark.parametrize("now", CASES)
@pytest.mark.parametrize("days", [0.05, 1.0, 3.0])
def test_a_burst_counts_for_those_before_it_by_its_chance(now, days):
    past = LossHistory(rows=BurstRows(4.0, 2.0, 1.5))
    found = past.with_round(now, days).rows
    chance = now.likelihoods(past)[TIMES > k.CALM].sum()
    usual = weights(past, now.began, 1.0)[TIMES > k.CALM].sum() * days
    part = caused(past, days) / (caused(past, days) + usual)
    fade = 0.5 ** (days / k.HALF)
    assert found.bursts == pytest.approx(4.0 * fade + chance)
    assert found.followed == pytest.approx(2.0 * fade + chance * part)
    assert found.heat == pytest.approx(1.5 * math.exp(-burst_rows.RUSH * days) + chance)


def test_bursts_of_a_source_that_has_them_in_rows_are_expected_to_go_on():
    burst = TargetRound(80.0, 0.01, 0.0, 0.1, 0.0, 0.0, 0.0, 0.1, 0.1)
    quiet = replace(burst, found=0.01)
    row, single = LossHistory(), LossHistory()
    for _ in range(8):
        row = row.with_round(burst, 0.1)
        single = single.with_round(quiet, 30.0).with_round(burst, 0.1)
    assert row.rows.followers > 0.4
    assert single.rows.followers < burst_rows.FOLLOWERS
    assert row.rows.expected(0.1) > 4 * single.rows.expected(0.1)
    later = row.with_round(quiet, 1.0)
    assert later.rows.expected(0.1) < 0.1 * row.rows.expected(0.1)


@pytest.mark.parametrize(("items", "changed"), [(80, 6), (80, 20), (30, 2)])
def test_days_below_a_level_are_right_on_average(items, changed):
    """Items are fetched at random; all of them once the first change is found."""
    rng, error, true, loss = np.random.default_rng(3), [], [], 1.0 / items
    for _ in range(800):
        at = np.sort(rng.uniform(0.0, 40.0, 400))  # ten fetches a day
        item = rng.integers(items, size=at.size)
        begun, some = rng.uniform(25.0, 28.0), rng.permutation(items)[:changed]
        is_first = np.isin(item, some) & (at > begun)
        noticed = at[np.argmax(is_first)]
        last = [max(at[(item == i) & (at < begun)], default=-9.0) for i in some]
        end = noticed + 0.1
        found = np.full(changed, end - 0.1)
        found[some != item[np.argmax(is_first)]] = end
        share = np.full(changed, 1.0 / items)
        below = days_below(loss, share, 41.0 - np.array(last), 41.0 - found)
        error.append(below - (end - begun))
        true.append(end - begun)
    assert abs(np.mean(error)) < 4.0 * np.std(error) / math.sqrt(len(error))
    assert np.mean(true) > 0.3


columns = st.lists(
    st.tuples(st.floats(0.01, 1.0), st.floats(0.0, 9.0), st.floats(0.0, 9.0)),
    min_size=1, max_size=12,
)  # fmt: skip


@given(columns, st.floats(0.0, 0.99), share)
def test_no_more_days_are_below_a_level_than_so_much_may_have_been_out_of_date(
    rows, part, more
):
    weight, found, before = np.array(rows).T
    last, loss = found + before, part * float(weight.sum()) - 1e-6
    days = days_below(loss, weight, last, found)

    def stale(ago):
        """Return the share that may have been out of date so many days ago."""
        return float(weight[(found < ago) & (ago <= last)].sum())

    moments = np.unique(np.concatenate([found, last]))
    first = max([*(t for t in moments if stale(t) > loss), found.max()])
    assert -1e-9 <= days <= first - found.min() + 1e-9
    assert days_below(loss * more, weight, last, found) >= days - 1e-9 or any(
        last.min() < found
    )


def test_days_below_a_level_end_when_few_enough_items_are_left():
    share, last = np.full(4, 0.25), np.array([6.0, 5.0, 8.0, 7.0])
    found = np.array([1.0, 4.0, 2.0, 3.0])
    assert days_below(0.3, share, last, found) == (4.0 + 5.0) / 2.0 - 2.0
    assert days_below(0.8, share, last, found) == (4.0 + 5.0) / 2.0 - 4.0
    apart = np.array([3.5, 5.0, 8.0, 7.0])  # the first changed after another was found
    assert days_below(0.3, share, apart, found) == (4.0 + 7.0) / 2.0 - 2.0
    late = np.array([3.5, 4.0, 3.6, 3.7])
    assert days_below(0.3, share, late, found) == 4.0 - 2.0


def test_days_below_the_level_may_have_begun_before_the_round():
    past = LossHistory(days=9.0)
    long = k.after_round(past, CASES[3], SURE, 0.5, below=2.0)
    usual = k.after_round(past, CASES[3], SURE, 0.5)
    assert long.days == usual.days
    assert long.missed == pytest.approx(2.0)
    assert long.debt == pytest.approx(2.0 - k.AIM * 0.05 * 0.5)
    short = k.after_round(past, CASES[3], SURE, 0.5, below=0.2)
    assert short.missed == pytest.approx(0.2)
    mean = k.after_round(past, CASES[3], MEAN, 0.5, below=2.0)
    assert mean == k.after_round(past, CASES[3], MEAN, 0.5)


ALL = TargetRound(80.0, 0.02, 0.02, 0.0, 0.02, 0.03, 1.0, 1.0, 1.0)
BUSY = LossHistory(rows=BurstRows(10.0, 8.0, 3.0))


@pytest.mark.parametrize("past", [LossHistory(), BUSY])
@pytest.mark.parametrize("shortest", [0.01, 1.0 / 24.0])
def test_a_round_lasts_as_long_as_it_misses_no_more_than_is_allowed(past, shortest):
    def least(days):
        part = replace(ALL, coming=0.03 * days, ahead=days)
        return k.risk(past, part, 0.95).least

    goal = Goal(0.95, 0.95)
    found = k.round_length(past, ALL, goal, shortest)
    assert shortest <= found <= 1.0
    assert found == shortest or least(found) <= goal.allowed
    assert found == 1.0 or least(min(2.0 * found, 1.0)) > goal.allowed
    assert k.round_length(past, ALL, Goal(0.95), shortest) == 1.0


def test_rounds_are_shorter_while_bursts_follow_each_other():
    goal, shortest = Goal(0.95, 0.95), 1.0 / 24.0
    calm = LossHistory(times=tuple(60.0 * (np.abs(np.log(TIMES)) < 0.3)))
    assert k.round_length(calm, ALL, goal, shortest) == 0.5
    assert k.round_length(LossHistory(), ALL, goal, shortest) == 0.125
    assert k.round_length(BUSY, ALL, goal, shortest) == shortest
    assert k.round_length(BUSY, replace(ALL, ahead=0.02), goal, shortest) == 0.02


@pytest.mark.parametrize("goal", [SURE, MEAN])
def test_a_round_that_is_over_is_judged_and_learned_from(goal):
    past = LossHistory(days=3.0, missed=0.1)
    found = k.after_round(past, ROUND, goal, 2.0)
    risk = k.risk(past, ROUND, goal.level)
    missed = risk.lost if goal is MEAN else risk.missed
    assert found == past.with_missed(missed, 2.0, goal).with_round(ROUND, 2.0)


@pytest.mark.parametrize("now", CASES)
@pytest.mark.parametrize(
    "past", [LossHistory(), LossHistory(days=50.0, missed=1.0, debt=2.0)]
)
@pytest.mark.parametrize("goal", [SURE, MEAN, Goal(0.99, 0.99), Goal(0.5, 0.5)])
def test_more_is_wanted_as_long_as_it_lowers_the_risk_by_enough(now, past, goal):
    left = k.TENSE / max(now.ahead, k.SHORTEST)
    spare, risk = past.spare(goal, left), k.risk(past, now, goal.level)
    if now.unseen <= 1e-9:
        expected = False
    elif goal.confidence is None:
        expected = spare + goal.loss <= 0 or risk.loss > goal.loss + min(
            spare, goal.loss
        )
    else:
        expected = spare <= 0 or risk.miss - risk.least > k.BOLD * spare
    assert k.wants_more(past, now, goal) is expected


@pytest.mark.parametrize("things", [1.0, 40.0, 900.0])
def test_the_chance_of_a_whole_is_the_rise_of_its_poisson_tails(things):
    whole = WholeCopy(things, 0.3, 0.2, 0.05, 0.4)
    past = LossHistory()
    if things == 1.0:
        assert whole.chance(past, 0.9) == pytest.approx(0.15)
        return
    most = math.floor(0.1 * things + 1e-9)
    rise = sum(
        w
        * (
            stats.poisson.sf(most, t * 0.2 * things)
            - stats.poisson.sf(most, t * 0.05 * things)
        )
        for w, t in zip(weights(past, 0.2, 0.7), TIMES, strict=True)
    )
    assert whole.chance(past, 0.9) == pytest.approx(rise)


def test_misses_are_summed_over_the_interval_as_worked_out_by_hand():
    """A loss that grows evenly from 0: half of it in the mean."""
    assert WholeCopy(1.0, 3.0, 0.09, 0.01, 1.0).missed_share(
        LossHistory(), 0.9
    ) == pytest.approx(0.04)
    # Four things of which none may be lost, and a loss that is surely as believed: in
    # the mean over an evenly growing loss up to 0.5 each day misses with 1 - exp(-2 u).
    surely = LossHistory(times=tuple(1e9 * (np.abs(TIMES - 0.1) < 1e-9)))
    whole = WholeCopy(4.0, 3.0, 5.0, 0.0, 1.0)  # a tenth of what is believed: 0.5
    by_hand = 1.0 - (1.0 - math.exp(-2.0)) / 2.0
    assert whole.missed_share(surely, 1.0) == pytest.approx(by_hand, abs=1e-3)


@pytest.mark.parametrize("things", [12.0, 40.0, 900.0])
def test_summed_misses_are_the_integral_of_the_chance(things):
    whole, past = (
        WholeCopy(things, 0.3, 0.2, 0.05, 0.4),
        LossHistory(times=tuple(TIMES < 3.0)),
    )
    most, weight = math.floor(0.1 * things + 1e-9), past.weights(0.2, 0.7)

    def missed(loss):
        def at(part):
            tails = stats.poisson.sf(most, TIMES * loss * part * things)
            return float(weight @ tails)

        return integrate.quad(at, 0.0, 1.0, limit=200)[0]

    expected = missed(0.2) - missed(0.05)
    assert whole.missed_share(past, 0.9) == pytest.approx(expected, abs=2e-3)


@given(
    things=st.floats(1.0, 500.0), later=st.floats(0.0, 1.0), fresh=st.floats(0.0, 1.0)
)
def test_in_the_mean_no_more_is_missed_than_at_the_end(things, later, fresh):
    whole = WholeCopy(things, 2.0, later, 0.0, 1.0)
    summed = whole.missed_share(LossHistory(), 0.9)
    assert 0.0 <= summed <= whole.chance(LossHistory(), 0.9) + 1e-9
    assert (
        replace(whole, fresh=fresh * later).missed_share(LossHistory(), 0.9)
        <= summed + 1e-9
    )


@given(
    failed=some, watched=some, step=st.floats(0.05, 3.0), missed=some,
    things=st.sampled_from([1.0, 50.0]),
)  # fmt: skip
def test_looks_are_as_far_apart_as_failures_allow(
    failed, watched, step, missed, things
):
    past = LossHistory(days=60.0, missed=missed, failed=failed, watched=watched)
    left = k.TENSE / max(step, k.SHORTEST) if step < 1.0 else -math.inf
    spare = max(past.spare(SURE, left), 0.0)
    pace = (failed + k.FAILED) / (watched + k.WATCHED)
    most = 3.0 if things == 1.0 else 5.0  # days, where 0.05 of a hundred may be missed
    expected = min(step + 2.0 * spare / pace, most)
    whole = WholeCopy(things, 0.0, 0.0, 0.0, step)
    assert k.longest_interval(past, SURE, whole) == pytest.approx(expected)


def test_a_whole_is_due_when_it_is_old_whatever_is_believed():
    past = LossHistory()
    still = WholeCopy(1.0, 0.0, 0.0, 0.0, 1.0)
    days = k.longest_interval(past, SURE, still)
    still = replace(still, age=days - 1e-3)
    assert not k.is_due(past, still, SURE)
    assert k.is_due(past, WholeCopy(1.0, days, 0.0, 0.0, 1.0), SURE)


def test_a_whole_is_due_when_it_misses_more_days_than_are_spare():
    past = LossHistory()
    spare = past.spare(SURE)
    for later, is_due in ((2.0 * spare * 0.99, False), (2.0 * spare * 1.01, True)):
        whole = WholeCopy(1.0, 0.1, later, 0.0, 1.0)
        assert k.is_due(past, whole, SURE) is is_due
    mean = min(past.spare(MEAN), MEAN.loss) + MEAN.loss
    for later, is_due in ((2.0 * mean * 0.99, False), (2.0 * mean * 1.01, True)):
        assert k.is_due(past, WholeCopy(1.0, 0.1, later, 0.0, 1.0), MEAN) is is_due


@pytest.mark.parametrize("found", [0.0, 0.05, 0.1, 0.4])
@pytest.mark.parametrize("goal", [SURE, MEAN])
def test_a_look_at_a_whole_tells_how_long_it_was_below(found, goal):
    past = LossHistory(failed=2.0, watched=30.0, days=10.0)
    whole = WholeCopy(50.0, 8.0, 0.2, 0.0, 1.0)
    after = k.after_check(past, whole, found, 0.07, goal)
    # it grew evenly, so it was below since age * loss / found
    below = 1.0 - 0.1 / found if found > 0.2 else 0.0
    missed = found / 2.0 if goal is MEAN else below
    assert after.missed == pytest.approx(missed * 8.0)
    assert after.failed == 2.0 + (found > 0.2)
    assert after.watched == 38.0
    told = k.after_check(past, whole, found, 0.07, goal, missed=0.25)
    assert told.missed == pytest.approx(0.25 * 8.0)
    round_ = TargetRound(50.0, 0.07, 0.0, found, 0.0, 0.0, 0.0, 8.0)
    assert (
        after.times == past.with_missed(missed, 8.0, goal).with_round(round_, 8.0).times
    )


def test_for_a_mean_no_more_is_spared_than_was_before():
    past = LossHistory(days=40.0, missed=2.0)
    spare = past.spare(MEAN)
    assert 0 < spare < MEAN.loss
    told = {}
    for loss in np.linspace(0.01, 0.3, 200):
        now = TargetRound(1e6, loss, loss, 0.0, loss, 0.0, 1.0)
        told[k.risk(past, now, MEAN.level).loss] = k.wants_more(past, now, MEAN)
    below = [more for loss, more in told.items() if loss <= MEAN.loss + spare]
    above = [more for loss, more in told.items() if loss > MEAN.loss + spare]
    between = [x for x in told if MEAN.loss + spare < x < 2 * MEAN.loss]
    assert below
    assert between
    assert not any(below)
    assert all(above)
