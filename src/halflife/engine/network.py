"""From settings to the network."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace

from halflife.config import Config, SourceConfig
from halflife.core.errors import ConfigError
from halflife.engine import redirects
from halflife.engine.loop import Clock
from halflife.kinds.pages import (
    crawl as pages_crawl,
    map_discovery as pages_map_discovery,
)
from halflife.kinds.pages.client import Pages, SiteSettings
from halflife.kinds.pages.settings import PagesConfig
from halflife.kinds.registry import kind_of
from halflife.net.access import Access, Credentials, GateSettings
from halflife.net.addresses import networks, origin, parse_url
from halflife.net.gate import Gate
from halflife.net.negotiation import accept
from halflife.net.wire import Transport
from halflife.stores import Store

NO_CONTACT = "no contact given"
MOST_KNOWN = 100_000  # items whose sources are remembered


def gate(
    config: Config, store: Store, clock: Clock, transport: Transport | None = None
) -> Gate:
    """Return the way out, as polite as the settings say."""
    fetch = config.fetch
    settings = GateSettings(
        contact=fetch.contact or NO_CONTACT,
        delay=fetch.delay,
        deadline=fetch.timeout,
        largest=fetch.max_bytes,
    )
    return Gate(settings, hosts=store, clock=clock, transport=transport)


@asynccontextmanager
async def way_out(
    config: Config, store: Store, clock: Clock, shared: Gate | None
) -> AsyncIterator[Gate]:
    """Give a gate for the block: the one that is shared, or one of its own.

    Whatever runs side by side has to share one, or a host is asked twice as often
    as it should be. What one of its own learned of addresses that have moved is
    written down at the end.
    """
    if shared is not None:
        yield shared
        return
    async with gate(config, store, clock) as own:
        try:
            yield own
        finally:
            redirects.note(store, own, config.source)


def access(source: SourceConfig, *, page: bool = False) -> Access:
    """Return on what terms a source is asked; secrets are bound to its one host.

    It is asked for the format that its settings name, or with ``page`` for a web page.
    """
    secrets = source.secrets()
    private = {n: s.reveal() for n, s in secrets.items() if n in source.from_env}
    public = {n: s.reveal() for n, s in secrets.items() if n not in source.from_env}
    data = not page and not kind_of(source).is_joint
    wanted = accept(source.answer_format) if data else ""
    if wanted and "accept" not in {name.lower() for name in secrets}:
        public["Accept"] = wanted
    credentials, homes = None, set[str]()
    if secrets:
        homes = {origin(parse_url(url)) for url in source.addresses}
    if private:
        if len(homes) != 1:
            raise ConfigError(
                f"source {source.name}: a secret header goes to one host only, and its "
                f"pages lie on {len(homes)}; make a source for each host"
            )
        credentials = Credentials(next(iter(homes)), private)
    return Access(
        allow=networks(source.allow),
        credentials=credentials,
        headers=public,
        robots=source.robots,
        name=source.name,
        home=frozenset(homes),
    )


def site(source: PagesConfig) -> SiteSettings:
    """Return what a source of pages is."""
    return SiteSettings(
        access=access(source),
        text=source.text,
        keep=source.keep,
        weight=source.weight,
    )


class Ownership:
    """Which source each item belongs to, also those found on the way."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._source: dict[str, str] = {}

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


def pages(
    gate: Gate,
    config: Config,
    chosen: Iterable[PagesConfig],
    owner: Callable[[str], str],
    *,
    store: Store | None = None,
) -> Pages:
    """Return the sources that the settings name, as one source of pages.

    With a ``store`` it says where the pages of sites lead, and what maps name is
    limited by what the store knows.
    """
    chosen = list(chosen)
    sites = {source.name: site(source) for source in chosen}
    if store is not None:
        evidence = store.evidence(tuple(sites))
        for source in chosen:
            if source.crawls:
                sites[source.name] = pages_crawl.following(source, sites[source.name])
            else:
                bounds = pages_map_discovery.limits(store, source, evidence)
                sites[source.name] = replace(sites[source.name], limits=bounds)
    return Pages(
        gate,
        sites,
        source_of=owner,
        url_of=owner.url_of if isinstance(owner, Ownership) else str,
        concurrency=config.fetch.concurrency,
    )
