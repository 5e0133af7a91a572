"""The Python API: a project's settings and state, and functions to query and sync.

    project = halflife.open_project("halflife.toml")
    for report in halflife.sync(project, most=50):
        print(report.group, report.requests)
    print(halflife.forecast(project, "jobs", days=[0, 1, 7]).mean)

Each function returns the answer of the CLI verb of the same name.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from halflife.config import WINDOW_DAYS, Config, SourceConfig
from halflife.core.change import Change
from halflife.core.errors import UsageError
from halflife.core.forecast import Forecast
from halflife.engine import bootstrap, change_feed, export_rows, once, stored_sources
from halflife.engine.appraisal import Appraiser
from halflife.engine.export_rows import ExportSelection
from halflife.engine.quality_forecast import quality, quality_now
from halflife.engine.signals import Stop
from halflife.engine.threads import call_apart, complete
from halflife.engine.wallet import Wallet
from halflife.engine.what_if import WhatIf, compare_budgets
from halflife.kinds.protocol import Description, Errand, Report, Step
from halflife.kinds.registry import kind_of


@dataclass(frozen=True, slots=True)
class Project:
    """A project: its settings, and the state file that they name.

    Attributes:
        config: The settings.

    """

    config: Config

    @property
    def sources(self) -> list[str]:
        """The names of the sources."""
        return [source.name for source in self.config.source]

    def source(self, name: str) -> SourceConfig:
        """Return the settings of a source; raise ``UsageError`` if there is none."""
        (source,) = self.config.named([name])
        return source


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """How good the copy of a source is.

    Attributes:
        source: Its name.
        kind: Its kind.
        quality: The quality now, with 95 % bounds; None if it is not known.
        description: Its size, age and other facts from its kind.

    """

    source: str
    kind: str
    quality: Forecast | None
    description: Description


def open_project(path: str | Path | None = None) -> Project:
    """Read the settings; without ``path``, those that the CLI verbs would find.

    ``path`` is a ``halflife.toml`` or the folder that holds one.
    """
    given = None if path is None else Path(path)
    if given is not None and given.is_dir():
        given /= "halflife.toml"
    return Project(Config.load(Config.find(given)))


def status(project: Project, sources: Sequence[str] = ()) -> list[SourceStatus]:
    """Return the quality of the copy of each source now; of all, if none is named.

    Imported sources are included: the state file has them, the settings do not.
    """
    config = project.config
    with bootstrap.reading(config) as store:
        appraiser = Appraiser(config, store, bootstrap.clock())
        chosen = stored_sources.named(config, store, sources)
        return [_status(appraiser, source) for source in chosen]


def _status(appraiser: Appraiser, source: SourceConfig) -> SourceStatus:
    description = kind_of(source).describe(appraiser.state(source))
    current = None if description.why else quality_now(appraiser, source)
    return SourceStatus(source.name, source.kind, current, description)


def forecast(
    project: Project, source: str, days: Sequence[float] = (0.0, 1.0, 7.0)
) -> Forecast | None:
    """Return the quality of a source in ``days`` from now if nothing more is fetched.

    Its bounds hold with 95 % confidence. None if too little is known.
    """
    ahead = np.asarray(days, np.float64)
    if ahead.ndim != 1 or not ahead.size or not (ahead >= 0).all():
        raise UsageError("days must be numbers from 0 on, one at least")
    config = project.config
    with bootstrap.reading(config) as store:
        (chosen,) = stored_sources.named(config, store, [source])
        appraiser = Appraiser(config, store, bootstrap.clock())
        return quality(appraiser, chosen, None, looks=False, ahead=ahead)


def plan(project: Project, source: str, most: int | None = None) -> list[Step]:
    """Return the next fetches of a source, best first; nothing is sent.

    ``most`` is the number of requests to plan; by default what the budget has left.
    """
    chosen, config, now = project.source(source), project.config, bootstrap.clock()
    with bootstrap.reading(config) as store:
        room = Wallet(store, config.budget).room(now) if most is None else most
        state = Appraiser(config, store, now).state(chosen)
        return kind_of(chosen).steps(state, room)


def what_if(
    project: Project, requests: float, per: str = "day", sources: Sequence[str] = ()
) -> WhatIf:
    """Return the quality that another budget would buy, beside the present one."""
    if per not in WINDOW_DAYS:
        raise UsageError(f"per must be one of {', '.join(WINDOW_DAYS)}, got {per!r}")
    if not 0 < requests < np.inf:
        raise UsageError(f"requests must be a number above 0, got {requests}")
    config, pace = project.config, requests / WINDOW_DAYS[per]
    with bootstrap.reading(config) as store:
        chosen = config.named(sources)
        return compare_budgets(config, store, chosen, pace, bootstrap.clock())


def sync(
    project: Project,
    sources: Sequence[str] = (),
    *,
    most: int | None = None,
    everything: bool = False,
) -> list[Report]:
    """Fetch sources once, as far as the budget and ``most`` go.

    All sources if none is named. It blocks: a notebook waits for it; in a coroutine
    that must not wait, call ``await asyncio.to_thread(halflife.sync, project)``.
    """
    config = project.config
    chosen = once.sources_to_sync(config, sources)

    async def work() -> list[Report]:
        with bootstrap.writing(config) as store:
            errand = Errand(most, everything)
            return await once.sync(config, store, chosen, errand, Stop())

    return complete(work)


def changes(
    project: Project, since: int = 0, sources: Sequence[str] = ()
) -> Iterator[Change]:
    """Return the changes of pages and records after a number, oldest first.

    Each change has a number (``seq``). Keep the last one and pass it as ``since`` the
    next time: no change is missed and none comes twice. 0 returns all that are kept.
    Raise ``UsageError`` if some of the changes asked for are no longer kept.
    """
    if since < 0:
        raise UsageError(f"since must be a number from 0 on, got {since}")
    names = [source.name for source in project.config.named(sources)] if sources else []
    with bootstrap.reading(project.config) as store:
        for change in change_feed.read(store, since, names):
            yield replace(change, fields=dict(change.fields))


def records(
    project: Project, source: str, at: float | None = None
) -> Iterator[dict[str, Any]]:
    """Return the records or pages held of a source, one by one.

    ``at`` is a time in days since the epoch: the copy is returned as of then.
    """
    name = project.source(source).name
    with bootstrap.reading(project.config) as store:
        yield from export_rows.rows(store, ExportSelection(name, at))


def replay_store(
    project: Project,
    policies: Sequence[str],
    budgets: Sequence[float] = (),
    *,
    sources: Sequence[str] = (),
    days: float | None = None,
) -> list[dict[str, Any]]:
    """Score policies on the observations of the project, under equal budgets.

    ``budgets`` are requests a day; by default that of the settings. Return a row for
    each policy and budget: the mean quality, and the paired difference from the first
    policy with its 95 % interval.
    """
    from halflife.replay.contest import ContestRules, contest  # noqa: PLC0415  (slow)
    from halflife.replay.own_store import recorded_sources  # noqa: PLC0415

    config = project.config
    with bootstrap.reading(config) as store:
        recordings = recorded_sources(config, store, sources)
    pace = list(budgets) or [config.budget.pace]
    rules = ContestRules(list(policies), pace, days=days)
    return call_apart(lambda: contest(recordings, rules))
