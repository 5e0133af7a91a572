"""What arrives at a server, byte by byte: the URL as a browser would send it."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from halflife.core.errors import Refused, UsageError
from halflife.core.observation import Seen
from halflife.core.request import Fetch
from halflife.kinds.pages.client import PageClient, SiteSettings
from halflife.net.addresses import canonical
from halflife.stores.sqlite import SqliteStore
from site_parts import html, running, settings, sync
from web_parts import HOME, OBEDIENT, Coins, make_gate


@dataclass
class Raw:
    """A server that keeps the target of each request as it came over the wire."""

    port: int = 0
    targets: list[str] = field(default_factory=list)
    answers: dict[str, bytes] = field(default_factory=dict)
    bodies: dict[str, bytes] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def redirect(self, path: str, location: bytes) -> None:
        self.answers[path] = b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\n"

    def serve(self, connection: socket.socket) -> None:
        with connection:
            head = b""
            while b"\r\n\r\n" not in head:
                more = connection.recv(65536)
                if not more:
                    return
                head += more
            target = head.split(b" ")[1].decode("latin-1")
            self.targets.append(target)
            found = self.answers.get(target, b"HTTP/1.1 200 OK\r\n")
            body = self.bodies.get(target, b"")
            end = b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body)
            connection.sendall(found + end + body)


@contextmanager
def raw_server() -> Iterator[Raw]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        raw = Raw(listener.getsockname()[1])

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                raw.serve(connection)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield raw
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def asked(raw: Raw, *urls: str, access=HOME) -> list[Seen]:
    """Look at pages by their keys; return what came of it."""

    async def scene():
        async with make_gate() as gate:
            pages = PageClient(
                gate, {"s": SiteSettings(access)}, source_of=lambda _: "s"
            )
            fetches = [Fetch(canonical(url)) for url in urls]
            looks = [o async for b in pages.perform(fetches, 1.0, Coins()) for o in b]
            return [o.seen for o in looks]

    return asyncio.run(scene())


TARGETS = [
    "/service?wsdl",
    "/a?a=2&a=1",
    "/a?b=1&a=2",
    "/a?x=1;y=2",
    "/a?",
    "/a??",
    "/a?=",
    "/a?q=a+b%20c",
    "/a?q=%7e%2F/%zz%",
    "/a?q='",
    "/a?s=internationalization",
    "/%7euser/~user",
    "/a%2fb%2Fc",
    "/a;b=c/d,e:f@g!$&'()*+",
    "//a///b",
    "/%2E/x",
    "/[a]|b",
]


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_sent_is_what_was_named(target):
    expected = {"/a?q='": "/a?q=%27", "/%2E/x": "/x"}.get(target, target)
    with raw_server() as raw:
        assert asked(raw, raw.url + target) == [Seen.PRESENT]
        assert raw.targets == [expected]


@pytest.mark.parametrize("target", TARGETS)
def test_a_redirect_is_followed_to_the_very_target_it_names(target):
    expected = {"/a?q='": "/a?q=%27", "/%2E/x": "/x"}.get(target, target)
    where = target.removeprefix("/") if target.startswith("//") else target
    expected = where if where != target else expected
    with raw_server() as raw:
        raw.redirect("/go", where.encode())
        assert asked(raw, raw.url + "/go") == [Seen.PRESENT]
        assert raw.targets == ["/go", expected]


@pytest.mark.parametrize(
    ("location", "target"),
    [
        (b"/caf\xc3\xa9", "/caf%C3%A9"),
        (b"/caf\xe9?q=\xe9", "/caf%E9?q=%E9"),
        (b"/a b?c d", "/a%20b?c%20d"),
        (b"?wsdl", "/go?wsdl"),
    ],
)
def test_a_redirect_with_raw_bytes_is_followed_as_browsers_do(location, target):
    with raw_server() as raw:
        raw.redirect("/go", location)
        assert asked(raw, raw.url + "/go") == [Seen.PRESENT]
        assert raw.targets == ["/go", target]


BROKEN = [
    "http://[]@/",
    "http://[/",
    "//[",
    "http://[]/",
    "http://[::1",
    "http://a:b:c/",
]


@pytest.mark.parametrize("location", BROKEN)
def test_a_redirect_to_no_url_at_all_is_a_failed_look(location):
    with raw_server() as raw:
        raw.redirect("/go", location.encode())
        assert asked(raw, raw.url + "/go") == [Seen.FAILED]
        assert raw.targets == ["/go"]


@pytest.mark.parametrize("location", BROKEN)
def test_the_gate_says_why_it_refuses_what_is_no_url(location):
    async def scene():
        with raw_server() as raw:
            raw.redirect("/go", location.encode())
            async with make_gate() as gate:
                with pytest.raises(Refused, match="an address that must not"):
                    await gate.get(raw.url + "/go", Coins(), access=HOME)
                if not location.startswith("//"):
                    with pytest.raises(UsageError):
                        await gate.get(location, Coins(), access=HOME)

    asyncio.run(scene())


@pytest.mark.parametrize(
    "path",
    [
        "/search?q=x&a=1",
        "/search?q=x",
        "/%73earch?q=x",
        "/a/../search?q=x&a=1",
        "/search?%71=x",
    ],
)
def test_no_spelling_of_a_forbidden_page_is_sent(path):
    with raw_server() as raw:
        raw.bodies["/robots.txt"] = b"User-agent: *\nDisallow: /search?q=\n"
        assert asked(raw, raw.url + path, access=OBEDIENT) == [Seen.FAILED]
        assert asked(raw, raw.url + "/search?p=x", access=OBEDIENT) == [Seen.PRESENT]
        assert raw.targets == ["/robots.txt", "/robots.txt", "/search?p=x"]


def test_a_page_found_with_a_session_id_is_asked_for_as_it_was_found(tmp_path):
    token = "9f86d081884c7d659a2feaa0c55ad015"
    links = (f"/a?z=1&sid={token}&b=2", "/b?utm_source=x", "/c?s=internationalization")
    pages = {"/": html("home", *links), "/robots.txt": "User-agent: *\n"}
    pages |= {link: html(link) for link in links}
    with running(pages) as site:
        config = settings(site, tmp_path, requests=20)
        sync(config)
        assert sorted(site.asked) == sorted([*pages])
        with SqliteStore.open(config.store_path, readonly=True) as store:
            found = {i.key.removeprefix(site.url): i.url for i in store.items()}
    assert found == {
        "/": "",
        "/a?z=1&b=2": site.url + links[0],
        "/b": site.url + links[1],
        "/c?s=internationalization": "",
    }
