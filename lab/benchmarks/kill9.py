"""Kill a sync with kill -9 at random instants, start it again, see what is left.

For each of many trials a sync of 500 pages over real HTTP is killed at a random
instant and started again. Afterwards nothing acknowledged may be missing, the
state must equal that of a sync that was left alone, and the site must not have
been asked more often than the budget allows. The same is done to a Scrapy spider
with a JOBDIR, which resumes with exit code 0 and silently loses pages.

    .venv/bin/python lab/benchmarks/kill9.py --kills 100
    .venv/bin/python lab/benchmarks/kill9.py --kills 10 --scrapy /path/to/python
    .venv/bin/python lab/benchmarks/kill9.py --kills 10 --postgres postgresql://…/db

With ``--postgres`` the state lies in schemas of that database, which are removed, and
half of the trials do not kill the sync but cut its connections to the database.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

import psycopg
import psycopg.sql

HERE = Path(__file__).parent
PAGES = 500
CONCURRENCY = 16
LOOK = 0.01  # seconds between two counts of requests; in that time come eight or so
SPARE = 60  # requests of the budget beyond one for each page

CONFIG = """\
[budget]
requests = {budget}
per = "day"

[fetch]
delay = 0
concurrency = {concurrency}

[[source]]
name = "site"
allow = ["127.0.0.0/8"]
"""


@contextmanager
def site(pages: int, delay: float) -> Iterator[str]:
    """Run the site in a process of its own; yield its address."""
    command = [sys.executable, HERE / "pages_server.py", "--pages", str(pages)]
    process = subprocess.Popen(
        [*command, "--delay", str(delay)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"
    finally:
        process.stdin.close()
        process.wait(timeout=10)


def asked(address: str) -> dict[str, int]:
    """Return how often the site was asked for each path."""
    with urllib.request.urlopen(f"{address}/__counts", timeout=10) as answer:  # noqa: S310
        counts: dict[str, int] = json.load(answer)
        return counts


def forget(address: str) -> None:
    """Make the site forget what it was asked."""
    urllib.request.urlopen(f"{address}/__reset", timeout=10).close()  # noqa: S310


class HalflifeJob:
    """A sync of all pages by halflife."""

    def __init__(self, folder: Path, address: str, pages: int = PAGES) -> None:
        self.folder, self.config = folder, folder / "halflife.toml"
        if self.config.exists():
            return
        text = CONFIG.format(budget=pages + SPARE, concurrency=CONCURRENCY)
        self.config.write_text(text)
        urls = folder / "urls.txt"
        urls.write_text("".join(f"{address}/page/{i}\n" for i in range(pages)))
        self._run("add", "--from", str(urls), "--source", "site", "--no-check")

    def command(self, *words: str) -> list[str]:
        """Return the command line of one verb."""
        program = str(Path(sys.executable).parent / "halflife")
        return [program, *words, "--config", str(self.config)]

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            check=True,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def start(self) -> subprocess.Popen[bytes]:
        """Begin, or go on with, the sync."""
        return subprocess.Popen(
            self.command("sync", "--json"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def strike(self, process: subprocess.Popen[bytes]) -> None:
        """End the sync without a warning."""
        process.send_signal(signal.SIGKILL)

    def remove(self) -> None:
        """Nothing lies outside the folder."""

    def have(self) -> dict[str, object]:
        """Return the state that is safely on disk: each page's content."""
        query = """SELECT item.key, hex(evidence.digest), evidence.seen, hex(body)
                   FROM evidence JOIN item ON item.id = evidence.item
                   LEFT JOIN content ON content.item = item.id
                   WHERE evidence.looks > 0"""
        with sqlite3.connect(f"file:{self.folder}/halflife.db?mode=ro", uri=True) as db:
            return {key: tuple(rest) for key, *rest in db.execute(query)}


