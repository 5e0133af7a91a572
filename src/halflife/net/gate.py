"""The only way to the network: every request goes through the gate."""

import asyncio
import copy
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

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
from halflife.net.cookies import CookieBook
from halflife.net.dates import SECONDS
from halflife.net.hops import check_repeated, in_words, target
from halflife.net.oauth import TokenBook, with_token
from halflife.net.pacing import Lane, after_answer, after_silence, closed_for
from halflife.net.parameters import with_parameters
from halflife.net.robots import LARGEST, RETRY, HostRules, after_robots, rules
from halflife.net.secrecy import SecretRedactor
from halflife.net.wire import Blameless, Call, HungUp, Offline, Reply, Transport, Wire

if TYPE_CHECKING:
    from halflife.net.claims import HostClaims

_NEGOTIATION = frozenset({"accept", "accept-language"})
_VALIDATORS = frozenset({
    "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since",
})  # fmt: skip
_PERMANENT = frozenset({301, 308})
_BUSY = 429
_UNKNOWN = 401
_ADDRESSES = 64  # addresses of a source whose redirects are recorded
_RECEIPT = 1024  # bytes of the answer to ``post`` that are read


class _Host:
    """The state of a host in the gate."""

    __slots__ = ("asking", "lane", "rules", "state", "why")

    def __init__(self, state: HostState, lane: Lane) -> None:
        self.state = state
        self.lane = lane
        self.why = "it was busy or failed"  # why it is closed, until that is known
        self.rules: HostRules | None = None
        self.asking = asyncio.Lock()  # held while robots.txt is fetched


@dataclass(slots=True)
class _Trip:
    """The state of one call of ``get`` from hop to hop.

    A header goes no further than it must: validators only to the requested URL, which
    is the one they came from; possible secrets only to the source's own origins, and no
    more once a redirect has left them. Secret parameters are only in the address that
    is sent.
    """

    purse: Purse
    access: Access
    headers: Mapping[str, str]
    left: float  # seconds, without the time spent waiting in the lane
    requested: URL
    enough: int | None = None
    payload: Payload = GET
    cookies: CookieBook | None = None
    cookie: str = ""  # as it was last sent
    left_credentials: bool = False  # whether it left the origin of the credentials
    left_home: bool = False  # whether it left the origins of the source
    failures: int = 0  # of the host, before the last request
    moved_to: str = ""

    def call(self, url: URL, begun: Callable[[], None]) -> tuple[URL, Call]:
        """Return the address that a hop is sent to, and the call."""
        headers, secret, address = self.headers, self.access.credentials, url
        if headers or secret or self.cookies:
            here, home = origin(url), self.access.home
            self.left_home = self.left_home or here not in (
                home or {origin(self.requested)}
            )
            self.left_credentials = (
                self.left_credentials or secret is None or secret.origin != here
            )
            headers = {n: v for n, v in headers.items() if self._goes(n.lower(), url)}
        self.cookie = ""
        if self.cookies and not self.left_home:
            self.cookie = self.cookies.header(self.access.name, url)
            headers = {**headers, "Cookie": self.cookie} if self.cookie else headers
        if secret and not self.left_credentials:
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

    def redacted(self, url: URL, reply: Reply) -> Reply:
        """Return a reply without secrets, under the address without parameters."""
        answer, secret = reply.answer, self.access.credentials
        if self.cookies and not self.left_home:
            self.cookies.take(self.access.name, url, answer.headers)
        redactors = [secret.redactor] if secret and not self.left_credentials else []
        if self.cookie:
            values = (pair.partition("=")[2] for pair in self.cookie.split("; "))
            redactors.append(SecretRedactor(values, {}))
        for redactor in redactors:
            rows = ((n, redactor.redact(value)) for n, value in answer.headers.items())
            headers, body = CIMultiDict(rows), redactor.redact_bytes(answer.body)
            answer = replace(answer, url=str(url), body=body, headers=headers)
            location = redactor.redact(reply.location)
            reply = reply._replace(answer=answer, location=location)
        return reply

    def _goes(self, name: str, url: URL) -> bool:
        """Say whether a header is sent to a URL."""
        if name in _VALIDATORS:
            return url == self.requested
        return name in _NEGOTIATION or not self.left_home


