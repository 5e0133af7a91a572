"""Import the watchlists of other programs into the settings, and export them."""

from pathlib import Path
from typing import TYPE_CHECKING

from halflife.cli import show
from halflife.config import Config, SourceConfig
from halflife.config.edit import add_sources, with_sources
from halflife.core.errors import UsageError
from halflife.core.wording import count
from halflife.engine import bootstrap
from halflife.kinds.pages.discovery import AddRequest
from halflife.net.addresses import host_of
from halflife.watchlists import changedetection, distill, opml, url_list, urlwatch
from halflife.watchlists.watch import WatchedParts, WatchEntry, Watchlist, read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LISTED = 5  # skipped entries that are listed one by one
READERS: "dict[str, Callable[[bytes], Watchlist]]" = {
    "changedetection": changedetection.read,
    "urlwatch": urlwatch.read,
    "opml": opml.read,
    "distill": distill.read,
    "urls": url_list.read,
}


def read(form: str, path: Path) -> Watchlist:
    """Return the watchlist of a file; raise ``UsageError`` if it has no address."""
    try:
        watchlist = READERS[form](read_bytes(path))
    except UsageError as error:
        why = str(error)
        raise UsageError(why if str(path) in why else f"{path}: {why}") from None
    if not watchlist.watches:
        skipped = next((f"; {what}: {why}" for what, why in watchlist.left_out), "")
        reason = show.plain(skipped)
        raise UsageError(f"{path}: it has no address that can be kept{reason}")
    return watchlist


def take_over(
    path: Path, watchlist: Watchlist, name: str | None, *, write: bool
) -> list[SourceConfig]:
    """Add the addresses of a list to the settings; nothing is fetched."""
    known = Config.load(path).source
    sources: list[SourceConfig] = []
    for (home, rules), watches in _groups(watchlist, name).items():
        chosen = _free(home, rules, (*known, *sources))
        feeds = [watch.url for watch in watches if watch.feed]
        urls = tuple(watch.url for watch in watches)
        (source,) = AddRequest(urls, chosen, parts=rules._asdict()).sources(feeds)
        sources.append(source)
    if not write:
        with_sources(path, sources)
    else:
        config = add_sources(path, sources)
        with bootstrap.writing(config):  # adds the new items to the store
            pass
    return [*sources]


def _groups(
    watchlist: Watchlist, name: str | None
) -> "dict[tuple[str, WatchedParts], list[WatchEntry]]":
    """Return the addresses by their source: those of a host under the same rules."""
    groups: dict[tuple[str, WatchedParts], list[WatchEntry]] = {}
    for watch in watchlist.watches.values():
        home = name or host_of(watch.url)
        groups.setdefault((home, watch.rules), []).append(watch)
    return groups


def _free(home: str, rules: WatchedParts, known: "Sequence[SourceConfig]") -> str:
    """Return a name that is free, or that of pages under the same rules."""
    taken = {source.name for source in known if source.part_rules != rules}
    numbered = (f"{home}-{n}" for n in range(2, len(taken) + 3))
    return next(name for name in (home, *numbered) if name not in taken)


def report(
    path: Path, watchlist: Watchlist, sources: "Sequence[SourceConfig]", *, json: bool
) -> None:
    """Print what was imported, which entries were skipped, and which settings."""
    rows: list[dict[str, str | int]] = [
        {
            "source": source.name,
            "pages": len(source.addresses) - len(source.feeds),
            "feeds": len(source.feeds),
        }
        for source in sources
    ]
    if json:
        left = [{"what": what, "why": why} for what, why in watchlist.left_out]
        answer = {"config": str(path), "left_out": left, "ignored": watchlist.ignored}
        show.emit({**answer, "results": rows})
        return
    show.table(rows)
    for what, why in watchlist.left_out[:LISTED]:
        show.note(show.plain(f"halflife: left out: {what}: {why}"))
    if len(watchlist.left_out) > LISTED:
        show.note(f"halflife: and {len(watchlist.left_out) - LISTED} others left out")
    for name, many in watchlist.ignored.items():
        show.note(
            f"halflife: not taken over: {name} of {count(many, 'entry', 'entries')}"
        )
    show.say("next: halflife plan")


def export_text(config: Config, form: str) -> str:
    """Return the addresses of all sources in the format of other programs."""
    feeds = [url for source in config.source for url in source.feeds]
    known = set(feeds)
    urls = (url for source in config.source for url in source.addresses)
    others = [url for url in urls if url not in known]
    if form == "opml":
        return opml.write(config.path.name, feeds, others)
    if form == "urls":
        return url_list.write(dict.fromkeys((*others, *feeds)))
    raise UsageError(f"--format: {form!r} is not known; there are opml and urls")
