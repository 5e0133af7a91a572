"""MediaWiki from Debian: its pages, its API as a listing, and its search."""

import os
import shutil
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from server_parts import Server, free_port, holds, live_through, need, running

CODE = Path("/usr/share/mediawiki")
ROUTER = Path(__file__).parent / "mediawiki_router.php"
SETTINGS = """
$wgServer = getenv( "WIKI_URL" );
$wgArticlePath = "/index.php/$1";
$wgUsePathInfo = true;
"""
# The text of each page as it is now, from the tables of MediaWiki 1.39.
TEXTS = """
SELECT page_id, page_title, old_text FROM page
JOIN slots ON slot_revision_id = page_latest
JOIN content ON content_id = slot_content_id
JOIN text ON content_address = 'tt:' || old_id
WHERE page_namespace = 0 AND page_is_redirect = 0 AND page_title <> 'Main_Page'
"""
PAGES = """
[[source]]
name = "wiki"
maps = ["{url}/{map}"]
allow = ["127.0.0.0/8"]
"""
VOCABULARY = [f"{a}{b}{c}" for a in "bdfglm" for b in "aeiou" for c in "nrt"]
SITEMAP = "sitemap/sitemap-index-wiki.xml"
FEED = "index.php?title=Special:NewPages&feed=atom"
# MediaWiki names a token, not an address: the address is put together from it.
LISTING = """
[[source]]
name = "wiki"
kind = "listing"
url = "{url}/api.php?{asked}"
records = "query.pages"
key = "pageid"
fields = {{title = "title", revision = "lastrevid", length = "length"}}
next = '''"continue" && join('', ['?{asked}&gapcontinue=', "continue".gapcontinue])'''
confirm_hours = 0
allow = ["127.0.0.0/8"]
"""
ASKED = (
    "action=query&generator=allpages&gaplimit=10&prop=info&format=json&formatversion=2"
)
SEARCH = """
[[source]]
name = "wiki"
kind = "search"
search_url = "{url}/api.php?action=query&list=search&srwhat=text&format=json\
&srlimit={{count}}&sroffset={{offset}}&srsearch={{query}}"
engine = "json"
hits = "query.search"
hit_key = "pageid"
hit_snippet = "snippet"
total = "query.searchinfo.totalhits"
allow = ["127.0.0.0/8"]
"""


class Wiki:
    """A wiki in a folder of its own, changed by MediaWiki's maintenance scripts."""

    def __init__(self, here, server):
        self.here = here
        self.server = server

    def script(self, name, *words, given=""):
        """Run a maintenance script."""
        run_script(self.here, self.server.url, name, *words, given=given)

    def write(self, texts):
        """Create or overwrite pages."""
        folder = self.here / "texts"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for title, text in texts.items():
            (folder / f"{title}.txt").write_text(text)
        files = sorted(str(path) for path in folder.iterdir())
        self.script("importTextFiles.php", "--overwrite", "--rc", *files)

    def delete(self, *titles):
        self.script("deleteBatch.php", given="\n".join(titles) + "\n")

    def move(self, old, new, *options):
        self.script("moveBatch.php", *options, given=f"{old}|{new}\n")

    def map(self):
        """Write the sitemap anew."""
        folder = self.here / "sitemaps"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.script(
            "generateSitemap.php",
            *("--fspath", str(folder), "--urlpath", "/sitemap"),
            *("--server", self.server.url, "--compress", "no"),
        )

    def texts(self):
        """Return the page number and the text of each title, from the database."""
        with closing(sqlite3.connect(self.here / "data/wiki.sqlite")) as db:
            rows = db.execute(TEXTS).fetchall()
        return {title: (number, _text(text)) for number, title, text in rows}

    def address(self, title):
        return f"{self.server.url}/index.php/{title}"


def _text(stored):
    return (stored.decode() if isinstance(stored, bytes) else stored).strip()


def run_script(here, url, name, *words, given=""):
    done = subprocess.run(
        ["php", str(CODE / "maintenance" / name), *words],
        cwd=here,
        env={**os.environ, **variables(here, url)},
        input=given,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-1000:]


def variables(here, url):
    return {
        "MW_CONFIG_FILE": str(here / "conf/LocalSettings.php"),
        "WIKI_SITEMAPS": str(here / "sitemaps"),
        "WIKI_URL": url,
        "PHP_CLI_SERVER_WORKERS": "4",
    }


