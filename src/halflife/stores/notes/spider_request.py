"""How a spider requests a page: the methods that handle it, and their arguments."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from halflife.stores.notes import NoteKind, text


@dataclass(frozen=True, slots=True)
class SpiderRequest:
    """What is stored of a spider's request; never a header, cookie or body.

    Attributes:
        callback: The method that reads the answer; empty for the default one.
        errback: The method called on failures; empty if there is none.
        depth: Links between the start and the page, as Scrapy counts them.
        arguments: The arguments of the callback.
        meta: Other data that the spider set on the request.

    """

    callback: str = ""
    errback: str = ""
    depth: int = 0
    arguments: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)


def _read(row: Mapping[str, Any]) -> SpiderRequest:
    return SpiderRequest(
        callback=text(row["callback"]),
        errback=text(row["errback"]),
        depth=int(row["depth"]),
        arguments=dict(row["arguments"]),
        meta=dict(row["meta"]),
    )


SPIDER_REQUEST = NoteKind[SpiderRequest]("spider request", 1, asdict, _read)
