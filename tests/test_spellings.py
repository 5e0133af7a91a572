"""Keys of older state files, and items whose key is not what is sent."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from halflife.config import Config
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Outgoing, Seen
from halflife.core.request import Fetch
from halflife.kinds.pages import crawl as pages_crawl
from halflife.kinds.pages.links import Scope, spelled
from halflife.kinds.pages.site import CrawlLimits
from halflife.net.addresses import canonical
from halflife.readers.text import fingerprint
from halflife.stores import schema
from halflife.stores.spellings import fold
from halflife.stores.sqlite import SqliteStore
from site_parts import html, running, sync

HOME = "http://127.0.0.1:8765"
DUMP = Path(__file__).with_name("state_v7.sql")  # written by halflife, schema 7
NAMED = ["/service?wsdl", "/list?b=2&a=1", "/plain", "/x?id=5", "/sitemap.xml"]
MAPPED = ["/shop?p=2&lang=en", "/shop?x=1;y=2", "/m/%7eu?q=a%20b"]
CRAWLED = ["/c/", "/c/page?z=1&b=2", "/c/a?sid=0123456789abcdef01&k=1"]


@pytest.fixture
def path(tmp_path):
    return make(tmp_path / "state.db", DUMP.read_text())


def make(where: Path, text: str) -> Path:
    with closing(sqlite3.connect(where)) as db:
        db.executescript(text)
        db.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        db.execute("PRAGMA user_version = 7")
        db.execute("PRAGMA journal_mode = WAL")
    return where


def items(paths: list[str], source: str) -> list[Item]:
    return [Item(canonical(HOME + path), source) for path in paths]


def hints(paths: list[str], source: str, at: float) -> list[Observation]:
    made = items(paths, source)
    return [Observation(i.key, at, Seen.HINT, modified=at, item=i) for i in made]


def keys(store: SqliteStore, source: str) -> set[str]:
    return {item.key.removeprefix(HOME) for item in store.items([source])}


def test_a_file_of_the_version_before_is_brought_up_to_date_and_whole(path):
    with SqliteStore.open(path) as store:
        assert store.verify() == []
        assert len(store.items()) == 11
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (len(schema.STEPS),)


def test_what_the_settings_name_keeps_its_history_under_the_present_key(path):
    with SqliteStore.open(path) as store:
        assert store.add(items(NAMED, "named")) == 0
        assert {*NAMED} <= keys(store, "named")
        assert len(store.items()) == 11
        evidence = store.evidence(["named"])
        row = evidence.row(HOME + "/list?b=2&a=1")
        assert evidence.looks[row] == 1
        assert store.content(HOME + "/service?wsdl").body == b"old"
        assert store.verify() == []


def test_a_page_that_is_held_under_another_key_is_reported_as_moved(path):
    with SqliteStore.open(path) as store:
        store.add(items(NAMED, "named"))
        moved = {c.key: c.fields["key"] for c in store.changes.read()}
        assert moved[HOME + "/list?b=2&a=1"] == (
            HOME + "/list?a=1&b=2",
            HOME + "/list?b=2&a=1",
        )
        assert {c.kind for c in store.changes.read()} == {"moved"}
        store.add(items(NAMED, "named"))
        assert len(moved) == store.changes.last()


def test_two_orders_of_a_query_become_two_items(path):
    with SqliteStore.open(path) as store:
        both = ["/list?a=1&b=2", "/list?b=2&a=1"]
        assert store.add(items(both, "named")) == 1
        assert {*both} <= keys(store, "named")


def test_an_item_of_another_source_is_left_alone(path):
    with SqliteStore.open(path) as store:
        assert store.add(items(["/list?b=2&a=1"], "other")) == 1
        assert "/list?a=1&b=2" in keys(store, "named")


def test_a_page_that_a_map_names_in_its_present_spelling_is_not_new(path):
    old = HOME + "/shop?lang=en&p=2"
    with SqliteStore.open(path) as store:
        run = store.begin(["named"], 200.0, lease=1.0)
        evidence = store.evidence(["named"])
        store.append(run, Observations.of(hints(MAPPED, "named", 200.0)))
        assert len(evidence) == len(store.items(["named"])) == 8
        assert evidence.hints[evidence.row(old)] == 1  # what the map says is heard
        assert store.url_of(old) == HOME + MAPPED[0]  # and the right URL is sent
        looks = [Observation(old, 200.5, Seen.PRESENT, "9" * 32)]
        store.append(run, Observations.of(looks))
        store.append(run, Observations.of(hints(MAPPED, "named", 200.6)))
        store.finish(run, 201.0)
    with SqliteStore.open(path) as store:
        assert store.add(items(NAMED, "named")) == 0
        assert keys(store, "named") == {*NAMED, *MAPPED}
        evidence = store.evidence(["named"])
        assert evidence.looks[evidence.row(HOME + MAPPED[0])] == 2
        assert store.verify() == []


def test_no_key_changes_while_a_run_of_another_process_uses_it(path):
    with SqliteStore.open(path) as first, SqliteStore.open(path) as second:
        run = first.begin(["named"], 200.0, lease=1.0)
        first.evidence(["named"])
        assert second.add(items(NAMED, "named")) == 0
        old = HOME + "/service?wsdl="
        assert second.source_of(old) == "named"
        first.append(
            run, Observations.of([Observation(old, 200.1, Seen.PRESENT, "8" * 32)])
        )
        first.finish(run, 201.0)
        assert second.add(items(NAMED, "named")) == 0
        assert "/service?wsdl" in keys(second, "named")


def test_links_lead_to_the_items_they_led_to(path):
    page, other, shop = (spelled(HOME + path) for path in CRAWLED)
    with SqliteStore.open(path) as store:
        run = store.begin(["crawl"], 200.0, lease=1.0)
        look = Observation(
            page, 200.0, Seen.PRESENT, "7" * 32, links=Outgoing((other, shop))
        )
        store.append(run, Observations.of([look, *hints([CRAWLED[1]], "crawl", 200.0)]))
        links = store.links(["crawl"])
        assert sorted(links.keys[i] for i in links.to) == sorted(
            [HOME + "/c/page?b=2&z=1", shop]
        )
        assert len(links.keys) == 3
        store.finish(run, 201.0)


def test_an_item_that_is_named_as_it_is_spelled_keeps_its_key(path):
    named = HOME + "/shop?lang=en&p=2"
    with SqliteStore.open(path) as store:
        run = store.begin(["named"], 200.0, lease=1.0)
        store.append(run, Observations.of(hints(["/shop?lang=en&p=2"], "named", 200.0)))
        store.append(run, Observations.of(hints([MAPPED[0]], "named", 200.5)))
        assert len(store.items(["named"])) == 9
        assert store.url_of(named) == named
        store.finish(run, 201.0)


def test_the_links_of_a_site_are_read_again_in_the_present_spelling(path):
    start = HOME + "/c/"
    text = f'[[source]]\nname = "crawl"\nkind = "site"\nstart = "{start}"\n'
    config = Config.parse(text, path)
    rules = repr((Scope.of(start), CrawlLimits()))  # as they were written down before
    with closing(sqlite3.connect(path)) as db, db:
        old = fingerprint(rules.encode())[:16]
        db.execute("UPDATE linked SET rules = ?", (old,))
    with SqliteStore.open(path) as store:
        found = pages_crawl.frontier(store, config.source[0])
        held = store.held([start])[0]
        assert found.whole(Fetch(start, held)).held is None


def test_a_file_of_before_is_synced_on_without_phantoms(tmp_path):
    pages = {path: html(path) for path in (*NAMED, *MAPPED)}
    with running(pages) as site:
        locs = (f"<url><loc>{site.url}{path}</loc></url>" for path in MAPPED)
        body = f"<urlset>{''.join(locs)}</urlset>".replace("&lang", "&amp;lang")
        site.pages["/sitemap.xml"] = body
        text = DUMP.read_text().replace(HOME, site.url)
        make(tmp_path / "halflife.db", text.replace("127.0.0.1:8765", site.url[7:]))
        listed = ", ".join(f'"{site.url}{path}"' for path in NAMED[:-1])
        toml = (
            "[budget]\nrequests = 100\n[fetch]\ndelay = 0.0\n"
            f'[[source]]\nname = "named"\npages = [{listed}]\nrobots = false\n'
            f'maps = ["{site.url}{NAMED[-1]}"]\nallow = ["127.0.0.0/8"]\n'
        )
        (tmp_path / "halflife.toml").write_text(toml)
        config = Config.parse(toml, tmp_path / "halflife.toml")
        sync(config, 20_000.0, everything=True)
        assert {*NAMED} <= {*site.asked}
        site.asked.clear()
        sync(config, 20_010.0, everything=True)
        assert sorted(site.asked) == sorted([*NAMED, *MAPPED])
        with SqliteStore.open(config.store_path, readonly=True) as store:
            assert len(store.items(["named"])) == len(NAMED) + len(MAPPED)
            assert store.verify() == []


def test_a_file_without_old_keys_takes_no_notice_of_them(tmp_path):
    with SqliteStore.open(tmp_path / "new.db", create=True) as store:
        assert store.add(items(["/list?a=1&b=2"], "s")) == 1
        assert store.add(items(["/list?b=2&a=1"], "s")) == 1


@given(st.permutations(["a=1", "b=%20x", "c", "d=;", "e=\u00fc"]))
def test_spellings_of_one_query_have_the_same_fold(order):
    first = canonical(f"{HOME}/%7ex?a=1&b=+x&c=&d=%3B&e=%C3%BC")
    assert fold(canonical(f"{HOME}/~x?{'&'.join(order)}")) == fold(first)
