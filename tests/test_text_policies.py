import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.random import default_rng
from scipy import stats

from halflife.bench.textreplay import TextTerms, replay
from halflife.core.errors import UsageError
from halflife.models.drift import WeibullSurvival
from halflife.policies.texts import Refreshes, Samples, SummaryShelf, best
from halflife.policies.texts.bayes import Bayes, _odds, _products, _sums, odds_of
from halflife.policies.texts.drift_index import LearnedDrift, drift_index, learn, power
from halflife.policies.texts.lessons import FULL, KAPPA, Lessons
from halflife.policies.texts.names import RULES, named
from halflife.policies.texts.samples import PRICE, DatabaseSampling
from halflife.policies.texts.survival import by_lives
from halflife.policies.texts.turns import RefreshFrequencies, naive
from text_worlds import databases, world_of

NO = Refreshes(np.zeros(0, np.intp), np.zeros(0), np.zeros(0))


def shelf_of(age, *, seen=NO, stratum=None, size=None, samples=None, week=20):
    n = len(age)
    return SummaryShelf(
        week,
        np.array(age, np.intp),
        np.zeros(n, np.intp) if stratum is None else np.array(stratum, np.intp),
        np.full(n, 100.0) if size is None else np.array(size, float),
        seen,
        samples or Samples(np.full(n, -1), np.zeros(n)),
        2.0,
    )


def seen_of(*rows):
    database, gap, kl = zip(*rows, strict=True)
    return Refreshes(np.array(database), np.array(gap, float), np.array(kl, float))


@given(
    gain=st.lists(st.floats(0, 10), min_size=1, max_size=20),
    budget=st.floats(0, 25),
    seed=st.integers(0, 5),
)
def test_the_best_are_taken_within_the_budget(gain, budget, seed):
    values = np.array(gain)
    some = best(values, budget, default_rng(seed)).refresh
    assert some.size == min(int(budget), int((values > 0).sum()))
    assert np.unique(some).size == some.size
    rest = np.delete(values, some)
    if some.size and rest.size:
        assert values[some].min() >= rest.max(initial=0.0) or some.size == int(budget)


def test_naive_takes_the_oldest():
    wish = naive(shelf_of([3, 9, 0, 7]), 2.4, default_rng(0))
    assert wish.refresh.tolist() == [1, 3]


def test_frequencies_come_round_at_their_own_pace():
    found = databases([0.001] * 6)
    lessons = Lessons(found, 10, 0.01)
    frequency = np.array([0.4, 0.2, 0.2, 0.1, 0.1, 0.0])
    run = replay(
        world_of(found),
        lessons,
        RefreshFrequencies(frequency),
        TextTerms(6.0),
        default_rng(0),
    )
    updates = run.renewed.sum(axis=1)
    assert updates[5] == 0
    assert updates[:5] == pytest.approx(30 * frequency[:5], abs=2)


def test_equation_4_gives_up_on_what_changes_too_fast():
    lives = WeibullSurvival(np.array([0.02, 0.03, 9.0]), np.ones(3))
    assert by_lives(lives, 20.0).frequency[2] == 0
    assert by_lives(lives, 20.0).frequency.sum() == pytest.approx(3 / 20)


def test_a_database_is_judged_by_the_others_alone():
    """What a database does after the start must not change its own frequency."""
    rates = (0.0004, 0.0007, 0.001, 0.002, 0.003, 0.0005, 0.0009, 0.0013, 0.002, 0.004)
    found = list(databases(rates, seed=2))
    before = Lessons(tuple(found), 10, 0.01).survival()
    one = found[0]
    kl = one.change.kl.copy()
    kl[:, 10:] *= 9.0
    change = one.change.__class__(
        one.change.ur, one.change.up, one.change.wr, one.change.wp, kl,
        one.change.status,
    )  # fmt: skip
    found[0] = one.__class__(
        one.name, one.stratum, one.made, one.week, one.size, one.words, change
    )
    after = Lessons(tuple(found), 10, 0.01).survival()
    assert after.rate[0] == before.rate[0]
    assert after.rate[5] != before.rate[5]
    odds = odds_of(Lessons(tuple(found), 10, 0.01))[0]
    old = odds_of(Lessons((one, *found[1:]), 10, 0.01))[0]
    assert odds == pytest.approx(old, rel=1e-6)