def text(number, version=1):
    """Return a text with twelve words of its own choice, always the same."""
    words = " ".join(Random(number).sample(VOCABULARY, 12))
    return f"Topic {number} is about {words}, version {version}."


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with a new wiki of 25 pages, to be copied."""
    need("php", str(CODE / "maintenance/install.php"))
    here = tmp_path_factory.mktemp("wiki")
    for folder in ("conf", "data", "sitemaps"):
        (here / folder).mkdir()
    url = "http://127.0.0.1"
    subprocess.run(
        [
            *("php", str(CODE / "maintenance/install.php")),
            *("--dbtype", "sqlite", "--dbname", "wiki"),
            *("--dbpath", str(here / "data"), "--confpath", str(here / "conf")),
            *("--pass", "a-long-Password-1", "--scriptpath", "", "--extensions", ""),
            *("--server", url, "Wiki", "Admin"),
        ],
        env={k: v for k, v in os.environ.items() if k != "MW_CONFIG_FILE"},
        capture_output=True,
        timeout=100,
        check=True,
    )
    with (here / "conf/LocalSettings.php").open("a") as settings:
        settings.write(SETTINGS)
    wiki = Wiki(here, Server([], 80, here / "log"))
    wiki.write({f"Topic {n}": text(n) for n in range(1, 26)})
    return here


@pytest.fixture
def wiki(installed, tmp_path):
    """A wiki of 25 pages, served, with its sitemap."""
    here, port = tmp_path / "wiki", free_port()
    shutil.copytree(installed, here)
    settings = here / "conf/LocalSettings.php"
    settings.write_text(settings.read_text().replace(str(installed), str(here)))
    env = variables(here, f"http://127.0.0.1:{port}")
    command = ["php", "-S", f"127.0.0.1:{port}", "-t", str(CODE), str(ROUTER)]
    server = Server(command, port, tmp_path / "php.log", path="/api.php", env=env)
    with running(server):
        wiki = Wiki(here, server)
        wiki.map()
        yield wiki


def alter(wiki):
    """Let 4 pages come, 5 change, 2 go, and 2 be moved, one without a redirect."""
    time.sleep(1.1)  # MediaWiki dates its pages by the second
    wiki.write(
        {f"Topic {n}": text(n) for n in range(30, 34)}
        | {f"Topic {n}": text(n, version=2) for n in range(5, 10)}
    )
    wiki.delete("Topic 1", "Topic 2")
    wiki.move("Topic 3", "Subject 3", "--noredirects")
    wiki.move("Topic 4", "Subject 4")
    wiki.map()


def shown(copy, wiki):
    """Return the titles of pages whose copy does not show the database's text."""
    pages = copy.pages("wiki")
    return {
        title
        for title, (_, body) in wiki.texts().items()
        if body not in pages.get(wiki.address(title), "")
    }


def absent(copy):
    """Return the addresses that were not there when they were last asked for."""
    rows = copy.rows(
        "SELECT item.key FROM evidence JOIN item ON item.id = evidence.item"
        " WHERE evidence.seen = 1"
    )
    return {key for (key,) in rows}


def test_pages_of_a_sitemap_are_kept_as_the_database_has_them(wiki, copy):
    copy.settings(PAGES.format(url=wiki.server.url, map=SITEMAP))
    copy.sync()
    copy.sync()
    assert shown(copy, wiki) == set()
    alter(wiki)
    copy.sync("--all")
    copy.sync("--all")
    assert shown(copy, wiki) == set()
    assert absent(copy) == {wiki.address(f"Topic_{n}") for n in (1, 2, 3)}
    # A page that was moved and left a redirect is shown at both addresses.
    assert text(4) in copy.pages("wiki")[wiki.address("Topic_4")]


@pytest.mark.parametrize("outage", ["down", "503"])
def test_pages_stay_as_they_were_while_the_wiki_is_away(wiki, copy, outage):
    copy.settings(PAGES.format(url=wiki.server.url, map=SITEMAP))
    copy.sync()
    copy.sync()
    before = copy.pages("wiki")
    alter(wiki)
    with (
        wiki.server.down() if outage == "down" else wiki.server.replaced(503, retry=60)
    ):
        copy.sync("--all", codes=(4,))
    assert copy.pages("wiki") == before
    assert absent(copy) == set()
    _, said = copy.run("sync", "--all")  # pages that failed have to wait
    assert "not fetched again yet" in said
    assert copy.requests[-1] == 0


