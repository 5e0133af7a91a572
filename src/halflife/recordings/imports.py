"""Imported histories: dated files, and versions of a file in a git repository."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from halflife.core.errors import UsageError
from halflife.core.lifetimes import Collection
from halflife.readers.records import RecordReader
from halflife.recordings import gitlog
from halflife.recordings.snapshots import DatedFile, fold

SECONDS_A_DAY = 86400.0
_DATE = re.compile(
    r"(?<!\d)(\d{4})[-_.]?(\d\d)[-_.]?(\d\d)"
    r"(?:[T _.-]?(\d\d)[-_:.h]?(\d\d)(?:[-_:.m]?(\d\d))?)?(?!\d)"
)


def import_git(repo: Path, path: str, name: str, reader: RecordReader) -> Collection:
    """Return the history of a file in a git repository.

    Each commit that touched the file is an observation. Versions that cannot be read
    are left out, and so are those that lack more than is credible while the next ones
    do not.
    """
    return fold(gitlog.versions(repo, path), reader).collection(name)


def import_snapshots(folder: Path, name: str, reader: RecordReader) -> Collection:
    """Return the history in a folder of files with dates in their names.

    ``2026-01-31.json``, ``jobs-20260131T1200.csv`` and the like, in UTC; nested
    folders too. Files without a date in their names are left out.
    """
    return fold(_dated(folder), reader).collection(name)


def _dated(folder: Path) -> Iterator[DatedFile]:
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; give one with dated snapshots")
    found: dict[float, Path] = {}
    for path in sorted(folder.rglob("*")):
        at = moment(path.relative_to(folder).as_posix())
        if at is None or not path.is_file():
            continue
        if at in found:
            raise UsageError(f"{path} and {found[at].name} are of the same time")
        found[at] = path
    if not found:
        raise UsageError(f"{folder}: no file has a date in its name (2026-01-31.json)")
    for at in sorted(found):
        yield DatedFile(at, found[at].name, found[at].read_bytes())


def moment(name: str) -> float | None:
    """Return the time in the name of a file, in days; None if there is none.

    >>> moment("jobs-2026-01-02.json"), moment("2026/01/02T1200.csv"), moment("x.csv")
    (20455.0, 20455.5, None)
    """
    for match in _DATE.finditer(name.replace("/", "-")):
        year, month, day, hour, minute, second = map(int, match.groups(default="0"))
        try:
            found = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        except ValueError:
            continue
        return found.timestamp() / SECONDS_A_DAY
    return None
