"""A table behind a real Datasette, whose records are all of the same date."""

import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from halflife.config import Config
from halflife.engine import bootstrap

pytest.importorskip("datasette")  # it is no dependency; `make test-servers` has it

CITIES = ("Oslo", "Rome", "Lima")
SETTINGS = """
[budget]
requests = 2000
[fetch]
delay = 0.0
[[source]]
name = "things"
kind = "form"
allow = ["127.0.0.0/8"]
form_url = "URL/t/things.json?_shape=objects&_size=20"
format = "json"
records = "rows"
key = "id"
total = "filtered_table_rows_count"
next = "next_url"
newest = "_sort_desc=day"
everything = true
per_page = 20
[source.attributes]
city = {values = ["Oslo", "Rome", "Lima"]}
"""


def add(path, begin, end):
    with sqlite3.connect(path) as base:
        base.executemany(
            "INSERT INTO things VALUES (?, ?, ?, ?)",
            [(i, CITIES[i % 3], f"thing {i}", "2026-05-01") for i in range(begin, end)],
        )


@pytest.fixture
def datasette(here):
    """Serve a table of 510 records; yields the file that holds it."""
    path = here / "t.db"
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, city, name, day)")
    add(path, 0, 510)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(
        [sys.executable, "-m", "datasette", str(path), "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(url)
        (here / "halflife.toml").write_text(SETTINGS.replace("URL", url))
        yield path
    finally:
        server.terminate()
        server.wait()


def _wait_for(url):
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{url}/-/versions.json", timeout=5).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
        else:
            return
    pytest.fail("the server does not answer")


def keys(here):
    config = Config.load(here / "halflife.toml")
    with bootstrap.reading(config) as store:
        return {int(spell.key) for spell in store.register("things").spells}


def test_all_records_of_a_table_of_equal_dates_are_found(datasette, asked, here):
    asked("sync")
    assert keys(here) == set(range(510))
    add(datasette, 510, 630)
    _, answer = asked("sync")
    (row,) = answer["listings"]
    assert row["arrived"] == 120
    assert keys(here) == set(range(630))
