"""An interrupted crawl of a form, to be continued."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from halflife.queries.frontier import read_crawl
from halflife.stores.notes import NoteKind, text


@dataclass(frozen=True, slots=True)
class CrawlNote:
    """A crawl that was interrupted.

    Attributes:
        of: The form's capabilities, in words: with others, its proofs do not hold.
        crawl: The crawl, as ``queries.frontier.written`` returns it.
        link: The address of the page to continue with, if only a link led there.

    """

    of: str
    crawl: dict[str, Any]
    link: str = ""


def _read(row: Mapping[str, Any]) -> CrawlNote:
    crawl = dict(row["crawl"])
    read_crawl(crawl, {})  # raises if it cannot be continued
    return CrawlNote(text(row["of"]), crawl, text(row.get("link", "")))


FIRST_CRAWL = NoteKind("first_crawl", 1, asdict, _read)
MISSING_SEARCH = NoteKind("missing_records_search", 1, asdict, _read)
