"""A fleet on this machine: PostgreSQL, sites on loopback, and workers to be killed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from lab.scale.logged_site import addresses

HERE = Path(__file__).parent
HALFLIFE = str(Path(sys.executable).parent / "halflife")
SETTINGS = """\
store = "{store}"

[budget]
requests = {budget}
per = "day"

[fetch]
delay = {delay}
concurrency = {concurrency}

[[source]]
name = "site"
allow = ["127.0.0.0/8"]
noise = 0
"""


class Server:
    """Debian's PostgreSQL in a folder of its own; it can be restarted."""

    def __init__(self, folder: Path, *, sync: bool = False) -> None:
        found = Path("/usr/lib/postgresql").glob("[0-9]*/bin/initdb")
        self.programs = max(found, key=lambda path: int(path.parts[-3])).parent
        self.folder, self._sync = folder, sync
        self._who = {"user": "postgres", "group": "postgres", "extra_groups": []}
        if os.geteuid() != 0:
            self._who = {}
        else:
            shutil.chown(folder, "postgres", "postgres")
        place = folder / "data"
        make = [self.programs / "initdb", "-D", place, "-U", "postgres", "-A", "trust"]
        make += ["-E", "UTF8", "--no-locale", "--no-sync", "--no-instructions"]
        self._run(make)
        self.start()

    def _run(self, words: list[Any]) -> None:
        subprocess.run(
            words, check=True, capture_output=True, cwd=self.folder, **self._who
        )

    def _control(self, *words: str) -> None:
        data, log = self.folder / "data", self.folder / "log"
        self._run([self.programs / "pg_ctl", "-D", data, "-l", log, "-w", *words])

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-k {self.folder} -c listen_addresses='' -c max_connections=100"
        self._control("start", "-o", options if self._sync else f"{options} -F")

    def stop(self, mode: str = "fast") -> None:
        """Stop it; ``immediate`` is as if it had crashed."""
        self._control("stop", "-m", mode)

    def address(self, schema: str) -> str:
        """Return the address of a schema."""
        return f"postgresql://postgres@/postgres?host={self.folder}&schema={schema}"

    def connect(self) -> psycopg.Connection:
        """Return a connection of its own."""
        return psycopg.connect(host=str(self.folder), user="postgres", autocommit=True)

    def cpu_seconds(self) -> float:
        """Return the processor seconds of the server and its finished sessions."""
        first = int((self.folder / "data/postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        many = [_cpu(one) for one in (str(first), *children)]
        return sum(many) / os.sysconf("SC_CLK_TCK")

    def cut(self) -> int:
        """End all connections of halflife; return how many there were."""
        query = """SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE application_name = 'halflife'"""
        with self.connect() as db:
            row = db.execute(query).fetchone()
        return int(row[0]) if row else 0


def _cpu(process: str) -> int:
    """Return the ticks of a process and of its children that ended."""
    try:
        said = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:  # it ended just now: its parent has them
        return 0
    return sum(map(int, said.rpartition(")")[2].split()[11:15]))


@contextmanager
def server(*, sync: bool = False) -> Iterator[Server]:
    """Run PostgreSQL during the block."""
    folder = Path(tempfile.mkdtemp(prefix="hl-pg-"))
    try:
        one = Server(folder, sync=sync)
        try:
            yield one
        finally:
            with suppress(subprocess.CalledProcessError):
                one.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def frozen_package() -> Iterator[None]:
    """Let workers run a copy of the package, whatever becomes of the files."""
    before = os.environ.get("PYTHONPATH")
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(HERE.parents[1] / "src/halflife", f"{name}/halflife")
        os.environ["PYTHONPATH"] = name
        try:
            yield
        finally:
            if before is None:
                del os.environ["PYTHONPATH"]
            else:
                os.environ["PYTHONPATH"] = before


@contextmanager
def site(hosts: int, log: Path, pause: float = 0.0) -> Iterator[int]:
    """Run the sites in a process of their own; yield their port."""
    command = [sys.executable, HERE / "logged_site.py", "--hosts", str(hosts)]
    process = subprocess.Popen(
        [*command, "--log", log, "--pause", str(pause)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield int(json.loads(process.stdout.readline())["port"])
    finally:
        process.stdin.close()
        process.wait(timeout=10)
        process.stdout.close()


@dataclass(slots=True)
class Asked:
    """What the sites were asked, by their own log.

    Attributes:
        pages: How often each page was asked for.
        requests: Requests in all, robots.txt included.
        closest: Seconds between the answer to a request and the next request to the
            same host, at least.

    """

    pages: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    closest: float = float("inf")
    too_fast: int = 0

    @classmethod
    def read(cls, log: Path, delay: float) -> "Asked":
        """Read a log; ``delay`` is what hosts must be given."""
        found = cls()
        last: dict[str, float] = {}
        rows = [line.split(" ") for line in log.read_text().splitlines()]
        for came, _, host, path in sorted(rows, key=lambda row: float(row[0])):
            found.requests += 1
            if path.startswith("/page/"):
                found.pages[f"{host}{path}"] += 1
            gap = float(came) - last.get(host, float("-inf"))
            last[host] = float(came)
            found.closest = min(found.closest, gap)
            found.too_fast += gap < delay - CLOCK
        return found


CLOCK = 0.005  # seconds by which the site's own clock may be late


class Fleet:
    """Workers of one project, in processes that can be killed."""

    def __init__(self, folder: Path, settings: str, lease: float) -> None:
        self.folder, self.config, self._lease = folder, folder / "halflife.toml", lease
        self.config.write_text(settings)
        self.workers: list[subprocess.Popen[bytes]] = []
        self._named = 0
        self.log = (folder / "workers.log").open("ab")

    def know(self, urls: list[str]) -> None:
        """Name the pages of the source, the last one in the settings."""
        listed = "".join(f'    "{url}",\n' for url in urls)
        with self.config.open("a") as file:
            file.write(f"pages = [\n{listed}]\n")

    def run(self, *words: str) -> str:
        """Run a verb to its end; return what it printed."""
        command = [HALFLIFE, *words, "--config", str(self.config)]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=300, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{words[0]}: {done.stderr.strip()}")
        return done.stdout

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        """Start a worker."""
        self._named += 1
        command = [HALFLIFE, "worker", str(self.folder), "--name", f"w{self._named}"]
        command += ["--lease", str(self._lease), *words]
        one = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        self.workers.append(one)
        return one

    def kill(self, one: "subprocess.Popen[bytes]") -> None:
        """Kill a worker, as the machine would if it ran out of memory."""
        one.send_signal(signal.SIGKILL)
        one.wait()
        self.workers.remove(one)

    def end(self) -> list[int]:
        """Ask all workers to stop; return their exit codes."""
        for one in self.workers:
            one.send_signal(signal.SIGTERM)
        codes = [one.wait(timeout=60) for one in self.workers]
        self.workers.clear()
        return codes

    def kill_all(self) -> None:
        """Kill all workers."""
        for one in list(self.workers):
            self.kill(one)
        self.log.close()


def figures(db: psycopg.Connection, schema: str) -> dict[str, int]:
    """Return what the store holds: acknowledged, filed, charged, leases lost."""
    db.execute(f"SET search_path = {schema}")
    queries = {
        "filed": "SELECT count(DISTINCT item) FROM observation",
        "waiting": "SELECT count(*) FROM work_answer",
        "charged": "SELECT coalesce(sum(requests), 0) FROM ledger",
        "open": "SELECT count(*) FROM work_item",
    }
    rows = {name: db.execute(query).fetchone() for name, query in queries.items()}
    return {name: int(row[0]) if row else 0 for name, row in rows.items()}


def urls(hosts: int, pages: int, port: int) -> list[str]:
    """Return the addresses of pages, spread evenly over hosts."""
    names = addresses(hosts)
    return [f"http://{names[i % hosts]}:{port}/page/{i}" for i in range(pages)]


def wait_until(condition: Any, seconds: float) -> bool:
    """Wait until something is so; say whether it became so in time."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True
