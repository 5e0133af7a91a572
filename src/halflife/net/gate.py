"""The only way to the network: every request goes through the gate."""

import asyncio
import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self

from aiohttp.abc import AbstractResolver
from multidict import CIMultiDict
from yarl import URL

from halflife.core.budget import Account, Purse
from halflife.core.errors import (
    BudgetSpent,
    Refused,
    SourceError,
    Unreachable,
)
from halflife.core.host import HostBook, HostState
from halflife.net.access import GET, PUBLIC, Access, Answer, GateSettings, Payload
from halflife.net.addresses import check_url, origin, parse_url
from halflife.net.claims import HostClaims
from halflife.net.cookies import CookieBook
from halflife.net.dates import SECONDS
from halflife.net.hops import check_repeated, in_words, target
from halflife.net.oauth import TokenBook, with_token
from halflife.net.pacing import Lane, after_answer, after_silence, closed_for
from halflife.net.parameters import with_parameters
from halflife.net.robots import LARGEST, RETRY, HostRules, after_robots, rules
from halflife.net.secrecy import Veil
from halflife.net.wire import Blameless, Call, HungUp, Offline, Reply, Transport, Wire

_NEGOTIATION = frozenset({"accept", "accept-language"})
_VALIDATORS = frozenset({
    "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since",
})  # fmt: skip
_PERMANENT = frozenset({301, 308})
_BUSY = 429
_UNKNOWN = 401
_ADDRESSES = 64  # of a source of which it is remembered whether they have moved
_RECEIPT = 1024  # bytes of the answer to what was sent that are read


class _Host:
    """What the gate knows of a host."""

    __slots__ = ("asking", "lane", "rules", "state", "why")

    def __init__(self, state: HostState, lane: Lane) -> None:
        self.state = state
        self.lane = lane
        self.why = "it was busy or failed"  # that it is left alone, as far as known
        self.rules: HostRules | None = None
        self.asking = asyncio.Lock()  # held while robots.txt is fetched


@dataclass(slots=True)
class _Trip:
    """What one call of ``get`` carries along from hop to hop.

    A header goes no further than it must: validators to the URL that was asked for,
    which is the one they came from; what may be a secret to the source's own origins,
    and no more once a redirect has left them. Secret parameters are in no address but
    the one that is sent.
    """

    purse: Purse
    access: Access
    headers: Mapping[str, str]
    left: float  # seconds, not counting those spent waiting for our turn
    asked: URL
    enough: int | None = None
    payload: Payload = GET
    cookies: CookieBook | None = None
    cookie: str = ""  # as it was last sent
    strayed: bool = False  # from the origin of the credentials
    astray: bool = False  # from the origins of the source
    failures: int = 0  # of the host, when it was last asked
    moved_to: str = ""

    def call(self, url: URL, begun: Callable[[], None]) -> tuple[URL, Call]:
        """Return where a hop is sent, and how."""
        headers, secret, address = self.headers, self.access.credentials, url
        if headers or secret or self.cookies:
            here, home = origin(url), self.access.home
            self.astray = self.astray or here not in (home or {origin(self.asked)})
            self.strayed = self.strayed or secret is None or secret.origin != here
            headers = {n: v for n, v in headers.items() if self._goes(n.lower(), url)}
        self.cookie = ""
        if self.cookies and not self.astray:
            self.cookie = self.cookies.header(self.access.name, url)
            headers = {**headers, "Cookie": self.cookie} if self.cookie else headers
        if secret and not self.strayed:
            headers = {**headers, **secret.headers}
            if secret.parameters:
                written = with_parameters(str(url), secret.parameters)
                address = URL(written, encoded=True)
        given, access = self.payload, self.access
        return address, Call(
            headers,
            access.allow,
            self.left,
            begun,
            self.enough,
            given.body,
            given.method,
            access.route,
            given.body is not None,
        )

    def seen(self, url: URL, reply: Reply) -> Reply:
        """Return a reply without secrets, under the address that was asked for."""
        answer, secret = reply.answer, self.access.credentials
        if self.cookies and not self.astray:
            self.cookies.take(self.access.name, url, answer.headers)
        veils = [secret.veil] if secret and not self.strayed else []
        if self.cookie:
            given = (one.partition("=")[2] for one in self.cookie.split("; "))
            veils.append(Veil(given, {}))
        for veil in veils:
            told = ((n, veil.hide(value)) for n, value in answer.headers.items())
            headers, body = CIMultiDict(told), veil.hide_bytes(answer.body)
            answer = replace(answer, url=str(url), body=body, headers=headers)
            reply = reply._replace(answer=answer, location=veil.hide(reply.location))
        return reply

    def _goes(self, name: str, url: URL) -> bool:
        """Say whether a header is sent to a URL."""
        if name in _VALIDATORS:
            return url == self.asked
        return name in _NEGOTIATION or not self.astray