def test_survival_finds_who_drifts_faster():
    rates = np.tile([0.0005, 0.001, 0.002, 0.004], 10)
    lessons = Lessons(databases(rates, seed=3), 10, 0.02)
    lives = lessons.survival(KAPPA)
    chance = lives.alive(np.full(rates.size, 8.0))
    assert np.corrcoef(np.log(rates), chance)[0, 1] < -0.8
    assert by_lives(lessons.survival(FULL), 10.0).frequency.sum() == pytest.approx(4.0)


def test_models_are_fitted_once_for_all_starts():
    lessons = Lessons(databases([0.001, 0.002] * 5, seed=4), 10, 0.01)
    lessons.survival()
    later = lessons.since(4)
    assert later.begin == 13
    assert later.fitted is lessons.fitted
    assert later.survival().rate.shape == (10,)


def test_bayes_learns_that_old_summaries_have_changed():
    rates = np.tile([0.0006, 0.001, 0.0015, 0.002], 5)
    policy = Bayes(odds_of(Lessons(databases(rates, seed=5), 10, 0.015)), bounded=True)
    assert (policy.odds[:, 2] < 0).all()
    assert (policy.odds[:, 25] > 0).all()
    free = Bayes(policy.odds, bounded=False)
    wish = free(shelf_of([2, 25] * 10), 0.0, default_rng(0))
    assert wish.refresh.tolist() == list(range(1, 20, 2))
    few = policy(shelf_of([2, 25] * 10), 3.0, default_rng(0))
    assert few.refresh.size == 3


def test_bayes_without_examples_of_change_does_not_know():
    policy = Bayes(odds_of(Lessons(databases([0.001] * 5), 10, 99.0)), bounded=True)
    assert (policy.odds == 0).all()


def test_samples_come_first_and_the_most_changed_documents_win():
    rule = DatabaseSampling(0.0)
    first = rule(shelf_of([5, 5, 5]), 2.0, default_rng(0))
    assert sorted(first.sample.tolist()) == [0, 1, 2]
    assert first.refresh.size == 0
    samples = Samples(np.full(3, 20), np.array([0.5, 0.2, 0.0]))
    seen = shelf_of([5, 5, 5], size=[100, 400, 900], samples=samples)
    assert rule(seen, 2.0, default_rng(0)).refresh.tolist() == [1, 0]


def test_samples_cost_a_fifteenth_of_a_refresh_and_a_quarter_of_the_budget():
    assert pytest.approx(1 / 15) == PRICE
    wish = DatabaseSampling()(shelf_of([5] * 30), 2.0, default_rng(0))
    assert wish.sample.size == round(0.25 * 2.0 * 15)


def test_a_sample_of_a_summary_that_was_thrown_away_counts_for_nothing():
    samples = Samples(np.array([20, 20]), np.array([0.9, 0.1]))
    wish = DatabaseSampling(0.0)(shelf_of([0, 5], samples=samples), 2.0, default_rng(0))
    assert wish.refresh.tolist() == [1]


def test_worth_is_t_times_d_less_its_integral():
    for b in (0.5, 1.0, 1.3):
        t = np.linspace(0, 7.0, 20001)
        drift = 0.02 * t**b
        slow = t[-1] * drift[-1] - np.trapezoid(drift, t)
        fast = LearnedDrift(np.array([0.02]), b).worth(np.array([7.0]))
        assert fast[0] == pytest.approx(slow, rel=1e-4)


