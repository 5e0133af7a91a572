"""What recorded tables offer to an experiment, read from their values.

An experiment takes any folder of tables in the layout of recorded histories
(``lifetimes.parquet``, ``versions.parquet`` and ``snapshots.parquet`` in a folder for
each table). Nothing here knows a table by name: what a form could ask for, how long a
version lasts and what a part of a table is about follow from what the table holds.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from halflife.bench.newrecords_play import infer
from halflife.core.errors import UsageError
from halflife.core.forms import Attribute, Kind, words_in
from halflife.core.object_store import Attributes, Scalar
from halflife.recordings.relations import Relation, load_relation

FILES = ("lifetimes.parquet", "versions.parquet", "snapshots.parquet")
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\b")
DATES = 0.9  # of the values are dates: then nobody asks for the others either
FILLED = 0.5  # of the records have a value, or a form would hardly ask for it
OFTEN = 10.0  # records share a value on average: it is chosen from a list
WORDY = 2.5  # words in a value on average, from which on it is asked for by words
MONTH, YEAR, HALF_A_DAY = 30.0, 365.0, 0.5
RENEWED = 0.1  # of a table is new after a month; else a version lasts a year
VERSIONS = 4
COUNTED = 0.25  # of the records have another number after a day: it is a counter
RARE = 0.5  # distinct values to a record, from which on values hardly repeat
ABOUT = 0.25  # of a table at most is held by somebody who is after some of its topics


@dataclass(frozen=True)
class Table:
    """A recorded table.

    Attributes:
        folder: Where it is recorded.

    """

    folder: Path

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @cached_property
    def relation(self) -> Relation:
        """All its versions."""
        return load_relation(self.folder)

    @property
    def end(self) -> float:
        """The day of the last look."""
        return float(self.relation.looks[-1])

    @property
    def length(self) -> float:
        """The days from the first look to the last."""
        return self.end - float(self.relation.looks[0])

    @cached_property
    def last(self) -> Mapping[str, Attributes]:
        """The records of the last look."""
        return self.relation.at(self.end)

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """What a form could ask for, in the order of the table's columns.

        Not what most records lack, what is the same in all, nor dates.
        """
        rows = list(self.last.values())
        columns = {name: _values(rows, name) for name in self.relation.columns}
        asked = {n: v for n, v in columns.items() if _is_asked(v, len(rows))}
        return tuple(infer(rows, [f"{n}:{_kind(v)}" for n, v in asked.items()]))

    @property
    def words(self) -> tuple[Attribute, ...]:
        """What a form could ask for, numbers aside."""
        return tuple(one for one in self.attributes if one.kind != "range")

    @property
    def names(self) -> list[str]:
        """The first three of them, with their kinds, as ``title:keyword``."""
        return [f"{one.name}:{one.kind}" for one in self.words[:3]]

    @property
    def is_daily(self) -> bool:
        """Whether it was looked at about once a day, or more rarely."""
        return bool(np.median(np.diff(self.relation.looks)) >= HALF_A_DAY)

    @property
    def _record_days(self) -> float:
        return max(float((self.relation.last_seen - self.relation.first_seen).sum()), 1)

    @property
    def gone(self) -> float:
        """The share of the records that goes in a day."""
        ended = (self.relation.last_seen < self.end).sum()
        return float(ended) / self._record_days

    @cached_property
    def number(self) -> str:
        """The number that moves most often; empty if there is none."""
        found = {
            one.name: self._moves(one.name)
            for one in self.attributes
            if one.kind == "range"
        }
        return max(found, key=lambda name: found[name], default="")

    @property
    def counter(self) -> str:
        """The number that moves most, if it moves nearly every day; else empty."""
        often = self.number and self._moves(self.number) >= COUNTED
        return self.number if often else ""

    def _moves(self, name: str) -> float:
        """Return how often a day the number of a record is another one."""
        value, spell = self.relation.columns[name], self.relation.spell
        moved = (value[1:] != value[:-1]) & (spell[1:] == spell[:-1])
        return float(moved.sum()) / self._record_days

    @property
    def choice(self) -> str:
        """The first attribute that is chosen from a list; empty if there is none."""
        chosen = (one.name for one in self.attributes if one.kind == "select")
        return next(chosen, "")

    @property
    def shortest_choice(self) -> str:
        """The attribute with the fewest values to choose from; empty if none has."""
        chosen = [one.name for one in self.attributes if one.kind == "select"]
        return min(chosen, key=self.distinct, default="")

    @property
    def text(self) -> str:
        """The first attribute that is asked for by its words; empty if none is."""
        texts = (one.name for one in self.attributes if one.kind == "keyword")
        return next(texts, "")

    @property
    def has_texts(self) -> bool:
        """Whether some attribute is asked for by its words."""
        return bool(self.text)

    @cached_property
    def version(self) -> float:
        """The days between versions: a month, or a year where a month brings little."""
        since = self.relation.first_seen_times(self.end).values()
        new = sum(first > self.end - MONTH for first in since)
        return MONTH if new >= RENEWED * len(self.last) else YEAR

    @property
    def ends(self) -> list[float]:
        """The last days of some versions, the latest first."""
        apart = max(2.0 * MONTH, self.version)
        whole = [i * apart for i in range(VERSIONS)]
        return [self.end - i for i in whole if i + self.version <= self.length]

    def distinct(self, name: str) -> int:
        """Return how many values an attribute has."""
        return len({row.get(name) for row in self.last.values()})

    def topics(self) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
        """Return what a part of the table is about; None if nothing tells that.

        The attribute that says it, which has the fewest values; the commonest of them
        that together fit a quarter of the records; and the attributes that find single
        records, since their values hardly repeat.
        """
        size = len(self.last)
        finds = [a.name for a in self.words if self.distinct(a.name) > RARE * size]
        tells = [a.name for a in self.words if a.name not in finds]
        if not finds or not tells:
            return None
        about = min(tells, key=self.distinct)
        filed = Counter(
            part
            for row in self.last.values()
            for part in str(row.get(about) or "").split(";")
            if part
        )
        held = 0
        chosen: list[str] = []
        for topic, count in filed.most_common():
            if held + count <= ABOUT * size:
                held += count
                chosen.append(topic)
            elif chosen:
                break
        chosen = chosen or [filed.most_common()[-1][0]]
        return about, tuple(sorted(chosen)), tuple(finds)


def _values(rows: Sequence[Attributes], name: str) -> list[Scalar]:
    return [row[name] for row in rows if row.get(name) not in (None, "")]


def _is_asked(values: Sequence[Scalar], records: int) -> bool:
    if len(values) < max(FILLED * records, 1) or len(set(values)) < 2:
        return False
    dates = sum(DATE.match(str(value)) is not None for value in values)
    return dates < DATES * len(values)


def _kind(values: Sequence[Scalar]) -> Kind:
    """Return how a form asks for such values."""
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        return "range"
    words = sum(len(words_in(str(value))) for value in values) / len(values)
    repeated = len(values) / len(set(values))
    return "select" if words < WORDY or repeated >= OFTEN else "keyword"


def biggest(found: Sequence[Table], what: str) -> Table:
    """Return the table with most records; raise ``UsageError`` if there is none."""
    if not found:
        raise UsageError(f"no table is recorded {what}")
    return max(found, key=lambda table: len(table.last))


def searched(folder: Path, only: Sequence[str] = ()) -> list[Table]:
    """Return the tables that have a text to search and are old enough for a version."""
    return [t for t in tables(folder, only) if t.has_texts and t.ends]


def listed(text: str | None) -> list[str]:
    """Return the names in a list with commas.

    >>> listed("a, b"), listed(None)
    (['a', 'b'], [])
    """
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def tables(folder: Path, only: Sequence[str] = ()) -> list[Table]:
    """Return the tables recorded in a folder, by name; or some of them.

    Raises:
        UsageError: If the folder holds none, or not the one that is named.

    """
    found = [
        Table(path)
        for path in sorted(folder.iterdir() if folder.is_dir() else [])
        if all((path / name).exists() for name in FILES)
    ]
    missing = set(only) - {table.name for table in found}
    if missing or not found:
        lacks = ", ".join(sorted(missing)) or "table in folders of their own"
        raise UsageError(f"{folder} holds no {lacks}: {', '.join(FILES)}")
    return [table for table in found if table.name in only or not only]
