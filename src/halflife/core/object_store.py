"""The history of a set source: snapshots, lifetimes of objects, their versions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.lifetimes import Collection, Lives, Values

Scalar: TypeAlias = str | int | float | bool | None
Attributes: TypeAlias = Mapping[str, Scalar]

NEVER = float("inf")
NOT_CREDIBLE = "what it lacks is not credible"  # the note of a listing taken in part
_PLAIN = (str, int, float)
LARGEST_INT = 2**63


def group_text(value: Scalar) -> str:
    """Return an attribute's value as the name of a group; empty if it has none.

    >>> [group_text(value) for value in ("red", 5, 5.0, 2.5, True, None, float("nan"))]
    ['red', '5', '5', '2.5', 'true', '', '']
    """
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case float() if value != value:  # noqa: PLR0124  (only nan differs from itself)
            return ""
        case float() if value.is_integer():
            return str(int(value))
    return str(value)


@dataclass(frozen=True, slots=True)
class Listing:
    """One listing of a set source.

    Attributes:
        at: Its time, in days.
        records: The objects in it, with their attributes.
        complete: Whether it lists every object there was.
        note: Remarks about it.
        absent: Objects known to be absent though the listing is not complete: a query
            that they would match was read to its end.
        keyless: The number of records left out because they had no key.
        blank: Whether nothing in the answer resembled a record, so that it may not be
            the listing at all.
        newer: Whether it has exactly the records newer than the previous listing; it is
            not complete then.
        groups: If only some groups of objects were fetched, those listed completely,
            and the requests each cost; it is not complete then.

    """

    at: float
    records: Mapping[str, Attributes]
    complete: bool = True
    note: str = ""
    absent: frozenset[str] = frozenset()
    keyless: int = 0
    blank: bool = False
    newer: bool = False
    groups: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The record that a listing was fetched; broken listings are not valid.

    Attributes:
        at: Its time, in days.
        n: Objects in it.
        missing: Objects missing from it that were there before.
        valid: Whether it counts as an observation.
        complete: Whether it listed everything there was.
        note: Its defects, or other remarks.

    """

    at: float
    n: int
    missing: int = 0
    valid: bool = True
    complete: bool = True
    note: str = ""


@dataclass(slots=True)
class Spell:
    """One lifetime of an object; see ``Lives`` for the bounds.

    Attributes:
        key: The object.
        spell: How many spells of the object came before.
        absent_before: The last complete snapshot without it; ``-inf`` if none.
        first_seen: The first snapshot with it.
        last_seen: The last snapshot with it.
        gone_by: The first complete snapshot without it; ``inf`` while that is not
            confirmed.
        missing_since: The first snapshot without it, while that is not confirmed.
        attributes: Its attributes, as first seen.

    """

    key: str
    spell: int
    absent_before: float
    first_seen: float
    last_seen: float
    gone_by: float = NEVER
    missing_since: float = NEVER
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Version:
    """A later version of a spell; the attributes may be unknown."""

    key: str
    spell: int
    seen_from: float
    attributes: Attributes | None = None


@dataclass(frozen=True, slots=True)
class Register:
    """The whole history of a set source, or its new part.

    Attributes:
        snapshots: The snapshots, in order.
        spells: The spells, in the order in which they began.
        versions: Their later versions, in order.
        unobserved: Groups that are not listed now, and the last snapshot that had them.

    """

    snapshots: Sequence[Snapshot] = ()
    spells: Sequence[Spell] = ()
    versions: Sequence[Version] = ()
    unobserved: Mapping[str, float] = field(default_factory=dict)

    def collection(self, name: str) -> Collection:
        """Return the history as columns."""
        complete = [s.at for s in self.snapshots if s.valid and s.complete]
        row = {(s.key, s.spell): i for i, s in enumerate(self.spells)}
        changed = [row[v.key, v.spell] for v in self.versions]
        at = np.array([v.seen_from for v in self.versions], dtype=np.float64)
        rows = np.array(changed, dtype=np.intp)
        order = np.lexsort((at, rows))
        return Collection(
            name=name,
            looks=np.array(complete, dtype=np.float64),
            lives=_lives(self.spells),
            changed=rows[order],
            changed_at=at[order],
        )

    def cycles(self) -> tuple[Ints, Ints, Floats]:
        """Return the objects held, how many of them went missing, and the days between.

        One value for each complete snapshot but the first.
        """
        fetched = [s for s in self.snapshots if s.valid and s.complete]
        held = np.array([s.n for s in fetched[:-1]], dtype=np.intp)
        missing = np.array([s.missing for s in fetched[1:]], dtype=np.intp)
        return held, missing, np.diff([s.at for s in fetched])

    def renewals(self) -> tuple[Ints, Ints, Ints, Floats]:
        """Return the objects listed, those new, those changed, and the days before.

        One value for each complete snapshot but the first; what was new or changed in
        an incomplete one counts for the next complete one.
        """
        fetched = [s for s in self.snapshots if s.valid and s.complete]
        at = np.array([s.at for s in fetched], dtype=np.float64)
        listed = np.array([s.n for s in fetched[1:]], dtype=np.intp)
        arrived = _between(at, [s.first_seen for s in self.spells])
        changed = _between(at, [v.seen_from for v in self.versions])
        return listed, arrived, changed, np.diff(at)

    @classmethod
    def of(cls, collection: Collection) -> Self:
        """Return the register of a collection."""
        spells = spells_of(collection.lives)
        rows, at = collection.changed.tolist(), collection.changed_at.tolist()
        versions = [
            Version(spells[i].key, spells[i].spell, moment)
            for i, moment in zip(rows, at, strict=True)
        ]
        return cls(_snapshots(collection), spells, versions)


