import asyncio
from functools import partial

import numpy as np
import pytest

from halflife.belief.plain import KnownRates
from halflife.belief.poisson import PoissonBelief
from halflife.bench.population import poisson_recording, rates_and_weights
from halflife.core.budget import Budget
from halflife.core.errors import BudgetSpent
from halflife.core.plan import no_plan
from halflife.core.request import Fetch, Fetches
from halflife.engine.loop import LEASE, Allowance, Loop
from halflife.policies.index import Index
from halflife.policies.simple import oldest_first
from halflife.recordings.pages import NAME, RecordedPageSource
from halflife.stores.memory import MemoryStore
from halflife.stores.sqlite import SqliteStore


@pytest.fixture
def recording():
    rate, weight = rates_and_weights(25, 2)
    return poisson_recording(rate, weight, 30.0, 2)


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    if request.param == "memory":
        yield MemoryStore()
        return
    with SqliteStore.open(tmp_path / "state.db", create=True) as opened:
        yield opened


def turned(loop, run, requests, now, **more):
    purse, rng = Allowance(requests), np.random.default_rng(0)
    return asyncio.run(loop.turn(run, purse, rng, clock=partial(float, now), **more))


def loop_of(recording, store, policy=oldest_first, belief=None):
    store.add(recording.items())
    return Loop(RecordedPageSource(recording), store, belief or PoissonBelief(), policy)


def test_a_turn_looks_at_everything_once_and_stops(recording, store):
    loop = loop_of(recording, store)
    turn = turned(loop, store.begin([NAME], 1.0, lease=LEASE), 100, 1.0)
    assert (turn.observations, turn.requests, turn.failed) == (25, 25, 0)
    assert store.evidence([NAME]).looks.tolist() == [1] * 25


def test_a_turn_never_spends_more_than_its_purse(recording, store):
    loop = loop_of(recording, store)
    run = store.begin([NAME], 1.0, lease=LEASE)
    assert turned(loop, run, 7, 1.0).requests == 7
    assert turned(loop, run, 7, 1.0, since=1.0).requests == 7
    assert store.evidence([NAME]).looks.sum() == 14


def test_a_turn_counts_the_changes_it_found(recording, store):
    loop = loop_of(recording, store)
    run = store.begin([NAME], 0.0, lease=100.0)
    turned(loop, run, 25, 0.0)
    rows = np.arange(25)
    truly = recording.states(rows, 20.0) != recording.states(rows, 0.0)
    assert turned(loop, run, 25, 20.0).changed == truly.sum()


def test_what_an_interrupted_run_had_done_counts_as_done(recording, store):
    loop = loop_of(recording, store)
    run = store.begin([NAME], 1.0, lease=100.0)
    turned(loop, run, 10, 1.0, since=run.began)
    again = turned(loop, run, 100, 2.0, since=run.began)
    assert again.observations == 15


def test_a_policy_is_called_again_until_it_has_nothing_left_to_ask(recording, store):
    sizes = []

    def three_at_a_time(view, budget, rng):
        sizes.append(int(view.looked.sum()))
        return oldest_first(view, Budget(min(3, budget.requests)), rng)

    loop = loop_of(recording, store, three_at_a_time)
    turned(loop, store.begin([NAME], 1.0, lease=LEASE), 100, 1.0)
    assert sizes == [0, 3, 6, 9, 12, 15, 18, 21, 24, 25]


def test_both_stores_make_the_same_plans(recording, tmp_path):
    rate = rates_and_weights(25, 2)[0]
    looked = []
    with SqliteStore.open(tmp_path / "s.db", create=True) as durable:
        for store in (MemoryStore(), durable):
            for belief in (PoissonBelief(), KnownRates(rate)):
                loop = loop_of(recording, store, Index("freshness"), belief)
                run = store.begin([NAME], 0.0, lease=100.0)
                for day in range(10):
                    turned(loop, run, 6, float(day))
                store.finish(run, 10.0)
            looked.append(store.history([NAME]))
    first, second = looked
    assert np.array_equal(first.at, second.at)
    assert np.array_equal(first.start, second.start)


def test_a_source_that_does_nothing_ends_the_turn():
    class Mute:
        async def perform(self, requests, now, purse):
            for _ in ():
                yield _

    recording = poisson_recording(*rates_and_weights(5, 0), 5.0, 0)
    store = MemoryStore()
    store.add(recording.items())
    loop = Loop(Mute(), store, PoissonBelief(), oldest_first)
    assert turned(loop, store.begin([NAME], 0.0, lease=1.0), 9, 0.0).observations == 0


def test_a_policy_with_nothing_to_ask_spends_nothing(recording, store):
    loop = loop_of(recording, store, lambda *_: no_plan())
    run = store.begin([NAME], 0.0, lease=1.0)
    assert turned(loop, run, 9, 0.0).requests == 0


def test_an_allowance_cannot_be_overdrawn():
    purse = Allowance(2)
    purse.pay(2)
    with pytest.raises(BudgetSpent):
        purse.pay()
    assert purse.left == 0


def test_requests_are_made_only_when_somebody_wants_more_than_their_keys():
    asked = []

    def held(keys):
        asked.append(list(keys))
        return [None for _ in keys]

    requests = Fetches(("a", "b"), held)
    assert (len(requests), requests.keys, asked) == (2, ("a", "b"), [])
    assert [r.key for r in requests] == ["a", "b"]
    assert requests[1] == Fetch("b")
    assert requests[:1] == [Fetch("a")]
    assert asked == [["a", "b"]]
