"""When in the day a source changes, as far as it was learned."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from halflife.models.rhythm import BINS, LearnedRhythm
from halflife.stores.notes import NoteKind, finite


def _write(rhythm: LearnedRhythm) -> Mapping[str, Any]:
    row = asdict(rhythm)
    return row | {name: row[name].tolist() for name in ("rows", "exposure")}


def _read(row: Mapping[str, Any]) -> LearnedRhythm:
    exposure = np.array(row["exposure"], dtype=np.float64)
    if exposure.shape != (BINS,):
        raise ValueError(f"{exposure.shape} bins, not {BINS}")
    return LearnedRhythm(
        last=finite(row["last"]),
        rows=np.array(row["rows"], dtype=np.float64).reshape(-1, 3),
        exposure=exposure,
        found=finite(row["found"]),
        squares=finite(row["squares"]),
        score=finite(row["score"]),
        share=tuple(map(finite, row["share"])),
    )


RHYTHM = NoteKind("rhythm", 1, _write, _read)
