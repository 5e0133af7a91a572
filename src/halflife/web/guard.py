"""Who may ask: a door before the whole app, shut unless there is a reason to open."""

import hmac
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from html import escape
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
API = "/api/"  # addresses for programs, which get their errors as JSON
FEED = "/changes.atom"  # what feed readers ask for; they send no headers of their own
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
    "anew since.\nNothing was done. Open the address that it printed last: it ends "
    "with ?token=...\n"
)
STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;"
    "padding:0 1rem}@media(prefers-color-scheme:dark){body{background:#111;color:#eee}}"
)
_HASH = b64encode(sha256(STYLE.encode()).digest()).decode()
ALONE = (  # the style sheet needs a token, too
    f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
UNNAMED = "send `Authorization: Bearer TOKEN` with a token of this server"
ONLY_READS = 'this token may only read; that needs one with scope = "act"'
COOKIE_ALONE = (
    "send `Authorization: Bearer TOKEN`: a cookie alone sets nothing going here"
)


@dataclass(frozen=True, slots=True)
class ScopedToken:
    """A token for the API alone.

    Attributes:
        value: The secret.
        acts: Whether it may set things going; else it may only read.

    """

    value: str = field(repr=False)
    acts: bool = False


@dataclass(frozen=True, slots=True)
class Opening:
    """What anybody may ask for, without a token.

    Attributes:
        paths: What such addresses begin with; nothing is open if there are none.
        hosts: Values of ``Host`` that are answered there besides the usual ones.

    """

    paths: tuple[str, ...] = ()
    hosts: frozenset[str] = frozenset()


class Guard:
    """Lets a request through if it names a known host, has the token, and is ours.

    * The ``Host`` must be one of those given: another name that was made to point
      here (DNS rebinding) gets 421.
    * The token comes once in the address, from then on in a cookie that no script
      reads and no other site sends; programs send ``Authorization: Bearer``.
    * What changes anything must come from a page of ours: ``Sec-Fetch-Site``, or
      ``Origin`` where a browser does not send that. A bearer token needs neither:
      no other site can send it.
    * Further tokens open the API alone, each within its scope. What changes anything
      there needs a token in the header: a cookie is not enough.
    * What the settings open to the public, such as the callbacks of hubs, needs none:
      those addresses check for themselves who asks.
    * A further token that may only read also opens the feed of changes, in a header or
      in the address: feed readers keep nothing else.

    Args:
        app: What is guarded.
        token: The secret.
        hosts: Values of ``Host`` that are answered.
        cookie: What the cookie is called.
        tokens: Further tokens, for the API.
        opening: What is open to all.

    """

    def __init__(
        self,
        app: ASGIApp,
        token: str,
        hosts: Iterable[str],
        cookie: str,
        tokens: Iterable[ScopedToken] = (),
        opening: "Opening | None" = None,
    ) -> None:
        self.app, self._token, self._cookie = app, token, cookie
        self._hosts, self._scoped = frozenset(hosts), tuple(tokens)
        self._opening = opening or Opening()

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
            return None  # whoever answers there checks for itself
        if not known:
            return _said(421, "421: this is not the host you are looking for\n")
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
        """Say why a request without the header is refused."""
        if not self._is(self._kept(headers)):
            return self._first(scope) or self._unknown(scope, headers)
        if scope["method"] in SAFE:
            return self._first(scope)  # no address with a token stays in the bar
        if not _ours(headers):
            return _said(403, "403: only pages of this very server may do that\n")
        return self._too_large(headers)

    def _unknown(self, scope: Scope, headers: Headers) -> Response:
        """Say that the token is missing, or that it is none of ours any more."""
        given = b"token=" in scope["query_string"] or bool(self._kept(headers))
        said = EXPIRED if given else UNKNOWN
        if scope["path"].endswith(".json"):
            return _said_as_json(401, " ".join(said.removeprefix("401: ").split()))
        if "text/html" not in headers.get("accept", ""):
            return _said(401, said)
        head, *lines = said.strip().splitlines()
        html = (
            f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>401</title>'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            f"<style>{STYLE}</style><h1>halflife</h1><p><strong>{_html(head)}</strong>"
            f"</p>{''.join(f'<p>{_html(line)}</p>' for line in lines)}"
        )
        return HTMLResponse(html, 401, {"content-security-policy": ALONE})

    def _refusal_of_api(
        self, scope: Scope, headers: Headers, bearer: str
    ) -> Response | None:
        """Say why a request to the API without the page's own token is refused."""
        reads = scope["method"] in SAFE
        given = self._scope_of(bearer)
        if given is not None:
            if reads or given.acts:
                return self._too_large(headers)
            return _said_as_json(403, ONLY_READS)
        if not self._is(self._kept(headers)):
            return self._first(scope) or _said_as_json(401, UNNAMED)
        return self._first(scope) if reads else _said_as_json(403, COOKIE_ALONE)

    def _scope_of(self, given: str) -> ScopedToken | None:
        """Return the further token that was sent; it takes as long for each."""
        found = None
        for one in self._scoped:
            if hmac.compare_digest(given.encode(), one.value.encode()):
                found = one
        return found

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
        """Take the token out of the address and into a cookie."""
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
            return _said(413, "413: that is too much\n")
        return None


def _in_address(scope: Scope) -> str:
    """Return the token in the address of a request; empty if there is none."""
    pairs = parse_qsl(scope["query_string"].decode("latin-1"))
    return next((value for name, value in pairs if name == "token"), "")


def _ours(headers: Headers) -> bool:
    """Say whether a browser sent this from a page of ours."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    origin = headers.get("origin", "")
    host = headers.get("host", "")
    return bool(host) and origin in {f"http://{host}", f"https://{host}"}


def _html(text: str) -> str:
    r"""Return a line as HTML; what stands between backticks is typed.

    >>> _html("say `a <b`")
    'say <code>a &lt;b</code>'
    """
    parts = escape(text).split("`")
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(parts))


def _said(status: int, text: str) -> Response:
    assert HTTPStatus(status)
    return PlainTextResponse(text, status)


def _said_as_json(status: int, said: str) -> Response:
    headers = {"www-authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"status": status, "said": said}, status, headers)
