"""Laws of the rules that choose which content summaries to renew."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.random import default_rng
from scipy.integrate import quad

from halflife.core.errors import UsageError
from halflife.models.drift import DriftPrediction as Model
from halflife.policies.texts import Refreshes, Samples, SummaryShelf, best
from halflife.policies.texts.bayes import (
    Bayes,
    _examples,
    _odds,
    _products,
    _queries,
    _sums,
    classify,
    odds_of,
)
from halflife.policies.texts.drift_index import (
    POWERS,
    WEIGHT,
    LearnedDrift,
    drift_index,
    learn,
    power,
)
from halflife.policies.texts.lessons import (
    FULL,
    LADDER,
    LOGS,
    SIZE,
    FittedDrift,
    Lessons,
    _columns,
    _spells,
    rate_of,
)
from halflife.policies.texts.names import Hindsight, named
from halflife.policies.texts.samples import (
    DOCUMENTS,
    PRICE,
    READ,
    SHARE,
    DatabaseSampling,
)
from halflife.policies.texts.turns import RefreshFrequencies
from halflife.summary.survival import Lifetimes
from text_worlds import databases

NO = Refreshes(np.zeros(0, np.intp), np.zeros(0), np.zeros(0))


def shelf_of(age, **more):
    n = len(age)
    given_ = {
        "week": 20,
        "age": np.array(age, np.intp),
        "stratum": np.zeros(n, np.intp),
        "size": np.full(n, 100.0),
        "refreshes": NO,
        "samples": Samples(np.full(n, -1), np.zeros(n)),
        "income": 2.0,
    }
    return SummaryShelf(**given_ | more)


# Naive Bayes


def lessons(history=4, start=0, weeks=12):
    return Lessons(
        databases(
            [0.002, 0.004, 0.001, 0.003, 0.002, 0.006, 0.001], weeks=weeks, seed=1
        ),
        history,
        0.01,
        start,
    )


def kappa(taught, i, week):
    """Return the mean divergence of summaries a week apart in the history so far."""
    kl = taught.kl[i]
    pairs = range(week - taught.history + 1, week)
    return np.mean([kl[p, p + 1] for p in pairs])


def features(taught, i, week, age):
    one = taught.found[i]
    kinds = sorted({d.stratum for d in taught.found})
    return [
        age,
        math.log(age),
        math.log(max(one.size[week], 1.0)),
        kappa(taught, i, week),
        *(float(one.stratum == kind) for kind in kinds),
    ]


def test_examples_are_all_pairs_of_weeks_after_the_first_history():
    taught = lessons()
    for i in (0, 3):
        found, gone = _examples(taught, i)
        expected, changed = [], []
        for p in range(3, 12):
            for q in range(p + 1, 12):
                expected.append(features(taught, i, p, q - p))
                changed.append(taught.kl[i, p, q] > 0.01)
        np.testing.assert_allclose(found, expected)
        assert gone.tolist() == changed
        assert any(changed)


def test_a_database_is_asked_about_as_it_was_known_at_the_start():
    taught = lessons(start=2)
    found = _queries(taught, 5, np.arange(1, 9))
    np.testing.assert_allclose(found, [features(taught, 5, 5, a) for a in range(1, 9)])


def test_an_empty_database_has_the_size_of_one_document():
    taught = lessons()
    none = replace(taught.found[0], size=np.zeros(12))
    found = replace(taught, found=(none, *taught.found[1:]))
    assert _queries(found, 0, np.array([1]))[0, 2] == 0.0


def test_products_are_features_squares_and_pairs():
    x = default_rng(0).normal(size=(3, 4))
    expected = [
        [*row, *(row[i] * row[j] for i in range(4) for j in range(i, 4))] for row in x
    ]
    np.testing.assert_allclose(_products(x), expected)


def test_sums_are_of_either_class():
    x, gone = default_rng(1).normal(size=(9, 3)), np.arange(9) % 3 == 0
    found = _sums(x, gone)
    assert found.shape == (2, 3, 3)
    for k, mine in enumerate((~gone, gone)):
        assert found[k, 0].tolist() == [mine.sum()] * 3
        np.testing.assert_allclose(found[k, 1], x[mine].sum(axis=0))
        np.testing.assert_allclose(found[k, 2], (x[mine] ** 2).sum(axis=0))


def by_hand(x, gone, asked):
    """Return the log odds of normal features, each with at least 1/1000 of the whole
    variance; features that are flat over all are left out."""
    odds = np.zeros(len(asked))
    if min(gone.sum(), (~gone).sum()) < 2:
        return odds
    for mine, sign in ((gone, 1.0), (~gone, -1.0)):
        odds += sign * math.log(mine.sum())
        for k in range(x.shape[1]):
            whole = x[:, k].var()
            if whole <= 1e-6:
                continue
            variance = max(x[mine, k].var(), 1e-3 * whole, 1e-6)
            off = (asked[:, k] - x[mine, k].mean()) ** 2 / variance
            odds -= sign * 0.5 * (math.log(variance) + off)
    return odds


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), share=st.floats(0.1, 0.9))
def test_odds_are_those_of_normal_features_that_are_never_too_sure(seed, share):
    rng = default_rng(seed)
    x, gone = rng.normal(size=(40, 4)), rng.random(40) < share
    gone[:2] = True, False
    x[gone] += 0.5
    x[gone, 1] = 0.7  # no spread of its own in one class
    x[:, 3] = 1.0  # flat
    asked = rng.normal(size=(5, 4))
    found = _odds(_sums(x, gone), asked)
    np.testing.assert_allclose(found, by_hand(x, gone, asked), rtol=1e-6)


def test_what_all_examples_teach_does_not_depend_on_the_units_of_features():
    rng = default_rng(5)
    x, gone = rng.normal(size=(60, 3)), np.arange(60) % 3 == 0
    x[gone] += 0.8
    asked = rng.normal(size=(5, 3))
    found = classify(x, gone, asked)
    unit, zero = np.array([3.0, 0.2, 50.0]), np.array([1.0, -4.0, 7.0])
    again = classify(unit * x + zero, gone, unit * asked + zero)
    np.testing.assert_allclose(again, found, rtol=1e-6)
    mean, spread = x.mean(axis=0), x.std(axis=0)
    by_examples = by_hand(
        _products((x - mean) / spread), gone, _products((asked - mean) / spread)
    )
    np.testing.assert_allclose(found, by_examples, rtol=1e-4)
    flat = np.ones((60, 1)), np.ones((5, 1))
    both = classify(np.hstack([x, flat[0]]), gone, np.hstack([asked, flat[1]]))
    np.testing.assert_allclose(both, found)  # a feature that never varies tells nothing


def test_two_examples_of_a_class_are_enough_and_one_is_not():
    x, asked = default_rng(0).normal(size=(10, 2)), np.zeros((3, 2))
    assert _odds(_sums(x, np.arange(10) < 1), asked).tolist() == [0.0] * 3
    assert _odds(_sums(x, np.arange(10) < 2), asked).any()
    assert _odds(_sums(x, np.arange(10) < 9), asked).tolist() == [0.0] * 3


def test_each_database_is_judged_by_the_examples_of_the_others():
    known_ = lessons()
    found = Bayes(odds_of(known_), bounded=True)
    ages = np.arange(1, 12)
    asked = [_queries(known_, i, ages) for i in range(7)]
    known = np.concatenate(asked)
    mean, spread = known.mean(axis=0), known.std(axis=0)
    spread[spread == 0] = 1.0
    raw = [_examples(known_, i) for i in range(7)]
    for i in range(7):
        others = [k for k in range(7) if k != i]
        x = np.concatenate([(raw[k][0] - mean) / spread for k in others])
        gone = np.concatenate([raw[k][1] for k in others])
        now = _products((asked[i] - mean) / spread)
        expected = by_hand(_products(x), gone, now)
        np.testing.assert_allclose(found.odds[i, 1:], expected, rtol=1e-4, atol=1e-6)
    assert found.odds.shape == (7, 12)
    assert not found.odds[:, 0].any()


ODDS = np.array(
    [[0.0, -1.0, 2.0], [0.0, 3.0, -0.5], [0.0, -2.0, -3.0], [0.0, 0.0, 1.0]]
)


def test_a_score_is_on_a_line_between_weeks_and_flat_after_the_last():
    rule = Bayes(ODDS, bounded=True)
    for age, odds in (
        ([0.0, 1.0, 2.0, 0.5], [0.0, 3.0, -3.0, 0.0]),
        ([1.5, 1.75, 0.25, 1.25], [0.5, 0.375, -0.5, 0.25]),
        ([7.0, 2.5, -1.0, 2.0], [2.0, -0.5, 0.0, 1.0]),
    ):
        found = rule.score(None, np.array(age))
        assert found == pytest.approx(np.log1p(np.exp(odds)))
    single = Bayes(np.array([[2.0]]), bounded=True)
    assert single.score(None, np.array([3.0])) == pytest.approx(np.log1p(np.exp(2.0)))


def test_without_a_bound_all_that_likely_changed_are_renewed():
    policy = Bayes(ODDS, bounded=False)
    wish = policy(shelf_of([2, 1, 1, 1]), 1.0, default_rng(0))
    assert wish.refresh.tolist() == [0, 1]  # even odds are not likely
    old = policy(shelf_of([9, 9, 9, 9]), 1.0, default_rng(0))  # as the oldest known
    assert old.refresh.tolist() == [0, 3]
    new = Bayes(np.ones((4, 3)), bounded=False)(shelf_of([0, 1, 0, 2]), 1, None)
    assert new.refresh.tolist() == [1, 3]


def test_with_a_bound_the_most_likely_are_renewed_even_if_unlikely():
    policy = Bayes(ODDS, bounded=True)
    assert policy(shelf_of([2, 1, 1, 1]), 3.0, default_rng(0)).refresh.tolist() == [
        1,
        0,
        3,
    ]
    every = policy(shelf_of([1, 2, 2, 0]), 9.0, default_rng(0)).refresh
    assert every.tolist() == [1, 0, 2]  # but not what is new


# Drift that is learned


def seen_of(rows):
    database, gap, kl = (np.array(column, float) for column in zip(*rows, strict=True))
    return Refreshes(database.astype(np.intp), gap, kl)


REFRESHES = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(0, 6),
        st.just(0.0) | st.floats(0.01, 2.0) | st.just(np.inf),
    ),
    min_size=1,
    max_size=10,
)


def likelihood(rows, b):
    """Return the docstring's log-likelihood of b, refresh by refresh, and the pull."""
    total = {}
    for i, _, kl in rows:
        total[i] = total.get(i, 0.0) + kl
    found = -10.0 * (b - 1.0) ** 2
    for i, whole in total.items():
        if whole > 0:
            mine = [(gap, kl) for j, gap, kl in rows if j == i]
            found += sum(kl / whole * math.log(gap**b) for gap, kl in mine)
            found -= math.log(sum(gap**b for gap, _ in mine))
    return found


