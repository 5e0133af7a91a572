"""Django REST framework: a table as a listing, paged in each of its ways."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from server_parts import Server, change, free_port, live_through, running, truth

pytestmark = pytest.mark.timeout(300)  # a dozen commands on a busy machine
HERE = Path(__file__).parent
TEAS = "SELECT id, name, price FROM tea"
LISTING = """
[[source]]
name = "teas"
kind = "listing"
{url}
records = "results"
key = "id"
confirm_hours = 0
allow = ["127.0.0.0/8"]
"""


def tea(number):
    return number, f"tea {number}", 100 + number * 13 % 900


def add(*numbers):
    """Return statements that insert teas."""
    statement = "INSERT INTO tea (id, name, price) VALUES (?, ?, ?)"
    return [(statement, tea(number)) for number in numbers]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Django's own server with an empty table."""
    if find_spec("rest_framework") is None:
        pytest.skip("djangorestframework is not installed; `make setup` installs it")
    here = tmp_path_factory.mktemp("django")
    path, port = here / "shop.sqlite3", free_port()
    env = {"SHOP_DATABASE": str(path), "PYTHONWARNINGS": "ignore"}
    django = [sys.executable, "-m", "django"]
    common = ["--settings", "shop.settings", "--pythonpath", str(HERE)]
    subprocess.run(
        [*django, "migrate", "--run-syncdb", "-v", "0", *common],
        env={**os.environ, **env},
        timeout=60,
        check=True,
    )
    serve = [*django, "runserver", "--noreload", f"127.0.0.1:{port}", *common]
    server = Server(serve, port, here / "django.log", path="/api/", env=env)
    with running(server):
        yield server, path


@pytest.fixture
def database(server):
    """Its database, with 190 teas."""
    change(server[1], ("DELETE FROM tea", ()), *add(*range(1, 191)))
    return server[1]


def alter(database):
    """Let 12 teas come, 19 change, 4 go, and one have another key."""
    change(
        database,
        *add(*range(300, 312)),
        ("UPDATE tea SET price = price + 5 WHERE id % 10 = 3", ()),
        ("DELETE FROM tea WHERE id IN (7, 40, 41, 180)", ()),
        ("UPDATE tea SET id = 900 WHERE id = 11", ()),
    )


def test_a_listing_holds_what_the_database_does_through_outages(server, database, copy):
    site = server[0]
    url = f'url = "{site.url}/api/pages/?format=json"\nnext = "next"'
    copy.settings(LISTING.format(url=url))
    live_through(
        copy,
        site,
        "teas",
        alter=lambda: alter(database),
        truth=lambda: truth(database, TEAS),
        gone={"7", "40", "41", "180", "11"},
    )
    # 5 pages of 40; robots.txt once; one request to learn that it is away.
    assert copy.requests == [6, 1, 1, 1, 5, 5]


@pytest.mark.parametrize("paging", ["cursor", "offset"])
def test_other_ways_of_paging_list_everything_too(server, database, copy, paging):
    url = f'url = "{server[0].url}/api/{paging}/?format=json"\nnext = "next"'
    copy.settings(LISTING.format(url=url))
    copy.sync()
    assert copy.held("teas") == truth(database, TEAS)


def test_an_address_that_shows_html_to_browsers_is_asked_for_json(
    server, database, copy
):
    url = f'url = "{server[0].url}/api/pages/"\nnext = "next"'
    copy.settings(LISTING.format(url=url))
    copy.sync()
    assert copy.held("teas") == truth(database, TEAS)


def test_numbered_pages_end_where_the_server_says_that_there_is_none(
    server, database, copy
):
    url = f'page_url = "{server[0].url}/api/pages.json?page={{n}}"'
    copy.settings(LISTING.format(url=url))
    copy.sync()
    assert copy.held("teas") == truth(database, TEAS)
    alter(database)
    copy.sync()
    assert copy.held("teas") == truth(database, TEAS)


