"""What people can set going from a page: syncs, decisions, the demo."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np

from halflife.config import Config
from halflife.core.errors import HalflifeError
from halflife.engine import bootstrap, held_answers, once
from halflife.engine.signals import Stop
from halflife.kinds.pages import pushed_hints
from halflife.kinds.protocol import Errand, Report, Result
from halflife.readers.containment import describe
from halflife.web import showcase, words

REMEMBERED = 20


@dataclass(slots=True)
class Job:
    """Something that was set going.

    Attributes:
        id: Its number.
        what: What it does, in words.
        source: The source it is about; empty if none.
        state: ``running``, ``done``, ``partly`` or ``failed``.
        said: What came of it.

    """

    id: int
    what: str
    source: str = ""
    state: str = "running"
    said: str = ""


class Done(NamedTuple):
    """What came of something, in words, and whether it went well.

    ``state`` is ``done``, ``partly`` if something of it failed or waits, or ``failed``.
    """

    said: str
    state: str = "done"


class Deeds:
    """Does things in the background and remembers what came of them.

    Args:
        ended: Is called when something was done.

    """

    def __init__(self, ended: Callable[[], None]) -> None:
        self._jobs: deque[Job] = deque(maxlen=REMEMBERED)
        self._numbers = count(1)
        self._ended = ended

    @property
    def jobs(self) -> list[Job]:
        """What was set going, latest first, as it stands now."""
        return [replace(job) for job in list(self._jobs)[::-1]]

    def start(self, what: str, work: Callable[[], Done], source: str = "") -> Job:
        """Begin something; it goes on after this has returned."""
        job = Job(next(self._numbers), what, source)
        self._jobs.append(job)
        threading.Thread(target=self._do, args=(job, work), daemon=True).start()
        return job

    def _do(self, job: Job, work: Callable[[], Done]) -> None:
        try:
            said, state = work()
        except (HalflifeError, OSError) as error:
            said, state = str(error), "failed"
        except Exception as error:  # noqa: BLE001  (else it would run for ever)
            said, state = f"an error of the program: {describe(error)}", "failed"
        job.said = words.plain(said)
        self._ended()  # whoever sees that it is done sees what it did, too
        job.state = state


def sync(config: Config, name: str) -> Done:
    """Do what ``halflife sync NAME`` does; return what came of it.

    Somebody waits for it, so that it may draw on what the budget's window has left.
    """
    chosen = once.fetched(config, [name])
    with bootstrap.writing(config) as store:
        done = asyncio.run(once.sync(config, store, chosen, Errand(draws=True), Stop()))
    said = [line for report in done for line in _lines(report)]
    return Done("; ".join(said), max(map(_state, done), default="done", key=_GRAVITY))


_STATES = ("done", "partly", "failed")
_GRAVITY = _STATES.index


def _lines(report: Report) -> list[str]:
    """Return what came of a piece of work, and why what failed did so."""
    result = report.result.words(trouble=False) if report.result else ""
    failed = report.failed() or ([report.trouble] if report.trouble else [])
    failed = failed or (_troubles(report.result) if report.result else [])
    return list(dict.fromkeys(s for s in (report.note, result, *failed) if s))


def _troubles(result: Result) -> list[str]:
    """Return what went wrong with some items of sources that answered otherwise."""
    rows = result.row().get("results")
    some = rows if isinstance(rows, list) else []
    return [f"{one['source']}: {one['trouble']}" for one in some if one["trouble"]]


def _state(report: Report) -> str:
    """Say whether a piece of work went well."""
    if report.trouble and not report.partly:
        return "failed"
    failed = any(report.failures.values()) or report.trouble or report.mishandled
    return "partly" if failed or report.held else "done"


def push(config: Config, urls: Sequence[str]) -> pushed_hints.PushOutcome:
    """Keep hints that pages have changed, until their sources' next turns."""
    with bootstrap.writing(config) as store:
        return pushed_hints.push(store, config, urls, bootstrap.clock())


def accept(config: Config, run: int) -> Done:
    """Believe the answer that a run put aside."""
    with bootstrap.writing(config) as store:
        return Done(held_answers.accept(config, store, run).words)


def keep(config: Config, run: int) -> Done:
    """Keep the copy as it is: what a run put aside is not believed."""
    with bootstrap.writing(config) as store:
        source = held_answers.keep(config, store, run).source
    return Done(f"{source}: the copy stays as it is")


def demo(folder: Path, pages: int = 120, days: int = 20) -> Path:
    """Keep a made-up site over HTTP on loopback; return its settings.

    Lists, a form and a search that nobody has to be asked for are added, so that
    there is something on every page. The budget grows by what these spent.
    """
    from halflife.demo.run import Options, run  # noqa: PLC0415  (slow)

    options = Options(pages=pages, days=days, folder=folder)
    report = run(options, lambda _n, _what: None)
    text = report.config.read_text(encoding="utf-8")
    grown = options.daily + showcase.FURNISHED
    text = text.replace(f"requests = {options.daily}\n", f"requests = {grown}\n", 1)
    report.config.write_text(text + showcase.SETS, encoding="utf-8")
    config = Config.load(report.config)
    with bootstrap.writing(config) as store:
        showcase.furnish(config, store, bootstrap.clock(), np.random.default_rng(1))
    return report.config