@settings(max_examples=25, deadline=None)
@given(rows=REFRESHES)
def test_drift_is_learned_as_the_formula_says(rows):
    size = np.array([10.0, 200.0, 0.0, 50.0])
    found = learn(seen_of(rows), size)
    known = [
        (i, float(gap), kl) for i, gap, kl in rows if gap > 0 and math.isfinite(kl)
    ]
    score = [likelihood(known, b) for b in POWERS.tolist()]
    assert likelihood(known, found.power) == pytest.approx(max(score))
    b = found.power
    drift = [sum(kl for j, _, kl in known if j == i) for i in range(4)]
    exposed = [sum(gap**b for j, gap, _ in known if j == i) for i in range(4)]
    light = [1.0 / max(s, 1.0) for s in size]
    if known:
        factor = sum(drift) / sum(e * w for e, w in zip(exposed, light, strict=True))
    else:
        factor = 0.0
    for i in range(4):
        scale = (drift[i] + WEIGHT * factor * light[i]) / (exposed[i] + WEIGHT)
        assert found.scale[i] == pytest.approx(max(scale, 1e-12))


@pytest.mark.parametrize("true", [0.5, 1.3])
def test_the_power_follows_gaps_of_one_database(true):
    gap = np.tile([1.0, 2.0, 8.0], 30)
    database = np.repeat(np.arange(30), 3)
    found = power(database, gap, 0.1 * gap**true, 30)
    assert min(true, 1.0) < found < max(true, 1.0)  # drawn to 1
    many = np.arange(900) // 3
    found = power(many, np.tile(gap, 10), 0.1 * np.tile(gap, 10) ** true, 300)
    assert found == pytest.approx(true, abs=0.06)
    assert power(database, np.ones(90), np.ones(90), 30) == pytest.approx(1.0)


