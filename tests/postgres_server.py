"""Debian's PostgreSQL in a folder of its own, for as long as a test needs it."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

from missing_programs import reason
from sink_truth import Tables

HOME = Path("/usr/lib/postgresql")
USER = "postgres"  # the server refuses to run as root
FRESH = count(1)
GUARDED = "guarded"  # a user that is asked for its password; all others are trusted
PREFIX = "hl-pg-"
LEFT = 600.0  # seconds after its last word in which a server has surely begun
FOLLOW = ["setpriv", "--pdeathsig", "INT", "--"]  # it ends with the tests, however


def programs():
    """Return the folder with the newest initdb and postgres; None if there is none."""
    found = {int(p.parts[-3]): p.parent for p in HOME.glob("[0-9]*/bin/initdb")}
    return found[max(found)] if found else None


@contextmanager
def running():
    """Start a server on a socket in an empty folder; yield the folder.

    It does not wait for the disk: what is killed here is its client, never the machine.
    """
    _sweep()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))  # a socket's path must be short
    root, place = os.geteuid() == 0, programs()
    who = {"user": USER, "group": USER, "extra_groups": []} if root else {}
    if root:
        shutil.chown(folder, USER, USER)
    try:
        initdb = [place / "initdb", "-D", folder / "data", "-U", USER, "-A", "trust"]
        initdb += ["-E", "UTF8", "--no-locale", "--no-sync", "--no-instructions"]
        subprocess.run(initdb, check=True, capture_output=True, cwd=folder, **who)
        rules = folder / "data/pg_hba.conf"
        rule = f"local all {GUARDED} scram-sha-256\n"
        rules.write_text(rule + rules.read_text())
        follow = FOLLOW if shutil.which(FOLLOW[0]) else []
        words = [*follow, place / "postgres", "-D", folder / "data", "-k", folder, "-F"]
        words += ["-c", "listen_addresses=", "-c", "autovacuum=off"]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(words, stderr=log, cwd=folder, **who)
        try:
            _wait(folder, server)
            yield folder
        finally:
            server.send_signal(signal.SIGINT)  # ends its sessions, too
            server.wait(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep():
    """Remove what is left of servers that ended with tests that were killed."""
    for log in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/log"):
        with suppress(OSError):
            ended = not (log.parent / "data/postmaster.pid").exists()
            if ended and time.time() - log.stat().st_mtime > LEFT:
                shutil.rmtree(log.parent, ignore_errors=True)


def _wait(folder, server):
    import psycopg  # noqa: PLC0415  (an extra)

    until = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(host=str(folder), user=USER).close()
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > until:
                pytest.fail((folder / "log").read_text(errors="replace"))
            time.sleep(0.02)
        else:
            return


def need():
    """Skip unless there is a server and its driver."""
    if programs() is None:
        pytest.skip(reason("PostgreSQL"))
    pytest.importorskip("psycopg", reason="needs halflife[postgres]")


class PostgresTables(Tables):
    """The tables of one schema of a server, read without SQLAlchemy."""

    def __init__(self, folder):
        super().__init__(folder)
        self.schema = f"s{next(FRESH)}_{os.getpid()}"
        with self.connect() as db:
            db.execute(f"CREATE SCHEMA {self.schema}")
        self.url = (
            f"postgresql+psycopg://{USER}@/{USER}?host={folder}"
            f"&options=-csearch_path%3D{self.schema}"
        )

    def connect(self):
        import psycopg  # noqa: PLC0415  (an extra)

        path = f"-csearch_path={self.schema}"
        return psycopg.connect(
            host=str(self.path),
            user=USER,
            options=path,
            autocommit=True,
            row_factory=psycopg.rows.dict_row,
        )

    def query(self, query, *given):
        with self.connect() as db:
            return db.execute(query.replace("?", "%s"), given).fetchall()
