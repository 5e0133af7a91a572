"""The rules of a robots.txt, as RFC 9309 has them.

The grammar is that of section 2.2: a group is one or more ``User-agent`` lines and the
rules after them. Only a rule (``Allow``, ``Disallow``) ends the list of agents; what is
neither, such as ``Crawl-delay``, ``Sitemap`` or an unknown line, does not.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import NamedTuple

_TOKEN = re.compile(r"[a-z_-]+")
_EVERYONE = re.compile(r"\*(?:\s|\Z)")
_RATE = re.compile(r"([0-9]{1,9})/([0-9]{1,9})([smhd]?)")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
# As they are written, and as they are often mistyped.
_AGENTS = frozenset({"user-agent", "useragent", "user agent"})
_DISALLOW = frozenset(
    {"disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"}
)
_DELAYS = frozenset({"crawl-delay", "crawldelay", "crawl delay"})
_RATES = frozenset({"request-rate", "request rate"})
_PLAIN = re.compile(r"[A-Za-z0-9._~/?&=+-]*")  # most targets; nothing to do
_OCTET = re.compile(rb"%([0-9A-Fa-f]{2})|([^A-Za-z0-9._~-])")
_UNRESERVED = frozenset(b"-._~") | {n for n in range(0x80) if chr(n).isalnum()}
_STRUCTURE = frozenset(b"/?&=+")  # an escape of these may mean another resource
_IN_QUERY = frozenset(b"/?")  # of these it does not after the first question mark
_ESCAPE = re.compile(r"%..")
_STARS = re.compile(r"\*{2,}")
_LONGEST = 1 << 14  # characters of a rule; a URL that long is not fetched at all
MOST_WILD = 5000  # rules with wildcards that are matched: 45 ms for a URL of 4 KB


class Pattern(NamedTuple):
    """One rule.

    Attributes:
        allow: Whether it allows what it matches.
        parts: What must follow each other in a target, with anything between.
        to_end: Whether the last part must end the target.
        length: Its octets; of the rules that match, the longest counts.

    """

    allow: bool
    parts: tuple[str, ...]
    to_end: bool
    length: int

    def matches(self, target: str) -> bool:
        """Say whether a normal target begins with the pattern.

        Each part is searched once, from where the part before it ended.
        """
        if not target.startswith(self.parts[0]):
            return False
        first, *rest = self.parts
        if not rest:
            return not self.to_end or target == first
        at = len(first)
        *middle, last = rest
        for part in middle:
            found = target.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        if self.to_end:
            return target.endswith(last) and len(target) - len(last) >= at
        return target.find(last, at) >= 0


@dataclass(frozen=True, slots=True)
class AgentRules:
    """What one agent may do: all groups that name it, as one.

    Attributes:
        patterns: The rules, longest first; of equal ones those that allow.
        delay: Seconds between requests that the host asks for.

    """

    patterns: tuple[Pattern, ...] = ()
    delay: float = 0.0

    def allows(self, target: str) -> bool:
        """Say whether a path with its query may be asked for."""
        asked = normal(target)
        if asked == "/robots.txt":
            return True
        return next((p.allow for p in self.patterns if p.matches(asked)), True)


@dataclass(slots=True, eq=False)
class _Draft:
    """What was read for one agent so far."""

    rules: set[Pattern] = field(default_factory=set)
    delay: float = 0.0
    named: bool = False

    def group(self) -> AgentRules:
        """Return it in the order in which rules count.

        Where there are too many wildcards to match, the rest of the rules forbids all
        that begins as they do, and allows nothing.
        """
        order = sorted(self.rules, key=lambda rule: (-rule.length, not rule.allow))
        wild = [rule for rule in order if len(rule.parts) > 1]
        short = {
            r: r._replace(parts=r.parts[:1], to_end=False) for r in wild[MOST_WILD:]
        }
        kept = (short.get(r, r) for r in order if not (r.allow and r in short))
        return AgentRules(tuple(dict.fromkeys(kept)), self.delay)


def read_group(text: str, agent: str) -> AgentRules:
    r"""Return the rules for an agent: its own, or if it is not named, everyone's.

    >>> text = "User-agent: x\nCrawl-delay: 5\nUser-agent: *\nDisallow: /y"
    >>> found = read_group(text, "x")
    >>> found.allows("/y"), found.delay
    (False, 5.0)
    """
    own, everyone = _Draft(), _Draft()
    meant: list[_Draft] = []  # whom the present group is about: none, one or both
    ended, delay = True, 0.0
    for name, value in _fields(text):
        if name in _AGENTS:
            if ended:
                meant, ended, delay = [], False, 0.0
            draft = _draft(value, agent, own, everyone)
            meant += [draft] if draft and draft not in meant else []
        elif name == "allow" or name in _DISALLOW:
            ended = True
            if value and meant and len(value) <= _LONGEST:
                rule = _pattern(value, allow=name == "allow")
                for draft in meant:
                    draft.rules.add(rule)
        elif name in _DELAYS or name in _RATES:
            delay = max(delay, _seconds(name, value))
        for draft in meant:
            draft.named = True
            draft.delay = max(draft.delay, delay)
    return (own if own.named else everyone).group()


def _draft(value: str, agent: str, own: _Draft, everyone: _Draft) -> _Draft | None:
    """Return what a ``User-agent`` line is about, if it is about us."""
    if _EVERYONE.match(value):
        return everyone
    token = _TOKEN.match(value.lower())
    return own if token and token[0] == agent else None


def _fields(text: str) -> Iterator[tuple[str, str]]:
    """Return names, in small letters, and values. A colon may have been forgotten."""
    for line in re.split(r"[\r\n]", text):
        bare = line.partition("#")[0].strip()
        name, colon, value = bare.partition(":")
        if not colon:
            words = bare.split()
            if len(words) != 2:
                continue
            name, value = words
        yield " ".join(name.lower().split()), _STARS.sub("*", value.strip())


def _pattern(value: str, *, allow: bool) -> Pattern:
    to_end = value.endswith("$")
    parts, query = [], False
    for part in value[: len(value) - to_end].split("*"):
        parts.append(_normal(part, query=query))
        query = query or "?" in part
    length = len(_ESCAPE.sub("x", "*".join(parts))) + to_end
    return Pattern(allow, tuple(parts), to_end, length)


def normal(target: str) -> str:
    r"""Return a path and query in which equal resources are written alike.

    Section 2.2.2: octets that need no escape have none, others have one, in capital
    letters. So no escape leads around a rule. ``* $`` of a URL are escaped, as
    section 2.2.3 has it.

    >>> normal("/%62%61r/\u30c4?a=b:c&d=%2f%3a*")
    '/bar/%E3%83%84?a=b%3Ac&d=/%3A%2A'
    """
    return _normal(target)


def _normal(text: str, *, query: bool = False) -> str:
    if _PLAIN.fullmatch(text):
        return text
    path, mark, asked = ("", "", text) if query else text.partition("?")
    plain = _UNRESERVED | _IN_QUERY
    return _escaped(path, _UNRESERVED) + mark + _escaped(asked, plain)


def _escaped(text: str, plain: frozenset[int]) -> str:
    """Return a text in which octets that are not ``plain`` are escaped."""

    def one(found: re.Match[bytes]) -> bytes:
        octet = int(found[1], 16) if found[1] else found[2][0]
        stays = octet in plain or (not found[1] and octet in _STRUCTURE)
        return bytes((octet,)) if stays else b"%%%02X" % octet

    return _OCTET.sub(one, text.encode("utf-8", "surrogatepass")).decode()


def _seconds(name: str, value: str) -> float:
    """Return the seconds between requests that a line asks for; 0 if nonsense."""
    if name in _RATES:
        rate = _RATE.match(value)
        if rate is None or not int(rate[1]):
            return 0.0
        return int(rate[2]) * _UNITS[rate[3]] / int(rate[1])
    try:
        delay = float(value)
    except ValueError:
        return 0.0
    return delay if isfinite(delay) and delay > 0 else 0.0
