"""Evidence stored as columns beside the rows it comes from, for a quick start.

Reading a million items row by row is slow; reading twenty columns is not. So the
evidence of a run's sources is packed as a whole now and then. Triggers note every item
whose row is written after that, and a reader of the columns reads these rows again.
Every two thousand such items are packed, too, as a layer over the columns, so that few
rows remain to be read. The columns are never authoritative: without them, or if a row
that they hold is gone, everything is read from the rows.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np

from halflife.core.evidence import FOLDED, Evidence
from halflife.core.gap_bins import class_of
from halflife.core.keys import Folders, Keys
from halflife.grouping.places import folder_codes
from halflife.stores import column_codec, evidence_rows
from halflife.stores.column_codec import Array, ColumnFiles
from halflife.stores.database import Database
from halflife.stores.layers import Layer, Stack

Kinds: TypeAlias = Mapping[str, type[np.generic]]
Mark: TypeAlias = tuple[ColumnFiles, int]

FEWEST = 20_000  # items below which rows are quick enough
FEW_TO_A_FOLDER = 4  # pages; with fewer, folders are computed again
LAYER = 2000  # items written since that are packed as a layer
_NEWEST = "SELECT coalesce(max(id), 0) FROM touched"
_LATEST = "SELECT sources FROM run JOIN filed USING (sources) ORDER BY run.id DESC"
_PLAIN = ("number", "weight", "cost", "group", *FOLDED)
_GAP_KINDS: Kinds = {"item": np.int32, "class": np.int16, "tally": np.float64}
_HINTED_KINDS: Kinds = {**_GAP_KINDS, "changed": np.bool_, "hints": np.int32}
_GAPS = (*(f"gap_{n}" for n in _GAP_KINDS), *(f"hinted_{n}" for n in _HINTED_KINDS))
_LATER = "later_"  # prefix of the columns of layers
_IF = "WHEN EXISTS (SELECT 1 FROM filed) BEGIN"
_UNFILE = "DELETE FROM filed_column; DELETE FROM filed;"
_TOUCH = "INSERT INTO touched (item) VALUES"
STATEMENTS = (
    """
CREATE TABLE filed (  -- evidence that lies here as columns, too
    id INTEGER PRIMARY KEY,
    sources TEXT NOT NULL UNIQUE,  -- their names, a JSON list in order
    items INTEGER NOT NULL,
    upto INTEGER NOT NULL,  -- what was touched later is not in it
    groups TEXT NOT NULL,  -- names, a JSON list
    texts TEXT NOT NULL  -- fingerprints that are no 128 bits, a JSON list
) STRICT""",
    """
CREATE TABLE filed_column (
    filed INTEGER NOT NULL REFERENCES filed,
    name TEXT NOT NULL,
    part INTEGER NOT NULL,  -- keys come in parts, as they became known
    kind TEXT NOT NULL,  -- of its values, as numpy writes it
    size INTEGER NOT NULL,
    form TEXT NOT NULL CHECK (form IN ('same', 'plain', 'planes', 'text')),
    data BLOB NOT NULL,
    PRIMARY KEY (filed, name, part)
) STRICT""",
    """
