"""What hubs tell us, and what of it is believed (W3C WebSub, sections 5.3 and 7).

A hub that wants to know whether a subscription is meant gets its challenge back only
if we asked that hub for that topic a short time ago. What it sends later is a hint that
the topic has changed, if it is signed with the secret of the subscription and was not
sent before; whatever else it holds is thrown away.
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

PENDING = 1.0  # days that a hub may take to ask whether a subscription is meant
SHORTEST, LONGEST = 1.0 / 288.0, 30.0  # days of a lease that are believed
LONGEST_CHALLENGE = 1024  # characters
REMEMBERED = 32  # contents of a topic that are known again
MOST_ANNOUNCED = 1000  # pages of a source that wait for its next turn
_SIGNED = re.compile(r"(sha1|sha256|sha384|sha512)=([0-9a-fA-F]{40,128})")


def find(
    store: NoteBook, sources: Iterable[SourceConfig], token: str
) -> tuple[str, Subscription] | None:
    """Return the source and the subscription that a callback belongs to."""
    for source in PagesConfig.among(sources):
        one = (SUBSCRIPTIONS.load(store, source.name) or {}).get(token)
        if one is not None:
            return source.name, one
    return None


def confirm(
    store: NoteBook,
    source: str,
    one: Subscription,
    asked: Mapping[str, str],
    now: float,
) -> str | None:
    """Return what to answer a hub that asks whether we meant it; None: we did not.

    A hub that says that it will not have us (``denied``) gets an empty answer.
    """
    mode, challenge = asked.get("hub.mode", ""), asked.get("hub.challenge", "")
    if asked.get("hub.topic") != one.topic:
        return None
    if mode == "denied":
        _note(store, source, one.token, Confirmation(mode, now))
        return ""
    wanted = "subscribe" if one.wanted else "unsubscribe"
    pending = one.tries > 0 and 0.0 <= now - one.asked <= PENDING
    if mode != wanted or not pending or not 0 < len(challenge) <= LONGEST_CHALLENGE:
        return None
    until = now + _lease(asked.get("hub.lease_seconds", "")) if one.wanted else now
    _note(store, source, one.token, Confirmation(mode, now, until))
    return challenge


def _lease(seconds: str) -> float:
    """Return the days of a lease; what no hub would mean is made sensible.

    >>> _lease("864000"), _lease("nonsense"), _lease("1")
    (10.0, 10.0, 0.003472222222222222)
    """
    known = seconds.isascii() and seconds.isdecimal() and len(seconds) < 12
    days = int(seconds) / 86400.0 if known else LEASE
    return min(max(days, SHORTEST), LONGEST)


def _note(store: NoteBook, source: str, token: str, said: Confirmation) -> None:
    """Write down what a hub said; what it said of ended subscriptions is forgotten."""
    known: Confirmations = CONFIRMATIONS.load(store, source) or {}
    before = known.get(token)
    if before is not None:
        said = replace(said, seen=before.seen)
    mine = SUBSCRIPTIONS.load(store, source) or {}
    kept = {name: one for name, one in known.items() if name in mine}
    CONFIRMATIONS.save(store, {**kept, token: said}, source)


def signature(one: Subscription, header: str) -> tuple["hmac.HMAC", str] | None:
    """Return what computes the signature of a content, and what it must come to.

    None if nothing is signed in a way that we know.

    >>> one = Subscription("k", "t", "h", "http://a.example/websub/x", "key")
    >>> computed, wanted = signature(one, "sha1=" + "0" * 40)
    >>> computed.name, signature(one, "md5=" + "0" * 32)
    ('hmac-sha1', None)
    """
    found = _SIGNED.fullmatch(header.strip())
    if found is None:
        return None
    return hmac.new(one.secret.encode(), digestmod=found[1]), found[2].lower()


def names_another_topic(one: Subscription, headers: Mapping[str, str]) -> bool:
    """Say whether a content is said to be of another topic than ours."""
    link = headers.get("link", "")
    found = find_hub(one.topic, {"Link": f"<{one.hub}>; rel=hub, {link}"}, b"")
    return found is not None and found.topic != one.topic


def announce(
    store: Store, source: str, one: Subscription, digest: str, now: float
) -> bool:
    """Take in that a hub sent a signed content; say whether it was news.

    It is none if the subscription is not confirmed or has ended, or if the same content
    came before: whoever saw one may send it again.
    """
    known: Confirmations = CONFIRMATIONS.load(store, source) or {}
    said = known.get(one.token)
    if said is None or not said.is_active(now) or digest in said.seen:
        return False
    seen = (*said.seen, digest)[-REMEMBERED:]
    CONFIRMATIONS.save(store, {**known, one.token: replace(said, seen=seen)}, source)
    pushed_hints.keep(store, source, [one.key], now, HUB_HINTS)
    waiting = ANNOUNCEMENTS.load(store, source) or {}
    if one.key in waiting or len(waiting) < MOST_ANNOUNCED:
        ANNOUNCEMENTS.save(store, {**waiting, one.key: now}, source)
    return True
