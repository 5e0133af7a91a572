"""Schema drift: remember the columns of answers, and notice when they change.

A harmless change is reported once two fetches in a row show it, and is usual from then
on. A loss is reported while it lasts, and an answer that loses a column is put aside
until the user decides.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from halflife.alerts.schemas import (
    ColumnFill,
    SchemaDifference,
    columns,
    differences,
    learn,
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

RECORDS, ANSWERS = "records", "answers"  # the two sets of columns
NOTES = {RECORDS: RECORD_COLUMNS, ANSWERS: ANSWER_COLUMNS}
TWICE = 2  # fetches in a row that must show the same
NEWS_DAYS = 1.0  # days for which a harmless change is reported
TOLERATED_DAYS = 7.0  # days after which a loss without a decision counts as usual
HITS, TOTAL, WORDS = "hits", "number of hits", "words of hits"


def recall(store: NoteBook, source: SourceConfig, unit: str = RECORDS) -> AnswerMemory:
    """Return the remembered columns; none if the settings have changed since."""
    kept = NOTES[unit].load(store, source.name)
    mark = _settings_mark(source)
    return kept if kept is not None and kept.made == mark else AnswerMemory(mark)


def _save(
    store: NoteBook, source: SourceConfig, memory: AnswerMemory, unit: str
) -> None:
    if memory != NOTES[unit].load(store, source.name):
        NOTES[unit].save(store, memory, source.name)


def _settings_mark(source: SourceConfig) -> str:
    return fingerprint(repr(source.answer_reading).encode())[:16]


def note_listing(store: NoteBook, source: RecordsConfig, listing: Listing) -> str:
    """Learn the columns of a listing; return why the user must decide, if so."""
    seen, memory = columns(listing.records, listing.keyless), recall(store, source)
    changes = differences(memory.usual, seen)
    if memory.usual and not seen and source.records:
        text = f"nothing is found at {source.records!r}"
        changes = [SchemaDifference("records", "gone", text)]
    _save(store, source, updated_memory(memory, seen, changes, listing.at), RECORDS)
    return "; ".join(change.text for change in changes if change.holds)


def note_answers(
    store: NoteBook, source: SourceConfig, seen: Mapping[str, ColumnFill], now: float
) -> None:
    """Learn the columns in the answers of a form or a search."""
    memory = recall(store, source, ANSWERS)
    changes = differences(memory.usual, seen, ANSWERS)
    changes = [change._replace(holds=False) for change in changes]
    _save(store, source, updated_memory(memory, seen, changes, now), ANSWERS)


def holds(
    store: NoteBook, source: SourceConfig, records: Mapping[str, Attributes]
) -> bool:
    """Say whether the user would have to decide on records; nothing is saved."""
    changes = differences(recall(store, source).usual, columns(records))
    return any(change.holds for change in changes)


def loses(store: NoteBook, source: SourceConfig, listing: Listing) -> bool:
    """Say whether the records of a listing lose any column; nothing is saved."""
    seen = columns(listing.records, listing.keyless)
    changes = differences(recall(store, source).usual, seen)
    return any(change.loses for change in changes)


def accept(store: NoteBook, source: SourceConfig, listing: Listing) -> None:
    """Make the columns of a listing the usual ones."""
    memory = AnswerMemory(_settings_mark(source))
    seen = columns(listing.records, listing.keyless)
    _save(store, source, replace(memory, usual=learn({}, seen)), RECORDS)


def updated_memory(
    memory: AnswerMemory,
    seen: Mapping[str, ColumnFill],
    changes: Iterable[SchemaDifference],
    now: float,
) -> AnswerMemory:
    """Return the memory after one more fetch."""
    changes = list(changes)
    repeats = {
        _name(change): memory.odd.get(_name(change), 0) + 1 for change in changes
    }
    sure = [change for change in changes if repeats[_name(change)] >= TWICE]
    bad = [change for change in changes if change.loses]
    since = {_name(change): memory.since.get(_name(change), now) for change in bad}
    tolerated = [
        change
        for change in bad
        if not change.holds and now - since[_name(change)] >= TOLERATED_DAYS
    ]
    usual = {*(change for change in sure if not change.loses), *tolerated}
    kept = [change for change in changes if change not in usual]
    news = [(text, at) for text, at in memory.news if now - at < NEWS_DAYS]
    news += [(change.text, now) for change in usual if not change.loses]
    plain = {
        n: u for n, u in memory.usual.items() if n not in {o.column for o in usual}
    }
    return AnswerMemory(
        memory.made,
        learn(plain, seen, (change.column for change in kept)),
        {_name(change): repeats[_name(change)] for change in kept},
        {_name(change): since[_name(change)] for change in kept if change.loses},
        tuple(change.text for change in sure if change.loses and change not in usual),
        tuple(news),
    )


def _name(change: SchemaDifference) -> str:
    return f"{change.column}: {change.what}"


def lost(
    store: NoteBook, source: SourceConfig, trouble: str, failures: int
) -> list[str]:
    """Return what answers have lost.

    ``trouble`` is what went wrong with the last of ``failures`` fetches in a row: an
    answer that cannot be read at all is a loss too.
    """
    losses = [
        t for unit in (RECORDS, ANSWERS) for t in recall(store, source, unit).lost
    ]
    if failures >= TWICE and UNREADABLE in trouble:
        losses.append(f"{UNREADABLE}{trouble.partition(UNREADABLE)[2]}")
    return losses


def new(store: NoteBook, source: SourceConfig, now: float) -> list[str]:
    """Return the recent harmless changes of answers."""
    memories = [recall(store, source, unit).news for unit in (RECORDS, ANSWERS)]
    return [text for news in memories for text, at in news if now - at < NEWS_DAYS]


def report(
    store: NoteBook, source: SourceConfig, breaker: Breaker, now: float
) -> tuple[list[str], list[str]]:
    """Return the losses and the harmless changes of a source."""
    losses = lost(store, source, breaker.trouble, breaker.failures)
    return losses, new(store, source, now)
