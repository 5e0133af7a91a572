"""Audits on recorded histories: whether they are right, and what they cost.

``python -m lab.auditing DATA [pages] [other-half] [listings] [forms] [summaries]
[checks]`` reads a folder with ``sites`` and ``objects`` and prints as JSON, of the
kinds that are named or of all: how often the quality found lies within its interval,
and how often forecasts came true, with their own bounds and with those widened by
trust; before and after everything begins to change faster.

Pages are replayed through the running system, with a share of its requests spent on
pages drawn at random; on recorded pages, and on pages that change at even odds, as is
believed of them. ``other-half`` are recorded pages of the half of the sites that rules
were made on. For the other kinds see ``auditing_sets``, ``auditing_texts`` and, for
checks of summaries, ``auditing_checks``.
"""

import asyncio
import json
import sys
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from halflife.config import Config
from halflife.core import lazy_scipy
from halflife.core.arrays import Floats, Ints
from halflife.engine import audit_report
from halflife.engine.loop import Loop
from halflife.kinds.pages import audit as pages_audit
from halflife.kinds.pages.runner import Keeper
from halflife.metrics.intervals import Interval
from halflife.models.audit import audited_share as share_found, share_bounds
from halflife.plugins import strategy
from halflife.recordings.histories import load
from halflife.recordings.pages import NAME, RecordedPageSource, Recording
from halflife.stores.forecasts import Forecasts
from halflife.stores.sqlite import SqliteStore
from lab import auditing_checks, auditing_sets, auditing_texts

PAGES, FEWEST = 800, 4  # pages, and changes of each in the year
DAYS, MIDDLE = 120.0, 60.0
TICKS = 4
BUDGET = 0.25  # looks a day, as a share of the pages
FASTER = 5.0
SHARES = (0.0, 0.02, 0.1)
USUAL = SHARES[1]
SEEDS = (1, 2)  # of each kind of world
TOLD = 1  # the half of the sites that is told of; rules were made on the other
BEGIN = 180.0  # the first day that is told of; what happens faster takes all days
PERIOD = 10.0  # days over which the quality found is compared with the truth
_SETTINGS = "[budget]\nrequests = 1000000000\n"


@dataclass
class Played:
    """What happened in a replay.

    Attributes:
        fresh: The true freshness before each turn.
        rows: Of each forecast: when it was made, of how many days later, mean, low,
            high, the truth, and the trust factor at the time.
        checks: Of each page drawn: when, with which chance, and whether it was right.
        alarms: When there were alarms.

    """

    fresh: list[float] = field(default_factory=list)
    rows: list[tuple[float, ...]] = field(default_factory=list)
    checks: Floats = field(default_factory=lambda: np.zeros((3, 0)))
    alarms: list[float] = field(default_factory=list)


class Hands:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def world(folder: Path, seed: int, *, half: int = TOLD, begin: float = 0) -> Recording:
    """Return some busy pages of one half of the recorded sites, from a day on."""
    whole = load(folder).recording
    rng = np.random.default_rng(seed)
    mine = np.array([half_of(site) == half for site in whole.group])
    busy = (np.diff(whole.start) >= FEWEST) & (whole.died > begin)
    rows = np.flatnonzero(busy & mine)
    chosen = rng.choice(rows, min(PAGES, rows.size), replace=False)
    return later(whole.take(np.sort(chosen)), begin)


def later(recording: Recording, begin: float) -> Recording:
    """Return what happened after a day, which is the first one now."""
    n, some = len(recording), recording.at > begin
    item = np.repeat(np.arange(n), np.diff(recording.start))[some]
    start = np.concatenate([[0], np.cumsum(np.bincount(item, minlength=n))])
    born, died = recording.born - begin, recording.died - begin
    at = recording.at[some] - begin
    return replace(recording, start=start, at=at, born=born, died=died)


def half_of(site: str) -> int:
    """Return which half of the sites one belongs to, by its name alone."""
    return zlib.crc32(site.encode()) % 2


