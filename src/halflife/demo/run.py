"""Sync the demo site with the real program, and replay rival policies on it."""

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import numpy as np

from halflife import plugins
from halflife.allocation import Objective, blind_bound
from halflife.config import BudgetConfig, Config
from halflife.core.arrays import Ints
from halflife.core.errors import UsageError
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.demo.process import RunningSite, running
from halflife.demo.world import DemoWorld, build
from halflife.engine import bootstrap, once
from halflife.engine.loop import Clock
from halflife.engine.signals import Stop
from halflife.kinds.protocol import Errand
from halflife.models.quality import freshness_forecast
from halflife.replay.pages import Replay
from halflife.replay.scorer import TrueCopy
from halflife.stores.table_store import TableStore

SOURCE = "demo"
TICKS = 4  # syncs a day
WARM = 0.25  # share of the time that is not scored
RIVALS = (
    "harmonic",
    "uniform",
    "round-robin",
    "proportional",
    "nutch-adaptive",
    "stormcrawler-adaptive",
)
SETTINGS = """\
# Settings of `halflife demo`. Its site was simulated and does not exist any more.
store = "halflife.db"

[budget]
requests = {budget}
per = "day"

[policy]
name = "champion"
objective = "{objective}"

[fetch]
delay = 0.0
concurrency = 1  # one request at a time: runs are reproducible

[[source]]
name = "demo"
maps = ["{url}/sitemap.xml"]
allow = ["127.0.0.0/8"]
noise = 0.0  # its pages have none
"""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the demo.

    Attributes:
        pages: Pages of the site at the start.
        days: Simulated days.
        budget: Requests a day, as a share of the pages.
        seed: The seed of all random numbers.
        objective: The loss to keep low.
        folder: The folder for settings and state; a new one if None.

    """

    pages: int = 300
    days: int = 40
    budget: float = 0.2
    seed: int = 1
    objective: Objective = "freshness"
    folder: Path | None = None

    @property
    def daily(self) -> int:
        """Requests a day."""
        return max(1, round(self.budget * self.pages))


@dataclass(frozen=True, slots=True)
class DemoResult:
    """The result of keeping the site.

    Attributes:
        freshness: True freshness of the copy, averaged over time after the warm-up.
        now: True freshness of the copy at the end.
        believed: The forecast of it: mean, low, high.
        requests: Requests sent after the first crawl.
        born: Pages created during the simulation.
        found: How many of them halflife discovered.

    """

    freshness: float
    now: float
    believed: tuple[float, float, float]
    requests: int
    born: int
    found: int


@dataclass(frozen=True, slots=True)
class DemoReport:
    """All results of the demo."""

    options: Options
    kept: DemoResult
    rivals: dict[str, float]
    blind: float
    hindsight: float
    config: Path
    store: Path
    seconds: float

    @property
    def granted(self) -> int:
        """Requests that the budget granted in all."""
        return self.options.daily * self.options.days


class ManualClock:
    """A clock that is set by hand."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time, in days."""
        return self.now


def run(options: Options, advance: Callable[[int, str], None]) -> DemoReport:
    """Run the demo; ``advance`` is called after every sync and every replay."""
    start = perf_counter()
    world, config, kept = keep_site(options, advance)
    replay = _replay(world, options)
    rivals = {}
    for name in ("champion", *RIVALS):
        strategy = plugins.strategy(name, options.objective)
        rivals[name] = replay.score(strategy, options.seed).freshness
        advance(1, f"replaying {name}")
    founders = world.founders
    return DemoReport(
        options=options,
        kept=kept,
        rivals=rivals,
        blind=blind_bound(
            world.rate[: len(founders)], options.daily, weight=founders.weight
        ),
        hindsight=replay.hindsight(),
        config=config.path,
        store=config.store_path,
        seconds=perf_counter() - start,
    )


def keep_site(
    options: Options, advance: Callable[[int, str], None]
) -> tuple[DemoWorld, Config, DemoResult]:
    """Simulate the site and keep it; return the world, the settings and the result."""
    # The simulation ends today, so that the ages in its state are about right. It
    # starts at midnight because maps have only dates.
    began = float(np.floor(bootstrap.clock())) - options.days
    world = build(options.seed, options.pages, options.days, began)
    folder = _folder(options.folder)
    with running(world) as site:
        config = _write_settings(folder, options, site)
        kept = asyncio.run(_keep(world, site, config, options, advance))
    return world, config, kept