class PostgresJob(HalflifeJob):
    """The same with its state in PostgreSQL, in a schema of its own."""

    def __init__(self, folder: Path, address: str, pages: int, database: str) -> None:
        super().__init__(folder, address, pages)
        self.schema = f"{folder.name}_{os.getpid()}"
        sign = "&" if "?" in database else "?"
        self.database, self.store = database, f"{database}{sign}schema={self.schema}"
        text = self.config.read_text().partition("[budget]")
        self.config.write_text(f'store = "{self.store}"\n{text[1]}{text[2]}')

    def strike(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the sync, or cut its connections; then it ends by itself, or goes on."""
        if self.folder.name[-1] in "02468":
            super().strike(process)
            return
        with psycopg.connect(self.database, autocommit=True) as db:
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'halflife'"
            )

    def have(self) -> dict[str, object]:
        """Return the state that is safely in the database: each page's content."""
        from halflife.stores.location import find_store  # noqa: PLC0415  (if asked for)

        query = """SELECT item.key, evidence.digest, evidence.seen, body
                   FROM evidence JOIN item ON item.id = evidence.item
                   LEFT JOIN content ON content.item = item.id
                   WHERE evidence.looks > 0"""
        store = find_store(self.store)
        if store is None:
            return {}
        with store, store.reading() as db:
            return {key: tuple(rest) for key, *rest in db.execute(query)}

    def remove(self) -> None:
        """Remove the schema."""
        with psycopg.connect(self.database, autocommit=True) as db:
            name = psycopg.sql.Identifier(self.schema)
            db.execute(psycopg.sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(name))


class ScrapyJob:
    """A crawl of all pages by Scrapy with a JOBDIR, the frontier in its queue."""

    def __init__(self, folder: Path, address: str, pages: int, python: str) -> None:
        del pages  # it follows links
        self.folder, self.address, self.python = folder, address, python

    def strike(self, process: subprocess.Popen[bytes]) -> None:
        """End the crawl without a warning."""
        process.send_signal(signal.SIGKILL)

    def remove(self) -> None:
        """Nothing lies outside the folder."""

    def start(self) -> subprocess.Popen[bytes]:
        """Begin, or go on with, the crawl."""
        return subprocess.Popen(
            [
                self.python,
                str(HERE / "scrapy_spider.py"),
                self.address,
                str(self.folder),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def have(self) -> dict[str, object]:
        """Return the pages written out so far."""
        out = self.folder / "pages.jsonl"
        lines = out.read_text().splitlines() if out.exists() else []
        rows = [json.loads(line) for line in lines if line.endswith("}")]
        return {row["url"]: row["digest"] for row in rows}


Make: TypeAlias = Callable[[Path, str, int], HalflifeJob | ScrapyJob]


def trial(
    job: HalflifeJob | ScrapyJob, address: str, after: int, wait: float
) -> tuple[dict[str, object], int]:
    """Kill the job once the site was asked so often, a moment later; let it finish.

    Returns what was on disk right after the kill, and the last exit code.
    """
    process = job.start()
    while process.poll() is None and sum(asked(address).values()) < after:
        time.sleep(LOOK)
    time.sleep(wait)
    job.strike(process)
    process.communicate(timeout=300)
    kept = job.have()
    process = job.start()
    process.communicate(timeout=300)
    return kept, process.returncode


def measure(make: Make, kills: int, options: argparse.Namespace) -> dict[str, object]:
    """Return what was lost, repeated and overspent over all trials."""
    rng, pages = random.Random(options.seed), options.pages
    rows = []
    with site(pages, options.delay) as address, tempfile.TemporaryDirectory() as top:
        blank = Path(top) / "blank"
        blank.mkdir()
        make(blank, address, pages)
        whole, seconds = _undisturbed(make, blank, address, pages)
        for number in range(kills):
            folder = Path(top) / f"trial{number}"
            job = make(shutil.copytree(blank, folder), address, pages)
            forget(address)
            instant = rng.randrange(pages), rng.uniform(0.0, 0.02)
            kept, code = trial(job, address, *instant)
            end, counts = job.have(), asked(address)
            rows.append(
                {
                    "kept_at_kill": len(kept),
                    "acknowledged_lost": sum(end.get(k) != v for k, v in kept.items()),
                    "missing": len(whole.keys() - end.keys()),
                    "differs": sum(end.get(k) != v for k, v in whole.items()),
                    "repeated": sum(n - 1 for n in counts.values()),
                    "sent": sum(counts.values()),
                    "exit": code,
                }
            )
            job.remove()
            shutil.rmtree(folder)
    return _summary(rows, seconds, pages)


def _undisturbed(
    make: Make, blank: Path, address: str, pages: int
) -> tuple[dict[str, object], float]:
    job = make(shutil.copytree(blank, blank.parent / "whole"), address, pages)
    began = time.monotonic()
    process = job.start()
    _, errors = process.communicate(timeout=300)
    if process.returncode:
        sys.exit(f"the undisturbed run failed: {errors.decode()[-2000:]}")
    have, seconds = job.have(), time.monotonic() - began
    job.remove()
    return have, seconds


def _summary(
    rows: list[dict[str, int]], seconds: float, pages: int
) -> dict[str, object]:
    return {
        "trials": len(rows),
        "undisturbed_seconds": round(seconds, 2),
        "killed_in_the_middle": sum(0 < r["kept_at_kill"] < pages for r in rows),
        "acknowledged_lost": sum(r["acknowledged_lost"] for r in rows),
        "trials_with_pages_missing": sum(r["missing"] > 0 for r in rows),
        "pages_missing": sum(r["missing"] for r in rows),
        "pages_that_differ": sum(r["differs"] for r in rows),
        "most_repeated": max(r["repeated"] for r in rows),
        "most_sent": max(r["sent"] for r in rows),
        "exit_codes": sorted({r["exit"] for r in rows}),
    }


def main() -> None:
    """Run the trials and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--scrapy", help="a Python with Scrapy, to kill as well")
    parser.add_argument("--scrapy-kills", type=int, default=10)
    parser.add_argument("--postgres", help="the address of a database to use instead")
    parser.add_argument("--delay", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    jobs: dict[str, tuple[Make, int]] = {"halflife": (HalflifeJob, options.kills)}
    if options.postgres:
        make = partial(PostgresJob, database=options.postgres)
        jobs = {"halflife": (make, options.kills)}
    if options.scrapy:
        if not shutil.which(options.scrapy):
            sys.exit(f"{options.scrapy}: no such program; name a Python with Scrapy")
        rival = partial(ScrapyJob, python=options.scrapy)
        jobs["scrapy"] = (rival, options.scrapy_kills)
    result: dict[str, object] = {
        "pages": options.pages,
        "concurrency": CONCURRENCY,
        "budget": options.pages + SPARE,
    }
    for name, (make, kills) in jobs.items():
        result[name] = measure(make, kills, options)
        print(f"{name}: {json.dumps(result[name])}", file=sys.stderr)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
