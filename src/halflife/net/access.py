"""On what terms a source is asked, and what an answer holds."""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

from halflife import __version__
from halflife.core.errors import ConfigError
from halflife.net.addresses import Network, origin, parse_url
from halflife.net.secrecy import Veil

_RESERVED = frozenset({
    "accept-encoding", "authorization", "connection", "content-length", "cookie",
    "host", "proxy-authorization", "transfer-encoding", "user-agent",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class GateSettings:
    """How we behave towards everyone; times in seconds, sizes in bytes.

    Attributes:
        contact: A URL or address under which people can reach whoever runs this.
        delay: Least time between two requests to the same host.
        deadline: Longest time that one answer may take, redirects included.
        grace: Time after which an answer must come at ``slowest`` bytes a second.
        slowest: The least rate at which an answer may come in.
        largest: Most bytes of an answer, as sent and as decoded.
        redirects: Most redirects that are followed.
        patience: A host closed for no longer than this is waited for.
        names_for: How long a host name's address is remembered.
        idle: Most connections that are kept for another request, over all hosts.

    """

    contact: str
    delay: float = 1.0
    deadline: float = 30.0
    grace: float = 10.0
    slowest: float = 1024.0
    largest: int = 16 << 20
    redirects: int = 5
    patience: float = 10.0
    names_for: int = 60
    idle: int = 100

    @property
    def agent(self) -> str:
        """The User-Agent under which we ask."""
        return f"halflife/{__version__} (+{self.contact})"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Secret headers and parameters, and the one origin that may see them.

    Parameters are put into the query when a request is sent; no address that is kept
    or shown holds them. ``veil`` takes all of it out of what comes back, and ``others``
    too: what a server can read in the headers or the body, such as a password.
    """

    origin: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)
    others: tuple[str, ...] = field(default=(), repr=False)
    veil: Veil = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_lines(self.headers)
        values = (*self.headers.values(), *self.parameters.values(), *self.others)
        object.__setattr__(self, "veil", Veil(values, self.parameters))

    @classmethod
    def of(cls, url: str, headers: Mapping[str, str]) -> Self:
        """Bind secret headers to the scheme, host and port of a URL."""
        return cls(origin(parse_url(url)), headers)


@dataclass(frozen=True, slots=True)
class Payload:
    """What is sent: the method, and a body with its type."""

    method: str = "GET"
    body: bytes | None = None
    content_type: str = ""


GET = Payload()


@dataclass(frozen=True, slots=True)
class Route:
    """By which way a source is asked.

    Attributes:
        proxy: The address of an HTTP proxy; empty to connect to hosts themselves.
        login: Name and password for the proxy.
        remote_names: Whether the proxy looks up the names of hosts. Otherwise they are
            looked up here, and what is not public is refused before the proxy hears
            of it.
        tls: The terms of secure connections; the usual ones if None.

    """

    proxy: str = ""
    login: tuple[str, str] | None = field(default=None, repr=False)
    remote_names: bool = False
    tls: ssl.SSLContext | None = None


DIRECT = Route()


@dataclass(frozen=True, slots=True)
class Grant:
    """How a token is got by the client credentials of OAuth 2 (RFC 6749, s. 4.4).

    Attributes:
        url: Where tokens are given out.
        client: The name of the client.
        secret: Its password.
        scope: What is asked for; empty for what is usual.
        audience: For whom the token is meant; some servers want it.
        in_body: Whether name and password stand in the body instead of the header.

    """

    url: str
    client: str
    secret: str = field(repr=False)
    scope: str = ""
    audience: str = ""
    in_body: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """How one source is asked.

    Attributes:
        allow: Address blocks it may lie in although they are not public.
        credentials: Secret headers and where they may go.
        headers: Further headers. Those that say what answer is wanted (``Accept``,
            ``Accept-Language``) go wherever a redirect leads; any other may be a
            secret, so it goes to ``home`` alone.
        robots: Whether its robots.txt is obeyed.
        within: Says where redirects may lead; anywhere if it is None.
        home: Origins (scheme, host and port) of the source; that of the URL asked
            for if there are none.
        name: Under which the gate remembers what has moved; not at all if empty.
        route: By which way it is asked.
        cookies: Whether cookies are kept and sent back, those of each name apart.
        grant: How its bearer token is got, if it needs one.

    """

    allow: tuple[Network, ...] = ()
    credentials: Credentials | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    robots: bool = True
    within: Callable[[str], bool] | None = None
    name: str = ""
    home: frozenset[str] = frozenset()
    route: Route = DIRECT
    cookies: bool = False
    grant: Grant | None = None

    def __post_init__(self) -> None:
        _check_lines(self.headers)
        for name in self.headers:
            if name.lower() in _RESERVED:
                raise ConfigError(
                    f"header {name} cannot be set here; "
                    "secrets belong in the source's credentials"
                )


def _check_lines(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not (name.isascii() and name.isprintable() and value.isprintable()):
            raise ConfigError("a header holds odd characters; write it on one line")


PUBLIC = Access()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a host answered; a body comes only with 200 and 203.

    To what was sent with a body, the first bytes of a refusal (4xx) come as well.

    Attributes:
        status: The HTTP status of the last hop.
        url: Where the answer came from in the end; of a redirect that may not be
            followed, where it leads.
        body: The content, decoded.
        content_type: The Content-Type header.
        etag: The ETag header, if it can be sent back.
        modified: The Last-Modified header in days, unless it lies in the future.
        retry_after: The Retry-After header as it came.
        moved_to: Where the page has moved for good (301, 308); else empty.
        hops: Requests that led to it: one, and one for each redirect.
        headers: All headers, without secrets that we sent.
        line: The status line; empty if it is not known.

    """

    status: int
    url: str
    body: bytes = b""
    content_type: str = ""
    etag: str = ""
    modified: float | None = None
    retry_after: str = ""
    moved_to: str = ""
    hops: int = 1
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    line: str = field(default="", repr=False, compare=False)
