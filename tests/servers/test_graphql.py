"""Strawberry, a GraphQL server: a table as a listing, page by page."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from server_parts import Server, change, free_port, running, truth

pytestmark = pytest.mark.timeout(300)  # a dozen commands on a busy machine
HERE = Path(__file__).parent
TEAS = "SELECT id, name, price FROM tea"
LISTING = '''
[[source]]
name = "teas"
kind = "listing"
url = "{url}/graphql"
records = "data.teas.edges[].node"
key = "id"
confirm_hours = 0
robots = false
allow = ["127.0.0.0/8"]
{more}
[source.graphql]
query = """
query ($after: String, $above: Int! = 0) {{
  teas(first: 40, after: $after, above: $above) {{
    totalCount
    edges {{ node {{ id name {price} }} }}
    pageInfo {{ endCursor hasNextPage }}
  }}
}}"""
cursor = "data.teas.pageInfo.endCursor"
'''


def add(*numbers):
    """Return statements that insert teas."""
    statement = "INSERT INTO tea (id, name, price) VALUES (?, ?, ?)"
    return [(statement, (n, f"tea {n}", 100 + n * 13 % 900)) for n in numbers]


def settings(server, more="", price="price"):
    return LISTING.format(url=server.url, more=more, price=price)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The server, over an empty table."""
    if find_spec("strawberry") is None:
        pytest.skip("strawberry-graphql is not installed; `make setup` installs it")
    here = tmp_path_factory.mktemp("graph")
    path, port = here / "teas.sqlite3", free_port()
    table = "CREATE TABLE tea (id INTEGER PRIMARY KEY, name TEXT, price INTEGER)"
    change(path, (table, ()))
    serve = [sys.executable, "-m", "uvicorn", "graph.app:app", "--port", str(port)]
    env = {"TEAS": str(path), "PYTHONPATH": str(HERE), "PYTHONWARNINGS": "ignore"}
    server = Server(serve, port, here / "graph.log", path="/graphql", env=env)
    with running(server):
        yield server, path


@pytest.fixture
def database(server):
    """Its database, with 190 teas."""
    change(server[1], ("DELETE FROM tea", ()), *add(*range(1, 191)))
    return server[1]


def test_a_listing_holds_what_the_database_does(server, database, copy):
    copy.settings(settings(server[0], 'total = "data.teas.totalCount"'))
    copy.sync()
    assert copy.held("teas") == truth(database, TEAS)
    change(
        database,
        *add(*range(300, 312)),
        ("UPDATE tea SET price = price + 5 WHERE id % 10 = 3", ()),
        ("DELETE FROM tea WHERE id IN (7, 40, 41, 180)", ()),
    )
    (row,) = copy.sync()["listings"]
    assert (row["arrived"], row["updated"], row["missing"]) == (12, 19, 4)
    assert copy.held("teas") == truth(database, TEAS)
    assert copy.requests == [5, 5]  # pages of 40


def test_a_field_that_is_not_there_is_a_failure_with_its_reason(server, database, copy):
    copy.settings(settings(server[0], price="prize"))
    _, err = copy.run("sync", codes=(4,))
    assert "answered with an error: Cannot query field 'prize'" in err
    assert copy.held("teas") == {}


def test_only_what_is_newer_is_asked_for_among_the_variables(server, database, copy):
    since = 'since = "body.variables.above={last}"\nsince_field = "id"'
    copy.settings(settings(server[0], since))
    copy.sync()
    change(database, *add(300, 301), ("DELETE FROM tea WHERE id = 7", ()))
    (row,) = copy.sync()["listings"]
    assert (row["listed"], row["arrived"], row["gone"]) == (2, 2, 0)
    assert copy.requests == [5, 1]
    assert set(copy.held("teas")) == {*truth(database, TEAS), "7"}


QUESTION = """
query Teas($after: String) {
  teas(first: 40, after: $after) {
    totalCount
    edges { node { id name price } }
    pageInfo { endCursor hasNextPage }
  }
}
"""


def test_add_finds_records_key_and_cursor_of_a_question(server, database, copy):
    copy.settings()
    (copy.here / "q.graphql").write_text(QUESTION)
    words = ("--graphql", "q.graphql", "--allow", "127.0.0.0/8", "--source", "teas")
    said = copy.json("add", f"{server[0].url}/graphql", *words, "--yes")
    source = said["source"]
    assert (source["records"], source["key"]) == ("data.teas.edges[].node", "id")
    assert source["graphql"]["cursor"] == "data.teas.pageInfo.endCursor"
    assert said["recognised"]["total"] == 190
    copy.sync()
    assert copy.held("teas") == truth(database, TEAS)


def test_add_alone_asks_a_server_what_it_has(server, database, copy):
    copy.settings()
    words = ("--allow", "127.0.0.0/8", "--source", "teas", "--yes")
    source = copy.json("add", f"{server[0].url}/graphql", *words)["source"]
    assert (source["records"], source["key"]) == ("data.teas.edges[].node", "id")
    assert source["graphql"]["cursor"] == "data.teas.pageInfo.endCursor"
    copy.sync()
    assert copy.held("teas") == truth(database, TEAS)


def test_a_question_that_is_refused_is_one_clear_line(server, copy):
    copy.settings()
    (copy.here / "q.graphql").write_text("query { coffees { id } }")
    words = ("--graphql", "q.graphql", "--allow", "127.0.0.0/8", "--yes")
    _, err = copy.run("add", f"{server[0].url}/graphql", *words, codes=(1,))
    assert err.count("\n") == 1
    assert "coffees" in err
