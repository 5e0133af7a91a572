"""A real GraphQL server (graphene): a connection, added by a question alone."""

import sqlite3
import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from server_parts import Server, change, free_port, running

pytestmark = pytest.mark.timeout(300)
QUESTION = """
query Teas($after: String) {
  teas(first: 40, after: $after) {
    totalCount
    edges { node { id name price } }
    pageInfo { hasNextPage endCursor }
  }
}
"""


def titles(database):
    with closing(sqlite3.connect(database)) as db:
        return dict(db.execute("SELECT name, price FROM tea"))


@pytest.fixture
def server(tmp_path):
    """A server with 95 teas."""
    if find_spec("graphene") is None:
        pytest.skip("graphene is not installed; `make setup` installs it")
    path, port = tmp_path / "tea.db", free_port()
    with closing(sqlite3.connect(path)) as db:
        db.execute(
            "CREATE TABLE tea (id INTEGER PRIMARY KEY, name TEXT, price INTEGER)"
        )
    rows = [("INSERT INTO tea VALUES (?, ?, ?)", (n, f"Tea {n}", n)) for n in range(95)]
    change(path, *rows)
    script = Path(__file__).parent / "graphene_shop.py"
    command = [sys.executable, str(script), str(port), str(path)]
    with running(Server(command, port, tmp_path / "graphene.log")) as server:
        yield server, path


def test_add_finds_records_key_and_cursor_of_a_connection(server, copy):
    site, database = server
    copy.settings()
    (copy.here / "q.graphql").write_text(QUESTION)
    allow = ("--allow", "127.0.0.0/8", "--source", "teas", "--yes")
    said = copy.json("add", f"{site.url}/graphql", "--graphql", "q.graphql", *allow)
    source = said["source"]
    assert (source["records"], source["key"]) == ("data.teas.edges[].node", "id")
    assert source["graphql"]["cursor"] == "data.teas.pageInfo.endCursor"
    assert said["recognised"]["total"] == 95
    copy.sync()
    held = {row["name"]: row["price"] for row in copy.held("teas").values()}
    assert held == titles(database)
    change(database, ("DELETE FROM tea WHERE id = 7", ()),
           ("UPDATE tea SET price = 1 WHERE id = 50", ()))  # fmt: skip
    copy.sync()
    held = {row["name"]: row["price"] for row in copy.held("teas").values()}
    assert held == titles(database)


def test_a_question_that_is_refused_is_one_clear_line(server, copy):
    copy.settings()
    (copy.here / "q.graphql").write_text("query { coffees { id } }")
    words = ("--graphql", "q.graphql", "--allow", "127.0.0.0/8", "--yes")
    _, err = copy.run("add", f"{server[0].url}/graphql", *words, codes=(1,))
    assert err.count("\n") == 1
    assert "has no records" in err
    assert "coffees" in err
