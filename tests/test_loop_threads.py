"""Blocking calls that run loops of their own, made where a loop runs already."""

import asyncio
import signal
import threading
import time
from contextvars import ContextVar

import pytest

from halflife.engine.threads import call_apart, complete

ASKED = ContextVar("asked", default="nobody")


async def answer():
    await asyncio.sleep(0)
    return threading.current_thread()


async def fail():
    raise ValueError("as said")


def test_without_a_loop_the_work_is_done_in_the_thread_that_asks():
    assert complete(answer) is threading.current_thread()
    assert call_apart(threading.current_thread) is threading.current_thread()


def test_in_a_running_loop_it_is_done_in_another_thread():
    async def notebook():
        return complete(answer), call_apart(lambda: asyncio.run(answer()))

    threads = asyncio.run(notebook())
    assert threading.current_thread() not in threads


def test_a_thread_beside_a_loop_needs_no_other():
    async def service():
        return await asyncio.to_thread(lambda: complete(answer).name)

    assert asyncio.run(service()) != "MainThread"


@pytest.mark.parametrize("looped", [False, True])
def test_what_the_work_raises_is_raised(looped):
    async def notebook():
        complete(fail)

    with pytest.raises(ValueError, match="as said"):
        asyncio.run(notebook()) if looped else complete(fail)


def test_context_variables_are_those_of_the_caller():
    async def notebook():
        ASKED.set("me")
        return call_apart(ASKED.get)

    assert asyncio.run(notebook()) == "me"


@pytest.mark.parametrize("looped", [False, True])
def test_a_keyboard_interrupt_ends_the_work_and_closes_what_it_holds(looped):
    begun, closed = threading.Event(), threading.Event()

    async def long():
        try:
            begun.set()
            await asyncio.sleep(60)
        finally:
            closed.set()

    async def notebook():
        complete(long)

    def interrupt():
        begun.wait(10)
        time.sleep(0.05)  # the thread that asks waits by now
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    # As in a kernel: the handler of the loop that runs is not that of asyncio.run.
    loop = asyncio.new_event_loop()
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(notebook()) if looped else complete(long)
    loop.close()
    assert closed.is_set()
