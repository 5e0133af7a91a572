import itertools
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from halflife.core.errors import UsageError
from halflife.recordings.histories import load

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def test_a_csv_of_changes_becomes_a_recording(tmp_path):
    file = tmp_path / "h.csv"
    file.write_text("key,at,weight\na,2026-01-02T12:00:00Z,2\nb,20455.25,\na,20456,2\n")
    recorded = load(file)
    assert recorded.recording.keys == ("a", "b")
    assert recorded.recording.weight.tolist() == [2.0, 1.0]
    assert recorded.recording.at.tolist() == [20455.5, 20456.0, 20455.25]
    assert (recorded.begin, recorded.end) == (20455.0, 20456.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "needs the columns key and at"),
        ("key,at\nx,yesterday\n", "line 2"),
        ("key,at\n", "holds no change"),
    ],
)
def test_a_bad_csv_is_refused_with_the_line(tmp_path, text, said):
    file = tmp_path / "h.csv"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        load(file)


def test_a_path_that_is_not_a_history_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        load(tmp_path / "none.csv")
    (tmp_path / "x.txt").write_text("")
    with pytest.raises(UsageError, match="not a history"):
        load(tmp_path / "x.txt")
    with pytest.raises(UsageError, match=r"pages\.parquet: missing"):
        load(tmp_path)


def test_sites_are_moved_to_end_at_the_same_moment(tmp_path):
    day = 86400
    pages = pa.table(
        {
            "site": ["s", "s", "t", "t"],
            "page": ["old", "young", "p", "gone"],
            "created_at": [0, 99 * day, 0, 0],
            "deleted_at": pa.array([None, None, None, 195 * day], pa.int64()),
        }
    )
    changes = pa.table(
        {
            "site": ["s", "s", "s", "t", "t"],
            "page": ["old", "old", "young", "p", "gone"],
            "timestamp": [95 * day, 100 * day, 99 * day, 200 * day, 192 * day],
            "kind": ["M", "M", "A", "M", "M"],
        }
    )
    parquet.write_table(pages, tmp_path / "pages.parquet")
    parquet.write_table(changes, tmp_path / "changes.parquet")
    recorded = load(tmp_path, days=10.0)
    recording = recorded.recording
    assert recording.keys == ("s/old", "t/p", "t/gone")
    assert recording.at.tolist() == [5.0, 10.0, 10.0, 2.0]
    assert recording.died.tolist() == [np.inf, np.inf, 5.0]


def test_a_page_is_as_long_as_in_the_last_snapshot_before_the_window(tmp_path):
    day, days, end = 86400, 10.0, 100
    pages = ["grown", "new", "unknown", "last"]
    parquet.write_table(
        pa.table(
            {
                "site": ["s"] * 4,
                "page": pages,
                "created_at": [0] * 4,
                "deleted_at": pa.array([None] * 4, pa.int64()),
            }
        ),
        tmp_path / "pages.parquet",
    )
    changes = {"site": ["s"], "page": ["last"], "timestamp": [end * day], "kind": ["M"]}
    parquet.write_table(pa.table(changes), tmp_path / "changes.parquet")
    assert load(tmp_path, days=days).recording.length.size == 0
    # The window begins on day 90: after snapshot 2, of day 84, and before 3, of day 91.
    sites = {"site": ["s"], "window_start": [70 * day]}
    parquet.write_table(pa.table(sites), tmp_path / "sites.parquet")
    texts = {
        "site": ["s"] * 5,
        "page": ["grown", "grown", "grown", "new", "last"],
        "week_from": [0, 2, 3, 3, 0],
        "week_to": [1, 2, 4, 4, 4],
        "n_tokens": [1, 2, 3, 9, 7],
    }
    parquet.write_table(pa.table(texts), tmp_path / "docs_weekly.parquet")
    recording = load(tmp_path, days=days).recording
    assert recording.lengths() == {"s/grown": 2.0, "s/last": 7.0}
    assert recording.take(np.array([3, 0])).length.tolist() == [7.0, 2.0]


def read_one_by_one(pages, changes, days):
    """Keys, groups, ends and changes of each page, by walking through the rows."""
    end_of, row_of, died = {}, {}, []
    for site, at in zip(changes["site"], changes["timestamp"], strict=True):
        end_of[site] = max(end_of.get(site, 0), at)
    for site, page, created, deleted in zip(*pages.values(), strict=True):
        if site not in end_of or created is None:
            continue
        end = end_of[site]
        gone = np.inf if deleted is None else days + (deleted - end) / 86400
        if days + (created - end) / 86400 <= 0 < gone:
            row_of[site, page] = len(died)
            died.append(gone)
    found = [[] for _ in died]
    for site, page, at, kind in zip(*changes.values(), strict=True):
        moment = days + (at - end_of[site]) / 86400
        if (site, page) in row_of and kind == "M" and moment > 0:
            found[row_of[site, page]].append(moment)
    return list(row_of), died, [sorted(f) for f in found]


@given(st.integers(0, 2**16))
@settings(max_examples=25)
def test_columns_are_read_as_rows_would_be(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    places = rng.choice(40, 12, replace=False)
    moments = rng.integers(0, 30 * 86400, (2, 12)).tolist()
    some = rng.integers(0, 40, 25)
    pages = {
        "site": [f"s{p % 3}" for p in places],
        "page": [f"p{p}/x" for p in places],
        "created_at": [None if m % 7 == 0 else m for m in moments[0]],
        "deleted_at": [None if m % 2 else m for m in moments[1]],
    }
    changes = {
        "site": [f"s{p % 3}" for p in some],
        "page": [f"p{p}/x" for p in some],
        "timestamp": rng.integers(15 * 86400, 30 * 86400, 25).tolist(),
        "kind": rng.choice(["A", "M", "D"], 25).tolist(),
    }
    folder = tmp_path_factory.mktemp("rows")
    kinds = dict.fromkeys(("created_at", "deleted_at"), pa.int64())
    columns = {n: pa.array(v, kinds.get(n)) for n, v in pages.items()}
    parquet.write_table(pa.table(columns), folder / "pages.parquet")
    parquet.write_table(pa.table(changes), folder / "changes.parquet")
    recording = load(folder, days=20.0).recording
    keys, died, found = read_one_by_one(pages, changes, 20.0)
    assert recording.keys == tuple(f"{site}/{page}" for site, page in keys)
    assert recording.group == tuple(site for site, _ in keys)
    assert recording.died.tolist() == died
    spans = itertools.pairwise(recording.start.tolist())
    assert [recording.at[a:b].tolist() for a, b in spans] == found


@pytest.mark.real
def test_the_real_sites_load_whole():
    folder = Path(__file__).parents[2] / "shared" / "data" / "sites"
    if not folder.exists():
        pytest.skip("the recorded histories of real sites are not here")
    recorded = load(folder)
    assert len(recorded.recording) > 10_000
    assert recorded.recording.at.max() <= recorded.end
    assert np.all(np.diff(recorded.recording.start) >= 0)
