"""Conditional requests, as far as servers proved honest.

"Not modified" is only a hint. Each host and kind of validator (``etag``, ``modified``)
has a record of the changes it reported and hid (``models.validator_trust``). A share of
requests are checks: they carry a made-up validator, so an honest server sends the page.
Validators that hid changes are not sent any more; checks continue, so that a corrected
server is trusted again.
"""

from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b

from halflife.core.observation import Observation, Seen
from halflife.core.request import Fetch
from halflife.models.validator_trust import LEAST_CHECKS, TrustRecord
from halflife.net.addresses import host_of
from halflife.net.dates import to_http
from halflife.stores import Store
from halflife.stores.notes.validator_trust import VALIDATOR_TRUST, Trust

AUDITED = round(1.0 / LEAST_CHECKS)  # at least one request in so many is a check
MOST_CHECKS = 10  # of a host in one round of requests: more give little evidence
ETAG, MODIFIED = "etag", "modified"
_LONG_AGO = 1.0  # days: a date earlier than any page


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a request.

    Attributes:
        headers: The conditional headers; empty for an unconditional request.
        kind: The deciding validator: ``etag``, ``modified``, or empty.
        check: Whether this is a check, to which the server must send the page.

    """

    headers: dict[str, str]
    kind: str = ""
    check: bool = False


UNCONDITIONAL = Conditions({})


class ValidatorMemory:
    """The changes that the hosts of a source reported and hid."""

    def __init__(self, store: Store, source: str) -> None:
        self._store, self._source = store, source
        self._trust: Trust = VALIDATOR_TRUST.load(store, source) or {}
        self._stored = dict(self._trust)
        self._checks: Counter[tuple[str, str]] = Counter()

    def record(self, key: str, kind: str) -> TrustRecord:
        """Return the record of a page's host."""
        return self._trust.get((host_of(key), kind), TrustRecord())

    def conditions(self, fetch: Fetch, now: float) -> Conditions:
        """Return the conditions of a request for a page."""
        held = fetch.held
        if held is None or held.seen is not Seen.PRESENT:
            return UNCONDITIONAL
        kinds = _kinds(held)
        if not kinds:
            return UNCONDITIONAL
        believed = [k for k in kinds if self.record(fetch.key, k).is_believed(now)]
        kind, lot = (believed or kinds)[0], _lot(fetch.key, now)
        if self._is_checked(fetch.key, kind, lot, now):
            return Conditions(_made_up(kind, lot), kind, check=True)
        return Conditions(_honest(held, kind) if believed else {}, kind)

    def _is_checked(self, key: str, kind: str, lot: float, now: float) -> bool:
        """Return whether a request is to be a check; few are, per host and round."""
        place = host_of(key), kind
        few = self._checks[place] < MOST_CHECKS or lot < LEAST_CHECKS
        if not few or lot >= self.record(key, kind).check_share(now):
            return False
        self._checks[place] += 1
        return True

    def learn(
        self, asked: Conditions, held: Observation, new: Observation, now: float
    ) -> None:
        """Learn from a page that a server sent, compared with the copy."""
        if new.seen is not Seen.PRESENT:
            return
        if new.digest == held.digest:
            if asked.check:
                record = self.record(new.key, asked.kind).with_pass(now)
                self._set(new.key, asked.kind, record)
            return
        for kind, before, after in (
            (ETAG, held.etag, new.etag),
            (MODIFIED, held.modified, new.modified),
        ):
            if before and before == after:
                self._set(new.key, kind, self.record(new.key, kind).with_lie(now))
            elif before and after and asked.headers and kind == asked.kind:
                self._set(new.key, kind, self.record(new.key, kind).with_truth(now))

    def caught(self, asked: Conditions, key: str, now: float) -> None:
        """Record that a server accepted a made-up validator.

        A server that accepts any ETag accepts any date too: it compares nothing.
        """
        for kind in {asked.kind, MODIFIED}:
            self._set(key, kind, self.record(key, kind).with_lie(now))

    def _set(self, key: str, kind: str, record: TrustRecord) -> None:
        self._trust[host_of(key), kind] = record

    def save(self) -> None:
        """Store what was learned, after a round of requests.

        Another process may have stored records of other hosts in the meantime.
        """
        self._checks.clear()
        if self._trust == self._stored:
            return
        mine = {k: v for k, v in self._trust.items() if self._stored.get(k) != v}
        with self._store.together():
            theirs = VALIDATOR_TRUST.load(self._store, self._source) or {}
            self._trust = {**theirs, **mine}
            VALIDATOR_TRUST.save(self._store, self._trust, self._source)
        self._stored = dict(self._trust)


def _kinds(held: Observation) -> list[str]:
    """Return the kinds of validators of the copy of a page, the stronger first."""
    etag = [ETAG] if held.etag else []
    return etag + ([MODIFIED] if held.modified is not None else [])


def _lot(key: str, now: float) -> float:
    """Return a hash of the page's path and the time, between 0 and 1.

    Without the host, so that a mirrored site gets the same requests.
    """
    path = key.partition("://")[2].partition("/")[2]
    drawn = blake2b(f"{path} {now!r}".encode(), digest_size=8).digest()
    return int.from_bytes(drawn, "big") / 2.0**64


def _made_up(kind: str, lot: float) -> dict[str, str]:
    """Return a made-up validator."""
    if kind == ETAG:
        return {"If-None-Match": f'"{lot.hex()[4:16]}-nobody-issued-this"'}
    return {"If-Modified-Since": to_http(_LONG_AGO)}


def _honest(held: Observation, kind: str) -> dict[str, str]:
    """Return the validators of the copy of a page."""
    headers = {}
    if kind == ETAG and held.etag:
        headers["If-None-Match"] = held.etag
    if held.modified is not None:
        headers["If-Modified-Since"] = to_http(held.modified)
    return headers


def conditions(fetch: Fetch, now: float) -> dict[str, str]:
    """Return the headers of a request that is conditional on a change of the page.

    One request in a hundred, chosen by a hash of the page and the time, is
    unconditional, because there is no memory of the host.
    """
    held = fetch.held
    if held is None or held.seen is not Seen.PRESENT:
        return {}
    if _lot(fetch.key, now) * AUDITED < 1.0:
        return {}
    return _honest(held, ETAG)
