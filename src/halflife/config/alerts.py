"""Settings of the recipients of alerts (``[[alert]]``), and how long data is kept."""

import re
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from halflife.alerts import AlarmKind
from halflife.config.values import Cidr, FromEnv, Line, Secret, SettingsTable, value_of
from halflife.core.errors import ConfigError

_SPAN = re.compile(r"(\d+(?:\.\d+)?)([mhdw])")
_UNIT_DAYS = {"m": 1 / 1440, "h": 1 / 24, "d": 1.0, "w": 7.0}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.")
_KINDS = ", ".join(AlarmKind)


def _span(text: str) -> str:
    if not _SPAN.fullmatch(text):
        raise ValueError('is not a stretch of time; write "30m", "6h", "1d" or "1w"')
    return text


def _kind(text: str) -> str:
    if text not in {str(kind) for kind in AlarmKind}:
        raise ValueError(f"is not a kind of alarm; there are {_KINDS}")
    return text


class AlertConfig(SettingsTable):
    """A recipient of alerts: where to send, which alarms, how often.

    Attributes:
        url: Where to send: `https://` (a webhook), or an address of Apprise such as
            `mailto://…` (needs `halflife[alerts]`). An address that holds a token is a
            secret: write `url = {env = "VARIABLE"}`.
        name: The name that is shown; the address is never shown. Default: the host, or
            the variable.
        kinds: The alarms that are sent: `will-miss`, `missed`, `recovered`, `held`,
            `dead`, `moved`, `schema-drift`, `budget-spent`, `offline`, `settings`,
            `sink`. Default: all.
        every: How often an alarm that still stands is sent again: `"30m"`, `"6h"`,
            `"1d"`, `"1w"`.
        allow: Networks (`"10.0.0.0/8"`) that may be reached although they are not
            public.
        headers: Headers to send with a webhook; a value is a string or `{env =
            "VARIABLE"}`.
        secret: `{env = "VARIABLE"}`: signs each webhook (HMAC-SHA256), so that the
            receiver can verify the sender.

    """

    url: Line | FromEnv = Field(repr=False)
    name: Line = ""
    kinds: tuple[Annotated[str, AfterValidator(_kind)], ...] = Field(
        default=tuple(map(str, AlarmKind)), strict=False
    )
    every: Annotated[str, AfterValidator(_span)] = "1d"
    allow: tuple[Cidr, ...] = Field(default=(), strict=False)
    headers: dict[str, Line | FromEnv] = Field(default_factory=dict, repr=False)
    secret: FromEnv | None = Field(default=None, repr=False)

    @model_validator(mode="after")
    def _address_is_usable(self) -> Self:
        if isinstance(self.url, str) and not _SCHEME.match(self.url):
            raise ValueError("url must be an address, such as https://host/path")
        if isinstance(self.url, str) and "@" in urlsplit(self.url).netloc:
            raise ValueError(
                'url holds a password; write url = {env = "VARIABLE"} instead'
            )
        return self

    @property
    def label(self) -> str:
        """The name shown for it: its own, else the host or the environment variable."""
        if self.name or not isinstance(self.url, str):
            return self.name or f"${self.url.env}"  # type: ignore[union-attr]
        return urlsplit(self.url).hostname or "alert"

    @property
    def days(self) -> float:
        """Days after which an alarm that still stands is sent again."""
        found = _SPAN.fullmatch(self.every)
        return float(found[1]) * _UNIT_DAYS[found[2]] if found else 1.0

    def address(self) -> Secret:
        """Return the address to send to, read from the environment if it is secret."""
        url = value_of(self.url, f"alert {self.label}: url")
        if not _SCHEME.match(url.reveal()):
            raise ConfigError(f"alert {self.label}: url is not an address")
        return url

    def secret_headers(self) -> dict[str, Secret]:
        """Return the headers to send, secret ones read from the environment."""
        given = self.headers.items()
        return {n: value_of(v, f"alert {self.label}: header {n}") for n, v in given}


def _unique(alerts: tuple[AlertConfig, ...]) -> tuple[AlertConfig, ...]:
    labels = [alert.label for alert in alerts]
    for label in labels:
        if labels.count(label) > 1:
            raise ValueError(f"two alerts are named {label!r}; give them names")
    return alerts


Alerts = Annotated[
    tuple[AlertConfig, ...], AfterValidator(_unique), Field(strict=False)
]


class KeepConfig(SettingsTable):
    """How long stored data is kept before ``halflife gc`` removes it.

    Attributes:
        observations_days: Days that single observations are kept; the last good one of
            each item always stays.
        ledger_days: Days that single charges are kept, at least 31; the daily sums
            stay.
        runs_days: Days that runs are kept to which nothing else refers.
        messages_days: Days that messages are kept after they were delivered or given
            up.
        summaries: Versions of the summary of each database; the one in use always
            stays.
        changes_days: Days that [changes](changes.md) of pages and records are kept.
        page_versions: Versions of each page, the current one included; 1 keeps only the
            current one.

    """

    observations_days: float = Field(default=90.0, ge=1, le=36500, allow_inf_nan=False)
    ledger_days: float = Field(default=60.0, ge=31, le=36500, allow_inf_nan=False)
    runs_days: float = Field(default=90.0, ge=1, le=36500, allow_inf_nan=False)
    messages_days: float = Field(default=30.0, ge=1, le=36500, allow_inf_nan=False)
    summaries: int = Field(default=20, ge=1, le=10_000)
    changes_days: float = Field(default=90.0, ge=1, le=36500, allow_inf_nan=False)
    page_versions: int = Field(default=5, ge=1, le=1000)
