"""Remembering what the answers of a source look like, and noticing when that changes.

What loses nothing is told once two looks in a row have shown it, and is usual from
then on. What loses something is not: it is told while it lasts, and an answer that
loses a column is put aside until somebody decides.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from halflife.alerts.schemas import (
    Column,
    Difference,
    Usual,
    columns,
    differences,
    learned,
)
from halflife.config import SourceConfig
from halflife.config.answers import RecordsConfig
from halflife.core.object_store import Attributes, Listing
from halflife.engine.breakers import Breaker
from halflife.readers.records import UNREADABLE
from halflife.readers.text import fingerprint
from halflife.stores import Store

RECORDS, ANSWERS = "records", "answers"  # what is looked at
MEMO = "how its {} look: "
TWICE = 2  # looks in a row that must show the same
TOLD = 1.0  # days for which what is only new is told
BORNE = 7.0  # days after which what nobody has to decide on counts as usual
HITS, TOTAL, WORDS = "hits", "number of hits", "words of hits"


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered of a source's answers; times are days.

    Attributes:
        made: By which settings they were read.
        usual: What columns are usually.
        odd: How many looks in a row have shown a difference.
        since: Since when something is lost that was there.
        lost: What that is, in words.
        news: What is only new, and when that was noticed.

    """

    made: str = ""
    usual: Mapping[str, Usual] = field(default_factory=dict)
    odd: Mapping[str, int] = field(default_factory=dict)
    since: Mapping[str, float] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    news: tuple[tuple[str, float], ...] = ()


def recall(store: Store, source: SourceConfig, unit: str = RECORDS) -> Memory:
    """Return what is remembered; nothing, if the settings have changed since."""
    memo = store.memo(MEMO.format(unit) + source.name)
    if not memo:
        return Memory(_made(source))
    kept: dict[str, Any] = json.loads(memo)
    if kept["made"] != _made(source):
        return Memory(_made(source))
    usual = {name: Usual(*row) for name, row in kept["usual"].items()}
    news = tuple((text, at) for text, at in kept["news"])
    return Memory(**{**kept, "usual": usual, "news": news, "lost": (*kept["lost"],)})


def _save(store: Store, source: SourceConfig, memory: Memory, unit: str) -> None:
    name, text = MEMO.format(unit) + source.name, json.dumps(asdict(memory))
    if text != store.memo(name):
        store.save_memo(name, text)


def _made(source: SourceConfig) -> str:
    return fingerprint(repr(source.answer_reading).encode())[:16]


def look(store: Store, source: RecordsConfig, listing: Listing) -> str:
    """Take in what a look lists; return why somebody has to decide, if so."""
    seen, memory = columns(listing.records, listing.keyless), recall(store, source)
    found = differences(memory.usual, seen)
    if memory.usual and not seen and source.records:
        text = f"nothing is found at {source.records!r}"
        found = [Difference("records", "gone", text)]
    _save(store, source, after(memory, seen, found, listing.at), RECORDS)
    return "; ".join(one.text for one in found if one.holds)


def heard(
    store: Store, source: SourceConfig, seen: Mapping[str, Column], now: float
) -> None:
    """Take in what the answers of a form or a search hold."""
    memory = recall(store, source, ANSWERS)
    found = differences(memory.usual, seen, ANSWERS)
    found = [one._replace(holds=False) for one in found]
    _save(store, source, after(memory, seen, found, now), ANSWERS)


def holds(
    store: Store, source: SourceConfig, records: Mapping[str, Attributes]
) -> bool:
    """Say whether somebody would have to decide on records; nothing is kept."""
    found = differences(recall(store, source).usual, columns(records))
    return any(one.holds for one in found)


def accept(store: Store, source: SourceConfig, listing: Listing) -> None:
    """Take what a look lists for usual from now on."""
    memory = Memory(_made(source))
    seen = columns(listing.records, listing.keyless)
    _save(store, source, replace(memory, usual=learned({}, seen)), RECORDS)


def after(
    memory: Memory, seen: Mapping[str, Column], found: Iterable[Difference], now: float
) -> Memory:
    """Return what is remembered after one more look."""
    found = list(found)
    odd = {_name(one): memory.odd.get(_name(one), 0) + 1 for one in found}
    sure = [one for one in found if odd[_name(one)] >= TWICE]
    bad = [one for one in found if one.loses]
    since = {_name(one): memory.since.get(_name(one), now) for one in bad}
    borne = [one for one in bad if not one.holds and now - since[_name(one)] >= BORNE]
    usual = {*(one for one in sure if not one.loses), *borne}
    kept = [one for one in found if one not in usual]
    news = [(text, at) for text, at in memory.news if now - at < TOLD]
    news += [(one.text, now) for one in usual if not one.loses]
    plain = {
        n: u for n, u in memory.usual.items() if n not in {o.column for o in usual}
    }
    return Memory(
        memory.made,
        learned(plain, seen, (one.column for one in kept)),
        {_name(one): odd[_name(one)] for one in kept},
        {_name(one): since[_name(one)] for one in kept if one.loses},
        tuple(one.text for one in sure if one.loses and one not in usual),
        tuple(news),
    )


def _name(one: Difference) -> str:
    return f"{one.column}: {one.what}"


def lost(store: Store, source: SourceConfig, trouble: str, failures: int) -> list[str]:
    """Return what is lost because answers look different.

    ``trouble`` is what went wrong with the last of so many looks in a row: an answer
    that cannot be read at all is different too.
    """
    said = [t for unit in (RECORDS, ANSWERS) for t in recall(store, source, unit).lost]
    if failures >= TWICE and UNREADABLE in trouble:
        said.append(f"{UNREADABLE}{trouble.partition(UNREADABLE)[2]}")
    return said


def new(store: Store, source: SourceConfig, now: float) -> list[str]:
    """Return what is different about answers though nothing is lost, lately."""
    found = [recall(store, source, unit).news for unit in (RECORDS, ANSWERS)]
    return [text for news in found for text, at in news if now - at < TOLD]


def told(
    store: Store, source: SourceConfig, breaker: Breaker, now: float
) -> tuple[list[str], list[str]]:
    """Return what is lost, and what is only new, of a source that goes so."""
    found = lost(store, source, breaker.trouble, breaker.failures)
    return found, new(store, source, now)
