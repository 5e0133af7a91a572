"""Pages fetched for each second of processor time: halflife beside Scrapy.

Both fetch the same pages from the same local server, in turns, each in a process
of its own pinned to one core while the server has the other. halflife checks every
address, bounds every answer, takes the fingerprint of the visible text and writes
the look durably to its state file; Scrapy parses the page, takes the fingerprint
of its text and writes a line of JSON. ``halflife_keeping`` also writes down the
content of every page, as it does unless told not to. Robots.txt and delays are
off for all. Prints one line of JSON.

    .venv/bin/python lab/benchmarks/fetch.py
    .venv/bin/python lab/benchmarks/fetch.py --scrapy /path/to/python --repeats 5

Without ``--scrapy`` the rival is installed into a temporary folder.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
SPIDER = HERE / "fetch_scrapy.py"
SIZE = 19_000  # bytes a page has
CPU = "pages_per_cpu_s"


def page(number: int) -> str:
    """Return a page of ``SIZE`` bytes: a head, a menu, an article, a script."""
    rng = random.Random(number)
    words = [
        "".join(rng.choices("aeioulmnrst", k=rng.randint(2, 9))) for _ in range(500)
    ]
    menu = "".join(f"<li><a href='/page/{i}'>{words[i]}</a></li>" for i in range(30))
    head = (
        f"<!doctype html><html><head><meta charset='utf-8'><title>{number}</title>"
        "<style>body { margin: 0 } p > a { color: red }</style></head>"
        f"<body><nav><ul>{menu}</ul></nav><main class='article'><h1>{words[0]}</h1>"
    )
    foot = (
        "</main><footer>&copy; us</footer><script>var a = 1 < 2;</script></body></html>"
    )
    body, size = [], len(head) + len(foot)
    while size < SIZE:
        text = " ".join(rng.choices(words, k=40))
        body.append(
            f"<p class='text'>{text} <b>{words[1]}</b> <a href='/x'>on</a></p>\n"
        )
        size += len(body[-1])
    return head + "".join(body) + foot


async def serve(pages: int) -> None:
    """Serve the pages on loopback until the input closes; print the port."""
    answers = [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        for body in (page(number).encode() for number in range(pages))
    ]

    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while head := await _head(reader):
            path = head.split(b" ", 2)[1]
            writer.write(answers[int(path.rpartition(b"/")[2])])
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


async def fetch(
    port: int, pages: int, concurrency: int, folder: str, *, keep: bool
) -> None:
    """Fetch all pages with halflife; print what it took."""
    from halflife.core.item import Item  # noqa: PLC0415  (only this process needs it)
    from halflife.core.request import Fetch  # noqa: PLC0415
    from halflife.engine.loop import Allowance  # noqa: PLC0415
    from halflife.kinds.pages.client import PageClient, SiteSettings  # noqa: PLC0415
    from halflife.net.access import Access, GateSettings  # noqa: PLC0415
    from halflife.net.addresses import networks  # noqa: PLC0415
    from halflife.net.gate import Gate  # noqa: PLC0415
    from halflife.stores.sqlite import SqliteStore  # noqa: PLC0415

    def clock() -> float:
        return time.time() / 86400

    keys = [f"http://127.0.0.1:{port}/page/{number}" for number in range(pages)]
    store = SqliteStore.open(Path(folder) / "halflife.db", create=True)
    store.add(Item(key, "site") for key in keys)
    run = store.begin(["site"], clock(), lease=1.0)
    settings = GateSettings("https://example.org/benchmark", delay=0.0)
    access = Access(networks(["127.0.0.0/8"]), robots=False)
    sites = {"site": SiteSettings(access, keep=keep)}
    done, began, wall = 0, time.process_time(), time.perf_counter()
    async with Gate(settings, hosts=store, clock=clock) as gate:
        source = PageClient(
            gate, sites, source_of=lambda _: "site", concurrency=concurrency
        )
        requests = [Fetch(key) for key in keys]
        async for looks in source.perform(requests, clock(), Allowance(pages)):
            store.append(run, looks)
            done += sum(bool(look.digest) for look in looks)
    report(done, time.process_time() - began, time.perf_counter() - wall)


def report(pages: int, cpu: float, wall: float) -> None:
    """Print a result for the process that compares."""
    print(json.dumps({"pages": pages, "cpu_s": cpu, "wall_s": wall}))


@contextmanager
def server(pages: int) -> Iterator[int]:
    """Run the server in a process of its own; yield its port."""
    command = [sys.executable, __file__, "--serve", "--pages", str(pages)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    pin(process.pid, 1)
    assert process.stdin
    assert process.stdout
    try:
        yield int(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait(timeout=10)


def pin(pid: int, core: int) -> None:
    """Keep a process on one core, if there is more than one."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(pid, {cores[core]})


