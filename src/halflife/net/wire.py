"""Send one request and read its answer, within limits of time and size."""

import asyncio
import errno
import re
import socket
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol
from weakref import WeakSet

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from halflife.core.errors import NotPublic, Refused, SourceError, Unreachable
from halflife.net.access import DIRECT, Answer, GateSettings, Route
from halflife.net.addresses import AddressInfo, Blocked, Network, guarded
from halflife.net.dates import from_http
from halflife.net.decoding import ACCEPTED, Undecodable, coding, pieces
from halflife.net.negotiation import PAGE
from halflife.net.proxies import Proxies, Unresolved, open_socket

WITH_BODY = frozenset({200, 203})
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_DRAIN = 1 << 16  # bytes; an unwanted body is read to its end only if it is as short
_IDLE = 4.0  # seconds; below the 5 after which many servers hang up
_LINE = 1 << 14  # bytes of a header line
_ETAG = re.compile(r"[\x21-\x7e]{1,256}")
_OURS = frozenset({errno.ENETUNREACH, errno.ENETDOWN, socket.EAI_AGAIN})
NO_NETWORK = "there seems to be no network"  # how every such complaint ends
_LAST = {"Connection": "close"}  # the connection is not used again
_PROXY_LOGIN = 407
_REASON = 1 << 14  # bytes of a refusal that may say why


class HungUp(Unreachable):
    """The host closed the connection before it sent anything."""


class Blameless(Unreachable):
    """A request failed, and the host is not to blame."""


class Offline(Blameless):
    """There is no network."""


class Call(NamedTuple):
    """The terms of one request.

    Attributes:
        headers: Its headers, beside those of all requests.
        allow: Address blocks it may go to although they are not public.
        left: Seconds within which the whole answer must have come.
        begun: Called as soon as the answer has begun.
        enough: Bytes of the body after which the rest is not read.
        body: The body to send.
        method: The method; empty for the usual one, see ``verb``.
        route: The route of the request.
        reasons: Whether the body of a refusal (4xx) is read, too.

    """

    headers: Mapping[str, str]
    allow: tuple[Network, ...]
    left: float
    begun: Callable[[], None]
    enough: int | None = None
    body: bytes | None = None
    method: str = ""
    route: Route = DIRECT
    reasons: bool = False

    @property
    def verb(self) -> str:
        """The method: by default GET, or POST with a body."""
        return self.method or ("GET" if self.body is None else "POST")


class Reply(NamedTuple):
    """One answer, before redirects are followed."""

    answer: Answer
    location: str
    took: float  # seconds


