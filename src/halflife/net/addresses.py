"""URLs and addresses: which may be requested at all, and their canonical form."""

import re
import socket
from collections.abc import Callable, Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TypeAlias

import can_ada
from yarl import URL

from halflife.core.errors import ConfigError, UsageError

Network: TypeAlias = IPv4Network | IPv6Network
AddressInfo: TypeAlias = tuple[
    int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[object, ...]
]

# Blocks that ``is_global`` allows, or judges differently between versions:
# shared carrier space, 6to4 relays, multicast, Teredo, documentation.
_NOT_PUBLIC = tuple(
    ip_network(block)
    for block in (
        "100.64.0.0/10",
        "192.88.99.0/24",
        "224.0.0.0/4",
        "2001::/32",
        "ff00::/8",
        "fec0::/10",
        "3fff::/20",
        "64:ff9b:1::/48",
    )
)
_CARRIERS = frozenset(  # prefixes with an IPv4 address in the last 32 bits
    int(IPv6Address(prefix)) >> 32
    for prefix in ("::", "::ffff:0:0", "::ffff:0:0:0", "64:ff9b::")
)
_LONGEST = 4096  # characters of a URL
_BLANK = " \t\n\r\f\v"
# A URL that the standard leaves as it is. The last label of its host begins with a
# letter, so it is no IPv4 address in another spelling; no label is Punycode.
_PLAIN = re.compile(
    r"(?=.{1,250}\Z)https?://(?:(?!xn--)[a-z0-9-]{1,63}\.)+(?!xn--)[a-z][a-z0-9-]{0,62}"
    r"(?:/(?!\.)[A-Za-z0-9._~-]*)+"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_AUTHORITY = re.compile(r"(?i)https?://([^/?#]*)")
_HOST = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?")
_FORBIDDEN = re.compile(r"[\\\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SECRET = re.compile(
    r"(?i)(?<=[?&;])([^=&;#]*(?:token|key|sig|secret|passw|auth|session|credential|jwt|code)"
    r"[^=&;#]*=)[^&;#]*"
)


class Blocked(OSError):  # noqa: N818  (the gate turns it into Refused)
    """A connection to this address is not allowed."""


def is_public(address: str) -> bool:
    """Say whether an address belongs to the public internet.

    An IPv6 address with an embedded IPv4 address (mapped, compatible, translated, 6to4,
    NAT64) is public only if the embedded address is.

    >>> is_public("93.184.216.34"), is_public("10.0.0.1"), is_public("::ffff:7f00:1")
    (True, False, False)
    """
    ip = ip_address(address.partition("%")[0])
    if any(ip in block for block in _NOT_PUBLIC):
        return False
    inside = _embedded(ip) if isinstance(ip, IPv6Address) else None
    return is_public(str(inside)) if inside else ip.is_global


def _embedded(ip: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address embedded in an IPv6 address, if any."""
    if int(ip) >> 32 in _CARRIERS:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.sixtofour


def networks(blocks: Iterable[str]) -> tuple[Network, ...]:
    """Read address blocks such as ``10.0.0.0/8`` that a source may use.

    >>> networks(["127.0.0.1"])
    (IPv4Network('127.0.0.1/32'),)
    """
    try:
        return tuple(ip_network(block) for block in blocks)
    except ValueError as error:
        raise ConfigError(f"{error}; write an address block like 10.0.0.0/8") from None


def check_address(address: str, allow: tuple[Network, ...]) -> None:
    """Raise ``Blocked`` for an address that is neither public nor allowed."""
    ip = ip_address(address.partition("%")[0])
    if not (any(ip in block for block in allow) or is_public(address)):
        raise Blocked("the address is not public")


def guarded(allow: tuple[Network, ...]) -> Callable[[AddressInfo], socket.socket]:
    """Return a socket factory that refuses addresses neither public nor allowed.

    The factory receives the address of the connection itself, so it also catches a
    name that changes its address after a check, an unusual spelling of an address, and
    a redirect.
    """

    def make(info: AddressInfo) -> socket.socket:
        family, kind, protocol, _, place = info
        check_address(str(place[0]), allow)
        return socket.socket(family, kind, protocol)

    return make


def canonical(url: str) -> str:
    """Return a URL as a browser writes it, without its fragment: an item's key.

    The WHATWG URL standard decides: host in lower case and Punycode, no default port,
    no dot segments, and percent-encoding only where a request could not be sent
    without it. The query keeps its order and its separators, so two URLs have the
    same key only if a browser sends the same request for both.

    Raise ``UsageError`` for a URL that may not be fetched. URLs that two parsers might
    read differently are refused, although a browser guesses: backslashes, control
    characters, ``http:/x``, a percent sign in a host.

    >>> canonical("HTTP://Example.org:80/a/../b?y=2&x=1;wsdl#top")
    'http://example.org/b?y=2&x=1;wsdl'
    """
    if _PLAIN.fullmatch(url):  # most URLs of a sitemap are canonical already
        return url
    text = url.strip(_BLANK)
    given = _AUTHORITY.match(_checked(text))
    if given is None:
        raise UsageError(f"{shown(text)}: only http and https can be fetched")
    if "@" in given[1]:
        raise UsageError(
            f"{shown(text)}: no user or password in a URL; "
            "set them as the source's credentials"
        )
    if not given[1] or "%" in given[1]:
        raise UsageError(f"{shown(text)}: no valid host")
    parsed = _parsed(text)
    host = parsed.hostname
    if not (_HOST.fullmatch(host) or host.startswith("[")):
        raise UsageError(f"{shown(text)}: no valid host")
    return _without_fragment(text, parsed)


def resolve(base: str, reference: str) -> str:
    """Return the key of the target of a link on the page ``base``.

    Raise ``UsageError`` if it may not be fetched.

    >>> resolve("http://example.org/a/b?c", "../d?wsdl")
    'http://example.org/d?wsdl'
    """
    text = reference.strip(_BLANK)
    if _SCHEME.match(text):  # so that «http:x» is no relative link
        return canonical(text)
    if text.startswith("//"):
        return canonical(base.partition(":")[0] + ":" + text)
    _checked(text)
    try:
        joined = _parsed(canonical(base)) + text
    except ValueError:
        raise UsageError(f"{shown(text)}: not a URL") from None
    return _without_fragment(text, joined)


def _checked(text: str) -> str:
    if _FORBIDDEN.search(text) or len(text) > _LONGEST:
        raise UsageError(f"{shown(text)}: not a URL; it is too long or holds odd bytes")
    return text


def _parsed(text: str) -> can_ada.URL:
    try:
        return can_ada.parse(text)
    except ValueError:
        raise UsageError(f"{shown(text)}: not a URL") from None


def _without_fragment(text: str, parsed: can_ada.URL) -> str:
    key = parsed.href.partition("#")[0]
    if "^" in key:  # the standard escapes it in paths since 2024, the parser does not
        path, mark, query = key.partition("?")
        key = path.replace("^", "%5E") + mark + query
    if len(key) > _LONGEST:  # percent-encoding makes a URL longer
        raise UsageError(f"{shown(text)}: not a URL; it is too long")
    return key


def parse_url(text: str) -> URL:
    """Read a URL that may be fetched; raise ``UsageError`` for any other.

    The text of the URL is its key, and it is sent as it was checked: the object does no
    further encoding.
    """
    key = canonical(text)
    try:
        url = URL(key, encoded=True)
        if key.find("?") == len(key) - 1:  # an empty query is sent, too
            url = url.with_path(f"{url.raw_path}?", encoded=True)
        if str(url) != key:  # nothing may be lost on the way to the connection
            raise ValueError(key)  # noqa: TRY301  (as if it could not be read)
    except (ValueError, IndexError):
        raise UsageError(f"{shown(text)}: not a URL") from None
    return check_url(url)


def parse_reference(text: str) -> URL:
    """Read a URL that may be relative; raise ``UsageError`` if it is invalid.

    For the target of a link, use ``resolve``.
    """
    try:
        return URL(_checked(text))
    except (ValueError, IndexError):
        raise UsageError(f"{shown(text)}: not a URL") from None


def check_url(url: URL) -> URL:
    """Return the URL if it may be fetched; raise ``UsageError`` if not."""
    if url.scheme not in {"http", "https"}:
        raise UsageError(f"{shown(str(url))}: only http and https can be fetched")
    if url.raw_user is not None or url.raw_password is not None:
        raise UsageError(
            f"{url.raw_host}: no user or password in a URL; "
            "set them as the source's credentials"
        )
    host = url.raw_host or ""
    if not (_HOST.fullmatch(host) or _is_v6(host)):
        raise UsageError(f"{shown(str(url))}: no valid host")
    return url


def _is_v6(host: str) -> bool:
    try:
        return IPv6Address(host).scope_id is None
    except ValueError:
        return False


def host_of(url: str) -> str:
    """Return the host of a URL, with its port unless it is the usual one.

    >>> host_of("https://example.org/a"), host_of("http://localhost:8000/")
    ('example.org', 'localhost:8000')
    """
    try:
        return URL(url).host_port_subcomponent or ""
    except (ValueError, IndexError):
        raise UsageError(f"{shown(url)}: not a URL") from None


def origin(url: URL) -> str:
    """Return scheme, host and port, the port always written.

    >>> origin(URL("https://example.org/a"))
    'https://example.org:443'
    """
    return f"{url.scheme}://{url.host_subcomponent}:{url.port}"


def shown(url: str) -> str:
    """Return a URL for display: one line, without secrets.

    >>> shown("https://me:pw@example.org/a?page=2&api_key=hunter2")
    'https://example.org/a?page=2&api_key=...'
    """
    bare = re.sub(r"(?<=//)[^/?#]*@", "", _FORBIDDEN.sub("", url)[:300])
    return _SECRET.sub(r"\1...", bare)
