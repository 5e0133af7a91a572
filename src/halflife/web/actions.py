"""What people can set going from a page: syncs, decisions, the demo."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from time import sleep

from halflife.config import Config
from halflife.core.errors import HalflifeError
from halflife.engine import bootstrap, held_answers, once
from halflife.engine.signals import Stop
from halflife.kinds.pages import pushed_hints
from halflife.kinds.protocol import Errand
from halflife.readers.containment import describe
from halflife.web import showcase, words

REMEMBERED = 20
GRACE = 8.0  # seconds in which a decision can be taken back; a person reads, and thinks
UNDONE = "taken back in time: nothing was changed"


@dataclass(slots=True)
class Job:
    """Something that was set going.

    Attributes:
        id: Its number.
        what: What it does, in words.
        source: The source it is about; empty if none.
        state: ``running``, ``done``, ``failed`` or ``undone``.
        said: What came of it.
        run: The run that a decision is about; 0 if it is about none.
        undo: Whether it can be taken back: nothing was done yet.

    """

    id: int
    what: str
    source: str = ""
    state: str = "running"
    said: str = ""
    run: int = 0
    undo: bool = False


class Deeds:
    """Does things in the background and remembers what came of them.

    Args:
        ended: Is called when something was done.

    """

    def __init__(self, ended: Callable[[], None]) -> None:
        self._jobs: deque[Job] = deque(maxlen=REMEMBERED)
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._ended = ended

    @property
    def jobs(self) -> list[Job]:
        """What was set going, latest first, as it stands now."""
        return [replace(job) for job in list(self._jobs)[::-1]]

    def start(
        self,
        what: str,
        work: Callable[[], str],
        source: str = "",
        *,
        run: int = 0,
        grace: float = 0.0,
    ) -> Job:
        """Begin something; it goes on after this has returned.

        For ``grace`` seconds it waits, and ``undo`` takes it back. A decision that
        waits already is not made twice.
        """
        with self._lock:
            waits = [job for job in self._jobs if job.undo and job.run == run]
            if waits:
                return waits[0]
            job = Job(next(self._numbers), what, source, run=run, undo=grace > 0)
            self._jobs.append(job)
        given = job, work, grace
        threading.Thread(target=self._do, args=given, daemon=True).start()
        return job

    def undo(self, number: int) -> bool:
        """Take back what waits; say whether it was in time."""
        with self._lock:
            waits = [job for job in self._jobs if job.undo and job.id == number]
            for job in waits:
                job.undo, job.said, job.state = False, UNDONE, "undone"
        return bool(waits)

    def _waited(self, job: Job, grace: float) -> bool:
        """Wait until it cannot be taken back any more; say whether it was not."""
        if grace > 0:
            sleep(grace)
        with self._lock:
            job.undo = False
            return job.state == "running"

    def _do(self, job: Job, work: Callable[[], str], grace: float) -> None:
        if not self._waited(job, grace):
            return
        try:
            said, state = work(), "done"
        except (HalflifeError, OSError) as error:
            said, state = str(error), "failed"
        except Exception as error:  # noqa: BLE001  (else it would run for ever)
            said, state = f"an error of the program: {describe(error)}", "failed"
        job.said = words.plain(said)
        self._ended()  # whoever sees that it is done sees what it did, too
        job.state = state


def sync(config: Config, name: str) -> str:
    """Do what ``halflife sync NAME`` does; return what came of it, in words."""
    chosen = once.fetched(config, [name])
    with bootstrap.writing(config) as store:
        done = asyncio.run(once.sync(config, store, chosen, Errand(), Stop()))
    said = [report.note or report.result.words() for report in done if report.result]
    return "; ".join(said)


def push(config: Config, urls: Sequence[str]) -> pushed_hints.PushOutcome:
    """Keep hints that pages have changed, until their sources' next turns."""
    with bootstrap.writing(config) as store:
        return pushed_hints.push(store, config, urls, bootstrap.clock())


def accept(config: Config, run: int) -> str:
    """Believe the answer that a run put aside."""
    with bootstrap.writing(config) as store:
        return held_answers.accept(config, store, run).words


def keep(config: Config, run: int) -> str:
    """Keep the copy as it is: what a run put aside is not believed."""
    with bootstrap.writing(config) as store:
        return held_answers.keep(config, store, run).source


def demo(folder: Path) -> Path:
    """Keep a made-up site over HTTP on loopback; return its settings.

    Lists, a form and a search that nobody has to be asked for are added, so that
    there is something on every page.
    """
    from halflife.demo.run import Options, run  # noqa: PLC0415  (slow)

    report = run(Options(pages=120, days=20, folder=folder), lambda _n, _what: None)
    return showcase.extend(report.config)
