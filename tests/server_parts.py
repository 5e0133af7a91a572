"""Real servers as processes on loopback, and halflife as its user runs it.

A server has its data in its own database, and tests change it there. What halflife
holds is read from its state file with plain SQL, as any SQLite tool would.
"""

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import threading
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Any

import pytest

from inside import run_inside
from listening import listening

START = 60.0  # seconds in which a server must answer, on a busy machine
STOP = 10.0  # seconds in which it must end; then it is killed
MAINTENANCE = (
    b"<!doctype html><html><head><title>Maintenance</title></head><body>"
    b"<h1>We will be back soon</h1><p>Please try again later.</p></body></html>"
)
# What is there by what the store knows: neither gone nor missing, as last seen.
HELD = """
SELECT life.key, coalesce(
    (SELECT version.attributes FROM version WHERE version.life = life.id
     ORDER BY seen_from DESC LIMIT 1), life.attributes)
FROM life JOIN source ON source.id = life.source
WHERE source.name = ? AND gone_by IS NULL AND missing_since IS NULL
"""
GONE = """
SELECT life.key FROM life JOIN source ON source.id = life.source
WHERE source.name = ? GROUP BY life.key HAVING count(gone_by) = count(*)
"""
PAGES = """
SELECT item.key, content.body FROM content JOIN item ON item.id = content.item
JOIN source ON source.id = item.source WHERE source.name = ?
"""


def holds(size: dict[str, float | None], truth: float) -> bool:
    """Say whether an interval holds the truth; it may have no upper bound."""
    low, high = size["low"], size["high"]
    return low is not None and low <= truth and (high is None or truth <= high)


def free_port() -> int:
    """Return a port of this machine that nobody listens on."""
    with closing(socket.socket()) as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


TREE = Path(__file__).parents[1]


def need(*commands: str) -> None:
    """Skip the test where a program is not installed."""
    for command in commands:
        if shutil.which(command) is None and not Path(command).exists():
            pytest.skip(f"{command} is not installed; `make test-servers` installs it")


