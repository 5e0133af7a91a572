"""Where the addresses of a source redirect to."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from halflife.stores.notes import NoteKind, text


class Redirect(NamedTuple):
    """What an address answered last: where it has moved, and how often in a row."""

    to: str
    times: int


def _write(found: Mapping[str, Redirect]) -> Mapping[str, Any]:
    return {address: list(one) for address, one in found.items()}


def _read(row: Mapping[str, Any]) -> dict[str, Redirect]:
    return {a: Redirect(text(to), int(times)) for a, (to, times) in row.items()}


REDIRECTS = NoteKind("redirects", 1, _write, _read)
