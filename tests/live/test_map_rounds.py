"""Maps are read again in time, though as pages they would not be worth a request."""

import asyncio

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.config import Config
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observations
from halflife.demo.process import running
from halflife.demo.world import build
from halflife.engine import bootstrap
from halflife.kinds.pages.map_rounds import QUIET, SHARE, SOONEST, MapRounds
from halflife.kinds.pages.runner import keeping
from hand_clock import BEGAN, Hands
from store_looks import failed, present

MAP = "https://a.example/sitemap.xml"
SOURCE = '[[source]]\nname = "{}"\nmaps = ["{}"]\n'


def rounds(requests, *urls):
    text = f"[budget]\nrequests = {requests}\n"
    text += "".join(SOURCE.format(f"s{i}", url) for i, url in enumerate(urls))
    config = Config.parse(text)
    return MapRounds.of(config, config.source)


def test_one_request_in_twenty_reads_maps_again():
    assert rounds(48, MAP).interval == {MAP: pytest.approx(1 / 2.4)}
    two = rounds(48, MAP, "https://b.example/feed")
    assert list(two.interval.values()) == pytest.approx([2 / 2.4] * 2)
    assert rounds(10**6, MAP).interval == {MAP: SOONEST}
    assert SHARE == 0.05


@given(st.integers(1, 2000), st.integers(1, 6), st.floats(0.01, 1.0))
def test_maps_take_no_more_than_their_share(requests, maps, step):
    urls = [f"https://h{i}.example/map" for i in range(maps)]
    turns = rounds(requests, *urls)
    evidence, read, days = Evidence.of(Item(url) for url in urls), 0, 0.0
    for number in range(60):
        now = BEGAN + step * number
        turns.begin_turn(evidence, now)
        looked = turns.due if number else set(urls)
        read += len(looked) if number else 0
        looks = [present(url, now, f"{number}") for url in sorted(looked)]
        if looks:
            evidence.take(evidence.weigh(Observations.of(looks)))
        days = now - BEGAN
    assert read <= SHARE * requests * days * (1 + 1e-6) + 1e-6


def test_a_map_that_stays_the_same_is_read_half_as_often():
    turns, evidence = rounds(20, MAP), Evidence.of([Item(MAP)])
    turns.begin_turn(evidence, BEGAN)
    assert not turns.due  # never read: as a new page it comes first anyway
    for at, digest in ((BEGAN, "x"), (BEGAN + 1.0, "y")):
        evidence.take(evidence.weigh(Observations.of([present(MAP, at, digest)])))
    turns.begin_turn(evidence, BEGAN + 1.99)
    assert not turns.due
    turns.begin_turn(evidence, BEGAN + 2.0)
    assert turns.due == {MAP}
    evidence.take(evidence.weigh(Observations.of([present(MAP, BEGAN + 2.0, "y")])))
    turns.begin_turn(evidence, BEGAN + 2.0 + QUIET - 0.01)
    assert not turns.due
    turns.begin_turn(evidence, BEGAN + 2.0 + QUIET)
    assert turns.due == {MAP}


@pytest.mark.parametrize("objective", ["freshness", "harmonic"])
def test_the_map_of_a_busy_site_is_read_day_by_day(tmp_path, objective):
    hands, read = Hands(), []

    def hear(looks):
        read.extend(at for key, at in zip(looks.keys, looks.at, strict=True)
                    if key.endswith("sitemap.xml"))  # fmt: skip

    async def scene(site, config):
        with bootstrap.writing(config) as store:
            async with keeping(config, store, config.source, hands) as keeper:
                await keeper.turn(80, hear)
                await keeper.turn(80, hear)
                read.clear()
                for _ in range(12):
                    hands.now += 1.0
                    site.set_clock(hands.now)
                    await keeper.turn(6, hear)

    with running(build(seed=1, pages=40, days=20.0, began=BEGAN)) as site:
        text = (
            f'[budget]\nrequests = 30\n[policy]\nobjective = "{objective}"\n'
            '[fetch]\ndelay = 0.0\n[[source]]\nname = "demo"\n'
            f'allow = ["127.0.0.0/8"]\nmaps = ["{site.url}/sitemap.xml"]\n'
        )
        asyncio.run(scene(site, Config.parse(text, tmp_path / "halflife.toml")))
    assert 6 <= len(read) <= 12
    assert np.diff(read).max() <= 2.01


def test_a_map_that_fails_waits_as_any_page_does():
    turns, evidence = rounds(10**6, MAP), Evidence.of([Item(MAP)])
    looks = [present(MAP, BEGAN, "x")]
    looks += [failed(MAP, BEGAN + 0.1 * n) for n in range(1, 12)]
    for look in looks:
        evidence.take(evidence.weigh(Observations.of([look])))
    last = BEGAN + 1.1
    turns.begin_turn(evidence, last + 2 * QUIET * SOONEST)
    assert not turns.due  # or every turn would plan without its short list
    turns.begin_turn(evidence, last + 1.01)  # a day at most
    assert turns.due == {MAP}
