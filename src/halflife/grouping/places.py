"""Sites and folders of pages, from their addresses.

An address is split at slashes. Anything after a ``?`` or ``#`` is ignored, several
slashes are one, and a page whose address ends in a slash is in the folder of that name.
Addresses without a scheme, such as ``site/folder/page``, are split alike; a key without
a slash is a page in the folder ``/`` of a site without a name.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from halflife.core.arrays import Ints
from halflife.core.keys import Keys

LONGEST = 4096  # characters of an address that count
_BLOCK = 65_536


def site(key: str) -> str:
    """Return the host of an address; its first part if it has no scheme.

    >>> site("https://Example.org:8080/a/b"), site("example.org/a")
    ('example.org:8080', 'example.org')
    """
    return root_and_path(key)[0].rpartition("://")[2].removesuffix("/").lower()


def folder(key: str, depth: int | None = None) -> str:
    """Return the folder of a page: its address up to the last slash.

    At most ``depth`` folders below the site's root, if given.

    >>> folder("http://a.org/x/y/z.html?q=/1"), folder("http://a.org/x/y/z.html", 1)
    ('http://a.org/x/y/', 'http://a.org/x/')
    """
    root, path = root_and_path(key)
    if depth is None:
        return root + path[: path.rfind("/") + 1]
    parts = path.split("/", depth)[:-1] if depth > 0 else []
    return root + "".join([part + "/" for part in parts])


def folder_codes(keys: Sequence[str], first: int, code: dict[str, int]) -> Ints:
    """Return the number of the folder of each page from ``first`` on.

    ``code`` has the numbers of known folders; new ones are added. Pages of one folder
    are mostly adjacent, so each is compared with the one before first.

    >>> folder_codes(["a/b/1", "a/b/2", "a/3"], 0, {})
    array([0, 0, 1], dtype=int32)
    """
    if isinstance(keys, Keys):
        if first == 0 and keys.folders is not None:
            names, known = keys.folders
            numbers = [code.setdefault(name, len(code)) for name in names]
            known_codes = np.array(numbers, dtype=np.int32)[known]
            return np.concatenate([known_codes, _plain_codes(keys, known.size, code)])
        return _plain_codes(keys, first, code)
    codes = [code.setdefault(folder(k), len(code)) for k in keys[first:]]
    return np.array(codes, dtype=np.int32)


def _plain_codes(keys: Keys, first: int, code: dict[str, int]) -> Ints:
    """Return the same for names in one text, most of them plain URLs.

    The folder of a page is its name up to the last slash, unless there is a ``?`` or
    ``#``: once one page of a folder was split, the others need not be.
    """
    known: dict[bytes, int] = {}
    codes = np.empty(len(keys) - first, dtype=np.int32)
    for row, (name, plain) in enumerate(_up_to_slash(keys, first)):
        number = known.get(name) if plain else None
        if number is None:
            own = folder(keys[first + row])
            number = code.setdefault(own, len(code))
            if plain and own.encode("utf-8", "surrogatepass") == name:
                known[name] = number
        codes[row] = number
    return codes  # type: ignore[return-value]


def _up_to_slash(keys: Keys, first: int) -> Iterator[tuple[bytes, bool]]:
    """Yield each name up to its last slash, and whether that is its folder."""
    text = keys.text
    marks = b"?" in text or b"#" in text
    for block in range(first, len(keys), _BLOCK):
        ends = keys.end[block : min(block + _BLOCK, len(keys)) + 1]
        longest = int(np.diff(ends).max()) > LONGEST
        for start, end in pairwise(ends.tolist()):
            plain = not longest
            if marks and plain:
                plain = text.find(b"?", start, end) < 0 > text.find(b"#", start, end)
            yield bytes(text[start : text.rfind(b"/", start, end) + 1]), plain


def root_and_path(key: str) -> tuple[str, str]:
    """Return an address as its site's root, with a slash, and the path below it."""
    if len(key) > LONGEST or "?" in key or "#" in key:
        key = key[:LONGEST].partition("#")[0].partition("?")[0]
    scheme, mark, rest = key.partition("://")
    if not mark or "/" in scheme:
        scheme, mark, rest = "", "", key.lstrip("/")
        if "/" not in rest:
            return "/", rest
    host, _, path = rest.partition("/")
    if "//" in path or path.startswith("/"):
        path = "/".join(
            [part for part in path.split("/")[:-1] if part] + [path.rpartition("/")[2]]
        ).removeprefix("/")
    return f"{scheme}{mark}{host}/", path
