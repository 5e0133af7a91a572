import json
import os
import subprocess

import numpy as np
import pytest

from halflife.core.errors import UsageError
from halflife.readers.records import RecordReader
from halflife.recordings.imports import import_git, import_snapshots, moment
from halflife.recordings.snapshots import DatedFile, fold

READER = RecordReader("id")
INF = np.inf


def body(keys, price=1):
    return json.dumps([{"id": key, "price": price} for key in keys]).encode()


def many(n, begin=0):
    return [f"k{i}" for i in range(begin, n)]


def snapshots(*bodies):
    return [DatedFile(float(at), "x.json", found) for at, found in enumerate(bodies)]


# Folding


def test_snapshots_become_lives():
    history = fold(snapshots(body("ab"), body("a"), body("a", 2)), READER)
    found = history.collection("x")
    assert found.lives.keys == ("a", "b")
    assert found.lives.gone_by.tolist() == [INF, 1.0]
    assert found.changed_at.tolist() == [2.0]


def test_snapshots_that_cannot_be_read_are_no_looks():
    history = fold(snapshots(body("ab"), b"{", None, body("ab")), READER)
    assert [s.valid for s in history.snapshots] == [True, False, False, True]
    assert "not json" in history.snapshots[1].note
    assert history.collection("x").looks.tolist() == [0.0, 3.0]


def test_a_dip_is_no_look():
    full, dip = body(many(100)), body(many(30))
    history = fold(snapshots(full, full, dip, b"{", dip, full), READER)
    assert [s.valid for s in history.snapshots] == [True, True, *[False] * 3, True]
    assert "70 of 100 objects are missing" in history.snapshots[2].note
    assert all(s.gone_by == INF for s in history.spells)


def test_three_that_agree_are_believed():
    full, less = body(many(100)), body(many(30))
    history = fold(snapshots(full, full, less, b"{", less, less, less), READER)
    assert [s.valid for s in history.snapshots] == [True] * 3 + [False] + [True] * 3
    assert sum(s.gone_by == 2.0 for s in history.spells) == 70


def test_an_odd_end_is_left_out():
    full = body(many(100))
    history = fold(snapshots(full, full, body([])), READER)
    assert history.collection("x").looks.tolist() == [0.0, 1.0]


def test_many_bad_records_make_a_listing_incomplete():
    bad = json.dumps([{"id": "a"}, {}]).encode()
    history = fold(snapshots(body("ab"), bad, bad), READER)
    assert [s.complete for s in history.snapshots] == [True, False, False]
    assert history.spells[1].gone_by == INF


def test_nothing_that_can_be_read_is_an_error():
    with pytest.raises(UsageError, match="no snapshot can be read; the first: it is"):
        fold(snapshots(b"{"), READER)


def test_a_listing_that_drops_some_at_random_still_tells_the_deaths():
    rng = np.random.default_rng(5)
    alive, fresh, died, bodies = set(range(500)), 500, 0, []
    for _ in range(120):
        dead = [k for k in sorted(alive) if rng.random() < 0.01]
        alive -= set(dead)
        died += len(dead)
        alive |= set(range(fresh, fresh + 5))
        fresh += 5
        bodies.append(body(str(k) for k in sorted(alive) if rng.random() >= 0.02))
    history = fold(snapshots(*bodies), READER)
    assert all(s.valid for s in history.snapshots)
    gone = sum(s.gone_by < INF for s in history.spells)
    twice = 500 * 120 * 0.02**2  # dropped twice in a row: as good as gone
    assert abs(gone - died - twice) <= 3 * np.sqrt(died + twice)


# Folders of files


@pytest.mark.parametrize(
    ("name", "days"),
    [
        ("2026-01-02.json", 20455.0),
        ("jobs_20260102.csv", 20455.0),
        ("2026/01/02.json", 20455.0),
        ("x-2026-01-02T06:00:00Z.json", 20455.25),
        ("20260102-180000.json", 20455.75),
        ("2026-13-02.json", None),
        ("v12345678901.json", None),
        ("jobs.json", None),
    ],
)
def test_the_name_of_a_file_says_when(name, days):
    assert moment(name) == days


