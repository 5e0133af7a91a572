"""Keeps what the pages show, and takes a new survey when the state has changed."""

import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from halflife.config import Config
from halflife.core.errors import HalflifeError
from halflife.engine import bootstrap
from halflife.kinds.protocol import Memo
from halflife.stores import location
from halflife.web import glance, survey
from halflife.web.survey import Survey

AGED = 30.0  # seconds after which what is believed is computed again
BRIEF = 0.3  # seconds that a visitor may be made to wait for that
PATIENT = 10.0  # the same for somebody who has just done something
RARELY = 10.0  # times what it takes that lie between two, at least
MUCH = 32 * 2**20  # bytes of a state that is not surveyed while somebody waits


@dataclass(frozen=True, slots=True)
class Mark:
    """What the files looked like: two that are equal hold the same."""

    files: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, config: Config) -> "Mark":
        """Return the mark of the settings and the state as they are now."""
        return cls((location.stamp(config.path), location.stamp(config.store_place)))


class Board:
    """The latest survey of the sources in a settings file.

    A survey is taken in the background when somebody asks and something has changed,
    or some time has passed. A visitor waits for it a little while, and sees the one
    before if it takes longer. If there is none and the state is large, he sees at
    once what needs no belief (``glance``).

    Args:
        path: The settings file.

    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._taking = threading.Lock()
        self._glancing = threading.Lock()
        self._settling = threading.Lock()
        self._own = path
        self._memo = Memo()
        self.trouble = ""  # why there is no newer survey
        self._turn(path)

    def _turn(self, path: Path) -> None:
        self._path = path
        self._settings: tuple[tuple[int, ...], Config] | None = None
        self._glance: tuple[Mark, Survey] | None = None
        self._survey: Survey | None = None
        self._mark: Mark | None = None
        self._began, self._took, self._done = 0.0, 0.0, 0.0

    @property
    def path(self) -> Path:
        """The settings file that is shown."""
        return self._path

    @property
    def waiting(self) -> int:
        """How many answers waited for a decision when the latest survey was taken."""
        known = self._survey
        return 0 if known is None else len(known.waiting)

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
        if not path.exists():
            return Config(path=path)
        stamp = location.stamp(path)
        with self._settling:
            known = self._settings
            if known is None or known[0] != stamp or known[1].path != path:
                known = self._settings = stamp, Config.load(path)
            return known[1]

    @property
    def working(self) -> bool:
        """Whether a survey is being taken."""
        return self._taking.locked()

    @property
    def ready(self) -> bool:
        """Whether a survey can be shown, or none is to be waited for."""
        return self._survey is not None or not self.working

    def prepare(self) -> None:
        """Begin before anybody asks, if it will take long.

        Whoever asks is told what is wrong.
        """
        with suppress(HalflifeError):
            if self._survey is None and _is_much(self.config()):
                self.glance()

    def glance(self) -> Survey:
        """Return the latest survey; if much is not surveyed yet, what is known of it.

        So a page is there at once, and says what is still being worked out.
        """
        if self._survey is not None:
            return self.survey()
        config = self.config()
        if not _is_much(config):
            return self.survey()
        with self._glancing:  # one is quicker than two at a time
            kept, mark = self._glance, Mark.of(config)
            if kept is None or kept[0] != mark:
                with bootstrap.reading(config) as store:
                    kept = mark, glance.take(config, store, bootstrap.clock())
                self._glance = kept
        if not self.working:
            threading.Thread(target=self._take_quietly, daemon=True).start()
        return kept[1]

    def survey(self) -> Survey:
        """Return the latest survey, whole."""
        with self._lock:
            known, patience = self._survey, self._patience()
        if known is None:
            return self._take()
        if patience > 0:
            thread = threading.Thread(target=self._take_quietly, daemon=True)
            thread.start()
            thread.join(patience)
        with self._lock:
            return self._survey or known

    def forget(self) -> None:
        """Let the next visitor wait for what was just done."""
        with self._lock:
            self._done = monotonic()

    def _patience(self) -> float:
        """Return the seconds that a new survey is worth; 0 if it would be the same."""
        if self._done > self._began:
            # Who has done something waits for what came of it, if that is not long.
            much = self._survey is not None and _is_much(self._survey.config)
            return BRIEF if much else PATIENT
        if self._survey is None or Mark.of(self._survey.config) != self._mark:
            return BRIEF
        aged = monotonic() - self._began > max(AGED, RARELY * self._took)
        return BRIEF if aged else 0.0

    def _take_quietly(self) -> None:
        """Take a survey unless one is being taken; pages say why if that fails."""
        if self._done <= self._began and self._taking.locked():
            return
        try:
            self._take()
        except HalflifeError as error:
            self.trouble = str(error)

    def _take(self) -> Survey:
        with self._taking:
            with self._lock:
                if self._survey is not None and not self._patience():
                    return self._survey
            start = monotonic()
            config = self.config()
            mark = Mark.of(config)
            with bootstrap.reading(config) as store:
                found = survey.take(config, store, bootstrap.clock(), self._memo)
            if not found.priced:
                _ = found.steps  # not while somebody waits
                if self._survey is None:  # prices may follow
                    self._keep(found, mark, start)
                _ = found.slider
            self._keep(found, mark, start)
        return found

    def _keep(self, found: Survey, mark: Mark, start: float) -> None:
        """Show a survey from now on."""
        with self._lock:
            self._survey, self._mark, self._glance = found, mark, None
            self.trouble = ""
            self._began, self._took = start, monotonic() - start


def _is_much(config: Config) -> bool:
    return location.stamp(config.store_place)[-1] > MUCH
