"""Small recorded set sources, made up, in the forms that can be imported."""

import json
import subprocess
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pyarrow as pa
from pyarrow import parquet

BEGAN = date(2024, 1, 1)
DAYS = 90
MAKES = ("BMW", "Fiat", "=cmd()", "<script>alert(1)</script>")


def spells(seed=1, size=60, daily=4.0, rate=0.05):
    """Return (key, make, year, first, last) of objects, in days from the start."""
    rng = np.random.default_rng(seed)
    born = np.concatenate([np.zeros(size), rng.uniform(0, DAYS, int(daily * DAYS))])
    make = rng.integers(0, len(MAKES), born.size)
    life = rng.exponential(1 / rate / np.where(make == 0, 2.5, 1.0))
    first, last = np.ceil(born), np.minimum(np.floor(born + life), DAYS)
    for i in np.flatnonzero(last >= first).tolist():
        yield (f"k{i:04d}", MAKES[make[i]], 2000 + i % 9, int(first[i]), int(last[i]))


def day(number):
    return BEGAN + timedelta(days=number)


def write_parquet(folder, rows):
    """Write spells in the layout of recorded histories."""
    folder.mkdir(parents=True)
    rows = list(rows)
    gone = [last < DAYS for *_, last in rows]
    lives = {
        "object_id": [key for key, *_ in rows],
        "spell": [0] * len(rows),
        "first_seen": [day(first) for *_, first, _ in rows],
        "last_seen": [day(last) for *_, last in rows],
        "absent_before": [day(first - 1) if first else None for *_, first, _ in rows],
        "gone_by": [
            day(last + 1) if end else None
            for (*_, last), end in zip(rows, gone, strict=True)
        ],
        "make": [make for _, make, *_ in rows],
        "year": [year for _, _, year, *_ in rows],
    }
    versions = {name: lives[name] for name in ("object_id", "spell", "make", "year")}
    versions["seen_from"] = lives["first_seen"]
    taken = [
        datetime.combine(day(k), datetime.min.time(), UTC) for k in range(DAYS + 1)
    ]
    looks = {
        "date": [day(k) for k in range(DAYS + 1)],
        "taken_at": taken,
        "valid": [True] * (DAYS + 1),
    }
    for name, columns in (
        ("lifetimes", lives),
        ("versions", versions),
        ("snapshots", looks),
    ):
        parquet.write_table(pa.table(columns), folder / f"{name}.parquet")
    return folder


def listing(rows, number):
    """Return what the source lists on a day."""
    return [
        {"id": key, "make": make, "year": year}
        for key, make, year, first, last in rows
        if first <= number <= last
    ]


def write_snapshots(folder, rows, days):
    """Write one dated file of JSON for each day."""
    folder.mkdir(parents=True)
    for number in days:
        path = folder / f"{day(number)}.json"
        path.write_text(json.dumps(listing(rows, number)))
    return folder


def write_git(folder, rows, days):
    """Commit the file cars.json once for each day."""
    stream = b""
    for number in days:
        body = json.dumps(listing(rows, number)).encode()
        moment = datetime.combine(day(number), datetime.min.time(), UTC)
        stream += (
            b"commit refs/heads/main\n"
            b"committer a <a@b.c> %d +0000\ndata 1\nx\n"
            b"M 100644 inline cars.json\ndata %d\n%b\n"
        ) % (moment.timestamp(), len(body), body)
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    subprocess.run(
        ["git", "-C", folder, "fast-import", "--quiet"], input=stream, check=True
    )
    return folder
