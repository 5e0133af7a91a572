"""Tokens by the client credentials of OAuth 2 (RFC 6749, section 4.4).

A token is kept in memory until shortly before it expires, or until the source refuses
it. It is sent only to the source's own origin; name and password of the client are sent
only to the token endpoint.
"""

import asyncio
import json
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeAlias
from urllib.parse import quote_plus, urlencode

from halflife.core.errors import Refused, SourceError, Unreachable
from halflife.net.access import Access, Answer, Credentials, Grant, Payload
from halflife.net.addresses import shown
from halflife.net.dates import SECONDS
from halflife.net.troubles import with_address

USUAL = 3600.0  # seconds that a token lasts if the answer does not say
MARGIN = 30.0  # seconds before its expiry in which a token is not used any more
LONGEST = 16_384  # characters of a token that a header can hold
_FORM = "application/x-www-form-urlencoded"

Send: TypeAlias = Callable[[str, Payload, Access], Awaitable[Answer]]
"""Sends a request and pays for it."""


class Token(NamedTuple):
    """A token, and when it expires, in days."""

    text: str
    until: float


class TokenBook:
    """The tokens of sources.

    Args:
        clock: The time in days.

    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tokens: dict[tuple[str, Grant], Token] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def token(
        self, access: Access, grant: Grant, send: Send, refused: str = ""
    ) -> str:
        """Return a valid token; a new one if the last was ``refused``.

        If many requests are refused at once, only one new token is requested.
        """
        key = access.name, grant
        async with self._locks.setdefault(access.name, asyncio.Lock()):
            token = self._tokens.get(key)
            if token and token.text != refused and self._clock() < token.until:
                return token.text
            token = self._tokens[key] = await self._new(access, grant, send)
            return token.text

    async def _new(self, access: Access, grant: Grant, send: Send) -> Token:
        try:
            answer = await send(grant.url, request(grant), token_access(access, grant))
        except SourceError as error:
            trouble = with_address(str(error), grant.url)
            raise type(error)(f"no token was given: {trouble}") from None
        text, seconds = read(grant, answer)
        return Token(text, self._clock() + max(seconds - MARGIN, seconds / 2) / SECONDS)


def with_token(access: Access, token: str) -> Access:
    """Return the terms of access to a source, with a token."""
    given = access.credentials or Credentials(next(iter(access.home), ""))
    headers = {**given.headers, "Authorization": f"Bearer {token}"}
    terms = replace(given, headers=headers)
    return replace(access, credentials=terms, grant=None)


def request(grant: Grant) -> Payload:
    """Return the payload of a request for a token."""
    fields = {"grant_type": "client_credentials"}
    if grant.scope:
        fields["scope"] = grant.scope
    if grant.audience:
        fields["audience"] = grant.audience
    if grant.in_body:
        fields |= {"client_id": grant.client, "client_secret": grant.secret}
    return Payload("POST", urlencode(fields).encode(), _FORM)


def token_access(access: Access, grant: Grant) -> Access:
    """Return the terms of access to the token endpoint, with the client's password."""
    headers = {}
    if not grant.in_body:  # both are form-encoded first (RFC 6749, s. 2.3.1)
        pair = f"{quote_plus(grant.client)}:{quote_plus(grant.secret)}"
        headers = {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
    return Access(
        allow=access.allow,
        credentials=replace(Credentials.of(grant.url, headers), others=(grant.secret,)),
        headers={"Accept": "application/json"},
        robots=False,
        route=access.route,
    )


def read(grant: Grant, answer: Answer) -> tuple[str, float]:
    """Return the token of an answer, and the seconds that it lasts.

    Raise ``Refused`` if the endpoint refuses, ``Unreachable`` if the answer is invalid.
    """
    where, row = shown(grant.url), _row(answer.body)
    if answer.status != 200:
        why = row.get("error")
        code = f" ({why[:80]})" if isinstance(why, str) and why.isprintable() else ""
        kind = Refused if answer.status in {400, 401, 403} else Unreachable
        text = f"no token was given: {where}: it answered {answer.status}{code}"
        advice = "; check client_id, client_secret and scope under [source.auth]"
        raise kind(text + (advice if kind is Refused else ""))
    token, lasts = row.get("access_token"), row.get("expires_in", USUAL)
    plain = isinstance(token, str) and token.isascii() and token.isprintable()
    if not (isinstance(token, str) and plain and 0 < len(token) <= LONGEST):
        raise Unreachable(f"no token was given: {where}: its answer holds none")
    try:
        seconds = float(str(lasts))
    except ValueError:
        seconds = USUAL
    return token, min(max(1.0, seconds), 365 * SECONDS)


def _row(body: bytes) -> Mapping[str, object]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
