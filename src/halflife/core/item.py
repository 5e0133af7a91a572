"""The remote things of which we keep copies."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Item:
    """One remote thing with a stable name.

    Attributes:
        key: The item's name at its source; for a page, its URL.
        source: The name of the source it belongs to.
        weight: How much a fresh copy of it matters, relative to other items.
        cost: Requests that one look at it takes.
        group: The items it is likely to change with; for a page, its host.
        url: What is sent for it, if that is not its key: a crawl leaves session ids
            and the marks of campaigns out of keys.

    """

    key: str
    source: str = ""
    weight: float = 1.0
    cost: float = 1.0
    group: str = ""
    url: str = ""
