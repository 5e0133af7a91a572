import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.bench.setpolicies import schedules as schedules_of
from halflife.core.errors import UsageError
from halflife.policies.listings.pace import TurnoverPace, expected, lower, pace, worth
from halflife.policies.listings.schedules import (
    FixedInterval,
    PacedThreshold,
    Priced,
    Threshold,
)
from halflife.replay.listings import SetReplay, recall_difference, rho_ratio, thin
from lab.set_policies import grouped_schedules, groups as groups_of
from set_lives import grown, seen

INF = np.inf


@pytest.fixture
def source():
    """Objects that leave at 5 % a day, five new ones a day, sixty daily looks."""
    return grown(np.random.default_rng(3), [0.05], arrivals=5.0, start=100)


def away(source):
    """Return the same source with objects that leave and come back."""
    lives = source.lives.take(np.argsort(source.lives.first_seen, kind="stable"))
    keys, left = [], []
    for key, first, last in zip(
        lives.keys, lives.first_seen, lives.last_seen, strict=True
    ):
        back = [name for until, name in left if until + 1 < first]
        keys.append(back[0] if back else key)
        left = [x for x in left if x[1] != keys[-1]] + [(last, keys[-1])]
    assert len(set(keys)) < len(keys)
    return replace(source, lives=replace(lives, keys=tuple(keys)))


schedules = st.sets(st.integers(0, 60), min_size=1).map(sorted)


@given(seed=st.integers(0, 500), chosen=schedules)
def test_a_thinned_history_shows_what_was_looked_at_and_nothing_else(seed, chosen):
    whole = away(grown(np.random.default_rng(seed), [0.2], arrivals=3.0, start=30))
    looks = whole.looks[chosen]
    thinned = thin(whole, looks)
    lives = thinned.lives
    moments = [lives.first_seen, lives.last_seen, lives.absent_before, lives.gone_by]
    assert np.isin(np.concatenate(moments), [*looks, -INF, INF]).all()
    for look in looks:
        names = {whole.lives.keys[i] for i in np.flatnonzero(whole.lives.present(look))}
        rows = np.flatnonzero(lives.present(look)).tolist()
        assert sorted(lives.keys[i] for i in rows) == sorted(names)
    # a spell is bounded by the looks next to it
    index = np.searchsorted(looks, lives.last_seen)
    padded = np.append(looks, INF)
    assert np.array_equal(lives.gone_by, padded[index + 1])


@given(seed=st.integers(0, 500), chosen=schedules)
def test_what_happens_between_looks_makes_no_difference(seed, chosen):
    rng = np.random.default_rng(seed)
    born, died = np.sort(rng.uniform(-5, 65, (2, 80)), axis=0)
    looks = np.arange(61.0)
    fine = seen("s", looks, born, died, {})
    coarse = seen("s", looks[chosen], born, died, {})
    thinned = thin(fine, looks[chosen])
    assert sorted(thinned.lives.keys) == sorted(coarse.lives.keys)
    order = [thinned.lives.keys.index(k) for k in coarse.lives.keys]
    for column in ("absent_before", "first_seen", "last_seen", "gone_by"):
        ours = getattr(thinned.lives, column)[order]
        assert np.array_equal(ours, getattr(coarse.lives, column))


def test_looking_every_time_thins_nothing(source):
    again = thin(source, source.looks)
    order = [again.lives.keys.index(k) for k in source.lives.keys]
    assert np.array_equal(again.lives.gone_by[order], source.lives.gone_by)
    assert np.array_equal(again.lives.absent_before[order], source.lives.absent_before)


def test_updates_show_at_the_next_look_several_as_one(source):
    row = int(np.flatnonzero(source.lives.last_seen - source.lives.first_seen > 30)[0])
    begin = source.lives.first_seen[row]
    at = begin + np.array([1.0, 2.0, 3.0, 8.0])
    changed = np.full(4, row)
    chosen = begin + np.array([0.0, 4.0, 9.0, 10.0])
    thinned = thin(replace(source, changed=changed, changed_at=at), chosen)
    assert thinned.changed_at.tolist() == [begin + 4, begin + 9]
    assert {thinned.lives.keys[i] for i in thinned.changed} == {source.lives.keys[row]}


class Spy:
    """A schedule that remembers all it was shown."""

    def __init__(self, days):
        self.days, self.shown = days, []

    def __call__(self, known):
        self.shown.append(known)
        return known.looks[-1] + self.days


