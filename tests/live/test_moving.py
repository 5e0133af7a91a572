"""Sources that have moved are told, with where to, and not for nothing."""

from dataclasses import dataclass
from itertools import pairwise
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, strategies as st

from alert_parts import jobs, listing, pages, signpost, standing
from form_worlds import behind, cars
from halflife.config import Config
from halflife.demo.forms import FormServer, serving, snippet
from halflife.engine import redirects
from halflife.stores.notes.redirect import Redirect
from halflife.stores.sqlite import SqliteStore
from search_server import corpus, serving as searching
from service_parts import HOME, Play

HOUR = 1 / 24


@pytest.fixture
def post(server):
    with signpost(server.url) as post:
        yield post


def moved(path):
    """Return where each source has moved, as it is told."""
    found = standing(path).items()
    words = "has moved for good to "
    return {s: text.removeprefix(words) for (s, kind), text in found if kind == "moved"}


def serve(server, paths):
    for path in paths:
        server.pages[path] = ("text/html", f"<p>{path}</p>".encode())
    return paths


def test_a_listing_that_has_moved_is_told_after_two_looks_until_settings_follow(
    write, server, post
):
    server.pages["/jobs.json"] = jobs(range(12))
    path = write(listing(f"{post.url}/jobs.json"))
    play = Play(path).run(0.5 * HOUR)
    assert standing(path) == {}  # a redirect for now is no move
    post.status, before = 308, len(play.results)
    play.run(0.001)
    looks = [at for at, _ in play.results[before:]]
    assert len(looks) <= 1
    assert not moved(path)
    play.run(HOUR)
    assert moved(path) == {"jobs": f"{server.url}/jobs.json"}
    write(listing(f"{server.url}/jobs.json"))
    play.run(2 * HOUR)
    assert standing(path) == {}


def test_a_host_that_stops_redirecting_has_not_moved(write, server, post):
    server.pages["/jobs.json"] = jobs(range(12))
    path = write(listing(f"{post.url}/jobs.json"))
    post.status = 301
    play = Play(path).run(HOUR)
    assert "jobs" in moved(path)
    post.status = 302
    play.run(2 * HOUR)
    assert not moved(path)
    with SqliteStore.open(Config.load(path).store_path, readonly=True) as store:
        assert redirects.recall(store, "jobs") == {}


def test_most_pages_must_have_moved(write, server, post):
    paths = serve(server, [f"/docs/{i}" for i in range(8)])
    path = write(pages(post.url, paths))
    post.status, post.only = 301, set(paths[:4])
    play = Play(path).run(2 * HOUR)
    assert not moved(path)
    post.only = set(paths[:6])
    play.run(4 * HOUR)
    assert moved(path) == {"docs": f"{server.url}/docs/ (6 of 8 addresses)"}


def test_a_site_that_leads_out_of_its_scope_has_moved(write, server, post):
    links = "".join(f'<a href="/docs/{i}">{i}</a>' for i in range(6))
    serve(server, [f"/docs/{i}" for i in range(6)])
    server.pages["/docs/"] = ("text/html", links.encode())
    site = (
        f'[[source]]\nname = "docs"\nkind = "site"\n{HOME}start = "{post.url}/docs/"\n'
    )
    path = write(site)
    post.status = 301
    Play(path).run(4 * HOUR)
    assert moved(path) == {"docs": f"{server.url}/docs/"}


def test_a_sitemap_or_robots_txt_that_has_moved_says_so(write, server):
    paths = serve(server, ["/a", "/b", "/c"])
    with signpost("http://127.0.0.2:1", f"{server.url}/robots.txt") as post:
        rows = "".join(f"<url><loc>{post.url}{one}</loc></url>" for one in paths)
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        body = f'<urlset xmlns="{space}">{rows}</urlset>'.encode()
        server.pages["/map.xml"] = ("application/xml", body)
        server.pages["/robots.txt"] = ("text/plain", b"")
        post.to, post.status, post.only = server.url, 301, {"/map.xml"}
        site = f'[[source]]\nname = "docs"\n{HOME}maps = ["{post.url}/map.xml"]\n'
        path = write(site)
        play = Play(path).run(4 * HOUR)
        assert moved(path) == {"docs": f"{server.url}/map.xml"}
        post.only = {"/nothing"}
        play.now += 1.0  # robots.txt is believed for a day
        play.run(2 * HOUR)
        assert moved(path) == {"docs": f"{server.url}/robots.txt"}


