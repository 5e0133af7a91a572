"""The Scrapy add-on, with real crawls of a site on loopback."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from halflife.core.errors import ConfigError, SourceError
from halflife.core.observation import Seen
from halflife.scrapy.settings import budget_of, config_of
from halflife.stores.memory import MemoryStore
from halflife.stores.sqlite import SqliteStore
from quote_site import QuoteSite, served
from scrapy_worker import EXAMPLE, begin, crawl, read

HAS_SCRAPY = importlib.util.find_spec("scrapy") is not None
needs_scrapy = pytest.mark.skipif(not HAS_SCRAPY, reason="needs halflife[scrapy]")
PLENTY = "1000000/hour"  # so much that all pages are fetched again within a moment


@pytest.fixture
def site():
    with served(QuoteSite()) as one:
        yield one


def known(folder: Path) -> dict[str, tuple[int, float, int]]:
    """Return of each page its good looks, the time of the last, and what it saw."""
    with SqliteStore.open(folder / "halflife.db", readonly=True) as store:
        evidence = store.evidence(("authors",))
        columns = zip(evidence.looks, evidence.last_at, evidence.seen, strict=True)
        return dict(
            zip(
                evidence.keys,
                [(int(n), float(at), int(seen)) for n, at, seen in columns],
                strict=True,
            )
        )


def charged(folder: Path) -> int:
    with SqliteStore.open(folder / "halflife.db", readonly=True) as store:
        return store.spent(0.0)


@needs_scrapy
def test_three_lines_in_the_settings_make_the_tutorial_spider_revisit(site, tmp_path):
    folder = shutil.copytree(EXAMPLE, tmp_path / "project")
    verb = [sys.executable, "-m", "scrapy", "crawl", "authors", "-O", "out.jsonl"]
    verb += ["-a", f"address={site.url}/", "-s", "REMOTE_CONTROL_ENABLED=0"]
    verb += ["-s", "TELNETCONSOLE_ENABLED=0"]
    first = subprocess.run(verb, cwd=folder, capture_output=True, text=True, check=True)
    assert "'halflife/fetched': 16" in first.stderr
    assert len((folder / "out.jsonl").read_text().splitlines()) == 24
    assert site.asked.total() == 17  # robots.txt is paid as well
    assert charged(folder) == 17
    verb += [
        "-s",
        "HALFLIFE_BUDGET=100/week",
    ]  # a request has come in after 100 minutes
    again = subprocess.run(verb, cwd=folder, capture_output=True, text=True, check=True)
    assert "'halflife/saved': 15" in again.stderr  # no income yet: the start alone
    assert site.asked.total() == 19


@needs_scrapy
def test_changes_and_absences_are_found_also_behind_pages_that_were_not_asked_for(
    site, tmp_path
):
    first = crawl(tmp_path, site.url, HALFLIFE_BUDGET=PLENTY)
    assert (first["fetched"], first["changed"], first["items"]) == (16, 0, 24)
    site.change("/author/4-2")
    site.gone.add("/author/2-1")
    site.asked.clear()
    second = crawl(tmp_path, site.url, HALFLIFE_BUDGET=PLENTY)
    assert site.asked == dict.fromkeys(site.paths, 1)
    assert (second["fetched"], second["changed"], second["gone"]) == (16, 2, 1)
    assert known(tmp_path)[f"{site.url}/author/2-1"][2] == Seen.ABSENT
    assert second["items"] == 23  # callbacks are called as the spider named them
    assert second["saved"] == 0


@needs_scrapy
def test_a_budget_that_is_too_small_goes_to_some_pages_and_the_rest_comes_later(
    site, tmp_path
):
    first = crawl(tmp_path, site.url, HALFLIFE_BUDGET="10/day")
    assert site.asked.total() == first["requests"] == charged(tmp_path) == 10
    assert first["fetched"] == 10
    again = crawl(tmp_path, site.url, HALFLIFE_BUDGET="10/day")
    assert again["unpaid"] == 1  # even the start has to be paid for
    assert site.asked.total() == charged(tmp_path) == 10
    rest = crawl(tmp_path, site.url, HALFLIFE_BUDGET=PLENTY)
    assert set(site.asked) == set(site.paths)
    assert rest["reason"] == "finished"


@needs_scrapy
def test_a_page_that_the_spider_failed_at_is_not_counted_as_fetched(site, tmp_path):
    stats = crawl(tmp_path, site.url, HALFLIFE_BUDGET=PLENTY, trouble="/author/1-1")
    assert (stats["fetched"], stats["failed"]) == (15, 1)
    assert known(tmp_path)[f"{site.url}/author/1-1"][0] == 0


@needs_scrapy
def test_kill_9_loses_nothing_that_was_acknowledged_and_the_crawl_goes_on(tmp_path):
    budget, kept, done = "200/day", {}, set()
    with served(QuoteSite(pages=8, authors=4)) as site:
        for instant in (3, 9, 12, 10):
            _killed_at(site, instant, tmp_path, budget)
            now = known(tmp_path)
            for key, (looks, at, _) in kept.items():
                assert now[key][0] >= looks
                assert now[key][1] >= at
            kept, done = now, {key for key, (looks, _, _) in now.items() if looks}
            assert done <= set(read(tmp_path))  # the spider had its data first
            assert site.asked.total() <= charged(tmp_path)
        assert 10 < len(done) < len(site.paths)
        site.asked.clear()
        crawl(tmp_path, site.url, HALFLIFE_BUDGET=budget)
        again = {site.url + path for path in site.asked} & done
        assert again == {f"{site.url}/"}  # the start; others are not asked for twice
        everything = {site.url + path for path in site.paths}
        assert {key for key, row in known(tmp_path).items() if row[0]} == everything


@needs_scrapy
def test_crawls_that_are_killed_never_exceed_the_budget_together(tmp_path):
    with served(QuoteSite(pages=8, authors=4)) as site:
        for instant in (2, 6, 30):
            _killed_at(site, instant, tmp_path, "25/day")
            assert site.asked.total() <= charged(tmp_path) <= 25
        assert charged(tmp_path) == 25


def _killed_at(site: QuoteSite, instant: int, folder: Path, budget: str) -> None:
    """Crawl, and kill the crawl when it sends the request of this number."""
    reached = threading.Event()
    site.reached = (site.asked.total() + instant, reached)
    process = begin(folder, site.url, HALFLIFE_BUDGET=budget)
    while process.is_alive() and not reached.wait(0.01):
        pass
    if process.is_alive():
        os.kill(process.pid, signal.SIGKILL)
    process.join(30)


@needs_scrapy
def test_only_plain_requests_are_kept_and_no_secret_gets_into_the_state():
    from scrapy import Request, Spider  # noqa: PLC0415

    from halflife.scrapy.requests import RequestBook  # noqa: PLC0415

    store, spider, url = MemoryStore(), Spider("s"), "http://a.example/x"
    asked = RequestBook(spider, store, "s")
    others = [
        Request(url, method="POST"),
        Request(url, headers={"Authorization": "Bearer secret"}),
        Request(url, cookies={"session": "secret"}),
        Request(url, meta={"proxy": "http://user:secret@proxy.example"}),
        Request(url, meta={"halflife": False}),
        Request(url, dont_filter=True),
        Request(url, callback=lambda response: None),
        Request(url, cb_kwargs={"what": object()}),
        Request("data:,text"),
    ]
    assert [asked.key_of(one) for one in others] == [""] * len(others)
    asked.write()
    assert store.item_count(["s"]) == 0


@needs_scrapy
def test_a_page_is_asked_for_again_as_the_spider_asked_for_it():
    from scrapy import Request, Spider  # noqa: PLC0415

    from halflife.scrapy.requests import RequestBook  # noqa: PLC0415

    class Two(Spider):
        name = "two"

        def parse_author(self, response, name):
            del response, name

    store, spider = MemoryStore(), Two()
    asked = RequestBook(spider, store, "two")
    given = Request(
        "http://a.example/x#top",
        callback=spider.parse_author,
        cb_kwargs={"name": "Ann"},
        meta={"page": 3, "depth": 4, "download_latency": 0.1},
    )
    key = asked.key_of(given)
    asked.write()
    again = RequestBook(spider, store, "two").request(key)
    assert again.url == key == "http://a.example/x"
    assert again.callback == spider.parse_author
    assert again.cb_kwargs == {"name": "Ann"}
    assert (again.meta["page"], again.meta["depth"]) == (3, 4)
    assert "download_latency" not in again.meta
    assert again.dont_filter  # or JOBDIR would take a revisit for a duplicate
    del Two.parse_author
    with pytest.raises(SourceError, match="no method 'parse_author' any more"):
        RequestBook(spider, store, "two").request(key)


@pytest.mark.parametrize("text", ["", None, "many", "1000", "10/year", "-3/day"])
def test_a_budget_that_cannot_be_read_is_refused_with_an_example(text):
    with pytest.raises(ConfigError, match="like '1000/day'"):
        budget_of(text)


def test_settings_of_the_source_are_those_of_halflife_toml():
    given = {"HALFLIFE_BUDGET": "5/hour", "HALFLIFE_SOURCE": {"text": "main"}}
    config, _ = config_of(given, "news")
    assert (config.budget.requests, config.budget.per) == (5, "hour")
    assert (config.source[0].name, config.source[0].text) == ("news", "main")
    assert config.policy.name == "champion"
    with pytest.raises(ConfigError, match="txt"):
        config_of({**given, "HALFLIFE_SOURCE": {"txt": "main"}}, "news")
    with pytest.raises(ConfigError, match="kept as pages only"):
        config_of({**given, "HALFLIFE_SOURCE": {"kind": "listing"}}, "news")
