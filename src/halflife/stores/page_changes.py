"""The changes that observations make to the copies of pages.

They follow from the evidence before a batch and the fold of the batch: a page that is
present for the first time is new, one with another text has changed, one that is absent
has gone. Failed fetches and hints change nothing, and an observation that is in the log
already is not in the fold, so nothing is reported twice.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from halflife.core.arrays import Bytes, Floats, Ints
from halflife.core.change import Change, ChangeKind
from halflife.core.evidence import NEVER, Evidence, Fold
from halflife.core.fingerprints import KIND, Packed
from halflife.core.observation import MOVED, Observation, Observations, Seen
from halflife.stores.change_log import fields_json
from halflife.stores.database import Database

if TYPE_CHECKING:
    from halflife.stores.held_pages import HeldPage

_KINDS: tuple[ChangeKind, ...] = ("new", "changed", "gone", "returned")
_NEW, _CHANGED, _GONE, _RETURNED = range(4)
_PRESENT, _ABSENT = int(Seen.PRESENT), int(Seen.ABSENT)
# The change of a page that is present, by what was seen before: present, absent, and
# in the last place (``NEVER``) never seen.
_AFTER: Bytes = np.array([_CHANGED, _RETURNED, _NEW], np.int8)
_Fields: TypeAlias = dict[str, tuple[str | None, str]]
# The item has its source and its key, so no query for them is needed.
ADD = """
INSERT INTO change (at, source, key, kind, fields)
SELECT ?, source, key, ?, ? FROM item WHERE id = ?
"""


@dataclass(frozen=True, slots=True)
class PageChanges:
    """Changes of pages as columns, one row a change, for replays with very many.

    Attributes:
        evidence: The evidence with the pages.
        rows: Their rows in it.
        at: When each was observed, in days.
        kind: The kind of each change.
        old: The fingerprint of the text before; empty if there was none.
        new: The fingerprint of the text after.

    """

    evidence: Evidence
    rows: Ints
    at: Floats
    kind: Bytes
    old: Packed
    new: Packed

    def __len__(self) -> int:
        return len(self.rows)

    def changes(self, source_of: Callable[[str], str]) -> Iterator[Change]:
        """Yield the changes one by one."""
        for row, at, kind, fields in self._each():
            key = self.evidence.keys[row]
            yield Change(at, source_of(key), key, kind, fields)

    def save(self, db: Database) -> None:
        """Write the changes to the log."""
        number = self.evidence.number[self.rows].tolist()
        rows = (
            (at, kind, _written(fields), item)
            for item, (_, at, kind, fields) in zip(number, self._each(), strict=True)
        )
        db.executemany(ADD, rows)

    def _each(self) -> Iterator[tuple[int, float, ChangeKind, _Fields]]:
        text = self.evidence.digest.text
        columns = (self.rows, self.at, self.kind, self.old, self.new)
        for row, at, kind, old, new in zip(*(c.tolist() for c in columns), strict=True):
            if kind == _GONE:
                yield row, at, "gone", {}
                continue
            pair = (text(old) if kind == _CHANGED else None, text(new))
            yield row, at, _KINDS[kind], {"text": pair}


def _written(fields: _Fields) -> str:
    """Return fields as JSON; a fingerprint needs no encoder."""
    if not fields:
        return "{}"
    old, new = fields["text"]
    if not new.isalnum() or not (old is None or old.isalnum()) or not new.isascii():
        return fields_json(fields)
    return (
        f'{{"text":[null,"{new}"]}}' if old is None else f'{{"text":["{old}","{new}"]}}'
    )


def find(evidence: Evidence, batch: Observations, fold: Fold) -> PageChanges | None:
    """Return the changes of observations whose fold ``evidence`` has not taken yet."""
    if fold.rows.size != len(batch):  # some pages appear twice, or are in the log
        return _one_by_one(evidence, batch)
    before = evidence.seen[fold.rows]
    news = fold.changed | (before == NEVER)
    chosen = np.flatnonzero(news & (batch.seen <= _ABSENT))
    if not chosen.size:
        return None
    rows, before, after = fold.rows[chosen], before[chosen], fold.seen[chosen]
    kind = _AFTER[before]
    if after.any() or before.any():  # not all were and are present
        # A page that was only ever absent has no change in its evidence.
        known = (before == _PRESENT) | (evidence.changes[rows] > 0)
        kind = np.where(known | (before == NEVER), kind, np.int8(_NEW))
        kind = np.where(after == _ABSENT, np.int8(_GONE), kind)
        held = known | (after == _PRESENT)  # no copy of the others was ever held
        if not held.all():
            chosen, rows, kind = chosen[held], rows[held], kind[held]
    if not chosen.size:
        return None
    old, new = evidence.digest.data[rows], fold.digest.data[chosen]
    return PageChanges(evidence, rows, fold.last_at[chosen], kind, old, new)


def _one_by_one(evidence: Evidence, batch: Observations) -> PageChanges | None:
    """Return the changes of observations of which some are of the same page."""
    now: dict[int, tuple[int, bytes, bool]] = {}
    found: list[tuple[int, float, int, bytes, bytes]] = []
    digests = evidence.digest.pack(batch.digest).tolist()
    columns = zip(
        batch.keys,
        batch.at.tolist(),
        batch.seen.tolist(),
        strict=True,
    )
    for (key, at, seen), digest in zip(columns, digests, strict=True):
        row = evidence.row(key)
        if seen > _ABSENT or row is None:
            continue
        if row not in now:
            was_there = evidence.seen[row] == _PRESENT or evidence.changes[row] > 0
            now[row] = int(evidence.seen[row]), evidence.digest.data[row], was_there
        before, old, known = now[row]
        now[row] = seen, digest, known or seen == _PRESENT
        if (before, old) == (seen, digest) or (seen == _ABSENT and not known):
            continue
        kind = _CHANGED if before == _PRESENT else _RETURNED if known else _NEW
        found.append((row, at, _GONE if seen == _ABSENT else kind, old, digest))
    if not found:
        return None
    rows, times, kinds, before_each, after_each = zip(*found, strict=True)
    return PageChanges(
        evidence,
        np.array(rows, dtype=np.intp),
        np.array(times, dtype=np.float64),
        np.array(kinds, dtype=np.int8),
        np.array(before_each, dtype=KIND),
        np.array(after_each, dtype=KIND),
    )


def moves(
    batch: Observations,
    held: Callable[[str], Observation | None],
    source_of: Callable[[str], str | None],
) -> list[Change]:
    """Return the pages that have moved for good since their last good observation.

    ``held`` returns the last good observation of a page before these.
    """
    found, last = [], dict[str, str]()
    for o in batch.details:
        if o.seen is not Seen.PRESENT or not o.note.startswith(MOVED):
            continue
        if o.key not in last:
            before = held(o.key)
            last[o.key] = before.note if before is not None else ""
        was, last[o.key] = last[o.key], o.note
        if was != o.note:
            old = was.removeprefix(MOVED) if was.startswith(MOVED) else o.key
            pair = (old, o.note.removeprefix(MOVED))
            source = source_of(o.key) or ""
            found.append(Change(o.at, source, o.key, "moved", {"url": pair}))
    return found


def holds(pages: Iterable[tuple["HeldPage", float]]) -> Iterator[Change]:
    """Yield a change for each answer that waits for a decision, given with its time."""
    for page, at in pages:
        fields = {"why": (None, page.why)}
        yield Change(at, page.source, page.key, "held", fields)


def acceptances(
    pages: Iterable[tuple["HeldPage", float]], evidence: Evidence
) -> Iterator[Change]:
    """Yield a change for each held answer that was accepted, given with its time.

    What the answer changes is reported separately. Only where the earlier copy had
    been restored does the evidence not show that the text is another.
    """
    for page, at in pages:
        row = evidence.row(page.key)
        yield Change(at, page.source, page.key, "accepted")
        if row is not None and evidence.digest[row] == page.digest:
            fields = {"text": (None, page.digest)}
            yield Change(at, page.source, page.key, "changed", fields)


def put_back(copy: Observation, replaced: str, source: str) -> Iterator[Change]:
    """Yield the change by which an earlier text becomes the copy of a page again."""
    if replaced != copy.digest:
        fields = {"text": (replaced or None, copy.digest)}
        yield Change(copy.at, source, copy.key, "changed", fields)


def change_owner(
    pages: Iterable[tuple[str, str, str]], to: str, at: float
) -> Iterator[Change]:
    """Yield the moves of pages, given by key, source and text, to another source."""
    for key, source, digest in pages:
        fields = {"source": (source, to)}
        yield Change(at, source, key, "gone", fields)
        yield Change(at, to, key, "new", {"text": (None, digest), **fields})
