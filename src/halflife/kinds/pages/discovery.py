"""Adding pages: look once, tell pages from maps, write the settings."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from halflife.config import Config, problem
from halflife.config.edit import add_sources, with_sources
from halflife.core.errors import UsageError
from halflife.core.observation import Looks, Observation, Seen
from halflife.core.request import Fetch
from halflife.engine import bootstrap, network
from halflife.engine.loop import LEASE
from halflife.engine.wallet import Wallet, WindowPurse, spent
from halflife.kinds.pages import page_sources
from halflife.kinds.pages.settings import PagesConfig
from halflife.net.addresses import canonical, host_of
from halflife.stores import Run, Store

if TYPE_CHECKING:
    from halflife.kinds.trial import TrialFetch


@dataclass(frozen=True, slots=True)
class KeepWish:
    """What somebody wants to keep."""

    urls: tuple[str, ...]
    source: str | None = None
    weight: float | None = None
    allow: tuple[str, ...] = ()
    site: Mapping[str, object] | None = None  # settings of a site that begins there
    headers: Mapping[str, object] = field(default_factory=dict)
    parts: Mapping[str, object] = field(default_factory=dict)  # which of them count

    def sources(self, maps: Iterable[str] = ()) -> list[PagesConfig]:
        """Return the settings to add; ``maps`` are the URLs that list pages."""
        known = set(maps)
        by_name: dict[str, list[str]] = {}
        for url in self.urls:
            by_name.setdefault(self.home(url), []).append(url)
        return [self._source(name, urls, known) for name, urls in by_name.items()]

    def home(self, url: str) -> str:
        """Return the name of the source that a URL goes to."""
        return self.source or host_of(url)

    def _source(self, name: str, urls: list[str], maps: set[str]) -> PagesConfig:
        given: dict[str, object] = {
            "name": name,
            "weight": self.weight,
            "allow": self.allow,
            "headers": dict(self.headers),
            **self.parts,
        }
        if self.site is None:
            given["pages"] = tuple(u for u in urls if u not in maps)
            given["maps"] = tuple(u for u in urls if u in maps)
        else:
            given |= {"kind": "site", "start": urls[0], **self.site}
        try:
            wanted = {k: v for k, v in given.items() if v not in (None, (), {})}
            return PagesConfig.model_validate(wanted)
        except ValidationError as error:
            raise UsageError(problem(error)) from None


@dataclass(frozen=True, slots=True)
class Added:
    """What became of one URL.

    Attributes:
        url: Its canonical spelling.
        source: The source it now belongs to.
        kind: ``page``, ``map`` or ``site``; empty if nobody looked.
        pages: How many pages the map lists.
        trouble: Why it was not added; empty if it was.

    """

    url: str
    source: str
    kind: str = ""
    pages: int = 0
    trouble: str = ""

    def row(self) -> dict[str, str | int]:
        """Return what people and programs are told."""
        row: dict[str, str | int] = {"url": self.url, "source": self.source}
        row |= {"kind": self.kind or "unchecked", "pages": self.pages}
        return {**row, "trouble": self.trouble} if self.trouble else row


def gathered(urls: Sequence[str], listed: Path | None) -> tuple[str, ...]:
    """Return all URLs, in their canonical spelling, each once."""
    lines = list(urls)
    if listed is not None:
        try:
            text = listed.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{listed}: cannot be read: {error}") from None
        lines += [w for line in text.splitlines() if (w := line.strip())]
    found = tuple(dict.fromkeys(canonical(u) for u in lines if not u.startswith("#")))
    if not found:
        raise UsageError("give at least one URL, or a file of them with --from")
    return found


def preview(path: Path, wish: KeepWish) -> list[Added]:
    """Check that the URLs could be added; write nothing and send nothing."""
    wished(path, wish)
    return [Added(url, wish.home(url)) for url in wish.urls]


def wished(path: Path, wish: KeepWish) -> Config:
    """Return the settings as they would be."""
    return Config.parse(with_sources(path, wish.sources()), path)


def add(
    path: Path, wish: KeepWish, *, check: bool, trial: "TrialFetch | None" = None
) -> list[Added]:
    """Add what can be looked at to the settings, and to what is known.

    What a ``trial`` takes for something other than a page is not added.
    """
    found = _probe(path, wish, trial) if check else preview(path, wish)
    if trial is not None and not trial.is_page:
        return found
    good = replace(wish, urls=tuple(row.url for row in found if not row.trouble))
    maps = [row.url for row in found if row.kind == "map"]
    if good.urls:
        config = add_sources(path, good.sources(maps))
        with bootstrap.writing(config):  # which makes the new items known
            return found
    return found


def _probe(path: Path, wish: KeepWish, trial: "TrialFetch | None") -> list[Added]:
    """Look at each URL once; what was seen of the good ones is kept."""
    config = wished(path, wish)
    chosen = config.named(list(dict.fromkeys(map(wish.home, wish.urls))))
    with bootstrap.writing(Config.load(path)) as store:
        run = store.begin(bootstrap.names(chosen), bootstrap.clock(), lease=LEASE)
        try:
            looks = asyncio.run(_look(config, store, run, wish, trial))
            found = [_judge(url, wish, looks) for url in wish.urls]
            if trial is not None and not trial.is_page:
                return found
            good = {row.url for row in found if not row.trouble}
            known = {item.key: item for item in bootstrap.items(chosen)}
            store.add(known[url] for url in good)
            if wish.site is None:  # the start of a site waits for its links to be read
                mine = [url for url in good if store.source_of(url) in run.sources]
                seen = [o for url in mine for o in looks.get(url, [])]
                store.append(run, Looks.of(seen))
        finally:
            store.finish(run, bootstrap.clock())
    return found


async def _look(
    config: Config, store: Store, run: Run, wish: KeepWish, trial: "TrialFetch | None"
) -> dict[str, list[Observation]]:
    """Return what each URL showed: the page itself, then the pages it lists."""
    wallet = Wallet(store, config.budget)
    room = wallet.room(bootstrap.clock())
    if not room:
        raise spent(config.budget)
    purse = WindowPurse(wallet, run, room, clock=bootstrap.clock)
    looks: dict[str, list[Observation]] = {}
    key = ""
    way_out = network.gate if trial is None else trial.way_out
    async with way_out(config, store, bootstrap.clock) as gate:
        pages = page_sources.pages(
            gate, config, PagesConfig.among(config.source), wish.home
        )
        fetches = [Fetch(url) for url in wish.urls]
        async for batch in pages.perform(fetches, bootstrap.clock(), purse):
            for look in batch:
                key = key if look.seen is Seen.HINT else look.key
                looks.setdefault(key, []).append(look)
        if trial is not None:
            await trial.examine(gate, purse)
    purse.close()
    return looks


def _judge(url: str, wish: KeepWish, looks: dict[str, list[Observation]]) -> Added:
    """Say what a look at a URL means for adding it."""
    row = Added(url, wish.home(url))
    if url not in looks:
        return replace(row, trouble=f"{url}: the budget does not reach that far")
    page, *hints = looks[url]
    if page.seen is Seen.FAILED:
        return replace(row, trouble=f"{url}: {page.note}")
    if page.seen is Seen.ABSENT:
        return replace(row, trouble=f"{url}: there is no such page")
    if wish.site is not None:
        return replace(row, kind="site")
    return replace(row, kind="map" if hints else "page", pages=len(hints))
