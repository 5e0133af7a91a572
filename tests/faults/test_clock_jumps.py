"""Clocks that are set wrong, and right again, in the middle of keeping pages."""

import asyncio
from random import Random

import numpy as np
import pytest

from fault_points import count
from halflife.config import Config
from halflife.engine import bootstrap
from halflife.kinds.pages.runner import keeping

TODAY = 20_000.0
HOUR = 1.0 / 24.0
BUDGET, PAGES, TURNS = 30, 10, 40
SEEDS = count(range(24), range(3))
JUMPS = (HOUR, -HOUR, 1.0, -1.0, "1970")
SETTINGS = """\
[budget]
requests = {budget}
[fetch]
delay = 0.0
[[source]]
name = "site"
allow = ["127.0.0.0/8"]
pages = {pages}
"""


class Hands:
    """A clock that can be set; ``true`` is the time that it should show."""

    def __init__(self):
        self.true, self.off, self.jumps = TODAY, 0.0, []

    def __call__(self):
        return self.true + self.off

    def set(self, jump):
        """Set the clock wrong by so much, or to 1970."""
        self.jumps.append(self.true)
        self.off = 0.4 - self.true if jump == "1970" else self.off + jump

    def right(self):
        """Set it right."""
        if self.off:
            self.jumps.append(self.true)
            self.off = 0.0


class Script:
    """What is done to the clock: which turns, before them or in their middle."""

    def __init__(self, seed):
        rng = Random(seed)
        self.turns = {}
        for start in (5, 14, 23, 31):
            wrong = start + rng.randint(0, 3)
            self.turns[wrong] = (rng.choice(JUMPS), rng.random() < 0.5)
            self.turns[wrong + rng.randint(1, 4)] = (None, rng.random() < 0.5)
        self.steps = [rng.uniform(0.2, 4.0) * HOUR for _ in range(TURNS)]

    def play(self, hands, turn, *, inside):
        jump, middle = self.turns.get(turn, (None, None))
        if middle is inside:
            hands.right() if jump is None else hands.set(jump)


@pytest.fixture
def config(server, tmp_path):
    paths = [f"/p{i}" for i in range(PAGES)]
    for path in paths:
        server.pages[path] = ("text/plain", path.encode())
    pages = [server.url + path for path in paths]
    text = SETTINGS.format(budget=BUDGET, pages=str(pages).replace("'", '"'))
    return Config.parse(text, tmp_path / "halflife.toml")


class Watch:
    """What a run did, turn by turn."""

    def __init__(self, keeper, server, hands):
        self.keeper, self.server, self.hands = keeper, server, hands
        self.sent = []  # when, in true time, each request was sent

    def look(self):
        """Check what is believed after a turn."""
        new = len(self.server.asked) - len(self.sent)
        self.sent += [self.hands.true] * new
        now = self.hands()
        view = self.keeper.loop.view(self.keeper.run, now, now)
        known = self.keeper.wallet.store.evidence(["site"])
        assert (view.age >= 0).all()
        assert (view.exposure >= 0).all()
        alive = view.survival.alive(view.exposure)
        assert ((alive >= 0) & (alive <= 1)).all()
        assert np.isfinite(view.rate).all()
        assert (known.gaps().length >= 0).all()
        assert (known.quiet >= 0).all()
        return new


async def kept(config, server, seed):
    """Keep pages while the clock is set; return the watch, and the charges."""
    hands, script = Hands(), Script(seed)
    with bootstrap.writing(config) as store:
        async with keeping(config, store, config.source, hands) as keeper:
            watch = Watch(keeper, server, hands)
            for turn, step in enumerate(script.steps):
                hands.true += step
                script.play(hands, turn, inside=False)
                if turn % 7 == 3:
                    change = f"{turn}".encode()
                    server.pages["/p1"] = ("text/plain", change)
                await keeper.turn(
                    keeper.allowance(),
                    lambda _, t=turn: script.play(hands, t, inside=True),
                )
                script.turns.pop(turn, None)
                watch.look()
        assert store.verify() == []
        query = "SELECT at, sum(requests) FROM ledger GROUP BY at ORDER BY at"
        charges = np.array(store._db.execute(query).fetchall())
    return watch, charges


