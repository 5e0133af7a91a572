"""No answer takes more time, memory or requests than it may."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from faults.evil import BOMB, Evil
from halflife.core.errors import BudgetSpent, Unreachable
from halflife.net import wire
from web_parts import HOME, Book, Coins, make_gate

CODINGS = ["gzip", "deflate", "br", "zstd"]
TESTS = Path(__file__).parents[1]


async def ask(path: str, purse=None, **settings):
    """Ask a fault for an answer; return it or the error, and the paths asked for."""
    async with asyncio.timeout(20), Evil() as evil, make_gate(**settings) as gate:
        try:
            got = await gate.get(evil.url(path), purse or Coins(), access=HOME)
        except Unreachable as error:
            got = error
        return got, evil.paths()


@pytest.mark.parametrize("path", ["/drip-headers", "/silence", "/interim"])
def test_an_answer_that_does_not_begin_is_cut_off_at_the_deadline(path):
    got, _ = asyncio.run(ask(path, deadline=0.3))
    assert str(got) == "127.0.0.1: no full answer in time"


@pytest.mark.parametrize("path", ["/drip-body", "/stall"])
def test_a_body_that_comes_too_slowly_is_cut_off_long_before_the_deadline(path):
    got, _ = asyncio.run(ask(path, deadline=3600, grace=0.2, slowest=1000))
    assert str(got) == "127.0.0.1: no full answer in time"


def test_the_deadline_covers_all_redirects_together():
    async def scene():
        async with asyncio.timeout(20), Evil() as evil, make_gate(deadline=0.5) as gate:
            with pytest.raises(Unreachable, match="no full answer in time"):
                await gate.get(evil.url("/to?url=/stall"), Coins(), access=HOME)
            return evil.paths()

    assert asyncio.run(scene()) == ["/to", "/stall"]


@pytest.mark.parametrize("coding", CODINGS)
def test_every_coding_we_offer_is_decoded(coding):
    got, _ = asyncio.run(ask(f"/packed?coding={coding}"))
    assert got.body == b"<p>inside"


@pytest.mark.parametrize("coding", CODINGS)
def test_a_bomb_does_not_go_off(coding):
    got, _ = asyncio.run(ask(f"/bomb?coding={coding}", largest=1 << 20))
    assert str(got) == "127.0.0.1: the answer is larger than 1048576 bytes"


def test_bombs_and_endless_streams_take_no_more_memory_than_one_answer_may():
    largest = 8 << 20

    async def scene():
        async with Evil() as evil:
            paths = [f"/bomb?coding={coding}" for coding in CODINGS]
            paths += ["/endless", "/endless-header", "/claims-much", "/bomb-redirect"]
            client = await asyncio.create_subprocess_exec(
                sys.executable,
                TESTS / "faults" / "bomb_client.py",
                str(largest),
                *(evil.url(path) for path in ["/page", *paths]),
                stdout=asyncio.subprocess.PIPE,
                env=os.environ | {"PYTHONPATH": str(TESTS)},
            )
            printed, _ = await client.communicate()
            return json.loads(printed)

    result = asyncio.run(scene())
    assert len(result["notes"]) == 7  # the bomb in a redirect is not even looked at
    assert result["growth"] <= largest + 20e6 < BOMB


def test_a_coding_within_a_coding_is_refused():
    got, _ = asyncio.run(ask("/twice"))
    assert str(got) == "127.0.0.1: the answer is encoded more than once"


def test_a_damaged_coding_is_an_error_and_not_a_change():
    got, _ = asyncio.run(ask("/damaged"))
    assert str(got) == "127.0.0.1: the answer is damaged: it cannot be decoded"


@pytest.mark.parametrize("path", ["/short", "/abort", "/reset"])
def test_a_truncated_body_is_an_error_and_not_a_change(path):
    got, _ = asyncio.run(ask(path))
    assert str(got) == "127.0.0.1: the answer was truncated"


def test_bytes_beyond_the_announced_length_do_not_become_the_next_answer():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            first = await gate.get(evil.url("/long"), Coins(), access=HOME)
            second = await gate.get(evil.url("/page?n=2"), Coins(), access=HOME)
            return first.body, second.body

    first, second = asyncio.run(scene())
    assert first == b"<p>hello"
    assert b"Hello 2" in second


@pytest.mark.parametrize("path", ["/long-header", "/many-headers", "/endless-header"])
def test_headers_without_measure_are_refused(path):
    got, _ = asyncio.run(ask(path))
    assert str(got) == "127.0.0.1: the answer is not proper HTTP"


def test_what_is_not_http_is_refused():
    got, _ = asyncio.run(ask("/garbage"))
    assert str(got) == "127.0.0.1: the answer is not proper HTTP"


def test_a_redirect_loop_ends_after_five_redirects_each_of_them_paid_for():
    purse = Coins()
    got, seen = asyncio.run(ask("/loop", purse))
    assert str(got) == "127.0.0.1: more than 5 redirects"
    assert len(seen) == purse.paid == 6


def test_five_redirects_are_followed_and_a_sixth_is_not():
    got, seen = asyncio.run(ask("/chain?n=5"))
    assert (got.status, got.hops, len(seen)) == (200, 6, 6)
    got, _ = asyncio.run(ask("/chain?n=6"))
    assert isinstance(got, Unreachable)


def test_a_permanent_move_is_reported_and_a_temporary_one_is_not():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            found = []
            for code in (301, 308, 302, 303, 307):
                url = evil.url(f"/to?url=/page&code={code}")
                answer = await gate.get(url, Coins(), access=HOME)
                found.append(answer.moved_to == evil.url("/page"))
            return found

    assert asyncio.run(scene()) == [True, True, False, False, False]


def test_a_redirect_that_cannot_be_paid_for_is_not_followed():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            with pytest.raises(BudgetSpent):
                await gate.get(evil.url("/to?url=/page"), Coins(left=1), access=HOME)
            return evil.paths()

    assert asyncio.run(scene()) == ["/to"]


def test_nothing_is_sent_that_is_not_paid_for():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            with pytest.raises(BudgetSpent):
                await gate.get(evil.url("/page"), Coins(left=0), access=HOME)
            return evil.hits

    assert asyncio.run(scene()) == []


def test_a_host_that_hangs_up_is_asked_once_more_and_both_are_paid_for():
    purse = Coins()
    got, seen = asyncio.run(ask("/hang-up", purse))
    assert str(got) == "127.0.0.1: it hung up without an answer"
    assert len(seen) == purse.paid == 2


def test_a_connection_that_was_closed_while_idle_does_not_fail_the_next_request():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            statuses = []
            for _ in range(20):
                answer = await gate.get(evil.url("/close"), Coins(), access=HOME)
                statuses.append(answer.status)
            return statuses

    assert asyncio.run(scene()) == [200] * 20


def test_cookies_are_not_kept():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            for _ in range(2):
                await gate.get(evil.url("/cookie"), Coins(), access=HOME)
            return [hit.headers.get("cookie") for hit in evil.hits]

    assert asyncio.run(scene()) == [None, None]


def test_connections_are_kept_for_the_next_request():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            for path in ("/page", "/nothing", "/to?url=/page", "/tagged", "/liar"):
                await gate.get(evil.url(path), Coins(), access=HOME)
            return len(evil._tasks)

    assert asyncio.run(scene()) == 1


async def ask_hosts(gate, evil, hosts):
    for i in range(hosts):
        url = evil.url("/page", f"127.0.0.{i + 1}")
        await gate.get(url, Coins(), access=HOME)


async def until(holds):
    """Wait until something holds; a server learns late that it was hung up on."""
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.01)


def test_no_more_connections_are_kept_than_allowed_however_many_hosts_there_are(
    monkeypatch,
):
    monkeypatch.setattr(wire, "_IDLE", 60.0)  # so it is their number that closes them

    async def scene():
        async with Evil("0.0.0.0") as evil, make_gate(idle=10) as gate:
            await ask_hosts(gate, evil, 60)
            await until(lambda: gate._wire.idle <= 10 and len(evil._tasks) <= 10)
            return gate._wire.idle

    assert asyncio.run(scene()) >= 1


def test_connections_that_nobody_uses_are_closed(monkeypatch):
    monkeypatch.setattr(wire, "_IDLE", 0.05)

    async def scene():
        async with Evil("0.0.0.0") as evil, make_gate() as gate:
            await ask_hosts(gate, evil, 20)
            await until(lambda: not gate._wire.idle and not evil._tasks)

    asyncio.run(scene())


def test_a_closed_port_is_unreachable_and_counts_against_the_host():
    async def scene():
        book = Book()
        async with Evil() as evil:
            url = evil.url("/page")
        async with make_gate(book=book) as gate:
            with pytest.raises(Unreachable, match="no connection could be made"):
                await gate.get(url, Coins(), access=HOME)
        return [state.failures for state in book.states.values()]

    assert asyncio.run(scene()) == [1]