class Server:
    """A server process on a port of its own that can be stopped and started again.

    Args:
        command: How it is started.
        port: Where it will listen.
        path: What answers when it is ready; any status counts, as it answers then.
        log: Where what it prints goes, shown when it does not start.
        env: Variables to add to the environment.

    """

    def __init__(
        self,
        command: Sequence[str],
        port: int,
        log: Path,
        *,
        path: str = "/",
        env: dict[str, str] | None = None,
    ) -> None:
        self.command = list(command)
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self._log = log
        self._path = path
        self._env = {**os.environ, **(env or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        with self._log.open("ab") as out:
            self._process = subprocess.Popen(
                self.command,
                cwd=self._log.parent,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=self._env,
                start_new_session=True,
            )
        end = time.monotonic() + START
        while not answers(self.url + self._path):
            if self._process.poll() is not None or time.monotonic() > end:
                self.stop()
                pytest.fail(f"{self.command[0]}: {self._log.read_text()[-2000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop it and whatever it started; it is gone when this returns."""
        process, self._process = self._process, None
        if process is None:
            return
        end = time.monotonic() + STOP
        signal = SIGTERM
        with suppress(ProcessLookupError):  # nobody is left of its group
            while True:
                os.killpg(process.pid, signal)
                process.poll()
                time.sleep(0.02)
                signal = SIGKILL if time.monotonic() > end else 0
        process.wait()

    @contextmanager
    def down(self) -> Iterator[None]:
        """Let nobody answer meanwhile: connections are refused."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def replaced(self, status: int, *, retry: int = 1) -> Iterator[None]:
        """Let every address answer the same meanwhile, as a proxy in front would.

        It asks to be left alone for ``retry`` seconds.
        """
        with self.down(), _standing_in(self.port, status, retry):
            yield

    def get(self, path: str) -> bytes:
        """Return what it answers to a path."""
        with urllib.request.urlopen(self.url + path, timeout=20) as answer:
            body: bytes = answer.read()
        return body


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """Start a server; stop it in the end, whatever happens."""
    server.start()
    try:
        yield server
    finally:
        server.stop()


def answers(url: str) -> bool:
    """Say whether a server answers at an address, whatever it says."""
    try:
        with urllib.request.urlopen(url, timeout=20):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


@contextmanager
def _standing_in(port: int, status: int, retry: int) -> Iterator[None]:
    class Same(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(MAINTENANCE)))
            self.send_header("Retry-After", str(retry))
            self.end_headers()
            with suppress(ConnectionError):
                self.wfile.write(MAINTENANCE)

        def log_message(self, *_: object) -> None:
            return

    ThreadingHTTPServer.allow_reuse_address = True
    with listening(ThreadingHTTPServer(("127.0.0.1", port), Same), threading.Event()):
        yield


class Copy:
    """A folder with settings and a state file, and halflife run in it.

    Attributes:
        here: The folder.
        requests: What each command that sends something has spent, in order.

    """

    def __init__(self, here: Path) -> None:
        self.here = here
        self.requests: list[int] = []

    def settings(self, *parts: str) -> None:
        """Write ``halflife.toml``; there is budget for all and no delay."""
        head = '[budget]\nrequests = 100000\nper = "hour"\n[fetch]\ndelay = 0.0\n'
        (self.here / "halflife.toml").write_text(head + "".join(parts))

    def run(self, *words: str, codes: Sequence[int] = (0,)) -> tuple[str, str]:
        """Run halflife; return what it printed and what it said."""
        before = self.spent()
        code, out, err = run_inside(self.here, *words)
        said = f"{' '.join(words)}: {code}\n{out}\n{err}"
        assert "Traceback" not in err, said
        assert code in codes, said
        self.requests.append(self.spent() - before)
        return out, err

    def json(self, *words: str, codes: Sequence[int] = (0,)) -> Any:
        """Run halflife with ``--json``; return its answer."""
        out, err = self.run(*words, "--json", codes=codes)
        return json.loads(out) if out else {"said": err}

    def sync(self, *words: str, codes: Sequence[int] = (0,)) -> Any:
        """Sync; return its answer."""
        return self.json("sync", *words, codes=codes)

    def wait(self) -> None:
        """Wait until no host is left alone any more after a failure."""
        rows = self.rows("SELECT max(not_before) * 86400.0 FROM host")
        seconds = (rows[0][0] or 0.0) - time.time() if rows else 0.0
        assert seconds < 90.0, f"a host is left alone for {seconds:.0f} s"
        time.sleep(max(seconds, 0.0))

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Return what a query finds in the state file."""
        path = self.here / "halflife.db"
        if not path.exists():
            return []
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            return db.execute(query, values).fetchall()

    def spent(self) -> int:
        """Return the requests that the ledger has charged so far."""
        rows = self.rows("SELECT coalesce(sum(requests), 0) FROM ledger")
        return int(rows[0][0]) if rows else 0

    def held(self, source: str) -> dict[str, dict[str, Any]]:
        """Return the objects that are there by what the store knows."""
        return {key: json.loads(text) for key, text in self.rows(HELD, source)}

    def gone(self, source: str) -> set[str]:
        """Return the objects that were there once and are known to have gone."""
        return {key for (key,) in self.rows(GONE, source)}

    def pages(self, source: str) -> dict[str, str]:
        """Return the copies of pages, by address."""
        rows = self.rows(PAGES, source)
        return {key: zlib.decompress(body).decode() for key, body in rows}


def check_words(copy: Copy, source: str, objects: int) -> None:
    """Check that status, forecast and audit speak of the copy as it is."""
    said = copy.json("status")
    rows = {row["source"]: row for row in said["sets"]}
    assert rows[source]["held"] == objects
    assert said["waiting"] == []
    row = copy.json("forecast", source, "--at", "1h")
    for measure in ("precision", "recall", "freshness"):
        bounds = row[measure]
        assert 0 <= bounds["low"] <= bounds["mean"] <= bounds["high"] <= 1
    assert copy.json("audit")["results"][0]["source"] == source
    assert copy.requests[-3:] == [0, 0, 0]  # they send nothing


def truth(
    database: Path, query: str, key: Callable[[sqlite3.Row], object] = lambda r: r[0]
) -> dict[str, dict[str, Any]]:
    """Return the rows of a server's own SQLite database, by their keys as text."""
    with closing(sqlite3.connect(database)) as db:
        db.row_factory = sqlite3.Row
        return {str(key(row)): dict(row) for row in db.execute(query)}


def change(database: Path, *statements: tuple[str, Sequence[object]]) -> None:
    """Change a server's own SQLite database, all or nothing."""
    with closing(sqlite3.connect(database, timeout=20)) as db, db:
        for statement, values in statements:
            db.execute(statement, values)


def live_through(
    copy: Copy,
    server: Server,
    source: str,
    *,
    alter: Callable[[], None],
    truth: Callable[[], dict[str, dict[str, Any]]],
    gone: set[str],
) -> None:
    """Sync a listing, change its database, let it be away, and compare with it.

    While it is away, in each of three ways, nothing may be concluded. When it is back
    the copy has every record as the database has it, no other, and knows what went.
    """
    copy.sync()
    before = copy.held(source)
    assert before == truth()
    alter()
    for away in (server.down(), server.replaced(503), server.replaced(200)):
        with away:
            copy.sync(codes=(4, 5))  # it did not answer, or somebody has to decide
            assert copy.held(source) == before
            assert copy.gone(source) == set()
        copy.wait()
    copy.sync()
    assert copy.held(source) == truth()
    copy.sync()  # a second look confirms what the first one missed
    assert copy.held(source) == truth()
    assert copy.gone(source) == gone
