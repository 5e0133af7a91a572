"""Pushes that wait for a proof of their key, and the results of proofs.

The process that serves writes the claims (``KEY_CLAIMS``), the process that fetches
proves them (``KEY_PROOFS``).
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

from halflife.stores.notes import NoteKind, finite, moments, text, texts


@dataclass(frozen=True, slots=True)
class KeyClaim:
    """A claim to speak for a host: a file at ``location`` holds this key."""

    location: str
    key: str


@dataclass(frozen=True, slots=True)
class KeyProof:
    """When the file was last fetched, in days, and whether it held the key."""

    at: float
    holds: bool


Claims: TypeAlias = dict[KeyClaim, dict[str, float]]  # pages, and when each was named
Proofs: TypeAlias = dict[KeyClaim, KeyProof]


def _read_claims(rows: list[Any]) -> Claims:
    return {KeyClaim(*texts(claim)): moments(pages) for claim, pages in rows}


def _read_proofs(rows: list[Any]) -> Proofs:
    return {
        KeyClaim(text(location), text(key)): KeyProof(finite(at), bool(holds))
        for location, key, at, holds in rows
    }


KEY_CLAIMS = NoteKind(
    "key_claims",
    1,
    lambda known: [[[c.location, c.key], pages] for c, pages in known.items()],
    _read_claims,
)
KEY_PROOFS = NoteKind(
    "key_proofs",
    1,
    lambda known: [[c.location, c.key, p.at, p.holds] for c, p in known.items()],
    _read_proofs,
)
