"""Three days asleep with ten thousand pages: no stampede, the best come first."""

import asyncio
from collections import Counter

import numpy as np
import pytest

from fault_points import count
from halflife.config import Config
from halflife.core.budget import Budget
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.engine import bootstrap, scheduler
from halflife.engine.loop import LEASE
from halflife.kinds.pages.runner import LONGEST_NAP, keeping
from halflife.stores.notes.income import SPENT_UNTIL

SLEPT = 20_000.0
WOKE = SLEPT + 3.0
MANY, HOSTS = 10_000, 20
BUDGET = 2400
DELAY = 600.0  # seconds between two requests to one host
SEEDS = count(range(8), range(1))
SETTINGS = """\
[budget]
requests = {budget}
[fetch]
delay = {delay}
[[source]]
name = "site"
pages = ["https://h0.example/0"]
"""


@pytest.fixture
def config(tmp_path):
    text = SETTINGS.format(budget=BUDGET, delay=DELAY)
    return Config.parse(text, tmp_path / "halflife.toml")


def item(number, weight):
    host = f"h{number % HOSTS}.example"
    return Item(f"https://{host}/{number}", "site", weight=weight, group=host)


def fill(store, seed):
    """Look at ten thousand pages four times, then fall asleep."""
    rng = np.random.default_rng(seed)
    weights = rng.lognormal(0.0, 1.0, MANY)
    items = [item(n, float(w)) for n, w in enumerate(weights)]
    store.add(items)
    run = store.begin(["site"], SLEPT - 9.0, lease=LEASE)
    often = rng.random(MANY)
    for at in (SLEPT - 8.0, SLEPT - 5.0, SLEPT - 2.0, SLEPT):
        changed = rng.random(MANY) < often
        looks = [
            Observation(one.key, at, Seen.PRESENT, f"{at}" if new else "")
            for one, new in zip(items, changed, strict=True)
        ]
        store.append(run, Observations.of(looks))
    SPENT_UNTIL.save(store, SLEPT)
    store.finish(run, SLEPT)


def woken(config, seed, act):
    async def scene():
        with bootstrap.writing(config) as store:
            fill(store, seed)
            async with keeping(config, store, config.source, lambda: WOKE) as keeper:
                return act(keeper, store)

    return asyncio.run(scene())


def planned(keeper, requests):
    rng = np.random.default_rng(0)
    return keeper.loop.plan(keeper.run, WOKE, WOKE, Budget(requests), rng)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_host_is_sent_more_than_its_pace_takes_and_the_best_come_first(config, seed):
    def act(keeper, _):
        every = planned(keeper, MANY)
        keeper.pace(LONGEST_NAP)
        return every, planned(keeper, BUDGET)

    every, chosen = woken(config, seed, act)
    gain = dict(zip(every.keys, every.gain.tolist(), strict=True))
    host = {key: key.split("/")[2] for key in gain}
    room = LONGEST_NAP // DELAY + 1
    sent = Counter(host[key] for key in chosen.keys)
    assert set(sent.values()) == {room}  # each host takes what it takes
    assert len(sent) == HOSTS
    assert (np.diff(chosen.gain) <= 1e-12).all()
    for name in sent:
        best = sorted((g for key, g in gain.items() if host[key] == name))[-int(room) :]
        mine = [gain[key] for key in chosen.keys if host[key] == name]
        assert sorted(mine) == pytest.approx(best)


def test_three_days_bring_one_window_and_a_turn_of_the_service_an_hour_of_it(config):
    def act(keeper, store):
        groups = scheduler.grouped(config.source)
        decision = scheduler.decide(scheduler.Situation(config, store, WOKE, groups))
        return decision, keeper.allowance(), keeper.allowance()

    decision, first, second = woken(config, 0, act)
    assert decision.grants == {("site",): BUDGET // 24}
    assert (first, second) == (BUDGET, 0)
