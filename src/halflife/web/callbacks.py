"""Public endpoints, open to all, so all requests are limited and checked.

Hubs (WebSub) verify subscriptions and notify of changes; senders that prove to speak
for a host report which of its pages have changed (IndexNow).
"""

import hashlib
import hmac
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

from halflife.config import Config
from halflife.core.errors import UsageError
from halflife.engine import bootstrap
from halflife.kinds.pages import hub_callbacks, key_files
from halflife.stores.notes.subscriptions import Subscription
from halflife.web import words
from halflife.web.replies import read_json

INDEXNOW = "/indexnow"
LARGEST = 16 << 20  # bytes of a content: as large as a page may be
BURST, REFILL = 20.0, 1.0 / 60.0  # requests about one subscription: at once, a second
STRANGERS, FREE = 100.0, 1.0  # requests about unknown subscriptions
MOST_NAMES = 4096  # subscriptions whose requests are counted
PUSHES, MORE = 60.0, 0.1  # keyed pushes: at once, a second
LARGEST_PUSH = 1 << 20  # bytes: some thousand addresses
RETRY = {"retry-after": "60"}
SHAPE = 'send JSON: {"host": ..., "key": ..., "urlList": [...]}'
STATUS_TEXTS = {
    key_files.ACCEPTED: "accepted",
    key_files.PENDING: "accepted; the key file will be fetched",
    key_files.UNPROVEN: "the key file does not hold this key",
    key_files.FOREIGN: "these pages are not of the host, or the key not for them",
    key_files.CROWDED: "too many pushes wait for a proof of their key",
}


@dataclass(slots=True)
class RateLimit:
    """A token bucket: so many requests at once, and so many a second after that.

    >>> now = [0.0]
    >>> limit = RateLimit(2.0, 0.5, clock=lambda: now[0])
    >>> [limit.admits("a"), limit.admits("a"), limit.admits("a"), limit.admits("b")]
    [True, True, False, True]
    >>> now[0] = 2.0
    >>> limit.admits("a"), limit.admits("a")
    (True, False)
    """

    burst: float
    refill: float
    clock: Callable[[], float] = time.monotonic
    _left: dict[str, tuple[float, float]] = field(default_factory=dict)

    def admits(self, name: str) -> bool:
        """Return whether another request is let through; if so, count it."""
        now = self.clock()
        left, since = self._left.pop(name, (self.burst, now))
        left = min(left + (now - since) * self.refill, self.burst)
        self._left[name] = (left - 1.0 if left >= 1.0 else left), now
        if len(self._left) > MOST_NAMES:
            del self._left[next(iter(self._left))]
        return left >= 1.0