class Gate:
    """The only way to the network: it limits hosts, rates, durations and sizes.

    ``clock`` gives the time in days; it decides how long a host stays closed. State
    that must survive the program is kept in ``hosts``. ``moves`` has the addresses
    recently requested for each source, and their permanent redirects;
    ``engine.redirects`` takes it from there. With ``claims`` several programs share the
    hosts: requests are sent to a host only while it is claimed.
    """

    def __init__(
        self,
        settings: GateSettings,
        *,
        hosts: HostBook,
        clock: Callable[[], float],
        resolver: AbstractResolver | None = None,
        transport: Transport | None = None,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.claims: HostClaims | None = None
        self.moves: dict[str, dict[str, str]] = {}
        self._book = hosts
        self._wire = transport or Wire(settings, clock, resolver)
        self._hosts: dict[tuple[str, str | None, int | None], _Host] = {}
        self._lanes: dict[str, Lane] = {}
        self._account: Account | None = None
        self._cookies = CookieBook()
        self._tokens = TokenBook(clock)

    def on_account(self, account: Account) -> Self:
        """Return a gate that counts and limits its requests by an account."""
        gate = copy.copy(self)  # it shares the hosts, the lanes and the connections
        gate._account = account  # noqa: SLF001  (of the same class)
        return gate

    def count_sent(self, requests: int) -> None:
        """Count requests that others sent and paid for on behalf of this gate."""
        if self._account is not None:
            self._account.sent += requests
            self._account.watch(self._account.under_way)

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

        Headers that may be secret stay on the source's own origins, and validators are
        sent only to this URL.

        Raise ``Refused`` if the request is not allowed, ``Unreachable`` if no complete
        answer came, ``BudgetSpent`` if the purse is empty, ``UsageError`` if the URL
        cannot be fetched.
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
        """Send a request with a payload; otherwise like ``get``.

        A body follows only redirects that keep the method (307, 308) on its own origin.
        If the source needs a token, one is requested; a refused token, which has
        expired or was withdrawn, is replaced once.
        """
        with self._account.request() if self._account else nullcontext():
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

    def _note(self, trip: _Trip, url: URL, status: int) -> None:
        """Record whether an address has moved; an error of the host does not count."""
        silent = not trip.moved_to and (not 0 < status < 500 or status == _BUSY)
        if silent or not trip.access.name:
            return
        moves = self.moves.setdefault(trip.access.name, {})
        moves.pop(str(url), None)
        moves[str(url)] = trip.moved_to
        if len(moves) > _ADDRESSES:
            del moves[next(iter(moves))]

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

        It is for the addresses of recipients. Raise like ``get``.
        """
        sent = {**access.headers, **(headers or {})}
        left, where = self.settings.deadline, parse_url(url)
        trip = _Trip(purse, access, sent, left, where, _RECEIPT, Payload("POST", body))
        return (await self._ask(trip, where)).answer

    def pause(self, url: URL) -> float:
        """Return the seconds until a request may be sent to the host.

        It is 0 for a host that is closed for longer than our patience: the request then
        fails at once.
        """
        host = self._host(url)
        closed = closed_for(host.state, self.clock()) * SECONDS
        if closed > self.settings.patience:
            return 0.0
        return max(closed, host.lane.wait(self._delay(host)))

    def alone(self, url: URL, access: Access) -> bool:
        """Say whether the host takes one request at a time.

        That is so if there is a delay to keep, if its robots.txt is not known yet, and
        if the host has just failed.
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
        """Claim a host that other programs may use as well.

        If another program held it, its state is read again, and the delay counts from
        the last request that the other may have sent.
        """
        if self.claims is None:
            return
        ago = await self.claims.claim(str(url.raw_host))
        if ago is None:
            return
        for key in [key for key in self._hosts if key[1] == url.raw_host]:
            del self._hosts[key]
        self._lanes.setdefault(str(url.raw_host), Lane()).mark_ago(ago)

    def rest(self, host: str) -> tuple[float, float]:
        """Return the seconds since the last request to a host, and until the next."""
        lane = self._lanes.get(host, Lane())
        states = [state for key, state in self._hosts.items() if key[1] == host]
        delays = [self._delay(state) for state in states]
        return lane.ago(), lane.wait(max(delays, default=self.settings.delay))

    def _keep(self, host: _Host, state: HostState) -> None:
        if state is not host.state:
            host.state = state
            self._book.save_host(state)

    async def _follow(self, trip: _Trip, hop: URL) -> Answer:
        permanent = True
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
            permanent = permanent and reply.answer.status in _PERMANENT
            trip.moved_to = str(hop) if permanent else trip.moved_to
            if trip.access.within and not trip.access.within(str(hop)):
                return replace(reply.answer, url=str(hop), hops=hops)
        raise Unreachable(f"{hop.raw_host}: more than {hops - 1} redirects")

    async def _ask(self, trip: _Trip, url: URL) -> Reply:
        """Send one request in its turn, and update the state of the host."""
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
        pause = reply.answer.retry_after
        after = after_answer(host.state, reply.answer.status, pause, self.clock())
        self._conclude(trip, host, after)
        return reply

    def _conclude(self, trip: _Trip, host: _Host, after: HostState) -> None:
        """Keep the new state; requests that fail together count as one failure."""
        if not after.failures > host.state.failures > trip.failures:
            self._keep(host, after)

    async def _in_turn(self, trip: _Trip, host: _Host, url: URL) -> Reply:
        try:
            return await self._send(trip, host, url)
        except HungUp:
            # A kept connection may be closed just as it is used: try once more.
            return await self._send(trip, host, url)

    async def _send(self, trip: _Trip, host: _Host, url: URL) -> Reply:
        lane = host.lane
        entered = await lane.enter(self._delay(host))
        try:
            await self._wait_until_open(host, url)
            reply = await self._pay_and_send(trip, host, url)
        except (Unreachable, asyncio.CancelledError):
            lane.mark()  # the request may have arrived only now
            raise
        finally:
            if entered:
                lane.leave()
        trip.left -= reply.took
        return trip.redacted(url, reply)

    async def _pay_and_send(self, trip: _Trip, host: _Host, url: URL) -> Reply:
        """Pay for a request and send it, while the host is claimed."""
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
        """Return the host's rules; fetch robots.txt if the stored copy is too old."""
        stored = rules(host.state)
        if stored.hold(self.clock()):
            return stored
        await self._wait_until_open(host, url)
        why = ""
        try:
            status, body = await self._robots_txt(trip, url)
        except Refused as error:  # by our own rules, so it is not stored
            return HostRules(self.clock(), RETRY, closed=error)
        except Offline:
            raise
        except Unreachable as error:
            status, body, why = 0, b"", str(error)
        now = self.clock()
        after = after_robots(host.state, status, body, now)
        self._keep(host, after)
        found = rules(after)
        if found.closed and why:
            silent = Unreachable(f"{why}, so its robots.txt could not be read")
            return replace(found, closed=silent)
        if not found.hold(now):  # an older copy is used; fetch again soon
            return replace(found, since=now, lasts=RETRY)
        return found

    async def _robots_txt(self, trip: _Trip, url: URL) -> tuple[int, bytes]:
        terms = trip.access
        plain = Access(
            allow=terms.allow, robots=False, name=terms.name, route=terms.route
        )
        where = url.origin() / "robots.txt"
        inner = _Trip(trip.purse, plain, {}, self.settings.deadline, where, LARGEST)
        answer = await self._follow(inner, where)
        self._note(inner, where, answer.status)
        return answer.status, answer.body
