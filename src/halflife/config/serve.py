"""Settings of ``halflife serve``: access tokens, public addresses, allowed networks."""

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from halflife.config.values import Cidr, Line, Secret, SecretOnly, SettingsTable, Url
from halflife.core.errors import ConfigError

_TOKEN = re.compile(r"[\x21-\x7e]{16,512}")  # what a header carries unchanged


class TokenConfig(SettingsTable):
    """An API token of a program: ``read`` may query, ``act`` may also start jobs.

    Attributes:
        name: The name of the token in errors; unique.
        scope: `"read"`, or `"act"` to start jobs and change settings too.
        token: The secret, at least 16 characters: `{env = "VARIABLE"}` or `{file =
            "/path"}`.

    """

    name: Annotated[Line, Field(min_length=1)]
    scope: Literal["read", "act"] = "read"
    token: SecretOnly = Field(repr=False)

    def secret(self) -> Secret:
        """Return the token; raise ``ConfigError`` if it is not set or too short."""
        what = f"serve.token {self.name}: token"
        token = self.token.look_up(what)
        if not _TOKEN.fullmatch(token.reveal()):
            raise ConfigError(
                f"{what} must be 16 to 512 letters, digits and signs without spaces"
            )
        return token


def _unique(tokens: tuple[TokenConfig, ...]) -> tuple[TokenConfig, ...]:
    names = [token.name for token in tokens]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two tokens are named {name!r}; rename one of them")
    return tokens


def _without_query(url: str) -> str:
    parts = urlsplit(url)
    if parts.query or parts.fragment:
        raise ValueError("must be an address without ? and #")
    return url


PublicUrl = Annotated[Url, AfterValidator(_without_query)]


class ServeConfig(SettingsTable):
    """Who may use the server, its public addresses, and which networks it may add.

    An address in the networks of ``allow`` may be added although it is not public.

    Attributes:
        allow: Networks (`"10.0.0.0/8"`) whose addresses may be added on the
            [page](web.md) although they are not public.
        callback: The public address of `/` of `halflife serve`. With it, halflife
            subscribes to the hubs that pages name ([hubs](hints.md#hubs-websub)); a
            change takes effect when `serve` restarts.
        indexnow: The same for pushes to `/indexnow`, from senders that show a key file
            on the host of the pages ([pushes](hints.md#pushes)).
        token: Tables [`[[serve.token]]`](#servetoken), one for each program that uses
            the API.

    """

    allow: tuple[Cidr, ...] = Field(default=(), strict=False)
    callback: PublicUrl | None = None
    indexnow: PublicUrl | None = None
    token: Annotated[
        tuple[TokenConfig, ...], AfterValidator(_unique), Field(strict=False)
    ] = ()