class HubCallbacks:
    """Answers hubs: verification of intent, and notifications of changes.

    Args:
        config: Returns the settings as they are now.

    """

    def __init__(self, config: Callable[[], Config]) -> None:
        self._config, self._writing = config, threading.Lock()
        self._known: set[str] = set()
        self.limit = RateLimit(BURST, REFILL)
        self.strangers = RateLimit(STRANGERS, FREE)

    async def answer(self, request: Request) -> Response:
        """Answer a hub."""
        token = str(request.path_params["token"])
        limit = self.limit if token in self._known else self.strangers
        if not limit.admits(token if token in self._known else ""):
            return PlainTextResponse("429: too often\n", 429, RETRY)
        found = await run_in_threadpool(self._find, token)
        if found is None:
            status = 404 if request.method == "GET" else 410
            return PlainTextResponse(f"{status}: no such subscription\n", status)
        source, subscription = found
        if request.method == "GET":
            return await run_in_threadpool(
                self._confirm, source, subscription, dict(request.query_params)
            )
        return await self._take(request, source, subscription)

    def _find(self, token: str) -> tuple[str, Subscription] | None:
        config = self._config()
        if not config.serve.callback:
            return None
        with bootstrap.reading(config) as store:
            found = hub_callbacks.find(store, config.source, token)
        if found is not None and len(self._known) < MOST_NAMES:
            self._known.add(token)
        return found

    def _confirm(
        self, source: str, subscription: Subscription, params: Mapping[str, str]
    ) -> Response:
        with self._writing, bootstrap.writing(self._config()) as store:
            now = bootstrap.clock()
            challenge = hub_callbacks.confirm(store, source, subscription, params, now)
        if challenge is None:
            return PlainTextResponse("404: no such subscription\n", 404)
        return PlainTextResponse(challenge)

    async def _take(
        self, request: Request, source: str, subscription: Subscription
    ) -> Response:
        """Receive a content; the answer does not depend on its signature."""
        size = request.headers.get("content-length", "0")
        if not size.isdecimal() or int(size) > LARGEST:
            return PlainTextResponse("413: that is too much\n", 413)
        signed = hub_callbacks.signature(
            subscription, request.headers.get("x-hub-signature", "")
        )
        taken = PlainTextResponse("", 202)
        headers = request.headers
        if signed is None or hub_callbacks.names_another_topic(subscription, headers):
            return taken
        computed, wanted = signed
        digest = await _digest(request, computed)
        if digest is None:
            return PlainTextResponse("413: that is too much\n", 413)
        if hmac.compare_digest(computed.hexdigest(), wanted):
            await run_in_threadpool(self._announce, source, subscription, digest)
        return taken

    def _announce(self, source: str, subscription: Subscription, digest: str) -> None:
        with self._writing, bootstrap.writing(self._config()) as store:
            now = bootstrap.clock()
            hub_callbacks.announce(store, source, subscription, digest, now)


async def _digest(request: Request, signed: "hmac.HMAC") -> str | None:
    """Feed a body to its signature, piece by piece; return its digest.

    Return None if it is too large or breaks off; nothing of it is kept either way.
    """
    plain, size = hashlib.sha256(), 0
    try:
        async for piece in request.stream():
            size += len(piece)
            if size > LARGEST:
                return None
            plain.update(piece)
            signed.update(piece)
    except ClientDisconnect:
        return None
    return plain.hexdigest()[:32]


class KeyedPushes:
    """Receives pushes from senders that prove to speak for a host.

    Args:
        config: Returns the settings as they are now.

    """

    def __init__(self, config: Callable[[], Config]) -> None:
        self._config, self._writing = config, threading.Lock()
        self.limit = RateLimit(PUSHES, MORE)

    async def answer(self, request: Request) -> Response:
        """Answer a sender, with the statuses of IndexNow."""
        if not self.limit.admits(""):
            return PlainTextResponse("429: too often\n", 429, RETRY)
        try:
            push = await _push(request)
        except UsageError as error:
            return PlainTextResponse(f"400: {words.plain(str(error))}\n", 400)
        except (ValueError, RecursionError):
            return PlainTextResponse(f"400: {SHAPE}\n", 400)
        status = key_files.FOREIGN
        if push is not None:
            status = await run_in_threadpool(self._submit, push)
        text = f"{status}: {STATUS_TEXTS.get(status, '')}\n"
        return PlainTextResponse(text, status, RETRY if status == 429 else None)

    def _submit(self, push: key_files.KeyedPush) -> int:
        config = self._config()
        if not config.serve.indexnow:
            return key_files.UNPROVEN
        with self._writing, bootstrap.writing(config) as store:
            return key_files.submit(store, config, push, bootstrap.clock())


async def _push(request: Request) -> key_files.KeyedPush | None:
    """Parse a push; raise ``UsageError`` or ``ValueError`` if it is malformed."""
    if request.method == "GET":
        return key_files.read_push(dict(request.query_params))
    body = await read_json(request, LARGEST_PUSH)
    if not isinstance(body, dict):
        raise UsageError(SHAPE)
    return key_files.read_push(body)
