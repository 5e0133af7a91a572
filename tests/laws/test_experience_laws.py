"""Laws of what a live store teaches: first intervals, examples, how many it takes."""

import math
from dataclasses import replace

import numpy as np
import pytest

from halflife.models.drift import features, paper
from halflife.models.drift_tables import ALL, DIVERGENCE, SIZE
from halflife.policies.texts import Refreshes, bayes
from halflife.policies.texts.experience import EVENTS, FEWEST, WEEKS, Experience
from halflife.policies.texts.lessons import FULL, KAPPA, SIZE as BY_SIZE
from halflife.policies.texts.live import (
    FIRST,
    SHARE,
    SHORTEST,
    WEEK,
    Databases,
    DueSummaries,
    SummaryChecks,
    sampled,
    scheduled,
)

NOW = 20_000.0
DOMAINS = ("com", "edu", "org")


def seen_of(*rows):
    """Return refreshes (database, gap in weeks, divergence), in order of time."""
    database, gap, kl = np.array(rows, float).reshape(-1, 3).T
    return Refreshes(database.astype(np.intp), gap, kl)


def known_of(n, *rows, **more):
    checks = SummaryChecks(
        np.full(n, -np.inf), np.zeros(n), np.full(n, np.nan),
        np.zeros(n, np.intp), np.zeros(n, np.intp),
    )  # fmt: skip
    given = Databases(
        now=NOW, domain=tuple(np.resize(DOMAINS, n)), method=("QBS",) * n,
        size=100.0 * np.arange(1.0, n + 1.0), tau=np.full(n, 0.5),
        made=np.full(n, NOW - 28.0), looked=np.full(n, NOW - 28.0),
        doubted=np.zeros(n, bool), cost=np.full(n, 90.0), check=np.full(n, 40.0),
        weight=np.ones(n), income=10.0, refreshes=seen_of(*rows), checks=checks,
    )  # fmt: skip
    return replace(given, **more)


def test_kappa_is_a_weeks_worth_of_the_first_interval():
    """Of two weeks half, of half a week all of it; later intervals do not count."""
    rows = (1, 2.0, 0.4), (0, 0.5, 0.1), (1, 1.0, 9.0), (0, 3.0, 9.0)
    taught = Experience(known_of(3, *rows))
    assert taught.first.tolist() == [True, True, False, False]
    assert taught.kappa[:2].tolist() == [0.1, 0.2]
    assert math.isnan(taught.kappa[2])


def test_examples_are_later_intervals_and_summaries_that_were_found_to_hold():
    rows = (
        (0, 1.0, 0.9), (1, 1.0, 0.9),  # first ones
        (0, 2.0, 0.51), (0, 3.0, 0.5), (1, 0.0, 0.9), (1, 4.0, np.nan),
    )  # fmt: skip
    known = known_of(4, *rows)
    at = np.array([NOW - 28.0, NOW - 14.0, NOW - 7.0, -np.inf])
    known = replace(
        known,
        checks=replace(known.checks, at=at),
        doubted=np.array([False, False, True, False]),
    )
    owner, gap, over = Experience(known)._examples()
    assert owner.tolist() == [0, 0, 1]
    assert gap.tolist() == [2.0, 3.0, 14.0 / WEEK]
    assert over.tolist() == [True, False, False]


def test_features_of_naive_bayes_have_the_mean_where_kappa_is_not_known():
    known = known_of(3, (0, 1.0, 0.2), (1, 1.0, 0.4), size=np.array([0.5, 100.0, 9.0]))
    found = Experience(known)._features(np.array([0, 1, 2]), np.array([1.0, 2.0, 4.0]))
    assert found[:, 0].tolist() == [1.0, 2.0, 4.0]
    assert found[:, 1] == pytest.approx(np.log([1.0, 2.0, 4.0]))
    assert found[:, 2] == pytest.approx(np.log([1.0, 100.0, 9.0]))
    assert found[:, 3] == pytest.approx([0.2, 0.4, 0.3])
    assert found[:, 4:].tolist() == np.eye(3).tolist()
    nothing = Experience(known_of(2))._features(np.array([0, 1]), np.ones(2))
    assert nothing[:, 3].tolist() == [0.0, 0.0]


def intervals(gone, held, databases=1):
    """Return so many later intervals out of date and not, after first ones."""
    first = [(i, 1.0, 0.1 + 0.01 * i) for i in range(databases)]
    over = [(i % databases, 2.0 + i % 5, 0.9) for i in range(gone)]
    under = [(i % databases, 1.0 + i % 7, 0.2) for i in range(held)]
    return *first, *over, *under


