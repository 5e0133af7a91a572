"""Sites that have no end, or lie, and a crawl that is killed on the way."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from halflife.core.observation import Seen
from halflife.kinds.pages import crawl as pages_crawl
from halflife.stores.sqlite import SqliteStore
from site_parts import BEGAN, html, running, settings, sync, town

BUDGET = 150


@contextmanager
def endless(make):
    """Serve a site that makes up every page it is asked for."""
    with running({"/robots.txt": "User-agent: *\n"}) as site:
        site.page = lambda path: site.pages.get(path) or make(path, len(site.asked))
        yield site


def crawled(site, tmp_path, more="", budget=BUDGET):
    config = settings(site, tmp_path, more, requests=budget)
    outcome = sync(config)
    with SqliteStore.open(config.store_path, readonly=True) as store:
        assert store.verify() == []
        evidence = store.evidence(["town"])
        progress = pages_crawl.progress(store, config.source[0])
    assert outcome.requests == len(site.asked) <= budget
    return evidence, progress


TRAPS = {
    "relative links that pile up": lambda path, _: html(path, "a/b/", "c/"),
    "a parameter that counts": lambda path, n: html(path, f"/list?page={n + 2}"),
    "many parameters": lambda path, n: html(
        path, *(f"/list?sort={i}&page={n}&dir={i % 2}" for i in range(50))
    ),
    "days without end": lambda path, n: html(path, f"/day/{2000 + n}/01/02"),
    "dates with dashes": lambda path, n: html(path, f"/log/{2000 + n}-01-02"),
}


@pytest.mark.parametrize("make", TRAPS.values(), ids=TRAPS)
def test_a_trap_is_left_after_some_pages(make, tmp_path):
    with endless(make) as site:
        evidence, _ = crawled(site, tmp_path, "variants = 10\ndepth = 12")
        assert len(evidence) <= 60
        assert len(site.asked) < BUDGET


def test_session_ids_do_not_make_pages(tmp_path):
    def make(path, n):
        name = path.partition("?")[0].partition(";")[0]
        mark = f"{n:032x}"
        links = (f"/a?sid={mark}", f"/b;jsessionid={mark}", f"/c?PHPSESSID={n}")
        return html(f"page {name}", *links)

    with endless(make) as site:
        evidence, _ = crawled(site, tmp_path)
        paths = [key.removeprefix(site.url) for key in evidence.keys]
        assert sorted(paths) == ["/", "/a", "/b", "/c"]


def test_a_flood_of_links_stops_at_the_limit_and_says_so(tmp_path):
    def make(path, n):
        return html(path, *(f"/p{n}x{i}" for i in range(2000)))

    with endless(make) as site:
        evidence, progress = crawled(site, tmp_path, "most = 1500", budget=12)
        assert len(evidence) == 1500
        assert "the limit of 1500 pages is reached" in progress.note


def test_a_site_that_calls_every_page_its_home_page_keeps_their_weight(tmp_path):
    def make(path, _):
        pages = [f"/p{i}" for i in range(10)]
        return html(path, *pages, head='<link rel="canonical" href="/">')

    with endless(make) as site:
        config = settings(site, tmp_path)
        sync(config)
        sync(config, BEGAN + 1)
        with SqliteStore.open(config.store_path, readonly=True) as store:
            assert set(store.evidence(["town"]).weight) == {1.0}


def test_redirects_in_a_ring_fail_and_end(tmp_path):
    def make(path, n):
        return html("home", "/r0") if path == "/" else (302, f"/r{n % 3 + 1}")

    with endless(make) as site:
        evidence, _ = crawled(site, tmp_path)
        assert len(evidence) <= 5
        assert evidence.failures.max() >= 1


def test_hostile_bytes_are_a_page_like_any_other(tmp_path):
    broken = '<a href="/ok"><a href="\udcff"><a href="http://[::1"><base href="//">'

    def make(path, _):
        page = broken if path == "/" else "<div>" * 50_000
        return page.encode("utf-8", "replace").decode()

    with endless(make) as site:
        evidence, _ = crawled(site, tmp_path)
        assert f"{site.url}/ok" in evidence.keys
        assert (evidence.seen == Seen.PRESENT).all()


# Killed on the way


def graph(config, site):
    with SqliteStore.open(config.store_path, readonly=True) as store:
        assert store.verify() == []
        links, evidence = store.links(["town"]), store.evidence(["town"])
    paths = [key.removeprefix(site.url) for key in links.keys]
    seen = {p for p, n in zip(paths, evidence.looks, strict=True) if n}
    out = {
        path: {paths[i] for i in links.out(row)}
        for row, path in enumerate(paths)
        if links.under[row]
    }
    return seen, out


def killed(site, config, after):
    """Start a sync as a program and kill it when the site was asked so often."""
    command = [sys.executable, "-m", "halflife", "sync", "--config", str(config.path)]
    program = subprocess.Popen(command, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while len(site.asked) < after and time.monotonic() < deadline:
        if program.poll() is not None:
            break
        time.sleep(0.002)
    was_running = program.poll() is None
    os.kill(program.pid, signal.SIGKILL)
    program.communicate()
    return was_running


def test_a_crawl_that_is_killed_loses_no_link(tmp_path):
    (tmp_path / "calm").mkdir()
    with running(town()) as site:
        answer = site.answer

        def slowly(handler):
            time.sleep(0.02)
            answer(handler)

        calm = settings(site, tmp_path / "calm", "variants = 6")
        sync(calm)
        everything, links = graph(calm, site)
        config = settings(site, tmp_path, "variants = 6")
        site.answer, site.asked = slowly, []
        assert killed(site, config, after=35)
        seen, out = graph(config, site)
        assert 0 < len(seen) < len(everything)
        assert seen == set(out)  # a look and its links are kept together
        plain = {path for path in seen if "calendar" not in path}
        assert {path: out[path] for path in plain} == {p: links[p] for p in plain}
        site.answer = answer
        command = [sys.executable, "-m", "halflife", "sync", "--config", config.path]
        subprocess.run(command, check=True, timeout=60, capture_output=True)
        seen, out = graph(config, site)
        pages = {path for path in everything if "calendar" not in path}
        assert {path for path in seen if "calendar" not in path} == pages
        assert {p: out[p] for p in pages} == {p: links[p] for p in pages}
        most = max(site.asked.count(path) for path in pages - {"/f1/p1"})
        assert most <= 2  # what was in flight is asked for again
