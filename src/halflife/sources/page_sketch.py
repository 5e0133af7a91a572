"""What the page guard needs to know of a page's text."""

import re
from dataclasses import replace
from urllib.parse import unquote

from halflife.models.page_guard import LOGIN, Sketch
from halflife.observation import Content, Observation
from halflife.sources.text import fingerprint, is_html, to_text, visible

LARGEST = 1 << 18  # bytes that are read; more would hold up the loop
LEAST_ECHO = 8  # characters; a shorter part of an address may be a word of the text
OUT = "leads out of scope"  # the note of a page of a site that does begins so
SHORT = 2000  # characters; a longer text is an article about errors, not an error
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_PASSWORD = re.compile(
    rb"<input\b[^>]{0,400}\btype\s*=\s*[\"']?password", re.IGNORECASE
)
_LOGIN_PATH = re.compile(
    r"/(?:[\w-]*log[-_]?in|sign[-_]?in|sso|saml|oauth2?|auth|cas)(?:[/.?#]|$)",
    re.IGNORECASE,
)
_SIGNS = {
    "a maintenance page": (r"maintenance|be right back|back (?:soon|shortly|online)"),
    "a missing page": (
        r"\b404\b|not found|(?:does not|doesn't|no longer) exist|cannot be found"
        r"|can't be found|no such page"
    ),
    "a check of visitors": (
        r"captcha|are you a (?:ro)?bot|verify (?:that )?you are (?:a )?human"
        r"|checking your browser|enable (?:javascript and )?cookies"
    ),
    "an error": (
        r"\b50[0234]\b|service unavailable|temporarily unavailable|bad gateway"
        r"|gateway time-?out|internal server error|access denied|\bforbidden\b"
        r"|too many requests|something went wrong|error (?:reference|id|code)"
    ),
}
_FOUND = tuple((name, re.compile(text, re.IGNORECASE)) for name, text in _SIGNS.items())


def sketch(key: str, content: Content) -> Sketch:
    """Return what matters of a copy to the guard."""
    body = content.body[:LARGEST]
    if not is_html(content.media_type, body):
        return Sketch(fingerprint(content.body), len(content.body))
    text = visible(to_text(content.media_type, body))
    words = _words(key, text)
    shape = fingerprint(" ".join(words).encode("utf-8", "replace"))
    return Sketch(shape, len(text), _sign(body, text), frozenset(words))


def sketch_of(look: Observation) -> Sketch:
    """Return the same of an observation, as far as it tells."""
    same = look.links.same if look.links is not None else ""
    leads = look.content is None and (bool(same) or look.note.startswith(OUT))
    place = same or look.note
    found = Sketch(look.digest, leads=leads)
    if look.content is not None:
        found = sketch(look.key, look.content)
    return replace(found, sign=LOGIN) if is_login(look.key, place) else found


def is_login(key: str, place: str) -> bool:
    """Say whether a page led to the address of a login, and is none itself.

    >>> is_login("https://a.org/x", "redirected to https://a.org/login?next=/x")
    True
    >>> is_login("https://a.org/login", "https://a.org/login/")
    False
    """
    return bool(_LOGIN_PATH.search(place)) and not _LOGIN_PATH.search(key)


def _words(key: str, text: str) -> list[str]:
    """Return the words of a text that are the same at each request.

    What holds a digit, or repeats the page's address, may differ from one page and one
    request to the next: times, request ids, the address that was not found.
    """
    for echo in _echoes(key):
        text = text.replace(echo, " ")
    return [word.lower() for word in _WORD.findall(text) if not _is_code(word)]


def _echoes(key: str) -> list[str]:
    """Return the ways in which a page may repeat its address, longest first."""
    rest = key.partition("://")[2]
    path = rest[rest.find("/") :] if "/" in rest else ""
    last = path.rstrip("/").rpartition("/")[2]
    found = [key, unquote(key), rest, path.rstrip("/"), unquote(path).rstrip("/")]
    return [echo for echo in (*found, last, unquote(last)) if len(echo) >= LEAST_ECHO]


def _is_code(word: str) -> bool:
    """Say whether a word is a number or an id, not a word."""
    if word.isalpha():
        return not (word.islower() or word.istitle() or word.isupper())
    return any(letter.isdigit() for letter in word)


def _sign(body: bytes, text: str) -> str:
    if _PASSWORD.search(body):
        return LOGIN
    if len(text) > SHORT:
        return ""
    return next((name for name, pattern in _FOUND if pattern.search(text)), "")