def timed(command: list[str | Path], pages: int) -> dict[str, float]:
    """Run one client and return pages per second of processor and wall time."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [*command, folder], stdout=subprocess.PIPE, text=True
        )
        pin(process.pid, 0)
        printed, _ = process.communicate(timeout=300)
    result = json.loads(printed.splitlines()[-1])
    if result["pages"] != pages:
        raise SystemExit(f"{result['pages']} of {pages} pages came in; try again")
    return {
        CPU: pages / result["cpu_s"],
        "pages_per_s": pages / result["wall_s"],
    }


def python_with_scrapy(folder: Path) -> Path | None:
    """Install Scrapy into a folder; return its Python, or nothing if that fails."""
    python = folder / "bin" / "python"
    uv = shutil.which("uv")
    if uv:
        steps = [[uv, "venv", "--quiet", folder]]
        steps += [[uv, "pip", "install", "--quiet", "--python", python, "scrapy"]]
    else:
        venv.create(folder, with_pip=True)
        steps = [[python, "-m", "pip", "install", "--quiet", "scrapy"]]
    for step in steps:
        if subprocess.run(step, check=False, stdout=sys.stderr).returncode:
            return None
    return python


def compare(options: argparse.Namespace, scrapy: Path | None) -> dict[str, object]:
    """Let both fetch in turns; return medians and their ratio."""
    size = [str(options.pages), str(options.concurrency)]
    runs: dict[str, list[dict[str, float]]] = {}
    with server(options.pages) as port:
        ours = [sys.executable, __file__, "--client", str(port), *size]
        rivals: dict[str, list[str | Path]] = {
            "halflife": [*ours, "look"],
            "halflife_keeping": [*ours, "keep"],
        }
        if scrapy:
            rivals["scrapy"] = [scrapy, SPIDER, str(port), *size]
        for _ in range(options.repeats):
            for name, command in rivals.items():
                runs.setdefault(name, []).append(timed(command, options.pages))
    result: dict[str, object] = {
        name: {
            figure: round(statistics.median(run[figure] for run in those), 1)
            for figure in those[0]
        }
        for name, those in runs.items()
    }
    for name in ("halflife", "halflife_keeping") if scrapy else ():
        rounds = zip(runs[name], runs["scrapy"], strict=True)
        ratios = [mine[CPU] / theirs[CPU] for mine, theirs in rounds]
        result[f"{name}_to_scrapy"] = round(statistics.median(ratios), 2)
    return result | {"pages": options.pages, "repeats": options.repeats}


def main() -> None:
    """Compare, or play one of the parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--scrapy", type=Path, help="a Python that has Scrapy")
    parser.add_argument("--alone", action="store_true", help="leave Scrapy out")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--client", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(options.pages))
    elif options.client:
        port, pages, concurrency = map(int, options.client[:3])
        keep, folder = options.client[3:]
        asyncio.run(fetch(port, pages, concurrency, folder, keep=keep == "keep"))
    else:
        with tempfile.TemporaryDirectory() as folder:
            scrapy = options.scrapy
            if scrapy is None and not options.alone:
                scrapy = python_with_scrapy(Path(folder))
                if scrapy is None:
                    print("Scrapy cannot be installed here; skipped", file=sys.stderr)
            print(json.dumps(compare(options, scrapy)))


if __name__ == "__main__":
    main()
