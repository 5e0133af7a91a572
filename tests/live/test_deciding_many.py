"""Decisions over very many pages: group by group, and among few of them."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.config import Config
from halflife.core.observation import Observation, Observations, Seen
from halflife.core.value_curve import Offers
from halflife.engine import bootstrap, scheduler, targets
from halflife.engine.appraisal import Appraiser
from halflife.kinds.pages import state as pages_state
from halflife.kinds.registry import kind_of
from halflife.market import target_rule
from halflife.market.offers import OfferTurn
from halflife.stores.notes.income import SPENT_UNTIL

NOW = 20_100.0
TEXT = """
[budget]
requests = 5000
mode = "targets"
[[source]]
name = "a"
target = "freshness >= 0.9"
pages = [{a}]
[[source]]
name = "b"
target = "freshness >= 0.8"
pages = [{b}]
"""


def pages(name):
    return [f"https://{name}.example/{i}" for i in range(40)]


@pytest.fixture
def config(tmp_path):
    listed = {name: ", ".join(f'"{url}"' for url in pages(name)) for name in "ab"}
    return Config.parse(TEXT.format(**listed), tmp_path / "halflife.toml")


@pytest.fixture
def store(config):
    """Pages of which some change daily, at one source more than at the other."""
    with bootstrap.writing(config) as store:
        run = store.begin(["a", "b"], NOW - 11, lease=99.0)
        for day in range(10):
            looks = [
                Observation(
                    url, NOW - 10 + day, Seen.PRESENT, str(day if i < busy else 0)
                )
                for name, busy in (("a", 5), ("b", 20))
                for i, url in enumerate(pages(name))
            ]
            store.append(run, Observations.of(looks))
        store.finish(run, NOW)
        yield store


@pytest.fixture
def groups(config):
    return scheduler.grouped(config.source, apart=targets.is_on(config))


def test_few_pages_are_all_believed_together(config, store, groups):
    appraiser = Appraiser(config, store, NOW, groups=groups)
    near = [appraiser.state(source).near for source in config.source]
    assert all(one is near[0] for one in near)


def test_of_very_many_pages_one_group_is_believed_at_a_time(
    config, store, groups, monkeypatch
):
    monkeypatch.setattr(pages_state, "MANY", 1)
    appraiser = Appraiser(config, store, NOW, groups=groups)
    for source in config.source:
        near = appraiser.state(source).near
        assert near.sources == (source,)
        assert appraiser.state(source).near is near
        assert len(near.pages[0]) == 40
        alone = config.model_copy(update={"source": (source,)})
        expected = Appraiser(alone, store, NOW)
        found = appraiser.offers([source])
        assert found.gain == pytest.approx(expected.offers([source]).gain)
        assert kind_of(source).count(store, source) == 40
        worth, other = (one.known(source).worth for one in (appraiser, expected))
        assert worth.quality == pytest.approx(other.quality)


def test_pages_kept_together_are_believed_together_however_many(
    config, store, monkeypatch
):
    monkeypatch.setattr(pages_state, "MANY", 1)
    together = [config.source]
    appraiser = Appraiser(config, store, NOW, groups=together)
    near = [appraiser.state(source).near for source in config.source]
    assert all(one is near[0] for one in near)


@pytest.mark.parametrize("many", [1, 10**6])
def test_each_gets_what_it_asks_for_however_many_there_are(
    config, store, groups, monkeypatch, many
):
    monkeypatch.setattr(pages_state, "MANY", many)
    SPENT_UNTIL.save(store, NOW - 1.0)
    found = scheduler.decide(scheduler.Situation(config, store, NOW, groups))
    asks = found.aim.asks
    assert asks
    assert found.paid == {(name,): ask for name, ask in asks.items()}


@given(
    seed=st.integers(0, 10**6),
    asks=st.integers(0, 12),
    budget=st.integers(0, 30),
    even=st.booleans(),
)
def test_what_is_taken_is_among_the_best_of_as_many_as_are_asked_for(
    seed, asks, budget, even
):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 40))
    cost = np.full(n, 2.0) if even else rng.integers(1, 4, n).astype(float)
    gain = rng.integers(0, 6, n) / 4.0  # ties, and what gains nothing
    offers = Offers(("a",), np.zeros(n, dtype=np.intp), cost, gain)
    ready = rng.random(n) < 0.8
    turn = OfferTurn(ready, ready & (rng.random(n) < 0.1))
    wanted = {"a": float(asks)}
    whole = target_rule.take_for_targets(offers, wanted, float(budget), turn=turn)
    rows = scheduler.best(offers, turn, float(asks))
    few = Offers(("a",), offers.source[rows], cost[rows], gain[rows])
    cut = OfferTurn(turn.ready[rows], turn.urgent[rows])
    taken = target_rule.take_for_targets(few, wanted, float(budget), turn=cut)
    assert rows[taken.rows].tolist() == whole.rows.tolist()
    assert taken.requests == whole.requests
    assert (taken.waits is None) == (whole.waits is None)
