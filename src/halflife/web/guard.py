"""Access control in front of the whole app: refuse a request unless it is allowed."""

import hmac
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE = frozenset({"GET", "HEAD"})
API = "/api/"  # the HTTP API, which answers errors as JSON
FEED = "/changes.atom"  # for feed readers, which cannot send headers
LARGEST = 8192  # bytes of a form
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; "
        "img-src 'self' data:; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
UNKNOWN = (
    "401: this page needs the token that `halflife serve` printed.\n"
    "Open the whole address from the terminal: it ends with ?token=...\n"
)
EXPIRED = (
    "401: the token of this page is no longer valid: `halflife serve` was started "
    "again since.\nNothing was done. Open the address that it printed last: it ends "
    "with ?token=...\n"
)
# A refusal has its own style: refused clients get no style sheet either.
STYLE = (
    ":root{color-scheme:light dark}"
    "body{margin:0;min-height:100vh;display:grid;place-items:center;"
    "font:16px/1.5 system-ui,sans-serif;background:#fff;color:#1f2328}"
    "main{max-width:34rem;margin:24px;padding:28px 32px;border:1px solid #d0d7de;"
    "border-radius:12px}h1{margin:0 0 12px;font-size:24px}p{margin:0 0 8px}"
    "code{font:14px ui-monospace,monospace}"
    "@media (prefers-color-scheme:dark){body{background:#0f141a;color:#e2e8ee}"
    "main{border-color:#3a424c}}"
)
TITLES = {
    401: "This page needs its token",
    403: "Request from another site",
    413: "Request too large",
    421: "Wrong host",
}
UNNAMED = "send `Authorization: Bearer TOKEN` with a token of this server"
ONLY_READS = 'this token may only read; that needs one with scope = "act"'
COOKIE_ALONE = (
    "send `Authorization: Bearer TOKEN`: a cookie alone cannot start anything here"
)


@dataclass(frozen=True, slots=True)
class ScopedToken:
    """A token for the API alone.

    Attributes:
        value: The secret.
        acts: Whether it may start jobs and change settings; else it may only read.

    """

    value: str = field(repr=False)
    acts: bool = False


@dataclass(frozen=True, slots=True)
class PublicAccess:
    """The addresses that need no token.

    Attributes:
        paths: The prefixes of such addresses; without any, nothing is public.
        hosts: Values of ``Host`` that are accepted there besides the usual ones.

    """

    paths: tuple[str, ...] = ()
    hosts: frozenset[str] = frozenset()


