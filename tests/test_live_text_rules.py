"""What rules for summaries do for the databases of a live store: pure arithmetic."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng

from halflife.allocation import allocate
from halflife.core.errors import UsageError
from halflife.core.search import Document
from halflife.kinds.search.check import updated_check
from halflife.models.drift import PAPER, features
from halflife.policies.texts import Refreshes
from halflife.policies.texts.experience import EVENTS, FEWEST, Experience
from halflife.policies.texts.lessons import FULL, KAPPA, SIZE
from halflife.policies.texts.live import Databases, SummaryChecks
from halflife.policies.texts.names import RULES, TextRule
from halflife.probing.recheck import RecheckResult
from halflife.stores import summary_drift
from halflife.stores.memory import MemoryStore
from halflife.stores.summary_drift import LastCheck, Refresh

NOW = 20_000.0
LIVE = [name for name, rule in RULES.items() if rule.due is not None]
NO = Refreshes(np.zeros(0, np.intp), np.zeros(0), np.zeros(0))


def databases(n, *, income=10.0, age=10.0, seen=NO, **more):
    given = Databases(
        now=NOW,
        domain=("com",) * n,
        method=("QBS",) * n,
        size=np.full(n, 1000.0),
        tau=np.full(n, 0.5),
        made=np.full(n, NOW - age),
        looked=np.full(n, NOW - age),
        doubted=np.zeros(n, bool),
        cost=np.full(n, 100.0),
        check=np.full(n, 40.0),
        weight=np.ones(n),
        income=income,
        refreshes=seen,
        checks=SummaryChecks(
            np.full(n, -np.inf), np.zeros(n), np.full(n, np.nan),
            np.zeros(n, np.intp), np.zeros(n, np.intp),
        ),
    )  # fmt: skip
    return replace(given, **more)


def test_naive_renews_every_database_as_often_as_the_income_allows():
    """Three databases of 100, 200 and 300 requests at 20 a day: all every 30 days."""
    known = databases(3, income=20.0, cost=np.array([100.0, 200.0, 300.0]))
    found = RULES["naive"].choose(known)
    assert found.every == pytest.approx(30.0, rel=0.02)
    assert not found.due.any()
    assert found.renews.all()
    later = RULES["naive"].choose(replace(known, now=NOW + 21.0))
    assert later.due.all()
    assert "due every 30 days, made 31 days ago" in later.why[0]


def test_equation_4_gives_the_frequencies_of_the_solver_with_costs_and_weights():
    seen = Refreshes(np.arange(3), np.ones(3), np.array([0.01, 0.1, 0.2]))
    known = databases(
        3, income=20.0, seen=seen,
        cost=np.array([100.0, 150.0, 80.0]), weight=np.array([1.0, 2.0, 1.0]),
    )  # fmt: skip
    found = RULES["survival"].choose(known)
    x = features(1000.0, seen.kl, 0.5)
    law = PAPER.survival(["com"] * 3, x)
    wanted = allocate(
        law.rate, 20.0, shape=law.shape, cost=known.cost, weight=known.weight
    ).frequency
    assert found.every == pytest.approx(1.0 / wanted, rel=0.05)
    assert found.survival.rate == pytest.approx(law.rate)
    assert (known.cost / found.every).sum() == pytest.approx(20.0, rel=0.02)


def test_a_database_without_an_interval_is_foretold_by_its_size():
    seen = Refreshes(np.array([0]), np.array([2.0]), np.array([0.3]))
    taught = Experience(databases(2, seen=seen))
    assert taught.kappa[0] == pytest.approx(0.15)  # a week's worth of two
    assert np.isnan(taught.kappa[1])
    by_size, full = taught.survival(SIZE), taught.survival(FULL)
    assert full.rate[1] == by_size.rate[1]
    assert full.rate[0] != by_size.rate[0]


def refreshes(rng, rates, each):
    """Return intervals of databases that drift at steady rates, the first a week."""
    owner = np.tile(np.arange(rates.size), each)
    gap = np.where(
        np.arange(owner.size) < rates.size, 1.0, rng.uniform(2, 20, owner.size)
    )
    kl = rates[owner] * gap * rng.gamma(4.0, 0.25, owner.size)
    return Refreshes(owner, gap, kl)


def test_a_model_of_ones_own_takes_over_with_ten_events_for_each_feature():
    rng, rates = default_rng(0), np.geomspace(0.005, 0.2, 12)
    seen = refreshes(rng, rates, 12)
    domain = tuple(np.resize(["com", "edu", "org"], 12))
    known = databases(12, seen=seen, domain=domain)
    later = np.arange(seen.kl.size) >= 12
    over = later & (seen.kl > 0.5)
    assert over.sum() >= EVENTS * len(KAPPA)
    assert np.unique(seen.database[over]).size >= FEWEST
    own = Experience(known).survival(KAPPA)
    half = (np.log(2.0) / own.rate) ** (1.0 / own.shape)
    assert np.corrcoef(np.log(half), np.log(rates))[0, 1] < -0.7
    few = np.flatnonzero(~over | (np.cumsum(over) < EVENTS * len(KAPPA)))
    less = Refreshes(seen.database[few], seen.gap[few], seen.kl[few])
    before = Experience(databases(12, seen=less, domain=domain))
    law = before._published(KAPPA)
    assert before.survival(KAPPA).rate == pytest.approx(law.rate)
    assert own.rate != pytest.approx(law.rate, rel=0.01)


def test_bayes_learns_from_intervals_that_old_summaries_have_changed():
    seen = refreshes(default_rng(1), np.full(8, 0.05), 12)
    odds = Experience(databases(8, seen=seen)).odds()
    assert (odds[:, 2] < 0).all()
    assert (odds[:, 18] > 0).all()
    few = Experience(databases(8)).odds()  # the published model's
    chance = 1.0 / (1.0 + np.exp(-few[:, 20]))
    law = Experience(databases(8)).survival(FULL)
    assert chance == pytest.approx(1.0 - law.alive(np.full(8, 20.0)))


def test_the_champion_checks_first_and_renews_what_did_not_pass():
    seen = refreshes(default_rng(2), np.array([0.001, 0.05]), 6)
    known = databases(2, income=4.0, age=60.0, seen=seen)
    found = RULES["champion"].choose(known)
    assert not found.renews.any()
    assert found.every[1] < found.every[0]
    doubted = replace(known, doubted=np.array([True, False]))
    again = RULES["champion"].choose(doubted)
    assert again.renews.tolist() == [True, False]
    assert again.due[0]
    assert again.rank[0] >= 2.0
    assert again.why[0] == "it did not pass its check"
    dear = RULES["champion"].choose(replace(known, check=np.full(2, np.inf)))
    assert dear.renews.all()


def test_samples_come_in_turn_and_the_most_changed_documents_are_renewed_first():
    """A quarter of 10 requests a day: three samples of 40 take 48 days."""
    known = databases(3, age=60.0)
    found = RULES["sampling"].choose(known)
    assert found.every == pytest.approx(48.0)
    assert found.due.all()
    assert not found.renews.any()
    told = replace(
        known, looked=np.full(3, NOW - 1.0),
        checks=replace(
            known.checks, at=np.full(3, NOW - 1.0), share=np.array([0.5, 0.2, 0.0])
        ),
        size=np.array([100.0, 400.0, 900.0]),
    )  # fmt: skip
    after = RULES["sampling"].choose(told)
    assert after.due.tolist() == [True, True, False]
    assert np.argsort(-after.rank[:2]).tolist() == [1, 0]  # 80 documents, and 50


def test_bayes_free_is_due_when_a_change_is_likely_whatever_it_costs():
    young, old = (databases(1, income=1e-6, age=age) for age in (3.0, 900.0))
    assert not RULES["bayes-free"].choose(young).due[0]
    assert RULES["bayes-free"].choose(old).due[0]
    assert not RULES["bayes"].choose(old).due[0]


@pytest.mark.parametrize("name", sorted(set(LIVE) - {"bayes-free", "sampling"}))
def test_the_intervals_of_a_rule_take_the_income_and_no_more(name):
    seen = refreshes(default_rng(3), np.geomspace(0.002, 0.1, 6), 4)
    known = databases(6, income=12.0, seen=seen)
    found = RULES[name].choose(known)
    assert (found.cost / found.every).sum() == pytest.approx(12.0, rel=0.03)


def test_rules_of_replays_alone_say_so():
    with pytest.raises(UsageError, match="serves replays alone"):
        RULES["hindsight"].choose(databases(1))
    assert isinstance(RULES["naive"], TextRule)


def test_a_check_tells_how_many_documents_of_the_summary_changed():
    class Kept:
        version = 3
        documents = (
            Document("a", ("x", "y")), Document("b", ("y",)), Document("c", ("z",)),
        )  # fmt: skip

    seen = (Document("a", ("x", "y")), Document("b", ("q",)), Document("d", ("z",)))
    told = updated_check(
        LastCheck(asked=4, passed=2), Kept, RecheckResult(True, 0.1, seen), 7.0
    )
    assert told == LastCheck(3, 7.0, 0.5, 0.1, 5, 3)
    none = updated_check(LastCheck(), Kept, RecheckResult(False, np.nan, ()), 8.0)
    assert (none.share, none.asked, none.passed) == (1.0, 1, 0)


def test_the_first_interval_outlives_what_is_forgotten():
    store = MemoryStore()
    for version in range(2, 300):
        summary_drift.note_refresh(store, "a", Refresh(version, 7.0, 0.1))
    kept = summary_drift.refreshes(store, "a")
    assert len(kept) == summary_drift.MOST
    assert (kept[0].version, kept[1].version, kept[-1].version) == (2, 101, 299)
    summary_drift.note_check(store, "a", LastCheck(2, 5.0, 0.5))
    assert summary_drift.last_check(store, "a").share == 0.5
    assert np.isnan(summary_drift.last_check(store, "a").kl)
    assert summary_drift.last_check(store, "b").version == 0


def test_sampling_spends_all_of_its_income_where_nothing_can_be_checked():
    """Two databases of 100 and 300 requests, no cheap check: 400 at 20 a day."""
    known = databases(2, income=20.0, cost=np.array([100.0, 300.0]))
    known = replace(known, check=known.cost.copy())
    assert not known.checkable.any()
    found = RULES["sampling"].choose(known)
    assert found.every == pytest.approx(20.0)
    cheap = replace(known, check=np.array([10.0, 10.0]))
    assert RULES["sampling"].choose(cheap).every == pytest.approx(20.0 / 5.0)