def even(seed: int) -> Recording:
    """Return pages that change at even odds, as is believed of them."""
    rng = np.random.default_rng(seed)
    days = MIDDLE + FASTER * (DAYS - MIDDLE)
    counts = rng.poisson(rng.gamma(0.5, 0.06, PAGES) * days)
    start = np.concatenate([[0], np.cumsum(counts)])
    item = np.repeat(np.arange(PAGES), counts)
    at = rng.uniform(0.0, days, item.size)
    always = np.full(PAGES, np.inf)
    return Recording(
        keys=tuple(f"site{i % 40}/{i}" for i in range(PAGES)),
        start=start,
        at=at[np.lexsort((at, item))],
        weight=np.ones(PAGES),
        born=-always,
        died=always,
        group=tuple(f"site{i % 40}" for i in range(PAGES)),
    )


def hurried(recording: Recording) -> Recording:
    """Return a recording in which all after the middle happens faster."""

    def sooner(at: Floats) -> Floats:
        return np.where(at > MIDDLE, MIDDLE + (at - MIDDLE) / FASTER, at)

    died = sooner(recording.died)
    return replace(recording, at=sooner(recording.at), died=died)


def play(recording: Recording, share: float, seed: int) -> Played:
    """Replay a recording with so large a share of requests spent on audits."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        with SqliteStore.open(path, create=True) as store:
            return asyncio.run(_played(recording, share, seed, store))


async def _played(
    recording: Recording, share: float, seed: int, store: SqliteStore
) -> Played:
    store.add(recording.items())
    run, hands, out = store.begin((NAME,), 0.0, lease=np.inf), Hands(), Played()
    every = np.arange(len(recording))
    store.append(run, recording.observe(every, 0.0))
    evidence, rng = store.evidence((NAME,)), np.random.default_rng(seed)
    place = np.array([recording.row[key] for key in evidence.keys])
    chosen = strategy("champion", "harmonic")
    loop = Loop(RecordedPageSource(recording), store, chosen.belief(), chosen.policy)
    keeper = Keeper(Config.parse(_SETTINGS), store, run, loop, hands)
    requests = round(BUDGET * len(recording) / TICKS)
    until = partial(recording.next_change, place)
    for tick in range(1, round(DAYS * TICKS)):
        hands.now = tick / TICKS
        change = until(evidence.last_at)
        out.fresh.append(float(np.mean(change > hands.now)))
        trust = audit_report.factor(store, (NAME,), hands.now) if share else 1.0
        audits = pages_audit.part(share, requests, rng)
        spent = await pages_audit.audit(keeper, audits, rng)
        _note(out, store, change, hands.now, trust)
        await keeper.turn(requests - spent)
    _end(out, store)
    return out


def _note(
    out: Played, store: SqliteStore, change: Floats, now: float, trust: float
) -> None:
    """Note the forecasts made now, and what will come of them."""
    for one in Forecasts(store).made(NAME, now):
        truth = float(np.mean(change > one.due))
        out.rows.append((now, one.ahead, one.mean, one.low, one.high, truth, trust))


def _end(out: Played, store: SqliteStore) -> None:
    checks = Forecasts(store).checks(NAME)
    out.checks = np.array([checks.at, checks.chance, checks.fresh])
    found, moments = audit_report.drift_of(checks)
    out.alarms = moments[found.alarms].tolist()


def quality(runs: list[Played]) -> dict[str, Any]:
    """Return how often the quality found in a period had the truth in its interval."""
    inside, widths, off = [], [], []
    for run in runs:
        at = np.arange(1, len(run.fresh) + 1) / TICKS
        for begin in np.arange(0.0, DAYS, PERIOD):
            truth = float(np.mean(np.array(run.fresh)[_within(at, begin)]))
            _, chance, fresh = run.checks[:, _within(run.checks[0], begin)]
            found = share_found(fresh > 0, chance, np.ones(fresh.size))
            inside.append(found.low <= truth <= found.high)
            widths.append(found.high - found.low)
            off.append(found.mean - truth)
    return {
        "periods": len(inside),
        "truth_inside": _share(np.array(inside)),
        "mean_width": float(np.mean(widths)),
        "mean_error": float(np.mean(off)),
    }


def _within(at: Floats, begin: float) -> Ints:
    return np.flatnonzero((at >= begin) & (at < begin + PERIOD))


def _share(inside: Floats) -> dict[str, float]:
    n = float(inside.size)
    low, high = share_bounds(float(inside.sum()), n, 0.95) if n else (0.0, 1.0)
    mean = float(inside.mean()) if n else 1.0
    return Interval(mean, low, high)._asdict()


def covered(runs: list[Played], begin: float, end: float) -> list[dict[str, Any]]:
    """Return how often forecasts made between two moments came true, by horizon."""
    rows = np.array([row for run in runs for row in run.rows]).reshape(-1, 7)
    rows = rows[(rows[:, 0] >= begin) & (rows[:, 0] + rows[:, 1] < end)]
    told = []
    for ahead in np.unique(rows[:, 1]).tolist():
        _, _, mean, low, high, truth, trust = rows[rows[:, 1] == ahead].T
        row = {"ahead": ahead, "forecasts": truth.size}
        bounds = np.stack([mean, low, high, truth], axis=1)
        row |= {"trust": float(np.mean(trust)), **auditing_sets.worth(bounds, trust)}
        for level in auditing_sets.LEVELS:
            narrow = lazy_scipy.ndtri(0.5 + level / 2.0) / lazy_scipy.ndtri(0.975)
            for name, factor in (("stated", np.ones(1)), ("with_trust", trust)):
                below = mean - narrow * factor * (mean - low)
                above = mean + narrow * factor * (high - mean)
                inside = (below - 1e-12 <= truth) & (truth <= above + 1e-12)
                row[f"{name}_{level:g}"] = float(np.mean(inside))
        told.append(row)
    return told


def told(runs: list[Played], begin: float) -> dict[str, Any]:
    """Return what replays of one kind show, from a moment on."""
    after = [[at for at in run.alarms if at >= begin] for run in runs]
    return {
        "turns": sum(len(run.fresh) for run in runs),
        "checked": sum(run.checks.shape[1] for run in runs),
        "quality": quality(runs),
        "forecasts": covered(runs, begin, DAYS),
        "alarms": [run.alarms for run in runs],
        "days_to_first_alarm": [at[0] - begin if at else None for at in after],
    }


def report(folder: Path) -> dict[str, Any]:
    """Return all figures."""
    first, second = (world(folder, seed, begin=BEGIN) for seed in SEEDS)
    runs = {share: [play(first, share, SEEDS[0])] for share in SHARES}
    runs[USUAL].append(play(second, USUAL, SEEDS[1]))
    faster = [play(hurried(world(folder, seed)), USUAL, seed) for seed in SEEDS]
    true = [play(even(seed), USUAL, seed) for seed in SEEDS]
    wrong = [play(hurried(even(seed)), USUAL, seed) for seed in SEEDS]
    return {
        "pages": PAGES,
        "days": DAYS,
        "requests_a_day": BUDGET * PAGES,
        "freshness_by_share": {s: float(np.mean(runs[s][0].fresh)) for s in SHARES},
        "sites": {share: told(runs[share], DAYS / 4.0) for share in SHARES[1:]},
        "sites_faster": told(faster, MIDDLE),
        "even": told(true, DAYS / 4.0),
        "even_faster": told(wrong, MIDDLE),
    }


def other_half(folder: Path) -> dict[str, Any]:
    """Return the figures of recorded pages of the half that rules were made on."""
    worlds = [world(folder, seed, half=1 - TOLD, begin=BEGIN) for seed in SEEDS]
    runs = [play(one, USUAL, seed) for one, seed in zip(worlds, SEEDS, strict=True)]
    return told(runs, DAYS / 4.0)


KINDS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "pages": lambda folder: report(folder / "sites"),
    "other-half": lambda folder: other_half(folder / "sites"),
    "listings": lambda folder: auditing_sets.listings(folder / "objects"),
    "forms": lambda folder: auditing_sets.forms(folder / "objects"),
    "summaries": lambda folder: auditing_texts.summaries(folder / "sites"),
    "checks": lambda folder: auditing_checks.run(folder / "sites"),
}


if __name__ == "__main__":
    chosen = sys.argv[2:] or list(KINDS)
    told_of = {name: KINDS[name](Path(sys.argv[1])) for name in chosen}
    sys.stdout.write(json.dumps(told_of, indent=1) + "\n")
