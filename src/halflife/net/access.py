"""On what terms a source is asked, and what an answer holds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

from halflife import __version__
from halflife.core.errors import ConfigError
from halflife.net.addresses import Network, origin, parse_url

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
    """Secret headers, and the one origin that may see them."""

    origin: str
    headers: Mapping[str, str] = field(repr=False)

    def __post_init__(self) -> None:
        _check_lines(self.headers)

    @classmethod
    def of(cls, url: str, headers: Mapping[str, str]) -> Self:
        """Bind secret headers to the scheme, host and port of a URL."""
        return cls(origin(parse_url(url)), headers)


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

    """

    allow: tuple[Network, ...] = ()
    credentials: Credentials | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    robots: bool = True
    within: Callable[[str], bool] | None = None
    name: str = ""
    home: frozenset[str] = frozenset()

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
