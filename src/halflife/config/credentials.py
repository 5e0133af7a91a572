"""Settings for authentication at a source, and for the proxy to reach it."""

from base64 import b64encode
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from halflife.config.values import Line, SecretOnly, SettingsTable, Url


class BasicAuth(SettingsTable):
    """A name and a password, sent as HTTP basic authentication.

    Attributes:
        kind: `basic`.
        user: The user name.
        password: The password: `{env = …}` or `{file = …}`.

    """

    kind: Literal["basic"]
    user: Annotated[Line, Field(pattern="^[^:]*$")]
    password: SecretOnly

    def header(self, what: str) -> str:
        """Return the Authorization header; raise ``ConfigError`` if it is unknown."""
        password = self.password.look_up(f"{what}: auth.password").reveal()
        return f"Basic {b64encode(f'{self.user}:{password}'.encode()).decode()}"


class BearerAuth(SettingsTable):
    """A bearer token that does not expire, or that another program renews.

    Attributes:
        kind: `bearer`.
        token: The token: `{env = …}` or `{file = …}`.

    """

    kind: Literal["bearer"]
    token: SecretOnly

    def header(self, what: str) -> str:
        """Return the Authorization header; raise ``ConfigError`` if it is unknown."""
        return f"Bearer {self.token.look_up(f'{what}: auth.token').reveal()}"


class ClientAuth(SettingsTable):
    """OAuth 2 client credentials: a token is requested, and again when it expires.

    Attributes:
        kind: `oauth2`.
        token_url: Where tokens are issued, by client credentials (RFC 6749, section
            4.4).
        client_id: The name of this client.
        client_secret: Its secret: `{env = …}` or `{file = …}`.
        scope: The scope to request.
        audience: The audience to request, if the server needs one.
        client: `header` sends name and secret by basic authentication, `body` in the
            form.

    """

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
    """An HTTP proxy, and who resolves host names.

    Attributes:
        url: The address of an HTTP proxy; it may be on any network.
        user: The user name for the proxy.
        password: Its password: `{env = …}` or `{file = …}`.
        dns: Who resolves host names: `here`, or the `proxy` ([what that
            means](gate.md#proxies)).

    """

    url: Url
    user: Annotated[Line, Field(pattern="^[^:]*$")] = ""
    password: SecretOnly | None = None
    dns: Literal["here", "proxy"] = "here"
