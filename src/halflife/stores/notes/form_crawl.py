"""From where a crawl of a form goes on that was cut short."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from halflife.queries.frontier import restored
from halflife.stores.notes import NoteKind, text


@dataclass(frozen=True, slots=True)
class CrawlNote:
    """A crawl that was cut short.

    Attributes:
        of: What the form can do, in words: what other claims have proved is not.
        crawl: The crawl, as ``queries.frontier.written`` puts it.
        link: Where the page is that it goes on with, if only a link led there.

    """

    of: str
    crawl: dict[str, Any]
    link: str = ""


def _read(row: Mapping[str, Any]) -> CrawlNote:
    crawl = dict(row["crawl"])
    restored(crawl, {})  # raises if it cannot be gone on with
    return CrawlNote(text(row["of"]), crawl, text(row.get("link", "")))


FIRST_CRAWL = NoteKind("first_crawl", 1, asdict, _read)
MISSING_SEARCH = NoteKind("missing_records_search", 1, asdict, _read)