@pytest.mark.parametrize("b", [0.4, 1.0, 1.5])
def test_a_renewal_is_worth_its_integral(b):
    learned = LearnedDrift(np.array([2.0, 0.5]), b)
    for age in (0.0, 1.0, 7.0):
        for scale, found in zip(
            (2.0, 0.5), learned.worth(np.full(2, age)), strict=True
        ):
            drift = age * scale * age**b
            lost = quad(lambda t, s=scale: s * t**b, 0.0, age)[0]
            assert found == pytest.approx(drift - lost, abs=1e-9)


def test_the_index_renews_what_is_worth_most():
    seen = seen_of([(0, 2, 0.1), (1, 2, 0.9), (2, 1, 0.1), (2, 3, 0.4)])
    shelf = shelf_of([5, 2, 4, 9], refreshes=seen, size=np.array([50.0, 90, 10, 400]))
    worth = learn(seen, shelf.size).worth(shelf.age.astype(float))
    found = drift_index(shelf, 2.0, default_rng(0)).refresh
    assert found.tolist() == np.argsort(-worth)[:2].tolist()


# Samples


def test_a_sample_costs_what_it_reads_of_what_a_summary_reads():
    assert DOCUMENTS / READ == PRICE
    # a quarter of the budget goes into samples, rounded
    shelf = shelf_of([3] * 40, income=4.0)
    wish = DatabaseSampling(0.25)(shelf, 9.0, default_rng(0))
    assert wish.sample.size == round(SHARE * 4.0 / 0.25) == 4
    assert wish.refresh.size == 0
    free = DatabaseSampling(0.0)(shelf, 0.0, default_rng(0))
    assert sorted(free.sample.tolist()) == list(range(40))


