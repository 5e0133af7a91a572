"""Pages, a listing and a form on loopback, which a program keeps while it is harmed."""

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from form_worlds import behind, cars
from halflife.demo.forms import FormServer, snippet
from halflife.stores.sqlite import SqliteStore

PAGES, LISTED, RECORDS = 24, 30, 40
CONCURRENCY = 4
BUDGET = 400
SYNC = ("sync", "--all", "--json")
HEAD = """\
[budget]
requests = {budget}
[fetch]
delay = 0.0
timeout = 10.0
concurrency = {concurrency}
[[source]]
name = "site"
allow = ["127.0.0.0/8"]
pages = {pages}
target = "freshness >= 0.5"
[[source]]
name = "jobs"
kind = "listing"
key = "id"
target = "recall >= 0.8"
allow = ["127.0.0.0/8"]
urls = ["{url}/jobs/1.json", "{url}/jobs/2.json"]
"""


@dataclass
class World:
    """The servers, and what they hold in each of two ages.

    Attributes:
        server: Serves the pages and the listing.
        office: Serves the form.
        address: Where the form is.

    """

    server: object
    office: FormServer
    address: str
    paths: list[str] = field(default_factory=lambda: [f"/p{i}" for i in range(PAGES)])

    def age(self, number):
        """Let the world be as it is in an age; every third page is another then."""
        pages = self.server.pages
        for i, path in enumerate(self.paths):
            text = f"page {i}, age {number if i % 3 == 0 else 0} " * 40
            pages[path] = ("text/plain", text.encode())
        jobs = [{"id": k, "pay": k % 5 + number} for k in range(number, LISTED)]
        for page, part in enumerate((jobs[:15], jobs[15:]), 1):
            pages[f"/jobs/{page}.json"] = (
                "application/json",
                json.dumps(part).encode(),
            )
        everything = cars(RECORDS + 3)
        keys = list(everything)[number : RECORDS + number]
        records = {key: everything[key] for key in keys}
        self.office.form = behind(records, everything=True, page_size=20)
        self.forget()

    def forget(self):
        self.server.asked.clear()
        self.office.asked = 0

    @property
    def asked(self):
        """Requests that the servers saw, but for the robots.txt of the form."""
        return len(self.server.asked) + self.office.asked

    def most_repeated(self):
        """Return how many requests for pages were repeated, in all."""
        asked = [path for path in self.server.asked if path in self.paths]
        return len(asked) - len(set(asked))

    def settle(self, folder):
        """Write settings into a new folder."""
        folder.mkdir()
        pages = json.dumps([self.server.url + path for path in self.paths])
        text = HEAD.format(
            budget=BUDGET, concurrency=CONCURRENCY, pages=pages, url=self.server.url
        )
        form = snippet(self.address, self.office.form.interface)
        (folder / "halflife.toml").write_text(text + form)
        return folder


def copied(folder, to):
    """Copy a folder with settings and state."""
    return Path(shutil.copytree(folder, to))


@dataclass(frozen=True, slots=True)
class Kept:
    """What a state file holds: copies of pages, and objects of set sources."""

    pages: dict
    jobs: dict
    records: dict


def kept(folder):
    """Return what is kept; the file must be whole."""
    path = folder / "halflife.db"
    if not path.exists():
        return Kept({}, {}, {})
    with SqliteStore.open(path, create=True) as store:
        assert store.verify() == []
        pages = {
            key.rpartition("/")[2]: store.content(key).body
            for key in store.evidence(["site"]).keys
            if store.content(key) is not None
        }
        sets = [objects(store, name) for name in ("jobs", "simulated")]
    return Kept(pages, *sets)


def objects(store, name):
    """Return what is known of the objects of a set source, but for when."""
    if name not in store.collections():
        return {}
    register = store.register(name)
    latest = {v.key: v.attributes for v in register.versions}
    return {
        spell.key: (spell.missing_since < inf, latest.get(spell.key, spell.attributes))
        for spell in register.spells
    }


def charged(folder):
    """Return how many requests were charged so far."""
    path = folder / "halflife.db"
    if not path.exists():
        return 0
    with closing(sqlite3.connect(path)) as db:
        tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'ledger'"
        if not db.execute(tables).fetchone()[0]:
            return 0
        return db.execute("SELECT coalesce(sum(requests), 0) FROM ledger").fetchone()[0]
