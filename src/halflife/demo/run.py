"""Sync the demo site with the real program, and see how its rivals would have done."""

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
from halflife.policies import Strategy
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
# What `halflife demo` kept. The site itself was made up, and is gone.
store = "halflife.db"

[budget]
requests = {budget}
per = "day"

[policy]
name = "champion"
objective = "{objective}"

[fetch]
delay = 0.0
concurrency = 1  # what is learned first decides: one by one, each run is the same

[[source]]
name = "demo"
maps = ["{url}/sitemap.xml"]
allow = ["127.0.0.0/8"]
noise = 0.0  # its pages show none
"""


@dataclass(frozen=True, slots=True)
class Options:
    """What the demo is to show.

    Attributes:
        pages: Pages that the site has at the beginning.
        days: How long the story lasts.
        budget: Requests a day, as a share of the pages.
        seed: Where all chance comes from.
        objective: What halflife keeps low.
        folder: Where the settings and the state are left; a new one if None.

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
    """What keeping the site came to.

    Attributes:
        freshness: Of the copy as it truly was, over time, after the warm-up.
        now: Of the copy as it truly is at the end.
        believed: The same as halflife believes it: mean, low, high.
        requests: Requests sent after the first crawl.
        born: Pages that were born during the story.
        found: How many of them halflife found.

    """

    freshness: float
    now: float
    believed: tuple[float, float, float]
    requests: int
    born: int
    found: int


@dataclass(frozen=True, slots=True)
class DemoReport:
    """All that the demo has to tell."""

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


class Hands:
    """A clock that stands still until it is moved."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        """Return the time, in days."""
        return self.now


def run(options: Options, advance: Callable[[int, str], None]) -> DemoReport:
    """Run the demo; ``advance`` hears of every sync and of every rival."""
    start = perf_counter()
    world, config, kept = keep_site(options, advance)
    replay = _replay(world, options)
    rivals = {}
    for name in ("champion", *RIVALS):
        rivals[name] = replay.score(_strategy(name, options), options.seed).freshness
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
    """Make the site up and keep it; return it, the settings and what came of it."""
    # It ends today, so that what it leaves behind is about as old as it says. It
    # begins at midnight: maps tell the day, and days must not depend on the hour.
    began = float(np.floor(bootstrap.clock())) - options.days
    world = build(options.seed, options.pages, options.days, began)
    folder = _folder(options.folder)
    with running(world) as site:
        config = _settle(folder, options, site)
        kept = asyncio.run(_keep(world, site, config, options, advance))
    return world, config, kept


def steps(options: Options) -> int:
    """Return how often ``advance`` will be called."""
    return options.days * TICKS + len(RIVALS) + 1


def _folder(wanted: Path | None) -> Path:
    if wanted is None:
        return Path(tempfile.mkdtemp(prefix="halflife-demo-"))
    if wanted.exists() and any(wanted.iterdir()):
        raise UsageError(f"{wanted} is not empty; name a new folder for the demo")
    wanted.mkdir(parents=True, exist_ok=True)
    return wanted


def _settle(folder: Path, options: Options, site: RunningSite) -> Config:
    """Write the settings, as anyone would, and read them back."""
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
    """Sync the site for all its days: a first crawl, then a budget at every tick."""
    copy = TrueCopy(world.founders, world.began, world.began + options.days)
    copy.score_from(world.began + WARM * options.days)
    hands = Hands(world.began)
    spent = 0
    with bootstrap.writing(config) as store:
        store.add(_items(world, site.url))
        site.set_clock(hands.now)
        await _sync(config, store, hands, Errand(everything=True))
        advance(1, "first crawl")
        for tick in range(1, options.days * TICKS):
            hands.now = world.began + tick / TICKS
            site.set_clock(hands.now)
            copy.pass_time(hands.now)
            grant = Errand(most=_grant(options, tick))
            spent += await _sync(config, store, hands, grant)
            copy.refresh(
                _fetched(world, store.evidence((SOURCE,)), site.url, hands.now)
            )
            advance(1, f"day {tick / TICKS:.0f}")
        copy.pass_time(world.began + options.days)
        return _weigh(world, config, store, copy, spent, site.url)


async def _sync(config: Config, store: TableStore, clock: Clock, errand: Errand) -> int:
    """Do what ``halflife sync`` does, as far as the errand goes; return its requests.

    The first crawl is free for everybody; afterwards each errand has its own limit.
    """
    free = config.model_copy(update={"budget": BudgetConfig(requests=10**9)})
    reports = await once.sync(free, store, free.source, errand, Stop(), clock)
    return sum(report.requests for report in reports)


def _fetched(world: DemoWorld, evidence: Evidence, base: str, now: float) -> Ints:
    """Return which of the first pages were fetched at this moment."""
    keys = (evidence.keys[row] for row in np.flatnonzero(evidence.last_at == now))
    row_of = world.founders.row
    found = (row_of.get(key.removeprefix(base)) for key in keys)
    return np.array([row for row in found if row is not None], dtype=np.intp)


def _grant(options: Options, tick: int) -> int:
    """Return the requests that have come in since the last tick."""
    whole = options.daily * tick // TICKS
    return whole - options.daily * (tick - 1) // TICKS


def _items(world: DemoWorld, base: str) -> list[Item]:
    host = base.partition("//")[2]
    founders = world.founders
    pairs = zip(founders.keys, founders.weight.tolist(), strict=True)
    return [Item(base + key, SOURCE, weight=w, group=host) for key, w in pairs]


def _weigh(
    world: DemoWorld,
    config: Config,
    store: TableStore,
    copy: TrueCopy,
    spent: int,
    base: str,
) -> DemoResult:
    """Hold what is believed at the end against the truth."""
    end = world.began + world.days
    evidence = store.evidence((SOURCE,))
    view = bootstrap.belief(config, store)(evidence, end, end)
    known = {base + key for key in world.founders.keys}
    ours = np.array([key in known for key in view.keys])
    view = replace(view, weight=np.where(ours, view.weight, 0.0))
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


def _strategy(name: str, options: Options) -> Strategy:
    return plugins.strategy(name, options.objective)
