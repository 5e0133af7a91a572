"""Laws of checks by match counts, and of the rule that goes by them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.random import default_rng
from scipy.integrate import trapezoid

from halflife.policies.texts import CountChecks, Refreshes, Samples, SummaryShelf
from halflife.policies.texts.checked_index import (
    FLOOR,
    NEAREST,
    CheckedIndex,
    checked,
    follow_checks,
)
from halflife.policies.texts.drift_index import drift_index, shrunk
from halflife.policies.texts.live import (
    SHORTEST,
    WEEK,
    Databases,
    SummaryChecks,
    counted,
)
from halflife.policies.texts.names import CHAMPION
from halflife.summary.count_check import count_noise, counted_divergence
from halflife.summary.metrics import kl, weighted_precision

NO = Refreshes(np.zeros(0, np.intp), np.zeros(0), np.zeros(0))
PRICE = 0.01

counts_of = st.lists(
    st.tuples(st.integers(1, 500), st.integers(0, 500)), min_size=2, max_size=12
)


def checks_of(rows, n, price=PRICE):
    """Return checks (database, age, kl)."""
    database, age, off = zip(*rows, strict=True) if rows else ((), (), ())
    return CountChecks(
        np.array(database, np.intp), np.array(age, float), np.array(off, float),
        np.full(n, price),
    )  # fmt: skip


def shelf_of(age, checks, *, seen=NO, income=1.0, size=100.0):
    n = len(age)
    return SummaryShelf(
        30, np.array(age, float), np.zeros(n, np.intp), np.full(n, size), seen,
        Samples(np.full(n, -1), np.zeros(n)), income, checks,
    )  # fmt: skip


def seen_of(rates):
    """Return ten weekly refreshes of each database at a steady drift."""
    n = len(rates)
    return Refreshes(np.tile(np.arange(n), 10), np.ones(10 * n), np.tile(rates, 10))


@given(counts_of)
def test_over_all_words_by_their_share_it_is_the_divergence(rows):
    """The mean of rho ln rho over the words of both is kl, whatever the counts."""
    old = {str(i): float(o) for i, (o, _) in enumerate(rows)}
    new = {str(i): float(c) for i, (_, c) in enumerate(rows)}
    both = [(o, c) for o, c in rows if c > 0]
    if len(both) < 2:
        return
    f_o, f_c = np.array(both, float).T
    share = f_o / f_o.sum()
    rho = (f_c / f_o) / (share @ (f_c / f_o))
    assert share @ (rho * np.log(rho)) == pytest.approx(kl(old, new), abs=1e-12)
    # With the words that are gone it is ln(1 / wp) more: what is added for them.
    every, now = np.array(rows, float).T
    share = every / every.sum()
    rho = (now / every) / (share @ (now / every))
    terms = np.where(rho > 0, rho * np.log(np.where(rho > 0, rho, 1.0)), 0.0)
    wanted = kl(old, new) - np.log(weighted_precision(old, new))
    assert share @ terms == pytest.approx(wanted, abs=1e-12)


def test_five_words_tell_the_divergence_on_average():
    """Counts that move by chance: the mean of many checks nears the truth."""
    rng = default_rng(3)
    old = np.round(rng.pareto(1.2, 800) * 20) + 5
    new = np.maximum(np.round(old * np.exp(0.25 * rng.standard_normal(800))), 1)
    truth = kl(
        {str(i): c for i, c in enumerate(old)}, {str(i): c for i, c in enumerate(new)}
    )
    share = old / old.sum()
    found = []
    for _ in range(4000):
        some = rng.choice(800, 5, p=share)
        found.append(counted_divergence(old[some], new[some]))
    assert np.mean(found) == pytest.approx(truth, rel=0.1)


@given(counts_of, st.floats(0.1, 50.0))
def test_it_is_never_below_nothing_and_growth_alone_is_no_change(rows, growth):
    old, new = np.array(rows, float).T
    assert counted_divergence(old, new) >= 0.0
    assert counted_divergence(old, growth * old) == pytest.approx(0.0, abs=1e-12)
    assert counted_divergence(old, growth * new) == pytest.approx(
        counted_divergence(old, new), abs=1e-9
    )


def test_what_is_not_told_is_left_out_and_too_little_tells_nothing():
    old, new = np.array([100.0, 50.0, 70.0]), np.array([110.0, 45.0, np.nan])
    assert counted_divergence(old, new) == counted_divergence(old[:2], new[:2])
    assert np.isnan(counted_divergence(old[1:], new[1:]))
    assert np.isnan(counted_divergence(np.zeros(0), np.zeros(0)))


def test_words_that_are_gone_are_not_taken_for_words_that_hold():
    """Two of five words match as before: most of the summary is gone."""
    old = np.full(5, 40.0)
    new = np.array([40.0, 40.0, 0.0, 0.0, 0.0])
    assert counted_divergence(old, new) == pytest.approx(np.log(5 / 2))
    assert counted_divergence(old, np.zeros(5)) == pytest.approx(np.log(10))
    assert counted_divergence(old, np.array([40.0, 40.0, 40.0, 40.0, 0.0])) == 0.0


def test_counts_that_are_off_by_chance_seem_to_move_by_their_variance():
    """So much is taken off: unchanged counts with 5 % noise are 0 on average."""
    rng, spread = default_rng(1), 0.05
    true = rng.integers(50, 5000, (4000, 5)).astype(float)
    first, again = (
        true * np.exp(spread * rng.standard_normal(true.shape)) for _ in "ab"
    )
    noise = count_noise(first.ravel(), again.ravel())
    assert noise == pytest.approx(spread**2, rel=0.05)
    raw = [counted_divergence(a, b) for a, b in zip(first, again, strict=True)]
    assert np.mean(raw) == pytest.approx(spread**2, rel=0.1)
    assert count_noise(first[0], first[0]) == 0.0
    assert count_noise(np.zeros(0), np.zeros(0)) == 0.0


def test_a_check_that_shows_what_was_expected_changes_nothing():
    """At 0.02 a week: 0.08 after 4 weeks; U(10) = 0.02 * 100 / 2."""
    scale = np.array([0.02])
    found = follow_checks(checks_of([(0, 4.0, 0.08), (0, 7.0, 0.14)], 1), scale, 0.3)
    assert found.off[0] == pytest.approx(0.14)
    assert found.expected(np.array([10.0]))[0] == pytest.approx(0.2)
    assert found.worth(np.array([10.0]))[0] == pytest.approx(1.0)
    assert follow_checks(None, scale, 0.3).worth(np.array([10.0]))[0] == pytest.approx(
        1.0
    )


def test_a_jump_that_a_check_shows_is_worth_a_refresh():
    """0.16 shown where 0.04 was expected, at trust 0.5: 0.08 is believed.

    U(3) = 3 (0.08 + 0.02) - (0.08 * 2 / 2 + 0.08 + 0.01) = 0.13.
    """
    scale = np.array([0.02, 0.02])
    checks = checks_of([(0, 2.0, 0.16)], 2)
    found = follow_checks(checks, scale, 0.5)
    assert found.off.tolist() == pytest.approx([0.08, 0.0])
    assert found.worth(np.full(2, 3.0)) == pytest.approx([0.13, 0.09])


@given(
    st.lists(st.tuples(st.integers(1, 8), st.floats(0, 0.5)), min_size=1, max_size=6),
    st.floats(0.001, 0.1),
    st.floats(0.0, 1.0),
    st.floats(0.0, 9.0),
)
def test_the_worth_is_the_area_above_the_path(steps, scale, trust, later):
    ages = np.cumsum([float(gap) for gap, _ in steps])
    checks = checks_of(
        [(0, a, off) for a, (_, off) in zip(ages, steps, strict=True)], 1
    )
    found = follow_checks(checks, np.array([scale]), trust)
    path = [0.0]
    for k in range(len(steps)):
        part = checks_of([(0, ages[j], steps[j][1]) for j in range(k + 1)], 1)
        path.append(follow_checks(part, np.array([scale]), trust).off[0])
    now = ages[-1] + later
    path.append(found.expected(np.array([now]))[0])
    at = np.array([0.0, *ages, now])
    area = max(now * path[-1] - trapezoid(path, at), 0.0)
    assert found.worth(np.array([now]))[0] == pytest.approx(area, abs=1e-9)


def test_no_check_makes_believe_that_all_stands_still():
    found = follow_checks(checks_of([(0, 4.0, 0.0)], 1), np.array([0.02]), 1.0)
    assert found.off[0] == pytest.approx(FLOOR * 0.08)


@given(
    st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=8),
    st.floats(0.01, 0.5),
    st.floats(0.0, 1.0),
    st.floats(0.01, 10.0),
)
def test_checks_take_their_share_of_the_income(scales, share, spread, income):
    scale, price = np.array(scales), np.linspace(0.01, 0.05, len(scales))
    every = CheckedIndex(share=share, spread=spread).every(scale, price, income)
    assert (price / every).sum() == pytest.approx(share * income)
    blind = np.full(scale.size, np.inf)
    assert np.isinf(checked.every(scale, blind, income)).all()


def test_the_restless_are_checked_more_often():
    every = checked.every(np.array([1e-4, 1e-2]), np.full(2, PRICE), 1.0)
    assert every[0] / every[1] == pytest.approx(100**checked.spread)


def test_what_was_just_made_or_checked_is_not_checked_again():
    checks = checks_of([(1, 6.0, 0.01), (2, 5.0, np.nan)], 4)
    shelf = shelf_of([0.0, 6.0, 6.0, 6.0], checks, income=100.0)
    wish = checked(shelf, 10.0, default_rng(0))
    assert sorted(wish.check.tolist()) == [2, 3]
    assert wish.refresh.size == 0


def test_checks_stop_where_the_budget_does_and_where_no_counts_are_told():
    few = shelf_of([9.0] * 5, checks_of([], 5), income=100.0)
    assert checked(few, 3.5 * PRICE, default_rng(0)).check.size == 3
    blind = shelf_of([9.0] * 5, checks_of([], 5, price=np.inf), income=100.0)
    assert checked(blind, 2.0, default_rng(0)).check.size == 0
    assert checked(blind, 2.0, default_rng(0)).refresh.size == 2


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_where_nobody_tells_counts_it_is_the_index_rule(seed):
    rng = default_rng(seed)
    age, rates = rng.integers(1, 30, 6), rng.gamma(0.5, 0.01, 6)
    shelf = shelf_of(age, None, seen=seen_of(rates))
    blind = replace(shelf, checks=checks_of([], 6, price=np.inf))
    wanted = drift_index(shelf, 2.0, default_rng(1)).refresh.tolist()
    for one in (shelf, blind):
        assert checked(one, 2.0, default_rng(1)).refresh.tolist() == wanted
        np.testing.assert_array_equal(
            checked.score(one, age.astype(float)),
            drift_index.score(one, age.astype(float)),
        )


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_more_shown_by_a_check_never_makes_a_refresh_worth_less(seed):
    rng = default_rng(seed)
    rates, off = rng.gamma(0.5, 0.01, 3), rng.gamma(0.5, 0.05)
    shelf = shelf_of([8.0] * 3, checks_of([(0, 5.0, off)], 3), seen=seen_of(rates))
    more = replace(shelf, checks=checks_of([(0, 5.0, 3.0 * off)], 3))
    one, other = (checked.drift(s).worth(np.full(3, 8.0))[0] for s in (shelf, more))
    assert other >= one * (1.0 - 1e-9)


def test_without_checks_the_drift_is_what_refreshes_show():
    seen = seen_of([0.01, 0.03])
    shelf = shelf_of([4.0, 4.0], None, seen=seen)
    scale = shrunk(np.array([0.1, 0.3]), np.full(2, 10.0), shelf.size)
    assert checked.drift(shelf).scale == pytest.approx(scale)
    with_checks = replace(shelf, checks=checks_of([(0, 4.0, 0.5)], 2))
    assert checked.drift(with_checks).scale[0] > scale[0]


def databases(n, *, income, checks, made=20.0):
    now = 20_000.0
    return Databases(
        now=now, domain=("com",) * n, method=("QBS",) * n, size=np.full(n, 500.0),
        tau=np.full(n, 0.5), made=np.full(n, now - made),
        looked=np.full(n, now - made), doubted=np.zeros(n, bool),
        cost=np.full(n, 200.0), check=np.minimum(checks.price, 40.0),
        weight=np.ones(n), income=income, refreshes=seen_of([0.01] * n),
        checks=SummaryChecks(
            np.full(n, -np.inf), np.zeros(n), np.full(n, np.nan),
            np.zeros(n, np.intp), np.zeros(n, np.intp),
        ),
        counts=checks,
    )  # fmt: skip


def test_live_checks_and_renewals_take_the_income_together():
    """Two alike at 20 requests a day: 5 words each, 7 % of the income for them."""
    known = databases(2, income=20.0, checks=checks_of([], 2, price=5.0), made=1.0)
    found = CHAMPION.choose(known)
    assert not found.renews.any()
    assert found.every == pytest.approx(2 * 5.0 / (checked.share * 20.0), rel=0.01)
    assert (found.cost / found.every).sum() == pytest.approx(20.0, rel=0.02)
    later = CHAMPION.choose(replace(known, now=known.now + 10.0))
    assert later.due.all()
    assert not later.renews.any()
    assert "checked 11 days ago" in later.why[0]


def test_live_checks_are_counted_from_the_last_one():
    """Made 20 days ago; of two checks the later was at the age of two weeks."""
    checks = checks_of([(0, 2.0, 0.0), (0, 1.0, 0.0)], 2, price=5.0)
    known = databases(2, income=20.0, checks=checks)
    found = counted(checked, CHAMPION.due, known, checks)
    assert (known.now - found.since).tolist() == [6.0, 20.0]


def test_live_checks_that_show_a_jump_bring_the_renewal_forward():
    """Made 21 days ago, due every 30: a jump in the last week makes it due now."""
    quiet, jump = (
        databases(
            3,
            income=20.0,
            made=21.0,
            checks=checks_of([(0, 2.5, off), (0, 2.9, off)], 3, price=5.0),
        )
        for off in (0.0, 2.0)
    )
    rule = CHAMPION.due
    one, other = (counted(checked, rule, k, k.counts) for k in (quiet, jump))
    assert not one.renews.any()
    assert other.renews.tolist() == [True, False, False]
    assert other.due[0]


def test_live_a_database_without_counts_is_checked_by_documents():
    checks = checks_of([], 2, price=5.0)
    checks.price[1] = np.inf
    known = databases(2, income=20.0, checks=checks, made=60.0)
    known = replace(known, check=np.array([5.0, 40.0]))
    found = CHAMPION.choose(known)
    blind = CHAMPION.choose(replace(known, counts=None, check=np.full(2, 40.0)))
    assert not found.renews[1]
    assert found.every[1] == pytest.approx(blind.every[1], rel=0.2)
    assert found.why[1].startswith(blind.why[1].split(" every")[0])


def test_a_replay_and_the_service_check_at_the_same_interval():
    """The weekly replay takes the nearest week, the service the day itself."""
    known = databases(3, income=20.0, checks=checks_of([], 3, price=5.0), made=1.0)
    days = CHAMPION.choose(known).every
    weekly = shelf_of(
        [1.0] * 3, checks_of([], 3, price=5.0 / 200.0), seen=known.refreshes,
        income=20.0 * WEEK / 200.0, size=500.0,
    )  # fmt: skip
    due = next(
        age for age in range(1, 60)
        if checked(replace(weekly, age=np.full(3, age)), 9.0, default_rng(0)).check.size
    )  # fmt: skip
    assert abs(due - days[0] / WEEK) <= NEAREST + 1e-9


def test_a_rule_checks_by_counts_if_it_says_how():
    assert CHAMPION.by_counts
    assert not replace(CHAMPION, due=None).by_counts
    assert not replace(CHAMPION, due=replace(CHAMPION.due, counts=None)).by_counts


def test_where_a_renewal_is_as_frequent_as_a_check_nothing_is_checked():
    known = databases(2, income=1e9, checks=checks_of([], 2, price=5.0), made=0.5)
    found = CHAMPION.choose(known)
    assert found.every.tolist() == [SHORTEST, SHORTEST]
    assert found.renews.all()
    assert not found.due.any()
