"""Content summaries in a store, in all versions.

Each version is a note of its own, written completely before another note makes it
known: a crash leaves the earlier versions as they were.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from halflife.core.change import Change, ChangeKind
from halflife.core.search import Document
from halflife.core.store import NoteBook
from halflife.stores import note_rows
from halflife.stores.notes import NoteKind
from halflife.summary import Summary

if TYPE_CHECKING:
    from halflife.stores import Store

KEY = "summary"  # of the changes of a search source: its summary is all that it holds
NEARLY = 0.8  # share of the current summary's documents that a newer one must have read


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """A summary of a database as it is stored.

    Attributes:
        source: The database.
        at: When it was made, in days.
        method: How documents were found: ``qbs`` or ``fps``.
        ending: Why sampling ended, in words.
        whole: Whether sampling ended by itself and was not cut off.
        summary: The summary.
        low: Lower bound of the size.
        high: Upper bound of the size; infinity if there is none.
        sized: How the size was estimated, in words.
        told: How far the totals reported by the database can be trusted, in words.
        requests: Its cost in requests.
        documents: The documents that were read.
        topics: Topics of the database, if it was probed for such.
        version: Its number, from 1 on; 0 before it is stored.

    """

    source: str
    at: float
    method: str
    ending: str
    whole: bool
    summary: Summary
    low: float
    high: float
    sized: str
    told: str
    requests: int
    documents: tuple[Document, ...]
    topics: tuple[str, ...] = ()
    version: int = 0


@dataclass(frozen=True, slots=True)
class SummaryVersions:
    """The numbers of the latest and the current version; 0 if there is none."""

    latest: int = 0
    current: int = 0


def save(store: "Store", kept: StoredSummary) -> StoredSummary:
    """Store a summary as the next version; return it with its number.

    It becomes the current one, unless it was cut off and the current one has much more.
    """
    numbers = _numbers(store, kept.source)
    kept = replace(kept, version=numbers.latest + 1)
    held = current(store, kept.source)
    better = held is None or kept.whole or _read(kept) >= NEARLY * _read(held)
    used = kept.version if better else numbers.current
    with store.together():
        SUMMARY.save(store, kept, kept.source, kept.version)
        VERSIONS.save(store, SummaryVersions(kept.version, used), kept.source)
        if better:
            store.changes.append([_change(kept, held)])
    return kept


def _change(kept: StoredSummary, held: StoredSummary | None) -> Change:
    """Return the change of the current summary, with the old and new version."""
    fields = {"version": (None if held is None else held.version, kept.version)}
    kind: ChangeKind = "new" if held is None else "changed"
    return Change(kept.at, kept.source, KEY, kind, fields)


def current(store: NoteBook, source: str) -> StoredSummary | None:
    """Return the current summary of a database; None if there is none."""
    number = current_version(store, source)
    return read(store, source, number) if number else None


def current_version(store: NoteBook, source: str) -> int:
    """Return the number of the current summary; 0 if there is none."""
    return _numbers(store, source).current


def versions(store: NoteBook, source: str) -> list[StoredSummary]:
    """Return all stored summaries of a database, oldest first."""
    latest = _numbers(store, source).latest
    numbers = store.note_numbers(source, SUMMARY.name)
    found = (read(store, source, number) for number in numbers if number <= latest)
    return [summary for summary in found if summary is not None]


def read(store: NoteBook, source: str, version: int) -> StoredSummary | None:
    """Return one version; None if there is no readable one."""
    found = SUMMARY.load(store, source, version)
    return found and replace(found, source=source, version=version)


def _numbers(store: NoteBook, source: str) -> SummaryVersions:
    """Return the version numbers; if they are unreadable, no version is current."""
    if found := VERSIONS.load(store, source):
        return found
    if not VERSIONS.exists(store, source):  # no version was ever completed
        return SummaryVersions()
    return SummaryVersions(
        latest=max(store.note_numbers(source, SUMMARY.name), default=0)
    )


def _read(kept: StoredSummary) -> int:
    return kept.summary.sampled


def _written(kept: StoredSummary) -> Mapping[str, Any]:
    words = list(kept.summary.words)
    place = {word: i for i, word in enumerate(words)}
    documents = [
        [d.key, d.whole, [place[w] for w in d.words if w in place]]
        for d in kept.documents
    ]
    return {
        "at": kept.at,
        "method": kept.method,
        "ending": kept.ending,
        "whole": kept.whole,
        "words": words,
        "count": kept.summary.count.tolist(),
        "size": kept.summary.size,
        "low": kept.low,
        "high": kept.high if isfinite(kept.high) else None,
        "sampled": kept.summary.sampled,
        "sized": kept.sized,
        "told": kept.told,
        "requests": kept.requests,
        "topics": kept.topics,
        "documents": documents,
    }


def _versions(row: Mapping[str, Any]) -> SummaryVersions:
    return SummaryVersions(int(row["latest"]), int(row["current"]))


def _parsed(table: Mapping[str, Any]) -> StoredSummary:
    words = tuple(map(str, table["words"]))
    count = np.array(table["count"], np.float64)
    if count.shape != (len(words),):
        raise ValueError("a count is missing")
    high = table["high"]
    return StoredSummary(
        source="",
        at=float(table["at"]),
        method=str(table["method"]),
        ending=str(table["ending"]),
        whole=bool(table["whole"]),
        summary=Summary(words, count, float(table["size"]), int(table["sampled"])),
        low=float(table["low"]),
        high=inf if high is None else float(high),
        sized=str(table["sized"]),
        told=str(table["told"]),
        requests=int(table["requests"]),
        documents=tuple(
            Document(str(key), tuple(words[i] for i in places), bool(whole))
            for key, whole, places in table["documents"]
        ),
        topics=tuple(map(str, table["topics"])),
    )


# Cached: a service reads the same few at every turn.
SUMMARY = NoteKind(note_rows.SUMMARY, 1, _written, _parsed, remembered=4)
VERSIONS = NoteKind(note_rows.VERSIONS, 1, asdict, _versions)
