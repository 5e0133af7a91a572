"""The last versions of a settings file, so that a change can be undone.

They lie in a folder beside the state file, named after it: ``halflife.db-settings``.
Each change is a file with the text before and after; the oldest are removed.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from halflife.config import Config, edit
from halflife.core.errors import ConfigError, SettingsChanged, UsageError

KEPT = 20  # changes; a file has a few KB
_LOCK = "lock"


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """A change of a settings file.

    Attributes:
        number: Counts the changes.
        at: When it was made, in days since the epoch.
        what: What was changed, in words.
        before: The text before; None if there was no file.
        after: The text after.

    """

    number: int
    at: float
    what: str
    before: str | None
    after: str


class SettingsHistory:
    """Writes a settings file, and keeps its earlier versions.

    Args:
        path: The settings file.
        clock: The time in days since the epoch.
        store: The state file as the settings name it; empty to read it from them.

    """

    def __init__(self, path: Path, clock: Callable[[], float], store: str = "") -> None:
        self.path, self._clock, self._store = path, clock, store

    @cached_property
    def folder(self) -> Path:
        """The folder of the versions; the default one if the settings are broken."""
        config = Config(path=self.path)
        if self._store:
            config = Config(path=self.path, store=self._store)
        else:
            with suppress(ConfigError):
                config = Config.load(self.path)
        return config.store_path.with_name(f"{config.store_path.name}-settings")

    def read(self) -> str | None:
        """Return the text as it is now; None if there is no file."""
        try:
            return self.path.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            message = f"{self.path}: not UTF-8 text (byte {error.start})"
            raise ConfigError(message) from None
        except OSError as error:
            message = f"{self.path}: cannot be read: {error.strerror}"
            raise ConfigError(message) from None

    def changes(self) -> list[SettingsChange]:
        """Return the changes that are kept, latest first."""
        changes = (_load(path) for path in self._files())
        return [change for change in changes if change is not None]

    def write(self, mark: str, text: str, what: str) -> SettingsChange:
        """Replace the text that has this mark.

        Raise ``SettingsChanged`` if the file has another text by now, and
        ``ConfigError`` if the new one is wrong or cannot be written; the file is then
        unchanged.
        """
        Config.parse(text, self.path)
        with self._locked() as folder:
            before = self.read()
            if mark_of(before) != mark:
                raise SettingsChanged(
                    f"{self.path.name} has changed on disk meanwhile; nothing was saved"
                )
            number = max((_number(path) for path in self._files()), default=0) + 1
            change = SettingsChange(number, self._clock(), what, before, text)
            entry = folder / f"{number:08}.json"
            _keep(entry, change)
            try:
                edit.replace(self.path, text)
            except ConfigError:
                entry.unlink(missing_ok=True)
                raise
            for old in self._files()[KEPT:]:
                old.unlink(missing_ok=True)
        return change

    def undo(self, number: int | None = None) -> SettingsChange:
        """Undo the last change, if the file still has the text that it wrote.

        With ``number``, only if that is the last one. Raise ``UsageError`` if there is
        no change, and ``SettingsChanged`` if the file has changed since.
        """
        with self._locked():
            change = self.last()
            if change is None:
                raise UsageError("there is no change that could be undone")
            if number is not None and change.number != number:
                raise SettingsChanged(
                    "that is no longer the last change; undo the later ones first"
                )
            if self.read() != change.after:
                raise SettingsChanged(
                    f"{self.path.name} has changed on disk since; nothing was undone"
                )
            if change.before is None:
                self.path.unlink()
            else:
                edit.replace(self.path, change.before)
            self._entry(change).unlink(missing_ok=True)
        return change

    def last(self) -> SettingsChange | None:
        """Return the last change that was written; None if there is none."""
        now = self.read()
        for change in self.changes():
            # A crash between keeping the old text and writing the new one skips this.
            if now != change.before or now == change.after:
                return change
        return None

    def _entry(self, change: SettingsChange) -> Path:
        return self.folder / f"{change.number:08}.json"

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("[0-9]*.json"), reverse=True)

    @contextmanager
    def _locked(self) -> Iterator[Path]:
        """Hold the lock of the folder, so that no other process writes; yield it."""
        folder = self.folder
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            message = f"{folder}: cannot be written: {error.strerror}"
            raise ConfigError(message) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder
        finally:
            os.close(lock)


def mark_of(text: str | None) -> str:
    """Return a short hash of a text, so that a form can name the version it edits.

    >>> mark_of("a") == mark_of("a"), mark_of("a") == mark_of("b"), mark_of(None)
    (True, False, 'none')
    """
    return "none" if text is None else hashlib.sha256(text.encode()).hexdigest()[:32]


def _number(path: Path) -> int:
    return int(path.stem) if path.stem.isdecimal() else 0


def _keep(path: Path, change: SettingsChange) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(change), file)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None


def _load(path: Path) -> SettingsChange | None:
    """Return a change; None if the file is broken, as after a crash."""
    try:
        return SettingsChange(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
