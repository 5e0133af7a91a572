"""A user's first quarter of an hour: what ``add`` alone finds out of ten sources.

    python -m lab.first_quarter

Ten sources answer on loopback as Datasette, Django REST framework (pages, cursor,
offset, with a token), a GraphQL server, MediaWiki's API and a site made by Hugo do.
Each is added by its address alone (``halflife add URL --yes``), synced, changed and
synced again; then the copy is compared with what the source has. A table goes to
standard error, the same as JSON to standard output.
"""

import io
import json
import os
import sqlite3
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from halflife.cli import main as halflife
from lab.tea_shop import TOKEN, Shop, serving

QUESTION = """
query Teas($after: String) {
  teas(first: 10, after: $after) {
    totalCount
    edges { cursor node { id name price } }
    pageInfo { hasNextPage endCursor }
  }
}
"""
HELD = """
SELECT life.key, coalesce(
    (SELECT version.attributes FROM version WHERE version.life = life.id
     ORDER BY seen_from DESC LIMIT 1), life.attributes)
FROM life JOIN source ON source.id = life.source
WHERE source.name = ? AND gone_by IS NULL AND missing_since IS NULL
"""
PAGES = """
SELECT item.key, content.body FROM content JOIN item ON item.id = content.item
JOIN source ON source.id = item.source WHERE source.name = ?
"""
GONE_PAGES = """
SELECT item.key FROM item JOIN observation AS last ON last.id =
    (SELECT observation.id FROM observation WHERE observation.item = item.id
     AND seen < 2 ORDER BY at DESC LIMIT 1)
WHERE last.seen = 1
"""
Run: TypeAlias = Callable[..., tuple[int, str]]


@dataclass(frozen=True)
class Case:
    """One of the ten.

    Attributes:
        name: What it is called.
        path: Its address.
        key: The key that is right; empty if it has pages.
        paging: The settings of paging that are right: a key of the table, or a kind.
        truth: What a copy should hold.
        options: What a user has to say besides the address.

    """

    name: str
    path: str
    key: str
    paging: str
    truth: Callable[[Shop], dict[str, Any]]
    options: tuple[str, ...] = ()


def _teas(shop: Shop) -> dict[str, Any]:
    return {str(row["id"]): row for row in shop.rows()}


def _titles(shop: Shop) -> dict[str, Any]:
    return {
        str(row["id"]): {"pageid": row["id"], "ns": 0, "title": row["name"]}
        for row in shop.rows()
    }


def _nodes(shop: Shop) -> dict[str, Any]:
    return {str(row["id"]): {**row, "id": str(row["id"])} for row in shop.rows()}


def _texts(shop: Shop) -> dict[str, Any]:
    return {
        f"{shop.url}/teas/{row['id']}/": f"It costs {row['price']}."
        for row in shop.rows()
    }


def _index(shop: Shop) -> dict[str, Any]:
    named = ((f"{shop.url}/teas/{row['id']}/", row) for row in shop.rows())
    return {
        at: {"permalink": at, "title": row["name"], "price": row["price"]}
        for at, row in named
    }


CASES = (
    Case("Datasette", "/garage/teas.json", "id", "next", _teas),
    Case("Django REST, pages", "/api/pages/", "id", "next", _teas),
    Case("Django REST, cursor", "/api/cursor/", "id", "next", _teas),
    Case("Django REST, offset", "/api/offset/", "id", "next", _teas),
    Case(
        "Django REST, token", "/api/token/", "id", "next", _teas,
        ("--header", "Authorization: env:TEA_TOKEN"),
    ),
    Case("GraphQL", "/graphql", "id", "graphql", _nodes, ("--graphql", "q.graphql")),
    Case("MediaWiki", "/w/api.php?action=query&list=allpages&format=json", "pageid",
         "cursor", _titles),
    Case("Hugo, sitemap", "/sitemap.xml", "", "maps", _texts),
    Case("Hugo, feed", "/index.xml", "", "maps", _texts),
    Case("Hugo, JSON index", "/index.json", "permalink", "", _index),
)  # fmt: skip

# Other ways of paging that are common; they are no part of the ten.
MORE = (
    Case("Link header", "/more/link", "id", "header", _teas),
    Case("pages from 0", "/more/zero", "id", "page", _teas),
    Case("pages from 1", "/more/number", "id", "page", _teas),
    Case("offset", "/more/solr?start=0", "id", "offset", _teas),
    Case("CKAN", "/more/ckan", "id", "offset", _teas),
    Case("Stripe", "/more/stripe", "id", "cursor", _teas),
    Case("Airtable", "/more/airtable", "id", "cursor", _teas),
)


