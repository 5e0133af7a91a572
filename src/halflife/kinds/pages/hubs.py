"""Hubs that tell us when pages change: a subscriber of W3C WebSub.

A page that names a hub is subscribed to there, if the settings say where hubs reach us
(``[serve] callback``). The hub then asks ``halflife serve`` whether that is meant, and
from then on tells it of each change (``hub_callbacks``). What a hub tells is a hint
that the page has changed: it is fetched in the next turn, as long as the pages that its
hub announced had changed mostly. What the hub sends is not taken for the page.
"""

import secrets
from collections.abc import Callable, Mapping
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

MOST = 200  # subscriptions of a source: each costs a request now and then
MOST_ASKED = 10  # requests to hubs in one turn
LEASE = 10.0  # days that we ask for, as most hubs give
RENEWED = 1.0 / 3.0  # of a lease that is left when it is renewed
FIRST_WAIT, LONGEST_WAIT = 1.0 / 24.0, 7.0  # days until a hub is asked again
DENIED = 7.0  # days until a hub that refused is asked again
DOUBTED = 2.0 / 3.0  # the chance of no change above which no page is fetched at once
ANNOUNCED = "its hub says that it has changed"
PATH = "/websub/"  # below the callback
_HOPS = 3  # redirects of a hub that are followed
_NAME = 24  # bytes of chance in the name of a callback, and in a secret
_SAME_METHOD = frozenset({307, 308})


class HubMemory:
    """Which hubs the pages of a source name.

    Args:
        store: Where subscriptions are kept.
        source: The source.
        callback: Where hubs reach us.
        draw: Returns a text that nobody can guess, of so many bytes of chance.

    """

    def __init__(
        self,
        store: NoteBook,
        source: str,
        callback: str,
        draw: Callable[[int], str] = secrets.token_urlsafe,
    ) -> None:
        self._store, self._source, self._draw = store, source, draw
        self._below = callback.rstrip("/") + PATH
        self._found: dict[str, tuple[str, str] | None] = {}  # by page: hub, topic

    def learn(self, key: str, answer: Answer) -> None:
        """Take in which hub a page names now, if any."""
        links = find_hub(answer.url, answer.headers, answer.body)
        self._found[key] = None if links is None else (links.hub, links.topic)

    def save(self) -> None:
        """Write down what is to be subscribed to, and what is not any more."""
        if not self._found:
            return
        before = SUBSCRIPTIONS.load(self._store, self._source) or {}
        after = self._wished(before)
        self._found = {}
        if after != before:
            SUBSCRIPTIONS.save(self._store, after, self._source)

    def _wished(self, before: Subscriptions) -> Subscriptions:
        kept, after = set[str](), dict(before)
        for token, one in before.items():
            named = self._found.get(one.key, (one.hub, one.topic))
            here = one.callback.startswith(self._below)
            if one.wanted and (named != (one.hub, one.topic) or not here):
                after[token] = replace(one, wanted=False, tries=0)
            elif one.wanted:
                kept.add(one.key)
        for key, named in self._found.items():
            if named is not None and key not in kept and len(kept) < MOST:
                kept.add(key)
                where = self._below + self._draw(_NAME)
                one = Subscription(
                    key, named[1], named[0], where, secret=self._draw(_NAME)
                )
                after[one.token] = one
        return after


def due(one: Subscription, said: Confirmation | None, now: float) -> str:
    """Return what a hub is to be asked for: a mode, or nothing.

    A hub that did not confirm is asked again after an hour, two, four and so on, a
    week at most. A clock that was set back does not hold anything up.
    """
    confirmed = said is not None and said.at >= one.asked
    tries = 0 if confirmed else one.tries
    wait = min(FIRST_WAIT * 2.0 ** min(tries - 1, 20), LONGEST_WAIT) if tries else 0.0
    if 0.0 <= now - one.asked < wait:
        return ""
    active = said is not None and said.is_active(now)
    if not one.wanted:
        return "unsubscribe" if active else ""
    if said is None or not active:
        refused = said is not None and said.mode == "denied"
        late = said is not None and now - said.at >= DENIED
        return "" if refused and not late else "subscribe"
    ends = said.until - now < RENEWED * (said.until - said.at)
    return "subscribe" if ends else ""


