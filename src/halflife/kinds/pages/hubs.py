"""Subscriptions to hubs that announce changes of pages: a W3C WebSub subscriber.

A page that names a hub is subscribed to there, if the settings have an address at which
hubs reach us (``[serve] callback``). The hub verifies the subscription with
``halflife serve`` and then announces each change (``hub_callbacks``). An announcement
is a hint: the page is fetched in the next turn, as long as most pages announced by its
hub had changed. The content that the hub sends is not used as the page.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from halflife.core.budget import Purse
from halflife.core.errors import BudgetSpent, SourceError, UsageError
from halflife.models.validator_trust import TrustRecord
from halflife.net.access import Access, Answer
from halflife.net.addresses import host_of, resolve
from halflife.net.gate import Gate
from halflife.policies import Policy
from halflife.policies.urgent import urgent_first
from halflife.readers.hub_links import find_hub
from halflife.stores import NoteBook, Store
from halflife.stores.notes.subscriptions import (
    ANNOUNCEMENTS,
    CONFIRMATIONS,
    HUB_TRUST,
    SUBSCRIPTIONS,
    Confirmation,
    Subscription,
    Subscriptions,
)

MOST = 200  # subscriptions of a source: each costs requests to renew
MOST_ASKED = 10  # requests to hubs in one turn
LEASE = 10.0  # requested days, as most hubs grant
RENEWED = 1.0 / 3.0  # share of a lease that is left when it is renewed
FIRST_WAIT, LONGEST_WAIT = 1.0 / 24.0, 7.0  # days until a request is repeated
DENIED = 7.0  # days until a denied request is repeated
DOUBTED = 2.0 / 3.0  # chance of a false announcement above which a hub is not trusted
ANNOUNCED = "its hub says that it has changed"
PATH = "/websub/"  # under the address of the callback
_HOPS = 3  # redirects of a hub that are followed
_NAME = 24  # random bytes in the name of a callback, and in a secret
_SAME_METHOD = frozenset({307, 308})


class HubMemory:
    """Which hubs the pages of a source name.

    Args:
        store: Where subscriptions are kept.
        source: The source.
        callback: The address at which hubs reach us.

    """

    def __init__(self, store: NoteBook, source: str, callback: str) -> None:
        self._store, self._source = store, source
        self._below = callback.rstrip("/") + PATH
        self._found: dict[str, tuple[str, str] | None] = {}  # by page: hub, topic

    def learn(self, key: str, answer: Answer) -> None:
        """Record which hub a page names now, if any."""
        links = find_hub(answer.url, answer.headers, answer.body)
        self._found[key] = None if links is None else (links.hub, links.topic)

    def save(self) -> None:
        """Store the subscriptions to make and those to end."""
        if not self._found:
            return
        before = SUBSCRIPTIONS.load(self._store, self._source) or {}
        after = self._updated(before)
        self._found = {}
        if after != before:
            SUBSCRIPTIONS.save(self._store, after, self._source)

    def _updated(self, before: Subscriptions) -> Subscriptions:
        kept, after = set[str](), dict(before)
        for token, subscription in before.items():
            named = self._found.get(
                subscription.key, (subscription.hub, subscription.topic)
            )
            here = subscription.callback.startswith(self._below)
            if subscription.wanted and (
                named != (subscription.hub, subscription.topic) or not here
            ):
                after[token] = replace(subscription, wanted=False, tries=0)
            elif subscription.wanted:
                kept.add(subscription.key)
        for key, named in self._found.items():
            if named is not None and key not in kept and len(kept) < MOST:
                kept.add(key)
                where = self._below + secrets.token_urlsafe(_NAME)
                subscription = Subscription(
                    key, named[1], named[0], where, secret=secrets.token_urlsafe(_NAME)
                )
                after[subscription.token] = subscription
        return after


def due(subscription: Subscription, reply: Confirmation | None, now: float) -> str:
    """Return the mode of the request that is due at a hub; empty if none is.

    Without a confirmation the request is repeated after an hour, two, four and so on, a
    week at most. A clock that was set back does not delay it.
    """
    confirmed = reply is not None and reply.at >= subscription.asked
    tries = 0 if confirmed else subscription.tries
    wait = min(FIRST_WAIT * 2.0 ** min(tries - 1, 20), LONGEST_WAIT) if tries else 0.0
    if 0.0 <= now - subscription.asked < wait:
        return ""
    active = reply is not None and reply.is_active(now)
    if not subscription.wanted:
        return "unsubscribe" if active else ""
    if reply is None or not active:
        refused = reply is not None and reply.mode == "denied"
        late = reply is not None and now - reply.at >= DENIED
        return "" if refused and not late else "subscribe"
    ends = reply.until - now < RENEWED * (reply.until - reply.at)
    return "subscribe" if ends else ""


@dataclass(slots=True)
class HubSubscriber:
    """Subscribes to pages at their hubs, and reads what these announced.

    Attributes:
        store: Where subscriptions are kept.
        gate: The gate to the network.
        terms: How requests for each source are sent.
        first: Pages to fetch before all others: their hubs announced a change.
        open: The hubs of announced pages that were not fetched since, by page.
        trust: How often pages that a hub announced had changed.

    """

    store: Store
    gate: Gate
    terms: Mapping[str, Access]
    first: set[str] = field(default_factory=set)
    open: dict[str, str] = field(default_factory=dict)
    trust: dict[str, TrustRecord] = field(default_factory=dict)

    async def begin_turn(self, purse: Purse, now: float) -> None:
        """Read announcements; send the requests to hubs that are due."""
        sent = 0
        for source in self.terms:
            subscriptions = SUBSCRIPTIONS.load(self.store, source)
            if not subscriptions:
                continue
            self._read_announcements(source, subscriptions, now)
            left = min(MOST_ASKED - sent, purse.left)
            sent += await self._ask_hubs(source, subscriptions, purse, left)

    def _read_announcements(
        self, source: str, subscriptions: Subscriptions, now: float
    ) -> None:
        announced = ANNOUNCEMENTS.load(self.store, source)
        if not announced:
            return
        ANNOUNCEMENTS.remove(self.store, source)
        self.trust = self.trust or HUB_TRUST.load(self.store) or {}
        hubs = {
            subscription.key: host_of(subscription.hub)
            for subscription in subscriptions.values()
        }
        for key in announced.keys() & hubs.keys():
            self.open[key] = hubs[key]
            record = self.trust.get(hubs[key], TrustRecord())
            if record.lie_chance(now) <= DOUBTED:
                self.first.add(key)

    def learn(self, key: str, now: float, *, changed: bool) -> None:
        """Record whether a page that its hub announced had changed."""
        hub = self.open.pop(key, None)
        if hub is None:
            return
        self.first.discard(key)
        record = self.trust.get(hub, TrustRecord())
        self.trust[hub] = record.with_truth(now) if changed else record.with_lie(now)
        HUB_TRUST.save(self.store, self.trust)

    async def _ask_hubs(
        self, source: str, subscriptions: Subscriptions, purse: Purse, most: int
    ) -> int:
        """Send due requests; each subscription is stored before it is sent."""
        replies = CONFIRMATIONS.load(self.store, source) or {}
        sent, before = 0, dict(subscriptions)
        for token, kept in before.items():
            now, mine = self.gate.clock(), self.store.source_of(kept.key) == source
            current = kept if mine else replace(kept, wanted=False)
            reply = replies.get(token)
            mode = due(current, reply, now)
            if not mode and not current.wanted and not (reply and reply.is_active(now)):
                subscriptions.pop(token)
                continue
            if not mode or sent >= most:
                continue
            confirmed = reply is not None and reply.at >= current.asked
            tries = 1 if confirmed else current.tries + 1
            subscriptions[token] = replace(current, asked=now, tries=tries)
            SUBSCRIPTIONS.save(self.store, subscriptions, source)
            sent += 1
            if not await self._ask(source, subscriptions[token], mode, purse):
                break
        if subscriptions != before:
            SUBSCRIPTIONS.save(self.store, subscriptions, source)
        return sent

    async def _ask(
        self, source: str, subscription: Subscription, mode: str, purse: Purse
    ) -> bool:
        """Send a request to a hub; return whether there is budget for another one."""
        fields = {
            "hub.callback": subscription.callback,
            "hub.mode": mode,
            "hub.topic": subscription.topic,
        }
        if mode == "subscribe":
            seconds = str(round(LEASE * 86400.0))
            fields |= {"hub.lease_seconds": seconds, "hub.secret": subscription.secret}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        url, body = subscription.hub, urlencode(fields).encode()
        try:
            for _ in range(_HOPS):
                answer = await self.gate.post(
                    url, body, purse, access=self.terms[source], headers=headers
                )
                location = answer.headers.get("Location", "")
                if answer.status not in _SAME_METHOD or not location:
                    break
                url = resolve(url, location)
        except BudgetSpent:
            return False
        except (SourceError, UsageError):
            pass  # the request is repeated later, as without a confirmation
        return True


def announced_first(inner: Policy, hubs: HubSubscriber | None) -> Policy:
    """Return a policy that starts with pages announced by hubs."""
    return inner if hubs is None else urgent_first(inner, hubs.first, ANNOUNCED)


def unconfirmed(store: NoteBook, source: str) -> list[str]:
    """Return the hosts of hubs that did not confirm repeated requests."""
    replies, hosts = CONFIRMATIONS.load(store, source) or {}, set[str]()
    for token, subscription in (SUBSCRIPTIONS.load(store, source) or {}).items():
        reply = replies.get(token)
        silent = reply is None or reply.at < subscription.asked
        if subscription.wanted and subscription.tries > 1 and silent:
            hosts.add(host_of(subscription.hub))
    return sorted(hosts)
