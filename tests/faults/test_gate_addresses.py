"""The gate opens no socket to an address that is not public, unless told to."""

import asyncio
import socket

import pytest
from aiohttp.abc import AbstractResolver

from faults.evil import Evil
from halflife.core.errors import Refused, Unreachable, UsageError
from halflife.net.access import PUBLIC, Access
from halflife.net.addresses import networks
from web_parts import HOME, LOOPBACK, Book, Coins, make_gate

ANYWHERE = Access(robots=False)
FORMS = [
    "http://127.0.0.1:{port}/page",
    "http://localhost:{port}/page",
    "http://2130706433:{port}/page",
    "http://0177.0.0.1:{port}/page",
    "http://0x7f.1:{port}/page",
    "http://127.1:{port}/page",
    "http://[::1]:{port}/page",
    "http://[::ffff:127.0.0.1]:{port}/page",
    "http://0.0.0.0:{port}/page",
    "http://127.0.0.1.:{port}/page",
    "http://\uff11\uff12\uff17.0.0.1:{port}/page",  # digits in full width
    "http://169.254.169.254/latest/meta-data",
    "http://100.64.0.1/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
]


class Names(AbstractResolver):
    """Resolves every name to the next address of a list; the last one stays."""

    def __init__(self, *addresses: str) -> None:
        self._addresses = list(addresses)

    async def resolve(self, host, port=0, family=socket.AF_INET):
        rest = self._addresses
        address = rest.pop(0) if len(rest) > 1 else rest[0]
        return [
            {
                "hostname": host,
                "host": address,
                "port": port,
                "family": socket.AF_INET,
                "proto": 0,
                "flags": 0,
            }
        ]

    async def close(self) -> None:
        self._addresses.clear()


async def ask(path: str, *, access=HOME, resolver=None):
    """Ask a server on loopback; return what came of it and what it saw."""
    async with Evil() as evil, make_gate(resolver=resolver, deadline=5) as gate:
        url = path.format(port=evil.port)
        try:
            got = await gate.get(url, Coins(), access=access)
        except (Refused, Unreachable, UsageError) as error:
            got = error
        return got, evil.paths()


@pytest.mark.parametrize("form", FORMS)
def test_no_spelling_of_a_private_address_is_connected_to(form):
    got, seen = asyncio.run(ask(form, access=ANYWHERE))
    assert isinstance(got, Refused | Unreachable)
    assert seen == []


def test_the_reason_names_the_host_and_the_remedy():
    got, _ = asyncio.run(ask("http://localhost:{port}/page", access=ANYWHERE))
    assert str(got) == (
        "localhost: its address is not public; name its network in the source's allow"
    )


def test_a_private_address_is_refused_before_robots_txt_too():
    got, seen = asyncio.run(ask("http://127.0.0.1:{port}/page", access=PUBLIC))
    assert isinstance(got, Refused)
    assert seen == []


def test_an_allowed_network_can_be_reached():
    got, seen = asyncio.run(ask("http://127.0.0.1:{port}/page"))
    assert got.status == 200
    assert seen == ["/page"]


@pytest.mark.parametrize("scheme", ["file:///etc/passwd", "gopher://127.0.0.1:{port}/"])
def test_only_http_and_https_are_fetched(scheme):
    got, seen = asyncio.run(ask(scheme))
    assert isinstance(got, UsageError)
    assert "only http and https can be fetched" in str(got)
    assert seen == []


TARGETS = [
    "http://127.0.0.2:{port}/page",
    "http://169.254.169.254/latest/meta-data",
    "http://[::ffff:127.0.0.2]:{port}/page",
    "file:///etc/passwd",
    "gopher://127.0.0.1:{port}/",
    "data:text/html,hello",
    "ftp://127.0.0.1/",
    "//127.0.0.2:{port}/page",
    "http://user:secret@127.0.0.1:{port}/page",
    "http://127.0.0.1:{port}\\@127.0.0.2/",
    "http:///page",
]


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("target", TARGETS)
def test_a_redirect_leads_nowhere_that_could_not_be_asked_directly(target, code):
    async def scene():
        only = Access(allow=networks(["127.0.0.1/32"]), robots=False)
        async with Evil() as evil, Evil("127.0.0.2", port=evil.port) as other:
            where = target.format(port=evil.port)
            evil.pages["/go"] = (
                f"HTTP/1.1 {code} Go\r\nLocation: {where}\r\nContent-Length: 0\r\n\r\n"
            ).encode()
            async with make_gate(deadline=5) as gate:
                with pytest.raises(Refused):
                    await gate.get(evil.url("/go"), Coins(), access=only)
            return evil.paths(), other.paths()

    assert asyncio.run(scene()) == (["/go"], [])


def test_a_name_that_resolves_to_a_private_address_is_refused():
    names = Names("127.0.0.1")
    got, seen = asyncio.run(
        ask("http://innocent.test:{port}/page", access=ANYWHERE, resolver=names)
    )
    assert isinstance(got, Refused)
    assert seen == []


def test_a_name_that_changes_its_address_is_checked_at_every_connection():
    async def scene():
        only = Access(allow=networks(["127.0.0.1/32"]), robots=False)
        names = Names("127.0.0.1", "127.0.0.2")
        async with (
            Evil() as evil,
            Evil("127.0.0.2", port=evil.port) as other,
            make_gate(resolver=names) as gate,
        ):
            url = evil.url("/close", host="rebind.test")
            first = await gate.get(url, Coins(), access=only)
            with pytest.raises(Refused):
                await gate.get(url, Coins(), access=only)
            return first.status, other.paths()

    assert asyncio.run(scene()) == (200, [])


def test_a_connection_is_not_lent_to_a_source_that_may_not_have_it():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            await gate.get(evil.url("/page"), Coins(), access=HOME)
            with pytest.raises(Refused):
                await gate.get(evil.url("/page"), Coins(), access=ANYWHERE)
            return evil.paths()

    assert asyncio.run(scene()) == ["/page"]


def test_proxies_of_the_environment_are_not_used(monkeypatch):
    async def scene():
        async with Evil() as evil, Evil() as proxy, make_gate() as gate:
            for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
                monkeypatch.setenv(name, proxy.url(""))
            answer = await gate.get(evil.url("/page"), Coins(), access=HOME)
            return answer.status, proxy.hits

    assert asyncio.run(scene()) == (200, [])


def test_a_host_that_cannot_be_resolved_is_unreachable():
    class Nobody(Names):
        async def resolve(self, host, port=0, family=socket.AF_INET):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    got, _ = asyncio.run(ask("http://nobody.test/", resolver=Nobody("127.0.0.1")))
    assert isinstance(got, Unreachable)
    assert str(got) == "nobody.test: no such host"


def test_a_fault_on_our_side_is_not_held_against_the_host():
    class Cut(Names):
        async def resolve(self, host, port=0, family=socket.AF_INET):
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure")

    async def scene():
        book = Book()
        async with make_gate(book=book, resolver=Cut("127.0.0.1")) as gate:
            with pytest.raises(Unreachable, match="no network"):
                await gate.get("http://far.test/", Coins(), access=Access(LOOPBACK))
        return book.states

    assert asyncio.run(scene()) == {}
