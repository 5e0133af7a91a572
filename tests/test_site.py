"""What a site's pages lead to, and which of it may become known."""

import asyncio

import pytest
from hypothesis import given, strategies as st

from halflife.core.observation import Observation, Outgoing, Seen
from halflife.core.request import Fetch
from halflife.kinds.pages.client import PageClient, SiteSettings
from halflife.kinds.pages.links import Scope
from halflife.kinds.pages.site import CrawlLimits, Follow, Frontier, SitePages
from halflife.net.access import Access, Answer
from site_parts import html, running
from web_parts import LOOPBACK, Coins, make_gate

HOME = "http://example.org/"


def look(key=HOME, **more):
    return Observation(key, 1.0, Seen.PRESENT, "digest", raw="raw", **more)


def answer(body, url=HOME, status=200, kind="text/html"):
    return Answer(status, url, body.encode(), kind)


def frontier(known=(), *, within="host", read=None, foreign=(), **limits):
    follow = Follow(Scope(HOME, within))
    depth = {HOME: 0, **dict.fromkeys(known, 1)}
    made = CrawlLimits(**limits)
    return Frontier("s", follow, made, depth=depth, read=read, foreign=foreign)


def page(*paths, key=HOME, same=""):
    return look(key, links=Outgoing(tuple(HOME + p for p in paths), same))


def names(looks):
    return [x.key.removeprefix(HOME) for x in looks if x.seen is Seen.HINT]


# Reading where a page leads


def test_a_look_gets_the_links_within_the_scope():
    body = html("x", "/a", "b", "http://other.org/", "/")
    (seen,) = Follow(Scope(HOME))(look(), answer(body))
    assert seen.links == Outgoing((HOME + "a", HOME + "b"))
    assert seen.digest == "digest"


def test_what_is_not_html_leads_nowhere():
    (seen,) = Follow(Scope(HOME))(look(), answer('<a href="/a">', kind="text/plain"))
    assert seen.links == Outgoing()


def test_a_redirect_within_the_scope_shows_two_pages():
    body = html("x", "/b")
    old, new = Follow(Scope(HOME))(look(HOME + "old"), answer(body, HOME + "new"))
    assert (old.key, old.links) == (HOME + "old", Outgoing(same=HOME + "new"))
    assert old.content is None
    assert (new.key, new.links) == (HOME + "new", Outgoing((HOME + "b",)))
    assert new.digest == "digest"


def test_a_redirect_changes_when_it_leads_elsewhere_and_not_with_its_target():
    follow = Follow(Scope(HOME))
    first = follow(look(HOME + "old"), answer(html("one"), HOME + "new"))[0]
    again = follow(look(HOME + "old"), answer(html("two"), HOME + "new"))[0]
    other = follow(look(HOME + "old"), answer(html("one"), HOME + "newer"))[0]
    assert first.digest == again.digest != other.digest


def test_a_redirect_out_of_scope_is_noted_and_not_followed():
    (seen,) = Follow(Scope(HOME))(look(), answer("", "http://other.org/", 302))
    assert seen.links == Outgoing()
    assert seen.note == "leads out of scope, to http://other.org/"


@pytest.mark.parametrize(
    ("claim", "same"),
    [("/other", HOME + "other"), ("http://elsewhere.org/", ""), (HOME, "")],
)
def test_a_claim_to_be_another_page_counts_within_the_scope(claim, same):
    body = html("x", head=f'<link rel="canonical" href="{claim}">')
    (seen,) = Follow(Scope(HOME))(look(), answer(body))
    assert seen.links.same == same


# What becomes known


def test_new_pages_are_told_once_and_links_to_known_ones_are_kept():
    site = frontier([HOME + "a"])
    first = list(site.take(page("a", "b")))
    assert names(first) == ["b"]
    assert first[1].item.source == "s"
    assert first[1].item.group == "example.org"
    assert first[0].links.to == (HOME + "a", HOME + "b")
    assert names(site.take(page("a", "b", key=HOME + "a"))) == []


def test_a_look_that_tells_nothing_of_links_is_left_alone():
    same = look()
    assert list(frontier().take(same)) == [same]
    assert next(frontier().take(same)).links is None


def test_a_page_that_has_gone_leads_nowhere():
    (seen,) = frontier().take(Observation(HOME, 1.0, Seen.ABSENT))
    assert seen.links.to == ()


@pytest.mark.parametrize(
    ("limits", "found", "why"),
    [
        ({"most": 3}, ["a", "b"], "most"),
        ({"depth": 0}, [], "depth"),
        ({"within": "folder"}, ["a", "b", "c"], ""),
    ],
)
def test_limits_are_kept(limits, found, why):
    site = frontier(**limits)
    seen = list(site.take(page("a", "b", "c")))
    assert names(seen) == found
    assert len(seen[0].links.to) == len(found)
    assert set(site.left_out) == ({why} if why else set())


def test_variants_of_an_address_are_limited_and_other_pages_are_not():
    site = frontier(variants=3)
    paths = [*(f"list?page={i}" for i in range(9)), *(f"p{i}" for i in range(9))]
    found = names(site.take(page(*paths)))
    assert found == [*paths[:3], *paths[9:]]
    assert site.left_out == {"variants": 6}