def test_a_form_that_has_moved_is_told(write):
    office = FormServer(behind(cars(60), everything=True, page_size=20))
    with serving(office) as url, signpost(url) as post:
        text = snippet(url, office.form.interface).replace(url, post.url)
        path = write(text)
        post.status = 308
        play = Play(path).run(HOUR)
        (said,) = moved(path).values()
    assert said.startswith(f"{url}/")
    assert "?" not in said
    seen = [turned.looked.listed for _, turned in play.results[1:]]
    assert sum(map(bool, seen)) >= 5  # a request more for each answer is found


def test_a_search_that_has_moved_is_told(write):
    with searching(corpus(100)) as server, signpost(server.url) as post:
        path = write(
            f'[[source]]\nname = "words"\nkind = "search"\n{HOME}'
            'engine = "elasticsearch"\n'
            f'search_url = "{post.url}/es/_search?q={{query}}&from={{offset}}'
            '&size={count}"\nmin_interval = "30 min"\nmax_interval = "1 h"\n',
            requests=9600,
        )
        post.status = 301
        Play(path).run(2.5 * HOUR)
    assert moved(path) == {"words": f"{server.url}/es/_search"}


# What counts

PAGE = 'pages = ["http://a.example/x/1"]'
SITE = 'kind = "site"\nstart = "http://a.example/"'
SEARCH = (
    'kind = "search"\nengine = "html"\nhits = "li"\n'
    'search_url = "http://a.example/find/{query}"'
)


@pytest.mark.parametrize(
    ("lines", "address", "to", "counts"),
    [
        (PAGE, "http://a.example/x/1", "http://a.example/x/1/", False),
        (PAGE, "http://a.example/x/1", "https://a.example/x/1", True),
        (PAGE, "http://a.example/x/1", "http://a.example/x/2", True),
        (SITE, "http://a.example/", "http://a.example/en/", False),
        (SITE, "http://a.example/", "http://b.example/", True),
        (SEARCH, "http://a.example/find/cat", "http://a.example/find/cat/", False),
        (SEARCH, "http://a.example/find/cat", "http://a.example/v2/cat", True),
    ],
)
def test_another_host_or_tree_is_a_move(tmp_path, lines, address, to, counts):
    config = Config.parse(f'[[source]]\nname = "s"\n{lines}\n')
    (source,) = config.source
    with SqliteStore.open(tmp_path / "s.db", create=True) as store:
        for _ in range(2):
            redirects.note(store, Seen({"s": {address: to}}), [source])
        assert bool(redirects.where(store, source)) == counts
        assert next(iter(redirects.recall(store, "s").values())) == Redirect(to, 2)


@given(looks=st.lists(st.sampled_from(["", "http://b.example/"]), max_size=20))
def test_a_source_has_moved_while_two_looks_in_a_row_say_so(looks):
    (source,) = Config.parse(f'[[source]]\nname = "s"\n{PAGE}\n').source
    with TemporaryDirectory() as at, SqliteStore.open(f"{at}/s", create=True) as store:
        for before, look in pairwise(["", *looks]):
            gate = Seen({"s": {"http://a.example/x/1": look}})
            redirects.note(store, gate, [source])
            assert gate.moves == {}  # it was taken
            expected = look if before and look else ""
            assert redirects.where(store, source) == expected


@dataclass
class Seen:
    """What a gate has seen of addresses that moved."""

    moves: dict[str, dict[str, str]]
