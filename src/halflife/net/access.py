"""The terms of access to a source, and its answers."""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

from halflife import __version__
from halflife.core.errors import ConfigError
from halflife.net.addresses import Network, origin, parse_url
from halflife.net.secrecy import SecretRedactor

_RESERVED = frozenset({
    "accept-encoding", "authorization", "connection", "content-length", "cookie",
    "host", "proxy-authorization", "transfer-encoding", "user-agent",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class GateSettings:
    """The behaviour towards all hosts; times in seconds, sizes in bytes.

    Attributes:
        contact: A URL or address under which people can reach the operator.
        delay: Least time between two requests to the same host.
        deadline: Longest time that one answer may take, redirects included.
        grace: Time after which an answer must come at ``slowest`` bytes a second.
        slowest: The least rate of an answer.
        largest: The most bytes of an answer, as sent and as decoded.
        redirects: The most redirects that are followed.
        patience: A host closed for no longer than this is waited for.
        names_for: How long the address of a host name is cached.
        idle: The most connections kept for later requests, over all hosts.

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
        """The User-Agent of requests."""
        return f"halflife/{__version__} (+{self.contact})"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Secret headers and parameters, and the one origin that may receive them.

    Parameters are put into the query when a request is sent; no address that is stored
    or displayed holds them. ``redactor`` removes all secrets from answers, also
    ``others``: those that a server can read in the headers or the body, such as a
    password.
    """

    origin: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)
    others: tuple[str, ...] = field(default=(), repr=False)
    redactor: SecretRedactor = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_lines(self.headers)
        values = (*self.headers.values(), *self.parameters.values(), *self.others)
        object.__setattr__(self, "redactor", SecretRedactor(values, self.parameters))

    @classmethod
    def of(cls, url: str, headers: Mapping[str, str]) -> Self:
        """Bind secret headers to the scheme, host and port of a URL."""
        return cls(origin(parse_url(url)), headers)


@dataclass(frozen=True, slots=True)
class Payload:
    """The method of a request, and a body with its type."""

    method: str = "GET"
    body: bytes | None = None
    content_type: str = ""


GET = Payload()


@dataclass(frozen=True, slots=True)
class Route:
    """The route of requests to a source.

    Attributes:
        proxy: The address of an HTTP proxy; empty to connect to hosts directly.
        login: Name and password for the proxy.
        remote_names: Whether the proxy resolves the names of hosts. Otherwise they are
            resolved here, and addresses that are not public are refused before the
            proxy receives the request.
        tls: The TLS settings; the default ones if None.

    """

    proxy: str = ""
    login: tuple[str, str] | None = field(default=None, repr=False)
    remote_names: bool = False
    tls: ssl.SSLContext | None = None


DIRECT = Route()


@dataclass(frozen=True, slots=True)
class Grant:
    """A client credentials grant of OAuth 2 (RFC 6749, s. 4.4).

    Attributes:
        url: The token endpoint.
        client: The name of the client.
        secret: Its password.
        scope: The requested scope; empty for the server's default.
        audience: The audience of the token, which some servers require.
        in_body: Whether name and password are sent in the body instead of the header.

    """

    url: str
    client: str
    secret: str = field(repr=False)
    scope: str = ""
    audience: str = ""
    in_body: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """The terms of access to one source.

    Attributes:
        allow: Address blocks it may lie in although they are not public.
        credentials: Secret headers and their origin.
        headers: Further headers. Those that negotiate the answer (``Accept``,
            ``Accept-Language``) follow every redirect; any other may be a secret, so
            it is sent to ``home`` alone.
        robots: Whether its robots.txt is obeyed.
        within: Says whether redirects may lead to an address; anywhere if None.
        home: Origins (scheme, host and port) of the source; that of the requested URL
            if there are none.
        name: The source under which the gate records redirects; none if empty.
        route: The route of requests.
        cookies: Whether cookies are kept and sent back, separately for each source.
        grant: The grant for its bearer token, if it needs one.

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
            raise ConfigError("a header has invalid characters; write it on one line")


PUBLIC = Access()


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a host; it has a body only with status 200 or 203.

    For a request with a body it also has the first bytes of a refusal (4xx).

    Attributes:
        status: The HTTP status of the last hop.
        url: The final address; for a redirect that may not be followed, its target.
        body: The content, decoded.
        content_type: The Content-Type header.
        etag: The ETag header, if it can be sent back.
        modified: The Last-Modified header in days, unless it lies in the future.
        retry_after: The Retry-After header, unchanged.
        moved_to: The address of a permanent redirect (301, 308); else empty.
        hops: The number of requests: one, and one for each redirect.
        headers: All headers, without secrets that were sent.
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
