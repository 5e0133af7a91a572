"""Add pages: fetch each once, tell pages from maps, write the settings."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from halflife.config import Config, problem
from halflife.config.edit import add_sources, with_sources
from halflife.core.errors import UsageError
from halflife.core.observation import Observation, Observations, Seen
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
class AddRequest:
    """The pages to add, and their settings."""

    urls: tuple[str, ...]
    source: str | None = None
    weight: float | None = None
    allow: tuple[str, ...] = ()
    site: Mapping[str, object] | None = None  # settings of a site that starts there
    headers: Mapping[str, object] = field(default_factory=dict)
    parts: Mapping[str, object] = field(
        default_factory=dict
    )  # rules for the parts of pages

    def sources(self, maps: Iterable[str] = ()) -> list[PagesConfig]:
        """Return the sources to add; ``maps`` are the URLs that list pages."""
        map_urls = set(maps)
        by_name: dict[str, list[str]] = {}
        for url in self.urls:
            by_name.setdefault(self.home(url), []).append(url)
        return [self._source(name, urls, map_urls) for name, urls in by_name.items()]

    def home(self, url: str) -> str:
        """Return the name of the source that a URL is added to."""
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
class AddResult:
    """The result of adding one URL.

    Attributes:
        url: Its canonical spelling.
        source: The source it belongs to now.
        kind: ``page``, ``map`` or ``site``; empty if it was not fetched.
        pages: How many pages the map lists.
        trouble: Why it was not added; empty if it was.

    """

    url: str
    source: str
    kind: str = ""
    pages: int = 0
    trouble: str = ""

    def row(self) -> dict[str, str | int]:
        """Return the row for people and programs."""
        row: dict[str, str | int] = {"url": self.url, "source": self.source}
        row |= {"kind": self.kind or "unchecked", "pages": self.pages}
        return {**row, "trouble": self.trouble} if self.trouble else row


def collect_urls(urls: Sequence[str], listed: Path | None) -> tuple[str, ...]:
    """Return all URLs in their canonical spelling, without duplicates."""
    lines = list(urls)
    if listed is not None:
        try:
            text = listed.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{listed}: cannot be read: {error}") from None
        lines += [w for line in text.splitlines() if (w := line.strip())]
    collected = tuple(
        dict.fromkeys(canonical(u) for u in lines if not u.startswith("#"))
    )
    if not collected:
        raise UsageError("give at least one URL, or a file of them with --from")
    return collected


def preview(path: Path, request: AddRequest) -> list[AddResult]:
    """Return what adding the URLs would do; write nothing and send nothing."""
    config_with(path, request)
    return [AddResult(url, request.home(url)) for url in request.urls]


def config_with(path: Path, request: AddRequest) -> Config:
    """Return the settings with the URLs added; write nothing."""
    return Config.parse(with_sources(path, request.sources()), path)


def add(
    path: Path, request: AddRequest, *, check: bool, trial: "TrialFetch | None" = None
) -> list[AddResult]:
    """Fetch the URLs and add those that can be fetched.

    Nothing is added if a ``trial`` recognises something other than a page.
    """
    results = _probe(path, request, trial) if check else preview(path, request)
    if trial is not None and not trial.is_page:
        return results
    good = replace(request, urls=tuple(row.url for row in results if not row.trouble))
    maps = [row.url for row in results if row.kind == "map"]
    if good.urls:
        config = add_sources(path, good.sources(maps))
        with bootstrap.writing(config):  # which makes the new items known
            return results
    return results


def _probe(
    path: Path, request: AddRequest, trial: "TrialFetch | None"
) -> list[AddResult]:
    """Fetch each URL once; store the observations of those that can be added."""
    config = config_with(path, request)
    chosen = config.named(list(dict.fromkeys(map(request.home, request.urls))))
    with bootstrap.writing(Config.load(path)) as store:
        run = store.begin(bootstrap.names(chosen), bootstrap.clock(), lease=LEASE)
        try:
            observed = asyncio.run(_fetch(config, store, run, request, trial))
            results = [_judge(url, request, observed) for url in request.urls]
            if trial is not None and not trial.is_page:
                return results
            good = {row.url for row in results if not row.trouble}
            known = {item.key: item for item in bootstrap.items(chosen)}
            store.add(known[url] for url in good)
            if (
                request.site is None
            ):  # the start of a site is fetched again to read its links
                owned = [url for url in good if store.source_of(url) in run.sources]
                seen = [o for url in owned for o in observed.get(url, [])]
                store.append(run, Observations.of(seen))
        finally:
            store.finish(run, bootstrap.clock())
    return results


async def _fetch(
    config: Config,
    store: Store,
    run: Run,
    request: AddRequest,
    trial: "TrialFetch | None",
) -> dict[str, list[Observation]]:
    """Return the observations by URL: of the page itself, then of those it lists."""
    wallet = Wallet(store, config.budget)
    room = wallet.room(bootstrap.clock())
    if not room:
        raise spent(config.budget)
    purse = WindowPurse(wallet, run, room, clock=bootstrap.clock)
    observed: dict[str, list[Observation]] = {}
    key = ""
    way_out = network.gate if trial is None else trial.way_out
    async with way_out(config, store, bootstrap.clock) as gate:
        pages = page_sources.pages(
            gate, config, PagesConfig.among(config.source), request.home
        )
        fetches = [Fetch(url) for url in request.urls]
        async for batch in pages.perform(fetches, bootstrap.clock(), purse):
            for one in batch:
                key = key if one.seen is Seen.HINT else one.key
                observed.setdefault(key, []).append(one)
        if trial is not None:
            await trial.examine(gate, purse)
    purse.close()
    return observed


def _judge(
    url: str, request: AddRequest, observed: dict[str, list[Observation]]
) -> AddResult:
    """Return the result of adding a URL, given its observations."""
    row = AddResult(url, request.home(url))
    if url not in observed:
        return replace(row, trouble=f"{url}: the budget does not reach that far")
    page, *hints = observed[url]
    if page.seen is Seen.FAILED:
        return replace(row, trouble=f"{url}: {page.note}")
    if page.seen is Seen.ABSENT:
        return replace(row, trouble=f"{url}: there is no such page")
    if request.site is not None:
        return replace(row, kind="site")
    return replace(row, kind="map" if hints else "page", pages=len(hints))