FIFTY = """
[source.paging]
kind = "offset"
parameter = "offset"
limit = 50
limit_parameter = "limit"
"""
MEMBER = """
INSERT INTO auth_user (id, username, password, is_superuser, first_name, last_name,
    email, is_staff, is_active, date_joined)
VALUES (1, 'ada', '', 0, '', '', '', 0, 1, '2026-01-01')
"""


@pytest.mark.parametrize(
    ("view", "paging"),
    [
        ("pages.json", 'paging = {kind = "page", parameter = "page"}'),
        ("offset.json", 'paging = {kind = "offset", parameter = "offset"}'),
        ("offset.json", FIFTY),
    ],
)
def test_counted_pages_end_where_the_server_reports_the_total(
    server, database, copy, view, paging
):
    url = f'url = "{server[0].url}/api/{view}"\ntotal = "count"'
    copy.settings(LISTING.format(url=url) + paging)
    copy.sync()
    assert copy.held("teas") == truth(database, TEAS)
    limit = 50 if "limit =" in paging else 40
    assert copy.requests == [-(-190 // limit) + 1]  # and robots.txt


TOKEN = "9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b"


@pytest.fixture
def member(database):
    """Somebody who has a token."""
    change(
        database,
        ("DELETE FROM authtoken_token", ()),
        ("DELETE FROM auth_user", ()),
        (MEMBER, ()),
        ("INSERT INTO authtoken_token VALUES (?, '2026-01-01', 1)", (TOKEN,)),
    )


def test_a_token_opens_what_is_closed_and_is_kept_nowhere(
    server, database, member, copy, monkeypatch
):
    url = f'url = "{server[0].url}/api/token.json"\nnext = "next"'
    secret = '[source.headers]\nAuthorization = {env = "TEAS_TOKEN"}\n'
    copy.settings(LISTING.format(url=url) + secret)
    monkeypatch.setenv("TEAS_TOKEN", "Token of-somebody-else")
    _, err = copy.run("sync", codes=(4,))
    assert "it answered 401" in err
    monkeypatch.setenv("TEAS_TOKEN", f"Token {TOKEN}")
    copy.sync()
    assert copy.held("teas") == truth(database, TEAS)
    for path in copy.here.iterdir():
        assert TOKEN.encode() not in path.read_bytes()


def test_new_teas_are_found_by_one_request_and_gone_ones_by_a_full_pass(
    server, database, copy
):
    url = f'url = "{server[0].url}/api/newer.json"\nnext = "next"\n'
    since = 'since = "above={last}"\nsince_field = "id"\n'
    copy.settings(LISTING.format(url=url + since))
    copy.sync()
    change(database, *add(300, 301), ("DELETE FROM tea WHERE id = 7", ()))
    copy.sync()
    assert copy.requests == [6, 1]
    assert set(copy.held("teas")) == {*truth(database, TEAS), "7"}
    copy.settings(LISTING.format(url=url))  # everything, from now on
    copy.sync()
    assert copy.held("teas") == truth(database, TEAS)


@pytest.mark.parametrize("paging", ["pages", "cursor", "offset", "token"])
def test_add_finds_out_how_an_api_is_read(
    server, database, member, copy, paging, monkeypatch
):
    monkeypatch.setenv("TEA_TOKEN", f"Token {TOKEN}")
    copy.settings()
    secret = ("--header", "Authorization: env:TEA_TOKEN") if paging == "token" else ()
    words = ("--allow", "127.0.0.0/8", "--source", "teas", *secret, "--yes")
    said = copy.json("add", f"{server[0].url}/api/{paging}/", *words)
    source = said["source"]
    assert (source["records"], source["key"]) == ("results", "id")
    assert source["next"] == "next"
    assert said["recognised"]["total"] == (None if paging == "cursor" else 190)
    assert copy.requests == [4]  # robots.txt, the page for people, JSON, its next page
    copy.sync()
    assert copy.held("teas") == truth(database, TEAS)
