"""Datasette over a table of cars: as a listing, as a form, and while it is away."""

import sqlite3
import sys
from contextlib import closing
from importlib.util import find_spec

import pytest

from server_parts import (
    Server,
    change,
    check_words,
    free_port,
    live_through,
    running,
    truth,
)

MAKES = ("Fiat", "Opel", "Saab", "Audi", "Lada", "Tata")
WORDS = ("red", "old", "fast", "small", "loud", "open")
CARS = "SELECT id, make, title, price, listed FROM cars"
pytestmark = pytest.mark.timeout(300)  # a dozen commands on a busy machine
LISTING = """
[[source]]
name = "cars"
kind = "listing"
url = "{url}/garage/cars.json?_shape=objects&_size=40"
records = "rows"
key = "id"
next = "next_url"
confirm_hours = 0
allow = ["127.0.0.0/8"]
"""
FORM = """
[[source]]
name = "cars"
kind = "form"
form_url = "{url}/garage/{table}.json?_shape=objects&_size={{count}}{more}"
records = "rows"
key = "id"
total = "filtered_table_rows_count"
per_page = 20
everything = true
allow = ["127.0.0.0/8"]
{keys}
[source.fields]
id = "id"
make = "make"
title = "title"
price = "price"
listed = "listed"
[source.attributes]
make = {{kind = "select", values = ["Fiat", "Opel", "Saab", "Audi", "Lada", "Tata"]}}
[source.attributes.price]
kind = "range"
low = "price__gte"
high = "price__lt"
cuts = [2000, 4000, 6000, 8000]
"""


def car(number, **different):
    """Return a row of the table."""
    row = {
        "id": number,
        "make": MAKES[number * 7 % 6],
        "title": f"{WORDS[number % 6]} {WORDS[number * 5 % 6]} car {number}",
        "price": 1000 + number * 37 % 8000,
        "listed": f"2026-01-{1 + number % 28:02d}",
    }
    return tuple({**row, **different}.values())


def add(*rows):
    """Return statements that insert rows."""
    return [("INSERT INTO cars VALUES (?, ?, ?, ?, ?)", row) for row in rows]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Datasette over a database with an empty table, and a view of it."""
    if find_spec("datasette") is None:
        pytest.skip("datasette is not installed; `make setup` installs it")
    here = tmp_path_factory.mktemp("datasette")
    path = here / "garage.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(
            "CREATE TABLE cars (id INTEGER PRIMARY KEY, make TEXT NOT NULL,"
            " title TEXT NOT NULL, price INTEGER NOT NULL, listed TEXT NOT NULL)"
        )
        db.execute("CREATE VIEW offers AS SELECT * FROM cars ORDER BY id")
    port = free_port()
    command = [sys.executable, "-m", "datasette", "serve", str(path)]
    command += ["-h", "127.0.0.1", "-p", str(port)]
    log = here / "datasette.log"
    with running(Server(command, port, log, path="/-/versions.json")) as server:
        yield server, path


@pytest.fixture
def garage(server):
    """A database of 230 cars, served."""
    served, path = server
    rows = (car(i) for i in range(1, 231))
    change(path, ("DELETE FROM cars", ()), *add(*rows))
    return served


@pytest.fixture
def database(server):
    """The file with the cars."""
    return server[1]


def alter(database):
    """Let 12 cars come, 23 change, 4 go, and one have another key."""
    change(
        database,
        *add(*(car(i) for i in range(300, 312))),
        ("UPDATE cars SET price = price + 5 WHERE id % 10 = 3", ()),
        ("DELETE FROM cars WHERE id IN (7, 40, 41, 200)", ()),
        ("UPDATE cars SET id = 900 WHERE id = 11", ()),
    )


def test_a_listing_holds_what_the_database_does_through_outages(garage, database, copy):
    copy.settings(LISTING.format(url=garage.url))
    live_through(
        copy,
        garage,
        "cars",
        alter=lambda: alter(database),
        truth=lambda: truth(database, CARS),
        gone={"7", "40", "41", "200", "11"},
    )
    # 6 pages of 40; robots.txt once; one request to learn that it is away.
    assert copy.requests == [7, 1, 1, 1, 6, 6]
    check_words(copy, "cars", len(truth(database, CARS)))


def test_a_form_over_a_view_holds_what_the_database_does(garage, database, copy):
    more = "&_next={offset}"  # Datasette pages through views by offset
    keys = 'purpose = "both"'
    copy.settings(FORM.format(url=garage.url, table="offers", more=more, keys=keys))
    copy.sync()
    assert copy.held("cars") == truth(database, CARS)
    alter(database)
    copy.sync()
    copy.sync()
    assert copy.held("cars") == truth(database, CARS)


def test_a_form_over_a_table_follows_its_next_page(garage, database, copy):
    # Datasette pages through tables by a token.
    keys = 'next = "next_url"\npurpose = "both"'
    copy.settings(FORM.format(url=garage.url, table="cars", more="", keys=keys))
    copy.sync()
    assert copy.held("cars") == truth(database, CARS)
    assert copy.requests[-1] <= 22  # 12 pages of 20, and the probe before them
    alter(database)
    copy.sync()
    copy.sync()
    assert copy.held("cars") == truth(database, CARS)


def test_newest_first_finds_new_records_that_have_the_dates_of_old_ones(
    garage, database, copy
):
    change(database, ("UPDATE cars SET listed = '2026-01-01'", ()))
    keys = 'newest = "_sort_desc=listed"\ndate = "listed"'
    more = "&_next={offset}"
    copy.settings(FORM.format(url=garage.url, table="offers", more=more, keys=keys))
    copy.sync()
    new = [car(i, listed="2026-01-01") for i in range(300, 400)]
    change(database, *add(*new))
    copy.sync()
    copy.sync()
    assert copy.held("cars") == truth(database, CARS)


@pytest.mark.parametrize("address", ["cars", "cars.json?_size=40"])
def test_add_finds_out_how_a_table_is_read(garage, database, copy, address):
    copy.settings()
    allow = ("--allow", "127.0.0.0/8", "--source", "cars")
    said = copy.json("add", f"{garage.url}/garage/{address}", *allow, "--yes")
    source = said["source"]
    assert (source["records"], source["key"]) == ("rows", "id")
    assert source["next"] == "next_url"
    copy.sync()
    assert copy.held("cars") == truth(database, CARS)
