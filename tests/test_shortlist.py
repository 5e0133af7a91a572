"""Deciding among few: the same looks as deciding among all, up to what waits."""

import numpy as np
import pytest

from halflife.belief.hints import HintedBelief
from halflife.belief.neighbours import Neighbours
from halflife.belief.poisson import PoissonBelief
from halflife.belief.room import CapacityBelief
from halflife.core.budget import Budget
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observations
from halflife.policies.champion import champion
from halflife.policies.index import Index
from halflife.policies.shortlist import Shortlist

N = 600


@pytest.fixture
def evidence():
    items = [Item(f"http://h{i % 7}/f{i % 3}/{i}", group=f"h{i % 7}") for i in range(N)]
    evidence, rng = Evidence.of(items), np.random.default_rng(0)
    for day in range(6):
        rows = np.sort(rng.choice(N, N // 2, replace=False))
        look(evidence, rows, day + 0.5 * rng.random(rows.size), rng)
    return evidence


def look(evidence, rows, at, rng):
    digest = tuple(str(x) for x in rng.integers(0, 2, len(rows)))
    keys = tuple(evidence.keys[int(row)] for row in rows)
    seen = np.zeros(len(rows), np.int8)
    looks = Observations(
        keys, np.broadcast_to(at, len(rows)).astype(float), seen, digest
    )
    evidence.take(evidence.weigh(looks))


def shortlist(belief, policy, **settings):
    return Shortlist(belief, policy, size=64, block=100, **settings)


BELIEFS = {
    "neighbours": Neighbours,
    "hinted": lambda: HintedBelief(Neighbours(), announced=False),
    "poisson": PoissonBelief,
    "roomy": lambda: CapacityBelief(
        Neighbours(), lambda name: 2.0 if name == "h1" else np.inf
    ),
}


@pytest.mark.parametrize("make", BELIEFS.values(), ids=BELIEFS)
def test_the_first_plan_is_that_of_all_items(evidence, make):
    few = shortlist(make(), Index()).plan(evidence, 9.0, 9.0, Budget(8), None)
    whole = Index()(make()(evidence, 9.0, 9.0), Budget(8), None)
    assert few.keys == whole.keys
    assert few.rows.tolist() == whole.rows.tolist()
    assert few.gain == pytest.approx(whole.gain)
    assert few[0].why == whole[0].why


def test_later_plans_are_made_without_a_new_pass_and_buy_as_much(evidence):
    rng = np.random.default_rng(1)
    some, belief = shortlist(Neighbours(), Index()), Neighbours()
    for turn in range(10):
        now = 9.0 + turn * 1e-4
        few = some.plan(evidence, now, 9.0, Budget(1), rng)
        whole = Index()(belief(evidence, now, 9.0), Budget(1), rng)
        assert few.gain[0] == pytest.approx(whole.gain[0], rel=0.05)
        look(evidence, few.rows, now + 5e-5, rng)
    assert some.passes == 1


def test_no_item_is_looked_at_twice_from_one_list(evidence):
    rng, some, seen = np.random.default_rng(1), shortlist(Neighbours(), Index()), []
    for turn in range(12):
        now = 9.0 + turn * 1e-4
        plan = some.plan(evidence, now, now, Budget(1), rng)
        seen += plan.keys
        look(evidence, plan.rows, now + 5e-5, rng)
    assert len(set(seen)) == len(seen) == 12


def test_a_new_list_is_made_when_it_is_old_used_up_or_items_became_known(evidence):
    rng, some = np.random.default_rng(1), shortlist(Neighbours(), Index(), lasts=0.01)
    some.plan(evidence, 9.0, 9.0, Budget(4), rng)
    some.plan(evidence, 9.02, 9.0, Budget(4), rng)
    assert some.passes == 2
    evidence.add([Item("http://new/", weight=9.0, group="new")])
    assert "http://new/" in some.plan(evidence, 9.021, 9.0, Budget(4), rng).keys
    assert some.passes == 3
    look(
        evidence,
        np.sort(some.plan(evidence, 9.022, 9.0, Budget(8), rng).rows),
        9.0225,
        rng,
    )
    for turn in range(3):
        plan = some.plan(evidence, 9.023 + turn * 1e-3, 9.0, Budget(8), rng)
        look(evidence, np.sort(plan.rows), 9.0235 + turn * 1e-3, rng)
    assert some.passes == 4


def test_the_champion_in_rounds_keeps_to_its_rounds(evidence):
    rng = np.random.default_rng(1)
    some = shortlist(champion.belief(), champion.policy)
    asked, now = [], 9.0
    for left in (8, 6, 4, 2):
        plan = some.plan(evidence, now, 9.0, Budget(left), rng)
        asked.append(len(plan))
        look(evidence, np.sort(plan.rows), now + 1e-5, rng)
        now += 1e-4
    assert asked == [2, 2, 2, 2]


def test_same_state_seed_and_clock_give_the_same_plan(evidence):
    plans = [
        shortlist(Neighbours(), champion.policy).plan(
            evidence, 9.0, 9.0, Budget(9), np.random.default_rng(5)
        )
        for _ in range(2)
    ]
    assert plans[0].keys == plans[1].keys


@pytest.mark.parametrize("make", BELIEFS.values(), ids=BELIEFS)
def test_a_list_serves_again_as_long_as_it_lasts(evidence, make):
    few = shortlist(make(), Index(), lasts=0.5)
    few.plan(evidence, 9.0, 9.0, Budget(4), None)
    few.plan(evidence, 9.3, 9.3, Budget(4), None)
    assert few.passes == 1
    few.plan(evidence, 9.6, 9.6, Budget(4), None)
    assert few.passes == 2


@pytest.mark.parametrize(
    ("now", "requests", "passes"),
    [
        (9.0, 4, 1),
        (9.5, 4, 1),  # to its last moment
        (9.51, 4, 2),
        (8.9, 4, 2),  # of an earlier moment it knows nothing
        (9.1, 32, 1),  # as long as half of it is enough
        (9.1, 33, 2),
    ],
)
def test_a_list_serves_for_its_time_and_half_its_length(
    evidence, now, requests, passes
):
    few = shortlist(PoissonBelief(), Index(), lasts=0.5)
    few.plan(evidence, 9.0, 9.0, Budget(4), None)
    assert few._rows.size == few.size == 64
    few.plan(evidence, now, now, Budget(requests), None)
    assert few.passes == passes


def test_a_list_is_as_long_as_two_budgets(evidence):
    few = shortlist(PoissonBelief(), Index())
    few.plan(evidence, 9.0, 9.0, Budget(50), None)
    assert few._rows.size == 100


def test_a_list_grows_older_with_its_items(evidence):
    few = shortlist(PoissonBelief(), Index(), lasts=1.0)
    first = few.plan(evidence, 9.0, 9.0, Budget(4), None)
    before = few._view
    rng = np.random.default_rng(0)
    look(evidence, np.sort(first.rows[:2]), 9.25, rng)
    then = few._aged(evidence, 9.5, 9.25)
    np.testing.assert_allclose(then.age, before.age + 0.5)
    np.testing.assert_allclose(then.exposure, before.exposure + 0.5)
    tried = np.isin(few._rows, first.rows[:2])
    assert (then.now, then.looked.tolist()) == (9.5, tried.tolist())
    assert then.ready[tried].all()  # this turn's may be asked about again
    later = few._aged(evidence, 9.5, 9.3)
    assert not later.looked.any()
    assert not later.ready[tried].any()  # an earlier turn's have had their look
    assert later.ready[~tried].all()
    sooner = few._aged(evidence, 9.2, 9.0)
    assert not sooner.looked.any()
