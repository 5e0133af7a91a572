"""Import recorded histories of set sources into the store."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from halflife.config import Config
from halflife.core.errors import UsageError
from halflife.core.lifetimes import Collection
from halflife.engine import bootstrap
from halflife.stores.notes.held_removals import HELD_REMOVALS

if TYPE_CHECKING:
    from halflife.readers.records import RecordReader

LEASE = 1 / 24  # days; longer than it takes to write any history
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")


@dataclass(frozen=True, slots=True)
class ImportWish:
    """What to import.

    Attributes:
        form: The format of the recording: parquet, git, snapshots or scrapy.
        place: Its folder; for scrapy, a file or a folder.
        path: The file within a git repository.
        key: The field that identifies an object.
        records: Where the records are in a file; detected if not given.
        name: The name of the source.

    """

    form: str
    place: Path
    path: str | None
    key: str | None
    records: str | None
    name: str


def check_name(name: str) -> None:
    """Raise ``UsageError`` unless this can be the name of a source."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"--as: {name!r} cannot be a name; use letters, digits and . _ : -"
        )


def read(wish: ImportWish) -> Collection:
    """Read the recorded history; raise ``UsageError`` if that is impossible."""
    if not wish.place.is_dir() and wish.form != "scrapy":
        raise UsageError(f"{wish.place}: no such folder")
    if wish.path is not None and wish.form != "git":
        raise UsageError(f"import {wish.form} takes one place; got {wish.path!r} too")
    history = FORMS[wish.form](wish)
    if not history.looks.size:
        raise UsageError(f"{wish.place}: holds no complete snapshot")
    return history


def _parquet(wish: ImportWish) -> Collection:
    from halflife.recordings.objects import load_parquet

    if wish.key is not None:
        raise UsageError("--key: a folder of Parquet files says itself what the key is")
    return load_parquet(wish.place, wish.name)


def _git(wish: ImportWish) -> Collection:
    from halflife.recordings.imports import import_git

    if wish.path is None:
        raise UsageError("import git needs the repository and the file within it")
    return import_git(wish.place, wish.path, wish.name, _reader(wish))


def _snapshots(wish: ImportWish) -> Collection:
    from halflife.recordings.imports import import_snapshots

    return import_snapshots(wish.place, wish.name, _reader(wish))


def _scrapy(wish: ImportWish) -> Collection:
    from halflife.recordings.scrapy_feeds import import_feeds

    return import_feeds(wish.place, wish.name, wish.key or "", wish.records or "")


def _reader(wish: ImportWish) -> "RecordReader":
    from halflife.readers.records import RecordReader

    if not wish.key:
        raise UsageError(
            f"import {wish.form} needs --key, the field that identifies an object"
        )
    return RecordReader(key=wish.key, records=wish.records or "")


FORMS: dict[str, Callable[[ImportWish], Collection]] = {
    "parquet": _parquet,
    "git": _git,
    "snapshots": _snapshots,
    "scrapy": _scrapy,
}


def save(config: Config, history: Collection) -> None:
    """Write a history into the store; it replaces that of the source."""
    now = bootstrap.clock()
    with bootstrap.writing(config) as store:
        run = store.begin([history.name], now, lease=LEASE)
        with store.together():
            store.save_collection(run, history)
            HELD_REMOVALS.remove(store, history.name)  # what waited is replaced
        store.finish(run, bootstrap.clock())