@pytest.mark.parametrize(("gone", "held"), [(EVENTS - 1, 30), (30, EVENTS - 1)])
def test_with_few_intervals_of_a_kind_the_odds_are_those_of_the_published_model(
    gone, held
):
    taught = Experience(known_of(2, *intervals(gone, held, 2)))
    odds, law = taught.odds(), taught._published(("ln_size", "kl_1", "tau"))
    assert odds.shape == (2, WEEKS + 1)
    assert (odds[:, 0] == odds[0, 0]).all()
    assert odds[0, 0] < -20.0
    for week in (1, 7, WEEKS):
        alive = np.exp(-law.rate * week**law.shape)
        assert odds[:, week] == pytest.approx(np.log((1.0 - alive) / alive), rel=1e-6)


def test_with_ten_of_each_kind_naive_bayes_takes_over():
    taught = Experience(known_of(2, *intervals(EVENTS, EVENTS, 2)))
    owner, gap, over = taught._examples()
    ages = np.arange(1.0, WEEKS + 1.0)
    x = taught._features(owner, gap)
    for i in range(2):
        asked = taught._features(np.full(WEEKS, i), ages)
        expected = bayes.classify(x, over, asked)
        assert taught.odds()[i, 1:] == pytest.approx(expected)


def test_a_model_of_ones_own_needs_ten_events_a_feature_of_five_databases():
    names = KAPPA
    need = EVENTS * len(names)
    for gone, databases, enough in (
        (need, FEWEST, True),
        (need - 1, FEWEST, False),
        (need, FEWEST - 1, False),
    ):
        taught = Experience(known_of(7, *intervals(gone, 40, databases)))
        assert (taught._fit(names) is not None) is enough
    # One without a length, or without a divergence, is no interval.
    rows = list(intervals(need, 40, FEWEST))
    for bad in ((1.0, np.nan), (0.0, 0.9)):
        one = rows.copy()
        one[FEWEST] = (0, *bad)
        assert Experience(known_of(7, *one))._fit(names) is None
    # Nor is one that is off by just as much as it may be.
    just = rows.copy()
    just[FEWEST] = (0, 2.0, 0.5)
    assert Experience(known_of(7, *just))._fit(names) is None


def test_what_was_fitted_is_kept_until_one_more_refresh_is_known():
    known = known_of(7, *intervals(EVENTS * len(KAPPA), 40, FEWEST))
    first = Experience(known).survival(KAPPA)
    (key,) = known.fitted
    kept = known.fitted[key]
    again = Experience(known).survival(KAPPA)
    assert known.fitted[key] is kept
    assert again.rate.tolist() == first.rate.tolist()
    seen = known.refreshes
    more = Refreshes(
        np.append(seen.database, 0), np.append(seen.gap, 2.0), np.append(seen.kl, 0.6)
    )
    Experience(replace(known, refreshes=more)).survival(KAPPA)
    assert known.fitted[key] is not kept


@pytest.mark.parametrize(
    ("names", "wanted"), [(BY_SIZE, SIZE), (KAPPA, DIVERGENCE), (FULL, ALL)]
)
@pytest.mark.parametrize("method", ["QBS", "FPS"])
def test_few_refreshes_leave_the_published_model_of_the_same_features(
    names, wanted, method
):
    known = known_of(3, (0, 1.0, 0.2), (1, 1.0, 0.4), method=(method,) * 3)
    found = Experience(known).survival(names)
    for i, (kappa, by) in enumerate(((0.2, wanted), (0.4, wanted), (0.0, SIZE))):
        x = features(known.size[i], kappa, 0.5, by)
        rate, shape = paper(method, by).rates([known.domain[i]], x)
        assert (found.rate[i], found.shape[i]) == pytest.approx((rate[0], shape[0]))


def test_a_shelf_has_ages_in_weeks_and_the_latest_check_of_summaries_in_use():
    at = np.array([NOW - 14.0, NOW - 28.0, NOW - 7.0, NOW - 7.0])
    kl = np.array([0.2, 0.3, 0.4, np.nan])
    known = known_of(4, (2, 1.0, 0.1))
    known = replace(known, checks=replace(known.checks, at=at, kl=kl))
    shelf = known.shelf()
    assert shelf.age.tolist() == [4.0] * 4
    assert shelf.refreshes.database.tolist() == [2, 0, 2]
    assert shelf.refreshes.gap.tolist() == [1.0, 2.0, 3.0]
    assert shelf.refreshes.kl.tolist() == [0.1, 0.2, 0.4]
    assert shelf.income == pytest.approx(10.0 * WEEK / 90.0)  # summaries a week
    assert known.every == pytest.approx(4 * 90.0 / (10.0 * WEEK))
    doubted = replace(known, doubted=np.array([True, False, True, False])).shelf()
    assert doubted.refreshes.database.tolist() == [2]
    assert known.checkable.all()
    even = replace(known, check=known.cost)
    assert not even.checkable.any()


# What is done for each database


class Straight:
    """A score that grows evenly with the age in weeks."""

    def __init__(self, *slopes, by_cost=False):
        self.slopes, self.by_cost = np.array(slopes), by_cost

    def score(self, _shelf, age):
        return self.slopes * age


