"""Redaction of secrets in answers.

Servers repeat parts of a request: a link to the next page holds the key that was in the
query, an error page the header. An answer is stored, displayed and exported, so the
secrets are removed from it first.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus

HIDDEN = "***"
SHORTEST = 8  # characters of a secret that is redacted anywhere; shorter ones are words


class SecretRedactor:
    """Removes secrets from texts.

    Args:
        values: Secrets, redacted anywhere.
        parameters: Secrets that are sent as parameters: short ones are redacted
            behind their names.

    >>> redactor = SecretRedactor(["hunter2-hunter2"], {"k": "x"})
    >>> redactor.redact("/?k=x&b=hunter2-hunter2")
    '/?k=***&b=***'

    """

    __slots__ = ("_pairs",)

    def __init__(self, values: Iterable[str], parameters: Mapping[str, str]) -> None:
        texts = {v: HIDDEN for value in values for v in _spellings(value)}
        for name, value in parameters.items():
            texts |= {f"{n}={v}": f"{n}={HIDDEN}" for n, v in _pairs(name, value)}
        longest = sorted(texts.items(), key=lambda pair: -len(pair[0]))
        self._pairs = [(a, b, a.encode(), b.encode()) for a, b in longest]

    def redact(self, text: str) -> str:
        """Return a text without the secrets."""
        for secret, instead, _, _ in self._pairs:
            text = text.replace(secret, instead)
        return text

    def redact_bytes(self, body: bytes) -> bytes:
        """Return a body without the secrets."""
        for _, _, secret, instead in self._pairs:
            if secret in body:
                body = body.replace(secret, instead)
        return body


def _spellings(value: str) -> set[str]:
    """Return the spellings of a secret in an answer; none if it is too short."""
    parts = {value, value.rpartition(" ")[2]}  # «Bearer x» may come back as «x»
    return {
        spelling
        for part in parts
        if len(part) >= SHORTEST
        for spelling in (part, quote(part, safe=""), quote_plus(part), *_in_json(part))
    }


def _in_json(text: str) -> tuple[str, str]:
    inside = json.dumps(text)[1:-1]
    return inside, inside.replace("/", "\\/")


def _pairs(name: str, value: str) -> Iterator[tuple[str, str]]:
    for key in {name, quote(name, safe=""), quote_plus(name)}:
        for spelling in {value, quote(value, safe=""), quote_plus(value)}:
            yield key, spelling
