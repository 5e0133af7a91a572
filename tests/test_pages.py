"""Pages: what an answer means, and who waits for whom."""

import asyncio
import time
from dataclasses import replace

import pytest

from faults.evil import Evil, response
from halflife.core.errors import ConfigError, StoreError
from halflife.core.item import Item
from halflife.core.observation import Observation, Seen
from halflife.core.request import Fetch
from halflife.kinds.pages.client import PageClient, SiteSettings
from halflife.kinds.pages.validators import AUDITED, conditions
from halflife.net.dates import SECONDS
from web_parts import HOME, OBEDIENT, TODAY, Book, Coins, make_gate

PAGE = Observation(
    "http://example.org/", 1.0, Seen.PRESENT, "d", "r", '"tag"', TODAY - 3
)


def pages(gate, site=None, **options) -> PageClient:
    """Return a source of pages with one site."""
    sites = {"site": site or SiteSettings(HOME)}
    return PageClient(gate, sites, source_of=lambda _: "site", **options)


async def look(source: PageClient, *fetches: Fetch, purse=None) -> list[Observation]:
    found: list[Observation] = []
    async for looks in source.perform(fetches, TODAY, purse or Coins()):
        found += looks
    return found


def seen(path: str, site=None, held=None, **settings) -> list[Observation]:
    """Look once at a path of the hostile server."""

    async def scene():
        async with Evil() as evil, make_gate(**settings) as gate:
            url = evil.url(path)
            mine = None if held is None else replace(held, key=url)
            return await look(pages(gate, site), Fetch(url, mine))

    return asyncio.run(scene())


def test_a_page_is_present_with_two_fingerprints_and_its_content():
    (found,) = seen("/page?n=1")
    assert found.seen is Seen.PRESENT
    assert len(found.digest) == len(found.raw) == 32
    assert found.digest != found.raw
    assert found.content.media_type == "text/html"
    assert b"Hello 1" in found.content.body


def test_content_can_be_left_out():
    (found,) = seen("/page", SiteSettings(HOME, keep=False))
    assert found.content is None
    assert found.digest


@pytest.mark.parametrize("code", [404, 410])
def test_a_page_that_is_gone_is_absent(code):
    (found,) = seen(f"/status?code={code}")
    assert found.seen is Seen.ABSENT


@pytest.mark.parametrize("code", [204, 206, 300, 400, 401, 403, 429, 451, 500, 503])
def test_any_other_status_is_a_failed_look(code):
    (found,) = seen(f"/status?code={code}")
    assert found.seen is Seen.FAILED
    assert found.note == f"127.0.0.1: it answered {code}"


@pytest.mark.parametrize(
    "path", ["/short", "/abort", "/hang-up", "/garbage", "/twice", "/stall", "/loop"]
)
def test_a_bad_answer_is_a_failed_look_and_never_an_exception(path):
    (found,) = seen(path, deadline=0.2)
    assert found.seen is Seen.FAILED
    assert found.note.startswith("127.0.0.1: ")
    assert not found.digest


@pytest.mark.parametrize("url", ["ftp://example.org/", "http://", "nonsense", "", "\0"])
def test_what_is_not_a_url_is_a_failed_look(url):
    async def scene():
        async with make_gate() as gate:
            return await look(pages(gate), Fetch(url))

    (found,) = asyncio.run(scene())
    assert (found.key, found.seen) == (url, Seen.FAILED)


def test_what_robots_txt_forbids_is_a_failed_look():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            evil.pages["/robots.txt"] = response("User-agent: *\nDisallow: /")
            return await look(
                pages(gate, SiteSettings(OBEDIENT)), Fetch(evil.url("/page"))
            )

    (found,) = asyncio.run(scene())
    assert found.note == "127.0.0.1: its robots.txt forbids this page"


def test_what_we_hold_is_offered_and_the_server_may_say_it_is_still_good():
    (first,) = seen("/tagged")
    assert first.etag == '"v1"'
    assert first.modified == 19997.0
    (again,) = seen("/tagged", held=first)
    assert again.seen is Seen.PRESENT
    assert (again.digest, again.raw) == (first.digest, first.raw)
    assert again.etag == '"v1"'
    assert again.content is None


def test_not_modified_means_nothing_to_one_who_holds_nothing():
    (found,) = seen("/liar")
    assert found.seen is Seen.FAILED


def test_not_modified_means_nothing_to_one_who_holds_an_absence():
    (found,) = seen("/liar", held=replace(PAGE, seen=Seen.ABSENT))
    assert found.seen is Seen.FAILED


def test_the_same_bytes_keep_the_fingerprint_we_hold():
    (first,) = seen("/page")
    (again,) = seen("/page", held=replace(first, digest="as it was"))
    assert again.digest == "as it was"
    assert again.content is None


