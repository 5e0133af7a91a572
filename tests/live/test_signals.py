import asyncio
import signal
import subprocess
import sys

import pytest

from halflife.engine.signals import Stop, until_stopped


def test_work_that_nobody_stops_returns_its_result():
    async def play():
        stop = Stop()
        return await until_stopped(asyncio.sleep(0, "done"), stop, lambda: None), stop

    result, stop = asyncio.run(play())
    assert result == "done"
    assert stop.code == 0


def test_the_first_signal_eases_and_lets_the_work_finish():
    eased = []

    async def play():
        stop, ready = Stop(), asyncio.Event()

        async def work():
            await ready.wait()
            return "done"

        asyncio.get_running_loop().call_soon(stop.ask, signal.SIGTERM)

        def ease():
            eased.append(1)
            ready.set()

        return await until_stopped(work(), stop, ease), stop.code

    assert asyncio.run(play()) == ("done", 143)
    assert eased == [1]


def test_the_second_signal_breaks_the_work_off():
    ended = []

    async def play():
        stop = Stop()

        async def work():
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(1)

        loop = asyncio.get_running_loop()
        loop.call_later(0.01, stop.ask, signal.SIGINT)
        loop.call_later(0.02, stop.ask, signal.SIGTERM)
        return await until_stopped(work(), stop, lambda: None), stop.code

    assert asyncio.run(play()) == (None, 130)  # the first signal names the code
    assert ended == [1]


def test_an_error_of_the_work_is_not_swallowed():
    async def broken():
        raise ValueError("no")

    async def play():
        return await until_stopped(broken(), Stop(), lambda: None)

    with pytest.raises(ValueError, match="no"):
        asyncio.run(play())


def test_sleep_ends_when_asked_to_stop():
    async def play():
        stop = Stop()
        asyncio.get_running_loop().call_soon(stop.ask, signal.SIGINT)
        await asyncio.wait_for(stop.sleep(60.0), 10.0)
        await stop.sleep(60.0)  # and does not begin afterwards

    asyncio.run(play())


def test_a_program_that_ends_at_once_when_asked_waits_for_nobody(tmp_path):
    # The loop hears of the signal, and ends, before the watching thread goes on.
    program = tmp_path / "program.py"
    program.write_text(
        "import asyncio, os, signal, sys, time\n"
        "from halflife.engine import signals\n"
        "\n"
        "class Os:\n"
        "    def __getattr__(self, name):\n"
        "        return getattr(os, name)\n"
        "    def write(self, *given):\n"
        "        os.write(*given)\n"
        "        time.sleep(0.3)\n"
        "\n"
        "async def main():\n"
        "    stop = signals.Stop()\n"
        "    with stop.on_signals():\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        await stop.asked.wait()\n"
        "    return stop.code\n"
        "\n"
        "signals.os = Os()\n"
        "sys.exit(asyncio.run(main()))\n"
    )
    done = subprocess.run(
        [sys.executable, program],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 143
    assert done.stderr == ""
