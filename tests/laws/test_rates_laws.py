"""Estimators of change rates against slow twins that keep every gap."""

import math

import numpy as np
import pytest
from scipy import optimize

from halflife.core.gap_bins import class_length, classes
from halflife.models.gaps import (
    RateStatus,
    check_gaps,
    quiet_days,
    statuses,
    sum_by_item,
)
from halflife.models.rates.columns import lengthen, ratio, rounds_of_gaps
from halflife.models.rates.counts import Counts, law_of_large_numbers, smoothed
from halflife.models.rates.drift import Forgetting, chance
from halflife.models.rates.gamma import GammaPoisson, fit_gamma, marginal, moments
from halflife.models.rates.likelihood import MaximumLikelihood, Moment, moment_rates
from halflife.models.rates.tally import GapTally
from lab.rates.last_modified import LastModified, unbiased_changes
from lab.rates.restarts import Restarting, joined_runs
from lab.rates.stochastic import StochasticApproximation


def some_gaps(seed=0, n=24, items=4):
    rng = np.random.default_rng(seed)
    item = rng.integers(0, items, n)
    length = rng.uniform(0.3, 9.0, n)
    return item, length, rng.random(n) < 0.5, rng.integers(1, 4, n).astype(float)


# gaps


def test_gaps_are_summed_item_by_item():
    seen = some_gaps(1)
    gaps, n = check_gaps(*seen, None)
    assert n == 4
    for i in range(4):
        mine = [(days, c, t) for j, days, c, t in zip(*seen, strict=True) if j == i]
        quiet = sum(days * t for days, c, t in mine if not c)
        assert quiet_days(gaps, n)[i] == pytest.approx(quiet)
        assert sum_by_item(gaps.item, gaps.tally, n)[i] == sum(t for *_, t in mine)


def test_a_status_says_which_kinds_of_gaps_there_were():
    item = np.array([0, 0, 1, 2, 2])
    changed = np.array([True, False, False, True, True])
    gaps, n = check_gaps(item, np.ones(5), changed, None, 4)
    assert statuses(gaps, n).tolist() == [
        RateStatus.OK,
        RateStatus.NO_CHANGE,
        RateStatus.ALWAYS_CHANGED,
        RateStatus.NO_LOOKS,
    ]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"item": [0, -1]}, "item must be from 0 to 1, got -1 at index 1"),
        ({"item": [2, 0]}, "item must be from 0 to 1, got 2 at index 0"),
        ({"length": [1.0, 0.0]}, "length must be finite and above 0, got 0.0"),
        ({"length": [np.inf, 1.0]}, "length must be finite"),
        ({"tally": [1.0, -1.0]}, "tally must be finite, not negative"),
        ({"tally": [np.inf, 1.0]}, "tally must be finite"),
        ({"tally": [1.0]}, "columns of one length"),
        ({"item": [[0, 1]]}, "columns of one length"),
        ({"changed": [True]}, "columns of one length"),
    ],
)
def test_senseless_gaps_are_refused_by_name(change, match):
    good = {"item": [0, 1], "length": [1.0, 2.0], "changed": [True, False]}
    given = {**good, "tally": [1.0, 1.0], "n_items": 2} | change
    with pytest.raises(ValueError, match=match):
        check_gaps(
            **{k: np.array(v) if k != "n_items" else v for k, v in given.items()}
        )


def test_rows_that_stand_for_no_gap_are_dropped():
    tally = np.array([0.0, 2.0, 0.0])
    gaps, n = check_gaps(np.arange(3), np.ones(3), np.ones(3, bool), tally, None)
    assert (gaps.item.tolist(), gaps.tally.tolist(), n) == ([1], [2.0], 3)
    empty, none = check_gaps(
        np.zeros(0, int), np.zeros(0), np.zeros(0, bool), None, None
    )
    assert (empty.item.size, none) == (0, 0)


# columns and counts


def test_columns_grow_with_blanks_and_never_shrink():
    column = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert lengthen(column, 4, -1.0).tolist() == [[1, 2, -1, -1], [3, 4, -1, -1]]
    assert lengthen(column, 2) is column
    assert lengthen(column, 1) is column
    found = ratio(np.array([4.0, 4.0, 4.0]), np.array([0.0, -2.0, 8.0]))
    assert found.tolist() == [0.0, 0.0, 0.5]


