"""Summaries through time: features, lifetimes and comparisons as plain loops."""

from dataclasses import replace
from math import exp, inf, isfinite, isnan, log, nan

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.integrate import quad

from halflife.core.search import Document
from halflife.models.drift import WeibullSurvival
from halflife.summary import kl
from halflife.summary.age_curves import AgeCurves, Curve, age_curves
from halflife.summary.drift import SummaryDrift, by_age
from halflife.summary.features import evolution, features
from halflife.summary.lifetime import SummaryOutcome, pace, posterior
from halflife.summary.metrics import (
    METRICS,
    DivergenceStatus,
    SummaryChange,
    compare_cells,
    share,
)
from halflife.summary.pairs import compare_all, product
from halflife.summary.split_test import DEALS, Excess, excess
from halflife.summary.survival import first_crossings, lifetimes
from halflife.summary.tables import Summaries, compare

RNG = np.random.default_rng(8)
WEEKS = 14


def some_values(weeks=WEEKS):
    values = np.random.default_rng(3).random((weeks, weeks))
    values[2, 4] = values[6, 7] = nan
    return values


@pytest.mark.parametrize("when", ["before", "beginning"])
@pytest.mark.parametrize(
    ("lag", "training"), [(1, 2), (1, 5), (3, 5), (4, 5), (1, 14), (2, 15)]
)
def test_evolution_is_the_mean_over_all_pairs_of_training_weeks(lag, training, when):
    values = some_values()
    found = evolution(values, lag, training, when)
    for start in range(WEEKS):
        first = start - training + 1 if when == "before" else 0
        last = first + training - 1
        pairs = [
            values[a, a + lag]
            for a in range(first, last - lag + 1)
            if start >= training - 1
            and training <= WEEKS
            and isfinite(values[a, a + lag])
        ]
        wanted = np.mean(pairs) if pairs else nan
        assert found[start] == pytest.approx(wanted, nan_ok=True)


def plain_crossing(made, week, row, tau):
    """Return length and event by walking on week by week."""
    last = made
    for w, value in zip(week, row, strict=True):
        if w <= made:
            continue
        if not isfinite(value):
            return last - made, False
        if value > tau:
            return w - made, True
        last = w
    return last - made, False


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.sampled_from([0.1, 0.5, 0.6, nan]), min_size=5, max_size=5),
             min_size=5, max_size=5),
    st.integers(0, 3),
)  # fmt: skip
def test_a_lifetime_ends_at_the_first_crossing_or_where_it_is_lost(table, since):
    week = np.arange(since, since + 5)
    length, event = first_crossings(week, week, np.array(table), 0.5)
    for k, row in enumerate(table):
        assert (length[k], event[k]) == plain_crossing(week[k], week, row, 0.5)


def a_drift(name="a", stratum="com", weeks=WEEKS, made=None):
    week = np.arange(3, 3 + weeks)
    made = week if made is None else made
    rng = np.random.default_rng(len(name) + weeks)
    table = {m: rng.random((made.size, weeks)) for m in METRICS}
    table["kl"][1, 5] = nan
    status = np.zeros((made.size, weeks), np.int8)
    size = np.arange(10.0, 10.0 + weeks)
    return SummaryDrift(
        name, stratum, made, week, size, 2 * size, SummaryChange(**table, status=status)
    )


def test_lifetimes_are_those_of_each_database_and_threshold():
    found = [a_drift("a"), a_drift("bb", "org", 9)]
    lives = lifetimes(found, (0.5, 0.9))
    rows = []
    for k, one in enumerate(found):
        for tau in (0.5, 0.9):
            for s, start in enumerate(one.made):
                length, event = plain_crossing(start, one.week, one.change.kl[s], tau)
                if length > 0:
                    rows.append((k, start, tau, length, event))
    columns = (lives.database, lives.start, lives.tau, lives.length, lives.event)
    assert list(zip(*(c.tolist() for c in columns), strict=True)) == rows
    assert lives.days.tolist() == [7.0 * row[3] for row in rows]
    assert lifetimes([], (0.5,)).length.size == 0
    for wrong in (0.0, -1.0, inf):
        with pytest.raises(ValueError, match="above 0 and finite"):
            lifetimes(found, (0.5, wrong))


