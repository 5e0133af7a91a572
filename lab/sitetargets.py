"""Targets of sites kept by the service's rule, without the service around it.

``python -m lab.sitetargets DIR [--begin DAY] [--seed N] [--draws N]`` plays the sites
of worlds of ``lab.mixedtargets`` (the same pages, weeks, target, turns and days), and
prints a JSON line for each: the share of moments at which the target was kept, in each
draw, the requests a day, those of hindsight's best single interval, and the days missed
by the rule's own count and truly. ``--begin`` starts the weeks so many days after the
histories begin, so that other sites and weeks can be played.

Belief, rule and policy are the service's own; HTTP, store, gate and ledger are left
out, and all requests of a turn are answered at once. So a site takes a quarter of a
minute instead of several, and the mean of some draws varies less than a single run.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.random import default_rng

from halflife.belief.hints import HintedBelief
from halflife.belief.neighbours import Neighbours
from halflife.core import lazy_scipy
from halflife.core.arrays import Floats, Ints
from halflife.core.budget import Budget
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observations
from halflife.core.view import View
from halflife.kinds.pages.random_share import HalfRandomPolicy
from halflife.kinds.pages.round_policy import RoundPolicy
from halflife.kinds.pages.state import PagesState
from halflife.kinds.pages.target import PageSnapshot
from halflife.market.target_rule import Goal
from halflife.market.target_status import TURN, TargetMemory
from halflife.policies.champion import champion_of
from halflife.recordings import histories
from halflife.recordings.pages import Recording
from lab.mixedkept import AUDIT
from lab.mixedparts import Site
from lab.mixedtargets import DAYS, EVERY, KEPT, LEVELS, best_interval
from lab.mixedworld import BEGAN, TRAIN, Worlds

WHOLE = 360.0  # days of the histories
JUDGED = 3  # moments of a turn at which the copy is judged
LEVEL = LEVELS["freshness"]


class SiteWorlds(Worlds):
    """The sites of worlds alone, in weeks of one's choice.

    Args:
        folder: With ``sites``.
        begin: Days after the histories begin; None: the last weeks, as in the worlds.

    """

    def __init__(self, folder: Path, begin: float | None = None) -> None:
        self.days = TRAIN + DAYS
        days = self.days + 1.0
        loaded = histories.load(folder / "sites", days=days if begin is None else WHOLE)
        whole = loaded.recording
        self.recording = whole if begin is None else window(whole, begin, days)

    def sites(self, seed: int) -> list[Site]:
        """Return the sites of a world."""
        return self._sites(default_rng(seed))


def window(recording: Recording, begin: float, days: float) -> Recording:
    """Return some days of a recording, which begin at 0."""
    moved = recording.moved(-begin)
    item = np.repeat(np.arange(len(moved)), np.diff(moved.start))
    inside = (moved.at > 0.0) & (moved.at <= days)
    start = np.zeros(len(moved) + 1, dtype=np.intp)
    np.cumsum(np.bincount(item[inside], minlength=len(moved)), out=start[1:])
    return replace(moved, start=start, at=moved.at[inside])


class Outcome(NamedTuple):
    """What came of a site: by day whether it was missed, and requests."""

    missed: Floats
    requests: Floats
    believed: float


class SiteRun:
    """Plays the turns of a service that keeps the target of one site.

    Args:
        site: The site.
        seed: Of all that is left to chance.

    """

    def __init__(self, site: Site, seed: int) -> None:
        self.rng, self.recording = default_rng(seed), site.recording
        self.pages = np.arange(len(site.recording))
        self.keys = tuple(f"http://127.0.0.1:8000/{i}" for i in self.pages.tolist())
        items = (Item(key, group="127.0.0.1:8000") for key in self.keys)
        self.evidence, self.belief = Evidence.of(items), _belief()
        self.seen, self.memory = np.full(self.pages.size, -1.0), TargetMemory()
        mixed = HalfRandomPolicy(champion_of("harmonic").policy)
        self.policy = RoundPolicy(mixed, lambda: self.memory.began)
        days = int(TRAIN + DAYS)
        self.requests, self.owed = np.zeros(days + 1), 0.0
        self.judged = np.zeros((2, days))

    def play(self) -> Outcome:
        """Play all days."""
        now, end = BEGAN + self.rng.random() * TURN, BEGAN + TRAIN + DAYS
        self._fetch(self.pages, now)
        while now < end:
            self._turn(now)
            for part in (np.arange(JUDGED) + 0.5) / JUDGED:
                self._judge(now + part * TURN - BEGAN)
            now += TURN
        below, moments = self.judged
        missed = below / np.maximum(moments, 1.0)
        return Outcome(missed, self.requests[:-1], self.memory.past.missed)

    def _turn(self, now: float) -> None:
        """Fetch what the rule asks for; a share of it audits random pages."""
        # What the worker learns of busy times does not reach the rule while the service
        # runs: it is stored at the end of the run.
        pages = PageSnapshot(self._state(_belief()(self.evidence, now, now)), _GOAL)
        status, self.memory = pages.stand(self.memory)
        left = int(status.requests)
        self.owed += AUDIT * left
        audits = min(int(self.owed), left)
        self.owed -= audits
        self._fetch(self.rng.permutation(self.pages)[:audits], now)
        left -= audits
        while left > 0:
            view = self.belief(self.evidence, now, now)
            plan = self.policy(view, Budget(left), self.rng)
            if not len(plan):
                break
            self._fetch(np.asarray(plan.rows), now)
            left -= len(plan)

    def _state(self, view: View) -> PagesState:
        """Return what the rule reads of the state of a source."""
        reading = SimpleNamespace(shortest=lambda *_: 0.0)
        source = SimpleNamespace(name="site")
        seen = SimpleNamespace(
            pages=(view, self.pages), now=view.now, source=source, reading=reading
        )
        return cast("PagesState", seen)

    def _fetch(self, rows: Ints, now: float) -> None:
        """Fetch pages; the version of each is its content."""
        if rows.size == 0:
            return
        at = now - BEGAN
        version = self.recording.states(rows, at)
        looks = Observations(
            tuple(self.keys[i] for i in rows.tolist()),
            np.full(rows.size, now),
            self.recording.seen(rows, at),
            tuple(map(str, version.tolist())),
        )
        self.evidence.take(self.evidence.weigh(looks))
        self.seen[rows] = at
        self.requests[min(int(at), self.requests.size - 1)] += rows.size

    def _judge(self, at: float) -> None:
        """Count a moment, and whether it is below the level."""
        if at >= self.judged.shape[1]:
            return
        then = self.recording.states(self.pages, self.seen)
        fresh = np.mean(then == self.recording.states(self.pages, at))
        self.judged[:, int(at)] += float(fresh) < LEVEL - 1e-9, 1.0


_GOAL = Goal(LEVEL, KEPT)


def _belief() -> HintedBelief:
    return HintedBelief(Neighbours(), announced=False)


def row(site: Site, draws: int) -> dict[str, Any]:
    """Return how the target of a site was kept in some draws, and at which cost."""
    found = [SiteRun(site, seed).play() for seed in range(draws)]
    begin = int(TRAIN)
    kept = [1.0 - float(one.missed[begin:].mean()) for one in found]
    moments = np.arange(TRAIN, TRAIN + DAYS, EVERY)
    return {
        "site": site.recording.group[0],
        "kept": float(np.mean(kept)),
        "kept_in_draws": [round(one, 4) for one in kept],
        "requests_a_day": float(np.mean([one.requests[begin:] for one in found])),
        **best_interval(site, LEVEL, moments),
        "days_missed_believed": float(np.mean([one.believed for one in found])),
        "days_missed": float(np.mean([one.missed.sum() for one in found])),
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Print a line for each site."""
    parser = argparse.ArgumentParser(prog="python -m lab.sitetargets")
    parser.add_argument("folder", type=Path, help="with sites/")
    parser.add_argument("--begin", type=float, help="days after histories begin")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--draws", type=int, default=2)
    asked = parser.parse_args(argv)
    lazy_scipy.preload()
    worlds = SiteWorlds(asked.folder, asked.begin)
    for seed in asked.seed or [0]:
        for site in worlds.sites(seed):
            found = {"begin": asked.begin, "seed": seed, **row(site, asked.draws)}
            sys.stdout.write(json.dumps(found) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
