"""Content summaries in a store, all versions of them.

Each version is a note of its own, written whole before another note says that it is
there: a crash leaves the versions before as they were.
"""

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, isfinite
from typing import Any

import numpy as np

from halflife.core.errors import Damaged
from halflife.core.search import Document
from halflife.stores import Store
from halflife.summary import Summary

NEARLY = 0.8  # of the documents of the one in use, what a newer one must have read


@dataclass(frozen=True, slots=True)
class Kept:
    """A summary of a database as it is kept.

    Attributes:
        source: The database.
        at: When it was made, in days.
        method: How documents were found: ``qbs`` or ``fps``.
        ending: Why sampling ended, in words.
        whole: Whether sampling ended by itself and was not cut off.
        summary: The summary.
        low: Lower bound of the size.
        high: Upper bound of the size; infinity if there is none.
        sized: How the size was found, in words.
        told: What the totals that the database tells are worth, in words.
        requests: Requests that it took.
        documents: The documents that were read.
        topics: Topics that the database is about, if it was probed for such.
        version: Its number, from 1 on; 0 before it is kept.

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


def save(store: Store, kept: Kept) -> Kept:
    """Keep a summary as the next version; return it with its number.

    It is used from now on, unless it was cut off and the one in use knows much more.
    """
    latest, current = _numbers(store, kept.source)
    kept = replace(kept, version=latest + 1)
    held = read(store, kept.source, current) if current else None
    better = held is None or kept.whole or _read(kept) >= NEARLY * _read(held)
    store.save_memo(_name(kept.source, kept.version), _written(kept))
    numbers = {"latest": kept.version, "current": kept.version if better else current}
    store.save_memo(_index(kept.source), json.dumps(numbers))
    return kept


def current(store: Store, source: str) -> Kept | None:
    """Return the summary of a database that is in use; None if there is none."""
    number = _numbers(store, source)[1]
    return read(store, source, number) if number else None


def versions(store: Store, source: str) -> list[Kept]:
    """Return all summaries of a database that are still kept, oldest first."""
    latest, _ = _numbers(store, source)
    notes = {n: store.memo(_name(source, n)) for n in range(1, latest + 1)}
    return [_made(source, n, text) for n, text in notes.items() if text is not None]


def read(store: Store, source: str, version: int) -> Kept:
    """Return one version; raise ``Damaged`` if it cannot be read."""
    return _made(source, version, store.memo(_name(source, version)) or "")


def _made(source: str, version: int, text: str) -> Kept:
    try:
        return _loaded(source, version, text)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        raise Damaged(
            f"version {version} of the summary of {source} cannot be read; "
            f"run `halflife summarize {source}` to make another"
        ) from None


def _read(kept: Kept) -> int:
    return kept.summary.sampled


def _index(source: str) -> str:
    return f"summaries of {source}"


def _name(source: str, version: int) -> str:
    return f"summary of {source}, version {version}"


def _numbers(store: Store, source: str) -> tuple[int, int]:
    """Return the number of the latest version, and of the one in use."""
    memo = store.memo(_index(source))
    if memo is None:
        return 0, 0
    try:
        kept = json.loads(memo)
        return int(kept["latest"]), int(kept["current"])
    except (ValueError, KeyError, TypeError):
        raise Damaged(f"the list of summaries of {source} cannot be read") from None


def _written(kept: Kept) -> str:
    words = list(kept.summary.words)
    place = {word: i for i, word in enumerate(words)}
    documents = [
        [d.key, d.whole, [place[w] for w in d.words if w in place]]
        for d in kept.documents
    ]
    table = {
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
    return json.dumps(table, separators=(",", ":"), allow_nan=False)


@lru_cache(maxsize=4)  # a service asks for the same few at every turn
def _loaded(source: str, version: int, text: str) -> Kept:
    return _parsed(source, version, json.loads(text))


def _parsed(source: str, version: int, table: dict[str, Any]) -> Kept:
    words = tuple(map(str, table["words"]))
    count = np.array(table["count"], np.float64)
    if count.shape != (len(words),):
        raise ValueError("a count is missing")
    high = table["high"]
    return Kept(
        source=source,
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
        version=version,
    )