def test_validators_are_left_out_now_and_then_so_that_a_liar_is_found_out():
    asked = [
        conditions(Fetch(f"http://example.org/{i}", PAGE), TODAY) for i in range(5000)
    ]
    bare = asked.count({})
    assert 5000 / AUDITED * 0.5 < bare < 5000 / AUDITED * 1.5
    full = next(headers for headers in asked if headers)
    assert full == {
        "If-None-Match": '"tag"',
        "If-Modified-Since": "Tue, 01 Oct 2024 00:00:00 GMT",
    }


def test_which_look_does_without_depends_on_the_time_too():
    fetch = Fetch("http://example.org/", PAGE)
    asked = [conditions(fetch, TODAY + i) == {} for i in range(2000)]
    assert asked == [conditions(fetch, TODAY + i) == {} for i in range(2000)]
    assert 0 < sum(asked) < 100


@pytest.mark.parametrize(
    "headers",
    [
        {"Last_Modified": "Fri, 01 Jan 2100 00:00:00 GMT"},
        {"Last_Modified": "yesterday"},
        {"Last_Modified": "0"},
        {"ETag": "a b"},
        {"ETag": '"\x7f"'},
        {"ETag": '"' + "x" * 400 + '"'},
    ],
)
def test_a_validator_that_cannot_be_right_is_not_kept(headers):
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            evil.pages["/odd"] = response("<p>x", **headers)
            return await look(pages(gate), Fetch(evil.url("/odd")))

    (found,) = asyncio.run(scene())
    assert (found.etag, found.modified) == ("", None)


def test_a_page_that_moved_for_good_keeps_its_key_and_says_so():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            url = evil.url("/to?code=301&url=/page")
            return await look(pages(gate), Fetch(url)), url, evil.url("/page")

    (found,), url, target = asyncio.run(scene())
    assert (found.key, found.seen) == (url, Seen.PRESENT)
    assert found.note == f"moved for good to {target}"


def sitemap(*urls: str) -> bytes:
    entries = "".join(
        f"<url><loc>{url}</loc><lastmod>2024-10-01</lastmod></url>" for url in urls
    )
    return response(f"<?xml version='1.0'?><urlset>{entries}</urlset>")


def test_a_sitemap_gives_hints_of_the_pages_it_names():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            evil.pages["/map"] = sitemap(
                evil.url("/a/1"), evil.url("/b"), "http://elsewhere.test/", "mailto:x"
            )
            site = SiteSettings(HOME, scope=(evil.url("/a"),))
            fetch = Fetch(evil.url("/map"))
            page, *hints = await look(pages(gate, site), fetch)
            (again,) = await look(pages(gate, site), Fetch(fetch.key, page))
            return page, hints, again, evil.url("/a/1"), evil.port

    page, hints, again, url, port = asyncio.run(scene())
    assert page.seen is Seen.PRESENT
    assert [(h.key, h.seen, h.modified) for h in hints] == [(url, Seen.HINT, 19997.0)]
    assert hints[0].item == Item(url, "site", group=f"127.0.0.1:{port}")
    assert again.digest == page.digest  # and nothing new, so no hints


def test_hints_say_whether_a_sitemap_or_a_feed_gave_them():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            evil.pages["/map"] = sitemap(evil.url("/a"))
            entry = f"<link href='{evil.url('/a')}'/><updated>2024-10-01</updated>"
            feed = f"<feed xmlns='http://www.w3.org/2005/Atom'><entry>{entry}</entry>"
            evil.pages["/feed"] = response(f"<?xml version='1.0'?>{feed}</feed>")
            site, found = SiteSettings(HOME), []
            for path in ("/map", "/feed"):
                _, *hints = await look(pages(gate, site), Fetch(evil.url(path)))
                found += [(hint.digest, hint.modified) for hint in hints]
            return found

    assert asyncio.run(scene()) == [("", 19997.0), ("feed", 19997.0)]


def test_a_hint_from_the_future_is_taken_without_its_date():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            body = sitemap(evil.url("/a")).replace(b"2024-10-01", b"2100-01-01")
            evil.pages["/map"] = body
            return await look(pages(gate), Fetch(evil.url("/map")))

    _, hint = asyncio.run(scene())
    assert hint.modified is None


def test_what_matters_of_a_feed_is_what_it_lists():
    def feed(built: str, link: str) -> bytes:
        return response(
            f"<rss><channel><lastBuildDate>{built}</lastBuildDate>"
            f"<item><link>{link}</link></item></channel></rss>"
        )

    async def scene():
        async with Evil() as evil, make_gate() as gate:
            found = []
            for built, path in (("now", "/a"), ("later", "/a"), ("later", "/b")):
                evil.pages["/feed"] = feed(built, evil.url(path))
                (page, _) = await look(pages(gate), Fetch(evil.url("/feed")))
                found.append(page)
            return found

    now, later, other = asyncio.run(scene())
    assert now.raw != later.raw
    assert now.digest == later.digest != other.digest


