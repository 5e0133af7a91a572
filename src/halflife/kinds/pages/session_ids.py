"""Session ids and campaign parameters, which do not identify a page.

A crawl would find a page once for every session id of a site. So keys of pages lack
such parameters; the URL is requested as it was found.
"""

import re
from itertools import pairwise
from urllib.parse import unquote

# Campaigns: parameters that advertisers and mailers add to links.
_CAMPAIGN = re.compile(
    r"(?i)(?:utm_(?:source|medium|campaign|term|content|id|name|cid|reader)"
    r"|gclid|dclid|gbraid|wbraid|fbclid|msclkid|mc_[ce]id|yclid|_ga|_gl|igshid)"
)
# Names that servers use only for sessions, whatever the token.
_SESSION = re.compile(r"(?i)(?:phpsessid|jsessionid|aspsessionid[a-z]*|zenid|oscsid)")
# Names with other meanings (search, section, event): the value must seem random.
_MAYBE = re.compile(r"(?i)(?:s|sid|sess|session|session_?id)")
_COLDFUSION = {"cfid": re.compile(r"[0-9]+"), "cftoken": re.compile(r"[0-9a-f-]{8,}")}
_TOKEN = re.compile(r"[0-9A-Za-z.,!_-]{1,128}")
_HEX = re.compile(
    r"(?i)(?=.*[0-9])(?=.*[a-f])[0-9a-f]{16,128}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}"
)
_SOLID = re.compile(r"[0-9A-Za-z]{16,128}")
_TURNS = 5  # most characters per change of the kind of character
_IN_PATH = re.compile(r"(?i);((?:jsessionid|phpsessid|sid)=[^/;?]*)")


def without_session(url: str) -> str:
    """Return a canonical URL without session ids and campaign parameters.

    Everything else stays unchanged.

    >>> without_session("http://example.org/?b=2&utm_source=x&a=1;c")
    'http://example.org/?b=2&a=1;c'
    >>> without_session("http://example.org/?s=internationalization")
    'http://example.org/?s=internationalization'
    """
    path, mark, query = url.partition("?")
    if ";" in path:
        path = _IN_PATH.sub(lambda at: "" if _is_noise(at[1]) else at[0], path)
    if not mark:
        return path
    pairs = query.split("&")
    kept = [pair for pair in pairs if not _is_noise(pair)]
    if len(kept) == len(pairs):
        return f"{path}?{query}"
    return f"{path}?{'&'.join(kept)}" if kept else path


def _is_noise(pair: str) -> bool:
    """Return whether a parameter names a session or a campaign."""
    name, _, value = pair.partition("=")
    if not value:
        return False
    if _CAMPAIGN.fullmatch(name):
        return True
    value = unquote(value)
    if name.lower() in _COLDFUSION:
        return bool(_COLDFUSION[name.lower()].fullmatch(value.lower()))
    if _SESSION.fullmatch(name):
        return bool(_TOKEN.fullmatch(value))
    return bool(_MAYBE.fullmatch(name)) and looks_random(value)


def looks_random(value: str) -> bool:
    """Return whether a value is a random token.

    Digits, small and capital letters alternate in a random token: at 43 % of the steps
    in tokens of ``[0-9a-v]``, which PHP makes. They rarely do in words with a year or a
    number. Hexadecimal tokens with digits and letters are never words.

    >>> looks_random("9f86d081884c7d659a2f"), looks_random("iso9001certification2015")
    (True, False)
    """
    if _HEX.fullmatch(value):
        return True
    if not _SOLID.fullmatch(value):
        return False
    kinds = [(one.isdigit(), one.isupper()) for one in value]
    turns = sum(one != other for one, other in pairwise(kinds))
    return any(map(str.isdigit, value)) and turns * _TURNS >= len(value)