@pytest.mark.parametrize("training", [2, 4, 10])
def test_features_are_those_of_the_week_of_the_start(training):
    found = [a_drift("a"), a_drift("bb", "org", 12)]
    lives = lifetimes(found, (0.6,))
    told = features(found, lives, training=training, topics={"a": "news", "c": "law"})
    lags = min(9, training - 1)
    assert told.names[:3] == ("tau", "ln_size", "ln_words")
    assert len(told.names) == 3 + 5 * lags + 2
    assert told.column("tau").tolist() == lives.tau.tolist()
    for row in range(lives.start.size):
        one = found[lives.database[row]]
        place = lives.start[row] - 3
        assert told.column("ln_size")[row] == pytest.approx(log(one.size[place]))
        assert told.column("ln_words")[row] == pytest.approx(log(one.words[place]))
        for lag in range(1, lags + 1):
            wanted = evolution(one.change.kl, lag, training, "before")[place]
            found_ = told.column(f"kl_{lag}")[row]
            assert found_ == pytest.approx(wanted, nan_ok=True)
        assert told.column("topic_news")[row] == (one.name == "a")
        assert told.column("topic_law")[row] == 0.0
        assert told.stratum[row] == one.stratum
    some = told.known(["tau", "kl_1"])
    assert some.tolist() == np.isfinite(told.column("kl_1")).tolist()
    for wrong in ({"training": 1}, {"when": "after"}):
        with pytest.raises(ValueError, match="no such training"):
            features(found, lives, **wrong)
    with pytest.raises(ValueError, match="no feature"):
        told.column("kl_10")
    with pytest.raises(ValueError, match="every week"):
        features([a_drift(made=np.arange(3, 9))], lives)
    with pytest.raises(ValueError, match="every week"):
        features([replace(found[0], made=found[0].made + 1)], lives)


def test_metrics_by_age_are_means_over_starts():
    one = a_drift()
    oldest = int(one.week[-1] - one.made[0])  # of which there is one pair
    ages = np.array([1, 2, 5, oldest, 40])
    for metric, mean in by_age(one, ages):
        values = one.change.of(metric)
        for k, age in enumerate(ages):
            pairs = [
                values[i, j]
                for i, made in enumerate(one.made)
                for j, week in enumerate(one.week)
                if week - made == age and isfinite(values[i, j])
            ]
            wanted = np.mean(pairs) if pairs else nan
            assert mean[k] == pytest.approx(wanted, nan_ok=True)


def test_each_database_counts_once_however_many_samples_it_has():
    one, two, other = a_drift("a"), a_drift("a", weeks=13), a_drift("bb")
    found = age_curves(
        [one, two, other], np.random.default_rng(0), ages=np.array([1, 13, 99])
    )
    means = [dict(by_age(d, found.age))["ur"] for d in (one, two, other)]
    same = np.nanmean(np.array(means[:2])[:, :2], axis=0)
    wanted = (same + means[2][:2]) / 2
    assert found.curves["ur"].mean[:2] == pytest.approx(wanted)
    assert isnan(found.curves["ur"].mean[2])
    assert found.curves["ur"].databases.tolist() == [2, 2, 0]
    assert found.at("ur", 13)[0] == found.curves["ur"].mean[1]
    usual = age_curves([other], np.random.default_rng(0))
    assert usual.age.tolist() == list(range(1, 53))


def test_a_metric_is_read_at_its_own_age():
    columns = (np.array([0.1, 0.2, 0.3]), np.array([0.0, 0.1, 0.2]), np.ones(3))
    told = AgeCurves(np.array([4, 7, 9]), {"ur": Curve(*columns, np.ones(3, int))})
    assert tuple(told.at("ur", 4)) == (0.1, 0.0, 1.0)
    assert tuple(told.at("ur", 7)) == (0.2, 0.1, 1.0)
    assert tuple(told.at("ur", 9)) == (0.3, 0.2, 1.0)


LAW = WeibullSurvival(np.array([0.1]), np.array([0.8]))


def plain_pace(outcomes):
    """Return the mean of theta by integrating its density."""

    def x(age):
        return 0.1 * age**0.8

    def density(theta):
        value = exp(-theta)  # Gamma with shape and rate 1
        for held, failed in outcomes:
            value *= exp(-theta * x(held)) - (
                exp(-theta * x(failed)) if failed < inf else 0
            )
        return value

    whole = quad(density, 0, 200, limit=300, points=[0.1, 1, 10])[0]
    return (
        quad(lambda t: t * density(t), 0, 200, limit=300, points=[0.1, 1, 10])[0]
        / whole
    )


@pytest.mark.parametrize(
    "outcomes",
    [
        [(30.0, inf)],
        [(0.0, 5.0)],
        [(10.0, 20.0), (40.0, inf)],
        [(0.0, 1.0), (2.0, 3.0), (7.0, 9.0)],
        [],
    ],
)
def test_the_pace_of_a_database_is_its_posterior_mean(outcomes):
    found = pace(LAW, [SummaryOutcome(*one) for one in outcomes])
    assert found == pytest.approx(plain_pace(outcomes), rel=1e-3)
    after = posterior(LAW, [SummaryOutcome(*one) for one in outcomes])
    assert after.rate == pytest.approx(LAW.rate * found)
    assert after.shape.tolist() == LAW.shape.tolist()


def test_ages_that_make_no_sense_count_as_the_nearest_that_do():
    assert pace(LAW, [SummaryOutcome(-3.0)]) == pace(LAW, [SummaryOutcome(0.0)]) == 1.0
    assert pace(LAW, [SummaryOutcome(9.0, 4.0)]) == pace(
        LAW, [SummaryOutcome(9.0, 9.0)]
    )


def words(*texts):
    return [Document(str(i), tuple(t.split())) for i, t in enumerate(texts)]


def divergence(old, new):
    def counted(documents):
        count = {}
        for one in documents:
            for word in set(one.words):
                count[word] = count.get(word, 0) + 1
        return count

    return kl(counted(old), counted(new))


