"""How sharp the forecasts of set sources are, on halves that nothing was chosen on.

``python -m lab.forecast_halves FOLDER`` takes every recorded listing under a folder
(``lifetimes.parquet``) and every site in it (``pages.parquet``; a site is a set of
pages that is looked at once a day), makes the forecasts again that could have been made
at past looks, by every variant, and prints JSON:

- ``horizons``: coverage, width, interval score (Winkler) and CRPS of each variant by
  kind of source, measure and days ahead, over all sources, each counting once. Beside
  the score stands its ratio to that of ``before``, with a paired interval for which
  whole sources are drawn again.
- ``conditional``: coverage of each variant by weekday, by the last cycle's surprise and
  by the size of the source, and the histogram of the PIT in tenths.
- ``held_out``: the sources are dealt into random halves ten times. The variant with the
  least score on one half, of those that cover what they must, is scored on the other.
- ``tried``: how many variants were ever tried on these histories.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.lifetimes import Collection
from halflife.metrics.intervals import Ratio, cluster_interval, draws
from halflife.models.calibration import LEVELS, crps, interval_score
from halflife.models.census import METRICS, Census
from halflife.models.conformal import inside
from halflife.models.pool import Horizon
from halflife.models.quantile_mixture import BLOCKS, PAST, SCORES, Mixture
from halflife.models.setquality import quality_band, quality_quantiles
from halflife.recordings.objects import load_parquet
from halflife.replay.backtest import past_horizons
from lab.adaptive_step import Adaptive
from lab.objects import DAILY, horizons, sources
from lab.page_halves import Half, halves
from lab.unseen import FEWEST, collections

Rows: TypeAlias = list[dict[str, Any]]

BEFORE, SHIPPED = "before", "mixture"
MIXED: dict[str, Callable[[Mixture], Mixture]] = {
    "scores": lambda ready: replace(ready, members=(SCORES,)),
    "past and blocks": lambda ready: replace(ready, members=(PAST, BLOCKS)),
    "one horizon": lambda ready: replace(ready, shorter=None),
    "whole dispersion": lambda ready: replace(ready, usual=None),
    SHIPPED: lambda ready: ready,
}
TRIED = 139  # docs/objects-study.md says which
FIELDS = "coverage", "width", "winkler", "crps", "mae"
LEAST_COVERED = 0.93  # by a variant that may be chosen
WEEKDAYS = "Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"  # day 0 was a Thursday
SURPRISES = "less lost than foreseen", "about as foreseen", "more lost"
SIZES = "under 100", "100 to 1000", "over 1000"
_ENOUGH = 30  # forecasts of a source that a conditional coverage goes by


class Forecasts(NamedTuple):
    """What a variant forecast from some looks: bounds, middle and quantiles."""

    low: Floats
    mean: Floats
    high: Floats
    spread: Floats


class Case(NamedTuple):
    """Forecasts of one measure of one source at one horizon, held to what came.

    Attributes:
        kind: ``listing`` or ``site``.
        source: Its name.
        metric: ``precision`` or ``recall``.
        days: Days ahead.
        scores: Each variant's ``FIELDS``, means over the forecasts.
        pit: Each variant's histogram of the PIT, in tenths.
        covered: Each variant's coverage by condition, where there are enough.

    """

    kind: str
    source: str
    metric: str
    days: float
    scores: dict[str, Floats]
    pit: dict[str, Floats]
    covered: dict[str, dict[str, float]]


def recorded(folder: Path) -> Iterator[tuple[str, Collection]]:
    """Yield every set source in a folder or below it, with its kind."""
    for path in sources(folder):
        yield "listing", load_parquet(path, path.name)
    for path in sorted(
        {*folder.glob("pages.parquet"), *folder.glob("*/pages.parquet")}
    ):
        for one in collections(path.parent):
            if one.held(float(one.looks[0])).size >= FEWEST:
                yield "site", one


def variants(ready: Mixture, at: Ints) -> Iterator[tuple[str, Forecasts]]:
    """Yield what each variant forecasts at some looks."""
    size = ready.scored.size[at]
    led = quality_band(Adaptive(ready.ready, 0.95).bounds(at), size)
    # Quantiles were never led after misses.
    plain = replace(ready, members=(SCORES,), usual=None)
    spread = quality_quantiles(plain, at, LEVELS)
    yield BEFORE, Forecasts(led.low, led.mean, led.high, spread)
    for name, made in MIXED.items():
        one = made(ready)
        band = quality_band(one.bounds(at, one.scored.guess[at], 0.95), size)
        spread = quality_quantiles(one, at, LEVELS)
        yield name, Forecasts(band.low, band.mean, band.high, spread)


def cases(kind: str, collection: Collection) -> Iterator[Case]:
    """Yield all forecasts of a source, held to what came."""
    ahead = DAILY if kind == "site" else horizons(Census.of(collection).step)
    for days, horizon, at in past_horizons(collection, ahead):
        for m, metric in enumerate(METRICS):
            truth, groups = horizon.outcome.quality[m][at], conditions(horizon, m, at)
            case = Case(kind, collection.name, metric, days, {}, {}, {})
            for name, told in variants(horizon.ready[m], at):
                held = inside(told.low, told.high, truth)
                case.scores[name] = scored(told, truth)
                case.pit[name] = pit(told.spread, truth)
                case.covered[name] = {
                    label: float(held[some].mean())
                    for label, some in groups.items()
                    if np.count_nonzero(some) >= _ENOUGH
                }
            yield case


def scored(told: Forecasts, truth: Floats) -> Floats:
    """Return the means of ``FIELDS`` of some forecasts."""
    parts = (
        inside(told.low, told.high, truth),
        told.high - told.low,
        interval_score(told.low, told.high, truth),
        crps(told.spread, truth),
        np.abs(told.mean - truth),
    )
    return np.array([part.mean() for part in parts])


def pit(spread: Floats, truth: Floats) -> Floats:
    """Return the share of outcomes in each tenth of what was forecast.

    A truth above j of the n quantiles at ``LEVELS`` and at k of them lies between the
    levels (j - 1/2) / n and (j + k + 1/2) / n, where it is drawn evenly: the shares are
    even for a forecast that is right, atoms and all.

    >>> pit(np.tile(LEVELS, (2, 1)), np.array([-1.0, 2.0])).tolist()
    [0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5]
    """
    u = np.random.default_rng(0).random(truth.size)
    near = np.abs(spread - truth[:, None]) <= 1e-9
    below = ((spread < truth[:, None]) & ~near).sum(axis=1)
    ends = np.stack([below - 0.5, below + near.sum(axis=1) + 0.5]) / spread.shape[1]
    low, high = np.clip(ends, 0.0, 1.0)
    place = low + u * (high - low)
    count, _ = np.histogram(place, bins=10, range=(0.0, 1.0))
    return np.asarray(count / max(truth.size, 1))


def conditions(horizon: Horizon, metric: int, at: Ints) -> dict[str, Any]:
    """Return which forecasts were made on which weekday, after what, of what size."""
    census, ready = horizon.study.census, horizon.ready[metric].ready
    scores, told = ready.scores, ready.scored.settled[at]
    last = scores[np.maximum(told - 1, 0)] if scores.size else np.zeros(at.size)
    groups = {"all": np.ones(at.size, bool)}
    day = np.floor(census.looks[at]).astype(np.intp) % 7
    groups |= {f"weekday {name}": day == k for k, name in enumerate(WEEKDAYS)}
    surprise = np.digitize(last, [-1.0, 1.0])
    for k, name in enumerate(SURPRISES):
        groups[f"last cycle: {name}"] = (surprise == k) & (told > 0)
    size = np.digitize(census.size[at], [100, 1001])
    return groups | {f"size {name}": size == k for k, name in enumerate(SIZES)}


@dataclass(frozen=True)
class Group:
    """The cases of some sources: means by variant, each case alike."""

    found: Sequence[Case]

    def mean(self, name: str, field: str) -> float:
        """Return the mean of a field over the cases."""
        k = FIELDS.index(field)
        return float(np.mean([case.scores[name][k] for case in self.found]))

    def ratio(self, name: str, field: str = "winkler") -> list[float]:
        """Return a mean over that of ``before``, with its interval over sources."""
        k = FIELDS.index(field)
        names = sorted({case.source for case in self.found})
        place = [names.index(case.source) for case in self.found]
        weights = [[case.scores[v][k] for case in self.found] for v in (name, BEFORE)]
        sums = [np.bincount(place, w).astype(np.float64) for w in weights]
        counts = draws(len(names), np.random.default_rng(0))
        return list(cluster_interval(counts, Ratio(*sums)))

    def best(self) -> str:
        """Return the variant of least score of those that cover enough."""
        known = list(self.found[0].scores)
        good = [v for v in known if self.mean(v, "coverage") >= LEAST_COVERED]
        return min(good or known, key=lambda v: self.mean(v, "winkler"))


def by_horizon(found: Sequence[Case]) -> Rows:
    """Return how each variant did by kind, measure and days ahead, and over all."""
    rows: Rows = []
    for kind in sorted({case.kind for case in found}):
        own = [case for case in found if case.kind == kind]
        pairs = sorted({(case.metric, case.days) for case in own})
        parts = [
            (m, d, [c for c in own if (c.metric, c.days) == (m, d)]) for m, d in pairs
        ]
        for metric, days, some in [*parts, ("both", None, own)]:
            group = Group(some)
            for name in some[0].scores:
                row = {"shows": "all sources", "kind": kind, "metric": metric,
                       "days": days, "variant": name,
                       "sources": len({case.source for case in some})}  # fmt: skip
                row |= {field: group.mean(name, field) for field in FIELDS}
                rows.append({**row, "of_before": group.ratio(name)})
    return rows


def conditional(found: Sequence[Case]) -> Rows:
    """Return each variant's coverage by condition, with its PIT, over all sources."""
    rows: Rows = []
    for kind in sorted({case.kind for case in found}):
        own = [case for case in found if case.kind == kind]
        labels = dict.fromkeys(x for case in own for x in case.covered[SHIPPED])
        for name in own[0].scores:
            covered = {
                label: float(
                    np.mean(
                        [
                            c.covered[name][label]
                            for c in own
                            if label in c.covered[name]
                        ]
                    )
                )
                for label in labels
            }
            tenths = np.mean([case.pit[name] for case in own], axis=0)
            rows.append({"shows": "all sources", "kind": kind, "variant": name,
                         "coverage": covered, "pit": tenths.tolist()})  # fmt: skip
    return rows


