"""Subscriptions at hubs: what was asked for, and what the hubs have confirmed.

Two programs write: whoever fetches asks hubs (``SUBSCRIPTIONS``), whoever serves hears
from them (``CONFIRMATIONS``, ``ANNOUNCEMENTS``). Each has notes of its own, so that
neither undoes what the other wrote.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from halflife.models.validator_trust import TrustRecord
from halflife.stores.notes import NoteKind, finite, text, texts

NEVER = -1.0  # a time before all times, in days


@dataclass(frozen=True, slots=True)
class Subscription:
    """A page of which a hub shall tell us when it changes.

    Attributes:
        key: The page.
        topic: The address under which the hub knows it.
        hub: The hub.
        callback: Where the hub reaches us; it ends in a name nobody can guess.
        secret: Signs what the hub sends us.
        wanted: Whether we want it; otherwise it is to be ended.
        asked: When the hub was last asked, in days.
        tries: How often it was asked since it last confirmed.

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
        """The name in the callback by which it is known."""
        return self.callback.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What a hub has last said of a subscription.

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
        """Say whether the hub sends us what is new."""
        return self.mode == "subscribe" and now < self.until


Subscriptions: TypeAlias = dict[str, Subscription]  # by token
Confirmations: TypeAlias = dict[str, Confirmation]  # by token
HubTrust: TypeAlias = dict[str, TrustRecord]  # by host of the hub


def _read(rows: list[Any]) -> Subscriptions:
    found = [
        Subscription(
            text(one["key"]),
            text(one["topic"]),
            text(one["hub"]),
            text(one["callback"]),
            text(one["secret"]),
            bool(one["wanted"]),
            finite(one["asked"]),
            int(one["tries"]),
        )
        for one in rows
    ]
    return {one.token: one for one in found}


def _read_confirmations(rows: Mapping[str, Any]) -> Confirmations:
    return {
        text(token): Confirmation(
            text(one["mode"]),
            finite(one["at"]),
            finite(one["until"]),
            texts(one["seen"]),
        )
        for token, one in rows.items()
    }


def _read_trust(rows: Mapping[str, Any]) -> HubTrust:
    return {text(hub): TrustRecord(*map(finite, row)) for hub, row in rows.items()}


def _read_announcements(row: Mapping[str, Any]) -> dict[str, float]:
    return {text(key): finite(at) for key, at in row.items()}


SUBSCRIPTIONS = NoteKind(
    "subscriptions",
    1,
    lambda known: [asdict(one) for one in known.values()],
    _read,
)
CONFIRMATIONS = NoteKind(
    "hub_confirmations",
    1,
    lambda known: {token: asdict(one) for token, one in known.items()},
    _read_confirmations,
)
ANNOUNCEMENTS = NoteKind("announcements", 1, dict[str, float], _read_announcements)
HUB_TRUST = NoteKind(
    "hub_trust",
    1,
    lambda known: {hub: [one.truths, one.lies, one.at] for hub, one in known.items()},
    _read_trust,
)
