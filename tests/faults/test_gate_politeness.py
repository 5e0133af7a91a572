"""A host is never asked faster than the delay, nor while it wants to be left alone."""

import asyncio
from itertools import pairwise

import pytest

from faults.evil import Evil, response
from halflife.core.errors import Unreachable
from halflife.net.dates import SECONDS, to_http
from web_parts import HOME, OBEDIENT, TODAY, Book, Clock, Coins, make_gate


def gaps(evil: Evil) -> list[float]:
    """Return the seconds between requests, as the server saw them."""
    return [later.at - earlier.at for earlier, later in pairwise(evil.hits)]


def test_the_server_never_sees_two_requests_closer_than_the_delay():
    async def scene():
        async with Evil() as evil, make_gate(delay=0.1) as gate:
            urls = [evil.url(f"/page?n={i}") for i in range(3)]
            urls += [evil.url("/to?url=/page"), evil.url("/hang-up"), urls[0]]
            asked = (gate.get(url, Coins(), access=HOME) for url in urls)
            await asyncio.gather(*asked, return_exceptions=True)
            return gaps(evil), evil.most_open

    seen, most_open = asyncio.run(scene())
    assert len(seen) == 7  # six pages, one redirect and one second try
    assert min(seen) >= 0.1
    assert most_open == 1


def test_the_delay_is_kept_towards_a_host_whatever_the_port():
    async def scene():
        async with Evil() as evil, Evil() as twin, make_gate(delay=0.1) as gate:
            urls = [server.url("/page") for server in (evil, twin) * 2]
            await asyncio.gather(*(gate.get(u, Coins(), access=HOME) for u in urls))
            hits = sorted(hit.at for hit in evil.hits + twin.hits)
            return [b - a for a, b in pairwise(hits)]

    assert min(asyncio.run(scene())) >= 0.1


def test_hosts_do_not_wait_for_each_other():
    async def scene():
        async with (
            asyncio.timeout(10),
            Evil() as evil,
            Evil("127.0.0.2") as other,
            make_gate(delay=3600) as gate,
        ):
            urls = [evil.url("/page"), other.url("/page")]
            await asyncio.gather(*(gate.get(u, Coins(), access=HOME) for u in urls))
            return evil.paths(), other.paths()

    assert asyncio.run(scene()) == (["/page"], ["/page"])


def test_without_a_delay_a_host_takes_many_requests_at_once():
    async def scene():
        async with asyncio.timeout(10), Evil() as evil, make_gate() as gate:
            urls = [evil.url(f"/held?n={i}") for i in range(5)]
            asked = [
                asyncio.create_task(gate.get(url, Coins(), access=HOME)) for url in urls
            ]
            while evil.open < 5:
                await asyncio.sleep(0.01)
            evil.gate.set()
            await asyncio.gather(*asked)
            return evil.most_open

    assert asyncio.run(scene()) == 5


def test_a_crawl_delay_in_robots_txt_counts_if_it_is_longer():
    async def scene():
        async with Evil() as evil, make_gate(delay=0.01) as gate:
            evil.pages["/robots.txt"] = response("User-agent: *\nCrawl-delay: 0.15")
            for i in range(3):
                url = evil.url(f"/page?n={i}")
                await gate.get(url, Coins(), access=OBEDIENT)
            return evil.paths(), gaps(evil)

    paths, seen = asyncio.run(scene())
    assert paths == ["/robots.txt", "/page", "/page", "/page"]
    assert min(seen) >= 0.15


BUSY = [
    ("120", 120.0),
    (to_http(TODAY + 300 / SECONDS), 300.0),
    ("999999999999", SECONDS),  # thirty thousand years
    (to_http(TODAY + 3650), SECONDS),
]


@pytest.mark.parametrize("code", [429, 503])
@pytest.mark.parametrize(("told", "seconds"), BUSY)
def test_a_busy_host_is_left_alone_for_as_long_as_it_says_up_to_a_day(
    code, told, seconds
):
    async def scene():
        book, clock = Book(), Clock()
        async with Evil() as evil:
            busy = evil.url(f"/status?code={code}&after={told.replace(' ', '+')}")
            async with make_gate(book=book, clock=clock) as gate:
                answer = await gate.get(busy, Coins(), access=HOME)
                assert answer.status == code
            # Another gate, as after a restart: the host is still closed.
            async with make_gate(book=book, clock=clock) as gate:
                clock.now = TODAY + (seconds - 11) / SECONDS
                with pytest.raises(Unreachable, match=r"left alone for another 11 s"):
                    await gate.get(evil.url("/page"), Coins(), access=HOME)
                clock.now = TODAY + (seconds + 1) / SECONDS
                again = await gate.get(evil.url("/page"), Coins(), access=HOME)
            return evil.paths(), again.status

    assert asyncio.run(scene()) == (["/status", "/page"], 200)


