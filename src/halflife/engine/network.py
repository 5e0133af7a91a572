"""Build the gate, and the terms of access to sources, from settings."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from halflife.config import Config, Secret, SourceConfig
from halflife.config.credentials import BasicAuth, ClientAuth, ProxyConfig
from halflife.core.errors import ConfigError
from halflife.engine import redirects
from halflife.engine.loop import Clock
from halflife.net.access import (
    DIRECT,
    Access,
    Credentials,
    GateSettings,
    Grant,
    Route,
)
from halflife.net.addresses import networks, origin, parse_url
from halflife.net.gate import Gate
from halflife.net.negotiation import accept
from halflife.net.tls import context
from halflife.net.wire import Transport
from halflife.stores import Store

NO_CONTACT = "no contact given"


def gate(
    config: Config, store: Store, clock: Clock, transport: Transport | None = None
) -> Gate:
    """Return a gate as polite as the settings say."""
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
    """Open a gate for the block: the shared one, or a new one.

    Work that runs side by side has to share a gate, or a host gets twice as many
    requests as it should. A new gate's redirects are stored at the end.
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
    """Return the terms of access to a source; secrets are bound to its one host.

    The requested format is the one that its settings name, or with ``page`` a web page.
    """
    secrets = source.secrets()
    public = {n: s.reveal() for n, s in secrets.items() if _is_public(source, n)}
    wanted = "" if page else accept(source.answer_format)
    if wanted and "accept" not in {name.lower() for name in secrets}:
        public["Accept"] = wanted
    homes = set[str]()
    if source.needs_home:
        homes = {origin(parse_url(url)) for url in source.addresses}
    return Access(
        allow=networks(source.allow),
        credentials=_credentials(source, secrets, homes),
        headers=public,
        robots=source.robots,
        name=source.name,
        home=frozenset(homes),
        route=route(source),
        cookies=source.cookies,
        grant=_grant(source),
    )


def _is_public(source: SourceConfig, header: str) -> bool:
    return header in source.headers and header not in source.from_env


def _credentials(
    source: SourceConfig, headers: Mapping[str, Secret], homes: set[str]
) -> Credentials | None:
    """Return the secrets, for the one host that may receive them."""
    private = {n: s.reveal() for n, s in headers.items() if not _is_public(source, n)}
    hidden = {n: s.reveal() for n, s in source.secret_parameters().items()}
    if not (private or hidden or source.auth):
        return None
    if not homes:
        raise ConfigError(
            f"source {source.name}: a secret goes to one host only, and none is named; "
            "give url"
        )
    if len(homes) != 1:
        raise ConfigError(
            f"source {source.name}: a secret header goes to one host only, and its "
            f"pages lie on {len(homes)}; make a source for each host"
        )
    others: tuple[str, ...] = ()
    if isinstance(source.auth, BasicAuth):  # a server reads it in the header
        what = f"source {source.name}: auth.password"
        others = (source.auth.password.look_up(what).reveal(),)
    return Credentials(next(iter(homes)), private, hidden, others)


def _grant(source: SourceConfig) -> Grant | None:
    given = source.auth
    if not isinstance(given, ClientAuth):
        return None
    what = f"source {source.name}: auth.client_secret"
    return Grant(
        given.token_url,
        given.client_id,
        given.client_secret.look_up(what).reveal(),
        given.scope,
        given.audience,
        given.client == "body",
    )


def route(source: SourceConfig) -> Route:
    """Return the route to a source; raise ``ConfigError`` if a file is unusable."""
    tls = None
    if source.ca or source.certificate:
        files = (source.ca, source.certificate, source.certificate_key)
        try:
            tls = context(*(path or "" for path in files))
        except ConfigError as error:
            raise ConfigError(f"source {source.name}: {error}") from None
    if source.proxy is None:
        return Route(tls=tls) if tls else DIRECT
    given = source.proxy
    if isinstance(given, str):
        given = ProxyConfig(url=given)
    login = None
    if given.password is not None:
        what = f"source {source.name}: proxy.password"
        login = given.user, given.password.look_up(what).reveal()
    return Route(given.url, login, given.dns == "proxy", tls)
