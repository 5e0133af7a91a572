"""Build clients for pages from the settings of sources."""

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
from halflife.kinds.pages.hubs import HubMemory, HubSubscriber
from halflife.kinds.pages.key_files import KeyFileChecker
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

MOST_KNOWN = 100_000  # items whose sources are cached


def site(source: PagesConfig) -> SiteSettings:
    """Return the settings for fetching the pages of a source."""
    return SiteSettings(
        access=network.access(source),
        text=source.text,
        keep=source.keep,
        weight=source.weight,
        rules=part_rules(source),
        exclude=source.exclude,
    )


def part_rules(source: PagesConfig) -> PartRules:
    """Return the rules for parts of a source's pages; raise ``ConfigError``."""
    try:
        return PartRules.of(source.only, source.ignore)
    except ConfigError as error:
        raise ConfigError(f"source {source.name}: {error}") from None


def memory(
    source: PagesConfig, site: SiteSettings, store: Store, clock: Callable[[], float]
) -> ReadingMemory:
    """Return the memory of how the pages of a source were read, and of noise."""
    share = 0.0 if source.text == "raw" else source.noise
    return ReadingMemory(store, source.name, site.reading, clock=clock, share=share)


@asynccontextmanager
async def rendering(
    gate: Gate, chosen: Iterable[PagesConfig]
) -> AsyncIterator["Renderer | None"]:
    """Keep a browser open during the block, if a source needs one."""
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
    """The owners of pages, and the browser that renders some of them."""

    owner: "Ownership"
    renderer: "Renderer | None" = None


def shown_site(source: PagesConfig, renderer: "Renderer | None") -> SiteSettings:
    """Return the settings of a source, rendered by the browser if it asks for that."""
    if renderer is None or source.render != "browser":
        return site(source)
    return replace(site(source), render=partial(renderer.render, source.name))


class Ownership:
    """The source of each item, including items found during the run."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._source: dict[str, str] = {}

    def know(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Cache the sources of items."""
        if len(self._source) >= MOST_KNOWN:
            self._source.clear()
        self._source.update(pairs)

    def url_of(self, key: str) -> str:
        """Return the URL to request for an item."""
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
) -> tuple[HubSubscriber | None, KeyFileChecker | None]:
    """Return the handlers of hubs and of pushes, if the settings enable them.

    Their requests use the access settings of each source, without its secrets.
    """
    settings = config.serve
    if not (settings.callback or settings.indexnow):
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
        HubSubscriber(store, gate, terms) if settings.callback else None,
        KeyFileChecker(store, gate, terms) if settings.indexnow else None,
    )


def _learning(
    site: SiteSettings, source: PagesConfig, config: Config, store: Store
) -> SiteSettings:
    """Return settings with the memories of validators, hubs and promises."""
    base = config.serve.callback
    return replace(
        site,
        validators=ValidatorMemory(store, source.name),
        hubs=HubMemory(store, source.name, base) if base else None,
        promises=promise_memory(store, source),
    )


def promise_memory(store: Store, source: PagesConfig) -> PromiseMemory:
    """Return the memory of promises; an interval or a target limits each promise."""
    goal = targets.level(source)
    level = 0.0 if goal is None else goal[0]
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
    """Return one client for the pages of all sources in the settings.

    With a ``store`` it follows the links of crawled sites, and the pages listed by maps
    are limited by the store's known pages. ``renderer`` renders pages in a browser.
    """
    chosen = list(chosen)
    sites = {source.name: shown_site(source, renderer) for source in chosen}
    if store is not None:
        evidence = store.evidence(tuple(sites))
        for source in chosen:
            settings = sites[source.name]
            reading = memory(source, settings, store, gate.clock)
            settings = _learning(
                replace(settings, memory=reading), source, config, store
            )
            sites[source.name] = settings
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
