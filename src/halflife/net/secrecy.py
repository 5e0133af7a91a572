"""What was sent in secret must not come back into sight.

Servers repeat what they were asked: a link to the next page holds the key that was in
the query, an error page the header. Whatever is kept of an answer is written down,
shown and exported, so the secrets are taken out of it first.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus

HIDDEN = "***"
SHORTEST = 8  # characters of a secret that is found anywhere; a shorter one is a word


class Veil:
    """Takes secrets out of texts.

    Args:
        values: Secrets, wherever they stand.
        parameters: Secrets that are sent as parameters: found also where they are
            short, behind their names.

    >>> Veil(["hunter2-hunter2"], {"k": "x"}).hide("/?k=x&b=hunter2-hunter2")
    '/?k=***&b=***'

    """

    __slots__ = ("_pairs",)

    def __init__(self, values: Iterable[str], parameters: Mapping[str, str]) -> None:
        found = {v: HIDDEN for value in values for v in _spellings(value)}
        for name, value in parameters.items():
            found |= {f"{n}={v}": f"{n}={HIDDEN}" for n, v in _pairs(name, value)}
        longest = sorted(found.items(), key=lambda pair: -len(pair[0]))
        self._pairs = [(a, b, a.encode(), b.encode()) for a, b in longest]

    def hide(self, text: str) -> str:
        """Return a text without the secrets."""
        for secret, instead, _, _ in self._pairs:
            text = text.replace(secret, instead)
        return text

    def hide_bytes(self, body: bytes) -> bytes:
        """Return a body without the secrets."""
        for _, _, secret, instead in self._pairs:
            if secret in body:
                body = body.replace(secret, instead)
        return body


def _spellings(value: str) -> set[str]:
    """Return a secret as it may be written in an answer; none if it is too short."""
    parts = {value, value.rpartition(" ")[2]}  # «Bearer x» may come back as «x»
    return {
        spelt
        for part in parts
        if len(part) >= SHORTEST
        for spelt in (part, quote(part, safe=""), quote_plus(part), *_in_json(part))
    }


def _in_json(text: str) -> tuple[str, str]:
    inside = json.dumps(text)[1:-1]
    return inside, inside.replace("/", "\\/")


def _pairs(name: str, value: str) -> Iterator[tuple[str, str]]:
    for written in {name, quote(name, safe=""), quote_plus(name)}:
        for spelt in {value, quote(value, safe=""), quote_plus(value)}:
            yield written, spelt
