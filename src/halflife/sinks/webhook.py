"""A sink that posts changes to a web address, signed, with one key for each batch.

It uses the same gate as all requests: addresses that are not public are refused unless
``allow`` names them.
"""

import asyncio
import hashlib
import hmac
import json
import time
from typing import TYPE_CHECKING, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from halflife.config.sinks import SinkConfig
from halflife.config.values import Cidr, FromEnv, Line, Secret, value_of
from halflife.core.errors import SourceError, UsageError
from halflife.sinks.event import as_row
from halflife.sinks.protocol import Batch, ChangeRefusedError, DeliveryError, Outlet

if TYPE_CHECKING:
    from halflife.net.access import Access

SIGNATURE, SIGNED_AT = "X-Halflife-Signature", "X-Halflife-Time"
KEY = "Idempotency-Key"
_NEVER = {400, 413, 422}  # the receiver rejects the body itself
_NO_CONTACT = "no contact given"


class WebhookConfig(SinkConfig):
    """The address, headers and signing secret of a receiver.

    Attributes:
        kind: `webhook`.
        url: The address. An address with a token is a secret: `url = {env =
            "VARIABLE"}`.
        allow: Networks that may be reached although they are not public.
        headers: Headers to send; a value is a string or `{env = "VARIABLE"}`.
        secret: `{env = "VARIABLE"}` signs each batch (HMAC-SHA256).
        batch: The most changes that are delivered together.
        timeout: Seconds for one attempt.

    """

    kind: Literal["webhook"]
    url: Line | FromEnv = Field(repr=False)
    allow: tuple[Cidr, ...] = Field(default=(), strict=False)
    headers: dict[str, Line | FromEnv] = Field(default_factory=dict, repr=False)
    secret: FromEnv | None = Field(default=None, repr=False)
    batch: int = Field(default=100, ge=1, le=10_000)
    timeout: float = Field(default=10.0, gt=0, le=3600, allow_inf_nan=False)

    @model_validator(mode="after")
    def _address_is_usable(self) -> Self:
        if isinstance(self.url, str):
            parts = urlsplit(self.url)
            if parts.scheme not in {"http", "https"} or not parts.hostname:
                raise ValueError("url must be an address, such as https://host/path")
            if "@" in parts.netloc:
                raise ValueError(
                    'url holds a password; write url = {env = "VARIABLE"} instead'
                )
        return self

    def check_secrets(self) -> None:
        """Raise ``ConfigError`` if a variable that it needs is not set."""
        self.address()
        self.sent_along()
        self.signing_key()

    def address(self) -> Secret:
        """Return the address to post to."""
        return value_of(self.url, f"sink {self.name}: url")

    def sent_along(self) -> dict[str, Secret]:
        """Return the headers to send."""
        values = self.headers.items()
        return {n: value_of(v, f"sink {self.name}: header {n}") for n, v in values}

    def signing_key(self) -> Secret | None:
        """Return the signing secret; None if nothing is signed."""
        if self.secret is None:
            return None
        return self.secret.look_up(f"sink {self.name}: secret")


class _Unmetered:
    """A purse for requests to receivers, which do not count against the budget."""

    @property
    def left(self) -> int:
        """Requests that can still be sent."""
        return 1

    def pay(self, requests: int = 1) -> None:
        """Let a request pass."""


class Webhook:
    """Posts each batch as one JSON object; an answer of 2xx confirms its arrival.

    Args:
        settings: The address, headers and secret.
        outlet: Has the contact that requests name.

    """

    Settings: ClassVar[type[SinkConfig]] = WebhookConfig

    def __init__(self, settings: WebhookConfig, outlet: Outlet) -> None:
        self._settings, self._contact = settings, outlet.contact or _NO_CONTACT

    def open(self) -> None:
        """Read the variables of the environment."""
        self._settings.check_secrets()

    def deliver(self, batch: Batch) -> None:
        """Post the changes."""
        try:
            asyncio.run(self._post(batch))
        except UsageError:  # its words would show the address
            raise DeliveryError("its address cannot be used") from None
        except SourceError as error:
            words = str(error).replace("the source's allow", "its allow")
            raise DeliveryError(words) from None
        except TimeoutError:
            limit = self._settings.timeout
            raise DeliveryError(f"no answer within {limit:g} s") from None

    def close(self) -> None:
        """Do nothing: there is no connection between batches."""

    def cancel(self) -> None:
        """Do nothing: the thread ends with the program."""

    async def _post(self, batch: Batch) -> None:
        from halflife.net.access import GateSettings  # noqa: PLC0415  (slow)
        from halflife.net.gate import Gate  # noqa: PLC0415
        from halflife.stores.memory import MemoryStore  # noqa: PLC0415

        address, limit = self._settings.address().reveal(), self._settings.timeout
        body = _body(batch)
        headers = {"Content-Type": "application/json", KEY: batch.key}
        headers |= signature(self._settings.signing_key(), body, time.time())
        manners = GateSettings(self._contact, delay=0.0, deadline=limit, patience=0.0)
        gate = Gate(manners, hosts=MemoryStore(), clock=lambda: time.time() / 86400.0)
        access = self._access(address)
        async with gate, asyncio.timeout(limit):
            answer = await gate.post(
                address, body, _Unmetered(), access=access, headers=headers
            )
        if not 200 <= answer.status < 300:
            raise _failure(answer.status, answer.retry_after)

    def _access(self, address: str) -> "Access":
        from halflife.net.access import Access, Credentials  # noqa: PLC0415
        from halflife.net.addresses import networks  # noqa: PLC0415

        headers = {
            n: value.reveal() for n, value in self._settings.sent_along().items()
        }
        secret = {
            n for n, v in self._settings.headers.items() if not isinstance(v, str)
        }
        private = {n: value for n, value in headers.items() if n in secret}
        return Access(
            allow=networks(self._settings.allow),
            credentials=Credentials.of(address, private) if private else None,
            headers={n: value for n, value in headers.items() if n not in secret},
            robots=False,
        )


def _body(batch: Batch) -> bytes:
    fields = {
        "sink": batch.sink,
        "first": batch.first,
        "last": batch.last,
        "changes": [as_row(change) for change in batch.changes],
    }
    return json.dumps(fields).encode()


def signature(key: Secret | None, body: bytes, now: float) -> dict[str, str]:
    """Return the headers by which a receiver verifies the sender and the time.

    ``now`` is in seconds since the epoch.
    """
    if key is None:
        return {}
    moment = str(round(now))
    text = moment.encode() + b"." + body
    signed = hmac.new(key.reveal().encode(), text, hashlib.sha256)
    return {SIGNED_AT: moment, SIGNATURE: f"sha256={signed.hexdigest()}"}


def _failure(status: int, retry_after: str) -> DeliveryError:
    if status in _NEVER:
        return ChangeRefusedError(f"it answered {status}")
    if 300 <= status < 400:
        return DeliveryError("it redirects; give the address that it leads to")
    wait = float(retry_after[:9]) if retry_after[:9].isdecimal() else 0.0
    return DeliveryError(f"it answered {status}", wait)
