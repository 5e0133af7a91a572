"""Rules for summaries on databases that no setting was chosen on.

``python -m lab.text_halves FOLDER`` splits the recorded databases of a folder into two
random halves, ten times over. On one half the settings of the rule with checks are
chosen, on the other half rules are scored at equal requests. It prints JSON: for each
rule and T a row with the half that it shows (``held out`` or ``chosen on``), the mean
divergence, by how much it is below that of refreshing in turn (``naive``) with a paired
95 % interval that resamples databases, the same of the median database, and what was
spent. ``settings`` says what was chosen how often, ``variants`` how many were tried.

``--telling rounded|noisy|capped|absent`` lets databases tell their counts so. With
``--fixed`` nothing is chosen, and the default is scored alone.
"""

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from halflife.bench import textcounts
from halflife.bench.textreplay import CHECK, TextTerms, TextWorld, replay
from halflife.bench.textscores import HISTORY, warm_up
from halflife.bench.textviews import EVERIES, starts, views
from halflife.core.arrays import Floats, Ints
from halflife.metrics.intervals import Ratio, cluster_interval, draws
from halflife.policies.texts import TextPolicy
from halflife.policies.texts.checked_index import CheckedIndex, checked
from halflife.policies.texts.drift_index import drift_index as index
from halflife.policies.texts.lessons import Lessons
from halflife.policies.texts.turns import naive
from halflife.recordings.textdb import load
from lab import count_reports

GRID = tuple(
    CheckedIndex(share=share, trust=trust, even=even)
    for share, trust, even in product((0.07, 0.1), (0.3, 0.5), (0.5, 0.7, 0.85))
)
# Shapes of the rule that were compared on all databases while it was made: how words
# are drawn and how many, what a check is blended with and how, who is checked, how the
# index is evened out. What did not help is in docs/papers/content-summaries.md.
TRIED = 88
CHOSEN_AT = (10.0, 20.0, 40.0)  # T at which settings are chosen
TELLINGS: Mapping[str, textcounts.CountReport | None] = {
    "exact": textcounts.exact,
    "rounded": count_reports.rounded(2),
    "noisy": count_reports.noisy(0.05),
    "capped": count_reports.capped(100.0),
    "absent": None,
}


class Kept(NamedTuple):
    """What a rule reached: divergence of each database, refreshes spent a week."""

    kl: Floats
    spent: float
    checks: float


@dataclass(frozen=True)
class Half:
    """Some databases of a recording, with the weeks in which replays begin."""

    world: TextWorld
    lessons: Lessons
    begins: Sequence[int]

    def kept(self, policy: TextPolicy, every: float) -> Kept:
        """Return what a rule reaches in replays that begin in different weeks."""
        found = [self._once(policy, every, start) for start in self.begins]
        kl, spent, checks = zip(*found, strict=True)
        return Kept(np.mean(kl, axis=0), float(np.mean(spent)), float(np.mean(checks)))

    def _once(self, policy: TextPolicy, every: float, start: int) -> Kept:
        lessons = self.lessons.since(start)
        lessons.__dict__["kl"] = self.lessons.kl  # it does not depend on the start
        rng = np.random.default_rng(start)
        run = replay(self.world, lessons, policy, TextTerms(every), rng)
        skip = 1 + warm_up(every, run.made.shape[1] - 1)
        week = lessons.begin + np.arange(run.made.shape[1])[skip:]
        row = np.arange(len(self.world.found))[:, None]
        kl = lessons.kl[row, run.made[:, skip:], week].mean(axis=1)
        checks = CHECK * run.checked[1:]
        spent = run.renewed[:, 1:].sum(axis=0) + checks
        return Kept(kl, float(spent.mean()), float(checks.mean()))


def half(whole: TextWorld, some: Ints, tau: float, *, few: bool = False) -> Half:
    """Return some of the databases; with ``few``, half of the replays."""
    found = tuple(whole.found[i] for i in some.tolist())
    counts = whole.counts
    if counts is not None:
        names = tuple(one.name for one in found)
        counts = replace(counts, sites=names)  # what was counted is shared
    world = TextWorld(found, whole.size[some], whole.gone[some], counts)
    begins = starts(found[0].week.size)
    return Half(world, Lessons(found, HISTORY, tau), begins[:: 2 if few else 1])


def loss(mine: Kept, plain: Kept) -> float:
    """Return what settings are chosen by: the mean, if the median is no worse.

    A median database that is worse than in turn counts three times.
    """
    middle = float(np.log(np.median(mine.kl / np.maximum(plain.kl, 1e-12))))
    mean = float(np.log(mine.kl.mean() / plain.kl.mean()))
    return mean + 3.0 * max(middle, -0.05)


def choose(some: Half) -> CheckedIndex:
    """Return the settings that do best on a half."""
    plain = {every: some.kept(naive, every) for every in CHOSEN_AT}
    losses = [
        sum(loss(some.kept(rule, every), plain[every]) for every in CHOSEN_AT)
        for rule in GRID
    ]
    return GRID[int(np.argmin(losses))]


