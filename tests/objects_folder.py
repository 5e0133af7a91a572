"""A small recorded set source, written as Parquet."""

from datetime import date
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

REAL = Path(__file__).parents[2] / "shared" / "data" / "objects"


def day(number: int) -> date:
    return date(2026, 1, number)


def tables() -> dict[str, dict[str, pa.Array]]:
    none = pa.array([None], pa.date32())[0]
    return {
        "lifetimes": {
            "object_id": pa.array(["b", "a", "b"]),
            "spell": pa.array([0, 0, 1], pa.int16()),
            "first_seen": pa.array([day(2), day(1), day(6)]),
            "last_seen": pa.array([day(3), day(6), day(6)]),
            "absent_before": pa.array([day(1), none, day(4)], pa.date32()),
            "gone_by": pa.array([day(4), none, none], pa.date32()),
            "n_versions": pa.array([1, 3, 1], pa.int32()),
            "price": pa.array([5.0, 9.0, 6.0]),
            "maker": pa.array(["x", "y", "x"]),
        },
        "versions": {
            "object_id": pa.array(["a", "b", "a", "b", "a"]),
            "spell": pa.array([0, 1, 0, 0, 0], pa.int16()),
            "seen_from": pa.array([day(4), day(6), day(1), day(2), day(3)]),
            "price": pa.array([9.0, 6.0, 7.0, 5.0, 8.0]),
        },
        "snapshots": {
            "date": pa.array([day(n) for n in (1, 2, 3, 5, 4, 6)]),
            "taken_at": pa.array([None] * 6, pa.timestamp("us", "UTC")),
            "valid": pa.array([True, True, True, False, True, True]),
        },
    }


def write(folder: Path, content: dict[str, dict[str, pa.Array]]) -> Path:
    for name, columns in content.items():
        parquet.write_table(pa.table(columns), folder / f"{name}.parquet")
    return folder