def test_the_longest_unsampled_come_first_until_the_weeks_samples_are_taken():
    week = np.array([20, 5, -1, 20, 7, 3])
    shelf = shelf_of([3] * 6, income=2.0, samples=Samples(week, np.zeros(6)))
    wish = DatabaseSampling(0.1)(shelf, 9.0, default_rng(0))  # 5 a week, 2 are taken
    assert wish.sample.tolist() == [2, 5, 1]
    few = shelf_of([3] * 6, income=99.0, samples=Samples(week, np.zeros(6)))
    assert DatabaseSampling(0.1)(few, 99.0, default_rng(0)).sample.tolist() == [
        2,
        5,
        1,
        4,
    ]
    # 3 samples at 1/4 must be paid, or there are none
    shelf = shelf_of([3] * 6, income=5.0, samples=Samples(week, np.zeros(6)))
    for budget, many in ((0.75, 3), (0.74, 0)):
        assert DatabaseSampling(0.25)(shelf, budget, default_rng(0)).sample.size == many


def test_when_samples_are_taken_the_most_changed_documents_win():
    samples = Samples(np.array([20, 20, 20, 20, 17]), np.array([0.5, 0.2, 0.9, 0, 1.0]))
    size = np.array([100.0, 300.0, 10.0, 900.0, 100.0])
    shelf = shelf_of([3, 3, 3, 3, 3], samples=samples, size=size, income=1.0)
    policy = DatabaseSampling(1.0)  # a quarter of one: no more samples
    wish = policy(shelf, 9.0, default_rng(0))
    assert wish.sample.size == 0
    # 60, 50 and 9 changed; the fourth none; the last sample is as old as its summary
    assert wish.refresh.tolist() == [1, 0, 2]
    assert policy(shelf, 2.9, default_rng(0)).refresh.tolist() == [1, 0]