def test_a_schedule_sees_its_own_looks_and_none_of_the_future(source):
    spy = Spy(7.0)
    SetReplay(source, 20.0).score(spy)
    for number, known in enumerate(spy.shown):
        now = 20.0 + 7.0 * number
        assert known.looks.tolist() == [*range(21), *np.arange(27.0, now + 1, 7.0)]
        finite = known.lives.gone_by[np.isfinite(known.lives.gone_by)]
        assert max(finite.max(), known.lives.last_seen.max()) <= now


def test_a_schedule_decides_the_same_whatever_comes_later(source):
    later = source.looks > 40
    until = replace(source.until(40.0), looks=source.looks[~later])
    for schedule in (Threshold(), PacedThreshold(), Priced(0.2)):
        whole = SetReplay(source, 20.0).syncs(0, schedule)
        cut = SetReplay(until, 20.0).syncs(0, schedule)
        assert whole[whole < 20].tolist() == cut.tolist()


def test_syncing_at_every_look_is_all_right_at_those_moments(source):
    replay = SetReplay(source, 20.0)
    score = replay.score(FixedInterval(0.0))
    assert score.syncs == 39
    for now in range(20, 60):
        recall = source.quality(now, now + 1.0)[1]
        assert score.recalls[now - 20] == pytest.approx((1.0 + recall) / 2)


@given(seed=st.integers(0, 200), many=st.sets(st.integers(1, 39)), few=st.randoms())
def test_fewer_of_the_same_syncs_never_raise_recall(seed, many, few):
    whole = grown(np.random.default_rng(seed), [0.1], arrivals=5.0)
    replay = SetReplay(whole, 20.0)
    some = [s for s in sorted(many) if few.random() < 0.5]
    often = replay.score_of([np.array([0, *sorted(many)])])
    seldom = replay.score_of([np.array([0, *some])])
    assert np.all(often.recalls >= seldom.recalls - 1e-12)
    assert often.below <= seldom.below + 1e-12


def test_quality_agrees_with_the_definition_when_objects_come_back():
    whole = away(grown(np.random.default_rng(9), [0.2], arrivals=5.0, start=50))
    score = SetReplay(whole, 20.0).score_of([np.array([0, 13, 14, 30])])
    synced = {0: 20.0, 13: 33.0, 14: 34.0, 30: 50.0}
    last = 20.0
    for gap in range(40):
        last = synced.get(gap, last)
        pairs = [whole.quality(last, 20.0 + gap + step) for step in (0, 1)]
        assert score.precisions[gap] == pytest.approx(np.mean([p for p, _ in pairs]))
        assert score.recalls[gap] == pytest.approx(np.mean([r for _, r in pairs]))


def test_groups_synced_together_are_the_whole(source):
    group = np.arange(len(source.lives)) % 3
    one = SetReplay(source, 20.0).score(FixedInterval(5.0))
    three = SetReplay(source, 20.0, group=group).score([FixedInterval(5.0)] * 3)
    assert three.recall == pytest.approx(one.recall)
    assert three.precision == pytest.approx(one.precision)
    assert three.syncs == pytest.approx(one.syncs)


def test_groups_of_unlike_pace_do_better_with_schedules_of_their_own():
    whole = grown(np.random.default_rng(4), [0.01, 0.4], arrivals=60, start=400)
    group = (whole.lives.attributes["kind"] == "k1").astype(np.intp)
    together = SetReplay(whole, 30.0).score(Priced(0.15))
    apart = SetReplay(whole, 30.0, group=group).score([Priced(0.15), Priced(0.15)])
    assert apart.rho > together.rho


def test_the_longest_fixed_interval_keeps_the_target(source):
    replay = SetReplay(source, 20.0, target=0.8)
    best, score = replay.longest_fixed()
    assert score.below <= 0.05
    assert score.syncs == replay.score(best).syncs
    longer = replay.score(FixedInterval(best.days + 1))
    assert longer.below > 0.05 or longer.syncs == score.syncs
    stricter, score = replay.longest_fixed(at_ends=True)
    assert stricter.days <= best.days
    assert score.missed <= 0.05


@pytest.mark.parametrize("schedule", [Threshold(0.8), PacedThreshold(0.8)])
def test_a_threshold_keeps_its_level_at_fewer_syncs(source, schedule):
    replay = SetReplay(source, 20.0, target=0.8)
    score = replay.score(schedule)
    assert score.syncs < replay.score(FixedInterval(0.0)).syncs / 1.5
    assert score.below < 0.05


def test_the_bound_of_the_paced_forecast_holds_as_often_as_it_says():
    ahead, held = np.array([4.0]), []
    for seed in range(150):
        whole = grown(np.random.default_rng(seed), [0.05], arrivals=8.0, start=160)
        low = lower(pace(whole.until(40.0)), ahead, "recall", 0.9)
        held.append(whole.quality(40.0, 44.0)[1] >= low[0])
    assert 0.82 < np.mean(held) < 0.97