def steps(options: Options) -> int:
    """Return the number of calls of ``advance``."""
    return options.days * TICKS + len(RIVALS) + 1


def _folder(wanted: Path | None) -> Path:
    if wanted is None:
        return Path(tempfile.mkdtemp(prefix="halflife-demo-"))
    if wanted.exists() and any(wanted.iterdir()):
        raise UsageError(f"{wanted} is not empty; name a new folder for the demo")
    wanted.mkdir(parents=True, exist_ok=True)
    return wanted


def _write_settings(folder: Path, options: Options, site: RunningSite) -> Config:
    """Write the settings file and load it."""
    path = folder.absolute() / "halflife.toml"
    text = SETTINGS.format(
        budget=options.daily, objective=options.objective, url=site.url
    )
    path.write_text(text, encoding="utf-8")
    return Config.load(path)


async def _keep(
    world: DemoWorld,
    site: RunningSite,
    config: Config,
    options: Options,
    advance: Callable[[int, str], None],
) -> DemoResult:
    """Sync the site on all days: a first crawl, then a budget at every tick."""
    copy = TrueCopy(world.founders, world.began, world.began + options.days)
    copy.score_from(world.began + WARM * options.days)
    clock = ManualClock(world.began)
    spent = 0
    with bootstrap.writing(config) as store:
        store.add(_items(world, site.url))
        site.set_clock(clock.now)
        await _sync(config, store, clock, Errand(everything=True))
        advance(1, "first crawl")
        for tick in range(1, options.days * TICKS):
            clock.now = world.began + tick / TICKS
            site.set_clock(clock.now)
            copy.pass_time(clock.now)
            grant = Errand(most=_grant(options, tick))
            spent += await _sync(config, store, clock, grant)
            copy.refresh(
                _fetched(world, store.evidence((SOURCE,)), site.url, clock.now)
            )
            advance(1, f"day {tick / TICKS:.0f}")
        copy.pass_time(world.began + options.days)
        return _compare(world, config, store, copy, spent, site.url)


async def _sync(config: Config, store: TableStore, clock: Clock, errand: Errand) -> int:
    """Run ``halflife sync`` within the limit of the errand; return its requests.

    The budget is unlimited: the first crawl is free, and later errands have limits.
    """
    free = config.model_copy(update={"budget": BudgetConfig(requests=10**9)})
    reports = await once.sync(free, store, free.source, errand, Stop(), clock)
    return sum(report.requests for report in reports)


def _fetched(world: DemoWorld, evidence: Evidence, base: str, now: float) -> Ints:
    """Return which of the original pages were fetched at this moment."""
    keys = (evidence.keys[row] for row in np.flatnonzero(evidence.last_at == now))
    row_of = world.founders.row
    found = (row_of.get(key.removeprefix(base)) for key in keys)
    return np.array([row for row in found if row is not None], dtype=np.intp)


def _grant(options: Options, tick: int) -> int:
    """Return the income of requests since the last tick."""
    whole = options.daily * tick // TICKS
    return whole - options.daily * (tick - 1) // TICKS


def _items(world: DemoWorld, base: str) -> list[Item]:
    host = base.partition("//")[2]
    founders = world.founders
    pairs = zip(founders.keys, founders.weight.tolist(), strict=True)
    return [Item(base + key, SOURCE, weight=w, group=host) for key, w in pairs]


def _compare(
    world: DemoWorld,
    config: Config,
    store: TableStore,
    copy: TrueCopy,
    spent: int,
    base: str,
) -> DemoResult:
    """Compare the forecast at the end with the truth."""
    end = world.began + world.days
    evidence = store.evidence((SOURCE,))
    view = bootstrap.belief(config, store)(evidence, end, end)
    original_keys = {base + key for key in world.founders.keys}
    is_original = np.array([key in original_keys for key in view.keys])
    view = replace(view, weight=np.where(is_original, view.weight, 0.0))
    cast = freshness_forecast(view, np.zeros(1))
    born = world.paths[len(world.founders) :]
    return DemoResult(
        freshness=copy.mean_freshness,
        now=copy.freshness,
        believed=(float(cast.mean[0]), float(cast.low[0]), float(cast.high[0])),
        requests=spent,
        born=len(born),
        found=sum(evidence.row(base + path) is not None for path in born),
    )


def _replay(world: DemoWorld, options: Options) -> Replay:
    end = world.began + options.days
    return Replay(
        world.founders,
        float(options.daily),
        world.began,
        end,
        ticks=TICKS,
        warm=WARM * options.days,
    )
