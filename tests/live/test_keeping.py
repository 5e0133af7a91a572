"""The live loop on the demo site, with a clock of its own."""

import asyncio

import pytest

from halflife.config import Config
from halflife.core.errors import AlreadyRunning
from halflife.demo.process import running
from halflife.demo.world import build
from halflife.engine import bootstrap
from halflife.kinds.pages import belief_notes as pages_belief_notes
from halflife.kinds.pages.runner import LONGEST_NAP, keeping
from halflife.stores.sqlite import SqliteStore
from hand_clock import BEGAN, Hands


@pytest.fixture(scope="module")
def site():
    with running(build(seed=1, pages=12, days=20.0, began=BEGAN)) as site:
        yield site


@pytest.fixture
def config(tmp_path, site):
    site.set_clock(BEGAN)
    text = (
        "[budget]\nrequests = 48\n[fetch]\ndelay = 0.0\n"
        '[[source]]\nname = "demo"\nallow = ["127.0.0.0/8"]\n'
        f'maps = ["{site.url}/sitemap.xml"]\n'
    )
    return Config.parse(text, tmp_path / "halflife.toml")


def play(config, act, hands=None):
    async def scene():
        with bootstrap.writing(config) as store:
            clock = hands or Hands()
            async with keeping(config, store, config.source, clock) as keeper:
                return await act(keeper)

    return asyncio.run(scene())


def test_a_map_is_read_first_and_its_pages_next(config):
    async def act(keeper):
        first = await keeper.turn(keeper.allowance())
        second = await keeper.turn(keeper.allowance())
        return first, second

    first, second = play(config, act)
    assert first.found == 12
    assert first.sources["demo"].looks == 1
    assert second.sources["demo"].looks + second.sources["demo"].failed == 12


def test_the_prior_outlives_the_run(config):
    async def act(keeper):
        await keeper.turn(40)

    by_index = config.policy.model_copy(update={"name": "index"})
    play(config.model_copy(update={"policy": by_index}), act)
    with SqliteStore.open(config.store_path, readonly=True) as store:
        prior = pages_belief_notes.recall(store)
    assert prior is not None
    assert sum(prior.mass) == pytest.approx(1.0)


def test_what_was_learned_of_busy_times_outlives_the_run(config):
    async def act(keeper):
        await keeper.turn(40)

    play(config, act)
    with SqliteStore.open(config.store_path, readonly=True) as store:
        busy = pages_belief_notes.recall_busy(store)
    assert busy is not None
    assert [name.split(":")[0] for name in busy.sites] == ["127.0.0.1"]
    assert busy.kept.sites.shape[1] == 1


def test_a_turn_that_is_eased_sends_nothing_more(config):
    async def act(keeper):
        return await keeper.turn(40, lambda _: keeper.ease())

    outcome = play(config, act)
    assert outcome.requests <= 2 + config.fetch.concurrency
    with SqliteStore.open(config.store_path, readonly=True) as store:
        assert store.spent(0.0) == outcome.requests


def test_a_source_has_one_keeper(config):
    async def act(keeper):
        with bootstrap.writing(config) as other, pytest.raises(AlreadyRunning):
            async with keeping(config, other, config.source, keeper.clock):
                pytest.fail("two keepers of one source")

    play(config, act)


def test_the_lease_is_given_back_when_things_go_wrong(config):
    async def act(_):
        raise ValueError("trouble")

    for _ in range(2):
        with pytest.raises(ValueError, match="trouble"):
            play(config, act)


def test_parts_of_requests_add_up_over_turns(config):
    hands, outcomes = Hands(), []

    async def act(keeper):
        keeper.pace(LONGEST_NAP)
        for _ in range(6):
            outcomes.append(await keeper.turn(keeper.allowance()))
            hands.now += 2.5 / 48  # two requests come in, and a half

    play(config, act, hands)
    # The second turn used two and a half came with it; so the halves add up.
    assert [o.requests for o in outcomes[2:]] == [3, 2, 3, 2]
    assert sum(o.requests for o in outcomes) <= 48
