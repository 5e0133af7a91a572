"""Settings of how a source knows us, and of the way to it."""

from base64 import b64encode
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from halflife.config.values import Line, SecretOnly, SettingsTable, Url


class BasicAuth(SettingsTable):
    """A name and a password, sent as HTTP basic authentication."""

    kind: Literal["basic"]
    user: Annotated[Line, Field(pattern="^[^:]*$")]
    password: SecretOnly

    def header(self, what: str) -> str:
        """Return the header Authorization; raise ``ConfigError`` if it is not known."""
        password = self.password.look_up(f"{what}: auth.password").reveal()
        return f"Basic {b64encode(f'{self.user}:{password}'.encode()).decode()}"


class BearerAuth(SettingsTable):
    """A token that does not end, or that somebody else renews."""

    kind: Literal["bearer"]
    token: SecretOnly

    def header(self, what: str) -> str:
        """Return the header Authorization; raise ``ConfigError`` if it is not known."""
        return f"Bearer {self.token.look_up(f'{what}: auth.token').reveal()}"


class ClientAuth(SettingsTable):
    """OAuth 2 client credentials: a token is asked for, and again when it ends."""

    kind: Literal["oauth2"]
    token_url: Url
    client_id: Line
    client_secret: SecretOnly
    scope: Line = ""
    audience: Line = ""
    client: Literal["header", "body"] = "header"


Auth: TypeAlias = Annotated[
    BasicAuth | BearerAuth | ClientAuth, Field(discriminator="kind")
]


class ProxyConfig(SettingsTable):
    """An HTTP proxy, and who looks up the names of hosts."""

    url: Url
    user: Annotated[Line, Field(pattern="^[^:]*$")] = ""
    password: SecretOnly | None = None
    dns: Literal["here", "proxy"] = "here"
