"""Secrets go to their own origin only, and never into words. TLS is always checked."""

import asyncio
import shutil
import socket
import ssl
import subprocess
import traceback
from dataclasses import replace

import pytest

from faults.evil import FAULTS, Evil, response
from halflife.core.errors import ConfigError, HalflifeError, Refused, UsageError
from halflife.core.observation import Observation, Seen
from halflife.core.request import Fetch
from halflife.kinds.pages.client import PageClient, SiteSettings
from halflife.net.access import Access, Credentials
from halflife.net.addresses import origin, parse_url
from missing_programs import reason
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
                pages = PageClient(
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
        pytest.skip(reason("openssl"))
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


# Headers that are no declared secrets, and validators


PLAIN = {"X-Auth-Token": CANARY, "X-Api-Version": "2", "Accept": "application/json"}


def sent(evil: Evil, name: str) -> list[str]:
    return [hit.headers.get(name, "") for hit in evil.hits]


@pytest.mark.parametrize("other_address", ["127.0.0.1", "127.0.0.2"])
def test_a_header_of_a_source_does_not_follow_to_another_origin(other_address):
    async def scene():
        async with Evil() as evil, Evil(other_address) as other, make_gate() as gate:
            access = Access(LOOPBACK, headers=PLAIN, robots=False)
            back = other.url(f"/to?url={evil.url('/page')}")
            await gate.get(evil.url(f"/to?url={back}"), Coins(), access=access)
            return [(sent(e, "x-auth-token"), sent(e, "accept")) for e in (evil, other)]

    home, away = asyncio.run(scene())
    assert home == ([CANARY, ""], ["application/json"] * 2)
    assert away == ([""], ["application/json"])


def test_a_header_of_a_source_stays_on_its_own_origin_when_it_redirects():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            access = Access(LOOPBACK, headers=PLAIN, robots=False)
            await gate.get(evil.url("/to?url=/page"), Coins(), access=access)
            return sent(evil, "x-auth-token")

    assert asyncio.run(scene()) == [CANARY, CANARY]


def test_a_header_of_a_source_is_not_sent_to_hosts_that_its_answers_name():
    async def scene():
        async with Evil() as evil, Evil() as other, make_gate() as gate:
            home = frozenset({origin(parse_url(evil.url("/")))})
            access = Access(LOOPBACK, headers=PLAIN, robots=False, home=home)
            await gate.get(other.url("/page"), Coins(), access=access)
            return sent(other, "x-auth-token")

    assert asyncio.run(scene()) == [""]


HELD = Observation("", 0.0, Seen.PRESENT, "d" * 32, "r" * 32, '"v1"', 10.0)
VALIDATORS = ("if-none-match", "if-modified-since")


def not_modified(evil: Evil) -> None:
    evil.pages["/same"] = b'HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n'


def revisit(path: str, *, elsewhere: bool) -> tuple[Observation, list[list[str]]]:
    """Look again at a page that redirects; return the look and what was sent there."""

    async def scene():
        async with Evil() as evil, Evil() as other, make_gate() as gate:
            last = other if elsewhere else evil
            not_modified(last)
            sites = {"s": SiteSettings(Access(LOOPBACK, robots=False))}
            pages = PageClient(gate, sites, source_of=lambda _: "s")
            url = evil.url(f"/to?url={last.url(path)}")
            fetch = Fetch(url, replace(HELD, key=url))
            looks = [o async for b in pages.perform([fetch], 0.25, Coins()) for o in b]
            return looks[0], [sent(last, name)[-1:] for name in VALIDATORS]

    return asyncio.run(scene())


@pytest.mark.parametrize("elsewhere", [True, False])
def test_validators_do_not_follow_a_redirect(elsewhere):
    look, headers = revisit("/page", elsewhere=elsewhere)
    assert headers == [[""], [""]]
    assert look.seen is Seen.PRESENT


@pytest.mark.parametrize("elsewhere", [True, False])
def test_not_modified_of_another_page_does_not_mean_unchanged(elsewhere):
    look, _ = revisit("/same", elsewhere=elsewhere)
    assert look.seen is Seen.FAILED
    assert "304" in look.note


def test_the_validators_of_another_page_are_not_kept():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            evil.pages["/tagged"] = response("x", ETag='"theirs"')
            sites = {"s": SiteSettings(Access(LOOPBACK, robots=False))}
            pages = PageClient(gate, sites, source_of=lambda _: "s")
            fetches = [Fetch(evil.url(p)) for p in ("/to?url=/tagged", "/tagged")]
            looks = [o async for b in pages.perform(fetches, 0.0, Coins()) for o in b]
            return {o.key.removeprefix(evil.url("")): o.etag for o in looks}

    assert asyncio.run(scene()) == {"/to?url=/tagged": "", "/tagged": '"theirs"'}


def test_not_modified_without_a_condition_is_a_failure():
    async def scene():
        async with Evil() as evil, make_gate() as gate:
            not_modified(evil)
            sites = {"s": SiteSettings(Access(LOOPBACK, robots=False))}
            pages = PageClient(gate, sites, source_of=lambda _: "s")
            url = evil.url("/same")
            bare = Fetch(url, replace(HELD, key=url, etag="", modified=None))
            return [o async for b in pages.perform([bare], 0.25, Coins()) for o in b]

    (look,) = asyncio.run(scene())
    assert look.seen is Seen.FAILED
