"""Replays of sources that only answer queries."""

from datetime import date, timedelta
from itertools import pairwise

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from form_worlds import cars
from objects_folder import write

FIRST = date(2026, 1, 1)
DAYS = 40


def day(number):
    return FIRST + timedelta(days=number)


@pytest.fixture
def history(tmp_path):
    """Eighty cars: twenty come on the thirtieth day, ten change price each day."""
    records = list(cars(80).values())
    came = [0 if i < 60 else 30 for i in range(80)]
    lives = {
        "object_id": pa.array([f"car{i}" for i in range(80)]),
        "spell": pa.array([0] * 80, pa.int16()),
        "first_seen": pa.array([day(n) for n in came]),
        "last_seen": pa.array([day(DAYS)] * 80),
        "absent_before": pa.array([day(n - 1) if n else None for n in came]),
        "gone_by": pa.array([None] * 80, pa.date32()),
        "city": pa.array([str(r["city"]) for r in records]),
        "title": pa.array([str(r["title"]) for r in records]),
    }
    rows = [(i, n) for i in range(80) for n in range(came[i], DAYS, 8 if i % 2 else 90)]
    versions = {
        "object_id": pa.array([f"car{i}" for i, _ in rows]),
        "spell": pa.array([0] * len(rows), pa.int16()),
        "seen_from": pa.array([day(n) for _, n in rows]),
        "seen_to": pa.array([day(n) for _, n in rows]),
        "price": pa.array([100.0 + n for _, n in rows]),
    }
    snapshots = {
        "date": pa.array([day(n) for n in range(DAYS + 1)]),
        "taken_at": pa.array([None] * (DAYS + 1), pa.timestamp("us", "UTC")),
        "valid": pa.array([True] * (DAYS + 1)),
    }
    content = {"lifetimes": lives, "versions": versions, "snapshots": snapshots}
    return write(tmp_path, content)


def test_policies_for_new_records_are_compared(history, asked, told):
    words = ("replay", "--query-new", history, "--attributes", "city,title")
    code, answer = asked(*words, "--from", "2026-01-20", "--to", "2026-02-05")
    assert code == 0
    assert answer["from"].startswith("2026-01-20")
    rows = {row["policy"]: row for row in answer["results"]}
    assert set(rows) == {"paper", "uniform", "default", "exhaustive", "oracle"}
    for row in rows.values():
        assert 0 <= row["icr"] <= 1
        assert 0 <= row["pnr"] <= 1
        assert row["requests"] > 0
        assert all(a[0] <= b[0] for a, b in pairwise(row["curve"]))
    assert rows["default"]["icr"] > 0.9
    assert rows["oracle"]["requests"] <= rows["default"]["requests"]
    code, out, _ = told(*words, "--policies", "default")
    assert code == 0
    assert "icr" in out


def test_policies_for_known_tuples_are_compared(history, asked):
    code, answer = asked(
        "replay", "--query-known", history, "--keywords", "titles,city",
        "--page-size", 10, "--budgets", "0.1", "--policies", "naive1,greedy,index",
    )  # fmt: skip
    assert code == 0
    rows = {row["policy"]: row for row in answer["results"]}
    assert set(rows) == {"naive1", "greedy", "index"}
    for row in rows.values():
        assert 0 <= row["coverage"] <= 1
        assert row["content_freshness"]["low"] >= 0
    better, worse = rows["index"], rows["naive1"]
    assert better["tuples_per_request"] > worse["tuples_per_request"]
    assert better["content_freshness"]["mean"] <= worse["content_freshness"]["mean"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--query-new", "--attributes", "city,wheels"], "no column 'wheels'"),
        (["--query-new"], "name the columns"),
        (["--query-new", "--attributes", "city", "--policies", "luck"], "'luck'"),
        (
            ["--query-new", "--attributes", "city", "--from", "2026-02-05", "--to",
             "2026-01-05"],
            "must be before",
        ),
        (
            ["--query-new", "--attributes", "city", "--from", "2020-01-05"],
            "no observation",
        ),
        (["--query-known", "--keywords", "city", "--policies", "luck"], "'luck'"),
        (["--query-known", "--keywords", "wheels"], "no column 'wheels'"),
    ],
)  # fmt: skip
def test_bad_questions_are_named(history, fails, words, said):
    code, complaint = fails("replay", words[0], history, *words[1:])
    assert code == 2
    assert said in complaint
