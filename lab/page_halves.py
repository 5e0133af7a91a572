"""Page policies, chosen on one half of the sites and scored on the other.

``python -m lab.page_halves FOLDER`` deals the sites of a folder of page histories into
random halves, several times, and replays every variant on every half by the rules of
the league. Each half is held out once a split: the variant that is best on one half is
scored on the other. The table has, for each budget,

- each variant on all halves: its staleness as a share of ``uniform``'s, and what it
  gains over the first variant, in points of freshness, with a paired interval (whole
  sites are drawn again);
- the row *chosen on the other half*, the only one in which nothing was chosen on the
  pages that it is scored on;
- rivals and bounds on the same halves.

Every replay is written to ``--log`` as it ends and is not played twice, so a run that
was cut short goes on. The log also tells how many variants were ever tried.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from halflife.belief.hints import HintedBelief
from halflife.belief.neighbours import Neighbours
from halflife.bench import league
from halflife.core.arrays import Floats
from halflife.metrics.intervals import Ratio, cluster_interval, draws
from halflife.policies import Strategy
from halflife.policies.champion import PATIENCE, PatientIndex
from halflife.policies.rounds import InRounds
from halflife.recordings import histories
from halflife.recordings.histories import RecordedSpan

CHOSEN = "chosen on the other half"
UNIFORM, BOUNDS = "uniform", ("blind", "told", "hindsight")
RIVALS = UNIFORM, "nutch-adaptive", "freshness", "index-pooled", league.ORACLE
_SPLITS = 100  # the seed of the first split

Record: TypeAlias = dict[str, Any]
NONE: Floats = np.zeros(1)


class Unmeasured(Neighbours):
    """Pages of which nobody knows how long they are."""

    def measure(self, lengths: Mapping[str, float]) -> None:
        """Take no note of lengths."""


def made(
    *,
    rounds: int = 16,
    lengths: bool = False,
    **belief: Any,  # noqa: ANN401
) -> Strategy:
    """Return the champion with other settings of its belief, or other rounds."""
    policy = InRounds(PatientIndex("freshness", patience=PATIENCE), rounds)
    kind = Neighbours if lengths else Unmeasured
    return Strategy(
        policy, lambda: HintedBelief(kind(**belief), announced=False), "a variant"
    )


VARIANTS: dict[str, Callable[[], Strategy]] = {
    "before": partial(made, rounds=4, near=NONE),
    "rounds": partial(made, near=NONE),
    "near names": partial(made, rounds=4),
    "rounds and near names": made,
    "these and lengths": partial(made, lengths=True),  # the champion, as it is now
}


class Half(NamedTuple):
    """One half of a split: its number, which half, and its sites."""

    split: int
    half: int
    sites: tuple[str, ...]


def halves(names: Sequence[str], splits: int) -> Iterator[Half]:
    """Yield both halves of random splits; the same every time.

    >>> [sorted(half.sites) for half in halves(["a", "b", "c"], 1)]
    [['c'], ['a', 'b']]
    """
    known = sorted(set(names))
    for split in range(splits):
        order = np.random.default_rng(_SPLITS + split).permutation(len(known))
        middle = len(known) // 2
        for half, some in enumerate((order[:middle], order[middle:])):
            yield Half(split, half, tuple(known[i] for i in np.sort(some).tolist()))


def part(recorded: RecordedSpan, half: Half) -> RecordedSpan:
    """Return the history of one half of the sites, in an order left to chance."""
    sites, group = set(half.sites), recorded.recording.group
    rows = np.flatnonzero([name in sites for name in group])
    some = replace(recorded, recording=recorded.recording.take(rows))
    return league.shuffle_items(some)


def play(
    recorded: RecordedSpan, rules: league.LeagueRules, name: str, share: float
) -> Record:
    """Return how a variant or a rival did on a half, site by site."""
    replay = rules.replay(recorded, share)
    if name == "bounds":
        found = replay.blind(), replay.announced(), replay.hindsight()
        return {n: 1.0 - one for n, one in zip(BOUNDS, found, strict=True)}
    known = name in VARIANTS
    strategy = VARIANTS[name]() if known else league.named(name, replay)
    scores = [replay.score(strategy, seed) for seed in range(rules.seeds)]
    weight = scores[0].sums.weight
    stale = np.mean([score.sums.weight - score.sums.fresh for score in scores], axis=0)
    return {
        "stale": float(stale.sum() / weight.sum()),
        "sites": list(scores[0].sums.names),
        "by_site": stale.tolist(),
        "weight": weight.tolist(),
    }


@dataclass(frozen=True, slots=True)
class Log:
    """Replays that were played, by name, split, half and budget."""

    path: Path
    known: dict[tuple[str, int, int, float], Record]

    @classmethod
    def read(cls, path: Path) -> "Log":
        """Return what a file holds; nothing if there is none."""
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        rows = map(json.loads, lines)
        return cls(
            path, {(r["name"], r["split"], r["half"], r["share"]): r for r in rows}
        )

    def add(self, name: str, half: Half, share: float, found: Record) -> None:
        """Write down one replay."""
        row = {"name": name, "split": half.split, "half": half.half, "share": share}
        self.known[name, half.split, half.half, share] = row | found
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row | found) + "\n")


def fill(
    recorded: RecordedSpan,
    rules: league.LeagueRules,
    names: Sequence[str],
    splits: int,
    log: Log,
) -> None:
    """Play all that the log lacks."""
    for half in halves(recorded.recording.group, splits):
        some: RecordedSpan | None = None
        for name in names:
            for share in rules.shares:
                if (name, half.split, half.half, share) in log.known:
                    continue
                some = part(recorded, half) if some is None else some
                log.add(name, half, share, play(some, rules, name, share))
                sys.stderr.write(
                    f"{name}, {share:.1%}, half {half.split}.{half.half}\n"
                )


class Told(NamedTuple):
    """A row of the table: shares of uniform's staleness, and the gain in points."""

    name: str
    ratio: float
    gain: tuple[float, float, float] | None
    wins: str


