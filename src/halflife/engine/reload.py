"""Settings that may change while a service runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from halflife.config import Config, SourceConfig
from halflife.core.errors import ConfigError, UsageError
from halflife.engine import bootstrap

Mark: TypeAlias = tuple[int, int, int]  # of a file: time of writing, size, inode


class Settings:
    """The settings in use, and those on disk.

    Args:
        config: The settings to begin with.
        names: The sources to work at; all, if there are none.

    """

    def __init__(self, config: Config, names: Sequence[str] = ()) -> None:
        self.config = config
        self.trouble = ""  # why those on disk are not in use
        self._names = tuple(names)
        self._mark = _mark(config.path)

    @property
    def chosen(self) -> tuple[SourceConfig, ...]:
        """The sources to work at, without those that are paused."""
        return tuple(s for s in self.config.named(self._names) if not s.paused)

    def changed(self) -> bool:
        """Say whether the file has changed since it was read."""
        return _mark(self.config.path) != self._mark

    def reload(self) -> bool:
        """Read the file; say whether there are new settings.

        A file that cannot be used leaves the old settings in use, and ``trouble`` says
        why.
        """
        self._mark = _mark(self.config.path)
        try:
            config = Config.load(self.config.path)
            bootstrap.names(config.named(self._names))
        except (ConfigError, UsageError) as error:
            self.trouble = str(error)
            return False
        if config.store_place != self.config.store_place:
            self.trouble = "another store is opened at the next start only"
            return False
        fresh, self.config = config != self.config, config
        self.trouble = ""
        return fresh


def _mark(path: Path) -> Mark | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
