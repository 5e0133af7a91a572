"""The league's batch path decides what the program decides live, request by request."""

import asyncio
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from halflife import plugins
from halflife.config import Config
from halflife.engine import bootstrap, network, once
from halflife.engine.signals import Stop
from halflife.kinds.pages.recorded_source import RecordedPages
from halflife.kinds.protocol import Desk, Errand
from halflife.kinds.registry import kind_of
from halflife.recordings.pages import Recording
from halflife.replay.pages import Replay
from halflife.replay.world import serve
from hand_clock import Hands

BEGAN, DAYS, TICKS, PAGES, GRANT = 20_000.0, 9, 2, 12, 3
SETTINGS = """\
[budget]
requests = 1000000000

[policy]
name = "{policy}"

[fetch]
delay = 0.0
concurrency = 1

[audit]
share = 0.0

[[source]]
name = "site"
robots = false
allow = ["127.0.0.0/8"]
{pages}
"""


@dataclass(frozen=True)
class Watched(Recording):
    """A recording that writes down what it is asked for, in order."""

    asked: list[tuple[float, str]] = field(default_factory=list)

    def observe(self, rows, at):
        self.asked.extend((at, self.keys[row]) for row in rows.tolist())
        return super().observe(rows, at)


def recording(origin):
    """Return pages of one host that change at random, some often and some hardly."""
    rng = np.random.default_rng(3)
    counts = rng.poisson(np.geomspace(0.02, 2.0, PAGES) * DAYS)
    at = [np.sort(rng.uniform(BEGAN, BEGAN + DAYS, count)) for count in counts]
    return Watched(
        keys=tuple(f"{origin}/{i}" for i in range(PAGES)),
        start=np.concatenate([[0], np.cumsum(counts)]).astype(np.intp),
        at=np.concatenate(at),
        weight=1.0 + rng.random(PAGES),
        born=np.full(PAGES, -np.inf),
        died=np.full(PAGES, np.inf),
        group=(origin.partition("//")[2],) * PAGES,
    )


async def held(config, store, clock):
    """Sync at every tick as a service does, which holds its sources all the time."""
    async with network.way_out(config, store, clock, None) as gate:
        desk = Desk(config, store, gate, clock, audits=True)
        async with kind_of(config.source[0]).open(desk, config.source) as worker:
            for _ in ticks(clock):
                await worker.sync(Errand(most=GRANT))


async def apart(config, store, clock):
    """Sync at every tick as ``halflife sync`` does, each time anew."""
    for _ in ticks(clock):
        await ask(config, store, clock, Errand(most=GRANT))


async def ask(config, store, clock, errand):
    await once.sync(config, store, config.source, errand, Stop(), clock)


def ticks(clock):
    """Move the clock from tick to tick."""
    for tick in range(1, DAYS * TICKS):
        clock.now = BEGAN + tick / TICKS
        yield tick


HELD = 2  # the run that follows the first crawl: its chance comes from its number
CASES = [
    *((apart, policy) for policy in ("harmonic", "round-robin")),
    *((held, policy) for policy in ("champion", "nutch-adaptive", "proportional")),
]


@pytest.mark.parametrize(("sync", "policy"), CASES)
def test_a_replay_on_columns_fetches_what_live_syncs_fetch(sync, policy, tmp_path):
    clock, sent = Hands(), []

    def answer(asked, now):
        sent.append((now, str(asked.url)))
        return pages.answer(asked, now)

    with serve([answer], clock) as (origin,):
        world = recording(origin)
        pages = RecordedPages("site", world, (BEGAN, BEGAN + DAYS))
        path = tmp_path / "halflife.toml"
        path.write_text(SETTINGS.format(policy=policy, pages=pages.settings(origin)))
        config = Config.load(path)
        with bootstrap.writing(config) as store:
            store.skip_disk_syncs()
            store.add([replace(item, source="site") for item in world.items()])
            asyncio.run(ask(config, store, clock, Errand(everything=True)))
            asyncio.run(sync(config, store, clock))
    replay = Replay(world, GRANT * TICKS, BEGAN, BEGAN + DAYS, ticks=TICKS)
    replay.score(plugins.strategy(policy, config.policy.objective), seed=HELD)
    # The first crawl takes all pages; in which order does not matter.
    assert sorted(sent[:PAGES]) == sorted(world.asked[:PAGES])
    assert sent[PAGES:] == world.asked[PAGES:]
    assert len(sent) == PAGES + GRANT * (DAYS * TICKS - 1)
