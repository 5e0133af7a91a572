"""How a spider asks for a page: by which of its methods, and with what."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any

from halflife.stores.notes import NoteKind, text


@dataclass(frozen=True, slots=True)
class SpiderRequest:
    """What of a spider's request is remembered; no header, cookie or body ever is.

    Attributes:
        callback: The method that reads the answer; empty for the usual one.
        errback: The method that hears of failures; empty if there is none.
        depth: Links between the start and the page, as Scrapy counts them.
        arguments: What the callback is called with.
        meta: What else the spider wrote on the request.

    """

    callback: str = ""
    errback: str = ""
    depth: int = 0
    arguments: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)


def number_of(key: str) -> int:
    """Return the number of the note about a page.

    >>> number_of("http://example.org/") == number_of("http://example.org/")
    True
    """
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") >> 1


def _read(row: Mapping[str, Any]) -> SpiderRequest:
    return SpiderRequest(
        callback=text(row["callback"]),
        errback=text(row["errback"]),
        depth=int(row["depth"]),
        arguments=dict(row["arguments"]),
        meta=dict(row["meta"]),
    )


SPIDER_REQUEST = NoteKind[SpiderRequest]("spider request", 1, asdict, _read)
