"""Remembering what the answers of a source look like, and noticing when that changes.

What loses nothing is told once two looks in a row have shown it, and is usual from
then on. What loses something is not: it is told while it lasts, and an answer that
loses a column is put aside until somebody decides.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from halflife.alerts.schemas import (
    ColumnFill,
    SchemaDifference,
    columns,
    differences,
    learned,
)
from halflife.config import SourceConfig
from halflife.config.answers import RecordsConfig
from halflife.core.object_store import Attributes, Listing
from halflife.core.store import NoteBook
from halflife.engine.breakers import Breaker
from halflife.readers.records import UNREADABLE
from halflife.readers.text import fingerprint
from halflife.stores.notes.answer_columns import (
    ANSWER_COLUMNS,
    RECORD_COLUMNS,
    AnswerMemory,
)

RECORDS, ANSWERS = "records", "answers"  # what is looked at
NOTES = {RECORDS: RECORD_COLUMNS, ANSWERS: ANSWER_COLUMNS}
TWICE = 2  # looks in a row that must show the same
TOLD = 1.0  # days for which what is only new is told
BORNE = 7.0  # days after which what nobody has to decide on counts as usual
HITS, TOTAL, WORDS = "hits", "number of hits", "words of hits"


def recall(store: NoteBook, source: SourceConfig, unit: str = RECORDS) -> AnswerMemory:
    """Return what is remembered; nothing, if the settings have changed since."""
    kept = NOTES[unit].load(store, source.name)
    made = _made(source)
    return kept if kept is not None and kept.made == made else AnswerMemory(made)


def _save(
    store: NoteBook, source: SourceConfig, memory: AnswerMemory, unit: str
) -> None:
    if memory != NOTES[unit].load(store, source.name):
        NOTES[unit].save(store, memory, source.name)


def _made(source: SourceConfig) -> str:
    return fingerprint(repr(source.answer_reading).encode())[:16]


def look(store: NoteBook, source: RecordsConfig, listing: Listing) -> str:
    """Take in what a look lists; return why somebody has to decide, if so."""
    seen, memory = columns(listing.records, listing.keyless), recall(store, source)
    found = differences(memory.usual, seen)
    if memory.usual and not seen and source.records:
        text = f"nothing is found at {source.records!r}"
        found = [SchemaDifference("records", "gone", text)]
    _save(store, source, after(memory, seen, found, listing.at), RECORDS)
    return "; ".join(one.text for one in found if one.holds)


def heard(
    store: NoteBook, source: SourceConfig, seen: Mapping[str, ColumnFill], now: float
) -> None:
    """Take in what the answers of a form or a search hold."""
    memory = recall(store, source, ANSWERS)
    found = differences(memory.usual, seen, ANSWERS)
    found = [one._replace(holds=False) for one in found]
    _save(store, source, after(memory, seen, found, now), ANSWERS)


def holds(
    store: NoteBook, source: SourceConfig, records: Mapping[str, Attributes]
) -> bool:
    """Say whether somebody would have to decide on records; nothing is kept."""
    found = differences(recall(store, source).usual, columns(records))
    return any(one.holds for one in found)


def accept(store: NoteBook, source: SourceConfig, listing: Listing) -> None:
    """Take what a look lists for usual from now on."""
    memory = AnswerMemory(_made(source))
    seen = columns(listing.records, listing.keyless)
    _save(store, source, replace(memory, usual=learned({}, seen)), RECORDS)


def after(
    memory: AnswerMemory,
    seen: Mapping[str, ColumnFill],
    found: Iterable[SchemaDifference],
    now: float,
) -> AnswerMemory:
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
    return AnswerMemory(
        memory.made,
        learned(plain, seen, (one.column for one in kept)),
        {_name(one): odd[_name(one)] for one in kept},
        {_name(one): since[_name(one)] for one in kept if one.loses},
        tuple(one.text for one in sure if one.loses and one not in usual),
        tuple(news),
    )


def _name(one: SchemaDifference) -> str:
    return f"{one.column}: {one.what}"


def lost(
    store: NoteBook, source: SourceConfig, trouble: str, failures: int
) -> list[str]:
    """Return what is lost because answers look different.

    ``trouble`` is what went wrong with the last of so many looks in a row: an answer
    that cannot be read at all is different too.
    """
    said = [t for unit in (RECORDS, ANSWERS) for t in recall(store, source, unit).lost]
    if failures >= TWICE and UNREADABLE in trouble:
        said.append(f"{UNREADABLE}{trouble.partition(UNREADABLE)[2]}")
    return said


def new(store: NoteBook, source: SourceConfig, now: float) -> list[str]:
    """Return what is different about answers though nothing is lost, lately."""
    found = [recall(store, source, unit).news for unit in (RECORDS, ANSWERS)]
    return [text for news in found for text, at in news if now - at < TOLD]


def told(
    store: NoteBook, source: SourceConfig, breaker: Breaker, now: float
) -> tuple[list[str], list[str]]:
    """Return what is lost, and what is only new, of a source that goes so."""
    found = lost(store, source, breaker.trouble, breaker.failures)
    return found, new(store, source, now)