class Transport(Protocol):
    """Carries one request to a host and one answer back.

    Live it is the ``Wire``; in a replay a recording answers in its place.
    """

    async def send(self, url: URL, call: Call) -> Reply:
        """Send one request; return its answer, or raise ``SourceError``."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class Wire:
    """Connections to hosts; each session has those of one set of allowed networks.

    Connections are kept for reuse, and a source must not get a connection that only
    another source may use. They are kept for a few seconds and up to a limit; further
    ones end with their answers.
    """

    def __init__(
        self,
        settings: GateSettings,
        clock: Callable[[], float],
        resolver: AbstractResolver | None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._resolver = resolver
        self._sessions: dict[
            tuple[tuple[Network, ...], Route, bool], aiohttp.ClientSession
        ] = {}
        self._proxies = Proxies(resolver, settings.names_for)
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self._sending = 0

    @property
    def idle(self) -> int:
        """The number of connections that are kept for later."""
        return sum(made.fileno() >= 0 for made in self._sockets) - self._sending

    async def close(self) -> None:
        """Close every connection."""
        await self._proxies.close()
        for session in self._sessions.values():
            await session.close()
        self._sessions.clear()

    async def send(self, url: URL, call: Call) -> Reply:
        """Send one request and read its answer."""
        crowded = self.idle >= self._settings.idle
        self._sending += 1
        try:
            return await self._exchange(url, call, last=crowded)
        finally:
            self._sending -= 1

    async def _exchange(self, url: URL, call: Call, *, last: bool) -> Reply:
        time = asyncio.get_running_loop().time
        began = time()
        try:
            async with asyncio.timeout(call.left) as limit:
                proxied = await self._proxies.options(url, call.allow, call.route)
                headers = {**call.headers, **_LAST} if last else call.headers
                headers = {**headers, **proxied.pop("headers", {})}
                async with self._session(call, last=last).request(
                    call.verb,
                    url,
                    data=call.body,
                    headers=headers,
                    allow_redirects=False,
                    middlewares=(_once(),),
                    **proxied,
                ) as response:
                    call.begun()
                    answer = await self._read(url, response, limit, call)
                    location = response.headers.get("Location", "")
        except TimeoutError:
            raise Unreachable(f"{url.raw_host}: no full answer in time") from None
        except Undecodable as error:
            raise Blameless(f"{url.raw_host}: the answer {error}") from None
        except (aiohttp.ClientError, OSError, UnicodeError) as error:
            raise _trouble(url, error) from None
        if answer.status == _PROXY_LOGIN and call.route.proxy:
            raise Blameless(
                f"{url.raw_host}: its proxy refused the connection; check user and "
                "password under [source.proxy]"
            )
        if answer.status not in REDIRECTS:
            location = ""
        return Reply(answer, location, time() - began)

    def _session(self, call: Call, *, last: bool) -> aiohttp.ClientSession:
        key = call.allow, call.route, last
        session = self._sessions.get(key)
        if session is None:
            session = self._sessions[key] = self._new_session(*key)
        return session

    def _new_session(
        self,
        allow: tuple[Network, ...],
        route: Route,
        last: bool,  # noqa: FBT001  (a part of the key)
    ) -> aiohttp.ClientSession:
        # A proxy is named by the settings: it may have any address, and all connections
        # of this session lead to it.
        remember = self._settings.names_for
        make = open_socket if route.proxy else guarded(allow)

        def make_socket(info: AddressInfo) -> socket.socket:
            self._sockets.add(new := make(info))
            return new

        connector = aiohttp.TCPConnector(
            limit=0,
            force_close=last,
            keepalive_timeout=None if last else _IDLE,
            resolver=self._resolver,
            socket_factory=make_socket,
            use_dns_cache=remember > 0,
            ttl_dns_cache=remember,
            ssl=route.tls or True,
        )
        return aiohttp.ClientSession(
            connector=connector,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={
                "User-Agent": self._settings.agent,
                "Accept": PAGE,
                "Accept-Encoding": ACCEPTED,
            },
            max_field_size=_LINE,
            max_line_size=_LINE,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            trust_env=False,
        )

    async def _read(
        self,
        url: URL,
        response: aiohttp.ClientResponse,
        limit: asyncio.Timeout,
        call: Call,
    ) -> Answer:
        body = b""
        if response.status in WITH_BODY:
            body = await self._body(response, limit, call.enough)
        elif call.reasons and 400 <= response.status < 500:
            body = await self._body(response, limit, _REASON)
        elif response.content_length is not None and response.content_length <= _DRAIN:
            # Read to its end, so that the connection can be used again.
            await response.content.read()
        status, headers = response.status, response.headers
        line = _status_line(response)
        return answer_of(url, status, headers, body, self._clock(), line=line)

    async def _body(
        self,
        response: aiohttp.ClientResponse,
        limit: asyncio.Timeout,
        enough: int | None,
    ) -> bytes:
        name = coding(response.headers.get("Content-Encoding", ""))
        body = _Bounded(self._settings.largest, enough)
        if enough is None:
            body.expect(response.content_length or 0)
        await self._wire(response.content, limit, body)
        if not name:
            return body.joined()
        decoded = _Bounded(self._settings.largest, enough)
        for piece in pieces(name, body.joined()):
            if decoded.take(piece):
                break
            if len(piece) > _DRAIN:
                await asyncio.sleep(0)  # lets other tasks and the deadline run
        return decoded.joined()

    async def _wire(
        self, content: aiohttp.StreamReader, limit: asyncio.Timeout, body: "_Bounded"
    ) -> None:
        """Read the body as sent; after the grace period it must come fast enough."""
        began = asyncio.get_running_loop().time()
        deadline = limit.when() or began
        grace, slowest = self._settings.grace, self._settings.slowest
        while not content.at_eof():
            chunk = content.read_nowait()
            if not chunk:
                limit.reschedule(min(deadline, began + grace + body.size / slowest))
                chunk = await content.readany()
            if body.take(chunk):
                break
        if limit.when() != deadline:
            limit.reschedule(deadline)


def _status_line(response: aiohttp.ClientResponse) -> str:
    version = response.version
    major, minor = (1, 1) if version is None else (version.major, version.minor)
    reason = response.reason or ""
    return f"HTTP/{major}.{minor} {response.status} {reason}".rstrip()


def answer_of(
    url: URL,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    now: float,
    *,
    line: str = "",
) -> Answer:
    """Return an answer, without validators that are invalid."""
    etag = headers.get("ETag", "")
    date = headers.get("Last-Modified")
    modified = None if date is None else from_http(date)
    return Answer(
        status=status,
        url=str(url),
        body=body,
        content_type=headers.get("Content-Type", ""),
        etag=etag if _ETAG.fullmatch(etag) else "",
        modified=modified if modified and modified <= now else None,
        retry_after=headers.get("Retry-After", ""),
        headers=headers,
        line=line,
    )


class _Bounded:
    """Bytes that come in pieces, up to a limit.

    Past ``enough`` bytes the rest is not read; past ``largest`` bytes is an error.
    """

    __slots__ = ("_enough", "_largest", "_parts", "size")

    def __init__(self, largest: int, enough: int | None) -> None:
        self._largest = largest
        self._enough = enough
        self._parts: list[bytes] = []
        self.size = 0

    def expect(self, size: int) -> None:
        """Raise if this many bytes would be too many."""
        if size > self._largest:
            raise Undecodable(f"is larger than {self._largest} bytes")

    def take(self, piece: bytes) -> bool:
        """Keep a piece; return whether that is enough."""
        self.size += len(piece)
        self._parts.append(piece)
        if self._enough is not None and self.size >= self._enough:
            return True
        self.expect(self.size)
        return False

    def joined(self) -> bytes:
        """Return all bytes."""
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)


def _once() -> aiohttp.ClientMiddlewareType:
    """Keep aiohttp from sending a request again by itself: each one is paid for."""
    sent = False

    async def send(
        request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        nonlocal sent
        if sent:
            raise aiohttp.ClientConnectionError
        sent = True
        return await handler(request)

    return send


# Our own texts: the library's may hold the URL and its secrets. The first match counts.
_TROUBLES: tuple[tuple[type[Exception], type[SourceError], str], ...] = (
    (aiohttp.ClientProxyConnectionError, Blameless, "its proxy cannot be reached"),
    (aiohttp.ClientHttpProxyError, Blameless, "its proxy refused the connection"),
    (aiohttp.ClientConnectorCertificateError, Refused, "its certificate is not valid"),
    (aiohttp.ClientSSLError, Unreachable, "no secure connection could be made"),
    (aiohttp.ClientConnectorDNSError, Unreachable, "no such host"),
    (UnicodeError, Unreachable, "no such host"),
    (aiohttp.ClientConnectorError, Unreachable, "no connection could be made"),
    (aiohttp.ClientPayloadError, Unreachable, "the answer was truncated"),
    (aiohttp.ClientResponseError, Unreachable, "the answer is not proper HTTP"),
    (aiohttp.ClientConnectionError, HungUp, "it hung up without an answer"),
    (Exception, Unreachable, "the connection failed"),
)


def _trouble(url: URL, error: Exception) -> SourceError:
    if isinstance(error, Unresolved):
        return Blameless(f"{url.raw_host}: {error}")
    cause = getattr(error, "os_error", error)
    if isinstance(cause, Blocked):
        text = "its address is not public; name its network in the source's allow"
        return NotPublic(f"{url.raw_host}: {text}")
    if getattr(cause, "errno", None) in _OURS:
        return Offline(f"{url.raw_host}: {NO_NETWORK}")
    kind, text = next((k, t) for base, k, t in _TROUBLES if isinstance(error, base))
    return kind(f"{url.raw_host}: {text}")
