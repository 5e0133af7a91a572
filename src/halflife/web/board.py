"""Keeps what the pages show, and takes a new survey when the state has changed."""

import threading
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from halflife.config import Config
from halflife.live import wiring
from halflife.web import survey
from halflife.web.survey import Memo, Survey

AGED = 30.0  # seconds after which what is believed is computed again
BRIEF = 0.3  # seconds that a visitor may be made to wait for that
PATIENT = 5.0  # the same for somebody who has just done something


@dataclass(frozen=True, slots=True)
class Mark:
    """What the files looked like: two that are equal hold the same."""

    files: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, config: Config) -> "Mark":
        """Return the mark of the settings and the state as they are now."""
        store = config.store_path
        wal = store.with_name(store.name + "-wal")
        return cls(tuple(_stamp(path) for path in (config.path, store, wal)))


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


class Board:
    """The latest survey of the sources in a settings file.

    A survey that is quick is taken when somebody asks and something has changed; one
    that takes long is taken in the background, and visitors see the one before.

    Args:
        path: The settings file.

    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._taking = threading.Lock()
        self._own = path
        self._memo = Memo()
        self._turn(path)

    def _turn(self, path: Path) -> None:
        self._path = path
        self._config: Config | None = None
        self._survey: Survey | None = None
        self._mark: Mark | None = None
        self._taken, self._took = 0.0, 0.0

    @property
    def visiting(self) -> bool:
        """Whether another settings file than one's own is shown: the demo's."""
        return self._path != self._own

    def visit(self, path: Path | None) -> None:
        """Show what another settings file keeps; None: one's own again."""
        with self._taking, self._lock:
            self._turn(path or self._own)

    def config(self) -> Config:
        """Return the settings as they are now; those of an empty file if none."""
        path = self._path
        known = self._config
        if not path.exists():
            return Config(path=path)
        if known is None or self._mark is None or known.path != path:
            return Config.load(path)
        return (
            known
            if Mark.of(known).files[0] == self._mark.files[0]
            else Config.load(path)
        )

    def survey(self) -> Survey:
        """Return the latest survey; one that is being taken is not waited for."""
        with self._lock:
            known, old = self._survey, self._is_old()
            brief = BRIEF if self._mark is not None else PATIENT
        if known is None:
            return self._take()
        if not old:
            return known
        if self._took < brief:
            return self._take()
        if not self._taking.locked():
            threading.Thread(target=self._take, daemon=True).start()
        return known

    def forget(self) -> None:
        """Take a new survey for the next visitor."""
        with self._lock:
            self._mark = None

    def _is_old(self) -> bool:
        if self._survey is None or self._mark is None:
            return True
        if Mark.of(self._survey.config) != self._mark:
            return True
        return monotonic() - self._taken > AGED

    def _take(self) -> Survey:
        with self._taking:
            with self._lock:
                if self._survey is not None and not self._is_old():
                    return self._survey
            start = monotonic()
            config = self.config()
            mark = Mark.of(config)
            with wiring.reading(config) as store:
                found = survey.take(config, store, wiring.clock(), self._memo)
            if self._took >= BRIEF or len(config.source) > survey.FEW_SOURCES:
                _ = (
                    found.slider,
                    found.pages,
                    found.steps,
                )  # in the background, not for a visitor
            with self._lock:
                self._survey, self._mark, self._config = found, mark, config
                self._taken, self._took = monotonic(), monotonic() - start
        return found
