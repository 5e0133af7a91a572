"""Pushes without our token, proved by a key file on the host of the pages.

As in IndexNow, a sender names a key, and a file on the host of the pages contains it:
``https://host/KEY.txt``, or another address (``keyLocation``), which then authorises
pushes for the pages in its folder and below. The file is fetched through the gate in
the next turn of the source, and only then do the pushed pages become hints. A proof is
stored.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from halflife.config import Config
from halflife.core.budget import Purse
from halflife.core.errors import BudgetSpent, SourceError, UsageError
from halflife.kinds.pages import pushed_hints
from halflife.kinds.pages.settings import PagesConfig
from halflife.net.access import Access
from halflife.net.addresses import canonical, host_of
from halflife.net.gate import Gate
from halflife.stores import Store
from halflife.stores.notes.key_proofs import (
    KEY_CLAIMS,
    KEY_PROOFS,
    Claims,
    KeyClaim,
    KeyProof,
    Proofs,
)

HELD, MISSING = 1.0, 1.0 / 24.0  # days for which a proof, or a failed one, is valid
KEPT = 30.0  # days after which a proof is forgotten
MOST_CLAIMS = 20  # claims of a source that wait for a proof
MOST_PROOFS = 5  # requests for key files in one turn
MOST_FAILED = 10  # failed key files of a host in one day
ACCEPTED, PENDING, UNPROVEN, FOREIGN, CROWDED = 200, 202, 403, 422, 429
_KEY = re.compile(r"[A-Za-z0-9-]{8,128}")


@dataclass(frozen=True, slots=True)
class KeyedPush:
    """A push: the changed pages, and the claim of a key."""

    claim: KeyClaim
    urls: tuple[str, ...]


def read_push(fields: Mapping[str, Any]) -> KeyedPush | None:
    """Return a push in the format of IndexNow; None if its pages are not of its host.

    Raise ``UsageError`` if it cannot be read.

    >>> read_push({"key": "0123abcd", "url": "https://a.example/x"}).claim.location
    'https://a.example/0123abcd.txt'
    """
    addresses = fields.get("urlList", [fields.get("url")])
    key, key_location = fields.get("key"), fields.get("keyLocation")
    texts = addresses if isinstance(addresses, list) else []
    if not texts or not all(isinstance(text, str) for text in texts):
        raise UsageError("name the pages that have changed: url, or urlList")
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise UsageError("key: 8 to 128 letters, digits and dashes")
    if len(texts) > pushed_hints.MOST_URLS:
        raise UsageError(f"a push has at most {pushed_hints.MOST_URLS} addresses")
    if key_location is not None and not isinstance(key_location, str):
        raise UsageError("keyLocation: not an address")
    urls = tuple(canonical(url) for url in texts)
    scheme, host = urlsplit(urls[0]).scheme, host_of(urls[0])
    location = canonical(key_location or f"{scheme}://{host}/{key}.txt")
    push = KeyedPush(KeyClaim(location, key), urls)
    claimed_host = fields.get("host", host)
    is_valid = claimed_host in (host, host.partition(":")[0]) and "?" not in location
    return push if is_valid and all(covers(location, url) for url in urls) else None


def covers(location: str, url: str) -> bool:
    """Return whether a key file covers a page: same host, in or below its folder.

    >>> covers("https://a.example/x/key.txt", "https://a.example/x/y/z")
    True
    >>> covers("https://a.example/x/key.txt", "https://a.example/xy")
    False
    """
    folder = urlsplit(location).path.rpartition("/")[0] + "/"
    path = urlsplit(url).path or "/"
    return host_of(location) == host_of(url) and path.startswith(folder)


def submit(store: Store, config: Config, push: KeyedPush, now: float) -> int:
    """Record a push; return its status, numbered as in IndexNow.

    Pages that no source keeps are ignored, with the same status as for others.
    """
    by_source: dict[str, list[str]] = {}
    own = {source.name for source in PagesConfig.among(config.source)}
    for url in push.urls:
        owner = store.source_of(url)
        if owner is not None and owner in own:
            by_source.setdefault(owner, []).append(url)
    statuses = [
        _submit(store, source, push.claim, keys, now)
        for source, keys in by_source.items()
    ]
    return max(statuses, default=PENDING)


def _submit(
    store: Store, source: str, claim: KeyClaim, keys: Sequence[str], now: float
) -> int:
    proof = (KEY_PROOFS.load(store, source) or {}).get(claim)
    if proof is not None and _is_valid(proof, now):
        if not proof.holds:
            return UNPROVEN
        pushed_hints.keep(store, source, keys, now)
        return ACCEPTED
    waiting = KEY_CLAIMS.load(store, source) or {}
    if claim not in waiting and len(waiting) >= MOST_CLAIMS:
        return CROWDED
    pages = waiting.setdefault(claim, {})
    room = pushed_hints.MOST_WAITING - len(pages)
    pages.update(dict.fromkeys(keys[:room], now))
    KEY_CLAIMS.save(store, waiting, source)
    return PENDING


def _is_valid(proof: KeyProof, now: float) -> bool:
    return 0.0 <= now - proof.at < (HELD if proof.holds else MISSING)


@dataclass(frozen=True, slots=True)
class KeyFileChecker:
    """Fetches the key files of senders that have pushed.

    Attributes:
        store: Where claims and proofs are kept.
        gate: The gate to the network.
        terms: How requests for each source are sent; without its secrets.

    """

    store: Store
    gate: Gate
    terms: Mapping[str, Access]

    async def begin_turn(self, purse: Purse, now: float) -> None:
        """Check waiting claims; the pages of proved ones become hints."""
        left = MOST_PROOFS
        for source in self.terms:
            waiting = KEY_CLAIMS.load(self.store, source)
            if not waiting:
                continue
            stored = KEY_PROOFS.load(self.store, source) or {}
            proofs = {c: p for c, p in stored.items() if abs(now - p.at) < KEPT}
            left = await self._prove(source, waiting, proofs, purse, left)
            KEY_PROOFS.save(self.store, proofs, source)
            KEY_CLAIMS.save(self.store, waiting, source)

    async def _prove(
        self, source: str, waiting: Claims, proofs: Proofs, purse: Purse, left: int
    ) -> int:
        """Check claims in their order; return how many more this turn may check."""
        for claim in list(waiting):
            now, proof = self.gate.clock(), proofs.get(claim)
            if proof is None or not _is_valid(proof, now):
                if not left or purse.left <= 0:
                    break
                if proof is None and _failed(proofs, claim, now) >= MOST_FAILED:
                    del waiting[claim]  # the sender is guessing keys
                    continue
                left -= 1
                holds = await self._holds(source, claim, purse)
                if holds is None:
                    break
                proof = proofs[claim] = KeyProof(now, holds)
            pages = waiting.pop(claim)
            if proof.holds:
                pushed_hints.keep(self.store, source, pages, max(pages.values()))
        return left

    async def _holds(self, source: str, claim: KeyClaim, purse: Purse) -> bool | None:
        """Return whether a file contains a key; None if there is no request left.

        A redirect proves nothing: it may lead to any other host.
        """
        try:
            answer = await self.gate.get(
                claim.location, purse, access=self.terms[source]
            )
        except BudgetSpent:
            return None
        except (SourceError, UsageError):
            return False
        if answer.status != 200 or answer.hops > 1:
            return False
        return answer.body.removeprefix(b"\xef\xbb\xbf").strip() == claim.key.encode()


def _failed(proofs: Proofs, claim: KeyClaim, now: float) -> int:
    """Return how many key files of a host failed within a day."""
    host = host_of(claim.location)
    return sum(
        not proof.holds and now - proof.at < 1.0 and host_of(other.location) == host
        for other, proof in proofs.items()
    )
