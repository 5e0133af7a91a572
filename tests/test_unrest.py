"""Groups that change unevenly leave copies stale together, and less in the mean."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate, stats

from halflife.belief.neighbours import Neighbours
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.core.view import Unrest
from halflife.kinds.pages import kind as pages_kind
from halflife.models.bursts import MOST_SITES, Bursts
from halflife.models.poisson import Exponential
from halflife.models.quality import freshness_forecast
from halflife.models.unrest import (
    LENT_PACE,
    LENT_PACES,
    LONGEST,
    MOST,
    PRIOR,
    paces,
    shared_survival,
    unrest,
    unrest_by_group,
)

DAYS = 140


def counts(rng, u, rate=1.5, sites=60, span=1):
    """Changes of sites that live as a Gamma process lives, day by day."""
    lived = rng.gamma(span / u, u, (sites, DAYS // span)) if u else np.full(1, span)
    days = np.broadcast_to(lived, (sites, DAYS // span)) / span
    return rng.poisson(rate * np.repeat(days, span, axis=1)).astype(float)


@pytest.mark.parametrize("u", [0.5, 2.0, 6.0])
def test_unrest_is_found_again_in_simulated_bursts(u):
    seen = counts(np.random.default_rng(3), u)
    assert unrest(np.full_like(seen, 1.5), seen) == pytest.approx(u, rel=0.3)


def test_what_changes_at_even_odds_has_none():
    seen = counts(np.random.default_rng(4), 0.0)
    assert unrest(np.full_like(seen, 1.5), seen) < 0.1


def test_weeks_tell_of_unrest_that_lasts_for_days():
    seen = counts(np.random.default_rng(5), 4.0, span=7)
    assert unrest(np.full_like(seen, 1.5), seen) == pytest.approx(4.0, rel=0.35)


def test_unrest_of_a_worked_example():
    # Two changes a day are expected and 28 come on one of 14 days. By days the excess
    # is 26^2 - 28 + 13 * 2^2 = 700 over 28 changes, and 56 / 28 + 1 beneath it; by
    # three days 22^2 - 28 + 3 * 6^2 = 564 over 24, times 3, and 144 / 24 + 1; by weeks
    # 14^2 - 28 + 14^2 = 364 over 28, times 7, and 392 / 28 + 1.
    burst = np.zeros((1, 14))
    burst[0, 3] = 28.0
    days, threes, weeks = 25.0 / 3.0, 3.0 * 23.5 / 7.0, 7.0 * 13.0 / 15.0
    assert unrest(np.full((1, 14), 2.0), burst) == pytest.approx(
        max(days, threes, weeks)
    )


def test_few_spans_tell_nothing_of_unrest():
    expected, seen = np.full((1, 28), 2.0), np.full((1, 28), 3.0)
    assert (
        unrest(expected, seen) > 5.0
    )  # four weeks, in which there was more than usual
    assert unrest(expected, seen, fewest=8) == 0.0
    many = np.tile(expected, (8, 1)), np.tile(seen, (8, 1))
    assert unrest(*many, fewest=8) == pytest.approx(unrest(*many))


def test_unrest_and_pace_of_groups_of_a_worked_example():
    # One group has all its 8 changes on the first of four days, the other has two each
    # day, four of which were expected. P = (16 + 20) / (24 + 20): the paces are
    # (8 + 5 P) / 13 and (8 + 5 P) / 21, and by days the unrest of all is told by the
    # excess over each group's expectation, over what it expects in all.
    expected = np.array([[2.0] * 4, [4.0] * 4])
    seen = np.array([[8.0, 0.0, 0.0, 0.0], [2.0] * 4])
    usual = (16.0 + LENT_PACES) / (24.0 + LENT_PACES)
    a, b = (8.0 + LENT_PACE * usual) / 13.0, (8.0 + LENT_PACE * usual) / 21.0
    assert paces(expected, seen) == pytest.approx([a, b])
    days, pace = unrest_by_group(expected, seen, 0.5, fewest=8)  # single days alone
    e, f = 2.0 * a, 4.0 * b
    burst = (8.0 - e) ** 2 - 8.0 + 3.0 * e**2
    even = 4.0 * ((2.0 - f) ** 2 - 2.0)
    every = (burst / (4 * e) + even / (4 * f)) / (e + f + 1.0)
    one = (burst + every * (PRIOR * e**2 + e)) / ((4 + PRIOR) * e**2 + e)
    two = (even + every * (PRIOR * f**2 + f)) / ((4 + PRIOR) * f**2 + f)
    assert pace == pytest.approx([a, b])
    assert days == pytest.approx([one / 2.0, max(two, 0.0) / 2.0])


@pytest.mark.parametrize("some", [1, 3])
def test_the_unrest_of_each_group_is_found_again(some):
    rng = np.random.default_rng(7)
    calm, wild = counts(rng, 0.5, 4.0, 30), counts(rng, 8.0, 4.0, 30)
    both = np.concatenate([calm, wild])
    days, pace = unrest_by_group(np.full_like(both, 2.0), both, some=some)
    assert np.median(days[:30]) < 2.0
    assert 5.0 < np.median(days[30:]) < 12.0
    assert np.median(pace) == pytest.approx(2.0, rel=0.1)


def test_a_group_that_was_never_seen_is_like_all():
    expected, seen = (
        np.full((9, 28), 2.0),
        counts(np.random.default_rng(8), 3.0, 2.0, 9),
    )
    seen = seen[:, :28]
    expected[4] = seen[4] = 0.0
    days, pace = unrest_by_group(expected, seen)
    others = np.arange(9) != 4
    assert days[others].min() - 1e-9 <= days[4] <= days[others].max() + 1e-9
    usual = (seen.sum() + LENT_PACES) / (expected.sum() + LENT_PACES)
    assert pace[4] == pytest.approx(usual)


tables = st.lists(
    st.tuples(st.floats(0.0, 50.0), st.floats(0.0, 500.0)), min_size=0, max_size=30
)


@given(rows=tables, groups=st.integers(0, 3))
def test_unrest_is_finite_on_whatever_was_seen(rows, groups):
    e, c = np.array(rows).reshape(-1, 2).T
    found = unrest(np.tile(e, (groups, 1)), np.tile(c, (groups, 1)), 0.5)
    assert 0.0 <= found <= MOST / 2
    days, pace = unrest_by_group(np.tile(e, (groups, 1)), np.tile(c, (groups, 1)), 0.5)
    assert days.size == pace.size == groups
    assert np.all((days >= 0.0) & (days <= LONGEST))
    assert np.all(pace > 0.0)


@pytest.mark.parametrize(("rate", "days", "variance"), [(0.3, 2.0, 1.0), (2, 0.5, 3)])
def test_what_pages_share_is_what_integrals_over_busy_times_say(rate, days, variance):
    lived = stats.gamma(days**2 / variance, scale=variance / days)

    def mean(power):  # by quantiles: there is a pole at 0
        return integrate.quad(
            lambda q: np.exp(-power * rate * lived.ppf(q)), 0, 1, limit=200
        )[0]

    alive, alone, swing = shared_survival(
        np.exp(-rate * np.array([days])), np.array([days]), np.array([variance])
    )
    assert alive[0] == pytest.approx(mean(1), rel=1e-5)
    assert alone[0] == pytest.approx(mean(1) - mean(2), rel=1e-4)
    assert swing[0] ** 2 == pytest.approx(mean(2) - mean(1) ** 2, rel=1e-4)


unit = st.floats(0.0, 1.0)


@given(
    alive=unit,
    lived=st.floats(0.0, 1e4),
    variance=st.floats(0.0, 1e6),
    together=unit,
)
def test_chances_stay_chances_and_no_share_varies_more_than_a_toss(
    alive, lived, variance, together
):
    columns = (np.array([x]) for x in (alive, lived, variance, together))
    mean, alone, swing = (float(x[0]) for x in shared_survival(*columns))
    assert alive - 1e-9 <= mean <= 1.0
    assert alone >= 0.0
    assert swing >= 0.0
    assert alone + swing**2 <= mean * (1.0 - mean) + 1e-9


def test_the_more_changes_at_once_the_more_is_shared_and_the_mean_stays():
    alive, lived, variance = np.full(1, 0.6), np.full(1, 5.0), np.full(1, 3.0)
    told = [shared_survival(alive, lived, variance, q) for q in (0.0, 0.3, 0.7, 1.0)]
    means, alone, swings = (np.concatenate(each) for each in zip(*told, strict=True))
    assert np.ptp(means) == 0.0
    assert list(swings) == sorted(swings)
    assert list(alone) == sorted(alone, reverse=True)
    assert alone[-1] == pytest.approx(0.0)  # all that one does, all do
    assert swings[-1] ** 2 == pytest.approx(means[0] * (1.0 - means[0]))


def test_without_variance_nothing_is_shared():
    alive = np.array([0.0, 0.4, 1.0])
    mean, alone, swing = shared_survival(alive, np.ones(3), np.zeros(3))
    assert np.array_equal(mean, alive)
    assert np.array_equal(alone, alive * (1.0 - alive))
    assert not swing.any()


def look(evidence, at, text):
    """Look at all pages, which show this text."""
    seen = [Observation(key, at, Seen.PRESENT, text) for key in evidence.keys]
    evidence.take(evidence.weigh(Observations.of(seen)))


def view_of(unrest, n=60, watched=1e9):
    """Pages of three sites, seen two days ago, that change every ten days."""
    evidence = Evidence.of([Item(f"http://s/{i}", "s") for i in range(n)])
    look(evidence, 0.0, "x")
    view = Neighbours()(evidence, 2.0, 2.0)
    return dataclasses.replace(
        view,
        group=np.arange(n) % 3,
        survival=Exponential(np.full(n, 0.1)),
        doubt=np.zeros(n),
        unsettled=np.zeros(0),  # all of the past counts
        unrest=lambda: Unrest(unrest, watched),
    )


@pytest.mark.parametrize("later", [0.0, 5.0, 20.0])
@pytest.mark.parametrize("u", [2.0, 8.0])
def test_bounds_hold_what_simulated_sites_do(u, later):
    """An oracle: what happens comes 1 / u times a day lived, and hits a page or not."""
    rng, n, runs = np.random.default_rng(6), 300, 4000
    before = rng.gamma(2.0 / u, u, (runs, 3))
    hits = rng.poisson(rng.gamma(later / u, u, (runs, 3)) / u)
    missed = (np.exp(-0.1 * before) * (1.0 - 0.1 * u) ** hits)[:, np.arange(n) % 3]
    fresh = (rng.random((runs, n)) < missed).mean(axis=1)
    cast = freshness_forecast(view_of(u, n), np.array([later]))
    assert cast.mean[0] == pytest.approx(fresh.mean(), abs=0.006)
    inside = (cast.low[0] - 1e-9 <= fresh) & (fresh <= cast.high[0] + 1e-9)
    # Three sites that are hit as a whole have few values, which no smooth law follows.
    assert inside.mean() >= 0.93 - (u > 2.0) * 0.05
    if cast.high[0] < 1.0:  # else nothing lies above, and short spans have few values
        assert inside.mean() <= 0.975 + (u > 2.0) * 0.015
    chance = 2.0 ** (-3.0 * later / u) * np.exp(-n * 0.1 * 2.0)
    assert (cast.high[0] == 1.0) >= (chance > 0.025)


def test_where_nothing_may_have_happened_all_may_be_fresh():
    """Pages fetched just now: what will happen comes once in 8 days, and hits all."""
    view = dataclasses.replace(view_of(8.0, 300), exposure=np.zeros(300))
    view = dataclasses.replace(view, age=np.zeros(300))
    hit = 1.0 - np.exp(-0.1 * 8.0 * 100)  # all but surely one of the hundred of a site
    for later in (7.0, 14.0, 21.0):
        chance = (1.0 + hit) ** (-3.0 * later / 8.0)
        cast = freshness_forecast(view, np.array([later]))
        assert (cast.high[0] == 1.0) == (chance > 0.025)


def test_what_is_believed_of_even_pages_is_as_it_was():
    cast = freshness_forecast(view_of(0.0), np.array([0.0, 3.0]))
    assert cast.mean == pytest.approx(np.exp([-0.2, -0.5]))


def test_unrest_and_little_time_to_learn_widen_bounds():
    widths = []
    for unrest_, watched in ((0.0, 1e9), (1.0, 1e9), (1.0, 5.0), (4.0, 5.0)):
        cast = freshness_forecast(view_of(unrest_, watched=watched), np.ones(1))
        widths.append(float(cast.high[0] - cast.low[0]))
    assert widths == sorted(widths)
    assert widths[-1] > 2.0 * widths[0]


def test_days_to_come_are_unrestful_in_full_until_the_next_fetch():
    view = view_of(1.0, n=2)  # seen two days ago
    view = dataclasses.replace(view, unsettled=np.full(2, 0.5))
    later = pages_kind._later(view, np.array([np.inf, 4.0]), 3.0)
    assert later.unsettled.tolist() == [3.5, 1.0]
    whole = dataclasses.replace(view, unsettled=np.zeros(0))
    later = pages_kind._later(whole, np.array([np.inf, 4.0]), 3.0)
    assert later.unsettled.tolist() == later.age.tolist() == [5.0, 1.0]


def test_a_belief_tells_the_unrest_of_what_it_saw():
    evidence = Evidence.of([Item(f"http://one/{i}", "one") for i in range(40)])
    belief = Neighbours()
    for day in range(29):
        text = str(day // 14)  # every page changes at once, every other week
        look(evidence, float(day), text)
        view = belief(evidence, float(day), float(day))
    found = view.unrest()
    assert found.days[0] > 3.0
    assert found.watched == 29.0


def test_unrest_is_worked_out_once_and_when_it_is_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(Bursts, "unrest", lambda _: asked.append(1) or Unrest(1.0, 9.0))
    evidence = Evidence.of([Item(f"http://one/{i}", "one") for i in range(9)])
    look(evidence, 0.0, "x")
    view = Neighbours()(evidence, 1.0, 1.0)
    assert asked == []
    freshness_forecast(view, np.arange(5.0))
    assert asked == [1]


def test_of_many_sites_some_tell_of_all():
    bursts, n = Bursts(), 2 * MOST_SITES
    rows = np.arange(n)
    bursts.place(rows, rows)
    found = bursts.unrest()
    assert not found.days.any()
    assert found.watched == 1.0
    bursts.reach(3.0)
    assert bursts.unrest().watched == 1.0
