"""Forecasts as they were made, their outcomes, and random checks of the copy.

A forecast is stored before its outcome is known, and nothing but the outcome is ever
added to it. Scores, coverage and trust are computed from these facts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.stores import tables
from halflife.stores.database import Database

if TYPE_CHECKING:
    from halflife.stores.connection import Tables

STATEMENTS = (
    """
CREATE TABLE forecast (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    measure TEXT NOT NULL,
    made REAL NOT NULL,
    ahead REAL NOT NULL,  -- days; it is of made + ahead
    mean REAL NOT NULL,
    low REAL NOT NULL,
    high REAL NOT NULL,
    confidence REAL NOT NULL,
    told REAL,  -- when its outcome was seen; NULL while it waits
    found REAL,  -- the outcome
    looks REAL,  -- parts that it rests on; NULL if all
    draw REAL  -- chance that parts ties, from 0 to 1
) STRICT""",
    "CREATE INDEX forecast_made ON forecast (source, made)",
    "CREATE INDEX forecast_waiting ON forecast (source) WHERE told IS NULL",
    """
CREATE TABLE checked (  -- a part drawn at random, and whether our copy was right
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    item INTEGER NOT NULL REFERENCES item,
    at REAL NOT NULL,  -- when it was drawn; the same for all of a turn
    chance REAL NOT NULL,  -- of being drawn
    weight REAL NOT NULL,
    believed REAL NOT NULL,  -- the chance that the copy is right, before the look
    fresh INTEGER CHECK (fresh IN (0, 1))  -- NULL if there was no answer
) STRICT""",
    "CREATE INDEX checked_at ON checked (source, at)",
)
_ISSUE = """
INSERT INTO forecast (source, measure, made, ahead, mean, low, high, confidence)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_RECORD = """
INSERT INTO forecast (source, measure, made, ahead, mean, low, high, confidence,
    told, found, looks, draw)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_COLUMNS = """
SELECT source, measure, made, ahead, mean, low, high, confidence,
    id, told, found, looks, draw FROM forecast
