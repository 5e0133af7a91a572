"""The pages that are gone, as ``status --gone`` lists them."""

from collections.abc import Sequence

from halflife.cli import show
from halflife.config import Config, SourceConfig
from halflife.engine import bootstrap
from halflife.kinds.registry import kind_of
from halflife.stores import Store


def print_gone_pages(
    config: Config, chosen: Sequence[SourceConfig], *, json: bool
) -> None:
    """Print the pages of sources whose last answer was that there is no such page."""
    with bootstrap.reading(config) as store:
        gone = [row for source in chosen for row in rows(store, source)]
    if json:
        show.emit({"gone": len(gone), "results": gone})
        return
    show.table(gone)
    if not gone:
        show.say("no page is gone")


def rows(store: Store, source: SourceConfig) -> list[dict[str, str | None]]:
    """Return the pages of a source that are gone, by address, and since when."""
    gone = [
        {
            "source": source.name,
            "url": show.plain(url),
            "seen_gone": show.date(at),
        }
        for url, at in kind_of(source).gone(store, source).items()
    ]
    return sorted(gone, key=lambda row: str(row["url"]))
