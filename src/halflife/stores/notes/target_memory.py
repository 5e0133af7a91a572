"""What is stored about a source with a target between two turns."""

import base64
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from halflife.core.arrays import Floats
from halflife.market.target_rule import LossHistory
from halflife.market.target_status import NOTHING, TargetMemory
from halflife.stores.notes import NoteKind

_LATER = ("bursts", "followed", "heat")  # notes of earlier versions have none of them


def _write(memory: TargetMemory) -> Mapping[str, Any]:
    row = asdict(replace(memory, chances=NOTHING, ages=NOTHING))
    del row["chances"], row["ages"]
    for name in _LATER:
        if not row["past"][name]:
            del row["past"][name]
    return row


def _read(row: Mapping[str, Any]) -> TargetMemory:
    past = dict(row["past"])
    for name in ("times", "lately"):
        past[name] = tuple(map(float, past[name]))
    for name in past.keys() - {"times", "lately"}:
        past[name] = float(past[name])
    others: dict[str, Any] = {n: float(v) for n, v in row.items() if n != "past"}
    return TargetMemory(LossHistory(**past), **others)


def _pack(numbers: Floats) -> str:
    """Return a number for each page, rounded to three digits."""
    return base64.b64encode(numbers.astype("<f2").tobytes()).decode()


def _unpack(packed: str) -> Floats:
    data = base64.b64decode(packed, validate=True)
    return np.frombuffer(data, dtype="<f2").astype(np.float64)


TARGET_MEMORY = NoteKind("target_memory", 1, _write, _read)
ROUND_CHANCES = NoteKind("round_chances", 1, _pack, _unpack)
ROUND_AGES = NoteKind("round_ages", 1, _pack, _unpack)
