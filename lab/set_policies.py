"""What schedules and groups buy on recorded set sources.

``python -m lab.set_policies FOLDER [NAME ...]`` prints them as JSON;
FOLDER holds one folder of Parquet files for each source.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from halflife.bench.setpolicies import (
    FEWEST,
    LEARNED,
    Row,
    schedule_row,
    schedules,
    stretch,
)
from halflife.core.arrays import Floats, Ints
from halflife.core.lifetimes import Collection
from halflife.grouping.attributes import splitting_attributes
from halflife.grouping.partition import Partition, PartitionTerms, partition
from halflife.grouping.risk import at_risk, cells
from halflife.metrics.intervals import Interval, mean_interval
from halflife.policies.listings.pace import pace, worth
from halflife.policies.listings.schedules import PacedThreshold, Priced, Schedule
from halflife.recordings.objects import load_parquet
from halflife.replay.listings import SetReplay, recall_difference, rho_ratio

MEMORY = 45.0  # looks that a pace is learned from


def usual_gap(source: Collection) -> float:
    """Return the median number of days between two snapshots."""
    return float(np.median(np.diff(source.looks)))


def groups(source: Collection, seed: int = 0) -> list[Row]:
    """Return what groups learned from the first part of a history buy in the rest.

    ``gain`` is log-likelihood per end over one rate for all, in nats: how much
    better the rates foresaw which objects went. ``error`` is the mean error of the
    precision forecast seven looks ahead, of all objects and category by category.
    """
    begin = float(source.looks[int(LEARNED * (source.looks.size - 1))])
    past, names = source.until(begin), splitting_attributes(source.lives.attributes)
    rivals = {
        "one": PartitionTerms(most=1),
        "default": PartitionTerms(),
        "not lasting": PartitionTerms(lasting=False),
        "no bursts": PartitionTerms(lasting=False, bursts=False),
    }
    rows = []
    for name, terms in rivals.items():
        rng = np.random.default_rng(seed)
        found = partition(past.lives, names, rng, terms=terms)
        row: Row = {
            "figure": "groups",
            "source": source.name,
            "terms": name,
            "groups": len(found),
            "rates": [round(float(r), 4) for r in found.rates],
            "cuts": [_short(s.rule) for s in found.splits],
            "gain": carried(source, found, begin)._asdict(),
        }
        rows.append(row | _errors(source, found, begin, names))
    return rows


def carried(
    source: Collection, found: Partition, begin: float, blocks: int = 10
) -> Interval:
    """Return what a partition gains per later end, by stretches of later time.

    sum of d log(r_g / r) - (r_g - r) E over groups, r_g and r learned before.
    """
    label = found.assign(source.lives.attributes)
    edges = np.linspace(begin, float(source.looks[-1]), blocks + 1)
    deaths, time = cells(at_risk(source.lives), label, len(found), edges)
    rate, one = _rates(found)
    ratio, more = np.log(rate / one)[:, None], (rate - one)[:, None]
    gain = (deaths * ratio - more * time).sum(axis=0)
    return mean_interval(gain / max(float(deaths.sum()) / blocks, 1.0))


def _rates(found: Partition) -> tuple[Floats, float]:
    """Return the rate of each group and of all, none of them 0."""
    ends = np.array([g.deaths + 0.5 for g in found.groups])
    time = np.array([max(g.time, 1e-9) for g in found.groups])
    return ends / time, float(ends.sum() / time.sum())


def _errors(
    source: Collection, found: Partition, begin: float, names: Sequence[str]
) -> Row:
    """Return mean errors of precision forecasts, by groups and by one rate."""
    lives, looks = source.lives, source.looks
    ahead, first = 7.0 * usual_gap(source), int(np.searchsorted(looks, begin))
    (rate, one), label = _rates(found), found.assign(lives.attributes)
    codes = [np.zeros(len(lives), dtype=np.intp), *_codes(source, names)]
    wrong: list[list[Floats]] = [[] for _ in codes]
    for at in np.unique(np.linspace(first, looks.size - 1, 41).astype(int)).tolist():
        later = int(np.searchsorted(looks, looks[at] + ahead - 1e-9))
        if later >= looks.size:
            break
        held = np.flatnonzero(lives.present(float(looks[at])))
        days = float(looks[later] - looks[at])
        chance = np.stack(
            [np.exp(-rate[label[held]] * days), np.full(held.size, np.exp(-one * days))]
        )
        miss = chance - (lives.last_seen[held] >= looks[later])
        for code, misses in zip(codes, wrong, strict=True):
            misses.append(_mean_errors(miss, code[held]))
    overall = np.concatenate([np.zeros((2, 0)), *wrong[0]], axis=1)
    parts = np.concatenate([np.zeros((2, 0)), *chain(*wrong[1:])], axis=1)
    return {"error": _pair(overall), "error_by_category": _pair(parts)}


def _mean_errors(miss: Floats, code: Ints) -> Floats:
    """Return |mean miss| of each category with at least twenty objects."""
    count = np.bincount(code) if code.size else np.zeros(1, dtype=np.intp)
    sums = np.stack([np.bincount(code, m, count.size) for m in miss])
    often = count >= 20
    found: Floats = np.abs(sums[:, often] / count[often])
    return found


def _pair(errors: Floats) -> Row | None:
    if errors.shape[1] == 0:
        return None
    by_group, by_one = errors.mean(axis=1).tolist()
    return {"groups": by_group, "one": by_one}


def _codes(source: Collection, names: Sequence[str]) -> list[Ints]:
    """Return the categories of every attribute that is text, numbered."""
    columns = [source.lives.attributes[n] for n in names]
    return [
        np.unique(c.astype(str), return_inverse=True)[1].astype(np.intp)
        for c in columns
        if c.dtype.kind == "O"
    ]


def grouped_schedules(source: Collection, target: float = 0.9) -> list[Row]:
    """Return rows for schedules by group beside one for the whole source."""
    part, begin = stretch(source)
    known, memory = part.until(begin), MEMORY * usual_gap(part)
    rng = np.random.default_rng(0)
    found = partition(
        known.lives,
        splitting_attributes(part.lives.attributes),
        rng,
        terms=PartitionTerms(most=4),
    )
    label: Ints = found.assign(part.lives.attributes)
    whole = SetReplay(part, begin, target)
    apart = SetReplay(part, begin, target, group=label)
    paced = PacedThreshold(target, window=memory)
    days = np.array([paced.holds(known)])
    price = float(worth(pace(known, memory), days, "recall")[0])
    rows, scores = [], {}
    rivals: dict[str, Schedule] = {
        "paced": paced,
        "priced": Priced(price, window=memory),
    }
    for name, rival in rivals.items():
        scores[name] = whole.score(rival)
        scores[f"{name} by group"] = apart.score([rival] * len(found))
        pair = scores[f"{name} by group"], scores[name]
        rows.append(
            {
                "figure": "groups pair",
                "source": part.name,
                "schedule": name,
                "groups": len(found),
                "rho": rho_ratio(*pair)._asdict(),
                "recall": recall_difference(*pair)._asdict(),
            }
        )
    return [schedule_row(part, name, score) for name, score in scores.items()] + rows


def rows(folder: Path, names: Sequence[str] = ()) -> Iterator[Row]:
    """Yield every row for the sources of a folder, or for those named."""
    found = sorted(p.parent.name for p in folder.glob("*/lifetimes.parquet"))
    for name in names or found:
        source = load_parquet(folder / name, name)
        if source.looks.size < FEWEST:
            why = f"{source.looks.size} looks, fewer than {FEWEST}"
            yield {"figure": "none", "source": name, "why": why}
            continue
        yield from schedules(source)
        yield from groups(source)
        yield from grouped_schedules(source)


def _short(rule: str, most: int = 100) -> str:
    return rule if len(rule) <= most else f"{rule[: most - 3]}..."


def main(arguments: Sequence[str]) -> None:
    """Print the rows of a folder as one object."""
    found = list(rows(Path(arguments[0]), arguments[1:]))
    sys.stdout.write(json.dumps({"results": found}, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
