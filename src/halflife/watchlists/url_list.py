"""Plain lists of addresses: one a line, lines with ``#`` are comments."""

from collections.abc import Iterable

from halflife.watchlists.watch import Watchlist, decode


def read(body: bytes) -> Watchlist:
    r"""Return the addresses of a list.

    >>> sorted(read(b"# mine\nhttp://a.example\n").watches)
    ['http://a.example/']
    """
    found = Watchlist()
    for line in decode(body).splitlines():
        words = line.split()  # changedetection.io puts tags after the address
        if words and not words[0].startswith("#"):
            found.add(words[0])
    return found


def write(urls: Iterable[str]) -> str:
    r"""Return a list of addresses.

    >>> write(["http://a.example/"])
    'http://a.example/\n'
    """
    return "".join(f"{url}\n" for url in urls)