# Known beforehand


def test_hindsight_is_the_index_of_the_mean_divergence_by_age():
    divergence = np.array([[0.0, 0.1, 0.4, 0.5], [0.0, 0.3, 0.3, 0.3]])
    policy = Hindsight(divergence)
    expected = [
        [t * row[t] - sum(row[: t + 1]) for t in range(4)] for row in divergence
    ]
    np.testing.assert_allclose(policy.worth, expected)
    assert policy(shelf_of([3, 1]), 1.0, default_rng(0)).refresh.tolist() == [0]
    flat = Hindsight(np.zeros((3, 5)))  # among equals the oldest
    assert flat(shelf_of([1, 4, 2]), 2.0, default_rng(0)).refresh.tolist() == [1, 2]
    assert flat(shelf_of([0, 0, 0]), 2.0, default_rng(0)).refresh.size == 0


def test_what_is_known_beforehand_is_the_mean_over_all_weeks():
    taught = lessons()
    policy = named("hindsight").prepare(taught)(5.0)
    for i in (0, 4):
        mean = [
            np.mean([taught.kl[i, p, p + age] for p in range(12 - age)])
            for age in range(12)
        ]
        expected = [t * mean[t] - sum(mean[: t + 1]) for t in range(12)]
        np.testing.assert_allclose(policy.worth[i], expected, atol=1e-12)


@pytest.mark.parametrize("name", ["bayes", "bayes-free"])
def test_bayes_by_name_keeps_to_the_budget_or_does_not(name):
    rule = named(name)
    policy = rule.prepare(lessons())(3.0)
    assert policy.bounded == rule.bounded == (name == "bayes")
    assert named("sampling").price == PRICE
    assert named("sampling").prepare(None)(1.0).price == PRICE
    assert named("sampling-free").prepare(None)(1.0).price == 0.0
    assert named("sampling-free").price == 0.0


def test_frequencies_renew_the_most_overdue():
    policy = RefreshFrequencies(np.array([0.1, 0.5, 0.2]))
    assert policy(shelf_of([9, 1, 2]), 2.0, default_rng(0)).refresh.tolist() == [0, 1]


@pytest.mark.parametrize(("budget", "many"), [(-1.0, 0), (0.99, 0), (1.0, 1), (2.7, 2)])
def test_no_more_is_wished_for_than_whole_refreshes(budget, many):
    found = best(np.array([1.0, 3.0, 2.0]), budget, default_rng(0)).refresh
    assert found.tolist() == [1, 2, 0][:many]


# Lessons


def test_a_history_begins_and_ends_where_it_is_told():
    taught = lessons(history=4, start=3)
    assert taught.begin == 6
    assert taught.since(1).begin == 4
    assert taught.since(1).fitted is taught.fitted
    last = lessons(history=4, start=7)  # one week is left after week 10 of 0..11
    assert last.begin == 10
    with pytest.raises(UsageError, match="12 weeks were recorded; 13 are needed"):
        lessons(history=4, start=8)
    with pytest.raises(UsageError, match="history must be"):
        lessons(history=1)
    with pytest.raises(UsageError, match="history must be"):
        lessons(start=-1)
    assert lessons(history=2).begin == 1