def held_out(found: Sequence[Case], splits: int) -> Rows:
    """Return how what is best on one half of the sources does on the other."""
    rows: Rows = []
    for kind in sorted({case.kind for case in found}):
        own = [case for case in found if case.kind == kind]
        both = list(halves([case.source for case in own], splits))
        for here, there in zip(both[::2], both[1::2], strict=True):
            rows += [_held(kind, own, *pair) for pair in ((here, there), (there, here))]
    return rows


def _held(
    kind: str, own: Sequence[Case], chosen_on: Half, scored_on: Half
) -> dict[str, Any]:
    one, two = (
        Group([case for case in own if case.source in half.sites])
        for half in (chosen_on, scored_on)
    )
    name = one.best()
    return {
        "shows": "the half that it was not chosen on",
        "kind": kind, "split": scored_on.split, "half": scored_on.half,
        "sources": len(scored_on.sites), "chosen": name,
        "coverage": two.mean(name, "coverage"),
        "winkler_of_before": two.mean(name, "winkler") / two.mean(BEFORE, "winkler"),
        "shipped_winkler_of_before":
            two.mean(SHIPPED, "winkler") / two.mean(BEFORE, "winkler"),
        "shipped_coverage": two.mean(SHIPPED, "coverage"),
    }  # fmt: skip


def study(folder: Path, splits: int, note: Callable[[str], object]) -> dict[str, Any]:
    """Return all that is measured on the sources in a folder."""
    found: list[Case] = []
    for kind, collection in recorded(folder):
        found += cases(kind, collection)
        note(f"{kind} {collection.name}\n")
    return {
        "tried": TRIED,
        "horizons": by_horizon(found),
        "conditional": conditional(found),
        "held_out": held_out(found, splits),
    }


def main(arguments: list[str] | None = None) -> None:
    """Print the study as JSON."""
    parser = argparse.ArgumentParser(prog="python -m lab.forecast_halves")
    parser.add_argument("folder", type=Path, help="holds recorded sources or sites")
    parser.add_argument("--splits", type=int, default=10)
    asked = parser.parse_args(arguments)
    whole = study(asked.folder, asked.splits, sys.stderr.write)
    sys.stdout.write(json.dumps(whole, indent=1, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
