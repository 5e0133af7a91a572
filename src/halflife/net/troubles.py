"""Error texts with the address that failed."""

from urllib.parse import urlsplit

from halflife.net.addresses import shown


def with_address(text: str, url: str) -> str:
    """Return an error about a host as one about an address of it.

    >>> with_address("example.org: it answered 404", "https://example.org/a?key=x")
    'https://example.org/a?key=...: it answered 404'
    >>> with_address("other.example: no such host", "https://example.org/a")
    'https://example.org/a: other.example: no such host'
    """
    where = shown(url)
    if not text or text.startswith(where):
        return text
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        host = ""
    return f"{where}: {text.removeprefix(f'{host}: ')}"
