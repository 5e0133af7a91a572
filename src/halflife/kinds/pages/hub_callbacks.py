"""Callbacks of hubs: verification and content (W3C WebSub, sections 5.3 and 7).

A hub that verifies a subscription gets its challenge back only if we recently sent that
hub a request for that topic. Content that it sends later is a hint that the topic has
changed, if it is signed with the secret of the subscription and is new. The content
itself is discarded.
"""

import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from halflife.config import SourceConfig
from halflife.kinds.pages import pushed_hints
from halflife.kinds.pages.hubs import LEASE
from halflife.kinds.pages.settings import PagesConfig
from halflife.readers.hub_links import find_hub
from halflife.stores import NoteBook, Store
from halflife.stores.notes.pushed_hints import HUB_HINTS
from halflife.stores.notes.subscriptions import (
    ANNOUNCEMENTS,
    CONFIRMATIONS,
    SUBSCRIPTIONS,
    Confirmation,
    Confirmations,
    Subscription,
)

PENDING = 1.0  # days within which a hub may verify a subscription
SHORTEST, LONGEST = 1.0 / 288.0, 30.0  # bounds of a lease, in days
LONGEST_CHALLENGE = 1024  # characters
REMEMBERED = 32  # digests of a topic's contents that are stored
MOST_ANNOUNCED = 1000  # announced pages of a source that wait for its next turn
_SIGNED = re.compile(r"(sha1|sha256|sha384|sha512)=([0-9a-fA-F]{40,128})")


def find(
    store: NoteBook, sources: Iterable[SourceConfig], token: str
) -> tuple[str, Subscription] | None:
    """Return the source and the subscription that a callback belongs to."""
    for source in PagesConfig.among(sources):
        subscription = (SUBSCRIPTIONS.load(store, source.name) or {}).get(token)
        if subscription is not None:
            return source.name, subscription
    return None


def confirm(
    store: NoteBook,
    source: str,
    subscription: Subscription,
    query: Mapping[str, str],
    now: float,
) -> str | None:
    """Return the answer to a hub that verifies a subscription; None to reject it.

    A hub that denies the subscription (``denied``) gets an empty answer.
    """
    mode, challenge = query.get("hub.mode", ""), query.get("hub.challenge", "")
    if query.get("hub.topic") != subscription.topic:
        return None
    if mode == "denied":
        _note(store, source, subscription.token, Confirmation(mode, now))
        return ""
    wanted = "subscribe" if subscription.wanted else "unsubscribe"
    pending = subscription.tries > 0 and 0.0 <= now - subscription.asked <= PENDING
    if mode != wanted or not pending or not 0 < len(challenge) <= LONGEST_CHALLENGE:
        return None
    until = (
        now + _lease(query.get("hub.lease_seconds", "")) if subscription.wanted else now
    )
    _note(store, source, subscription.token, Confirmation(mode, now, until))
    return challenge


def _lease(seconds: str) -> float:
    """Return the days of a lease, within bounds; the default if it cannot be read.

    >>> _lease("864000"), _lease("nonsense"), _lease("1")
    (10.0, 10.0, 0.003472222222222222)
    """
    is_number = seconds.isascii() and seconds.isdecimal() and len(seconds) < 12
    days = int(seconds) / 86400.0 if is_number else LEASE
    return min(max(days, SHORTEST), LONGEST)


def _note(store: NoteBook, source: str, token: str, reply: Confirmation) -> None:
    """Store the reply of a hub; drop the replies for ended subscriptions."""
    replies: Confirmations = CONFIRMATIONS.load(store, source) or {}
    before = replies.get(token)
    if before is not None:
        reply = replace(reply, seen=before.seen)
    mine = SUBSCRIPTIONS.load(store, source) or {}
    kept = {name: old for name, old in replies.items() if name in mine}
    CONFIRMATIONS.save(store, {**kept, token: reply}, source)


def signature(
    subscription: Subscription, header: str
) -> tuple["hmac.HMAC", str] | None:
    """Return the HMAC of a content to compute, and the value that it must have.

    None if the header has no signature of a known kind.

    >>> subscription = Subscription("k", "t", "h", "http://a.example/websub/x", "key")
    >>> computed, wanted = signature(subscription, "sha1=" + "0" * 40)
    >>> computed.name, signature(subscription, "md5=" + "0" * 32)
    ('hmac-sha1', None)
    """
    found = _SIGNED.fullmatch(header.strip())
    if found is None:
        return None
    return hmac.new(subscription.secret.encode(), digestmod=found[1]), found[2].lower()


def names_another_topic(subscription: Subscription, headers: Mapping[str, str]) -> bool:
    """Return whether the headers of a content name another topic."""
    link = headers.get("link", "")
    named = find_hub(
        subscription.topic, {"Link": f"<{subscription.hub}>; rel=hub, {link}"}, b""
    )
    return named is not None and named.topic != subscription.topic


def announce(
    store: Store, source: str, subscription: Subscription, digest: str, now: float
) -> bool:
    """Record a signed content from a hub; return whether it was new.

    It is ignored if the subscription is not confirmed or has ended, or if the same
    content came before: anybody who saw a content can send it again.
    """
    replies: Confirmations = CONFIRMATIONS.load(store, source) or {}
    reply = replies.get(subscription.token)
    if reply is None or not reply.is_active(now) or digest in reply.seen:
        return False
    seen = (*reply.seen, digest)[-REMEMBERED:]
    CONFIRMATIONS.save(
        store, {**replies, subscription.token: replace(reply, seen=seen)}, source
    )
    pushed_hints.keep(store, source, [subscription.key], now, HUB_HINTS)
    waiting = ANNOUNCEMENTS.load(store, source) or {}
    if subscription.key in waiting or len(waiting) < MOST_ANNOUNCED:
        ANNOUNCEMENTS.save(store, {**waiting, subscription.key: now}, source)
    return True
