"""The event loop with a virtual clock."""

import asyncio
import random
import time
from concurrent.futures import CancelledError

import pytest

from halflife.engine.threads import LoopCaller, submit
from halflife.replay import virtual_loop
from halflife.replay.virtual_loop import StandstillError


def test_a_year_of_sleep_takes_no_time():
    async def main(loop):
        for _ in range(365):
            await asyncio.sleep(86400.0)
        return loop.time()

    began = time.monotonic()
    assert virtual_loop.run(main) == pytest.approx(365 * 86400.0)
    assert time.monotonic() - began < 5.0


def test_sleepers_wake_in_the_order_of_their_times():
    woke = []

    async def sleeper(seconds):
        await asyncio.sleep(seconds)
        woke.append(seconds)

    async def main(loop):
        await asyncio.gather(*(sleeper(s) for s in (3.0, 1.0, 2.0)))
        return loop.time()

    assert virtual_loop.run(main) == 3.0
    assert woke == [1.0, 2.0, 3.0]


def test_no_virtual_time_passes_while_a_thread_thinks():
    async def main(loop):
        timer = asyncio.create_task(asyncio.sleep(10.0))
        await asyncio.to_thread(time.sleep, 0.05)
        before = loop.time()
        await timer
        return before, loop.time()

    assert virtual_loop.run(main) == (0.0, 10.0)


def test_no_virtual_time_passes_while_a_request_is_under_way():
    async def main(loop):
        server = await asyncio.start_server(late_echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        before = loop.time()
        async with server:
            said = await loop.outside(ask(port))
        return said, loop.time() - before

    async def late_echo(reader, writer):
        writer.write(await reader.readline())
        writer.close()

    async def ask(port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"hello\n")
        said = await reader.read()
        writer.close()
        return said

    assert virtual_loop.run(main) == (b"hello\n", 0.0)


def test_results_come_back_in_the_order_in_which_work_was_begun():
    order = []

    async def one(number):
        await asyncio.to_thread(time.sleep, random.uniform(0.0, 0.02))
        order.append(number)

    async def main(loop):
        await asyncio.gather(*(one(n) for n in range(20)))

    virtual_loop.run(main)
    assert order == list(range(20))


def test_threads_that_ask_get_their_turn_in_the_order_they_were_begun():
    order = []

    def planner(loop, number):
        for step in range(5):
            time.sleep(random.uniform(0.0, 0.005))
            submit(answer(number, step), loop).result()

    async def answer(number, step):
        order.append((step, number))
        await asyncio.sleep(1.0)

    async def main(loop):
        work = (asyncio.to_thread(planner, loop, n) for n in range(4))
        await asyncio.gather(*work)
        return loop.time()

    assert virtual_loop.run(main) == pytest.approx(5.0)
    assert order == [(step, n) for step in range(5) for n in range(4)]


def test_a_thread_that_fails_fails_whoever_waits_for_it():
    def broken():
        raise ValueError("broken")

    async def main(loop):
        await asyncio.to_thread(broken)

    with pytest.raises(ValueError, match="broken"):
        virtual_loop.run(main)


def test_what_waits_for_nothing_is_told_so():
    async def main(loop):
        await loop.create_future()

    with pytest.raises(StandstillError, match="cannot go on"):
        virtual_loop.run(main)


def test_a_time_limit_is_kept_in_virtual_time():
    async def main(loop):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30.0):
                await asyncio.sleep(3600.0)
        return loop.time()

    assert virtual_loop.run(main) == pytest.approx(30.0)


def test_of_equal_times_the_timer_asked_for_first_comes_first():
    woke = []

    async def main(loop):
        for number in range(50):
            when = 5.0 if number % 3 else 4.0
            loop.call_at(when, woke.append, (when, number))
        await asyncio.sleep(6.0)

    virtual_loop.run(main)
    assert woke == sorted(woke)


@pytest.mark.parametrize("between", [0, 1, 7, 50])
def test_the_time_does_not_depend_on_timers_in_between(between):
    """To add up waits would differ in the last digit, and so would what is equal."""

    async def main(loop):
        for i in range(between):
            loop.call_later((i + 0.37) * 0.1, lambda: None)
        seen = []
        for _ in range(200):
            await asyncio.sleep(0.1)
            seen.append(loop.time())
        return seen

    expected, now = [], 0.0
    for _ in range(200):
        now += 0.1
        expected.append(now)
    assert virtual_loop.run(main) == expected


def test_a_call_is_broken_off_however_slow_the_thread_that_made_it():
    """The loop may be at work before the thread has anything in hand to cancel."""
    asked, ended = [], []

    def planner(caller):
        try:
            caller.call(answer())
        except CancelledError:
            ended.append("broken off")

    async def answer():
        await asyncio.sleep(2.0)
        asked.append("sent")

    async def main(loop):
        for _ in range(200):
            caller = LoopCaller(loop)
            work = asyncio.ensure_future(asyncio.to_thread(planner, caller))
            await loop.settle()
            caller.break_off()
            await work

    virtual_loop.run(main)
    assert (asked, ended) == ([], ["broken off"] * 200)