def test_a_folder_of_dated_files_becomes_a_history(tmp_path):
    (tmp_path / "2026-01-01.json").write_bytes(body("ab"))
    (tmp_path / "2026-01-03.csv").write_text("id,price\na,1\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "2026-01-02.jsonl").write_text('{"id": "a", "price": 1}\n')
    (tmp_path / "README").write_text("not a snapshot")
    found = import_snapshots(tmp_path, "x", READER)
    assert (found.looks - 20454).tolist() == [0, 1, 2]
    assert (found.lives.gone_by - 20454).tolist() == [INF, 1]


def test_a_folder_without_dates_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no file has a date"):
        import_snapshots(tmp_path, "x", READER)
    with pytest.raises(UsageError, match="no such folder"):
        import_snapshots(tmp_path / "none", "x", READER)
    (tmp_path / "2026-01-01.json").write_bytes(body("a"))
    (tmp_path / "2026-01-01.csv").write_text("id\na\n")
    with pytest.raises(UsageError, match="of the same time"):
        import_snapshots(tmp_path, "x", READER)


# Git


@pytest.fixture
def repo(tmp_path):
    """Return a function that commits a file's content at a time in days."""

    def git(*words, at=0.0):
        date = f"{int(at * 86400)} +0000"
        env = {
            **os.environ,
            "GIT_COMMITTER_DATE": date,
            "GIT_AUTHOR_DATE": date,
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        name = ("-c", "user.name=n", "-c", "user.email=e@example.org")
        command = ["git", "-C", str(tmp_path), *name, *words]
        subprocess.run(command, check=True, env=env, capture_output=True)

    git("init", "-q")

    def commit(content, at, path="data/jobs list.json"):
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)
        git("add", "-A")
        git("commit", "-q", "-m", "scraped", at=at)

    commit.path = tmp_path
    return commit


def test_every_commit_of_a_file_is_a_look(repo):
    repo(b"hello", 20000.0, "other.txt")
    repo(body("ab"), 20001.0)
    repo(body("abc"), 20002.5)
    repo(b"<html>rate limited", 20003.0)
    repo(None, 20003.5)
    repo(body("bc"), 20004.0)
    repo(b"more", 20004.5, "other.txt")
    repo(body("bc", 2), 20005.0)
    found = import_git(repo.path, "data/jobs list.json", "jobs", READER)
    assert found.looks.tolist() == [20001.0, 20002.5, 20004.0, 20005.0]
    assert found.lives.keys == ("a", "b", "c")
    assert found.lives.gone_by.tolist() == [20004.0, INF, INF]
    assert found.lives.absent_before.tolist() == [-INF, -INF, 20001.0]
    assert found.changed_at.tolist() == [20005.0, 20005.0]


def test_commits_are_taken_in_the_order_of_time(repo):
    repo(body("a"), 20003.0)
    repo(body("ab"), 20001.0)
    repo(body("abc"), 20001.0)
    found = import_git(repo.path, "data/jobs list.json", "jobs", READER)
    assert found.looks.tolist() == [20001.0, 20003.0]
    assert found.lives.keys == ("a", "b", "c")


@pytest.mark.parametrize("path", ["none.json", "*.json", "--all", ":/data"])
def test_a_file_that_git_does_not_know_is_named(repo, path):
    repo(body("a"), 20001.0)
    with pytest.raises(UsageError, match="no commit in"):
        import_git(repo.path, path, "jobs", READER)


def test_what_is_no_repository_is_refused(tmp_path):
    (tmp_path / "x").mkdir()
    with pytest.raises(UsageError, match="not a git repository"):
        import_git(tmp_path / "x", "a.json", "jobs", READER)
    with pytest.raises(UsageError, match="a path inside the repository"):
        import_git(tmp_path, "/etc/passwd", "jobs", READER)


def test_a_folder_is_no_file(repo):
    repo(body("a"), 20001.0)
    with pytest.raises(UsageError, match="it is a tree, not a file"):
        import_git(repo.path, "data", "jobs", READER)
