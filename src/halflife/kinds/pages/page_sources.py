"""From the settings of sources to their pages on the network."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from halflife.config import Config
from halflife.core.errors import ConfigError
from halflife.engine import network, targets
from halflife.kinds.pages import crawl, map_discovery
from halflife.kinds.pages.cache_promises import PromiseMemory
from halflife.kinds.pages.client import PageClient, SiteSettings
from halflife.kinds.pages.hubs import HubDesk, HubMemory
from halflife.kinds.pages.key_files import KeyDesk
from halflife.kinds.pages.reading_memory import ReadingMemory
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.pages.validators import ValidatorMemory
from halflife.net.access import Access
from halflife.net.addresses import networks
from halflife.net.gate import Gate
from halflife.readers.part_rules import PartRules
from halflife.stores import Store

if TYPE_CHECKING:
    from halflife.kinds.pages.browser import Renderer

MOST_KNOWN = 100_000  # items whose sources are remembered


def site(source: PagesConfig) -> SiteSettings:
    """Return what a source of pages is."""
    return SiteSettings(
        access=network.access(source),
        text=source.text,
        keep=source.keep,
        weight=source.weight,
        rules=part_rules(source),
        exclude=source.exclude,
    )


def part_rules(source: PagesConfig) -> PartRules:
    """Return which parts of a source's pages count; raise ``ConfigError``."""
    try:
        return PartRules.of(source.only, source.ignore)
    except ConfigError as error:
        raise ConfigError(f"source {source.name}: {error}") from None


def memory(
    source: PagesConfig, site: SiteSettings, store: Store, clock: Callable[[], float]
) -> ReadingMemory:
    """Return how the pages of a source were read, and what of them is noise."""
    share = 0.0 if source.text == "raw" else source.noise
    return ReadingMemory(store, source.name, site.reading, clock=clock, share=share)


@asynccontextmanager
async def rendering(
    gate: Gate, chosen: Iterable[PagesConfig]
) -> AsyncIterator["Renderer | None"]:
    """Hold a browser during the block, if a source needs one."""
    if not any(source.render == "browser" for source in chosen):
        yield None
        return
    from halflife.kinds.pages.browser import (  # noqa: PLC0415  (an extra)
        Renderer,
        find_browser,
    )

    find_browser()
    async with Renderer(gate) as renderer:
        yield renderer


@dataclass(frozen=True, slots=True)
class PageContext:
    """Whose pages are whose, and the browser that renders some of them."""

    owner: "Ownership"
    renderer: "Renderer | None" = None


def shown_site(source: PagesConfig, renderer: "Renderer | None") -> SiteSettings:
    """Return what a source is; its pages are rendered if its settings say so."""
    if renderer is None or source.render != "browser":
        return site(source)
    return replace(site(source), render=partial(renderer.render, source.name))


class Ownership:
    """Which source each item belongs to, also those found on the way."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._source: dict[str, str] = {}

    def know(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Take in items and their sources, so that nobody has to ask."""
        if len(self._source) >= MOST_KNOWN:
            self._source.clear()
        self._source.update(pairs)

    def url_of(self, key: str) -> str:
        """Return what is sent for an item."""
        return self._store.url_of(key)

    def __call__(self, key: str) -> str:
        """Return the name of an item's source."""
        if key not in self._source:
            source = self._store.source_of(key)
            if source is None:
                raise KeyError(key)
            if len(self._source) >= MOST_KNOWN:
                self._source.clear()
            self._source[key] = source
        return self._source[key]


def callers(
    gate: Gate, config: Config, store: Store, chosen: Iterable[PagesConfig]
) -> tuple[HubDesk | None, KeyDesk | None]:
    """Return what deals with those who call us, as far as the settings let them.

    They are asked on the terms of each source, without its secrets.
    """
    given = config.serve
    if not (given.callback or given.indexnow):
        return None, None
    terms = {
        source.name: Access(
            allow=networks(source.allow),
            robots=source.robots,
            route=network.route(source),
        )
        for source in chosen
    }
    return (
        HubDesk(store, gate, terms) if given.callback else None,
        KeyDesk(store, gate, terms) if given.indexnow else None,
    )


def _learning(
    site: SiteSettings, source: PagesConfig, config: Config, store: Store
) -> SiteSettings:
    """Return a site that learns what its hosts say of changes, and whom to believe."""
    base = config.serve.callback
    return replace(
        site,
        validators=ValidatorMemory(store, source.name),
        hubs=HubMemory(store, source.name, base) if base else None,
        promises=promise_memory(store, source),
    )


def promise_memory(store: Store, source: PagesConfig) -> PromiseMemory:
    """Return what pages promised; no promise outlasts an interval or a target."""
    asked = targets.level(source)
    level = 0.0 if asked is None else asked[0]
    return PromiseMemory(store, source.name, targets.latest(source), level)


def pages(
    gate: Gate,
    config: Config,
    chosen: Iterable[PagesConfig],
    owner: Callable[[str], str],
    *,
    store: Store | None = None,
    renderer: "Renderer | None" = None,
) -> PageClient:
    """Return the sources that the settings name, as one source of pages.

    With a ``store`` it says where the pages of sites lead, and what maps name is
    limited by what the store knows. ``renderer`` shows pages as a browser does.
    """
    chosen = list(chosen)
    sites = {source.name: shown_site(source, renderer) for source in chosen}
    if store is not None:
        evidence = store.evidence(tuple(sites))
        for source in chosen:
            known = sites[source.name]
            read = memory(source, known, store, gate.clock)
            known = _learning(replace(known, memory=read), source, config, store)
            sites[source.name] = known
            if source.crawls:
                sites[source.name] = crawl.following(source, sites[source.name])
            else:
                bounds = map_discovery.limits(store, source, evidence)
                sites[source.name] = replace(sites[source.name], limits=bounds)
    return PageClient(
        gate,
        sites,
        source_of=owner,
        url_of=owner.url_of if isinstance(owner, Ownership) else str,
        concurrency=config.fetch.concurrency,
    )