@dataclass(slots=True)
class HubDesk:
    """Subscribes to pages at their hubs, and hears what these announced.

    Attributes:
        store: Where subscriptions are kept.
        gate: The way out.
        terms: On what terms each source is asked.
        first: Pages to fetch before all others: their hubs announced a change.
        open: Pages that hubs announced and that were not fetched since, by hub.
        trust: How often pages that a hub announced had changed.

    """

    store: Store
    gate: Gate
    terms: Mapping[str, Access]
    first: set[str] = field(default_factory=set)
    open: dict[str, str] = field(default_factory=dict)
    trust: dict[str, TrustRecord] = field(default_factory=dict)

    async def begin_turn(self, purse: Purse, now: float) -> None:
        """Hear what was announced; ask hubs for what is due."""
        asked = 0
        for source in self.terms:
            subscriptions = SUBSCRIPTIONS.load(self.store, source)
            if not subscriptions:
                continue
            self._hear(source, subscriptions, now)
            left = min(MOST_ASKED - asked, purse.left)
            asked += await self._ask_hubs(source, subscriptions, purse, left)

    def _hear(self, source: str, known: Subscriptions, now: float) -> None:
        announced = ANNOUNCEMENTS.load(self.store, source)
        if not announced:
            return
        ANNOUNCEMENTS.remove(self.store, source)
        self.trust = self.trust or HUB_TRUST.load(self.store) or {}
        hubs = {one.key: host_of(one.hub) for one in known.values()}
        for key in announced.keys() & hubs.keys():
            self.open[key] = hubs[key]
            record = self.trust.get(hubs[key], TrustRecord())
            if record.lie_chance(now) <= DOUBTED:
                self.first.add(key)

    def learn(self, key: str, now: float, *, changed: bool) -> None:
        """Take in whether a page that its hub announced had changed."""
        hub = self.open.pop(key, None)
        if hub is None:
            return
        self.first.discard(key)
        record = self.trust.get(hub, TrustRecord())
        self.trust[hub] = record.with_truth(now) if changed else record.with_lie(now)
        HUB_TRUST.save(self.store, self.trust)

    async def _ask_hubs(
        self, source: str, known: Subscriptions, purse: Purse, most: int
    ) -> int:
        """Ask for what is due; a subscription is written down before it is sent."""
        said = CONFIRMATIONS.load(self.store, source) or {}
        asked, before = 0, dict(known)
        for token, kept in before.items():
            now, mine = self.gate.clock(), self.store.source_of(kept.key) == source
            one = kept if mine else replace(kept, wanted=False)
            told = said.get(token)
            mode = due(one, told, now)
            if not mode and not one.wanted and not (told and told.is_active(now)):
                known.pop(token)
                continue
            if not mode or asked >= most:
                continue
            confirmed = told is not None and told.at >= one.asked
            tries = 1 if confirmed else one.tries + 1
            known[token] = replace(one, asked=now, tries=tries)
            SUBSCRIPTIONS.save(self.store, known, source)
            asked += 1
            if not await self._ask(source, known[token], mode, purse):
                break
        if known != before:
            SUBSCRIPTIONS.save(self.store, known, source)
        return asked

    async def _ask(
        self, source: str, one: Subscription, mode: str, purse: Purse
    ) -> bool:
        """Send a request to a hub; say whether there is budget for another one."""
        wish = {
            "hub.callback": one.callback,
            "hub.mode": mode,
            "hub.topic": one.topic,
        }
        if mode == "subscribe":
            seconds = str(round(LEASE * 86400.0))
            wish |= {"hub.lease_seconds": seconds, "hub.secret": one.secret}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        where, body = one.hub, urlencode(wish).encode()
        try:
            for _ in range(_HOPS):
                answer = await self.gate.post(
                    where, body, purse, access=self.terms[source], headers=headers
                )
                leads = answer.headers.get("Location", "")
                if answer.status not in _SAME_METHOD or not leads:
                    break
                where = resolve(where, leads)
        except BudgetSpent:
            return False
        except (SourceError, UsageError):
            pass  # it is asked again later, as if it had not confirmed
        return True


def announced_first(inner: Policy, desk: HubDesk | None) -> Policy:
    """Return a policy that begins with what hubs have announced."""
    return inner if desk is None else urgent_first(inner, desk.first, ANNOUNCED)


def unconfirmed(store: NoteBook, source: str) -> list[str]:
    """Return the hosts of hubs that were asked more than once and did not confirm."""
    said, found = CONFIRMATIONS.load(store, source) or {}, set[str]()
    for token, one in (SUBSCRIPTIONS.load(store, source) or {}).items():
        told = said.get(token)
        silent = told is None or told.at < one.asked
        if one.wanted and one.tries > 1 and silent:
            found.add(host_of(one.hub))
    return sorted(found)
