"""What robots.txt forbids is not asked for, whatever state robots.txt is in."""

import asyncio

import pytest

from faults.evil import Evil, response
from halflife.core.errors import Refused, Unreachable
from halflife.net.access import Access
from web_parts import LOOPBACK, OBEDIENT, TODAY, Book, Clock, Coins, make_gate

FORBID = "User-agent: *\nDisallow: /secret\n"


async def ask(robots: bytes | None, path="/page", **settings):
    """Ask for a page of a host with this robots.txt; return answer and paths seen."""
    async with Evil() as evil, make_gate(**settings) as gate:
        if robots is not None:
            evil.pages["/robots.txt"] = robots
        try:
            got = await gate.get(evil.url(path), Coins(), access=OBEDIENT)
        except (Refused, Unreachable) as error:
            got = error
        return got, evil.paths()


def test_a_forbidden_page_is_never_asked_for():
    got, seen = asyncio.run(ask(response(FORBID), "/secret/plans"))
    assert isinstance(got, Refused)
    assert str(got) == "127.0.0.1: its robots.txt forbids this page"
    assert seen == ["/robots.txt"]


def test_other_pages_are_asked_for():
    got, seen = asyncio.run(ask(response(FORBID)))
    assert got.status == 200
    assert seen == ["/robots.txt", "/page"]


@pytest.mark.parametrize("code", [400, 401, 403, 404, 410, 451])
def test_a_host_without_robots_txt_forbids_nothing(code):
    got, _ = asyncio.run(ask(response(FORBID, code), "/close"))
    assert got.status == 200


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
def test_a_host_that_cannot_say_forbids_everything(code):
    got, seen = asyncio.run(ask(response("", code)))
    assert isinstance(got, Unreachable)
    assert seen == ["/robots.txt"]


def test_a_host_that_does_not_answer_forbids_everything():
    async def scene():
        async with Evil() as evil, make_gate(deadline=0.2) as gate:
            evil.pages["/robots.txt"] = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
            with pytest.raises(Unreachable, match=r"robots\.txt could not be read"):
                await gate.get(evil.url("/page"), Coins(), access=OBEDIENT)
            return evil.paths()

    assert asyncio.run(scene()) == ["/robots.txt"]


@pytest.mark.parametrize(
    "robots",
    [
        response("\ufeff" + FORBID),
        response(FORBID.replace("\n", "\r\n")),
        response(FORBID.replace("\n", "\r")),
        response(FORBID.replace("*", "HalfLife")),
        response("User-agent: other\nAllow: /\n\n" + FORBID),
        response(FORBID + "# " + "x" * 600_000),
        response(FORBID, Content_Type="application/octet-stream"),
        response(b"\xff\xfe\x00garbage\n" + FORBID.encode()),
    ],
    ids=["bom", "crlf", "cr", "by name", "group", "huge", "odd type", "odd bytes"],
)
def test_a_rule_is_found_in_whatever_comes_with_it(robots):
    got, seen = asyncio.run(ask(robots, "/secret"))
    assert isinstance(got, Refused)
    assert seen == ["/robots.txt"]


def test_rules_beyond_the_first_500_kib_are_not_read():
    robots = response("#" * 512_000 + "\n" + FORBID)
    _, seen = asyncio.run(ask(robots, "/secret"))
    assert seen == ["/robots.txt", "/secret"]


def test_a_robots_txt_without_end_is_read_only_so_far():
    async def scene():
        async with asyncio.timeout(10), Evil() as evil, make_gate() as gate:
            evil.pages["/robots.txt"] = response(status=302, Location="/endless")
            answer = await gate.get(evil.url("/page"), Coins(), access=OBEDIENT)
            return answer.status

    assert asyncio.run(scene()) == 200


def test_a_web_page_in_place_of_robots_txt_forbids_nothing():
    page = "<!doctype html><title>Oops</title><p>Not here. Disallow: /</p>"
    got, _ = asyncio.run(ask(response(page)))
    assert got.status == 200


def test_robots_txt_may_lie_behind_redirects():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            evil.pages["/robots.txt"] = response(status=301, Location="/moved")
            evil.pages["/moved"] = response(FORBID)
            with pytest.raises(Refused):
                await gate.get(evil.url("/secret"), Coins(), access=OBEDIENT)
            return evil.paths()

    assert asyncio.run(scene()) == ["/robots.txt", "/moved"]