@pytest.mark.parametrize("query", ["", "&after=soon", "&after=-5", "&after=1e9"])
def test_a_busy_host_that_does_not_say_how_long_is_left_alone_ever_longer(query):
    async def scene():
        book, clock = Book(), Clock()
        async with Evil() as evil, make_gate(book=book, clock=clock) as gate:
            busy = evil.url(f"/status?code=503{query}")
            closed = []
            for _ in range(3):
                await gate.get(busy, Coins(), access=HOME)
                (state,) = book.states.values()
                closed.append((state.not_before - clock.now) * SECONDS)
                clock.now = state.not_before
            return closed

    first, second, third = asyncio.run(scene())
    assert 59.9 <= first <= 75
    assert second == pytest.approx(2 * first)
    assert third == pytest.approx(4 * first)


def test_a_closed_host_costs_nothing():
    async def scene():
        purse = Coins()
        async with Evil() as evil, make_gate() as gate:
            await gate.get(evil.url("/status?code=429&after=99"), purse, access=HOME)
            for _ in range(5):
                with pytest.raises(Unreachable):
                    await gate.get(evil.url("/page"), purse, access=HOME)
            return purse.paid, len(evil.hits)

    assert asyncio.run(scene()) == (1, 1)


def test_a_host_that_asks_for_a_moment_gets_it():
    async def scene():
        async with asyncio.timeout(10), Evil() as evil, make_gate() as gate:
            await gate.get(evil.url("/status?code=429&after=1"), Coins(), access=HOME)
            answer = await gate.get(evil.url("/page"), Coins(), access=HOME)
            return answer.status, gaps(evil)

    status, seen = asyncio.run(scene())
    assert status == 200
    assert min(seen) >= 1.0


@pytest.mark.parametrize("path", ["/status?code=500", "/short", "/silence"])
def test_a_host_that_keeps_failing_is_left_alone_after_the_third_time(path):
    async def scene():
        book = Book()
        async with Evil() as evil, make_gate(book=book, deadline=0.1) as gate:
            notes = []
            for _ in range(5):
                try:
                    await gate.get(evil.url(path), Coins(), access=HOME)
                except Unreachable as error:
                    notes.append(str(error))
            return len(evil.hits), notes[-1], book.states[evil.url("")]

    asked, note, state = asyncio.run(scene())
    assert asked == 3
    assert "left alone for another" in note
    assert state.failures == 3
    assert 59.9 <= (state.not_before - TODAY) * SECONDS <= 75


@pytest.mark.parametrize("path", ["/status?code=500", "/status?code=503", "/short"])
def test_requests_that_fail_together_count_as_one_failure(path):
    async def scene():
        book = Book()
        async with Evil() as evil, make_gate(book=book) as gate:
            asked = (gate.get(evil.url(path), Coins(), access=HOME) for _ in range(16))
            await asyncio.gather(*asked, return_exceptions=True)
            return len(evil.hits), book.states[evil.url("")].failures

    assert asyncio.run(scene()) == (16, 1)


def test_a_good_answer_makes_up_for_failures():
    async def scene():
        book = Book()
        async with Evil() as evil, make_gate(book=book) as gate:
            for _ in range(2):
                await gate.get(evil.url("/status?code=500"), Coins(), access=HOME)
            await gate.get(evil.url("/page"), Coins(), access=HOME)
            return book.states[evil.url("")].failures

    assert asyncio.run(scene()) == 0


def test_a_missing_page_is_no_failure_of_the_host():
    async def scene():
        book = Book()
        async with Evil() as evil, make_gate(book=book) as gate:
            for code in (404, 410, 401, 403, 451):
                url = evil.url(f"/status?code={code}")
                await gate.get(url, Coins(), access=HOME)
        return book.states

    assert asyncio.run(scene()) == {}


def test_a_closure_written_by_a_clock_that_was_wrong_ends_after_a_day():
    async def scene():
        book, clock = Book(), Clock(TODAY + 10_000)
        async with Evil() as evil, make_gate(book=book, clock=clock) as gate:
            await gate.get(evil.url("/status?code=429&after=60"), Coins(), access=HOME)
            clock.now = TODAY  # the clock is put right
            with pytest.raises(Unreachable, match="left alone for another 24 h"):
                await gate.get(evil.url("/page"), Coins(), access=HOME)

    asyncio.run(scene())


def test_we_say_who_we_are():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            await gate.get(evil.url("/page"), Coins(), access=HOME)
            return evil.hits[0].headers["user-agent"]

    agent = asyncio.run(scene())
    assert agent.startswith("halflife/")
    assert agent.endswith(" (+https://example.org/about)")


def test_a_request_that_is_given_up_still_counts_for_the_delay():
    async def scene():
        async with Evil() as evil, make_gate(delay=0.2) as gate:
            task = asyncio.create_task(
                gate.get(evil.url("/silence"), Coins(), access=HOME)
            )
            while not evil.hits:
                await asyncio.sleep(0.001)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await gate.get(evil.url("/page"), Coins(), access=HOME)
            return gaps(evil)

    assert min(asyncio.run(scene())) >= 0.2
