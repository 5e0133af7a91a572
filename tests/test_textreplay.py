from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng

import textdb_folder
from halflife.bench.textreplay import CHECK, TextTerms, TextWorld, replay
from halflife.bench.textscores import compare, rows, score, warm_up
from halflife.bench.textviews import score_rules, starts, views
from halflife.core.errors import UsageError
from halflife.policies.texts import RefreshWish
from halflife.policies.texts.lessons import Lessons
from halflife.policies.texts.names import RULES
from halflife.policies.texts.turns import naive
from halflife.recordings.textdb import load
from halflife.summary.drift import drifts
from lab.count_reports import capped, noisy, rounded
from text_worlds import databases, world_of

RATES = (0.0002, 0.0005, 0.001, 0.002, 0.003, 0.0003, 0.0006, 0.0012, 0.004, 0.01)


@pytest.fixture(scope="module")
def found():
    return databases(RATES, seed=1)


@pytest.fixture(scope="module")
def world(found):
    return world_of(found)


@pytest.fixture(scope="module")
def lessons(found):
    return Lessons(found, 10, 0.01)


@pytest.fixture
def folder(tmp_path):
    return textdb_folder.write(tmp_path, textdb_folder.documents(weeks=40))


def test_naive_renews_every_database_every_t_weeks(world, lessons):
    run = replay(world, lessons, naive, TextTerms(5.0), default_rng(0))
    assert run.renewed[:, 1:].sum(axis=0).max() == 2
    gaps = [np.diff(np.flatnonzero(row)) for row in run.renewed[:, 1:]]
    assert {int(g) for some in gaps for g in some} == {5}


@pytest.mark.parametrize("name", [n for n, r in RULES.items() if r.bounded])
@pytest.mark.parametrize("every", [3.0, 8.0])
def test_no_rule_spends_more_than_the_weeks_brought(name, every, world, lessons):
    rule = RULES[name]
    policy = rule.prepare(lessons)(every)
    run = replay(world, lessons, policy, TextTerms(every, rule.price), default_rng(1))
    spent = np.cumsum(run.renewed.sum(axis=0) + rule.price * run.sampled)
    week = np.arange(spent.size)
    assert (spent <= 1.0 + week * len(RATES) / every + 1e-6).all()
    assert run.renewed[:, 0].sum() == 0


@pytest.mark.parametrize("name", RULES)
def test_a_replay_is_the_same_when_repeated(name, world, lessons):
    rule = RULES[name]
    runs = [
        replay(
            world,
            lessons,
            rule.prepare(lessons)(6.0),
            TextTerms(6.0, rule.price, bounded=rule.bounded),
            default_rng(7),
        )
        for _ in range(2)
    ]
    assert (runs[0].made == runs[1].made).all()