def test_what_chance_makes_is_the_mean_over_deals():
    old = words("a b", "a b c", "a c", "b c a")
    new = words("a b b", "c d a", "c d")
    found = excess(old, new, np.random.default_rng(4))
    assert found.found == pytest.approx(divergence(old, new))
    rng, every, dealt = np.random.default_rng(4), [*old, *new], []
    for _ in range(DEALS):
        first = rng.permutation(np.arange(7) < 4)
        one = [d for d, mine in zip(every, first, strict=True) if mine]
        other = [d for d, mine in zip(every, first, strict=True) if not mine]
        dealt.append(divergence(one, other))
    known = [value for value in dealt if isfinite(value)]
    assert found.chance == pytest.approx(np.mean(known))
    assert found.spread == pytest.approx(np.std(known))
    reached = sum(value >= found.found - 1e-12 for value in known)
    assert found.beyond == pytest.approx((1 + reached) / (1 + len(known)))
    assert found.excess == max(found.found - found.chance, 0.0)
    assert Excess(0.2, 0.5, 0.0, 1.0).excess == 0.0


def test_samples_that_share_no_two_words_cannot_be_compared():
    rng = np.random.default_rng(0)
    assert excess(words("a b"), words("c d"), rng) is None
    assert excess(words("a b"), words("a d"), rng) is None
    assert excess([], [], rng) is None
    assert excess(words(""), words(""), rng) is None


@pytest.mark.parametrize("small", [1, 5, 12, 1 << 18])
def test_a_product_in_pieces_is_the_product(monkeypatch, small):
    monkeypatch.setattr("halflife.summary.pairs.SMALL", small)
    for n, m, words_ in ((2, 3, 7), (1, 1, 1), (3, 2, 12)):
        a, b = RNG.random((n, words_)), RNG.random((m, words_))
        assert product(a, b) == pytest.approx(a @ b.T)


@pytest.mark.parametrize("block", [2, 8192])
def test_every_version_is_compared_with_every_other(monkeypatch, block):
    monkeypatch.setattr("halflife.summary.pairs.BLOCK", block)
    rng = np.random.default_rng(1)
    old, new = (rng.integers(0, 4, (n, 7)).astype(float) for n in (4, 3))
    old[3], new[0, 2:] = 0.0, 0.0
    found = compare_all(old, new)
    for i, a in enumerate(old):
        for j, b in enumerate(new):
            there = [np.flatnonzero(side) for side in (a, b)]
            one = compare_cells((there[0], a[there[0]]), (there[1], b[there[1]]), 1, 7)
            for metric in METRICS:
                value, wanted = found.of(metric)[i, j], one.of(metric)[0]
                assert value == pytest.approx(wanted, abs=1e-12, nan_ok=True), metric
            assert found.status[i, j] == one.status[0]


def test_tables_of_cells_are_compared_row_by_row():
    old = [{0: 3.0, 1: 1.0, 2: 4.0}, {1: 2.0, 2: 2.0}, {}, {0: 1.0}, {0: 1.0}, {0: 1.0}]
    new = [{0: 1.0, 2: 5.0, 3: 9.0}, {1: 4.0, 2: 1.0}, {1: 1.0}, {}, {1: 1.0}, {0: 2.0}]

    def cells(rows):
        flat = [(i * 4 + k, n) for i, row in enumerate(rows) for k, n in row.items()]
        return np.array([k for k, _ in flat]), np.array([n for _, n in flat])

    found = compare_cells(cells(old), cells(new), 6, 4)
    assert found.ur == pytest.approx([2 / 3, 1.0, 0.0, nan, 0.0, 1.0], nan_ok=True)
    assert found.up == pytest.approx([2 / 3, 1.0, nan, 0.0, 0.0, 1.0], nan_ok=True)
    assert found.wr == pytest.approx([6 / 15, 1.0, 0.0, nan, 0.0, 1.0], nan_ok=True)
    assert found.wp == pytest.approx([7 / 8, 1.0, nan, 0.0, 0.0, 1.0], nan_ok=True)
    first = 1 / 6 * log((1 / 6) / (3 / 7)) + 5 / 6 * log((5 / 6) / (4 / 7))
    second = 4 / 5 * log((4 / 5) / (1 / 2)) + 1 / 5 * log((1 / 5) / (1 / 2))
    assert found.kl[:2] == pytest.approx([first, second])
    assert np.isnan(found.kl[2:]).all()
    assert [DivergenceStatus(s).name for s in found.status] == [
        "OK", "OK", "EMPTY_OLD", "EMPTY_NEW", "NOTHING_SHARED", "ONE_SHARED",
    ]  # fmt: skip
    parts = share(np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    assert parts == pytest.approx([0.5, nan], nan_ok=True)


@pytest.mark.parametrize("base", [1.0, 0.5, inf, nan])
def test_a_logarithm_has_a_base_above_1(base):
    none = Summaries.of({})
    with pytest.raises(ValueError, match="base"):
        compare(none, none, base=base)
    with pytest.raises(ValueError, match="base"):
        kl({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 2.0}, base=base)