def test_rows_of_several_gaps_come_in_turn_with_an_even_share_each():
    gaps, _ = check_gaps(
        np.array([0, 1, 0]), np.array([5.0, 6, 7]), np.ones(3, bool),
        np.array([2.5, 1.0, 0.5]), None,
    )  # fmt: skip
    rounds = [
        list(zip(p.item.tolist(), p.length.tolist(), p.tally.tolist(), strict=True))
        for p in rounds_of_gaps(gaps)
    ]
    each = 2.5 / 3
    assert rounds == [
        [(0, 5.0, each), (1, 6.0, 1.0)],
        [(0, 5.0, each)],
        [(0, 5.0, each)],
        [(0, 7.0, 0.5)],
    ]


def test_counts_and_their_formulas_are_those_of_each_items_gaps():
    seen, counts = some_gaps(2), Counts()
    counts.grow(5)
    counts.add(*(c[:10] for c in seen))
    counts.add(*(c[10:] for c in seen))
    smooth, large = smoothed(counts), law_of_large_numbers(counts)
    other = smoothed(counts, changes=2.0, days=3.0)
    spared = law_of_large_numbers(counts, spare=0.25)
    for i in range(5):
        mine = [(days, c, t) for j, days, c, t in zip(*seen, strict=True) if j == i]
        n, x = sum(t for *_, t in mine), sum(t for _, c, t in mine if c)
        busy = sum(days * t for days, c, t in mine if c)
        quiet = sum(days * t for days, c, t in mine if not c)
        days = busy + quiet
        assert (counts.gaps[i], counts.changes[i]) == (n, x)
        assert counts.days[i] == pytest.approx(days)
        assert counts.exposure[i] == pytest.approx(quiet + busy / 2)
        assert smooth[i] == pytest.approx((x + 0.5) / (days + 0.5))
        assert other[i] == pytest.approx((x + 2) / (days + 3))
        pace = n / days if days else 0.0
        assert large[i] == pytest.approx(pace * x / (n - x + 1))
        assert spared[i] == pytest.approx(pace * x / (n - x + 0.25))


# tally


def test_a_tally_splits_gaps_between_two_classes_of_length():
    tally, kept = GapTally(), {}
    for seed in range(3):
        item, length, _, times = some_gaps(seed)
        length[0] = 2.0  # just in a class
        tally.add(item, length, times)
        below, share = classes(length)
        for i, b, s, t in zip(item, below, share, times, strict=True):
            for number, part in ((b, 1 - s), (b + 1, s)):
                if part > 0:
                    kept[i, number] = kept.get((i, number), 0.0) + t * part
    for rows in ([0, 1, 2, 3], [3, 1], [7], []):
        found = tally.of(np.array(rows, int))
        by_hand = sorted(
            (place, number, amount)
            for place, row in enumerate(rows)
            for (i, number), amount in kept.items()
            if i == row
        )
        assert found.item.tolist() == [p for p, *_ in by_hand]
        lengths = class_length(np.array([number for _, number, _ in by_hand]))
        assert found.length == pytest.approx(lengths)
        assert found.tally == pytest.approx([a for *_, a in by_hand])
        assert found.changed.all()


def test_gaps_beyond_sixty_four_octaves_count_as_the_last_class():
    tally = GapTally()
    length = np.array([1e-25, 1e25, 2.0**63.5])
    tally.add(np.array([1, 1, 2]), length, np.ones(3))
    found = tally.of(np.arange(4))
    assert found.item.tolist() == [1, 1, 2]
    ends = [2.0 ** (-511 / 8), 2.0 ** (511 / 8), 2.0**63.5]
    assert found.length == pytest.approx(ends)
    assert found.tally.tolist() == [1.0, 1.0, 1.0]


# likelihood and moments


@pytest.mark.parametrize("pretend", [0.0, 0.5, 3.0])
def test_the_likeliest_rate_is_that_of_a_search(pretend):
    # Lengths that are classes themselves, so that nothing is rounded.
    rng = np.random.default_rng(4)
    item, changed = rng.integers(0, 3, 30), rng.random(30) < 0.5
    length = class_length(rng.integers(-8, 25, 30))
    model = MaximumLikelihood(pretend=pretend)
    model.grow(4)
    model.add(item[:7], length[:7], changed[:7])
    model.rate()
    model.add(item[7:], length[7:], changed[7:])
    found = model.rate()
    for i in range(3):
        mine = [
            (days, c)
            for j, days, c in zip(item, length, changed, strict=True)
            if i == j
        ]
        if pretend:
            mine += [(pretend, True), (pretend, False)]

        def off(log, mine=mine):
            r = math.exp(log)
            one = [math.log(-math.expm1(-r * d)) if c else -r * d for d, c in mine]
            return -sum(one)

        best = optimize.minimize_scalar(off, bounds=(-9, 5), method="bounded")
        assert found[i] == pytest.approx(math.exp(best.x), rel=1e-3)
    none = math.log(2) / pretend if pretend else 1e-9
    assert found[3] == pytest.approx(none)


