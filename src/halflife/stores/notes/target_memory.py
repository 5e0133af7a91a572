"""What is stored about a source with a target between two turns."""

import base64
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from halflife.core.arrays import Floats
from halflife.market.burst_rows import BurstRows
from halflife.market.target_rule import LossHistory
from halflife.market.target_status import NOTHING, TargetMemory
from halflife.stores.notes import NoteKind


def _write(memory: TargetMemory) -> Mapping[str, Any]:
    row = asdict(replace(memory, chances=NOTHING, ages=NOTHING))
    del row["chances"], row["ages"]
    rows = row["past"].pop("rows")
    if any(rows.values()):  # notes of earlier versions have none
        row["rows"] = rows
    return row


def _read(row: Mapping[str, Any]) -> TargetMemory:
    past = dict(row["past"])
    for name in ("times", "lately"):
        past[name] = tuple(map(float, past[name]))
    for name in past.keys() - {"times", "lately"}:
        past[name] = float(past[name])
    rows = {name: float(value) for name, value in row.get("rows", {}).items()}
    names = row.keys() - {"past", "rows"}
    others: dict[str, Any] = {name: float(row[name]) for name in names}
    return TargetMemory(LossHistory(**past, rows=BurstRows(**rows)), **others)


def _pack(numbers: Floats) -> str:
    """Return a number for each page, rounded to three digits."""
    return base64.b64encode(numbers.astype("<f2").tobytes()).decode()


def _unpack(packed: str) -> Floats:
    data = base64.b64decode(packed, validate=True)
    return np.frombuffer(data, dtype="<f2").astype(np.float64)


TARGET_MEMORY = NoteKind("target_memory", 1, _write, _read)
ROUND_CHANCES = NoteKind("round_chances", 1, _pack, _unpack)
ROUND_AGES = NoteKind("round_ages", 1, _pack, _unpack)
