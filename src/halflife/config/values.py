"""Values that tables of settings share, and secrets from the environment or files."""

import ipaddress
import os
import re
from pathlib import Path
from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from halflife.core.errors import ConfigError

CONTROL = re.compile(r"[\x00-\x1f\x7f]")
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


def places(text: str) -> list[str]:
    """Return what stands in braces in an address or a pattern.

    >>> places("http://a.example/?q={query}&p={page}")
    ['query', 'page']
    """
    return _PLACE.findall(text)


def filled(url: str) -> str:
    """Return an address with something in the place of what stands in braces.

    >>> filled("http://a.example/?q={query}&p={page}")
    'http://a.example/?q=1&p=1'
    """
    return _PLACE.sub("1", url)


Url = Annotated[str, AfterValidator(_http_url)]
Cidr = Annotated[str, AfterValidator(_cidr)]
Line = Annotated[str, AfterValidator(_one_line)]


class SettingsTable(BaseModel):
    """A table of settings: no unknown keys, no wrong kinds, never changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class FromEnv(SettingsTable):
    """A value that stands in an environment variable."""

    env: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")

    def look_up(self, what: str) -> Secret:
        """Return the value; raise ``ConfigError`` that names what needs it."""
        found = os.environ.get(self.env, "")
        if not found or CONTROL.search(found):
            state = "holds control characters" if found else "is not set"
            raise ConfigError(
                f"{what} comes from the environment variable {self.env}, which "
                f"{state}; set it and run again"
            )
        return Secret(found)


def _place_of_file(path: str) -> str:
    if not path.startswith(("/", "~/")):
        raise ValueError("must be a whole path, such as /run/secrets/token")
    return _one_line(path)


FilePath = Annotated[str, AfterValidator(_place_of_file)]


class FromFile(SettingsTable):
    """A value that stands in a file; a line end after it does not count."""

    file: FilePath

    def look_up(self, what: str) -> Secret:
        """Return the value; raise ``ConfigError`` that names what needs it."""
        try:
            with Path(self.file).expanduser().open("rb") as file:
                found = file.read(LARGEST_SECRET + 1).decode().rstrip("\r\n")
        except OSError as error:
            state = f"cannot be read: {error.strerror}"
        except UnicodeDecodeError:
            state = "is not text"
        else:
            if found and len(found) <= LARGEST_SECRET and not CONTROL.search(found):
                return Secret(found)
            state = "must hold one line" if found else "is empty"
        raise ConfigError(f"{what} comes from the file {self.file}, which {state}")


SecretValue: TypeAlias = FromEnv | FromFile


def _is_a_reference(given: object) -> object:
    if isinstance(given, str):
        raise ValueError(  # noqa: TRY004  (pydantic wants this one)
            "a secret must not stand in the settings; write "
            '{env = "VARIABLE"} or {file = "/path/to/it"}'
        )
    return given


SecretOnly = Annotated[FromEnv | FromFile, BeforeValidator(_is_a_reference)]


def value_of(given: str | SecretValue, what: str) -> Secret:
    """Return a value, from the settings, the environment or a file."""
    return Secret(given) if isinstance(given, str) else given.look_up(what)
