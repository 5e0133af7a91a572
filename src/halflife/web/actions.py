"""What people can set going from a page: syncs, decisions, the demo."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import numpy as np

from halflife.config import Config, SourceConfig
from halflife.core import wording
from halflife.core.errors import HalflifeError, UsageError
from halflife.engine import bootstrap, faults, held_answers
from halflife.engine.wallet import spent
from halflife.kinds.form import runner as form_runner
from halflife.kinds.form.client import Former
from halflife.kinds.form.settings import FormConfig
from halflife.kinds.listing import runner as listing_runner
from halflife.kinds.listing.settings import ListingConfig
from halflife.kinds.pages import crawl as pages_crawl
from halflife.kinds.pages.runner import keeping
from halflife.kinds.pages.settings import PagesConfig
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
        state: ``running``, ``done`` or ``failed``.
        said: What came of it.

    """

    id: int
    what: str
    source: str = ""
    state: str = "running"
    said: str = ""


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

    def start(self, what: str, work: Callable[[], str], source: str = "") -> Job:
        """Begin something; it goes on after this has returned."""
        job = Job(next(self._numbers), what, source)
        self._jobs.append(job)
        threading.Thread(target=self._do, args=(job, work), daemon=True).start()
        return job

    def _do(self, job: Job, work: Callable[[], str]) -> None:
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
    (source,) = config.named([name])
    if source.kind == "search":
        raise UsageError(f"{name} is a search; run `halflife summarize {name}`")
    if isinstance(source, PagesConfig):
        return asyncio.run(_pages(config, source))
    return asyncio.run(_set(config, source))


async def _pages(config: Config, source: PagesConfig) -> str:
    with bootstrap.writing(config) as store:
        async with keeping(config, store, [source]) as keeper:
            now = keeper.clock()
            requests = keeper.allowance()
            if not requests and not keeper.wallet.room(now):
                raise spent(config.budget)
            if not requests:
                wait = words.span(keeper.wallet.next_income(now))
                return f"nothing to spend yet: the next request comes in in {wait}"
            if keeper.crawls:
                outcome = await pages_crawl.turns(keeper, requests)
            else:
                outcome = await keeper.turn(requests)
    total = outcome.total
    return (
        f"{wording.count(outcome.requests, 'request')}: "
        f"{wording.count(total('looks'), 'look')}, "
        f"{total('changed')} found a change, {total('failed')} failed, "
        f"{wording.count(outcome.found, 'new item')}"
    )


async def _set(config: Config, source: SourceConfig) -> str:
    with bootstrap.writing(config) as store:
        if isinstance(source, FormConfig):
            turned = await form_runner.sync(Former(config, store), source)
            faults.note(store, source.name, turned.trouble)
            return turned.words()
        looked = await listing_runner.sync(config, store, ListingConfig.of(source))
        faults.note(store, source.name, looked.trouble)
        return looked.words()


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
    text = report.config.read_text(encoding="utf-8")
    report.config.write_text(text + showcase.SETS, encoding="utf-8")
    config = Config.load(report.config)
    with bootstrap.writing(config) as store:
        showcase.furnish(config, store, bootstrap.clock(), np.random.default_rng(1))
    return report.config