def test_moments_expect_as_many_quiet_gaps_as_there_were():
    rng = np.random.default_rng(5)
    item, changed = rng.integers(0, 3, 40), rng.random(40) < 0.4
    length = class_length(rng.integers(-8, 25, 40))
    model = Moment()
    model.grow(4)
    model.add(item[:9], length[:9], changed[:9])
    model.rate()
    model.add(item[9:], length[9:], changed[9:])
    found = model.rate()
    for i in range(3):
        mine = item == i
        left = np.exp(-found[i] * length[mine]).sum()
        assert left == pytest.approx(mine.sum() - changed[mine].sum())
    assert found[3] == pytest.approx(1e-9)
    gaps, _ = check_gaps(np.array([0, 1, 1]), np.ones(3), np.ones(3, bool), None, 2)
    ends = moment_rates(gaps, np.array([0.0, 2.0]))
    assert ends == pytest.approx([1e-9, 1e6])


def test_a_row_for_several_gaps_is_as_good_as_several_rows():
    item, length, changed, times = some_gaps(6)
    row = np.repeat(np.arange(item.size), times.astype(int))
    for make in (MaximumLikelihood, Moment):
        one, two = make(), make()
        for model in (one, two):
            model.grow(4)
        one.add(item, length, changed, times)
        two.add(item[row], length[row], changed[row])
        assert one.rate() == pytest.approx(two.rate())


# gamma


def test_a_gamma_prior_has_the_moments_of_the_rates():
    rng = np.random.default_rng(7)
    x, t = rng.poisson(4.0, 30).astype(float), rng.uniform(1, 9, 30)
    m = sum(x) / sum(t)
    v = (sum((a - m * b) ** 2 for a, b in zip(x, t, strict=True)) - sum(x)) / sum(t * t)
    assert v > 0
    assert moments(x, t) == pytest.approx((m * m / v, m / v))
    even = np.full(4, 2.0)
    shape, days = moments(even, even)  # counts vary less than chance would have it
    assert (shape, days) == pytest.approx((1e6, 1e6))


def test_the_marginal_likelihood_is_negative_binomial():
    x, t = np.array([0.0, 3.0, 7.0]), np.array([2.0, 5.0, 1.5])
    for a, b in ((0.7, 2.0), (5.0, 0.3)):
        value = marginal(x, t, np.log([a, b]))[0]
        by_hand = sum(
            math.lgamma(a + k) - math.lgamma(a) + a * math.log(b)
            - (a + k) * math.log(b + d)
            for k, d in zip(x, t, strict=True)
        )  # fmt: skip
        assert value == pytest.approx(by_hand)


def test_the_gamma_prior_is_learned_again_when_gaps_have_grown_enough():
    item, length, changed, _ = some_gaps(8, 60, 6)
    model = GammaPoisson(refit=2.0)
    model.grow(6)
    assert model.rate().tolist() == [1.0] * 6  # half a change in half a day
    learned = []
    for k in range(60):
        before = model.prior
        model.add(item[k : k + 1], length[k : k + 1], changed[k : k + 1])
        if model.prior != before or k == 0:
            learned.append(k + 1)
            counts = model.counts
            assert model.prior == fit_gamma(counts.changes, counts.exposure)
    assert set(learned) <= {1, 3, 7, 15, 31}  # the first count above twice the last
    a, b = model.prior
    counts = model.counts
    rate = (counts.changes + a) / (counts.exposure + b)
    assert model.rate() == pytest.approx(rate)
    law = model.survival()
    assert law.shape == pytest.approx(counts.changes + a)
    assert law.exposure == pytest.approx(counts.exposure + b)


