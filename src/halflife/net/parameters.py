"""Set, replace and read parameters in the query of an address.

Nothing else in the address is changed: order, separators and encoding of the rest stay
as they are.
"""

from collections.abc import Mapping
from urllib.parse import quote, unquote_plus

_SAFE = "-._~:,"  # left as they are in a value


def with_parameters(url: str, given: Mapping[str, str]) -> str:
    """Return an address with these parameters, which replace those of the same name.

    >>> with_parameters("http://a.example/?q=1&page=1#top", {"page": "2", "k": "a b"})
    'http://a.example/?q=1&page=2&k=a%20b'
    """
    if not given:
        return url
    base, _, query = url.partition("#")[0].partition("?")
    left, parts = dict(given), list[str]()
    for part in query.split("&") if query else []:
        name = _name(part)
        if name not in given:
            parts.append(part)
        elif name in left:
            parts.append(_encode(name, left.pop(name)))
    parts += [_encode(name, value) for name, value in left.items()]
    return f"{base}?{'&'.join(parts)}"


def parameter(url: str, name: str) -> str | None:
    """Return the value of a parameter; None if the address does not have it.

    >>> parameter("http://a.example/?page=1&q=a+b", "q")
    'a b'
    """
    for part in url.partition("#")[0].partition("?")[2].split("&"):
        if _name(part) == name:
            return unquote_plus(part.partition("=")[2])
    return None


def is_writable(value: str) -> bool:
    r"""Say whether a value can be sent: half a surrogate pair cannot.

    >>> is_writable("caf\u00e9"), is_writable("\ud800")
    (True, False)
    """
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _name(part: str) -> str:
    return unquote_plus(part.partition("=")[0])


def _encode(name: str, value: str) -> str:
    return f"{quote(name, safe=_SAFE + '[]')}={quote(value, safe=_SAFE)}"
