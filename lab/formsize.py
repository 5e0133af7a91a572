"""Samples, sizes, changes and whole crawls of recorded tables behind a form.

``python -m lab.formsize FOLDER [--only A,B]`` takes the recorded tables in a folder,
puts their last look behind a form, and prints how well its size is known, how well its
change is, how even samples of it are, and what crawling all of it costs. What is known
beforehand is the table of 30 days before.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import default_rng

from halflife.core.forms import Attribute, Counts, Interface, Kind, Query, ResultPage
from halflife.core.object_store import Attributes
from halflife.queries.ledger import Ledger
from halflife.queries.levels import Guide, LocalChances
from halflife.queries.sampling import Sampling, sample
from halflife.queries.split_crawl import crawl
from halflife.queries.table_form import TableForm
from lab import size_panel as panels
from lab.relation_size import RelationSize, estimate, recapture
from lab.tables import Table, listed, tables

RUNS, WALKS = 200, 40
PANELS, SAMPLES, DRAWN = 40, 10, 100
KNOWN, WEEK = 30.0, 7.0  # days before the last look
SHOWN = (20, 100, 1000)
PAGE, SMALL_PAGE, LARGE = 100, 20, 1000  # a small table would be shown whole
MOST = 2000  # requests that a crawl may take
GUIDES: tuple[Guide, ...] = ("known", "even", "counts")
METHODS: tuple[Sampling, ...] = ("weighted", "counts", "rejection", "naive")


class Remembered:
    """A form that works out each answer once; asking it is paid for as ever."""

    def __init__(self, form: TableForm) -> None:
        self.form = form
        self.interface = form.interface
        self.fetch = form.fetch
        self._known: dict[tuple[Query, int], ResultPage] = {}

    def ask(self, query: Query, page: int = 0, *, newest: bool = False) -> ResultPage:
        """Return a page of results."""
        found = self._known.get((query, page))
        if found is None or newest:
            found = self.form.ask(query, page, newest=newest)
            self._known[query, page] = found
        return found


@dataclass(frozen=True)
class World:
    """A recorded table, its form, and the looks at it that matter."""

    table: Table

    @property
    def name(self) -> str:
        """The table's name."""
        return self.table.name

    @property
    def shown(self) -> int:
        """Records on the only page that is shown of an answer."""
        return PAGE if len(self.looks[0]) >= LARGE else SMALL_PAGE

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """What the form asks for, and how."""
        return {one.name: one.kind for one in self.table.attributes}

    @cached_property
    def looks(self) -> tuple[dict[str, Attributes], ...]:
        """The table now, a week before, and when it was last known."""
        relation, end = self.table.relation, self.table.end
        return tuple(relation.at(end - ago) for ago in (0.0, WEEK, KNOWN))

    @property
    def interface(self) -> Interface:
        """The form: it shows one page, and counts nothing."""
        return Interface(
            tuple(Attribute(name, kind) for name, kind in self.kinds.items()),
            page_size=self.shown,
            cap=self.shown,
            counts="none",
            everything=True,
        )

    def form(
        self,
        look: int = 0,
        *,
        counts: Counts = "none",
        shown: int | None = None,
        everything: bool = True,
    ) -> Remembered:
        """Return a look behind the form, or one like it."""
        k = shown or self.shown
        interface = replace(
            self.interface, counts=counts, cap=k, page_size=k, everything=everything
        )
        return Remembered(TableForm(interface, self.looks[look], rng=default_rng(0)))

    def local(self, guide: Guide = "known") -> LocalChances:
        """Return what is known beforehand."""
        return LocalChances(self.interface, self.looks[2].values(), guide)


def sizes(world: World) -> list[dict[str, Any]]:
    """Return how sizes are estimated, by method."""
    true = len(world.looks[0])
    rows = []
    for guide in GUIDES:
        counts: Counts = "exact" if guide == "counts" else "none"
        # A form that counts and answers the empty query would be asked just once.
        form = world.form(counts=counts, everything=counts == "none")
        local = world.local(guide)
        rows.append(
            _scored(world, f"walks, {guide}", true, _walking(form, local)),
        )
    form, local = world.form(), world.local()
    rows.append(
        _scored(
            world,
            "capture-recapture",
            true,
            lambda seed: recapture(
                Ledger(form), 2 * WALKS, default_rng(seed), known=local
            ),
        )
    )
    return rows


def _walking(form: Remembered, local: LocalChances) -> Callable[[int], RelationSize]:
    return lambda seed: estimate(Ledger(form), WALKS, default_rng(seed), known=local)


def _scored(
    world: World, method: str, true: int, one: Callable[[int], RelationSize]
) -> dict[str, Any]:
    found = [one(seed) for seed in range(RUNS)]
    means = np.array([size.mean for size in found])
    error = float(means.std(ddof=1)) / RUNS**0.5
    return {
        "table": world.name,
        "shown": world.shown,
        "method": method,
        "records": true,
        "mean": float(means.mean()),
        "standard_errors_off": _errors_off(float(means.mean()) - true, error),
        "relative_sd": float(means.std(ddof=1)) / true,
        "coverage": float(np.mean([s.low <= true <= s.high for s in found])),
        "requests": float(np.mean([s.requests for s in found])),
        "unresolved": float(np.mean([s.unresolved for s in found])),
    }