def test_a_population_without_changes_has_half_of_one_in_its_days():
    days = np.array([3.0, 0.0, 4.0])
    assert fit_gamma(np.zeros(3), days) == (0.5, 7.5)
    some = fit_gamma(np.array([2.0, 9.0, 0.0, 1.0]), np.array([3.0, 0.0, 4.0, 2.0]))
    watched = fit_gamma(np.array([2.0, 0.0, 1.0]), np.array([3.0, 4.0, 2.0]))
    assert some == pytest.approx(watched)  # nobody watched the second


# rates that move


def test_forgetting_keeps_half_the_evidence_after_a_half_life():
    item, length, changed, times = some_gaps(9)
    half_lives = (2.0, 10.0, math.inf)
    model = Forgetting(half_lives)
    model.grow(5)
    model.add(item[:5], length[:5], changed[:5], times[:5])
    model.add(item[5:], length[5:], changed[5:], times[5:])
    state = {(h, i): [0.0, 0.0] for h in half_lives for i in range(5)}
    score, every = dict.fromkeys(half_lives, 0.0), [0.5, 0.5]
    for begin, end in ((0, 5), (5, item.size)):
        left = [
            [i, d, c, t]
            for i, d, c, t in zip(item, length, changed, times, strict=True)
        ][begin:end]
        rows = [(i, d, c) for i, d, c, t in left for _ in range(int(t))]
        while rows:
            part, rest, seen = [], [], set()
            for row in rows:
                (rest if row[0] in seen else part).append(row)
                seen.add(row[0])
            rows = rest
            lent = 0.5 * every[1] / every[0]
            for i, d, c in part:
                for h in half_lives:
                    x, days = state[h, i]
                    quiet = ((days + lent) / (days + lent + d)) ** (x + 0.5)
                    score[h] += math.log(1 - quiet if c else quiet)
                    kept = 2 ** (-d / h)
                    state[h, i] = [kept * x + c, kept * days + (d / 2 if c else d)]
                every[0] += c
                every[1] += d / 2 if c else d
    assert model.score == pytest.approx([score[h] for h in half_lives])
    best = max(half_lives, key=lambda h: score[h])
    assert model.half_life == best
    lent = 0.5 * every[1] / every[0]
    rate = [(state[best, i][0] + 0.5) / (state[best, i][1] + lent) for i in range(5)]
    assert model.rate() == pytest.approx(rate)
    law = model.survival()
    assert law.shape / law.exposure == pytest.approx(rate)
    assert law.shape == pytest.approx([state[best, i][0] + 0.5 for i in range(5)])


def test_a_prior_that_is_given_is_never_forgotten():
    model = Forgetting((5.0,), prior=(2.0, 8.0))
    model.grow(1)
    assert model.rate() == pytest.approx([0.25])
    model.add(np.zeros(1, int), np.full(1, 5.0), np.ones(1, bool))
    assert model.rate() == pytest.approx([3.0 / 10.5])
    model.add(np.zeros(1, int), np.full(1, 5.0), np.zeros(1, bool))
    assert model.rate() == pytest.approx([2.5 / (8 + 1.25 + 5)])
    assert Forgetting((3.0, 9.0, 4.0)).half_life == 9.0  # the longest of equals


def test_the_chance_of_a_gap_is_the_mean_over_gamma_rates():
    shape, days, length = np.array([0.5, 3.0]), np.array([2.0, 7.0]), np.array([3.0, 1])
    quiet = [(2 / 5) ** 0.5, (7 / 8) ** 3]
    no, yes = np.zeros(2, bool), np.ones(2, bool)
    assert chance(shape, days, length, no) == pytest.approx(quiet)
    assert chance(shape, days, length, yes) == pytest.approx(1 - np.array(quiet))


def test_restarts_keep_every_run_as_long_as_there_is_room():
    # With as many runs as gaps nothing is joined that has any weight.
    item, length, changed, _ = some_gaps(10, 7, 2)
    model = Restarting(restarts=0.05, runs=9, prior=(0.7, 4.0))
    model.grow(1)
    model.grow(2)
    assert model.rate() == pytest.approx([0.7 / 4] * 2)
    model.add(item, length, changed)
    for i in range(2):
        runs = [(1.0, 0.7, 4.0)]
        for j, g, c in zip(item, length, changed, strict=True):
            if i != j:
                continue
            h = 1 - math.exp(-0.05 * g)
            runs = [(h, 0.7, 4.0)] + [(w * (1 - h), a, b) for w, a, b in runs]
            told = []
            for w, a, b in runs:
                quiet = (b / (b + g)) ** a
                odds = 1 - quiet if c else quiet
                told.append((w * odds, a + c, b + (g / 2 if c else g)))
            total = sum(w for w, *_ in told)
            runs = [(w / total, a, b) for w, a, b in told]
        by_hand = sum(w * a / b for w, a, b in runs)
        assert model.rate()[i] == pytest.approx(by_hand)


