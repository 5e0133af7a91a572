"""Where the addresses of a source redirect to."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from halflife.stores.notes import NoteKind, text


class Redirect(NamedTuple):
    """The last redirect of an address, and how often it came in a row."""

    to: str
    times: int


def _write(redirects: Mapping[str, Redirect]) -> Mapping[str, Any]:
    return {address: list(redirect) for address, redirect in redirects.items()}


def _read(row: Mapping[str, Any]) -> dict[str, Redirect]:
    return {a: Redirect(text(to), int(times)) for a, (to, times) in row.items()}


REDIRECTS = NoteKind("redirects", 1, _write, _read)
