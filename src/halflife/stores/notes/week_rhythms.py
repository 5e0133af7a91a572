"""The hours of the week at which the pages of hosts change, as far as learned."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from halflife.core.arrays import Floats
from halflife.models.week_rhythm import BINS, LearnedWeek
from halflife.stores.notes import NoteKind, finite, text

LearnedWeeks: TypeAlias = dict[str, LearnedWeek]  # by host


def _write(weeks: LearnedWeeks) -> Mapping[str, Any]:
    return {
        host: {
            "last": week.last,
            "changes": week.changes.round(4).tolist(),
            "watched": week.watched.round(4).tolist(),
            "spread": week.spread,
            "foretold": week.foretold,
            "score": week.score,
        }
        for host, week in weeks.items()
        if np.isfinite(week.last)
    }


def _read(rows: Mapping[str, Any]) -> LearnedWeeks:
    return {
        text(host): LearnedWeek(
            finite(row["last"]),
            _hours(row["changes"]),
            _hours(row["watched"]),
            finite(row["spread"]),
            finite(row["foretold"]),
            finite(row["score"]),
        )
        for host, row in rows.items()
    }


def _hours(values: Any) -> Floats:  # noqa: ANN401  (any JSON value)
    found = np.array(values, dtype=np.float64)
    if found.shape != (BINS,) or not np.isfinite(found).all() or (found < 0).any():
        raise ValueError(f"not {BINS} hours of a week")
    return found


WEEK_RHYTHMS = NoteKind("week_rhythms", 1, _write, _read)