def test_nothing_after_a_week_changes_what_was_done_before_it(found):
    """A rule that looked ahead would act otherwise when the future is another."""
    late = 25
    other = []
    for one in databases(RATES, seed=1):
        kl = one.change.kl.copy()
        kl[:, late:] *= 5.0
        other.append(one.__class__(
            one.name, one.stratum, one.made, one.week, one.size, one.words,
            one.change.__class__(*(one.change.of(m) for m in ("ur", "up", "wr", "wp")),
                                 kl, one.change.status),
        ))  # fmt: skip
    for policy in (naive, RULES["champion"].prepare(Lessons(found, 10, 0.01))(5.0)):
        made = [
            replay(
                world_of(some),
                Lessons(tuple(some), 10, 0.01),
                policy,
                TextTerms(5.0),
                default_rng(0),
            ).made
            for some in (found, other)
        ]
        assert (made[0][:, : late - 9] == made[1][:, : late - 9]).all()


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A recording with documents, so that words have counts."""
    folder = tmp_path_factory.mktemp("told")
    view, _ = views(
        load(textdb_folder.write(folder, textdb_folder.documents(weeks=40)))
    )
    return TextWorld.of(view.weekly, view.found)


@pytest.mark.parametrize("every", [2.0, 6.0])
def test_checks_are_paid_from_the_same_budget(told, every):
    rule = RULES["champion"]
    lessons = Lessons(told.found, 10, 0.01)
    policy = rule.prepare(lessons)(every)
    run = replay(told, lessons, policy, TextTerms(every), default_rng(1))
    assert run.checked.sum() > 0
    spent = np.cumsum(run.renewed.sum(axis=0) + CHECK * run.checked)
    week = np.arange(spent.size)
    assert (spent <= 1.0 + week * len(told.found) / every + 1e-6).all()
    again = replay(told, lessons, policy, TextTerms(every), default_rng(1))
    assert (run.made == again.made).all()
    plain = replay(
        replace(told, counts=None), lessons, policy, TextTerms(every), default_rng(1)
    )
    assert plain.checked.sum() == 0
    assert plain.renewed.sum() >= run.renewed.sum()


def test_a_check_asks_for_words_of_the_summary_by_their_share(told):
    """Without a change it is 0; over many draws it nears the true divergence."""
    counts, rng = told.counts, default_rng(0)
    assert counts.check(0, 5, 5, rng) == 0.0
    made, week = 5, 30
    found = [counts.check(0, made, week, rng) for _ in range(3000)]
    assert np.mean(found) == pytest.approx(told.found[0].change.kl[made, week], rel=0.2)


def test_counts_that_are_rounded_noisy_capped_or_absent(told):
    rng, count = default_rng(0), np.array([7.0, 1234.0, 99.0, 0.0])
    assert rounded(2)(count, rng).tolist() == [7.0, 1200.0, 99.0, 0.0]
    assert np.isnan(capped(99.0)(count, rng)).tolist() == [False, True, True, False]
    loud = replace(told.counts, reported=noisy(0.05), _noise={})
    plain = [counted for _ in range(400) if (counted := loud.check(0, 5, 5, rng)) >= 0]
    assert np.mean(plain) < 0.05**2  # what chance makes is taken off
    blind = replace(told.counts, reported=capped(0.0), _noise={})
    assert np.isnan(blind.check(0, 5, 20, rng))
    lessons = Lessons(told.found, 10, 0.01)
    policy = RULES["champion"].prepare(lessons)(4.0)
    run = replay(
        replace(told, counts=blind), lessons, policy, TextTerms(4.0), default_rng(1)
    )
    # One check of a summary shows that it tells nothing; it is not asked again.
    assert 0 < run.checked.sum() <= run.renewed.sum() + len(told.found)


def test_a_rule_that_checks_what_cannot_be_checked_is_stopped(world, lessons):
    def blind(shelf, budget, rng):
        return RefreshWish(check=np.array([0]))

    free = TextTerms(5.0, bounded=False)
    with pytest.raises(UsageError, match="cannot be checked now"):
        replay(world, lessons, blind, free, default_rng(0))


def test_scores_are_what_the_tables_say(world, lessons):
    terms = TextTerms(5.0)
    run = replay(world, lessons, naive, terms, default_rng(0))
    lives = lessons.survival()
    told = score(lessons, lives, run, terms)
    skip = 1 + warm_up(5.0, run.made.shape[1] - 1)
    kl, precise, updates = np.zeros(10), np.zeros(10), np.zeros(10)
    for i in range(10):
        seen = []
        for k in range(skip, run.made.shape[1]):
            week = 9 + k
            seen.append(lessons.kl[i, run.made[i, k], week])
            if run.made[i, k] == week:
                updates[i] += 1
                precise[i] += lessons.kl[i, run.before[i, k], week] > 0.01
        kl[i] = np.mean(seen)
    assert told.metric["kl"] == pytest.approx(kl)
    assert told.updates.tolist() == updates.tolist()
    assert told.precise.tolist() == precise.tolist()
    assert told.spent.sum() == updates.sum()


def test_rows_have_intervals_and_naive_does_not_beat_itself(world):
    found = compare(world, 0.01, ["naive", "champion"], [4.0, 8.0], starts=(0, 4))
    told = rows(found, default_rng(0))
    assert [(r["policy"], r["every"]) for r in told] == [
        ("naive", 4.0), ("naive", 8.0), ("champion", 4.0), ("champion", 8.0),
    ]  # fmt: skip
    for row in told:
        for name in ("ur", "wr", "up", "wp", "kl", "update_precision"):
            assert row[name]["low"] <= row[name]["mean"] <= row[name]["high"]
    assert told[0]["kl_cut"] == {"mean": 0.0, "low": 0.0, "high": 0.0}
    assert told[3]["kl_cut"]["mean"] > 0.1
    assert told[3]["kl_cuts"]["naive"] == told[3]["kl_cut"]
    assert told[1]["kl_cuts"]["champion"]["mean"] < 0


def test_a_rule_that_overspends_is_stopped(world, lessons):
    def greedy(shelf, budget, rng):
        return RefreshWish(np.flatnonzero(shelf.age > 0))

    with pytest.raises(UsageError, match="overspent by"):
        replay(world, lessons, greedy, TextTerms(5.0), default_rng(0))
    free = replay(world, lessons, greedy, TextTerms(5.0, bounded=False), default_rng(0))
    assert free.renewed[:, 1:].all()


def test_documents_that_are_gone_are_counted_as_one_by_one(folder):
    weekly = load(folder)
    for view in (weekly, weekly.recent()):
        world = TextWorld.of(view, drifts(view))
        assert world.found
        for i, one in enumerate(world.found[:2]):
            for a, b in ((0, 3), (2, 2), (5, 20), (0, view.weeks - view.since - 1)):
                rows_ = view.present(one.name, view.since + a)
                left = view.week_to[rows_] >= view.since + b
                assert world.gone[i, a, b] == (~left).sum()
                assert world.size[i, a] == rows_.size


def test_both_views_are_judged(folder):
    found = views(load(folder))
    assert [v.name for v in found] == ["all documents", "recent items"]
    told = score_rules(found[0], ["survival", "sampling"], [6.0])
    assert [r["policy"] for r in told] == ["survival", "sampling"]
    assert told[0]["databases"] == 3
    assert "kl_cut" in told[0]


def test_a_recording_that_is_too_short_is_refused(tmp_path):
    rows_ = textdb_folder.documents(weeks=15)
    weekly = load(textdb_folder.write(tmp_path, rows_))
    with pytest.raises(UsageError, match="15 weeks were recorded; a replay needs 20"):
        views(weekly)


def test_databases_that_cannot_be_compared_are_left_out(found):
    broken = found[0].change.kl.copy()
    broken[3, 7] = np.nan
    change = found[0].change
    bad = found[0].__class__(
        found[0].name, "com", found[0].made, found[0].week, found[0].size,
        found[0].words,
        change.__class__(change.ur, change.up, change.wr, change.wp, broken,
                         change.status),
    )  # fmt: skip
    with pytest.raises(UsageError, match="1 of 2 databases"):
        TextWorld.of(None, [bad, found[1]])


def test_replays_begin_where_half_of_the_weeks_are_left():
    assert starts(60) == (0, 2, 4, 6, 8, 10, 12, 14)
    assert starts(47) == (0, 2, 4, 6, 8, 10, 12)
    assert starts(20) == (0,)
