"""The survey behind the pages, taken again when the state has changed."""

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

AGED = 30.0  # seconds after which estimates are computed again
BRIEF = 0.3  # seconds that a visitor waits for a new survey
PATIENT = 10.0  # the same for a visitor who has just started a job
RARELY = 10.0  # the least time between two surveys, in durations of one
MUCH = 32 * 2**20  # bytes of a state that is surveyed only in the background


@dataclass(frozen=True, slots=True)
class StateStamp:
    """The stamps of the settings and state files; equal ones mean equal content."""

    files: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, config: Config) -> "StateStamp":
        """Return the present stamp of the settings and the state."""
        return cls((location.stamp(config.path), location.stamp(config.store_place)))


class Board:
    """The latest survey of the sources in a settings file.

    A survey is taken in the background at a request, if the state has changed or some
    time has passed. A visitor waits briefly for it, and sees the previous one if it
    takes longer. If there is none and the state is large, the visitor sees at once
    what needs no estimates (``glance``).

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
        self._glance: tuple[StateStamp, Survey] | None = None
        self._survey: Survey | None = None
        self._mark: StateStamp | None = None
        self._began, self._took, self._done = 0.0, 0.0, 0.0

    @property
    def path(self) -> Path:
        """The settings file that is shown."""
        return self._path

    @property
    def waiting(self) -> int:
        """The number of answers that wait for a decision, by the latest survey."""
        latest = self._survey
        return 0 if latest is None else len(latest.waiting)

    @property
    def visiting(self) -> bool:
        """Whether the demo's settings file is shown instead of the user's own."""
        return self._path != self._own

    def visit(self, path: Path | None) -> None:
        """Show another settings file; None for the user's own."""
        with self._taking, self._lock:
            self._turn(path or self._own)

    def config(self) -> Config:
        """Return the present settings; the defaults if there is no file."""
        path = self._path
        if not path.exists():
            return Config(path=path)
        stamp = location.stamp(path)
        with self._settling:
            cached = self._settings
            if cached is None or cached[0] != stamp or cached[1].path != path:
                cached = self._settings = stamp, Config.load(path)
            return cached[1]

    @property
    def working(self) -> bool:
        """Whether a survey is being taken."""
        return self._taking.locked()

    @property
    def ready(self) -> bool:
        """Whether a survey can be shown, or none is being taken."""
        return self._survey is not None or not self.working

    def prepare(self) -> None:
        """Start a survey before the first request, if it will take long.

        Errors are reported at the request.
        """
        with suppress(HalflifeError):
            if self._survey is None and _is_much(self.config()):
                self.glance()

    def glance(self) -> Survey:
        """Return the latest survey; of a large state without one, a quick summary.

        So a page is there at once, and says that estimates are still being computed.
        """
        if self._survey is not None:
            return self.survey()
        config = self.config()
        if not _is_much(config):
            return self.survey()
        with self._glancing:  # one at a time is quicker
            kept, mark = self._glance, StateStamp.of(config)
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
            latest, patience = self._survey, self._patience()
        if latest is None:
            return self._take()
        if patience > 0:
            thread = threading.Thread(target=self._take_quietly, daemon=True)
            thread.start()
            thread.join(patience)
        with self._lock:
            return self._survey or latest

    def forget(self) -> None:
        """Let the next visitor wait for the result of a job that has just ended."""
        with self._lock:
            self._done = monotonic()

    def _patience(self) -> float:
        """Return the seconds to wait for a new survey; 0 if it would be the same."""
        if self._done > self._began:
            # A visitor who has started a job waits for its result, if that is quick.
            much = self._survey is not None and _is_much(self._survey.config)
            return BRIEF if much else PATIENT
        if self._survey is None or StateStamp.of(self._survey.config) != self._mark:
            return BRIEF
        aged = monotonic() - self._began > max(AGED, RARELY * self._took)
        return BRIEF if aged else 0.0

    def _take_quietly(self) -> None:
        """Take a survey unless one is being taken; pages show why if that fails."""
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
            mark = StateStamp.of(config)
            with bootstrap.reading(config) as store:
                seen = survey.take(config, store, bootstrap.clock(), self._memo)
            if not seen.priced:
                _ = seen.steps  # computed here, not while a visitor waits
                if self._survey is None:  # prices may follow
                    self._keep(seen, mark, start)
                _ = seen.slider
            self._keep(seen, mark, start)
        return seen

    def _keep(self, seen: Survey, mark: StateStamp, start: float) -> None:
        """Show a survey from now on."""
        with self._lock:
            self._survey, self._mark, self._glance = seen, mark, None
            self.trouble = ""
            self._began, self._took = start, monotonic() - start


def _is_much(config: Config) -> bool:
    return location.stamp(config.store_place)[-1] > MUCH
