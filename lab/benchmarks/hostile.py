"""Ten hostile sources beside ten healthy ones, and what the healthy ones lose by it.

``halflife run`` keeps ten healthy sources whose pages change at seeded moments, first
alone and then beside ten hostile ones (``hostile_servers.py`` has the kinds), for as
long each. What the healthy servers were asked tells how fresh their copies were: a copy
is fresh while the version that was served last is the present one. The last line is one
object of JSON: the requests that the healthy ones got and their freshness, without the
hostile ones and beside them, and the ratios.

    .venv/bin/python lab/benchmarks/hostile.py --minutes 10

The healthy sources are to be looked at every half a minute (``min_interval`` and
``max_interval``), and the budget has room for that and more: what hostile sources take
must not be missing there. When the time is over the program runs on, unmeasured, until
every hostile source was asked once, for a minute at most. Everything stays on loopback.
"""

import argparse
import asyncio
import json
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path

from hostile_servers import Changing, Host, healthy, hostile

HEALTHY = 10  # sources
PAGES = 4  # of each
EVERY = 30.0  # seconds between two looks at a healthy page; a turn takes five
BUDGET = 36_000  # requests an hour; the healthy ones take 4 800
STARTED = 60.0  # seconds that the program may take to ask everybody once
STOPPED = 15.0  # seconds that it may take to end


def settings(hosts: list[Host], kept: set[str], every: float) -> str:
    """Return the settings that keep these sources."""
    fetch = "[fetch]\ndelay = 0.0\ntimeout = 10.0\n"
    parts = [f'[budget]\nrequests = {BUDGET}\nper = "hour"\n{fetch}']
    for host in hosts:
        pages = json.dumps([f"{host.url}{path}" for path in host.paths])
        maps = json.dumps([f"{host.url}{path}" for path in host.maps])
        part = (
            f'[[source]]\nname = "{host.name}"\nallow = ["127.0.0.0/8"]\n'
            f"pages = {pages}\nmaps = {maps}\n"
        )
        if host.name in kept:
            each = f'"{every / 60.0} min"'
            part += f"min_interval = {each}\nmax_interval = {each}\n"
        parts.append(part)
    return "".join(parts)


def freshness(hosts: list[Host], pages: Changing, begin: float, end: float) -> float:
    """Return the share of time in which what was served last was up to date."""
    fresh = total = 0.0
    for host in hosts:
        for path in host.paths:
            name = f"{host.name}{path}"
            looks = [at for at, asked in host.asked if asked == path and at < end]
            changed = [pages.began + at for at in pages.moments(name)]
            edges = sorted(
                {begin, end, *(t for t in (*looks, *changed) if begin < t < end)}
            )
            total += end - begin
            for left, right in pairwise(edges):
                last = max((at for at in looks if at <= left), default=None)
                if last is not None:
                    same = pages.version(name, last) == pages.version(name, left)
                    fresh += (right - left) * same
    return fresh / total


async def play(
    seconds: float, every: float, seed: int, *, beside: bool
) -> dict[str, object]:
    """Run the program for so long; return what came of it."""
    pages = Changing(seed, seconds + STARTED + STOPPED)
    well, sick = healthy(pages, HEALTHY, PAGES), hostile() if beside else []
    async with AsyncExitStack() as stack:
        for host in (*well, *sick):
            await stack.enter_async_context(await host.listen())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kept = {host.name for host in well}
        text = settings([*sick, *well], kept, every)
        (folder / "halflife.toml").write_text(text, encoding="utf-8")
        log = stack.enter_context((folder / "log").open("w+", encoding="utf-8"))
        pages.began = time.monotonic()
        program = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "halflife", "run", cwd=folder, stdout=log, stderr=log
        )
        began = await _until(lambda: all(map(_looked_at, well)), program)
        await asyncio.sleep(seconds)
        end = time.monotonic()
        stopped = await _until(lambda: all(host.asked for host in sick), program)
        alive = program.returncode is None
        if alive:
            program.send_signal(signal.SIGTERM)
        async with asyncio.timeout(STOPPED):
            await program.wait()
        log.seek(0)
        told = log.read()
    looks = sum(began <= at < end for host in well for at, _ in host.asked)
    return {
        "seconds": round(end - began, 1),
        "healthy_requests": looks,
        "healthy_freshness": round(freshness(well, pages, began, end), 5),
        "hostile_requests": {host.name: len(host.asked) for host in sick},
        "stopped_in_s": round(time.monotonic() - stopped, 1),
        "exit_code": program.returncode if alive else f"died: {program.returncode}",
        "tracebacks": told.count("Traceback"),
        "mishandled": told.count('"answer mishandled"'),
        "peak_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
    }


def _looked_at(host: Host) -> bool:
    """Say whether every page of a host was asked for once."""
    return len({path for _, path in host.asked}) == len(host.paths)


async def _until(
    condition: Callable[[], bool], program: asyncio.subprocess.Process
) -> float:
    """Wait until something is true, but not for ever; return when that was."""
    end = time.monotonic() + STARTED
    while time.monotonic() < end and program.returncode is None:
        if condition():
            break
        await asyncio.sleep(0.1)
    return time.monotonic()


async def _both(
    seconds: float, every: float, seed: int
) -> tuple[dict[str, object], dict[str, object]]:
    """Play without and with the hostile ones at the same time: half the wait."""
    alone, among = await asyncio.gather(
        play(seconds, every, seed, beside=False),
        play(seconds, every, seed, beside=True),
    )
    return alone, among


def main() -> None:
    """Play twice, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="of each run")
    parser.add_argument("--every", type=float, default=EVERY, help="seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--at-once", action="store_true", help="both runs at the same time"
    )
    given = parser.parse_args()
    how = given.minutes * 60.0, given.every, given.seed
    if given.at_once:
        alone, among = asyncio.run(_both(*how))
    else:
        alone = asyncio.run(play(*how, beside=False))
        print(json.dumps({"without": alone}), flush=True)
        among = asyncio.run(play(*how, beside=True))
    per = [
        float(str(one["healthy_requests"])) / float(str(one["seconds"]))
        for one in (alone, among)
    ]
    fresh = [float(str(one["healthy_freshness"])) for one in (alone, among)]
    row = {
        "minutes": given.minutes,
        "seed": given.seed,
        "without": alone,
        "with": among,
        "requests_ratio": round(per[1] / per[0], 4),
        "freshness_ratio": round(fresh[1] / fresh[0], 4),
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main()
