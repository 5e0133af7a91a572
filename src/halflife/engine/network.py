"""From settings to the network."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from halflife.config import Config, SourceConfig
from halflife.core.errors import ConfigError
from halflife.engine import redirects
from halflife.engine.loop import Clock
from halflife.net.access import Access, Credentials, GateSettings
from halflife.net.addresses import networks, origin, parse_url
from halflife.net.gate import Gate
from halflife.net.negotiation import accept
from halflife.net.wire import Transport
from halflife.stores import Store

NO_CONTACT = "no contact given"


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
    wanted = "" if page else accept(source.answer_format)
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
