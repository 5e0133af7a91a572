"""Ways to a source: proxies, own authorities and client certificates."""

import asyncio
import shutil
import socket
import ssl
import subprocess
from base64 import b64decode
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest
from aiohttp.abc import AbstractResolver

from faults.evil import Evil, response
from halflife.core.errors import ConfigError, Refused, SourceError, Unreachable
from halflife.net.access import Route
from halflife.net.addresses import networks
from halflife.net.tls import context
from halflife.net.wire import Blameless
from missing_programs import reason
from web_parts import HOME, Book, Coins, make_gate

CANARY = "c4n4ry-s3cr3t"


class Names(AbstractResolver):
    """Knows names of the tests, and counts who asks for them."""

    def __init__(self, **known):
        self.known, self.asked = known, []

    async def resolve(self, host, port=0, family=socket.AF_INET):
        self.asked.append(host)
        if host not in self.known:
            raise OSError("no such name")
        return [
            {"hostname": host, "host": one, "port": port, "family": socket.AF_INET,
             "proto": 0, "flags": 0}
            for one in self.known[host]
        ]  # fmt: skip

    async def close(self):
        """Nothing is open."""


async def relay(reader, writer):
    with suppress(ConnectionError):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def proxy(target, lie=None):
    """Run a proxy that connects to ``target`` whatever it is asked for, or lies."""
    heads, tasks, ends = [], set(), []

    async def serve(reader, writer):
        tasks.add(asyncio.current_task())
        ends.append(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            heads.append(head)
            if lie is not None:
                writer.write(lie)
                await writer.drain()
                writer.close()
                return
            there, out = await asyncio.open_connection("127.0.0.1", target.port)
            ends.append(out)
            if head.startswith("CONNECT"):
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                out.write(head.encode())
            await asyncio.gather(relay(reader, out), relay(there, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield Route(proxy=f"http://127.0.0.1:{port}"), heads
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for end in ends:
            end.transport.abort()
        await asyncio.sleep(0)


def through(url, *, names=None, lie=None, **route):
    """Ask for a URL through a proxy; return the answer, and what the proxy was told."""

    async def scene():
        gate = make_gate(resolver=names or Names())
        async with Evil() as evil, proxy(evil, lie) as (way, heads), gate:
            allow = route.pop("allow", ())
            access = replace(HOME, allow=allow, route=replace(way, **route))
            try:
                answer = await gate.get(url, Coins(), access=access)
            except SourceError as error:
                answer = error
            return answer, heads, evil.hits

    return asyncio.run(scene())


PUBLIC = {"public.example": ["93.184.216.34"]}


def test_a_source_is_asked_through_its_proxy_by_name():
    answer, heads, hits = through("http://public.example/page", names=Names(**PUBLIC))
    assert answer.status == 200
    assert b"Hello" in answer.body
    assert heads[0].startswith("GET http://public.example/page HTTP/1.1\r\n")
    assert hits[0].headers["host"] == "public.example"


NOWHERE = [
    ("http://127.0.0.1/page", {}, False),
    ("http://127.0.0.1/page", {}, True),
    ("http://[::ffff:10.0.0.1]/page", {}, True),
    ("http://169.254.169.254/latest", {}, False),
    ("http://inner.example/page", {"inner.example": ["10.0.0.7"]}, False),
    ("http://two.example/", {"two.example": ["93.184.216.34", "127.0.0.1"]}, False),
]


@pytest.mark.parametrize(("url", "known", "remote"), NOWHERE)
def test_what_is_not_public_is_refused_before_the_proxy_hears_of_it(url, known, remote):
    answer, heads, _ = through(url, names=Names(**known), remote_names=remote)
    assert isinstance(answer, Refused)
    assert "its address is not public" in str(answer)
    assert heads == []


def test_a_redirect_to_what_is_not_public_stops_at_the_gate():
    there = response(status=302, Location="http://10.0.0.1/secrets")
    answer, heads, _ = through(
        "http://public.example/", names=Names(**PUBLIC), lie=there
    )
    assert isinstance(answer, Refused)
    assert len(heads) == 1


def test_what_is_allowed_is_asked_through_the_proxy():
    answer, _, _ = through("http://10.0.0.1/page", allow=networks(["10.0.0.0/8"]))
    assert answer.status == 200


def test_a_name_that_only_the_proxy_knows_is_left_to_it_if_the_settings_say_so():
    names = Names()
    answer, heads, _ = through("http://inner.example/page", names=names)
    assert isinstance(answer, Blameless)
    assert 'write dns = "proxy" under [source.proxy]' in str(answer)
    assert heads == []
    names = Names()
    answer, heads, _ = through(
        "http://inner.example/page", names=names, remote_names=True
    )
    assert (answer.status, names.asked) == (200, [])
    answer, heads, _ = through("http://localhost/page", remote_names=True)
    assert isinstance(answer, Refused)
    assert heads == []


@pytest.mark.parametrize(
    ("scheme", "asked"),
    [
        ("http", "GET http://public.example/page"),
        ("https", "CONNECT public.example:443"),
    ],
)
def test_the_password_goes_to_the_proxy_and_into_no_words(scheme, asked):
    answer, heads, _ = through(
        f"{scheme}://public.example/page",
        names=Names(**PUBLIC),
        login=("ada", CANARY),
        lie=LIES["refused"],
    )
    (line,) = [one for one in heads[0].split("\r\n") if "Proxy-Authorization" in one]
    assert b64decode(line.rpartition(" ")[2]).decode() == f"ada:{CANARY}"
    assert heads[0].startswith(asked)
    assert CANARY not in repr(answer)
    assert isinstance(answer, Blameless)
    assert "its proxy refused the connection" in str(answer)


LIES = {
    "garbage": b"\x16\x03\x01 no HTTP at all\r\n\r\n",
    "nothing": b"",
    "cut off": b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this",
    "refused": b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n",
    "gateway": b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
    "plain": b"HTTP/1.1 200 OK\r\n\r\nthis is no TLS",
}


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("lie", LIES)
def test_a_proxy_that_lies_fails_the_one_request(scheme, lie):
    url = f"{scheme}://public.example/page"
    answer, _, _ = through(url, names=Names(**PUBLIC), lie=LIES[lie])
    if isinstance(answer, SourceError):
        assert "public.example" in str(answer)
    elif lie == "plain":  # over plain HTTP nobody can tell
        assert (scheme, answer.status) == ("http", 200)
    else:
        assert answer.status == 502


def test_a_proxy_that_is_away_says_nothing_bad_of_the_host():
    async def scene(book):
        way = Route(proxy="http://127.0.0.1:9")
        async with make_gate(resolver=Names(**PUBLIC), book=book) as gate:
            access = replace(HOME, route=way)
            with pytest.raises(Blameless, match="its proxy cannot be reached"):
                await gate.get("http://public.example/", Coins(), access=access)

    book = Book()
    asyncio.run(scene(book))
    assert book.states == {}


def test_sources_with_and_without_a_proxy_do_not_share_connections():
    async def scene():
        async with Evil() as evil, proxy(evil) as (way, heads), make_gate() as gate:
            for access in (HOME, replace(HOME, route=way), HOME):
                await gate.get(evil.url("/page"), Coins(), access=access)
            return len(heads), len(evil.hits)

    assert asyncio.run(scene()) == (1, 3)


# Own authorities and client certificates


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """An authority, a server that it vouches for, and a client that it vouches for."""
    if shutil.which("openssl") is None:
        pytest.skip(reason("openssl"))
    here = tmp_path_factory.mktemp("authority")

    def openssl(command):
        words = ["openssl", *command.split()]
        subprocess.run(words, check=True, capture_output=True, cwd=here)

    new = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1"
    openssl(f"req -x509 {new} -subj /CN=ours -keyout ca.key -out ca.pem")
    for name, more in (("server", "IP:127.0.0.1"), ("client", "DNS:client")):
        openssl(
            f"req -x509 {new} -subj /CN={name} -keyout {name}.key -out {name}.pem "
            f"-addext subjectAltName={more} -addext basicConstraints=critical,CA:FALSE "
            "-CA ca.pem -CAkey ca.key"
        )
    return here


def server_context(here, *, asks=False):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(here / "server.pem", here / "server.key")
    if asks:
        made.load_verify_locations(here / "ca.pem")
        made.verify_mode = ssl.CERT_REQUIRED
    return made


def asked(server, tls):
    async def scene():
        async with Evil(tls=server) as evil, make_gate() as gate:
            access = replace(HOME, route=Route(tls=tls))
            try:
                return (
                    await gate.get(evil.url("/page"), Coins(), access=access)
                ).status
            except SourceError as error:
                return error

    return asyncio.run(scene())


def test_an_authority_that_the_settings_name_is_trusted_by_that_source_alone(authority):
    server = server_context(authority)
    assert asked(server, context(str(authority / "ca.pem"))) == 200
    assert isinstance(asked(server, None), Refused)


def test_a_client_certificate_is_shown_to_who_asks_for_it(authority):
    ca, pem, key = (str(authority / n) for n in ("ca.pem", "client.pem", "client.key"))
    server = server_context(authority, asks=True)
    assert asked(server, context(ca, pem, key)) == 200
    assert isinstance(asked(server, context(ca)), Unreachable)


@pytest.mark.parametrize(
    ("ca", "certificate", "key", "said"),
    [
        ("nothing.pem", "", "", "ca: .* cannot be read: No such file"),
        ("client.key", "", "", "ca: .* holds no certificates"),
        ("", "client.pem", "", "certificate: .* is no certificate with its key"),
        ("", "client.pem", "server.key", "certificate: .* is no certificate with its"),
    ],
)
def test_files_that_are_of_no_use_are_named(authority, ca, certificate, key, said):
    paths = [str(authority / name) if name else "" for name in (ca, certificate, key)]
    with pytest.raises(ConfigError, match=said):
        context(*paths)


def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it(authority):
    words = "openssl pkcs8 -topk8 -in client.key -out locked.key -passout pass:x"
    subprocess.run(words.split(), check=True, capture_output=True, cwd=authority)
    pem, key = str(authority / "client.pem"), str(authority / "locked.key")
    with pytest.raises(ConfigError, match="the key without a password"):
        context("", pem, key)


def test_a_file_that_is_replaced_is_read_again(authority, tmp_path):
    path = tmp_path / "ca.pem"
    shutil.copy(authority / "server.pem", path)
    first = context(str(path))
    assert context(str(path)) is first
    shutil.copy(authority / "ca.pem", path)
    assert context(str(path)) is not first


@pytest.mark.parametrize(("ca", "fine"), [("ca.pem", True), ("client.pem", False)])
def test_who_is_at_the_end_of_a_proxy_must_show_its_certificate(authority, ca, fine):
    async def scene():
        server = server_context(authority)
        async with Evil(tls=server) as evil, proxy(evil) as (way, heads):
            tls = context(str(authority / ca))
            async with make_gate() as gate:
                access = replace(HOME, route=replace(way, tls=tls))
                try:
                    answer = await gate.get(evil.url("/page"), Coins(), access=access)
                except SourceError as error:
                    answer = error
            return answer, heads, evil.hits

    answer, heads, hits = asyncio.run(scene())
    assert heads[0].startswith("CONNECT 127.0.0.1:")
    if fine:
        assert (answer.status, len(hits)) == (200, 1)
    else:
        assert isinstance(answer, Refused)
        assert hits == []
