"""Observations as bytes: how a worker hands them to the process that stores them.

A list of rows as JSON, preceded by its length and followed by the contents, all
compressed. Reading it executes no code, whoever wrote it.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, astuple, dataclass, field
from typing import Any, TypeAlias

from halflife.core.item import Item
from halflife.core.observation import Content, Observation, Outgoing, Seen

LEVEL = 1  # of compression: most of it is read once, within a second
_COUNT = 4  # bytes that hold the length of the rows
# Of an answer: its status, its address, and headers that say how long it is valid.
Head: TypeAlias = tuple[int, str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class SeenPages:
    """Pages that a worker observed.

    Attributes:
        observations: The observations, in order.
        maps: The kinds of those pages that are sitemaps.
        heads: Status, address and caching headers of the answers, by page.

    """

    observations: tuple[Observation, ...] = ()
    maps: Mapping[str, str] = field(default_factory=dict)
    heads: Mapping[str, Head] = field(default_factory=dict)


def pack(seen: SeenPages) -> bytes:
    """Return observations as bytes."""
    rows = [_row(o) for o in seen.observations]
    contents = [o.content for o in seen.observations]
    bodies = [content.body for content in contents if content is not None]
    table = {"looks": rows, "maps": dict(seen.maps), "heads": dict(seen.heads)}
    text = json.dumps(table, separators=(",", ":")).encode()
    whole = [len(text).to_bytes(_COUNT, "big"), text, *bodies]
    return zlib.compress(b"".join(whole), LEVEL)


def unpack(data: bytes) -> SeenPages:
    """Return the observations that ``pack`` got; raise ``ValueError`` or alike."""
    whole = zlib.decompress(data)
    end = _COUNT + int.from_bytes(whole[:_COUNT], "big")
    table = json.loads(whole[_COUNT:end])
    observations = tuple(_observations(table["looks"], whole, end))
    heads = {
        key: (int(status), str(url), headers)
        for key, (status, url, headers) in table["heads"].items()
    }
    return SeenPages(observations, table["maps"], heads)


def _row(seen: Observation) -> dict[str, Any]:
    """Return an observation as a JSON object without its empty fields."""
    row: dict[str, Any] = {
        "key": seen.key,
        "at": seen.at,
        "seen": int(seen.seen),
    }
    for name in ("digest", "raw", "etag", "note"):
        if getattr(seen, name):
            row[name] = getattr(seen, name)
    if seen.modified is not None:
        row["modified"] = seen.modified
    if seen.content is not None:
        content = seen.content
        row["content"] = [content.media_type, len(content.body), content.head]
    if seen.item is not None:
        row["item"] = astuple(seen.item)
    if seen.links is not None:
        row["links"] = asdict(seen.links)
    return row


def _observations(
    rows: Iterable[dict[str, Any]], whole: bytes, end: int
) -> Iterator[Observation]:
    for row in rows:
        content, item, links = (row.pop(n, None) for n in ("content", "item", "links"))
        if content is not None:
            kind, size, head = content
            content = Content(kind, whole[end : end + size], head)
            end += size
        yield Observation(
            **{**row, "seen": Seen(row["seen"])},
            content=content,
            item=None if item is None else Item(*item),
            links=None if links is None else _outgoing(links),
        )


def _outgoing(row: dict[str, Any]) -> Outgoing:
    return Outgoing(tuple(row["to"]), row["same"], row["under"], row["urls"])