@pytest.mark.parametrize("seed", SEEDS)
def test_a_clock_that_jumps_makes_no_negative_age_and_no_window_too_full(
    config, server, seed
):
    watch, charges = asyncio.run(kept(config, server, seed))
    at, requests = charges.T
    assert requests.sum() == len(watch.sent)
    for end in at:
        assert requests[(at > end - 1.0) & (at <= end)].sum() <= BUDGET
    # Nobody can tell a clock that was set from a night's sleep; but each time it is
    # set buys one window and no more.
    sent, jumps = np.array(watch.sent), np.array(watch.hands.jumps)
    for end in sent:
        set_within = np.count_nonzero((jumps > end - 1.0) & (jumps <= end))
        assert np.count_nonzero((sent > end - 1.0) & (sent <= end)) <= BUDGET * (
            1 + set_within
        )
    assert sent.size > BUDGET  # it goes on


@pytest.mark.parametrize("jump", [-HOUR, -1.0, "1970"])
def test_a_clock_that_is_set_back_starts_no_stampede(config, server, jump):
    async def scene():
        hands = Hands()
        with bootstrap.writing(config) as store:
            async with keeping(config, store, config.source, hands) as keeper:
                watch = Watch(keeper, server, hands)
                for _ in range(6):
                    await keeper.turn(keeper.allowance())
                    watch.look()
                    hands.true += 2 * HOUR
                hands.set(jump)
                found = []
                for _ in range(6):
                    await keeper.turn(keeper.allowance())
                    found.append(watch.look())
                    hands.true += 2 * HOUR
        return found

    assert max(asyncio.run(scene())) <= 2 * HOUR * BUDGET + 1


@pytest.mark.parametrize("jump", [HOUR, 1.0, 30_000.0])
def test_a_clock_that_was_ahead_for_a_while_does_not_stop_work_for_good(
    config, server, jump
):
    async def scene():
        hands = Hands()
        with bootstrap.writing(config) as store:
            async with keeping(config, store, config.source, hands) as keeper:
                watch = Watch(keeper, server, hands)
                await keeper.turn(keeper.allowance())
                hands.set(jump)
                await keeper.turn(keeper.allowance())
                hands.right()
                watch.look()
                hands.true += jump + 1.1
                await keeper.turn(keeper.allowance())
                return watch.look()

    assert 0 < asyncio.run(scene()) <= BUDGET


@pytest.mark.parametrize("jump", [-1.0, 1.0, 30_000.0, "1970"])
def test_what_a_wrong_clock_saw_is_seen_again_and_teaches_nothing_absurd(
    config, server, jump
):
    async def scene():
        hands = Hands()
        with bootstrap.writing(config) as store:
            async with keeping(config, store, config.source, hands) as keeper:
                for turn in range(60):
                    if turn == 20:
                        hands.set(jump)
                    if turn == 24:
                        hands.right()
                        server.asked.clear()
                    await keeper.turn(keeper.allowance())
                    hands.true += 3 * HOUR
                known = store.evidence(["site"])
                gaps, quiet = known.gaps().length.max(initial=0.0), known.quiet
                rate = keeper.loop.view(keeper.run, hands(), hands()).rate
                return hands.true - TODAY, gaps, quiet.max(), rate.min()

    days, longest, quiet, rate = asyncio.run(scene())
    assert rate > 1e-4
    assert {path for path in server.asked if path != "/robots.txt"} == {
        f"/p{i}" for i in range(PAGES)
    }
    assert max(longest, quiet) <= days + 2.0  # one day ahead and back adds as much