def test_new_pages_are_found_by_the_feed(wiki, copy):
    copy.settings(PAGES.format(url=wiki.server.url, map=FEED))
    copy.sync()
    copy.sync()
    assert shown(copy, wiki) == set()
    wiki.write({"Topic 40": text(40)})
    copy.sync("--all")
    copy.sync("--all")
    assert shown(copy, wiki) == set()


def test_the_first_sync_reads_the_sitemap_and_its_pages(wiki, copy):
    copy.settings(PAGES.format(url=wiki.server.url, map=SITEMAP))
    copy.sync()
    assert shown(copy, wiki) == set()


def test_a_maintenance_page_replaces_no_copy(wiki, copy):
    copy.settings(PAGES.format(url=wiki.server.url, map=SITEMAP))
    copy.sync()
    copy.sync()
    before = copy.pages("wiki")
    with wiki.server.replaced(200):
        copy.sync("--all", codes=(0, 4, 5))
    assert copy.pages("wiki") == before
    copy.sync("--all", codes=(0, 4, 5))
    assert shown(copy, wiki) == set()


def listed(wiki):
    """Return the pages as the API tells of them, from the database."""
    query = (
        "SELECT page_id, page_title, page_latest, page_len FROM page"
        " WHERE page_namespace = 0"
    )
    with closing(sqlite3.connect(wiki.here / "data/wiki.sqlite")) as db:
        return {
            str(number): {
                "title": title.replace("_", " "),
                "revision": revision,
                "length": length,
            }
            for number, title, revision, length in db.execute(query)
        }


def test_the_api_lists_what_the_database_holds_through_outages(wiki, copy):
    numbers = {title: str(number) for title, (number, _) in wiki.texts().items()}
    copy.settings(LISTING.format(url=wiki.server.url, asked=ASKED))
    live_through(
        copy,
        wiki.server,
        "wiki",
        alter=lambda: alter(wiki),
        truth=lambda: listed(wiki),
        gone={numbers["Topic_1"], numbers["Topic_2"]},  # a moved page keeps its number
    )
    # 26 pages by tens, then 30; robots.txt once; one request to learn it is away.
    assert copy.requests == [4, 1, 1, 1, 3, 3]


def test_a_summary_of_the_search_agrees_with_the_database(wiki, copy):
    copy.settings(SEARCH.format(url=wiki.server.url))
    words = wiki.here / "words.txt"
    words.write_text("\n".join(VOCABULARY))
    order = ("summarize", "--snippets", "--documents", "15", "--dictionary", str(words))
    (first,) = copy.json(*order)["results"]
    assert 19 <= first["size"]["mean"] <= 33, first
    assert holds(first["size"], 25), first  # pages with such words
    with wiki.server.replaced(503):
        copy.json(*order, codes=(4,))
    assert copy.json("status")["searches"][0]["version"] == 1  # still in use
    copy.wait()
    wiki.write({f"Topic {n}": text(n) for n in range(50, 75)})
    (second,) = copy.json(*order)["results"]
    assert 38 <= second["size"]["mean"] <= 67, second
    assert holds(second["size"], 50), second


def test_add_finds_out_how_the_list_of_pages_is_read(wiki, copy):
    copy.settings()
    asked = "action=query&list=allpages&aplimit=10&format=json"
    allow = ("--allow", "127.0.0.0/8", "--source", "wiki")
    said = copy.json("add", f"{wiki.server.url}/api.php?{asked}", *allow, "--yes")
    source = said["source"]
    assert (source["records"], source["key"]) == ("query.allpages", "pageid")
    assert source["paging"]["parameter"] == "apcontinue"
    copy.sync()
    assert titles(copy) == numbers(wiki)
    wiki.write({"Topic 40": text(40)})
    wiki.delete("Topic 1")
    copy.sync()
    assert titles(copy) == numbers(wiki)


def titles(copy):
    """Return the title of each page by its number, as the copy has it."""
    held = copy.held("wiki").items()
    found = {number: row["title"].replace(" ", "_") for number, row in held}
    return {n: title for n, title in found.items() if title != "Main_Page"}


def numbers(wiki):
    """Return the same from the database."""
    return {str(number): title for title, (number, _) in wiki.texts().items()}