def checked_at(known, **columns):
    return replace(known, checks=replace(known.checks, **columns))


def test_a_summary_is_due_when_its_score_reaches_the_level():
    """Scores of 0.05 and 0.1 a week reach 0.5 after 70 and 35 days."""
    rule, policy = DueSummaries(None, level=0.5), Straight(0.05, 0.1)
    known = known_of(2)
    found = scheduled(policy, rule, known)
    assert found.every == pytest.approx([70.0, 35.0], rel=0.02)
    assert found.since.tolist() == known.made.tolist()
    assert not found.due.any()
    assert found.renews.all()
    assert found.rank.tolist() == [1.0, 1.0]
    assert found.cost.tolist() == known.cost.tolist()
    later = scheduled(policy, rule, replace(known, now=NOW + 21.0))
    assert later.due.tolist() == [False, True]
    assert later.rank == pytest.approx([1.0, 49.0 / 35.0], rel=0.02)
    assert later.why[1].endswith("made 49 days ago")
    weighed = replace(known, weight=np.array([40.0, 10.0]))
    dear = scheduled(Straight(0.5, 1.0, by_cost=True), rule, weighed)
    assert dear.every == pytest.approx([WEEK * 90 / 40, WEEK * 45 / 10], rel=0.02)


def test_a_check_comes_first_where_it_is_cheaper_and_its_failures_are_paid_for():
    rule, policy = DueSummaries(None, checks=True, level=0.5), Straight(0.1, 0.1, 0.1)
    known = known_of(3, check=np.array([40.0, 90.0, 40.0]))
    known = replace(known, looked=known.looked + 7.0)
    known = checked_at(known, asked=np.array([4, 0, 2]), passed=np.array([3, 0, 1]))
    found = scheduled(policy, rule, replace(known, doubted=np.array([0, 0, 1], bool)))
    failing = (6 - 4 + 1.0) / (6 + 2.0)
    assert found.cost == pytest.approx([40.0 + failing * 90.0, 90.0, 40 + failing * 90])
    assert found.renews.tolist() == [False, True, True]
    assert found.since.tolist() == [NOW - 21.0, NOW - 28.0, NOW - 21.0]
    assert found.due.tolist() == [False, False, True]
    assert found.rank.tolist() == [1.0, 1.0, FIRST]
    assert [why.split(" ago")[0].rpartition(", ")[2] for why in found.why[:2]] == [
        "checked 21 days",
        "made 28 days",
    ]
    assert found.why[2] == "it did not pass its check"


def test_no_summary_is_renewed_more_often_than_it_may_be():
    rule = DueSummaries(None, level=1e-9)
    found = scheduled(Straight(5.0), rule, known_of(1))
    assert found.every.tolist() == [SHORTEST]
    never = scheduled(Straight(0.0, 0.1), DueSummaries(None, level=0.5), known_of(2))
    assert never.every[0] == math.inf
    assert never.why[0].startswith("it changes too fast")
    assert not never.due[0]


def test_the_income_is_spent_where_no_level_is_set():
    known = replace(known_of(3), income=6.0)
    found = scheduled(Straight(0.05, 0.1, 0.2), DueSummaries(None), known)
    assert (known.cost / found.every).sum() == pytest.approx(6.0, rel=0.02)
    score = found.every * [0.05, 0.1, 0.2]
    assert score == pytest.approx(np.full(3, score[0]), rel=0.02)


def test_samples_take_a_quarter_and_what_changed_most_is_renewed_first():
    """Two can be sampled; the third is summarised anew instead: 30 + 40 + 90."""
    known = known_of(3, check=np.array([30.0, 40.0, 90.0]))
    known = checked_at(
        known,
        at=np.array([NOW - 1.0, NOW - 1.0, NOW - 28.0]),
        share=np.array([0.25, np.nan, 0.5]),
    )
    found = sampled(known)
    assert found.every == pytest.approx([160.0 / (SHARE * 10.0)] * 3)
    assert found.renews.tolist() == [True, False, True]
    assert found.due.tolist() == [True, False, False]
    assert found.rank.tolist() == [1.0, FIRST, FIRST]
    assert found.cost.tolist() == [90.0, 40.0, 90.0]
    assert found.why[0] == "25% of its sampled documents had changed"
    assert found.why[1].endswith("last 28 days ago")
    late = sampled(replace(known, now=NOW + found.every[0] - 28.0))
    assert late.due.all()
    nobody = sampled(replace(known_of(2), check=np.full(2, 90.0)))
    assert nobody.every == pytest.approx([180.0 / 10.0] * 2)  # all of the income
    most = checked_at(known, share=np.array([0.25, 0.5, 0.0]))
    assert sampled(most).rank.tolist() == [0.25, 1.0, FIRST]  # 25 and 100 documents