@dataclass(frozen=True)
class Outcome:
    """What became of one of the ten.

    Attributes:
        source: What it is called.
        kind: The kind of source that it became.
        records: Where its records were found.
        key: What was taken for the key.
        paging: How it goes on.
        requests: Requests of ``add``.
        found: Whether records, key and paging are right.
        equal: Whether the copy was equal to the truth, before and after changes.
        seconds: How long ``add`` took.

    """

    source: str
    kind: str
    records: str
    key: str
    paging: str
    requests: int
    found: bool
    equal: bool
    seconds: float


def run_in_process(*words: str) -> tuple[int, str]:
    """Run the program here; return its exit code and what it printed."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        code = halflife(list(words))
    return code, out.getvalue()


def measure(case: Case, shop: Shop, folder: Path, run: Run) -> Outcome:
    """Add a source by its address, sync it, change it, sync it, and compare."""
    shop.fill()
    config = folder / "halflife.toml"
    config.write_text("[budget]\nrequests = 100000\n[fetch]\ndelay = 0.0\n")
    (folder / "q.graphql").write_text(QUESTION)
    options = [w if w != "q.graphql" else str(folder / w) for w in case.options]
    words = ("--allow", "127.0.0.0/8", "--source", "it", "--config", str(config))
    began = time.perf_counter()
    code, out = run(
        "add", f"{shop.url}{case.path}", *words, *options, "--yes", "--json"
    )
    took = time.perf_counter() - began
    table = json.loads(out)["source"] if code == 0 else {}
    spent = _rows(folder, "SELECT coalesce(sum(requests), 0) FROM ledger")
    equal = []
    for changes in (False, True):
        if changes:
            shop.change()
        for _ in range(1 if case.key else 2):  # the second fetches pages just found
            run("sync", "--all", "--config", str(config), "--json")
        equal.append(_copy(case, folder) == case.truth(shop))
    paging = _paging(table)
    return Outcome(
        case.name,
        table.get("kind", ""),
        table.get("records", ""),
        table.get("key", ""),
        paging,
        int(spent[0][0]) if spent else 0,
        code == 0 and table.get("key", "") == case.key and paging == case.paging,
        all(equal),
        round(took, 2),
    )


def _paging(table: Mapping[str, Any]) -> str:
    if "paging" in table:
        return str(table["paging"]["kind"])
    if "cursor" in table.get("graphql", {}):
        return "graphql"
    return next((key for key in ("next", "maps") if key in table), "")


def _rows(folder: Path, query: str, *values: object) -> list[tuple[Any, ...]]:
    path = folder / "halflife.db"
    if not path.exists():
        return []
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return db.execute(query, values).fetchall()


def _copy(case: Case, folder: Path) -> dict[str, Any]:
    """Return what the copy holds, by what an SQLite tool would see."""
    if case.key:
        return {k: json.loads(text) for k, text in _rows(folder, HELD, "it")}
    gone = {k for (k,) in _rows(folder, GONE_PAGES)}
    pages = {k: zlib.decompress(b).decode() for k, b in _rows(folder, PAGES, "it")}
    return {
        k: text[text.index("It costs") : text.index("</p>")]
        for k, text in pages.items()
        if "It costs" in text and k not in gone
    }


def play(folder: Path, run: Run = run_in_process) -> list[Outcome]:
    """Return what became of each of the ten."""
    os.environ["TEA_TOKEN"] = TOKEN
    shop, found = Shop(), []
    with serving(shop):
        for number, case in enumerate(CASES):
            here = folder / str(number)
            here.mkdir()
            found.append(measure(case, shop, here, run))
    return found


def main() -> int:
    """Print the table; fail if fewer than eight were found out."""
    with tempfile.TemporaryDirectory() as folder:
        found = play(Path(folder))
    rows = [asdict(one) for one in found]
    for row in (dict(zip(rows[0], rows[0], strict=True)), *rows):
        cells = (str(value)[:22].ljust(23) for value in row.values())
        sys.stderr.write("".join(cells).rstrip() + "\n")
    right = sum(one.found and one.equal for one in found)
    sys.stdout.write(json.dumps({"right": right, "of": len(rows), "results": rows}))
    sys.stdout.write("\n")
    return 0 if right >= 8 else 1


if __name__ == "__main__":
    sys.exit(main())
