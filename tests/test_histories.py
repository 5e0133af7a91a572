from pathlib import Path

import numpy as np
import pytest

from halflife.errors import UsageError
from halflife.sources.histories import load

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


@pytest.mark.real
def test_the_real_sites_load_whole():
    folder = Path(__file__).parents[2] / "shared" / "data" / "sites"
    if not folder.exists():
        pytest.skip("the recorded histories of real sites are not here")
    recorded = load(folder)
    assert len(recorded.recording) > 10_000
    assert recorded.recording.at.max() <= recorded.end
    assert np.all(np.diff(recorded.recording.start) >= 0)