def table(
    log: Log, names: Sequence[str], splits: int, shares: Sequence[float], share: float
) -> list[Told]:
    """Return the rows at one budget; the first variant is what others gain over."""
    cells = [(split, half) for split in range(splits) for half in (0, 1)]
    base = dict.fromkeys(cells, names[0])
    rows = [_row(log, name, dict.fromkeys(cells, name), base, share) for name in names]
    best = {
        (split, half): min(
            names, key=lambda n: sum(_ratio(log, n, split, 1 - half, s) for s in shares)
        )
        for split, half in cells
    }
    rows.append(_row(log, CHOSEN, best, base, share))
    return rows


def _ratio(log: Log, name: str, split: int, half: int, share: float) -> float:
    mine, even = (log.known[n, split, half, share] for n in (name, UNIFORM))
    return float(mine["stale"] / even["stale"])


def _row(
    log: Log,
    name: str,
    mine: dict[tuple[int, int], str],
    base: dict[tuple[int, int], str],
    share: float,
) -> Told:
    ratios = [_ratio(log, n, *cell, share) for cell, n in mine.items()]
    before = [_ratio(log, n, *cell, share) for cell, n in base.items()]
    wins = f"{sum(a < b for a, b in zip(ratios, before, strict=True))}/{len(ratios)}"
    ours, theirs, weight = (_by_site(log, who, share) for who in (mine, base, None))
    if mine == base:
        return Told(name, float(np.mean(ratios)), None, "")
    counts = draws(weight.size, np.random.default_rng(_SPLITS))
    gain = cluster_interval(counts, Ratio(theirs, weight), Ratio(ours, weight))
    points = 100.0 * gain.mean, 100.0 * gain.low, 100.0 * gain.high
    return Told(name, float(np.mean(ratios)), points, wins)


def _by_site(log: Log, who: dict[tuple[int, int], str] | None, share: float) -> Floats:
    """Return each site's stale time, averaged over splits; its whole time for None."""
    total: dict[str, list[float]] = {}
    cells = [key[1:3] for key in log.known if key[0] == UNIFORM and key[3] == share]
    for cell in sorted(set(cells) if who is None else who):
        row = log.known[UNIFORM if who is None else who[cell], *cell, share]
        column = row["weight" if who is None else "by_site"]
        for site, value in zip(row["sites"], column, strict=True):
            total.setdefault(site, []).append(value)
    return np.array([float(np.mean(total[site])) for site in sorted(total)])


def markdown(
    log: Log, names: Sequence[str], splits: int, shares: Sequence[float]
) -> str:
    """Return the tables of all budgets."""
    tried = len({key[0] for key in log.known} - {*RIVALS, "bounds"})
    text = (
        f"Sites dealt into random halves, {splits} times; all figures are means over "
        f"{2 * splits} halves. Variants tried on these halves so far: {tried}. Only "
        f"*{CHOSEN}* was chosen without the half it is scored on.\n"
    )
    for share in shares:
        text += f"\n### {share:.1%} of the pages a day\n\n"
        text += (
            f"| | staleness, of uniform's | gain over *{names[0]}*, points | wins |\n"
        )
        text += "|---|---|---|---|\n"
        for row in table(log, names, splits, shares, share):
            gain = (
                ""
                if row.gain is None
                else "{:+.2f} [{:+.2f}, {:+.2f}]".format(*row.gain)
            )
            text += f"| {row.name} | {row.ratio:.3f} | {gain} | {row.wins} |\n"
        for name, ratio in others(log, splits, share).items():
            shown = f"*bound: {name}*" if name in BOUNDS else f"`{name}`"
            text += f"| {shown} | {ratio:.3f} | | |\n"
    return text


def others(log: Log, splits: int, share: float) -> dict[str, float]:
    """Return the shares of rivals and bounds that were played on every half."""
    found = {}
    for name in (*RIVALS, *BOUNDS):
        key, column = ("bounds", name) if name in BOUNDS else (name, "stale")
        cells = [(split, half, share) for split in range(splits) for half in (0, 1)]
        if all((key, *cell) in log.known for cell in cells):
            rows = ((log.known[key, *c], log.known[UNIFORM, *c]) for c in cells)
            found[name] = float(np.mean([row[column] / u["stale"] for row, u in rows]))
    return found


def main(words: Sequence[str] | None = None) -> None:
    """Play what is missing and print the tables."""
    parser = argparse.ArgumentParser(prog="lab.page_halves")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--rivals", default=",".join((*RIVALS, "bounds")))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--budgets", default="0.005,0.02")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--days", type=float, default=league.DAYS)
    parser.add_argument("--log", type=Path, default=Path("out/page-halves.jsonl"))
    given = parser.parse_args(words)
    names = [name for name in given.variants.split(",") if name]
    rivals = [name for name in given.rivals.split(",") if name]
    shares = [float(word) for word in given.budgets.split(",")]
    rules = league.LeagueRules(shares, given.seeds)
    recorded = histories.load(given.folder, days=given.days)
    given.log.parent.mkdir(parents=True, exist_ok=True)
    log = Log.read(given.log)
    everybody = list(dict.fromkeys((UNIFORM, *rivals, *names)))
    fill(recorded, rules, everybody, given.splits, log)
    sys.stdout.write(markdown(log, names, given.splits, shares))


if __name__ == "__main__":
    main()
