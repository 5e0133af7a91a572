"""The status line and headers of an answer, as they are stored with a copy.

They are exported to web archives, so cookies and other credentials are left out. Their
size is limited: they must not cost more than the body.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus

from halflife.net.access import Answer

LARGEST = 4096  # characters of all lines; nine in ten answers have fewer than 1500
_LONGEST = 1024  # characters of one line: longer ones are policies, left out whole
_SECRET = re.compile(
    "cookie|authori|authenticat|token|secret|session|csrf|xsrf|password|api-?key",
    re.IGNORECASE,
)
_LINE = re.compile(r"HTTP/\d\.\d \d{3}( .*)?")
_CONTROL = re.compile(r"[\0-\x08\x0a-\x1f\x7f]")


def head_of(answer: Answer) -> str:
    r"""Return the status line and the headers, a line each; empty if none are known.

    >>> head_of(Answer(200, "http://a/", headers={"Server": "x", "Set-Cookie": "y"}))
    'HTTP/1.1 200 OK\nServer: x'
    """
    if not answer.headers:
        return ""
    lines = [_status_line(answer), *_lines(answer.headers)]
    size, kept = 0, []
    for line in lines:
        size += len(line) + 1
        if size > LARGEST:
            break
        kept.append(line)
    return "\n".join(kept)


def _status_line(answer: Answer) -> str:
    line = _clean(answer.line[:_LONGEST])
    if _LINE.fullmatch(line):
        return line
    phrases = {status.value: status.phrase for status in HTTPStatus}
    return f"HTTP/1.1 {answer.status} {phrases.get(answer.status, '')}".rstrip()


def _lines(headers: Mapping[str, str]) -> list[str]:
    lines = [f"{n}: {value}" for n, value in headers.items() if not _is_secret(n)]
    short = [line for line in lines if len(line) <= _LONGEST]
    return [line if line.isascii() and line.isprintable() else _clean(line)
            for line in short]  # fmt: skip


@lru_cache(1000)  # servers have few names
def _is_secret(name: str) -> bool:
    return _SECRET.search(name) is not None


def _clean(line: str) -> str:
    return _CONTROL.sub(" ", line).encode("utf-8", "replace").decode()
