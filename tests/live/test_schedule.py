"""Set sources looked at again when they are due, over real HTTP."""

import asyncio
import json
from itertools import pairwise

import pytest

from halflife.config import Config
from halflife.engine.signals import Stop
from halflife.kinds.listing import schedule as listing_schedule
from halflife.stores.memory import MemoryStore

BEGAN = 20_000.0


class Hands:
    now = BEGAN

    def __call__(self):
        return self.now


@pytest.fixture
def config(server, tmp_path):
    server.pages["/jobs.json"] = ("application/json", jobs(range(40)))
    return Config.parse(
        "[budget]\nrequests = 1000\n[fetch]\ndelay = 0.0\n"
        '[[source]]\nname = "jobs"\nkind = "listing"\nallow = ["127.0.0.0/8"]\n'
        f'url = "{server.url}/jobs.json"\nkey = "id"\nconfirm_hours = 0.0\n',
        tmp_path / "halflife.toml",
    )


def jobs(numbers):
    return json.dumps([{"id": n} for n in numbers]).encode()


def kept(config, hands, store, most, told):
    """Keep the source until so many looks were made; return them."""
    stop, looks = Stop(), []

    def hear(looked):
        looks.append((hands.now, looked))
        told(len(looks))
        if len(looks) >= most:
            stop.ask(15)

    async def act():
        stop.sleep = lambda seconds: pass_time(hands, seconds)
        await listing_schedule.keep(
            config, store, config.source, stop, hear, clock=hands
        )

    asyncio.run(act())
    return looks


async def pass_time(hands, seconds):
    hands.now += seconds / 86400
    await asyncio.sleep(0)


def test_a_source_never_seen_is_due_at_once(config):
    assert listing_schedule.wait(MemoryStore(), config.source[0], BEGAN) == 0.0


def test_a_quiet_source_is_looked_at_ever_less_often(config):
    looks = kept(config, Hands(), MemoryStore(), 12, lambda _: None)
    gaps = [b - a for (a, _), (b, _) in pairwise(looks)]
    assert gaps[0] <= listing_schedule.FIRST + 1e-9
    assert gaps[-1] > 20 * gaps[0]
    assert max(gaps) <= listing_schedule.LATEST + 1e-6
    assert min(gaps) >= listing_schedule.SOONEST - 1e-9


def test_a_source_that_churns_is_looked_at_more_often_than_a_quiet_one(config, server):
    quiet = kept(config, Hands(), MemoryStore(), 12, lambda _: None)

    def churn(look):  # a tenth leaves and comes at every look
        numbers = range(4 * look, 40 + 4 * look)
        server.pages["/jobs.json"] = ("application/json", jobs(numbers))

    busy = kept(config, Hands(), MemoryStore(), 12, churn)
    assert busy[-1][0] - busy[0][0] < 0.5 * (quiet[-1][0] - quiet[0][0])


def test_a_held_answer_is_asked_for_again_after_an_hour(config, server):
    def empty(look):
        if look == 4:
            server.pages["/jobs.json"] = ("application/json", b"[]")

    looks = kept(config, Hands(), MemoryStore(), 7, empty)
    held = [at for at, looked in looks if looked.held]
    assert len(held) == 3
    assert held[1] - held[0] >= listing_schedule.AGAIN - 1e-9
    assert not any(looked.change.gone for _, looked in looks)


def test_a_source_that_fails_is_left_alone_for_an_hour(config, server):
    del server.pages["/jobs.json"]
    looks = kept(config, Hands(), MemoryStore(), 3, lambda _: None)
    assert all(looked.trouble for _, looked in looks)
    assert looks[1][0] - looks[0][0] >= listing_schedule.AGAIN - 1e-9
