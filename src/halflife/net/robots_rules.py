"""The rules of a robots.txt, by RFC 9309.

The grammar is that of section 2.2: a group is one or more ``User-agent`` lines and the
rules after them. Only a rule (``Allow``, ``Disallow``) ends the list of agents; other
lines, such as ``Crawl-delay``, ``Sitemap`` or unknown ones, do not.
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
# Correct and common wrong spellings.
_AGENTS = frozenset({"user-agent", "useragent", "user agent"})
_DISALLOW = frozenset(
    {"disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"}
)
_DELAYS = frozenset({"crawl-delay", "crawldelay", "crawl delay"})
_RATES = frozenset({"request-rate", "request rate"})
_PLAIN = re.compile(r"[A-Za-z0-9._~/?&=+-]*")  # most targets; already normal
_OCTET = re.compile(rb"%([0-9A-Fa-f]{2})|([^A-Za-z0-9._~-])")
_UNRESERVED = frozenset(b"-._~") | {n for n in range(0x80) if chr(n).isalnum()}
_STRUCTURE = frozenset(b"/?&=+")  # an escape of these may mean another resource
_IN_QUERY = frozenset(b"/?")  # an escape of these means the same inside a query
_ESCAPE = re.compile(r"%..")
_STARS = re.compile(r"\*{2,}")
_LONGEST = 1 << 14  # characters of a rule; a URL that long is not fetched at all
MOST_WILD = 5000  # rules with wildcards that are matched: 45 ms for a URL of 4 KB


class Pattern(NamedTuple):
    """One rule.

    Attributes:
        allow: Whether it allows what it matches.
        parts: Texts that must follow each other in a target, with anything between.
        to_end: Whether the last part must end the target.
        length: Its octets; of the matching rules the longest counts.

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
    """The rules of one agent: all groups that name it, merged.

    Attributes:
        patterns: The rules, longest first; of equal length those that allow first.
        delay: Seconds between requests that the host requires.

    """

    patterns: tuple[Pattern, ...] = ()
    delay: float = 0.0

    def allows(self, target: str) -> bool:
        """Say whether a path with its query may be requested."""
        plain = normal(target)
        if plain == "/robots.txt":
            return True
        return next((p.allow for p in self.patterns if p.matches(plain)), True)


@dataclass(slots=True, eq=False)
class _Draft:
    """The rules read for one agent so far."""

    rules: set[Pattern] = field(default_factory=set)
    delay: float = 0.0
    named: bool = False

    def group(self) -> AgentRules:
        """Return the rules in order of precedence.

        Beyond ``MOST_WILD`` rules with wildcards, a rule that forbids is cut to its
        first part, and one that allows is dropped.
        """
        order = sorted(self.rules, key=lambda rule: (-rule.length, not rule.allow))
        wild = [rule for rule in order if len(rule.parts) > 1]
        short = {
            r: r._replace(parts=r.parts[:1], to_end=False) for r in wild[MOST_WILD:]
        }
        kept = (short.get(r, r) for r in order if not (r.allow and r in short))
        return AgentRules(tuple(dict.fromkeys(kept)), self.delay)


def read_group(text: str, agent: str) -> AgentRules:
    r"""Return the rules for an agent: its own, or those for ``*`` if it is not named.

    >>> text = "User-agent: x\nCrawl-delay: 5\nUser-agent: *\nDisallow: /y"
    >>> rules = read_group(text, "x")
    >>> rules.allows("/y"), rules.delay
    (False, 5.0)
    """
    own, everyone = _Draft(), _Draft()
    current: list[_Draft] = []  # the drafts that the present group applies to
    ended, delay = True, 0.0
    for name, value in _fields(text):
        if name in _AGENTS:
            if ended:
                current, ended, delay = [], False, 0.0
            draft = _draft(value, agent, own, everyone)
            current += [draft] if draft and draft not in current else []
        elif name == "allow" or name in _DISALLOW:
            ended = True
            if value and current and len(value) <= _LONGEST:
                rule = _pattern(value, allow=name == "allow")
                for draft in current:
                    draft.rules.add(rule)
        elif name in _DELAYS or name in _RATES:
            delay = max(delay, _seconds(name, value))
        for draft in current:
            draft.named = True
            draft.delay = max(draft.delay, delay)
    return (own if own.named else everyone).group()


def _draft(value: str, agent: str, own: _Draft, everyone: _Draft) -> _Draft | None:
    """Return the draft that a ``User-agent`` line selects, if any."""
    if _EVERYONE.match(value):
        return everyone
    token = _TOKEN.match(value.lower())
    return own if token and token[0] == agent else None


def _fields(text: str) -> Iterator[tuple[str, str]]:
    """Return names, in lower case, and values; the colon may be missing."""
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
        parts.append(normal(part, in_query=query))
        query = query or "?" in part
    length = len(_ESCAPE.sub("x", "*".join(parts))) + to_end
    return Pattern(allow, tuple(parts), to_end, length)


def normal(target: str, *, in_query: bool = False) -> str:
    r"""Return the normal form of a path and query, equal for equal resources.

    With ``in_query`` the text is a part of the query alone.

    Section 2.2.2: octets that need no escape have none, others have one, in capital
    letters. So no escape evades a rule. ``* $`` of a URL are escaped, by section 2.2.3.

    >>> normal("/%62%61r/\u30c4?a=b:c&d=%2f%3a*")
    '/bar/%E3%83%84?a=b%3Ac&d=/%3A%2A'
    """
    if _PLAIN.fullmatch(target):
        return target
    path, mark, query = ("", "", target) if in_query else target.partition("?")
    plain = _UNRESERVED | _IN_QUERY
    return _escape(path, _UNRESERVED) + mark + _escape(query, plain)


def _escape(text: str, plain: frozenset[int]) -> str:
    """Return a text in which octets that are not ``plain`` are escaped."""

    def replace(found: re.Match[bytes]) -> bytes:
        octet = int(found[1], 16) if found[1] else found[2][0]
        stays = octet in plain or (not found[1] and octet in _STRUCTURE)
        return bytes((octet,)) if stays else b"%%%02X" % octet

    return _OCTET.sub(replace, text.encode("utf-8", "surrogatepass")).decode()


def _seconds(name: str, value: str) -> float:
    """Return the seconds between requests that a line sets; 0 if it is invalid."""
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
