"""The pages that are gone, as ``status --gone`` lists them."""

from collections.abc import Sequence

from halflife.cli import show
from halflife.config import Config, SourceConfig
from halflife.engine import bootstrap
from halflife.kinds.registry import kind_of
from halflife.stores import Store


def tell(config: Config, chosen: Sequence[SourceConfig], *, json: bool) -> None:
    """List the pages of sources that answered last that there is no such page."""
    with bootstrap.reading(config) as store:
        found = [row for source in chosen for row in rows(store, source)]
    if json:
        show.emit({"gone": len(found), "results": found})
        return
    show.table(found)
    if not found:
        show.say("no page is gone")


def rows(store: Store, source: SourceConfig) -> list[dict[str, str | None]]:
    """Return the pages of a source that are gone, by address, and since when."""
    found = [
        {
            "source": source.name,
            "url": show.plain(url),
            "seen_gone": show.date(at),
        }
        for url, at in kind_of(source).gone(store, source).items()
    ]
    return sorted(found, key=lambda row: str(row["url"]))
