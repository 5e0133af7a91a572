"""What a million items cost: bytes, memory, the next decision, a start after kill -9.

A state file with so many pages of 250 hosts is made: all were looked at once, half
of them twice, but for some that wait for their first look. Then, each in a process of
its own: plans are made among them; ``halflife run`` is killed with kill -9 in the
middle of a turn and started again, against a site on the loopback; every verb that
people use is called; and the service keeps a small web for seven days of a clock that
runs fast (``soak.py``). Prints JSON.

    .venv/bin/python lab/benchmarks/load.py --items 1000000 --json
    .venv/bin/python lab/benchmarks/load.py --items 1000000 --folder /var/tmp/many

With ``--folder`` the state file is kept there, and used again if there is one. With
``--store postgresql://…`` the state is copied into that schema, unless one is there,
and decisions and starts are measured on it.

``*_cpu_s`` are seconds of the processor; all others are of the clock, and the load of
the machine is told beside them.
"""

import argparse
import hashlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

HOSTS = 250
WAITING = 1000  # items that nobody has looked at
DAY = 86400.0
CHANGE_LOG = ("change", "change_at", "change_of_source")  # a table and its indexes
PATIENCE = 240.0  # seconds
TARGETS = {
    "bytes_per_item": 300.0,
    "decision_ms": 5.0,
    "restart_s": 2.0,
    "resident_mb": 400.0,
    "verbs_most_resident_mb": 400.0,
}
VERBS: dict[str, tuple[str, ...]] = {
    "status": (),
    "plan": (),
    "explain": ("{item}",),
    "forecast": ("--target", "0.5"),
    "whatif": ("--budget", "2000000"),
    "budget": (),
    "audit": (),
    "sync": ("--max-requests", "2000"),
}
FINE = (0, 3)  # exit codes: all is well; a target is missed
CONFIG = """\
[budget]
requests = 1000000
per = "day"

[fetch]
delay = 0
concurrency = 8

[[source]]
name = "site"
keep = false
allow = ["127.0.0.0/8"]
target = "freshness >= 0.5"
pages = ["{first}"]
"""


def key(number: int, port: int) -> str:
    """Return an item's name: 59 characters, 40 folders on each host."""
    host, folder = number % HOSTS + 1, number // HOSTS % 40
    return f"http://127.0.0.{host}:{port}/section{folder:02}/{number:08}-page.html"


class Site(ThreadingHTTPServer):
    """A site on the loopback that notes when it is asked."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int) -> None:
        super().__init__(("0.0.0.0", port), _Answer)  # noqa: S104  (127.0.0.1 to .250)
        self.asked: list[float] = []
        self.counts: Counter[str] = Counter()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.server_address[1])

    def handle_error(self, *_: object) -> None:
        """Say nothing: whoever asked was killed."""


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Site

    def do_GET(self) -> None:
        """Answer with a page that changes every few times, or that all is allowed."""
        self.server.asked.append(time.time())
        text = "User-agent: *\nAllow: /\n"
        kind = "text/plain"
        if not self.path.endswith("robots.txt"):
            lot = hashlib.blake2b(self.path.encode(), digest_size=1).digest()[0]
            version = self.server.counts[self.path] // (1 + lot % 8)
            self.server.counts[self.path] += 1
            text, kind = f"<html><p>{self.path} {version}</p></html>", "text/html"
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[Site]:
    """Run the site in a thread, on the port that the state in the folder knows."""
    known = folder / "port"
    with Site(int(known.read_text()) if known.exists() else 0) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield site
        site.shutdown()


def memory() -> dict[str, float]:
    """Return the megabytes of this process that are resident, now and at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    found = dict(line.split(":") for line in lines if line.startswith("Vm"))
    names = {"resident_mb": "VmRSS", "most_resident_mb": "VmHWM"}
    return {k: round(int(found[v].split()[0]) / 1024, 1) for k, v in names.items()}