def test_half_a_quiet_gap_is_a_gap_of_half_the_length():
    part, whole = (Restarting(restarts=0.1) for _ in range(2))
    none, quiet = np.zeros(1, int), np.zeros(1, bool)
    for model in (part, whole):
        model.grow(1)
        model.add(none, np.full(1, 3.0), ~quiet)
    part.add(none, np.full(1, 4.0), quiet, np.full(1, 0.5))
    whole.add(none, np.full(1, 2.0), quiet)
    assert part.rate() == pytest.approx(whole.rate())
    # Half a change in half a gap: half the evidence, and a quarter of its days.
    one = Restarting(restarts=0.0, prior=(1.0, 5.0))
    one.grow(1)
    one.add(none, np.full(1, 4.0), ~quiet, np.full(1, 0.5))
    assert one.rate() == pytest.approx([1.5 / 6.0])


def test_the_two_neighbours_that_weigh_least_are_joined():
    weight = np.array([[0.4, 0.1], [0.05, 0.3], [0.15, 0.3], [0.4, 0.3]])
    value = np.array([[1.0, 1.0], [2.0, 2.0], [6.0, 3.0], [8.0, 4.0]])
    light, mean = joined_runs(weight, value)
    assert light == pytest.approx(np.array([[0.4, 0.4], [0.2, 0.3], [0.4, 0.3]]))
    assert mean == pytest.approx(np.array([[1.0, 1.75], [5.0, 3.0], [8.0, 4.0]]))
    none, kept = joined_runs(np.zeros((3, 1)), np.array([[1.0], [2.0], [3.0]]))
    assert none.tolist() == [[0.0], [0.0]]
    assert kept.tolist() == [[2.0], [3.0]]


# dates and steps


def test_a_dated_change_counts_for_the_days_since():
    item = np.array([0, 0, 0, 0, 1])
    length = np.array([5.0, 4.0, 6.0, 8.0, 2.0])
    changed = np.array([True, True, True, False, True])
    since = np.array([1.0, 4.0, 6.5, 3.0, math.nan])
    times = np.array([2.0, 1.0, 1.0, 1.0, 1.0])
    model = LastModified()
    model.grow(2)
    model.add(item, length, changed, times, since=since)
    days = 2 * 1.0 + 4.0 + 3.0 + 8.0  # a date before its gap is not believed
    x, n = 4.0, 5.0
    fixed = x - 1 - x / (n * math.log(1 - x / n))
    assert model.rate() == pytest.approx([fixed / days, 0.0])
    early = LastModified()
    early.grow(1)
    early.add(item[:1], length[:1], ~changed[:1])
    early.add(item[:1], length[:1], changed[:1], since=np.array([-1.0]))
    share = 0.5 / math.log(2)
    assert early.rate() == pytest.approx([share / (5.0 + 2.5)])


def test_the_unbiased_count_is_nought_without_and_one_less_with_changes_only():
    n = np.array([4.0, 4.0, 4.0, 4.0, 0.0])
    x = np.array([0.0, 1.0, 3.0, 4.0, 0.0])
    inner = [k - 1 - k / (4 * math.log(1 - k / 4)) for k in (1.0, 3.0)]
    assert unbiased_changes(x, n) == pytest.approx([0.0, *inner, 3.0, 0.0])


def test_steps_shrink_with_the_gaps_and_carry_on_the_last_move():
    item, length, changed, _ = some_gaps(11, 20, 2)
    model = StochasticApproximation(decay=0.6, momentum=0.3)
    model.grow(3)
    model.add(item[:8], length[:8], changed[:8])
    model.add(item[8:], length[8:], changed[8:])
    for i in range(2):
        z = before = 0.0
        mine = [(d, c) for j, d, c in zip(item, length, changed, strict=True) if i == j]
        for k, (_, c) in enumerate(mine):
            moved = z + (k + 1) ** -0.6 * (c * (z + 1) - z) + 0.3 * (z - before)
            before, z = z, max(moved, 0.0)
        pace = len(mine) / sum(d for d, _ in mine)
        assert model.rate()[i] == pytest.approx(z * pace)
    assert model.rate()[2] == 0.0