def test_the_pace_is_learned_through_any_gaps():
    whole = grown(np.random.default_rng(1), [0.1], arrivals=300.0, start=3000)
    for gap in (1, 3, 7):
        paced = pace(thin(whole, whole.looks[::gap]))
        assert paced.gone == pytest.approx(0.1, rel=0.05)
        assert paced.come == pytest.approx(300, rel=0.05)


def test_expected_recall_of_a_steady_source_is_the_same_as_precision():
    whole = grown(np.random.default_rng(1), [0.1], arrivals=300.0, start=3000)
    paced = pace(whole)._replace(size=3000.0, gone=0.1, come=300.0)
    ahead = np.array([0.5, 5.0, 50.0])
    assert expected(paced, ahead, "recall") == pytest.approx(np.exp(-0.1 * ahead))
    assert expected(paced, ahead, "precision") == pytest.approx(np.exp(-0.1 * ahead))


def test_expected_recall_of_few_objects_is_the_mean_over_what_may_be_there():
    rng = np.random.default_rng(7)
    paced = TurnoverPace(0.7, 0.1, 0.4, 9.0, 9.0, 1.0, 1.0)
    kept = rng.poisson(0.7 * np.exp(-0.1 * 3.0), 200_000)
    new = rng.poisson(0.4 * -np.expm1(-0.1 * 3.0) / 0.1, 200_000)
    recall = np.where(kept + new > 0, kept / np.maximum(kept + new, 1), 1.0)
    guess = expected(paced, np.array([3.0]), "recall")
    assert guess[0] == pytest.approx(recall.mean(), abs=0.005)


@pytest.mark.parametrize("schedule", [PacedThreshold(), Priced(0.1)])
def test_an_empty_source_is_looked_at_again_before_long(schedule):
    empty = grown(np.random.default_rng(0), [1.0], days=30, arrivals=0.0, start=0)
    assert schedule(empty) < 30.0 + 30.0


def test_what_a_sync_buys_is_the_formula_of_the_index():
    paced = pace(grown(np.random.default_rng(1), [0.1]))._replace(gone=0.1)
    ahead = np.linspace(0.01, 20.0, 2000)
    # D = 1 - exp(-a t): U = (1 - exp(-a t)(1 + a t)) / a
    x = 0.1 * ahead
    exact = (1 - np.exp(-x) * (1 + x)) / 0.1
    assert worth(paced, ahead, "precision") == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("schedule", [Threshold(), PacedThreshold(), Priced(0.1)])
def test_schedules_have_an_answer_for_a_source_with_nothing_to_learn(start, schedule):
    whole = grown(np.random.default_rng(0), [1e-9], days=3, arrivals=0.0, start=start)
    assert whole.looks[-1] < schedule(whole) < INF
    assert np.isfinite(schedule(whole.until(0.0)))
    assert np.isfinite(SetReplay(whole, 1.0).score(schedule).rho)


def test_a_single_look_cannot_be_replayed(source):
    with pytest.raises(UsageError, match="at least two observations"):
        SetReplay(source.until(0.0), 0.0)


@pytest.mark.parametrize("days", [10, 25])
@pytest.mark.parametrize("rate", [1e-9, 3.0])
def test_every_figure_of_the_bench_is_finite_on_poor_histories(days, rate):
    rng = np.random.default_rng(0)
    poor = grown(rng, [rate], days=days, arrivals=0.3, start=3)
    rows = [*schedules_of(poor), *groups_of(poor), *grouped_schedules(poor)]
    assert len(rows) > 30
    assert "NaN" not in json.dumps(rows)
    assert "Infinity" not in json.dumps(rows)


def test_paired_figures_of_a_schedule_and_itself_are_nothing(source):
    score = SetReplay(source, 20.0).score(FixedInterval(4.0))
    assert recall_difference(score, score) == (0.0, 0.0, 0.0)
    assert rho_ratio(score, score) == (0.0, 0.0, 0.0)


def test_paired_figures_say_which_is_better_and_by_how_much(source):
    replay = SetReplay(source, 20.0)
    often, seldom = replay.score(FixedInterval(2.0)), replay.score(FixedInterval(8.0))
    gain = recall_difference(often, seldom)
    assert gain.mean == pytest.approx(often.recall - seldom.recall)
    assert 0 < gain.low < gain.mean < gain.high
    ratio = rho_ratio(seldom, often)
    assert ratio.mean == pytest.approx(seldom.rho / often.rho - 1)
    assert ratio.low > 0