NOTHING = Register()  # nothing new


def _between(at: Floats, moments: Sequence[float]) -> Ints:
    """Return how many moments lie after one time and up to the next.

    >>> _between(np.array([0.0, 1.0, 2.0]), [0.0, 0.5, 1.0, 2.0, 3.0]).tolist()
    [2, 1]
    """
    upto = np.searchsorted(np.sort(moments), at, side="right")
    return np.diff(upto).astype(np.intp)


def spells_of(lives: Lives) -> list[Spell]:
    """Return lifetimes as a list of spells."""
    names = list(lives.attributes)
    columns = [_plain(values) for values in lives.attributes.values()]
    rows = zip(*columns, strict=True) if columns else iter([()] * len(lives))
    bounds = (lives.absent_before, lives.first_seen, lives.last_seen, lives.gone_by)
    times = zip(*(column.tolist() for column in bounds), strict=True)
    number: Counter[str] = Counter()
    spells = []
    for key, (before, first, last, gone), row in zip(
        lives.keys, times, rows, strict=True
    ):
        attributes = dict(zip(names, row, strict=True))
        spells.append(
            Spell(key, number[key], before, first, last, gone, NEVER, attributes)
        )
        number[key] += 1
    return spells


def _plain(values: Values) -> list[Scalar]:
    """Return a column as plain values, with None for what is not a number.

    >>> _plain(np.array([1.5, np.nan])), _plain(np.array(["2026-01-02"], "M8[D]"))
    ([1.5, None], ['2026-01-02'])
    """
    if values.dtype.kind in "mM":
        absent = np.isnat(values).tolist()
        texts = values.astype(str).tolist()
        return [None if a else t for a, t in zip(absent, texts, strict=True)]
    plain: list[Any] = values.tolist()
    if values.dtype.kind == "f":
        is_finite = np.isfinite(values).tolist()
        return [
            v if finite else None for v, finite in zip(plain, is_finite, strict=True)
        ]
    if values.dtype.kind == "O":
        return [v if v is None or isinstance(v, _PLAIN) else str(v) for v in plain]
    return plain


def _snapshots(collection: Collection) -> list[Snapshot]:
    fetched, lives = collection.looks, collection.lives
    appeared = np.searchsorted(np.sort(lives.first_seen), fetched, side="right")
    disappeared = np.searchsorted(np.sort(lives.last_seen), fetched, side="left")
    ends = np.sort(lives.gone_by)
    gone = np.diff(np.searchsorted(ends, fetched, side="right"), prepend=0)
    counts = (fetched.tolist(), (appeared - disappeared).tolist(), gone.tolist())
    return [Snapshot(*row) for row in zip(*counts, strict=True)]


def _lives(spells: Sequence[Spell]) -> Lives:
    def column(name: str) -> list[float]:
        return [getattr(spell, name) for spell in spells]

    return Lives(
        keys=tuple(spell.key for spell in spells),
        absent_before=np.array(column("absent_before"), dtype=np.float64),
        first_seen=np.array(column("first_seen"), dtype=np.float64),
        last_seen=np.array(column("last_seen"), dtype=np.float64),
        gone_by=np.array(column("gone_by"), dtype=np.float64),
        attributes=columns([spell.attributes for spell in spells]),
    )


def columns(rows: Sequence[Attributes]) -> dict[str, Values]:
    """Return rows as columns: numbers as numeric arrays, the rest as objects.

    >>> {k: v.tolist() for k, v in columns([{"a": 1, "b": "x"}, {"a": None}]).items()}
    {'a': [1.0, nan], 'b': ['x', None]}
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _column([row.get(name) for row in rows]) for name in names}


def _column(values: list[Scalar]) -> Values:
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return np.array(values, dtype=np.bool_)
    if kinds == {int} and all(abs(int(v or 0)) < LARGEST_INT for v in values):
        return np.array(values, dtype=np.int64)
    if kinds <= {int, float, type(None)} and kinds & {int, float}:
        return np.array([_number(value) for value in values], dtype=np.float64)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _number(value: Scalar) -> float:
    try:
        return np.nan if value is None else float(value)
    except OverflowError:
        return np.nan