def test_a_redirect_to_a_forbidden_page_is_not_followed():
    got, seen = asyncio.run(ask(response(FORBID), "/to?url=/secret"))
    assert isinstance(got, Refused)
    assert seen == ["/robots.txt", "/to"]


def test_the_host_a_redirect_leads_to_has_its_own_rules():
    async def scene():
        async with Evil() as evil, Evil("127.0.0.2") as other, make_gate() as gate:
            other.pages["/robots.txt"] = response(FORBID)
            url = evil.url(f"/to?url={other.url('/secret')}")
            with pytest.raises(Refused, match=r"127\.0\.0\.2: its robots\.txt"):
                await gate.get(url, Coins(), access=OBEDIENT)
            return other.paths()

    assert asyncio.run(scene()) == ["/robots.txt"]


def test_robots_txt_is_paid_for_like_anything_else():
    async def scene():
        purse = Coins()
        async with Evil() as evil, make_gate() as gate:
            await gate.get(evil.url("/page"), purse, access=OBEDIENT)
        return purse.paid

    assert asyncio.run(scene()) == 2


def test_robots_txt_is_fetched_once_by_many_requests_at_a_time():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            urls = [evil.url(f"/page?n={i}") for i in range(8)]
            await asyncio.gather(
                *(gate.get(url, Coins(), access=OBEDIENT) for url in urls)
            )
            return evil.paths().count("/robots.txt")

    assert asyncio.run(scene()) == 1


def test_robots_txt_is_kept_for_a_day_also_across_a_restart():
    async def scene():
        book, clock = Book(), Clock()
        async with Evil() as evil:
            evil.pages["/robots.txt"] = response(FORBID)
            for day in (0.0, 0.5, 0.99, 1.01):
                clock.now = TODAY + day
                async with make_gate(book=book, clock=clock) as gate:
                    await gate.get(evil.url("/page"), Coins(), access=OBEDIENT)
            return evil.paths().count("/robots.txt")

    assert asyncio.run(scene()) == 2


def test_robots_txt_is_asked_for_again_when_its_day_is_over():
    async def scene():
        clock = Clock()
        async with Evil() as evil, make_gate(clock=clock) as gate:
            await gate.get(evil.url("/secret/page"), Coins(), access=OBEDIENT)
            evil.pages["/robots.txt"] = response(FORBID)
            clock.now += 1.5
            with pytest.raises(Refused):
                await gate.get(evil.url("/secret/page"), Coins(), access=OBEDIENT)

    asyncio.run(scene())


def test_an_older_copy_serves_for_thirty_days_while_the_host_fails():
    async def scene():
        book, clock = Book(), Clock()
        async with Evil() as evil:
            evil.pages["/robots.txt"] = response(FORBID)
            async with make_gate(book=book, clock=clock) as gate:
                await gate.get(evil.url("/page"), Coins(), access=OBEDIENT)
            evil.pages["/robots.txt"] = response("", 500)
            found = []
            for day in (2, 29, 31):
                clock.now = TODAY + day
                async with make_gate(book=book, clock=clock) as gate:
                    for path in ("/page", "/secret"):
                        try:
                            await gate.get(evil.url(path), Coins(), access=OBEDIENT)
                            found.append("yes")
                        except Refused:
                            found.append("forbidden")
                        except Unreachable:
                            found.append("closed")
            return found

    served = ["yes", "forbidden"]
    assert asyncio.run(scene()) == [*served, *served, "closed", "closed"]


def test_a_failed_robots_txt_is_tried_again_after_five_minutes_and_not_before():
    async def scene():
        book, clock = Book(), Clock()
        async with Evil() as evil:
            evil.pages["/robots.txt"] = response("", 500)
            for minutes in (0, 1, 4, 6):
                clock.now = TODAY + minutes / 1440
                async with make_gate(book=book, clock=clock) as gate:
                    with pytest.raises(Unreachable):
                        await gate.get(evil.url("/page"), Coins(), access=OBEDIENT)
            return evil.paths()

    assert asyncio.run(scene()) == ["/robots.txt", "/robots.txt"]


def test_robots_txt_can_be_set_aside_only_explicitly():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            evil.pages["/robots.txt"] = response("User-agent: *\nDisallow: /")
            own = Access(allow=LOOPBACK, robots=False)
            answer = await gate.get(evil.url("/page"), Coins(), access=own)
            return answer.status, evil.paths()

    assert asyncio.run(scene()) == (200, ["/page"])
