"""Items: the remote resources of which copies are kept."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Item:
    """One remote resource with a stable name.

    Attributes:
        key: The item's name at its source; for a page, its URL.
        source: The name of the source it belongs to.
        weight: How much a fresh copy of it matters, relative to other items.
        cost: Requests that one fetch of it costs.
        group: The items it is likely to change with; for a page, its host.
        url: The address to fetch, if that is not its key: a crawl leaves session ids
            and campaign parameters out of keys.

    """

    key: str
    source: str = ""
    weight: float = 1.0
    cost: float = 1.0
    group: str = ""
    url: str = ""