"""
_THEN = """
SELECT seen, digest FROM observation WHERE item = ? AND at <= ? AND seen <= 1
ORDER BY at DESC, id DESC LIMIT 1
"""
_AUDITED = """
SELECT source FROM forecast WHERE made >= ?1
UNION SELECT source FROM checked WHERE at >= ?1 ORDER BY source LIMIT ?2
"""
_WAITING = "SELECT count(*) FROM forecast WHERE told IS NULL"
_CHECKS = """
SELECT checked.at, chance, checked.weight, believed, fresh, grp
FROM checked JOIN item ON item.id = item
WHERE checked.source = ? AND checked.at >= ? ORDER BY checked.at, checked.id
"""


@dataclass(frozen=True, slots=True)
class IssuedForecast:
    """A forecast of the quality of the copy of a source.

    Attributes:
        source: The source.
        measure: ``freshness``, ``recall`` or ``summary``.
        made: When it was made, in days.
        ahead: How many days later the predicted moment is.
        mean: The expected value.
        low: Its lower bound.
        high: Its upper bound.
        confidence: The probability that the outcome lies within the bounds.
        id: Its number in the store; 0 before it is stored.
        told: When its outcome was observed; None while it waits.
        found: The outcome.
        looks: Parts that were observed for the outcome; None if all were.
        draw: A random number from 0 to 1, drawn with the outcome, to break ties.

    """

    source: str
    measure: str
    made: float
    ahead: float
    mean: float
    low: float
    high: float
    confidence: float = 0.95
    id: int = 0
    told: float | None = None
    found: float | None = None
    looks: float | None = None
    draw: float | None = None

    @property
    def due(self) -> float:
        """The moment it predicts."""
        return self.made + self.ahead


@dataclass(frozen=True, slots=True)
class ForecastCheck:
    """A part of a copy that was drawn for a check, and the result.

    Attributes:
        key: The item.
        at: When it was drawn, in days.
        chance: The probability with which it was drawn.
        weight: Its weight.
        believed: The probability, before the check, that the copy was right.
        fresh: Whether the copy was right; None if there was no answer.

    """

    key: str
    at: float
    chance: float
    weight: float
    believed: float
    fresh: bool | None


@dataclass(frozen=True, slots=True)
class Checks:
    """The answered checks of a source, as columns in the order of time.

    ``group`` is the item's group, a number; ``silent`` how many did not answer.
    """

    at: Floats
    chance: Floats
    weight: Floats
    believed: Floats
    fresh: Bools
    group: Ints
    silent: int


def remove(db: Database, before: float) -> int:
    """Remove forecasts and checks made before a moment; return how many.

    Summaries have few forecasts, with late outcomes: these stay a year longer.
    """
    query = (
        "DELETE FROM forecast WHERE made < ?1 AND (measure <> 'summary' OR made < ?2)"
    )
    old = db.execute(query, (before, before - 365.0)).rowcount
    return old + db.execute("DELETE FROM checked WHERE at < ?", (before,)).rowcount


class Forecasts:
    """The forecasts and checks of a store."""

    def __init__(self, store: "Tables") -> None:
        self._store = store

    def issue(self, forecasts: Iterable[IssuedForecast]) -> None:
        """Store forecasts."""
        with self._store.together() as db:
            db.executemany(_ISSUE, [_values(f) for f in forecasts])

    def waiting(self, source: str) -> list[IssuedForecast]:
        """Return the forecasts that have no outcome yet, oldest first."""
        query = f"{_COLUMNS} WHERE source = ? AND told IS NULL ORDER BY made, ahead"
        return self._read(query, (source,))

    def settled(self, source: str, since: float = 0.0) -> list[IssuedForecast]:
        """Return the forecasts with an outcome, in the order of the outcomes."""
        query = f"{_COLUMNS} WHERE source = ? AND told >= ? ORDER BY told, made, ahead"
        return self._read(query, (source, since))

    def settled_sources(self, since: float) -> set[str]:
        """Return the sources with an outcome since then."""
        query = "SELECT DISTINCT source FROM forecast WHERE told >= ?"
        with self._store.reading() as db:
            return {name for (name,) in db.execute(query, (since,))}

    def made(self, source: str, since: float) -> list[IssuedForecast]:
        """Return all forecasts made since then, oldest first."""
        query = f"{_COLUMNS} WHERE source = ? AND made >= ? ORDER BY made, ahead"
        return self._read(query, (source, since))

    def settle(self, forecasts: Iterable[IssuedForecast]) -> None:
        """Store outcomes; an outcome that is known stays as it is."""
        rows = [(f.told, f.found, f.looks, f.draw, f.id) for f in forecasts]
        query = (
            "UPDATE forecast SET told = ?, found = ?, looks = ?, draw = ?"
            " WHERE id = ? AND told IS NULL"
        )
        with self._store.together() as db:
            db.executemany(query, rows)

    def record(self, forecasts: Iterable[IssuedForecast]) -> None:
        """Store forecasts derived from others, with their outcomes."""
        rows = [(*_values(f), f.told, f.found, f.looks, f.draw) for f in forecasts]
        with self._store.together() as db:
            db.executemany(_RECORD, rows)

    def drop(self, forecasts: Iterable[IssuedForecast]) -> None:
        """Remove forecasts that have no outcome."""
        rows = [(f.id,) for f in forecasts]
        with self._store.together() as db:
            db.executemany("DELETE FROM forecast WHERE id = ? AND told IS NULL", rows)

    def note(self, source: str, checks: Iterable[ForecastCheck]) -> None:
        """Store checks of a source."""
        query = (
            "INSERT INTO checked (source, item, at, chance, weight, believed, fresh)"
            " SELECT ?, id, ?, ?, ?, ?, ? FROM item WHERE key = ?"
        )
        rows = [
            (source, c.at, c.chance, c.weight, c.believed, c.fresh, c.key)
            for c in checks
        ]
        with self._store.together() as db:
            db.executemany(query, rows)

    def checks(self, source: str, since: float = 0.0) -> Checks:
        """Return the checks of a source since then."""
        with self._store.reading() as db:
            rows = db.execute(_CHECKS, (source, since)).fetchall()
        return columns(rows)

    def audited(self, since: float, most: int) -> tuple[list[str], int]:
        """Return sources with forecasts or checks, and how many forecasts wait."""
        with self._store.reading() as db:
            names = db.execute(_AUDITED, (since, most)).fetchall()
            waiting = db.execute(_WAITING).fetchone()[0]
        return [str(name) for (name,) in names], int(waiting)

    def still(self, keys: Sequence[str], then: float) -> list[bool | None]:
        """Return whether each copy held then equals what was last seen of its item.

        None if no copy of it was held then.
        """
        with self._store.reading() as db:
            return [_still(db, key, then) for key in keys]

    def _read(self, query: str, values: tuple[object, ...]) -> list[IssuedForecast]:
        with self._store.reading() as db:
            rows = db.execute(query, values).fetchall()
        return [IssuedForecast(*row) for row in rows]


def columns(
    rows: Iterable[tuple[float, float, float, float, bool | None, int]],
) -> Checks:
    """Return checks as columns: when, chance, weight, belief, outcome and group."""
    rows = list(rows)
    answered = [row for row in rows if row[4] is not None]
    at, chance, weight, believed, fresh, group = (
        zip(*answered, strict=True) if answered else ((),) * 6
    )
    return Checks(
        at=np.array(at, dtype=np.float64),
        chance=np.array(chance, dtype=np.float64),
        weight=np.array(weight, dtype=np.float64),
        believed=np.array(believed, dtype=np.float64),
        fresh=np.array(fresh, dtype=np.bool_),
        group=np.array(group, dtype=np.intp),
        silent=len(rows) - len(answered),
    )


def _values(f: IssuedForecast) -> tuple[object, ...]:
    """Return the values of a forecast as they are stored."""
    return f.source, f.measure, f.made, f.ahead, f.mean, f.low, f.high, f.confidence


def _still(db: Database, key: str, then: float) -> bool | None:
    item = tables.item_id(db, key)
    held = db.execute(_THEN, (item, then)).fetchone()
    if held is None:
        return None
    return bool(held == db.execute(_THEN, (item, 9e999)).fetchone())