def build(path: Path, items: int, port: int) -> None:
    """Write a state file through the store itself."""
    from halflife.core.item import Item  # noqa: PLC0415
    from halflife.core.observation import Observations  # noqa: PLC0415
    from halflife.stores.sqlite import SqliteStore  # noqa: PLC0415

    today, rng = time.time() / DAY, np.random.default_rng(0)
    with SqliteStore.open(path, create=True) as store:
        store.add(
            Item(key(i, port), "site", group=f"127.0.0.{i % HOSTS + 1}:{port}")
            for i in range(items)
        )
        run = store.begin(["site"], today, lease=1e3)
        for turn, share in ((0, 1.0), (1, 0.5)):
            rows = np.flatnonzero(rng.random(items - min(WAITING, items // 4)) < share)
            at = today - 9.0 + 4 * turn + 3 * rng.random(rows.size)
            for part in np.array_split(np.arange(rows.size), rows.size // 20_000 + 1):
                names = tuple(key(int(i), port) for i in rows[part])
                digest = tuple(_digest(int(i), turn) for i in rows[part])
                seen = np.zeros(part.size, np.int8)
                store.append(run, Observations(names, at[part], seen, digest))
        store.finish(run, today)


def _digest(number: int, turn: int) -> str:
    version = turn * (number % 3 == 0)
    return hashlib.blake2b(b"%d %d" % (number, version), digest_size=16).hexdigest()


def sizes(path: Path, items: int) -> dict[str, float]:
    """Return the bytes that an item takes beside its looks, and that a look takes."""
    with closing(sqlite3.connect(path)) as db:
        used = dict(
            db.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name").fetchall()
        )
        looks = db.execute("SELECT count(*) FROM observation").fetchone()[0]
        changes = db.execute("SELECT count(*) FROM change").fetchone()[0]
    log = used.pop("observation") + used.pop("observation_once")
    events = sum(used.get(name, 0) for name in CHANGE_LOG)
    return {
        "bytes_per_item": round(sum(used.values()) / items, 1),
        "of_which_columns": round(used.get("filed_column", 0) / items, 1),
        "of_which_changes": round(events / items, 1),
        "bytes_per_change": round(events / max(changes, 1), 1),
        "bytes_per_look": round(log / looks, 1),
        "file_bytes_per_item": round(path.stat().st_size / items, 1),
    }


def decide(place: Path | str, decisions: int) -> dict[str, float]:
    """Time decisions one after the other, each carried out and written down."""
    from halflife.core.budget import Budget  # noqa: PLC0415
    from halflife.core.observation import Observations  # noqa: PLC0415
    from halflife.policies.champion import champion_of  # noqa: PLC0415
    from halflife.policies.shortlist import Shortlist  # noqa: PLC0415
    from halflife.stores.location import open_store  # noqa: PLC0415

    now, rng = time.time() / DAY, np.random.default_rng(0)
    strategy = champion_of("harmonic")
    began = time.process_time()
    with open_store(place) as store:
        run = store.begin(["site"], now, lease=1e3)
        evidence = store.evidence(run.sources)
        loaded = time.process_time()
        few = Shortlist(strategy.belief(), strategy.policy)
        few.plan(evidence, now, now, Budget(1), rng)
        planned, took, cpu = time.process_time(), [], []
        for turn in range(decisions):
            at, start, spent = now + 1e-6 * turn, time.time(), time.process_time()
            plan = few.plan(evidence, at, at, Budget(1), rng)
            took.append(time.time() - start)
            cpu.append(time.process_time() - spent)
            seen = np.zeros(len(plan), np.int8)
            when = np.full(len(plan), at + 5e-7)
            store.append(
                run, Observations(plan.keys, when, seen, ("f" * 32,) * len(plan))
            )
        store.finish(run, now)
    return {
        "evidence_cpu_s": round(loaded - began, 3),
        "first_plan_cpu_s": round(planned - loaded, 3),
        "decision_ms": round(1e3 * float(np.median(took)), 3),
        "decision_cpu_ms": round(1e3 * float(np.median(cpu)), 3),
        "decision_worst_ms": round(1e3 * max(took), 3),
        "passes": few.passes,
        **memory(),
    }


def restart(folder: Path, site: Site, times: int) -> dict[str, object]:
    """Kill ``halflife run`` in the middle of a turn; time the next one's first request.

    From the start of the process, its imports included.
    """
    rows = []
    for _ in range(times + 1):
        site.asked.clear()
        began = time.time()
        process = started(folder, "run")
        spent = _await(process, site, 1)
        _await(process, site, 100)
        peak = Path(f"/proc/{process.pid}/status").read_text().partition("VmHWM:")[2]
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=30)
        if not site.asked:
            sys.exit(f"no request came: {(folder / 'run.log').read_text()[-2000:]}")
        rows.append((site.asked[0] - began, spent, int(peak.split()[0]) / 1024))
        time.sleep(0.5)
    took, cpu, most = np.array(rows[1:]).T.round(2).tolist()  # the first: no kill yet
    return {
        "restart_s": float(np.median(took)),
        "restarts_s": took,
        "restarts_cpu_s": cpu,
        "run_most_resident_mb": max(most),
    }


def _await(process: subprocess.Popen[bytes], site: Site, requests: int) -> float:
    """Wait until so many requests came; return the process's processor seconds."""
    until = time.time() + PATIENCE
    while len(site.asked) < requests and process.poll() is None and time.time() < until:
        time.sleep(0.002)
    ticks = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")


def verbs(folder: Path, port: int) -> dict[str, object]:
    """Call every verb; return the memory each took at most, and how long it took."""
    rows = {}
    for name, words in VERBS.items():
        filled = [word.format(item=key(1234, port)) for word in words]
        process, began = started(folder, name, *filled), time.time()
        rows[name] = _ended(process, began, FINE, folder)
    rows["run"] = run(folder)
    return {
        "verbs": rows,
        "verbs_most_resident_mb": max(row["most_resident_mb"] for row in rows.values()),
    }


def started(folder: Path, *words: str) -> "subprocess.Popen[bytes]":
    """Start the program; what it says is kept in the folder."""
    program = str(Path(sys.executable).parent / "halflife")
    command = [program, *words, "--json", "--config", str(folder / "halflife.toml")]
    with (folder / "run.log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


def _ended(
    process: "subprocess.Popen[bytes]",
    began: float,
    fine: tuple[int, ...],
    folder: Path,
) -> dict[str, float]:
    """Wait for a process; return what it used."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in fine:
        sys.exit((folder / "run.log").read_text()[-2000:])
    return {
        "most_resident_mb": round(used.ru_maxrss / 1024, 1),
        "seconds": round(time.time() - began, 1),
        "cpu_s": round(used.ru_utime + used.ru_stime, 1),
    }


def run(folder: Path) -> dict[str, float]:
    """Run the service until it has worked and judged how the sources are."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process, began = started(folder, "run", "--health", str(port)), time.time()
    until = began + 2 * PATIENCE
    while process.poll() is None and time.time() < until:
        time.sleep(0.5)
        if b"halflife_quality" in _metrics(port):
            break
    process.send_signal(signal.SIGTERM)
    return _ended(process, began, (143,), folder)


def _metrics(port: int) -> bytes:
    try:
        with urllib.request.urlopen(
            f"http://127.0.0.1:{port}/metrics", timeout=60
        ) as a:
            found: bytes = a.read()
    except OSError:  # it is not up yet
        return b""
    return found


def aside(*words: object) -> dict[str, object]:
    """Run something in a process of its own; return what it printed."""
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, check=True, capture_output=True, timeout=3600)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def measure_in_postgres(folder: Path, items: int, address: str) -> dict[str, object]:
    """Return the figures of a state that lies in PostgreSQL."""
    found: dict[str, object] = {"items": items, "load": os.getloadavg()[0]}
    with served(folder) as site:
        if not (folder / "port").exists():
            prepare(folder, items, site.port)
        program = str(Path(sys.executable).parent / "halflife")
        copy = [program, "store", "copy", str(folder / "halflife.db"), address]
        began = time.time()
        if subprocess.run(copy, check=False, capture_output=True).returncode == 0:
            found["copy_s"] = round(time.time() - began, 1)
        settle(folder, site.port, address)
        found |= aside(__file__, "--decide", address)
        found |= restart(folder, site, 3)
        settle(folder, site.port)
    return found


def measure(folder: Path, items: int, days: float) -> dict[str, object]:
    """Return all figures."""
    found: dict[str, object] = {"items": items, "load": os.getloadavg()[0]}
    with served(folder) as site:
        path = folder / "halflife.db"
        if not (folder / "port").exists():
            prepare(folder, items, site.port)
        settle(folder, site.port)
        found |= sizes(path, items)
        found |= aside(__file__, "--decide", path)
        found |= restart(folder, site, 3)
        found |= verbs(folder, site.port)
    met = {name: found[name] <= most for name, most in TARGETS.items()}
    if days > 0:
        soak = Path(__file__).with_name("soak.py")
        found["soak"] = aside(soak, "--days", days, "--json")
        met |= {f"{name}_flat": flat for name, flat in found["soak"]["met"].items()}
    return {**found, "targets": TARGETS, "met": met}


def prepare(folder: Path, items: int, port: int) -> None:
    """Make the state; the port is written down when all is there.

    In a process of its own: the most memory that Linux tells of a child is at least
    what its parent had.
    """
    aside(__file__, "--items", items, "--folder", folder, "--build", port)
    (folder / "port").write_text(str(port))


def settle(folder: Path, port: int, store: str = "halflife.db") -> None:
    """Write the settings."""
    text = f'store = "{store}"\n\n{CONFIG.format(first=key(0, port))}'
    (folder / "halflife.toml").write_text(text)


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--days", type=float, default=7.0, help="of the soak; or 0")
    parser.add_argument("--folder", type=Path, help="keep the state here, or use it")
    parser.add_argument("--store", metavar="ADDRESS", help="of PostgreSQL")
    parser.add_argument("--json", action="store_true", help="on one line")
    parser.add_argument("--decide", help=argparse.SUPPRESS)
    parser.add_argument("--build", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.build:
        build(chosen.folder / "halflife.db", chosen.items, chosen.build)
        print("{}")
        return
    if chosen.decide:
        address = "://" in chosen.decide
        place = chosen.decide if address else Path(chosen.decide)
        print(json.dumps(decide(place, 200)))
        return
    with tempfile.TemporaryDirectory() as made:
        folder = chosen.folder or Path(made)
        folder.mkdir(exist_ok=True)
        if chosen.store:
            figures = measure_in_postgres(folder, chosen.items, chosen.store)
        else:
            figures = measure(folder, chosen.items, chosen.days)
    print(json.dumps(figures, indent=None if chosen.json else 2))


if __name__ == "__main__":
    main()
