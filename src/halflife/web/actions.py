"""Jobs that a page can start: syncs, decisions, the demo."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from time import sleep
from typing import NamedTuple

from halflife.config import Config
from halflife.core.errors import HalflifeError
from halflife.engine import bootstrap, held_answers, once
from halflife.engine.signals import Stop
from halflife.kinds.pages import pushed_hints
from halflife.kinds.protocol import Errand, Report, Result
from halflife.readers.containment import describe
from halflife.web import showcase, words

REMEMBERED = 20
GRACE = 8.0  # seconds in which a decision can be undone
UNDONE = "undone in time: nothing was changed"


@dataclass(slots=True)
class Job:
    """A job that was started.

    Attributes:
        id: Its number.
        what: A description of what it does.
        source: Its source; empty if none.
        state: ``running``, ``done``, ``partly``, ``failed`` or ``undone``.
        said: Its result, as text.
        run: The run that it decides about; 0 if none.
        undo: Whether it can be undone: nothing was written yet.

    """

    id: int
    what: str
    source: str = ""
    state: str = "running"
    said: str = ""
    run: int = 0
    undo: bool = False


class JobOutcome(NamedTuple):
    """The result of a job as text, and whether it succeeded.

    ``state`` is ``done``, ``partly`` if a part of it failed or waits, or ``failed``.
    """

    text: str
    state: str = "done"


class BackgroundJobs:
    """Runs jobs in the background and remembers their results.

    Args:
        ended: Called when a job has ended.

    """

    def __init__(self, ended: Callable[[], None]) -> None:
        self._jobs: deque[Job] = deque(maxlen=REMEMBERED)
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._ended = ended

    @property
    def jobs(self) -> list[Job]:
        """The jobs, latest first, with their present state."""
        return [replace(job) for job in list(self._jobs)[::-1]]

    def start(
        self,
        what: str,
        work: Callable[[], JobOutcome],
        source: str = "",
        *,
        run: int = 0,
        grace: float = 0.0,
    ) -> Job:
        """Start a job in the background.

        It waits for ``grace`` seconds, in which ``undo`` cancels it. A decision that
        waits already is not started twice.
        """
        with self._lock:
            waits = [job for job in self._jobs if job.undo and job.run == run]
            if waits:
                return waits[0]
            job = Job(next(self._numbers), what, source, run=run, undo=grace > 0)
            self._jobs.append(job)
        given = job, work, grace
        threading.Thread(target=self._run, args=given, daemon=True).start()
        return job

    def undo(self, number: int) -> bool:
        """Cancel a waiting job; return whether it was in time."""
        with self._lock:
            waits = [job for job in self._jobs if job.undo and job.id == number]
            for job in waits:
                job.undo, job.said, job.state = False, UNDONE, "undone"
        return bool(waits)

    def _waited(self, job: Job, grace: float) -> bool:
        """Wait until it can no longer be undone; return whether it was not."""
        if grace > 0:
            sleep(grace)
        with self._lock:
            job.undo = False
            return job.state == "running"

    def _run(self, job: Job, work: Callable[[], JobOutcome], grace: float) -> None:
        if not self._waited(job, grace):
            return
        try:
            text, state = work()
        except (HalflifeError, OSError) as error:
            text, state = str(error), "failed"
        except Exception as error:  # noqa: BLE001  (else it would run for ever)
            text, state = f"an error of the program: {describe(error)}", "failed"
        job.said = words.plain(text)
        self._ended()  # before the state, so that pages with it show the result, too
        job.state = state


def sync(config: Config, name: str) -> JobOutcome:
    """Do what ``halflife sync NAME`` does; return the outcome.

    A person waits for it, so it may spend all that the budget's window has left.
    """
    chosen, errand = once.sources_to_sync(config, [name]), Errand(draws=True)
    with bootstrap.writing(config) as store:
        reports = asyncio.run(once.sync(config, store, chosen, errand, Stop()))
    lines = [line for report in reports for line in _lines(report)]
    state = max(map(_state, reports), default="done", key=_GRAVITY)
    return JobOutcome("; ".join(lines), state)


_STATES = ("done", "partly", "failed")
_GRAVITY = _STATES.index


def _lines(report: Report) -> list[str]:
    """Return the result of a job, and its errors."""
    result = report.result.words(trouble=False) if report.result else ""
    failed = report.failed() or ([report.trouble] if report.trouble else [])
    failed = failed or (_troubles(report.result) if report.result else [])
    return list(dict.fromkeys(s for s in (report.note, result, *failed) if s))


def _troubles(result: Result) -> list[str]:
    """Return the errors of single items of sources that answered otherwise."""
    rows = result.row().get("results")
    rows = rows if isinstance(rows, list) else []
    return [f"{row['source']}: {row['trouble']}" for row in rows if row["trouble"]]


def _state(report: Report) -> str:
    """Return the state of a job by its report."""
    if report.trouble and not report.partly:
        return "failed"
    failed = any(report.failures.values()) or report.trouble or report.mishandled
    return "partly" if failed or report.held else "done"


def push(config: Config, urls: Sequence[str]) -> pushed_hints.PushOutcome:
    """Keep hints that pages have changed, until their sources' next turns."""
    with bootstrap.writing(config) as store:
        return pushed_hints.push(store, config, urls, bootstrap.clock())


def accept(config: Config, run: int) -> JobOutcome:
    """Accept the answer that a run held."""
    with bootstrap.writing(config) as store:
        return JobOutcome(held_answers.accept(config, store, run).words)


def keep(config: Config, run: int) -> JobOutcome:
    """Reject the answer that a run held; the copy stays."""
    with bootstrap.writing(config) as store:
        source = held_answers.keep(config, store, run).source
    return JobOutcome(f"{source}: the copy stays as it is")


def demo(folder: Path, pages: int = 120, days: int = 20) -> Path:
    """Keep a generated site over HTTP on loopback; return its settings.

    Sample lists, a form and a search are added without fetching, so that every page
    has content. The budget grows by the requests these would have spent.
    """
    from halflife.demo.run import Options, run  # noqa: PLC0415  (slow)

    options = Options(pages=pages, days=days, folder=folder)
    report = run(options, lambda _n, _what: None)
    return showcase.extend(report.config)