def _errors_off(off: float, error: float) -> float | None:
    """Return how many standard errors a mean is off; None if all runs say the same."""
    return off / error if error > 0.0 else None


def changes(world: World) -> dict[str, Any]:
    """Return how a week's change is estimated by the same walks and by new ones."""
    now, before, _ = world.looks
    local = world.local()
    old, new = world.form(1), world.form(0)
    same, other = [], []
    for seed in range(PANELS):
        made = panels.start(Ledger(old), WALKS, default_rng(seed), known=local)
        _, change = panels.reissue(Ledger(new), made)
        again = panels.start(
            Ledger(new), WALKS, default_rng(RUNS + seed), known=local
        )  # fmt: skip
        grown = panels.restarted(made.walks, again.walks)
        same.append((change.net.size, change.requests, change.net))
        other.append((grown.size, again.requests))
    true = len(now) - len(before)
    net = np.array([row[0] for row in same])
    fresh = np.array([row[0] for row in other])
    covered = [row[2].low <= true <= row[2].high for row in same]
    return {
        "table": world.name,
        "net": true,
        "same_walks": float(net.mean()),
        "same_walks_off": _errors_off(
            float(net.mean() - true), float(net.std()) / PANELS**0.5
        ),
        "same_walks_sd": float(net.std()),
        "coverage": float(np.mean(covered)),
        "same_walks_requests": float(np.mean([row[1] for row in same])),
        "new_walks": float(fresh.mean()),
        "new_walks_sd": float(fresh.std()),
        "new_walks_requests": float(np.mean([row[1] for row in other])),
        "variance_ratio": float(fresh.var() / net.var()) if net.var() > 0 else None,
    }


def evenness(world: World) -> list[dict[str, Any]]:
    """Return the share of the largest group that samples show, by method."""
    name = next(name for name, kind in world.kinds.items() if kind == "select")
    column = [row.get(name) for row in world.looks[0].values()]
    largest = max(set(column), key=column.count)
    form = world.form(counts="exact")
    known = list(world.looks[2].values())
    rows = []
    for method in METHODS:
        shares, requests = [], []
        for seed in range(SAMPLES):
            found = sample(
                Ledger(form), DRAWN, default_rng(seed), known=known, method=method
            )
            mine = [row.get(name) == largest for row in found.records.values()]
            shares.append(float(found.weight[mine].sum() / found.weight.sum()))
            requests.append(found.requests)
        rows.append(
            {
                "table": world.name,
                "method": method,
                "true_share": column.count(largest) / len(column),
                "mean_share": float(np.mean(shares)),
                "standard_error": float(np.std(shares) / SAMPLES**0.5),
                "requests": float(np.mean(requests)),
            }
        )
    return rows


def crawls(world: World) -> list[dict[str, Any]]:
    """Return what crawling all of a table costs, by how much is shown of a query."""
    rows = []
    records = world.looks[0]
    told: tuple[Counts, ...] = ("exact", "none")
    for shown in SHOWN:
        for counts in told:
            form = world.form(shown=shown, counts=counts)
            ledger = Ledger(form, MOST)
            found = crawl(ledger, world.looks[2].values())
            rows.append(
                {
                    "table": world.name,
                    "shown": shown,
                    "counts": counts,
                    "found": len(found.records) / len(records),
                    "complete": found.complete,
                    "requests": found.requests,
                    "least": -(-len(records) // shown),
                    "unresolved": len(found.unresolved),
                    "unproven": len(found.unproven),
                    "cut_short": bool(found.left),
                }
            )
    return rows


def worlds(folder: Path, only: Sequence[str] = ()) -> list[World]:
    """Return the tables that a form can ask for by choice, known for long enough."""
    return [
        World(table)
        for table in tables(folder, only)
        if table.length >= KNOWN and any(a.kind == "select" for a in table.attributes)
    ]


def run(folder: Path, only: Sequence[str] = ()) -> dict[str, list[dict[str, Any]]]:
    """Return everything, by experiment."""
    found = worlds(folder, only)
    return {
        "sizes": [row for world in found for row in sizes(world)],
        "changes": [changes(world) for world in found],
        "evenness": [row for world in found for row in evenness(world)],
        "crawls": [row for world in found for row in crawls(world)],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m lab.formsize")
    parser.add_argument("folder", type=Path, help="recorded tables")
    parser.add_argument("--only", metavar="A,B,...", help="some of the tables")
    given = parser.parse_args(arguments)
    sys.stdout.write(json.dumps(run(given.folder, listed(given.only)), indent=1))


if __name__ == "__main__":
    main()
