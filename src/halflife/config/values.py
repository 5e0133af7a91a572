"""Value types shared by tables of settings, and secrets from environment or files."""

import ipaddress
import os
import re
from pathlib import Path
from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from halflife.core.errors import ConfigError

CONTROL = re.compile(r"[\x00-\x1f\x7f]")
MOST_REQUESTS = 10**9  # of a budget: beyond any program, and far below 2**53
LARGEST_SECRET = 16_384  # characters; what a header can hold
_PLACE = re.compile(r"\{([^{}]*)\}")


class Secret:
    """A value that must not be shown: printing it gives ``***``.

    >>> Secret("hunter2")
    ***
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def reveal(self) -> str:
        """Return the value itself, to be sent and never to be printed."""
        return self._value


def _cidr(text: str) -> str:
    return str(ipaddress.ip_network(text, strict=False))


def _one_line(text: str) -> str:
    if CONTROL.search(text):
        raise ValueError("must be one line without control characters")
    return text


def _http_url(url: str) -> str:
    """Return the URL if it names a page on the web."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"not a URL ({error})") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise ValueError("only http:// and https:// URLs can be kept")
    if parts.username is not None:
        raise ValueError("a URL must not hold a password; use [source.headers]")
    if "\\" in url or CONTROL.search(url) or " " in url:
        raise ValueError("not a URL (it holds a space, a backslash or a control)")
    return url


def placeholder_names(text: str) -> list[str]:
    """Return the names in braces in an address or a pattern.

    >>> placeholder_names("http://a.example/?q={query}&p={page}")
    ['query', 'page']
    """
    return _PLACE.findall(text)


def fill_placeholders(url: str) -> str:
    """Return an address with ``1`` in the place of each name in braces.

    >>> fill_placeholders("http://a.example/?q={query}&p={page}")
    'http://a.example/?q=1&p=1'
    """
    return _PLACE.sub("1", url)


Url = Annotated[str, AfterValidator(_http_url)]
Cidr = Annotated[str, AfterValidator(_cidr)]
Line = Annotated[str, AfterValidator(_one_line)]


class SettingsTable(BaseModel):
    """A table of settings: immutable, no unknown keys, strict types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class FromEnv(SettingsTable):
    """A value from an environment variable."""

    env: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")

    def look_up(self, what: str) -> Secret:
        """Return the value; raise a ``ConfigError`` that names ``what`` needs it."""
        value = os.environ.get(self.env, "")
        if not value or CONTROL.search(value):
            state = "holds control characters" if value else "is not set"
            raise ConfigError(
                f"{what} comes from the environment variable {self.env}, which "
                f"{state}; set it and run again"
            )
        return Secret(value)


def _check_path(path: str) -> str:
    if not path.startswith(("/", "~/")):
        raise ValueError("must be a whole path, such as /run/secrets/token")
    return _one_line(path)


FilePath = Annotated[str, AfterValidator(_check_path)]


class FromFile(SettingsTable):
    """A value from a file; a line end after it is ignored."""

    file: FilePath

    def look_up(self, what: str) -> Secret:
        """Return the value; raise a ``ConfigError`` that names ``what`` needs it."""
        try:
            with Path(self.file).expanduser().open("rb") as file:
                value = file.read(LARGEST_SECRET + 1).decode().rstrip("\r\n")
        except OSError as error:
            state = f"cannot be read: {error.strerror}"
        except UnicodeDecodeError:
            state = "is not text"
        else:
            if value and len(value) <= LARGEST_SECRET and not CONTROL.search(value):
                return Secret(value)
            state = "must hold one line" if value else "is empty"
        raise ConfigError(f"{what} comes from the file {self.file}, which {state}")


SecretValue: TypeAlias = FromEnv | FromFile


def _check_reference(given: object) -> object:
    if isinstance(given, str):
        raise ValueError(  # noqa: TRY004  (pydantic wants this one)
            "a secret must not stand in the settings; write "
            '{env = "VARIABLE"} or {file = "/path/to/it"}'
        )
    return given


SecretOnly = Annotated[FromEnv | FromFile, BeforeValidator(_check_reference)]


def value_of(given: str | SecretValue, what: str) -> Secret:
    """Return a value given in the settings, the environment or a file."""
    return Secret(given) if isinstance(given, str) else given.look_up(what)
