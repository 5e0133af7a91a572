"""Secrets go to their own origin only, and never into words. TLS is always checked."""

import asyncio
import shutil
import socket
import ssl
import subprocess
import traceback

import pytest

from faults.evil import FAULTS, Evil
from halflife.errors import ConfigError, HalflifeError, Refused, UsageError
from halflife.observation import Seen
from halflife.request import Fetch
from halflife.sources.pages import Pages, SiteSettings
from halflife.sources.terms import Access, Credentials
from web_parts import HOME, LOOPBACK, Book, Coins, make_gate

CANARY = "c4n4ry-s3cr3t"
SECRETS = {"Authorization": f"Bearer {CANARY}", "Cookie": f"id={CANARY}"}


def with_secrets(url: str) -> Access:
    return Access(LOOPBACK, Credentials.of(url, SECRETS), robots=False)


def names(evil: Evil) -> list[bool]:
    """Return for each request whether it carried the secrets."""
    return [
        CANARY in hit.headers.get("authorization", "")
        and CANARY in hit.headers.get("cookie", "")
        for hit in evil.hits
    ]


def test_credentials_are_sent_to_their_origin():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            access = with_secrets(evil.url("/"))
            await gate.get(evil.url("/to?url=/page"), Coins(), access=access)
            return names(evil)

    assert asyncio.run(scene()) == [True, True]


@pytest.mark.parametrize("other_address", ["127.0.0.1", "127.0.0.2"])
def test_credentials_are_dropped_when_host_or_port_changes(other_address):
    async def scene():
        async with Evil() as evil, Evil(other_address) as other, make_gate() as gate:
            url = evil.url(f"/to?url={other.url('/page')}")
            await gate.get(url, Coins(), access=with_secrets(evil.url("/")))
            text = "".join(str(hit.headers) for hit in other.hits)
            return names(evil), names(other), CANARY in text

    assert asyncio.run(scene()) == ([True], [False], False)


def test_credentials_stay_dropped_when_a_redirect_leads_back():
    async def scene():
        async with Evil() as evil, Evil() as other, make_gate() as gate:
            back = other.url(f"/to?url={evil.url('/page')}")
            url = evil.url(f"/to?url={back}")
            await gate.get(url, Coins(), access=with_secrets(evil.url("/")))
            return names(evil)

    assert asyncio.run(scene()) == [True, False]


def test_credentials_are_not_sent_to_another_host_of_the_same_source():
    async def scene():
        async with Evil() as evil, Evil() as other, make_gate() as gate:
            access = with_secrets(evil.url("/"))
            await gate.get(other.url("/page"), Coins(), access=access)
            return names(other)

    assert asyncio.run(scene()) == [False]


def test_credentials_are_not_sent_with_the_request_for_robots_txt():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            access = Access(LOOPBACK, Credentials.of(evil.url("/"), SECRETS))
            await gate.get(evil.url("/page"), Coins(), access=access)
            return evil.paths(), names(evil)

    assert asyncio.run(scene()) == (["/robots.txt", "/page"], [False, True])


@pytest.mark.parametrize("name", ["Authorization", "cookie", "Host", "User-Agent"])
def test_a_secret_header_cannot_be_set_where_it_would_travel(name):
    with pytest.raises(ConfigError, match="credentials"):
        Access(headers={name: "x"})


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\0b", "a\nb"])
def test_a_header_cannot_smuggle_another(value):
    with pytest.raises(ConfigError, match="one line"):
        Access(headers={"X-Mine": value})
    with pytest.raises(ConfigError, match="one line"):
        Credentials.of("https://example.org/", {"Authorization": value})


def test_credentials_do_not_show_when_printed():
    access = Access(credentials=Credentials.of("https://example.org/", SECRETS))
    assert CANARY not in repr(access) + str(SiteSettings(access))


def test_a_url_with_a_password_is_refused_without_repeating_it():
    async def scene():
        async with make_gate() as gate:
            await gate.get(f"http://me:{CANARY}@127.0.0.1/", Coins(), access=HOME)

    with pytest.raises(UsageError) as caught:
        asyncio.run(scene())
    assert CANARY not in str(caught.value)


def test_no_fault_makes_a_secret_appear_in_words():
    """Ask for every fault there is with secrets in the header and in the query."""

    async def scene():
        words, notes = [], []
        for path in [*FAULTS, "/nothing"]:
            async with Evil() as evil, make_gate(deadline=0.1, book=Book()) as gate:
                query = f"token={CANARY}&coding=gzip&n=9&code=500&url=ftp://x/{CANARY}"
                url = evil.url(f"{path}?{query}")
                access = with_secrets(evil.url("/"))
                try:
                    await gate.get(url, Coins(), access=access)
                except HalflifeError as error:
                    words.append("".join(traceback.format_exception(error)))
                pages = Pages(
                    gate, {"s": SiteSettings(access)}, source_of=lambda _: "s"
                )
                async for looks in pages.perform([Fetch(url)], 0.0, Coins()):
                    notes += [look.note for look in looks if look.seen is Seen.FAILED]
        return words, notes

    words, notes = asyncio.run(scene())
    assert len(words) > 10
    assert len(notes) > 10
    assert all(CANARY not in text for text in words + notes)
    assert all("\n" not in note for note in notes)


@pytest.fixture
def self_signed(tmp_path):
    """A server context whose certificate nobody vouches for."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=127.0.0.1 "
        "-addext subjectAltName=IP:127.0.0.1"
    )
    subprocess.run(
        [*command.split(), "-keyout", key, "-out", cert],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


def test_a_certificate_that_nobody_vouches_for_is_refused(self_signed):
    async def scene():
        async with Evil(tls=self_signed) as evil, make_gate() as gate:
            with pytest.raises(Refused, match="certificate is not valid"):
                await gate.get(evil.url("/page"), Coins(), access=HOME)
            return evil.hits

    assert asyncio.run(scene()) == []


def test_a_redirect_to_such_a_host_is_refused_too(self_signed):
    async def scene():
        async with Evil() as evil, Evil(tls=self_signed) as other, make_gate() as gate:
            url = evil.url(f"/to?url={other.url('/page')}")
            with pytest.raises(Refused, match="certificate is not valid"):
                await gate.get(url, Coins(), access=HOME)
            return other.hits

    assert asyncio.run(scene()) == []


def test_a_handshake_that_never_ends_is_cut_off():
    async def scene(port):
        async with asyncio.timeout(10), make_gate(deadline=0.3) as gate:
            await gate.get(f"https://127.0.0.1:{port}/", Coins(), access=HOME)

    with socket.create_server(("127.0.0.1", 0)) as deaf:  # it accepts, never speaks
        port = deaf.getsockname()[1]
        with pytest.raises(HalflifeError, match="no full answer in time"):
            asyncio.run(scene(port))
