"""Sketches of pages for the page guard."""

import re
from dataclasses import replace
from urllib.parse import unquote

from halflife.core.observation import Content, Observation
from halflife.models.page_guard import LOGIN, Sketch
from halflife.readers.text import fingerprint, is_html, to_text, visible

LARGEST = 1 << 18  # bytes that are read; more would block the loop
LEAST_ECHO = 8  # characters; a shorter part of an address may be a word of the text
OUT = "leads out of scope"  # the start of the note of such a page of a site
SHORT = 2000  # characters; a longer text is an article about errors, not an error
_WORD = re.compile(r"\w+")
_PASSWORD = re.compile(
    rb"<input\b[^>]{0,400}\btype\s*=\s*[\"']?password", re.IGNORECASE
)
_LOGIN_PATH = re.compile(
    r"/(?:[\w-]*log[-_]?in|sign[-_]?in|sso|saml|oauth2?|auth|cas)(?:[/.?#]|$)",
    re.IGNORECASE,
)
# Plain texts in lower case: a regular expression would be slow.
_SIGNS = {
    "a maintenance page": (
        "maintenance", "be right back", "back soon", "back shortly", "back online",
    ),
    "a missing page": (
        " 404 ", "not found", "does not exist", "doesn't exist", "no longer exist",
        "cannot be found", "can't be found", "no such page",
    ),
    "a check of visitors": (
        "captcha", "are you a robot", "are you a bot", "you are human",
        "you are a human", "checking your browser", "enable cookies",
        "javascript and cookies",
    ),
    "an error": (
        " 500 ", " 502 ", " 503 ", " 504 ", "service unavailable",
        "temporarily unavailable", "bad gateway", "gateway timeout",
        "gateway time-out", "internal server error", "access denied", "forbidden",
        "too many requests", "something went wrong", "error reference", "error id",
        "error code",
    ),
}  # fmt: skip


def sketch(key: str, content: Content) -> Sketch:
    """Return the sketch of a copy."""
    body = content.body[:LARGEST]
    if not is_html(content.media_type, body):
        return Sketch(fingerprint(content.body), len(content.body))
    text = visible(to_text(content.media_type, body))
    words = _words(key, text)
    shape = fingerprint(" ".join(words).encode("utf-8", "replace"))
    return Sketch(shape, len(text), _sign(body, text), frozenset(words))


def sketch_of(observation: Observation) -> Sketch:
    """Return the sketch of an observation, as far as it is known."""
    same = observation.links.same if observation.links is not None else ""
    leads = observation.content is None and (
        bool(same) or observation.note.startswith(OUT)
    )
    place = same or observation.note
    found = Sketch(observation.digest, leads=leads)
    if observation.content is not None:
        found = sketch(observation.key, observation.content)
    return replace(found, sign=LOGIN) if is_login(observation.key, place) else found


def is_login(key: str, place: str) -> bool:
    """Say whether a page redirected to the address of a login, and is not one itself.

    >>> is_login("https://a.org/x", "redirected to https://a.org/login?next=/x")
    True
    >>> is_login("https://a.org/login", "https://a.org/login/")
    False
    """
    return bool(_LOGIN_PATH.search(place)) and not _LOGIN_PATH.search(key)


def _words(key: str, text: str) -> list[str]:
    """Return the words of a text that are the same at each request.

    Words with a digit and repetitions of the page's address are left out, because they
    may differ between pages and requests: times, request ids, the missing address.
    """
    for echo in _echoes(key):
        text = text.replace(echo, " ")
    found = _WORD.findall(text)
    plain = [w for w in found if w.islower() or w.istitle() or w.isupper()]
    return [word.lower() for word in plain if word.isalpha()]


def _echoes(key: str) -> list[str]:
    """Return the ways in which a page may repeat its address, longest first."""
    rest = key.partition("://")[2]
    path = rest[rest.find("/") :] if "/" in rest else ""
    last = path.rstrip("/").rpartition("/")[2]
    found = [key, unquote(key), rest, path.rstrip("/"), unquote(path).rstrip("/")]
    return [echo for echo in (*found, last, unquote(last)) if len(echo) >= LEAST_ECHO]


def _sign(body: bytes, text: str) -> str:
    if _PASSWORD.search(body):
        return LOGIN
    if len(text) > SHORT:
        return ""
    plain = f" {text.lower()} "
    found = (name for name, parts in _SIGNS.items() if any(p in plain for p in parts))
    return next(found, "")