class Tally:
    """Divergences of databases under each rule, from all splits."""

    def __init__(self, databases: int) -> None:
        self.databases = databases
        self.kl: dict[tuple[str, str, float], Floats] = defaultdict(self._none)
        self.plain: dict[tuple[str, str, float], Floats] = defaultdict(self._none)
        self.spent: dict[tuple[str, str, float], list[Floats]] = defaultdict(list)
        self.cuts: dict[tuple[str, str, float], list[Floats]] = defaultdict(list)

    def _none(self) -> Floats:
        return np.zeros(self.databases)

    def add(
        self, key: tuple[str, str, float], some: Ints, mine: Kept, plain: Kept
    ) -> None:
        """Add what a rule reached on some databases, beside refreshing in turn."""
        self.kl[key][some] += mine.kl
        self.plain[key][some] += plain.kl
        every = key[2] / some.size  # of a budget that renews all in T weeks
        self.spent[key].append(np.array([mine.spent, mine.checks]) * every)
        ratio = mine.kl / np.maximum(plain.kl, 1e-12)
        self.cuts[key].append(
            1.0 - np.array([mine.kl.mean() / plain.kl.mean(), np.median(ratio)])
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each rule and T."""
        rng = np.random.default_rng(0)
        counts = draws(self.databases, rng, resamples=1000)
        for (name, which, every), kl in self.kl.items():
            key = name, which, every
            plain, cuts = self.plain[key], np.array(self.cuts[key])
            left = cluster_interval(counts, Ratio(kl, plain))
            spent, checks = np.mean(self.spent[key], axis=0).tolist()
            yield {
                "policy": name,
                "half": which,
                "every": every,
                "kl_over_naive": float(kl.sum() / max(plain.sum(), 1e-300)),
                "kl_cut": {
                    "mean": 1 - left.mean, "low": 1 - left.high, "high": 1 - left.low
                },
                "kl_cut_splits": cuts[:, 0].round(3).tolist(),
                "median_cut": float(cuts[:, 1].mean()),
                "median_cut_splits": cuts[:, 1].round(3).tolist(),
                "no_worse": float((kl <= plain)[plain > 0].mean()),
                "spent": spent,
                "checks": checks,
            }  # fmt: skip


def study(
    whole: TextWorld,
    tau: float,
    everies: Sequence[float],
    splits: int,
    *,
    chooses: bool = True,
) -> dict[str, Any]:
    """Return what rules reach on halves that settings were not chosen on.

    Unless it ``chooses``, the default is scored alone, beside the index rule.
    """
    n = len(whole.found)
    tally, chosen = Tally(n), Counter[CheckedIndex]()
    for split in range(splits):
        order = np.random.default_rng(split).permutation(n)
        mine, other = np.sort(order[: n // 2]), np.sort(order[n // 2 :])
        best: dict[str, TextPolicy] = {}
        if chooses:
            settings = choose(half(whole, mine, tau, few=True))
            chosen[settings] += 1
            best["champion, chosen"] = settings
        fixed: dict[str, TextPolicy] = {"index": index, "champion": checked}
        halves = (("held out", other, fixed | best), ("chosen on", mine, best))
        for which, some, shown in halves:
            place = half(whole, some, tau)
            for every in everies if shown else ():
                plain = place.kept(naive, every)
                for name, rule in shown.items():
                    found = place.kept(rule, every)
                    tally.add((name, which, every), some, found, plain)
        sys.stderr.write(f"split {split + 1} of {splits}\n")
    return {
        "databases": n,
        "splits": splits,
        "variants": {"in the grid": len(GRID) * chooses, "while it was made": TRIED},
        "settings": [{"times": k, **_told(rule)} for rule, k in chosen.most_common()],
        "default": _told(checked),
        "results": list(tally.rows()),
    }


def _told(rule: CheckedIndex) -> dict[str, float]:
    names = ("share", "spread", "trust", "even")
    return {name: getattr(rule, name) for name in names}


def main(arguments: list[str] | None = None) -> None:
    """Print the study."""
    parser = argparse.ArgumentParser(prog="python -m lab.text_halves")
    parser.add_argument("folder", type=Path, help="weekly recordings of databases")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--sites", type=int, help="the first so many databases only")
    parser.add_argument("--recent", action="store_true", help="recent items alone")
    parser.add_argument("--telling", choices=TELLINGS, default="exact")
    parser.add_argument("--fixed", action="store_true", help="choose nothing")
    parser.add_argument(
        "--every",
        type=lambda words: [float(word) for word in words.split(",")],
        default=EVERIES,
        help="weeks between refreshes, on average",
    )
    asked = parser.parse_args(arguments)
    began = time.process_time()
    weekly = load(asked.folder)
    weekly = weekly.select(weekly.sites[: asked.sites]) if asked.sites else weekly
    view = views(weekly)[int(asked.recent)]
    whole = TextWorld.of(view.weekly, view.found)
    telling = TELLINGS[asked.telling]
    counts = None if telling is None or whole.counts is None else whole.counts
    if counts is not None and telling is not None:
        counts = textcounts.RecordedCounts(counts.weekly, counts.sites, telling)
    told = study(
        replace(whole, counts=counts), view.tau, asked.every, asked.splits,
        chooses=not asked.fixed,
    )  # fmt: skip
    head = {"folder": str(asked.folder), "view": view.name, "telling": asked.telling}
    seconds = round(time.process_time() - began, 1)
    json.dump({**head, "cpu_seconds": seconds, **told}, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