class Guard:
    """Lets a request through if it has a known host, the token, and our own origin.

    * The ``Host`` must be one of those given: another name that was made to point
      here (DNS rebinding) gets 421.
    * The token comes once in the address, from then on in a cookie that no script
      can read and no other site can send; programs send ``Authorization: Bearer``.
    * A request that changes anything must come from a page of this server, by
      ``Sec-Fetch-Site``, or by ``Origin`` where a browser does not send that. A bearer
      token needs neither: no other site can send it.
    * Further tokens open the API alone, each within its scope. There a request that
      changes anything needs a token in the header: a cookie is not enough.
    * Addresses that the settings make public, such as the callbacks of hubs, need no
      token: they authenticate requests themselves.
    * A further token that may only read also opens the feed of changes, in a header or
      in the address, as feed readers store nothing else.

    Args:
        app: The app behind it.
        token: The secret.
        hosts: Values of ``Host`` that are accepted.
        cookie: The name of the cookie.
        tokens: Further tokens, for the API.
        opening: The addresses that need no token.

    """

    def __init__(
        self,
        app: ASGIApp,
        token: str,
        hosts: Iterable[str],
        cookie: str,
        tokens: Iterable[ScopedToken] = (),
        opening: "PublicAccess | None" = None,
    ) -> None:
        self.app, self._token, self._cookie = app, token, cookie
        self._hosts, self._scoped = frozenset(hosts), tuple(tokens)
        self._opening = opening or PublicAccess()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or let the app answer."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._refusal(scope)
        await (answer or self.app)(scope, receive, sealed)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        known = host in self._hosts
        if scope["path"].startswith(self._opening.paths) and (
            known or host.lower() in self._opening.hosts
        ):
            return None  # these endpoints authenticate requests themselves
        if not known:
            text = "421: this server does not answer for that host\n"
            return _refuse(421, text, headers)
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if self._is(bearer):
            return self._too_large(headers)
        if scope["path"].startswith(API):
            return self._refusal_of_api(scope, headers, bearer)
        if scope["path"] == FEED and scope["method"] in SAFE:
            given = self._scope_of(bearer) or self._scope_of(_in_address(scope))
            if given is not None and not given.acts:
                return None
        return self._refusal_of_page(scope, headers)

    def _refusal_of_page(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the refusal of a request without the header; None if it is allowed."""
        if not self._is(self._kept(headers)):
            return self._first(scope) or self._unknown(scope, headers)
        if scope["method"] in SAFE:
            return self._first(scope)  # no address with a token stays in the bar
        if not _ours(headers):
            text = "403: only pages of this server may do that\n"
            return _refuse(403, text, headers)
        return self._too_large(headers)

    def _unknown(self, scope: Scope, headers: Headers) -> Response:
        """Return the refusal of a missing or expired token."""
        given = b"token=" in scope["query_string"] or bool(self._kept(headers))
        text = EXPIRED if given else UNKNOWN
        if scope["path"].endswith(".json"):
            return _refuse_json(401, " ".join(text.removeprefix("401: ").split()))
        return _refuse(401, text, headers)

    def _refusal_of_api(
        self, scope: Scope, headers: Headers, bearer: str
    ) -> Response | None:
        """Return the refusal of an API request without the page's own token."""
        reads = scope["method"] in SAFE
        given = self._scope_of(bearer)
        if given is not None:
            if reads or given.acts:
                return self._too_large(headers)
            return _refuse_json(403, ONLY_READS)
        if not self._is(self._kept(headers)):
            return self._first(scope) or _refuse_json(401, UNNAMED)
        return self._first(scope) if reads else _refuse_json(403, COOKIE_ALONE)

    def _scope_of(self, given: str) -> ScopedToken | None:
        """Return the further token that was sent, in the same time for each."""
        match = None
        for token in self._scoped:
            if hmac.compare_digest(given.encode(), token.value.encode()):
                match = token
        return match

    def _is(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())

    def _kept(self, headers: Headers) -> str:
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return ""
        found = cookies.get(self._cookie)
        return found.value if found else ""

    def _first(self, scope: Scope) -> Response | None:
        """Move the token from the address into a cookie, by a redirect."""
        pairs = parse_qsl(scope["query_string"].decode("latin-1"))
        if scope["method"] != "GET" or not self._is(_in_address(scope)):
            return None
        rest = urlencode([pair for pair in pairs if pair[0] != "token"])
        path = "/" + scope["path"].lstrip("/\\")  # never another host
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
        answer.set_cookie(
            self._cookie, self._token, path="/", httponly=True, samesite="strict"
        )
        return answer

    def _too_large(self, headers: Headers) -> Response | None:
        size = headers.get("content-length", "0")
        if not size.isdecimal() or int(size) > LARGEST:
            return _refuse(413, "413: the request is too large\n", headers)
        return None


def _in_address(scope: Scope) -> str:
    """Return the token in the address of a request; empty if there is none."""
    pairs = parse_qsl(scope["query_string"].decode("latin-1"))
    return next((value for name, value in pairs if name == "token"), "")


def _ours(headers: Headers) -> bool:
    """Return whether a browser sent this from a page of this server."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    origin = headers.get("origin", "")
    host = headers.get("host", "")
    return bool(host) and origin in {f"http://{host}", f"https://{host}"}


def _refuse(status: int, text: str, headers: Headers) -> Response:
    """Return a refusal: a page for browsers, plain text for programs."""
    assert HTTPStatus(status)
    if "text/html" not in headers.get("accept", ""):
        return PlainTextResponse(text, status)
    digest = b64encode(sha256(STYLE.encode()).digest()).decode()
    lines = text.partition(": ")[2].strip().splitlines()
    paragraphs = "".join(f"<p>{_sentence(line)}</p>" for line in lines)
    page = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{status} \u00b7 halflife</title><style>{STYLE}</style></head>"
        f"<body><main><h1>{TITLES[status]}</h1>{paragraphs}</main></body></html>"
    )
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return HTMLResponse(page, status, {"content-security-policy": policy})


def _sentence(line: str) -> str:
    """Return a line of text as a sentence of HTML, with commands marked up."""
    parts = line[:1].upper() + line[1:]
    for mark in ("<code>", "</code>"):
        parts = parts.replace("`", mark, 1)
    return parts if parts.endswith(".") else f"{parts}."


def _refuse_json(status: int, text: str) -> Response:
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"status": status, "said": text}, status, headers)