CREATE TABLE touched (  -- items whose rows were written, in order
    id INTEGER PRIMARY KEY,  -- the last one stays, so that numbers are used once
    item INTEGER NOT NULL
) STRICT""",
    *(
        f"CREATE TRIGGER {name} AFTER {what} {_IF} {_TOUCH} ({item}); END"
        for name, what, item in (
            ("item_made", "INSERT ON item", "new.id"),
            ("item_settled", "UPDATE OF weight, cost, grp ON item", "new.id"),
            ("evidence_made", "INSERT ON evidence", "new.item"),
            ("evidence_folded", "UPDATE ON evidence", "new.item"),
            ("evidence_gone", "DELETE ON evidence", "old.item"),
        )
    ),
    *(
        f"CREATE TRIGGER {name} AFTER {what} ON item {_IF} {_UNFILE} END"
        for name, what in (
            ("item_gone", "DELETE"),
            ("item_renamed", "UPDATE OF id, source, key"),
        )
    ),
)
_BEHIND = "SELECT id FROM filed WHERE ? - upto > items"
_NO_LAYERS = (
    "DELETE FROM filed_column WHERE filed = ? AND name LIKE 'later!_%' ESCAPE '!'"
)
_PRUNE = (
    f"DELETE FROM filed_column WHERE filed IN ({_BEHIND})",  # noqa: S608  (constants)
    f"DELETE FROM filed WHERE id IN ({_BEHIND})",  # noqa: S608
    "DELETE FROM touched WHERE id < ? AND id <= (SELECT min(upto) FROM filed)",
)


def forget(db: Database) -> None:
    """Remove all columns; everything is read from the rows then."""
    db.execute("DELETE FROM filed_column")
    db.execute("DELETE FROM filed")


def load(db: Database, sources: Sequence[str]) -> Evidence | None:
    """Read the evidence on sources from columns; None if they cannot give it.

    Damaged columns give None, too: the rows are read instead.
    """
    filed = find(db, sources)
    try:
        return _load(db, sources, filed) if filed else None
    except (ArithmeticError, LookupError, TypeError, ValueError, zlib.error):
        return None


def problems(db: Database) -> Iterator[str]:
    """Compare all columns with the rows they come from."""
    for sources in all_filed(db):
        evidence, rows = load(db, sources), evidence_rows.evidence(db, sources)
        if evidence is None:
            yield f"the columns of {', '.join(sources)} cannot be read"
            continue
        wrong = [n for n in _PLAIN if n != "group" and _differ(evidence, rows, n)]
        wrong += ["group"] if _places(evidence) != _places(rows) else []
        wrong += ["keys"] if evidence.keys != rows.keys else []
        wrong += ["gaps"] if not _same_gaps(evidence, rows) else []
        about = f"in the columns of {', '.join(sources)} is not that of the rows"
        yield from (f"{name} {about}" for name in wrong)


def _places(evidence: Evidence) -> list[str]:
    return [evidence.groups[code] for code in evidence.group.tolist()]


def _differ(one: Evidence, other: Evidence, name: str) -> bool:
    if len(one) != len(other):
        return True
    return bool((getattr(one, name) != getattr(other, name)).any())


def _same_gaps(one: Evidence, other: Evidence) -> bool:
    columns = [dict(_columns(evidence)) for evidence in (one, other)]
    names = [n for n in columns[0] if n.startswith(("gap_", "hinted_"))]
    return all(np.array_equal(columns[0][n], columns[1][n]) for n in names)


def _load(db: Database, sources: Sequence[str], filed: ColumnFiles) -> Evidence | None:
    with ThreadPoolExecutor(1) as executor:  # names unpack while numbers are read
        names = list(column_codec.packed_parts(db, filed, "key"))
        text = executor.submit(column_codec.unpack_text, names)
        columns = {name: column_codec.column(db, filed, name) for name in _PLAIN}
        gaps = {name: column_codec.column(db, filed, name) for name in _GAPS}
        columns["tried_at"] = column_codec.xor_bits(
            columns["tried_at"], columns["last_at"]
        )
        lengths = column_codec.whole_column(db, filed, "key_length")
        keys = Keys.of_bytes(text.result(), lengths)
    places = column_codec.whole_column(db, filed, "folder")
    folders = column_codec.lists(db, filed, "folder_name") if places.size else ()
    keys.folders = Folders(folders, places) if places.size else None
    evidence = Evidence(keys, columns)
    evidence.restore_groups(json.loads(filed.groups))
    evidence.digest.pack(json.loads(filed.texts))
    whole = Stack(evidence, gaps)
    if not all(whole.lay(layer) for layer in _layers(db, sources, filed, evidence)):
        return None
    whole.restore_gaps()
    return evidence


def _layers(
    db: Database, sources: Sequence[str], filed: ColumnFiles, evidence: Evidence
) -> Iterator[Layer]:
    """Yield what was written since, oldest first: as columns, the rest from rows."""
    mark, last = filed.upto, _last(evidence.number)
    for mark in _marks(db, filed):
        columns = {
            name: column_codec.column(db, filed, _LATER + name, mark)
            for name in (*_PLAIN, *_GAPS)
        }
        groups = column_codec.list_part(db, filed, f"{_LATER}groups", mark)
        texts = column_codec.list_part(db, filed, f"{_LATER}texts", mark)
        yield Layer(columns, groups, texts)
    rest = evidence_rows.evidence(
        db, sources, evidence_rows.since(filed.upto, mark, last)
    )
    columns = dict(_columns(rest))
    yield Layer(columns, rest.groups, tuple(rest.digest.long.values()), rest.keys)


def _last(number: Array) -> int:
    """Return the number of the last item in the columns."""
    return int(number[-1]) if number.size else 0


def _marks(db: Database, filed: ColumnFiles) -> list[int]:
    """Return where each layer ends, without layers that the columns replaced."""
    marks = column_codec.parts(db, filed, f"{_LATER}number")
    return [mark for mark in marks if mark > filed.upto]


def find(db: Database, sources: Sequence[str]) -> ColumnFiles | None:
    """Return the columns of the evidence on sources; None if there are none."""
    query = "SELECT * FROM filed WHERE sources = ?"
    row = db.execute(query, (_named(sources),)).fetchone()
    return row and ColumnFiles(*row)


def mark(db: Database, sources: Sequence[str]) -> Mark | None:
    """Return a mark that changes with every write; None without columns."""
    filed = find(db, sources)
    newest = int(db.execute(_NEWEST).fetchone()[0])
    return None if filed is None else (filed, newest)


def all_filed(db: Database) -> list[tuple[str, ...]]:
    """Return the sets of sources whose evidence is stored as columns."""
    rows = db.execute("SELECT sources FROM filed ORDER BY sources").fetchall()
    return [tuple(json.loads(sources)) for (sources,) in rows]


def latest(db: Database) -> tuple[str, ...]:
    """Return the sources of the latest run with stored columns, if any."""
    row = db.execute(_LATEST).fetchone()
    return tuple(json.loads(row[0])) if row else ()


def waiting(db: Database, sources: Sequence[str]) -> tuple[float, float]:
    """Return how many rows were written since, and how many of them are in no layer.

    Both are ``inf`` if there are no columns.
    """
    filed = find(db, sources)
    if filed is None:
        return np.inf, np.inf
    newest = float(db.execute(_NEWEST).fetchone()[0])
    return newest - filed.upto, newest - max([filed.upto, *_marks(db, filed)])


def save(db: Database, sources: Sequence[str], known: Evidence) -> bool:
    """Write evidence as columns, replacing the earlier ones.

    No other process may write about the sources meanwhile. If an item is known that
    the evidence does not have, nothing is written.
    """
    filed = find(db, sources)
    if not evidence_rows.agrees(db, sources, known, filed.upto if filed else None):
        return False
    upto = int(db.execute(_NEWEST).fetchone()[0])
    about = len(known), upto, _text(known.groups), _text(known.digest.long.values())
    if filed is None:
        insert = "INSERT INTO filed (sources, items, upto, groups, texts)"
        insert += " VALUES (?, ?, ?, ?, ?) RETURNING id"
        ((number,),) = db.execute(insert, (_named(sources), *about)).fetchall()
        filed = ColumnFiles(number, "", 0, 0, "", "")
    else:
        change = "UPDATE filed SET items = ?, upto = ?, groups = ?, texts = ?"
        db.execute(f"{change} WHERE id = ?", (*about, filed.id))
        db.execute(_NO_LAYERS, (filed.id,))
    _save_keys(db, filed, known.keys)
    for name, column in _columns(known):
        column_codec.put(db, filed, name, column)
    _prune(db, upto)
    return True


def save_layer(db: Database, sources: Sequence[str]) -> None:
    """Pack the rows that were written since, except those of new items."""
    filed = find(db, sources)
    if filed is None:
        return
    mark = max([filed.upto, *_marks(db, filed)])
    last = _last(column_codec.column(db, filed, "number"))
    newest = int(db.execute(_NEWEST).fetchone()[0])
    recent = evidence_rows.evidence(db, sources, evidence_rows.among(mark, last))
    for name, column in _columns(recent):
        column_codec.put(db, filed, _LATER + name, column, newest)
    column_codec.put_list(db, filed, f"{_LATER}groups", recent.groups, newest)
    long = recent.digest.long.values()
    column_codec.put_list(db, filed, f"{_LATER}texts", long, newest)


def _columns(known: Evidence) -> Iterable[tuple[str, Array]]:
    """Yield the columns of evidence as they are stored, one at a time."""
    for name in _PLAIN[:-1]:
        column = getattr(known, name)
        if name == "tried_at":
            column = column_codec.xor_bits(column, known.last_at)
        yield name, column
    yield "digest", known.digest.data
    gaps = known.gaps()
    yield from _named_columns("gap", _GAP_KINDS, _merged(gaps, gaps.changed))
    hinted = known.hinted()
    merged = _merged(hinted, np.ones(hinted.item.size, np.bool_))
    yield from _named_columns("hinted", _HINTED_KINDS, merged)


def _merged(gaps: Any, chosen: Array) -> Mapping[str, Array]:  # noqa: ANN401  (Gaps or HintedGaps)
    """Return the chosen gaps, with one row for each item, length and kind."""
    table = np.stack(
        [
            gaps.item[chosen],
            class_of(gaps.length[chosen]),
            gaps.changed[chosen],
            gaps.hints[chosen] if hasattr(gaps, "hints") else gaps.item[chosen] * 0,
        ]
    )
    order = np.lexsort(table[::-1])
    table = table[:, order]
    first = np.flatnonzero(np.r_[True, (np.diff(table) != 0).any(axis=0)][: order.size])
    tally = gaps.tally[chosen][order]
    names = ("item", "class", "changed", "hints")
    merged: dict[str, Array] = dict(zip(names, table[:, first], strict=True))
    merged["tally"] = np.add.reduceat(tally, first) if first.size else tally
    return merged


def _named_columns(
    prefix: str, kinds: Kinds, columns: Mapping[str, Array]
) -> Iterable[tuple[str, Array]]:
    for name, kind in kinds.items():
        yield f"{prefix}_{name}", columns[name].astype(kind)


def _save_keys(db: Database, filed: ColumnFiles, keys: Keys) -> None:
    """Write the keys that are not written yet, and their folders."""
    if len(keys) == filed.items:
        return
    text, lengths = keys.encoded(filed.items)
    column_codec.put(db, filed, "key_length", lengths.astype(np.int32), filed.items)
    column_codec.put_text(db, filed, "key", text, filed.items)
    if column_codec.whole_column(db, filed, "folder").size == filed.items:
        _save_folders(db, filed, keys)


def _save_folders(db: Database, filed: ColumnFiles, keys: Keys) -> None:
    """Write the folders of new keys, unless there are few keys to a folder."""
    names = column_codec.lists(db, filed, "folder_name")
    code = {name: i for i, name in enumerate(names)}
    place = folder_codes(keys, filed.items, code)
    if FEW_TO_A_FOLDER * len(code) <= len(keys):
        more = list(code)[len(names) :]
        column_codec.put(db, filed, "folder", place, filed.items)
        column_codec.put_list(db, filed, "folder_name", more, filed.items)


def _prune(db: Database, newest: int) -> None:
    """Remove columns that are far behind, and touch notes that no columns need."""
    for statement in _PRUNE:
        db.execute(statement, (newest,))


def _named(sources: Sequence[str]) -> str:
    return json.dumps(sorted(set(sources)))


def _text(values: Iterable[str]) -> str:
    return json.dumps(list(values))