def test_domains_are_numbered_in_their_order():
    taught = lessons()
    names = [one.stratum for one in taught.found]
    order = sorted(set(names))
    assert taught.stratum.tolist() == [order.index(name) for name in names]
    assert taught.kl.shape == (7, 12, 12)
    assert sorted(set(taught.lives.tau)) == pytest.approx(
        sorted(0.01 * step for step in LADDER)
    )


def test_what_is_known_now_is_that_of_the_week_in_which_the_replay_begins():
    taught = lessons(history=4, start=2)
    now = taught.now(FULL)
    for i, row in enumerate(now):
        size = math.log(taught.found[i].size[5])
        assert row == pytest.approx([size, kappa(taught, i, 5), 0.01])
    logs = taught.now(LOGS)
    np.testing.assert_allclose(logs[:, 0], now[:, 0])
    np.testing.assert_allclose(logs[:, 1:], np.log(now[:, 1:] + 1e-6))


def test_logarithms_are_taken_of_what_has_none_by_name():
    told = lessons().covariates
    plain = _columns(told, ("kl_1", "ln_size"))
    logs = _columns(told, ("ln_kl_1", "ln_size"))
    np.testing.assert_allclose(logs[:, 0], np.log(plain[:, 0] + 1e-6))
    np.testing.assert_allclose(logs[:, 1], plain[:, 1])


def test_a_life_that_ended_ended_in_its_last_week():
    lives = Lifetimes(
        np.zeros(3, int),
        np.zeros(3, int),
        np.ones(3),
        np.array([4.0, 2.0, 7.0]),
        np.array([True, False, True]),
    )
    spells = _spells(lives, np.array([True, True, False]))
    assert spells.entry.tolist() == [0.0, 0.0]
    assert spells.lower.tolist() == [3.0, 2.0]
    assert spells.upper.tolist() == [4.0, np.inf]


def test_a_domain_in_which_nothing_ended_takes_the_mean_of_the_others():
    model = Model(
        domains=("com", "edu", "gov"),
        rate=np.array([1.0, 4.0, 9.0]) * math.exp(0.3),
        shape=np.array([1.0, 2.0, 4.0]),
        names=("ln_size", "tau"),
        coefficient=np.array([-1.0, 2.0]),
    )
    x = np.array([0.5, 0.1])
    fitted = FittedDrift(model, ("gov",))  # exp(-0.5 + 0.2) takes the 0.3 away
    assert rate_of(fitted, "edu", x) == pytest.approx((4.0, 2.0))
    assert rate_of(fitted, "gov", x) == pytest.approx((2.0, 1.5))  # geometric, plain
    assert rate_of(fitted, "org", x) == pytest.approx((2.0, 1.5))
    idle = FittedDrift(model, model.domains)  # nothing ended anywhere: all there is
    assert rate_of(idle, "com", x) == pytest.approx((36.0 ** (1 / 3), 7 / 3))


def test_models_learn_nothing_from_the_database_they_are_for():
    taught = lessons()
    other = replace(
        taught,
        found=(
            replace(
                taught.found[0],
                change=replace(
                    taught.found[0].change, kl=taught.found[0].change.kl * 9
                ),
            ),
            *taught.found[1:],
        ),
        fitted={},
    )
    first, second = taught._fit(SIZE)[0], other._fit(SIZE)[0]
    assert isinstance(first.drift, Model)
    np.testing.assert_allclose(first.drift.coefficient, second.drift.coefficient)
    assert not np.allclose(
        taught._fit(SIZE)[1].drift.coefficient, other._fit(SIZE)[1].drift.coefficient
    )
