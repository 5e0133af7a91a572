"""The web server of the pages: its address, socket and token."""

import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from halflife.config import Config
from halflife.config.serve import ServeConfig
from halflife.core.errors import ConfigError, UsageError
from halflife.kinds.pages.hubs import PATH
from halflife.net.addresses import host_of
from halflife.web.app import AppSetting, create, hosts
from halflife.web.callbacks import INDEXNOW
from halflife.web.guard import PublicAccess, ScopedToken

BYTES = 32  # of a token


@dataclass(frozen=True, slots=True)
class ServeWish:
    """Options of the server: what to serve, and where.

    Attributes:
        config: The settings file.
        port: The port; 0 for any that is free.
        bind: The address to listen at.
        expose: Whether that may be one that other machines can reach.
        names: Further host names of the server, such as that of a proxy.
        league: A file with a league.

    """

    config: Path
    port: int = 8787
    bind: str = "127.0.0.1"
    expose: bool = False
    names: tuple[str, ...] = ()
    league: Path | None = None


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that is ready.

    Attributes:
        address: The address to open, with the token.
        app: The app.
        server: The server.
        listening: Its socket.

    """

    address: str
    app: Starlette
    server: "Server"
    listening: socket.socket

    def run(self) -> int:
        """Serve until stopped; return the exit code of the signal."""
        ahead = self.app.state.site.board.prepare
        threading.Thread(target=ahead, daemon=True).start()
        with suppress(KeyboardInterrupt):  # the server raises the signal again
            self.server.run(sockets=[self.listening])
        return 128 + self.server.received if self.server.received else 0


class Server(uvicorn.Server):
    """A server that remembers which signal ended it.

    A program started in the background may have SIGINT ignored: the server still
    receives it, but does not report it.
    """

    received = 0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Remember the first signal, and stop."""
        self.received = self.received or sig
        super().handle_exit(sig, frame)


def is_loopback(bind: str) -> bool:
    """Return whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if bind == "localhost":
        return True
    try:
        return ip_address(bind).is_loopback
    except ValueError:
        return False


def prepare(wish: ServeWish) -> RunningServer:
    """Listen, and draw a token; raise ``UsageError`` if the address is unsafe."""
    if not is_loopback(wish.bind) and not wish.expose:
        raise UsageError(
            f"--bind {wish.bind}: other machines could reach it, without encryption; "
            "add --expose to allow that"
        )
    given = _settings(wish.config)
    tokens = _tokens(wish.config, given)
    listening = _listen(wish)
    port = int(listening.getsockname()[1])
    token = secrets.token_urlsafe(BYTES)
    allowed = hosts(wish.bind, port, wish.names)
    app, guard = create(
        AppSetting(
            wish.config,
            token,
            allowed,
            f"halflife-{port}",
            wish.league,
            tokens,
            _opening(given),
        )
    )
    server = Server(
        uvicorn.Config(
            guard,
            access_log=False,  # addresses hold the token once
            log_level="critical",  # the app reports errors itself
            server_header=False,
            proxy_headers=False,
            limit_concurrency=100,
            timeout_graceful_shutdown=2,
            ws="none",
        )
    )
    name = f"[{wish.bind}]" if ":" in wish.bind else wish.bind
    return RunningServer(f"http://{name}:{port}/?token={token}", app, server, listening)


def _settings(path: Path) -> ServeConfig:
    """Return the settings of the server."""
    try:
        return Config.load(path).serve
    except ConfigError:
        return ServeConfig()  # the pages show what is wrong, or there are none yet


def _opening(given: ServeConfig) -> PublicAccess:
    """Return the public addresses: callbacks of hubs, and pushes with a key."""
    places = ((PATH, given.callback), (INDEXNOW, given.indexnow))
    public = [(path, host_of(url)) for path, url in places if url]
    return PublicAccess(tuple(p for p, _ in public), frozenset(h for _, h in public))


def _tokens(path: Path, settings: ServeConfig) -> tuple[ScopedToken, ...]:
    """Return the further tokens that the settings name; raise ``ConfigError``."""
    found = [(token, token.secret().reveal()) for token in settings.token]
    if len({value for _, value in found}) < len(found):
        raise ConfigError(f"{path}: serve.token: two tokens have the same value")
    return tuple(ScopedToken(value, token.scope == "act") for token, value in found)


def _listen(wish: ServeWish) -> socket.socket:
    family = socket.AF_INET6 if ":" in wish.bind else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((wish.bind, wish.port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise UsageError(
            f"cannot listen at {wish.bind}:{wish.port}: {error.strerror}; "
            "choose another --port"
        ) from None
    return listening


@contextmanager
def running(wish: ServeWish) -> Iterator[RunningServer]:
    """Serve in the background during the block."""
    served = prepare(wish)
    thread = threading.Thread(target=served.run, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.server.should_exit = True
        thread.join(10.0)
        served.listening.close()