def test_known_variants_count():
    site = frontier([f"{HOME}list?page={i}" for i in range(3)], variants=3)
    assert names(site.take(page("list?page=7", "list?sort=7"))) == ["list?sort=7"]


def test_depth_goes_by_the_shortest_way():
    site = frontier(depth=2)
    list(site.take(page("a")))
    list(site.take(page("b", key=HOME + "a")))
    assert names(site.take(page("c", key=HOME + "b"))) == []
    list(site.take(page("b")))
    assert names(site.take(page("c", key=HOME + "b"))) == ["c"]


def test_pages_of_other_sources_are_linked_and_not_taken():
    site = frontier(foreign={HOME + "theirs"})
    seen = list(site.take(page("theirs")))
    assert names(seen) == []
    assert seen[0].links.to == (HOME + "theirs",)
    assert len(site) == 1


@given(st.lists(st.lists(st.integers(0, 40), max_size=8), max_size=20))
def test_no_page_is_told_twice_and_none_beyond_the_limit(pages):
    site, told = frontier(most=15), []
    for links in pages:
        told += names(site.take(page(*(f"p{i}" for i in links))))
    assert len(told) == len(set(told)) <= 14
    assert len(site) == len(told) + 1


# Reading links anew


def test_what_is_held_is_mentioned_only_if_its_links_were_read_by_the_same_rules():
    held = look()
    site = frontier()
    assert site.whole(Fetch(HOME, held)).held is None
    (seen,) = site.take(page())
    assert site.whole(Fetch(HOME, held)).held is held
    again = frontier(read={HOME: seen.links.under})
    assert again.whole(Fetch(HOME, held)).held is held
    wider = frontier(read={HOME: seen.links.under}, most=77)
    assert wider.whole(Fetch(HOME, held)).held is None


def test_a_page_at_the_end_is_read_again_when_it_comes_nearer():
    site = frontier([HOME + "a"], depth=1)
    (end,) = site.take(page(key=HOME + "a"))
    nearer = frontier([HOME + "a"], depth=1, read={HOME + "a": end.links.under})
    assert nearer.whole(Fetch(HOME + "a", look())).held is not None
    nearer.admit(HOME + "a", 0)
    assert nearer.whole(Fetch(HOME + "a", look())).held is None


# The source


def crawl(site, *fetches, within="host", **limits):
    """Look at pages of a site on loopback; return what was seen, and the frontier."""

    async def scene():
        scope = Scope.of(site.url + "/", within)
        access = Access(allow=LOOPBACK, robots=False, within=scope.__contains__)
        follow = Follow(scope)
        known = {fetch.key: 0 for fetch in fetches}
        front = Frontier("s", follow, CrawlLimits(**limits), depth=known)
        async with make_gate() as gate:
            settings = {"s": SiteSettings(access, follow=follow)}
            pages = PageClient(gate, settings, source_of=lambda _: "s")
            source = SitePages(pages, {"s": front}, source_of=lambda _: "s")
            batches = [b async for b in source.perform(fetches, 1.0, Coins())]
        return [look for batch in batches for look in batch], front

    return asyncio.run(scene())


def test_a_redirect_out_of_scope_asks_nobody_else():
    with running({"/": html("other")}) as other, running({}) as site:
        site.pages["/away"] = (302, other.url + "/")
        (seen,), _ = crawl(site, Fetch(site.url + "/away"))
        assert seen.seen is Seen.PRESENT
        assert "out of scope" in seen.note
        assert other.asked == []


def test_a_redirect_within_the_scope_brings_the_page_it_leads_to():
    with running({"/new": html("new", "/x"), "/old": (301, "/new")}) as site:
        seen, front = crawl(site, Fetch(site.url + "/old"))
        assert [(o.key.removeprefix(site.url), int(o.seen)) for o in seen] == [
            ("/old", Seen.PRESENT),
            ("/new", Seen.HINT),
            ("/new", Seen.PRESENT),
            ("/x", Seen.HINT),
        ]
        assert seen[0].links.same == seen[2].key
        assert seen[2].content is not None
        assert len(front) == 3


def test_a_map_on_a_site_is_held_to_its_limits():
    locs = "".join(f"<url><loc>{{}}/p{i}</loc></url>" for i in range(9))
    with running({}) as site:
        locs = locs.replace("{}", site.url)
        site.pages["/map.xml"] = f"<urlset>{locs}</urlset>"
        seen, front = crawl(site, Fetch(site.url + "/map.xml"), most=4)
        assert [o.key for o in seen[1:]] == [f"{site.url}/p{i}" for i in range(3)]
        assert seen[0].links.to == tuple(o.key for o in seen[1:])
        assert front.left_out == {"most": 6}


def test_an_unchanged_page_says_nothing_of_its_links():
    with running({"/": html("x", "/a")}) as site:
        (first, _), front = crawl(site, Fetch(site.url + "/"))

        async def again():
            access = Access(allow=LOOPBACK, robots=False)
            async with make_gate() as gate:
                settings = {"s": SiteSettings(access, follow=front.follow)}
                pages = PageClient(gate, settings, source_of=lambda _: "s")
                source = SitePages(pages, {"s": front}, source_of=lambda _: "s")
                fetch = Fetch(first.key, first)
                return [b async for b in source.perform([fetch], 1.0, Coins())]

        ((seen,),) = asyncio.run(again())
        assert site.answered[-1] == ("/", 304)
        assert seen.links is None
