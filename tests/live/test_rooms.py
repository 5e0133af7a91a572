"""A turn asks each host for no more than its pace allows."""

import asyncio
from dataclasses import dataclass

import numpy as np
import pytest

from halflife.belief.plain import PlainRates
from halflife.belief.room import CapacityBelief
from halflife.config import Config
from halflife.core.host import HostState
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.demo.process import running
from halflife.demo.world import build
from halflife.engine import bootstrap
from halflife.engine.loop import Allowance, Loop
from halflife.kinds.pages.host_capacity import HostCapacity
from halflife.kinds.pages.runner import keeping
from halflife.policies.index import Index
from halflife.stores.memory import MemoryStore

SLOW = "User-agent: *\nCrawl-delay: 30\n"


@pytest.fixture
def store():
    store = MemoryStore()
    hosts = {
        "https://slow.example:443": SLOW,
        "https://quick.example:443": "User-agent: *\nDisallow:\n",
        "http://localhost:8000": SLOW,
    }
    for name, robots in hosts.items():
        state = HostState(name, robots=robots, robots_status=200, robots_at=5.0)
        store.save_host(state)
    return store


def test_a_host_takes_one_request_for_each_delay_and_one_at_the_start(store):
    rooms = HostCapacity(store, 2.0, 600.0)
    assert rooms("quick.example") == 301.0
    assert rooms("slow.example") == 21.0
    assert rooms("localhost:8000") == 21.0
    assert rooms("never.asked") == 301.0


def test_a_host_without_a_delay_takes_anything(store):
    assert HostCapacity(store, 0.0, 600.0)("quick.example") == np.inf
    assert HostCapacity(store, 0.0, 600.0)("slow.example") == 21.0


def test_a_robots_txt_read_anew_counts_at_once(store):
    rooms = HostCapacity(store, 1.0, 600.0)
    assert rooms("slow.example") == 21.0
    store.save_host(
        HostState("https://slow.example:443", robots_status=404, robots_at=6.0)
    )
    assert rooms("slow.example") == 601.0


@dataclass
class Willing:
    """Answers everything, and remembers what was asked."""

    asked: list

    async def perform(self, requests, now, purse):
        for request in requests:
            purse.pay()
            self.asked.append(request.key)
            yield Observations.of([Observation(request.key, now, Seen.PRESENT, "a")])


def test_a_turn_ends_when_every_host_had_what_it_takes(store):
    items = [
        Item(f"https://{host}.example/{i}", "web", group=f"{host}.example")
        for host in ("slow", "quick")
        for i in range(30)
    ]
    store.add(items)
    run = store.begin(("web",), 10.0, lease=np.inf)
    source = Willing([])
    belief = CapacityBelief(PlainRates(), HostCapacity(store, 2.0, 120.0))
    loop = Loop(source, store, belief, Index())
    rng = np.random.default_rng(0)
    asyncio.run(loop.turn(run, Allowance(100), rng, clock=lambda: 10.0))
    slow = [key for key in source.asked if "slow" in key]
    assert len(slow) == 5
    assert len(source.asked) == 35


def test_a_running_system_asks_a_host_only_for_what_fits_into_a_turn(tmp_path):
    began = 20_000.0
    with running(build(seed=1, pages=12, days=20.0, began=began)) as site:
        site.set_clock(began)
        text = (
            "[budget]\nrequests = 48\n[fetch]\ndelay = 0.02\n"
            '[[source]]\nname = "demo"\nallow = ["127.0.0.0/8"]\n'
            f'maps = ["{site.url}/sitemap.xml"]\n'
        )
        config = Config.parse(text, tmp_path / "halflife.toml")

        async def scene():
            with bootstrap.writing(config) as store:
                opened = keeping(config, store, config.source, lambda: began)
                async with opened as keeper:
                    keeper.pace(0.11)
                    return await keeper.turn(40)

        outcome = asyncio.run(scene())
    assert outcome.found == 12
    assert outcome.total("looks") == 6