def test_a_slow_host_does_not_hold_up_the_others():
    async def scene():
        async with (
            asyncio.timeout(10),
            Evil() as evil,
            Evil("127.0.0.2") as other,
            make_gate(delay=0.05) as gate,
        ):
            slow = [Fetch(evil.url(f"/held?n={i}")) for i in range(20)]
            quick = [Fetch(other.url(f"/page?n={i}")) for i in range(3)]
            source = pages(gate, concurrency=2)
            found = []
            async for looks in source.perform(slow + quick, TODAY, Coins()):
                found += looks.keys
                if len(found) == 3:
                    break
            return found, [fetch.key for fetch in quick], len(evil.hits)

    found, quick, asked = asyncio.run(scene())
    assert found == quick
    assert asked == 1


def test_the_best_comes_first():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            fetches = [Fetch(evil.url(f"/page?n={i}")) for i in range(10)]
            await look(pages(gate, concurrency=1), *fetches)
            return [int(hit.query["n"]) for hit in evil.hits]

    assert asyncio.run(scene()) == list(range(10))


def test_many_pages_of_one_host_are_fetched_at_once_when_there_is_no_delay():
    async def scene():
        async with asyncio.timeout(10), Evil() as evil, make_gate() as gate:
            fetches = [Fetch(evil.url(f"/held?n={i}")) for i in range(8)]
            task = asyncio.create_task(look(pages(gate, concurrency=4), *fetches))
            while evil.open < 4:
                await asyncio.sleep(0.01)
            evil.gate.set()
            return len(await task), evil.most_open

    assert asyncio.run(scene()) == (8, 4)


def test_when_a_host_closes_its_other_pages_fail_at_once_and_cost_nothing():
    async def scene():
        purse = Coins()
        async with Evil() as evil, make_gate() as gate:
            fetches = [Fetch(evil.url("/status?code=429&after=99"))]
            fetches += [Fetch(evil.url(f"/page?n={i}")) for i in range(9)]
            found = await look(pages(gate, concurrency=1), *fetches, purse=purse)
            return [o.seen for o in found], purse.paid

    assert asyncio.run(scene()) == ([Seen.FAILED] * 10, 1)


def test_what_is_in_flight_is_finished_when_the_purse_runs_dry():
    async def scene():
        async with asyncio.timeout(10), Evil() as evil, make_gate() as gate:
            fetches = [Fetch(evil.url(f"/held?n={i}")) for i in range(6)]
            source = pages(gate, concurrency=6)
            task = asyncio.create_task(look(source, *fetches, purse=Coins(left=3)))
            while evil.open < 3:
                await asyncio.sleep(0.01)
            evil.gate.set()
            return [o.seen for o in await task], len(evil.hits)

    assert asyncio.run(scene()) == ([Seen.PRESENT] * 3, 3)


def test_a_host_that_asks_for_a_moment_holds_no_slot_meanwhile():
    async def scene():
        async with (
            asyncio.timeout(10),
            Evil() as evil,
            Evil("127.0.0.2") as other,
            make_gate(clock=lambda: time.time() / SECONDS) as gate,
        ):
            fetches = [Fetch(evil.url("/status?code=429&after=1"))]
            fetches += [Fetch(evil.url("/page"))]
            fetches += [Fetch(other.url(f"/page?n={i}")) for i in range(5)]
            found = await look(pages(gate, concurrency=1), *fetches)
            return [o.key for o in found], [f.key for f in fetches]

    found, asked = asyncio.run(scene())
    assert found == [asked[0], *asked[2:], asked[1]]


BODIES = [
    (b"<p>caf\xe9", "text/html; charset=latin-1"),
    (b"<p>caf\xe9", "text/html; charset=utf-8"),
    (b"\0<p>a\0b" * 100, "text/html"),
    (b"<p>x", "text/html; charset=\xff\xfe"),
    (b"<p>x", "nonsense"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"", "text/html"),
    (b"<ul><li>" * 200_000, "text/html"),
    (b"<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><urlset>", "text/xml"),
]


@pytest.mark.parametrize(("body", "content_type"), BODIES)
def test_whatever_bytes_come_they_are_a_look(body, content_type):
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            evil.pages["/odd"] = response(body, Content_Type=content_type)
            return await look(pages(gate), Fetch(evil.url("/odd")))

    (found,) = asyncio.run(scene())
    assert found.seen is Seen.PRESENT
    assert len(found.digest) == 32
    assert found.content.body == body


def test_an_error_of_our_own_is_not_swallowed():
    class Full(Book):
        def save_host(self, state):
            raise StoreError("the disk is full")

    async def scene():
        async with Evil() as evil, make_gate(book=Full()) as gate:
            await look(pages(gate), Fetch(evil.url("/status?code=500")))

    with pytest.raises(StoreError, match="disk is full"):
        asyncio.run(scene())


def test_an_unknown_way_to_read_pages_is_refused():
    with pytest.raises(ConfigError, match="visible, main or raw"):
        SiteSettings(text="everything")
