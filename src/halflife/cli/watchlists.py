"""What other programs watch, taken over into the settings; and the way back."""

from pathlib import Path
from typing import TYPE_CHECKING

from halflife.cli import show
from halflife.config import Config, SourceConfig
from halflife.config.edit import add_sources, with_sources
from halflife.core.errors import UsageError
from halflife.core.wording import count
from halflife.engine import bootstrap
from halflife.kinds.pages.discovery import KeepWish
from halflife.net.addresses import host_of
from halflife.watchlists import changedetection, distill, opml, url_list, urlwatch
from halflife.watchlists.watch import WatchedParts, WatchEntry, Watchlist, read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TOLD = 5  # entries that were left out of which each is told
READERS: "dict[str, Callable[[bytes], Watchlist]]" = {
    "changedetection": changedetection.read,
    "urlwatch": urlwatch.read,
    "opml": opml.read,
    "distill": distill.read,
    "urls": url_list.read,
}


def read(form: str, path: Path) -> Watchlist:
    """Return what a file lists; raise ``UsageError`` if there is nothing to keep."""
    try:
        found = READERS[form](read_bytes(path))
    except UsageError as error:
        said = str(error)
        raise UsageError(said if str(path) in said else f"{path}: {said}") from None
    if not found.watches:
        first = next((f"; {what}: {why}" for what, why in found.left_out), "")
        said = show.plain(first)
        raise UsageError(f"{path}: it has no address that can be kept{said}")
    return found


def take_over(
    path: Path, found: Watchlist, name: str | None, *, write: bool
) -> list[SourceConfig]:
    """Add the addresses of a list to the settings; nothing is fetched."""
    known = Config.load(path).source
    sources: list[SourceConfig] = []
    for (home, rules), watches in _groups(found, name).items():
        chosen = _free(home, rules, (*known, *sources))
        feeds = [watch.url for watch in watches if watch.feed]
        urls = tuple(watch.url for watch in watches)
        (source,) = KeepWish(urls, chosen, parts=rules._asdict()).sources(feeds)
        sources.append(source)
    if not write:
        with_sources(path, sources)
    else:
        config = add_sources(path, sources)
        with bootstrap.writing(config):  # which makes the new items known
            pass
    return [*sources]


def _groups(
    found: Watchlist, name: str | None
) -> "dict[tuple[str, WatchedParts], list[WatchEntry]]":
    """Return the addresses by their source: those of a host under the same rules."""
    groups: dict[tuple[str, WatchedParts], list[WatchEntry]] = {}
    for watch in found.watches.values():
        home = name or host_of(watch.url)
        groups.setdefault((home, watch.rules), []).append(watch)
    return groups


def _free(home: str, rules: WatchedParts, known: "Sequence[SourceConfig]") -> str:
    """Return a name that is free, or that of pages under the same rules."""
    taken = {one.name for one in known if one.part_rules != rules}
    numbered = (f"{home}-{n}" for n in range(2, len(taken) + 3))
    return next(name for name in (home, *numbered) if name not in taken)


def report(
    path: Path, found: Watchlist, sources: "Sequence[SourceConfig]", *, json: bool
) -> None:
    """Say what was taken over, what was left out, and which settings were not."""
    rows: list[dict[str, str | int]] = [
        {
            "source": one.name,
            "pages": len(one.addresses) - len(one.feeds),
            "feeds": len(one.feeds),
        }
        for one in sources
    ]
    if json:
        left = [{"what": what, "why": why} for what, why in found.left_out]
        answer = {"config": str(path), "left_out": left, "ignored": found.ignored}
        show.emit({**answer, "results": rows})
        return
    show.table(rows)
    for what, why in found.left_out[:TOLD]:
        show.note(show.plain(f"halflife: left out: {what}: {why}"))
    if len(found.left_out) > TOLD:
        show.note(f"halflife: and {len(found.left_out) - TOLD} others left out")
    for name, many in found.ignored.items():
        show.note(
            f"halflife: not taken over: {name} of {count(many, 'entry', 'entries')}"
        )
    show.say("next: halflife plan")


def written(config: Config, form: str) -> str:
    """Return the addresses of all sources, as other programs read them."""
    feeds = [url for one in config.source for url in one.feeds]
    known = set(feeds)
    others = [u for one in config.source for u in one.addresses if u not in known]
    if form == "opml":
        return opml.write(config.path.name, feeds, others)
    if form == "urls":
        return url_list.write(dict.fromkeys((*others, *feeds)))
    raise UsageError(f"--format: {form!r} is not known; there are opml and urls")