class Gate:
    """The way out: who may be asked, how often, for how long, how much.

    ``clock`` gives the time in days; it decides how long a host stays closed.
    What must outlive the program is kept in ``hosts``. ``moves`` has the addresses
    that each source was asked for lately, and where each has moved for good; whoever
    keeps count of that takes it from there. With ``claims`` several programs share
    the hosts: one is asked only while it is claimed.
    """

    def __init__(
        self,
        settings: GateSettings,
        *,
        hosts: HostBook,
        clock: Callable[[], float],
        resolver: AbstractResolver | None = None,
        transport: Transport | None = None,
        claims: HostClaims | None = None,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.claims = claims
        self.moves: dict[str, dict[str, str]] = {}
        self._book = hosts
        self._wire = transport or Wire(settings, clock, resolver)
        self._hosts: dict[tuple[str, str | None, int | None], _Host] = {}
        self._lanes: dict[str, Lane] = {}
        self._account: Account | None = None
        self._cookies = CookieBook()
        self._tokens = TokenBook(clock)

    def on_account(self, account: Account) -> Self:
        """Return the same gate for somebody whose requests are counted and limited."""
        same = copy.copy(self)  # it shares the hosts, the lanes and the connections
        same._account = account  # noqa: SLF001  (it is one of us)
        return same

    def count_sent(self, requests: int) -> None:
        """Count requests that others sent, and paid for, in the name of this gate."""
        if self._account is not None:
            self._account.sent += requests

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._wire.close()

    async def get(
        self,
        url: str | URL,
        purse: Purse,
        *,
        access: Access = PUBLIC,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Fetch a URL, following redirects; every request is paid for first.

        Of the headers, those that may be secret stay on the source's own origins, and
        validators are sent to this very URL alone.

        Raise ``Refused`` when we must not ask, ``Unreachable`` when no full
        answer came, ``BudgetSpent`` when the purse is empty, ``UsageError`` when
        this is no URL to fetch.
        """
        return await self.ask(url, GET, purse, access=access, headers=headers)

    async def ask(
        self,
        url: str | URL,
        payload: Payload,
        purse: Purse,
        *,
        access: Access = PUBLIC,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request that asks for something; otherwise as ``get``.

        A body follows redirects that keep the method (307, 308) on its own origin, and
        no others. A source that wants a token gets one; one that is refused, because it
        ended too early or was withdrawn, is replaced once.
        """
        if access.grant is None:
            return await self._fetch(url, payload, purse, access, headers)

        async def send(where: str, what: Payload, terms: Access) -> Answer:
            return await self._fetch(where, what, purse, terms, None)

        grant, book = access.grant, self._tokens
        token = await book.token(access, grant, send)
        terms = with_token(access, token)
        answer = await self._fetch(url, payload, purse, terms, headers)
        if answer.status != _UNKNOWN:
            return answer
        terms = with_token(access, await book.token(access, grant, send, token))
        return await self._fetch(url, payload, purse, terms, headers)

    async def _fetch(
        self,
        url: str | URL,
        payload: Payload,
        purse: Purse,
        access: Access,
        headers: Mapping[str, str] | None,
    ) -> Answer:
        hop = check_url(url) if isinstance(url, URL) else parse_url(url)
        sent = {**access.headers, **headers} if headers else access.headers
        if payload.content_type:
            sent = {**sent, "Content-Type": payload.content_type}
        trip = _Trip(purse, access, sent, self.settings.deadline, hop, payload=payload)
        trip.cookies = self._cookies if access.cookies else None
        try:
            answer = await self._follow(trip, hop)
        except (SourceError, BudgetSpent):
            self._note(trip, hop, 0)
            raise
        self._note(trip, hop, answer.status)
        return answer

    def _note(self, trip: _Trip, asked: URL, status: int) -> None:
        """Remember whether an address has moved; who is in trouble says nothing."""
        silent = not trip.moved_to and (not 0 < status < 500 or status == _BUSY)
        if silent or not trip.access.name:
            return
        known = self.moves.setdefault(trip.access.name, {})
        known.pop(str(asked), None)
        known[str(asked)] = trip.moved_to
        if len(known) > _ADDRESSES:
            del known[next(iter(known))]

    async def post(
        self,
        url: str,
        body: bytes,
        purse: Purse,
        *,
        access: Access = PUBLIC,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a body to a URL; no redirect is followed, no robots.txt is read.

        It is meant for addresses that somebody gave us to be told of something.
        Raise as ``get`` does.
        """
        sent = {**access.headers, **(headers or {})}
        left, where = self.settings.deadline, parse_url(url)
        trip = _Trip(purse, access, sent, left, where, _RECEIPT, Payload("POST", body))
        return (await self._ask(trip, where)).answer

    def pause(self, url: URL) -> float:
        """Return the seconds until the host may be asked, as far as we know now.

        A host that is closed for longer than our patience refuses at once, so
        there is nothing to wait for.
        """
        host = self._host(url)
        closed = closed_for(host.state, self.clock()) * SECONDS
        if closed > self.settings.patience:
            return 0.0
        return max(closed, host.lane.wait(self._delay(host)))

    def alone(self, url: URL, access: Access) -> bool:
        """Say whether the host takes one request at a time.

        So it is when there is a delay to keep, when we do not know yet, and
        when the host has just failed.
        """
        host = self._host(url)
        unknown = access.robots and host.rules is None
        return unknown or host.state.failures > 0 or self._delay(host) > 0

    def _delay(self, host: _Host) -> float:
        return max(self.settings.delay, host.rules.delay if host.rules else 0.0)

    def _host(self, url: URL) -> _Host:
        key = (url.scheme, url.raw_host, url.port)
        host = self._hosts.get(key)
        if host is None:
            name = origin(url)
            state = self._book.host(name) or HostState(name)
            lane = self._lanes.setdefault(str(url.raw_host), Lane())
            host = self._hosts[key] = _Host(state, lane)
        return host

    async def _claim(self, url: URL) -> None:
        """Hold a host that others may ask as well.

        If another held it, what is known of it is read anew, and the delay counts from
        when the other may last have asked it.
        """
        if self.claims is None:
            return
        ago = await self.claims.claim(str(url.raw_host))
        if ago is None:
            return
        for key in [key for key in self._hosts if key[1] == url.raw_host]:
            del self._hosts[key]
        self._lanes.setdefault(str(url.raw_host), Lane()).heard(ago)

    def rest(self, host: str) -> tuple[float, float]:
        """Return the seconds since a host was asked, and until it may be again."""
        lane = self._lanes.get(host, Lane())
        known = [one for key, one in self._hosts.items() if key[1] == host]
        delays = [self._delay(one) for one in known]
        return lane.ago(), lane.wait(max(delays, default=self.settings.delay))

    def _keep(self, host: _Host, state: HostState) -> None:
        if state is not host.state:
            host.state = state
            self._book.save_host(state)

    async def _follow(self, trip: _Trip, hop: URL) -> Answer:
        moving = True
        for hops in range(1, self.settings.redirects + 2):
            if trip.access.robots:
                await self._permit(trip, hop)
            reply = await self._ask(trip, hop)
            if not reply.location:
                answer = reply.answer
                if hops > 1:
                    answer = replace(answer, hops=hops, moved_to=trip.moved_to)
                return answer
            last, hop = hop, target(hop, reply.location)
            if trip.payload.method not in {"GET", "HEAD"}:
                check_repeated(trip.payload, reply.answer.status, last, hop)
            moving = moving and reply.answer.status in _PERMANENT
            trip.moved_to = str(hop) if moving else trip.moved_to
            if trip.access.within and not trip.access.within(str(hop)):
                return replace(reply.answer, url=str(hop), hops=hops)
        raise Unreachable(f"{hop.raw_host}: more than {hops - 1} redirects")

    async def _ask(self, trip: _Trip, url: URL) -> Reply:
        """Send one request in its turn and draw the conclusions for the host."""
        await self._claim(url)
        host = self._host(url)
        try:
            reply = await self._in_turn(trip, host, url)
        except Blameless:
            raise
        except Unreachable as error:
            host.why = str(error).removeprefix(f"{url.raw_host}: ")
            self._conclude(trip, host, after_silence(host.state, self.clock()))
            raise
        host.why = f"it answered {reply.answer.status}"
        told = reply.answer.retry_after
        after = after_answer(host.state, reply.answer.status, told, self.clock())
        self._conclude(trip, host, after)
        return reply

    def _conclude(self, trip: _Trip, host: _Host, after: HostState) -> None:
        """Keep what is now known; requests that fail together count as one failure."""
        if not after.failures > host.state.failures > trip.failures:
            self._keep(host, after)

    async def _in_turn(self, trip: _Trip, host: _Host, url: URL) -> Reply:
        try:
            return await self._send(trip, host, url)
        except HungUp:
            # A kept connection may be closed just as it is used: once more.
            return await self._send(trip, host, url)

    async def _send(self, trip: _Trip, host: _Host, url: URL) -> Reply:
        lane = host.lane
        entered = await lane.enter(self._delay(host))
        try:
            await self._wait_until_open(host, url)
            reply = await self._sent(trip, host, url)
        except (Unreachable, asyncio.CancelledError):
            lane.mark()  # it may have arrived only now
            raise
        finally:
            if entered:
                lane.leave()
        trip.left -= reply.took
        return trip.seen(url, reply)

    async def _sent(self, trip: _Trip, host: _Host, url: URL) -> Reply:
        """Pay for a request and send it, while the host is ours."""
        if self.claims is not None:
            self.claims.enter(str(url.raw_host))
        try:
            self._pay(trip.purse)
            trip.failures = host.state.failures
            host.lane.mark()
            address, call = trip.call(url, host.lane.mark)
            return await self._wire.send(address, call)
        finally:
            if self.claims is not None:
                self.claims.leave(str(url.raw_host))

    def _pay(self, purse: Purse) -> None:
        if self._account is None:
            purse.pay()
            return
        self._account.check()
        purse.pay()
        self._account.send()

    async def _wait_until_open(self, host: _Host, url: URL) -> None:
        closed = closed_for(host.state, self.clock()) * SECONDS
        if closed > self.settings.patience:
            raise Blameless(
                f"{url.raw_host}: left alone for another {in_words(closed)} "
                f"({host.why})"
            )
        if closed > 0:
            await asyncio.sleep(closed)

    async def _permit(self, trip: _Trip, url: URL) -> None:
        """Raise unless the host's robots.txt allows the URL."""
        await self._claim(url)
        host = self._host(url)
        now = self.clock()
        if host.rules is None or not host.rules.hold(now):
            async with host.asking:
                if host.rules is None or not host.rules.hold(now):
                    host.rules = await self._learn(trip, host, url)
        host.rules.check(url)

    async def _learn(self, trip: _Trip, host: _Host, url: URL) -> HostRules:
        """Return the host's rules, from memory if they are fresh enough."""
        known = rules(host.state)
        if known.hold(self.clock()):
            return known
        await self._wait_until_open(host, url)
        why = ""
        try:
            status, body = await self._robots_txt(trip, url)
        except Refused as error:  # our own doing, so it is not written down
            return HostRules(self.clock(), RETRY, closed=error)
        except Offline:
            raise
        except Unreachable as error:
            status, body, why = 0, b"", str(error)
        now = self.clock()
        after = after_robots(host.state, status, body, now)
        self._keep(host, after)
        learnt = rules(after)
        if learnt.closed and why:
            silent = Unreachable(f"{why}, so its robots.txt could not be read")
            return replace(learnt, closed=silent)
        if not learnt.hold(now):  # an older copy serves for now; ask again soon
            return replace(learnt, since=now, lasts=RETRY)
        return learnt

    async def _robots_txt(self, trip: _Trip, url: URL) -> tuple[int, bytes]:
        given = trip.access
        plain = Access(
            allow=given.allow, robots=False, name=given.name, route=given.route
        )
        where = url.origin() / "robots.txt"
        errand = _Trip(trip.purse, plain, {}, self.settings.deadline, where, LARGEST)
        answer = await self._follow(errand, where)
        self._note(errand, where, answer.status)
        return answer.status, answer.body
