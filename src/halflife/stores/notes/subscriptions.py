"""Subscriptions at hubs: what was requested, and what the hubs have confirmed.

Two programs write. The one that fetches sends requests to hubs (``SUBSCRIPTIONS``);
the one that serves gets their calls (``CONFIRMATIONS``, ``ANNOUNCEMENTS``). Each has
its own notes, so that neither overwrites those of the other.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from halflife.models.validator_trust import TrustRecord
from halflife.stores.notes import NoteKind, as_rows, finite, moments, text, texts

NEVER = -1.0  # a time before all times, in days


@dataclass(frozen=True, slots=True)
class Subscription:
    """A page whose changes a hub shall announce.

    Attributes:
        key: The page.
        topic: The address under which the hub knows it.
        hub: The hub.
        callback: The address that the hub calls; it ends in an unguessable token.
        secret: Signs what the hub sends.
        wanted: Whether it is wanted; otherwise it is to be ended.
        asked: When the hub last got a request, in days.
        tries: Requests to the hub since it last confirmed.

    """

    key: str
    topic: str
    hub: str
    callback: str
    secret: str = field(repr=False)
    wanted: bool = True
    asked: float = NEVER
    tries: int = 0

    @property
    def token(self) -> str:
        """The last part of the callback, which identifies the subscription."""
        return self.callback.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The last answer of a hub to a subscription.

    Attributes:
        mode: ``subscribe``, ``unsubscribe`` or ``denied``.
        at: When, in days.
        until: When the lease ends, in days.
        seen: Digests of the last contents that it sent.

    """

    mode: str
    at: float
    until: float = NEVER
    seen: tuple[str, ...] = ()

    def is_active(self, now: float) -> bool:
        """Return whether the hub sends updates."""
        return self.mode == "subscribe" and now < self.until


Subscriptions: TypeAlias = dict[str, Subscription]  # by token
Confirmations: TypeAlias = dict[str, Confirmation]  # by token
HubTrust: TypeAlias = dict[str, TrustRecord]  # by host of the hub


def _read(rows: list[Any]) -> Subscriptions:
    subscriptions = [
        Subscription(
            text(row["key"]),
            text(row["topic"]),
            text(row["hub"]),
            text(row["callback"]),
            text(row["secret"]),
            bool(row["wanted"]),
            finite(row["asked"]),
            int(row["tries"]),
        )
        for row in rows
    ]
    return {subscription.token: subscription for subscription in subscriptions}


def _read_confirmations(rows: Mapping[str, Any]) -> Confirmations:
    return {
        text(token): Confirmation(
            text(row["mode"]),
            finite(row["at"]),
            finite(row["until"]),
            texts(row["seen"]),
        )
        for token, row in rows.items()
    }


def _read_trust(rows: Mapping[str, Any]) -> HubTrust:
    return {text(hub): TrustRecord(*map(finite, row)) for hub, row in rows.items()}


SUBSCRIPTIONS = NoteKind(
    "subscriptions",
    1,
    lambda subscriptions: as_rows(subscriptions.values()),
    _read,
)
CONFIRMATIONS = NoteKind(
    "hub_confirmations",
    1,
    lambda confirmations: {t: asdict(one) for t, one in confirmations.items()},
    _read_confirmations,
)
ANNOUNCEMENTS = NoteKind("announcements", 1, dict[str, float], moments)
HUB_TRUST = NoteKind(
    "hub_trust",
    1,
    lambda trust: {hub: [r.truths, r.lies, r.at] for hub, r in trust.items()},
    _read_trust,
)
