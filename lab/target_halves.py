"""What targets cost on sources that no setting was chosen on.

``python -m lab.target_halves DIR`` takes every source of a folder that has ``objects``
and ``sites`` (``lab.oneworld``: pages of sites, tables, summaries of databases), lets
each keep its target for 120 days after 60 days of learning (``lab.onetargets``: the
rule is the service's own), and prints JSON. The sources are dealt into random halves
ten times; on one half the settings are chosen that keep most targets, and of these the
cheapest; on the other half they are scored.

- ``results``: by group of sources (all, many units, one unit, calm ones of one unit)
  and half (``held out``, ``chosen on``, ``all``: the shipped settings, nothing chosen):
  reachable targets, the share of them that was kept at 95 % of days, requests over
  those of hindsight's best single interval with a paired 95 % interval that resamples
  sources, and the same of the interval that the days of learning name.
- ``sources``: every source under the shipped settings.
- ``settings``: what was chosen how often, and what each keeps and spends on all
  sources. ``variants``: how many were tried.

A target is reachable if fetching everything each day keeps it. A source of one unit is
calm if hindsight's interval is a week or longer.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.random import default_rng

from halflife.market import target_rule
from halflife.metrics.intervals import Ratio, cluster_interval, draws
from lab import onetargets
from lab.oneworld import Part, Worlds
from lab.page_halves import halves

Row: TypeAlias = dict[str, Any]


class Setting(NamedTuple):
    """Constants of the rule that are chosen."""

    AIM: float
    BOLD: float
    MISSED: float = target_rule.MISSED
    BURST: float = target_rule.BURST


SHIPPED = Setting(target_rule.AIM, target_rule.BOLD)
GRID = (
    Setting(0.8, 0.3, 0.4, 1.0),
    Setting(0.8, 0.5, 0.4, 1.0),
    Setting(0.8, 0.5, 0.6, 1.0),
    Setting(0.8, 0.7, 0.6, 1.0),
    Setting(0.8, 0.3, 0.4, 0.25),
    Setting(0.8, 0.5, 0.4, 0.25),
    Setting(0.9, 0.5, 0.6, 1.0),
)
TRIED = 81  # while the rule was made: docs/decisions/misses-are-summed.md
CALM = 7.0  # days: the interval that keeps a calm source
GROUPS: dict[str, Callable[[Row], bool]] = {
    "all": lambda row: row["units"] > 0,
    "many units": lambda row: row["units"] > 1,
    "one unit": lambda row: row["units"] == 1,
    "one unit, calm": lambda row: row["units"] == 1 and row["interval"] >= CALM,
}


@contextmanager
def under(setting: Setting) -> Iterator[None]:
    """Let the rule go by other constants in a block."""
    before = {name: getattr(target_rule, name) for name in setting._fields}
    try:
        for name, value in setting._asdict().items():
            setattr(target_rule, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(target_rule, name, value)


def play(part: Part, grid: Sequence[Setting]) -> Row:
    """Return what a target costs by intervals, and under each setting."""
    row = onetargets.rivals(part)
    row["ours"] = {}
    for setting in dict.fromkeys((SHIPPED, *grid)) if row["reachable"] else (SHIPPED,):
        if len(part) == 1 and (same := _alike(setting, row["ours"])) is not None:
            row["ours"][setting] = same
            continue
        with under(setting):
            spent, quality = onetargets.ours(part, onetargets.LEVELS[part.measure])
        kept = float(np.mean(quality >= onetargets.LEVELS[part.measure]))
        row["ours"][setting] = kept, spent
    return row


def _alike(
    setting: Setting, known: Mapping[Setting, tuple[float, float]]
) -> tuple[float, float] | None:
    """Return what was found with all else the same: one unit knows no ``BOLD``."""
    mine = setting._replace(BOLD=0.0)
    same = (one for one in known if one._replace(BOLD=0.0) == mine)
    return next((known[one] for one in same), None)


def choose(rows: Sequence[Row], grid: Sequence[Setting]) -> Setting:
    """Return the settings that keep most targets, and of these the cheapest."""

    def key(setting: Setting) -> tuple[int, float]:
        found = [row["ours"][setting] for row in rows]
        kept = sum(k >= onetargets.KEPT for k, _ in found)
        return -kept, sum(spent for _, spent in found)

    return min(grid, key=key)


class Scores(NamedTuple):
    """What was kept and spent, a row a source and split."""

    row: list[Row]
    kept: list[float]
    spent: list[float]

    def add(self, rows: Sequence[Row], setting: Setting) -> None:
        """Add what sources did under a setting."""
        for row in rows:
            kept, spent = row["ours"][setting]
            self.row.append(row)
            self.kept.append(kept)
            self.spent.append(spent)

    def told(self, half: str) -> Iterator[Row]:
        """Yield a row for each group of sources."""
        for name, belongs in GROUPS.items():
            some = [i for i, row in enumerate(self.row) if belongs(row)]
            if some:
                yield {"sources": name, "half": half, **self._pooled(some)}

    def _pooled(self, some: Sequence[int]) -> Row:
        rows = [self.row[i] for i in some]
        kept = np.array([self.kept[i] for i in some])
        spent = np.array([self.spent[i] for i in some])
        other = np.array([row["interval_requests_a_day"] for row in rows])
        learned = np.array([row["learned_requests_a_day"] for row in rows])
        names = sorted({row["source"] for row in rows})
        place = np.array([names.index(row["source"]) for row in rows])
        counts = draws(len(names), default_rng(0), resamples=1000)
        sums = [
            np.bincount(place, x, len(names)).astype(np.float64)
            for x in (spent, other, learned)
        ]
        ratio = cluster_interval(counts, Ratio(sums[0], sums[1]))
        return {
            "targets": len(rows),
            "kept": float(np.mean(kept >= onetargets.KEPT)),
            "kept_least": float(kept.min()),
            "kept_days": float(kept.mean()),
            "over_hindsight": ratio._asdict(),
            "requests_a_day": float(spent.mean()),
            "hindsight_requests_a_day": float(other.mean()),
            "cheaper": float(np.mean(spent <= other)),
            "learned_kept": float(
                np.mean([row["learned_kept"] >= onetargets.KEPT for row in rows])
            ),
            "learned_over_hindsight": float(learned.sum() / max(other.sum(), 1e-9)),
        }


def study(rows: Sequence[Row], grid: Sequence[Setting], splits: int) -> Row:
    """Return what the rule reaches on halves that settings were not chosen on."""
    some = [row for row in rows if row["reachable"]]
    scores = {half: Scores([], [], []) for half in ("held out", "chosen on", "all")}
    scores["all"].add(some, SHIPPED)
    chosen = Counter[Setting]()
    both = list(halves([row["source"] for row in some], splits if grid else 0))
    for one in both:
        (other,) = (h for h in both if h.split == one.split and h.half != one.half)
        mine = [row for row in some if row["source"] in one.sites]
        rest = [row for row in some if row["source"] in other.sites]
        setting = choose(mine, grid)
        chosen[setting] += 1
        scores["chosen on"].add(mine, setting)
        scores["held out"].add(rest, setting)
    told = [row for half, each in scores.items() for row in each.told(half)]
    return {
        "targets": len(rows),
        "reachable": len(some),
        "splits": splits if grid else 0,
        "variants": {"in the grid": len(grid), "while it was made": TRIED},
        "settings": [
            {**s._asdict(), "times": chosen[s], **_total(some, s)} for s in grid
        ],
        "default": SHIPPED._asdict(),
        "results": told,
        "sources": [_shown(row) for row in rows],
    }


def _total(rows: Sequence[Row], setting: Setting) -> Row:
    """Return what a setting keeps and spends on all sources."""
    found = [row["ours"][setting] for row in rows]
    kept = sum(share >= onetargets.KEPT for share, _ in found)
    return {"kept": kept, "requests_a_day": sum(spent for _, spent in found)}


def _shown(row: Row) -> Row:
    kept, spent = row["ours"][SHIPPED]
    rest = {name: value for name, value in row.items() if name != "ours"}
    return {**rest, "kept": kept, "requests_a_day": spent}


def main(argv: Sequence[str] | None = None) -> None:
    """Print the study."""
    parser = argparse.ArgumentParser(prog="python -m lab.target_halves")
    parser.add_argument("folder", type=Path, help="with objects/ and sites/")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--every", type=int, default=1, help="every so manieth source")
    parser.add_argument("--first", type=int, default=0, help="from this one on")
    parser.add_argument("--pages", type=int, default=100, help="of a site, at most")
    parser.add_argument("--fixed", action="store_true", help="choose nothing")
    asked = parser.parse_args(argv)
    began = time.process_time()
    worlds = Worlds(asked.folder, pages=asked.pages)
    grid = () if asked.fixed else GRID
    rows = []
    for part in worlds.every(default_rng(0), asked.every, first=asked.first):
        rows.append(play(part, grid))
        sys.stderr.write(f"{part.name}: {time.process_time() - began:.0f} s\n")
    told = study(rows, grid, asked.splits)
    seconds = round(time.process_time() - began, 1)
    head = {"folder": str(asked.folder), "pages": asked.pages, "cpu_seconds": seconds}
    json.dump({**head, **told}, sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
