"""A made-up state for pictures of the web page: every kind of source and problem.

Nothing is fetched; forecasts and their outcomes are made up, too.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.random import Generator

from halflife.config import Config
from halflife.engine import bootstrap
from halflife.stores.forecasts import ForecastCheck, IssuedForecast
from halflife.stores.table_store import TableStore
from halflife.web.showcase import (
    DAYS,
    NEWS,
    SETS,
    SHAPES,
    furnish,
    page_key,
    page_visits,
    write_pages,
)

PAGES = f"""\
[budget]
requests = 300
per = "day"
[[source]]
name = "handbook"
weight = 2.0
target = "freshness >= 0.6"
pages = ["https://handbook.example/"]
{NEWS}[[source]]
name = "wiki"
pages = ["https://wiki.example/"]
[[source]]
name = "gazette"
pages = ["https://gazette.example/"]
target = "freshness >= 0.8"
[[source]]
name = "archive"
pages = ["https://archive.example/2024", "https://archive.example/2025"]
"""


def build(folder: Path, now: float, seed: int = 1, pages: str = PAGES) -> Path:
    """Write settings and a state into a folder; return the settings file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "halflife.toml"
    path.write_text(pages + SETS, encoding="utf-8")
    config = Config.load(path)
    rng = np.random.default_rng(seed)
    with bootstrap.writing(config) as store:
        visits = [visit for name in SHAPES for visit in page_visits(name, now, rng)]
        furnish(config, store, now, rng)
        write_pages(store, visits, now)
        _judge(store, now, rng)
    return path


def _judge(store: TableStore, now: float, rng: Generator) -> None:
    """Write forecasts and their outcomes, most of them right."""
    forecasts = store.forecasts
    issued = [f for name in SHAPES for f in _issued(name, now, rng)]
    forecasts.issue(issued)
    scored = []
    for name in SHAPES:
        for cast in forecasts.waiting(name):
            spread = (cast.high - cast.low) / 4.2
            found = float(np.clip(rng.normal(cast.mean, spread), 0.0, 1.0))
            scored.append(
                replace(cast, told=cast.due, found=found, looks=12.0, draw=0.5)
            )
    for name in SHAPES:
        forecasts.note(name, _checks(name, now, rng))
    forecasts.settle(scored[: int(0.9 * len(scored))])


def _checks(name: str, now: float, rng: Generator) -> list[ForecastCheck]:
    """Return checks of pages drawn at random that agree with the estimates."""
    count = SHAPES[name][0]
    believed = rng.uniform(0.3, 1.0, 60)
    fresh = rng.uniform(size=60) < believed
    return [
        ForecastCheck(
            page_key(name, k % count), now - 20.0 + k // 3, 0.02, 1.0,
            float(believed[k]), bool(fresh[k]),
        )
        for k in range(60)
    ]  # fmt: skip


def _issued(name: str, now: float, rng: Generator) -> Sequence[IssuedForecast]:
    means = rng.uniform(0.4, 0.95, DAYS)
    return [
        IssuedForecast(
            name, "freshness", now - DAYS + day, 0.0, float(mean),
            float(max(mean - 0.1, 0.0)), float(min(mean + 0.08, 1.0)),
        )
        for day, mean in enumerate(means)
    ]  # fmt: skip
