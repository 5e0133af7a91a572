"""What every source owes its caller. A new source is added to WORLDS, nowhere else."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from math import isfinite

import pytest

from faults.evil import Evil, response
from halflife.core.observation import Observation, Observations, Seen
from halflife.core.request import Fetch
from halflife.core.source import Source
from halflife.kinds.pages.client import PageClient, SiteSettings
from web_parts import HOME, TODAY, Clock, Coins, make_gate


@dataclass(frozen=True)
class World:
    """A source and the strings that move what it looks at.

    Attributes:
        source: The source under test.
        slots: The most requests it may have under way.
        key: Return the key of an item by its number.
        put: Give an item new content; without any it is gone.
        break_: Make every look at an item fail.
        asked: Return how many requests have reached the remote side.

    """

    source: Source
    slots: int
    key: Callable[[int], str]
    put: Callable[[int, str | None], None]
    break_: Callable[[int], None]
    asked: Callable[[], int]


@asynccontextmanager
async def pages() -> AsyncIterator[World]:
    """Pages of a real server on loopback."""
    async with Evil() as evil, make_gate(clock=Clock()) as gate:

        def put(number: int, text: str | None) -> None:
            answer = response("gone", 404) if text is None else response(f"<p>{text}")
            evil.pages[f"/{number}"] = answer

        def break_(number: int) -> None:
            evil.pages[f"/{number}"] = response("oh no", 403)

        sites = {"site": SiteSettings(HOME)}
        yield World(
            source=PageClient(gate, sites, source_of=lambda _: "site", concurrency=4),
            slots=4,
            key=lambda number: evil.url(f"/{number}"),
            put=put,
            break_=break_,
            asked=lambda: len(evil.hits),
        )


WORLDS = [pages]


@pytest.fixture(params=WORLDS, ids=lambda world: world.__name__)
def world(request) -> Callable[[], AbstractAsyncContextManager[World]]:
    return request.param


async def look(world: World, numbers, purse=None, held=None) -> list[Observation]:
    """Look at some items once; return all that was seen."""
    fetches = [Fetch(world.key(n), held) for n in numbers]
    found: list[Observation] = []
    async for looks in world.source.perform(fetches, TODAY, purse or Coins()):
        assert isinstance(looks, Observations)
        assert len(looks) > 0
        found += looks
    return found


def test_nothing_asked_nothing_yielded(world):
    async def scene():
        async with world() as w:
            return await look(w, []), w.asked()

    assert asyncio.run(scene()) == ([], 0)


def test_every_request_is_answered_once(world):
    async def scene():
        async with world() as w:
            for n in range(20):
                w.put(n, f"item {n}")
            found = await look(w, range(20))
            return sorted(o.key for o in found), sorted(w.key(n) for n in range(20))

    found, asked = asyncio.run(scene())
    assert found == asked


def test_present_absent_and_failed_are_told_apart(world):
    async def scene():
        async with world() as w:
            w.put(0, "here")
            w.put(1, None)
            w.break_(2)
            found = await look(w, range(3))
            return [next(o for o in found if o.key == w.key(n)) for n in range(3)]

    present, absent, failed = asyncio.run(scene())
    assert (present.seen, absent.seen, failed.seen) == (
        Seen.PRESENT,
        Seen.ABSENT,
        Seen.FAILED,
    )
    assert present.digest
    assert not absent.digest
    assert not failed.digest
    assert failed.note


def test_looks_are_stamped_with_a_time_not_before_now(world):
    async def scene():
        async with world() as w:
            w.put(0, "here")
            w.break_(1)
            return await look(w, range(2))

    assert all(isfinite(o.at) and o.at >= TODAY for o in asyncio.run(scene()))


def test_the_digest_changes_with_the_content_and_only_then(world):
    async def scene():
        async with world() as w:
            digests = []
            for text in ("one", "one", "two", "one"):
                w.put(0, text)
                (found,) = await look(w, [0])
                digests.append(found.digest)
            return digests

    first, same, other, back = asyncio.run(scene())
    assert first == same == back != other


def test_what_we_hold_does_not_hide_a_change(world):
    async def scene():
        async with world() as w:
            w.put(0, "one")
            (held,) = await look(w, [0])
            (same,) = await look(w, [0], held=held)
            w.put(0, "two")
            (other,) = await look(w, [0], held=held)
            return held.digest, same.digest, other.digest

    held, same, other = asyncio.run(scene())
    assert held == same != other


@pytest.mark.parametrize("budget", [0, 1, 3, 10, 11])
def test_no_more_is_asked_than_can_be_paid_for(world, budget):
    async def scene():
        async with world() as w:
            for n in range(10):
                w.put(n, "x")
            purse = Coins(left=budget)
            found = await look(w, range(10), purse)
            return len(found), w.asked(), purse.paid

    answered, asked, paid = asyncio.run(scene())
    assert answered == asked == paid == min(budget, 10)


def test_nothing_more_is_asked_until_the_caller_has_taken_what_came(world):
    async def scene():
        async with world() as w:
            for n in range(12):
                w.put(n, "x")
            fetches = [Fetch(w.key(n)) for n in range(12)]
            taken = 0
            async for looks in w.source.perform(fetches, TODAY, Coins()):
                await asyncio.sleep(0.05)  # the caller is slow to write it down
                assert w.asked() - taken <= w.slots
                taken += len(looks)
            return taken

    assert asyncio.run(scene()) == 12


def test_a_caller_may_stop_listening_and_nothing_goes_on_behind_its_back(world):
    async def scene():
        async with world() as w:
            for n in range(12):
                w.put(n, "x")
            fetches = [Fetch(w.key(n)) for n in range(12)]
            answers = w.source.perform(fetches, TODAY, Coins())
            await anext(answers)
            await answers.aclose()
            before = w.asked()
            await asyncio.sleep(0.1)
            return before, w.asked()

    before, after = asyncio.run(scene())
    assert before == after < 12