def test_drift_is_drawn_to_that_of_databases_of_its_size():
    seen = seen_of((0, 1, 0.02), (0, 3, 0.06), (1, 1, 0.0), (1, 3, 0.0))
    found = learn(seen, np.array([100.0, 300.0]))
    assert found.power == 1.0
    usual = np.array([0.015, 0.005])  # 3 to 1, and 4 weeks of each make 0.08
    assert found.scale == pytest.approx((np.array([0.08, 0.0]) + 8 * usual) / 12)


def test_before_anything_was_seen_the_small_are_thought_to_drift_fastest():
    found = learn(NO, np.array([50.0, 500.0]))
    assert (found.scale > 0).all()
    shown = learn(seen_of((2, 1, 0.01)), np.array([50.0, 500.0, 100.0])).scale
    assert shown[0] > shown[2] > shown[1]


def test_a_refresh_that_shows_nothing_teaches_nothing():
    seen = seen_of((0, 1, 0.02), (1, 2, 0.01))
    more = seen.and_then(np.array([0]), np.array([4.0]), np.array([np.nan]))
    size = np.full(2, 100.0)
    assert learn(seen, size).scale.tolist() == learn(more, size).scale.tolist()


@pytest.mark.parametrize("true", [0.5, 1.0, 1.4])
def test_the_power_of_drift_is_found_from_gaps_that_differ(true):
    rng = default_rng(0)
    n = 1000
    database = np.repeat(np.arange(n), 12)
    gap = rng.integers(1, 20, database.size).astype(float)
    scale = rng.lognormal(-6, 1.5, n)[database]
    kl = scale * gap**true * rng.gamma(3.0, 1 / 3, gap.size)
    assert power(database, gap, kl, n) == pytest.approx(true, abs=0.11)
    assert power(database, np.ones(gap.size), kl, n) == 1.0


def test_the_index_nears_the_square_root_law_on_steady_drift():
    rates = np.tile([0.0002, 0.0008, 0.0032, 0.0128], 10)
    found = databases(rates, weeks=120, seed=6)
    run = replay(
        world_of(found),
        Lessons(found, 10, 0.01),
        drift_index,
        TextTerms(10.0),
        default_rng(0),
    )
    updates = run.renewed.sum(axis=1).reshape(10, 4).mean(axis=0)
    assert updates[3] / updates[1] == pytest.approx(4.0, rel=0.3)
    assert updates[2] / updates[1] == pytest.approx(2.0, rel=0.3)


def test_all_rules_say_what_they_do_and_unknown_ones_are_named():
    assert all(rule.about for rule in RULES.values())
    with pytest.raises(UsageError, match="'best'; one of naive, survival"):
        named("best")


@pytest.mark.parametrize(("history", "start"), [(1, 0), (10, 40), (41, 0)])
def test_a_history_that_was_not_recorded_is_refused(history, start):
    with pytest.raises(UsageError, match="weeks"):
        Lessons(databases([0.001] * 3), history, 0.01, start)
    with pytest.raises(UsageError, match="no database"):
        Lessons((), 10, 0.01)


def test_odds_are_those_of_normal_features_in_either_class():
    rng = np.random.default_rng(0)
    x, gone = rng.normal(size=(60, 4)), rng.random(60) < 0.3
    x[gone] += 0.7
    x[:, 3] = 2.0  # tells nothing
    asked = rng.normal(size=(5, 4))
    found = _odds(_sums(x, gone), asked)
    by_hand = np.zeros(5)
    for mine, sign in ((gone, 1.0), (~gone, -1.0)):
        by_hand += sign * np.log(mine.sum())
        for k in range(3):
            law = stats.norm(x[mine, k].mean(), x[mine, k].std())
            by_hand += sign * law.logpdf(asked[:, k])
    np.testing.assert_allclose(found, by_hand)
    assert _odds(_sums(x, np.arange(60) == 0), asked).tolist() == [0.0] * 5
    both = _products(np.array([[2.0, 3.0]]))
    assert both.tolist() == [[2.0, 3.0, 4.0, 6.0, 9.0]]
