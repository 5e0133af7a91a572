"""What one turn of the loop costs over very many pages: belief, plan, and plan again.

``python -m lab.turns --items 1000000 --looks 10 --json`` prints seconds
of the clock and of the processor, best of three, and the most memory ever resident.
Building the evidence is not part of what is timed: a running program holds it.
"""

import argparse
import json
import os
import resource
import sys
from collections.abc import Callable
from functools import partial
from time import perf_counter, process_time
from typing import NamedTuple, TypeVar

import numpy as np

from halflife.belief.neighbours import Neighbours
from halflife.belief.poisson import PoissonBelief
from halflife.bench.population import rates_and_weights
from halflife.core.budget import Budget
from halflife.core.evidence import Evidence
from halflife.core.gap_bins import classes
from halflife.core.observation import Observations, Seen
from halflife.core.plan import Plan
from halflife.policies.champion import PatientIndex
from halflife.policies.index import Index
from lab.planner import Planner

Result = TypeVar("Result")

_REPEATS = 3
_NEW = 1000  # looks between two plans
_MINUTE = 1.0 / 1440.0
_SITES = 1000


class TimedTurns(NamedTuple):
    """Seconds of the clock and of the processor."""

    wall: float
    processor: float

    def __add__(self, other: object) -> "TimedTurns":
        if not isinstance(other, TimedTurns):
            return NotImplemented
        return TimedTurns(self.wall + other.wall, self.processor + other.processor)


def timed(work: Callable[[], Result]) -> tuple[Result, TimedTurns]:
    """Return what the work returned, and what it took."""
    wall, processor = perf_counter(), process_time()
    result = work()
    return result, TimedTurns(perf_counter() - wall, process_time() - processor)


def watched(items: int, looks: int, seed: int) -> Evidence:
    """Return the evidence of ``looks`` looks at each page, built column by column.

    Gaps are irregular, about three days; the last looks end on day 0.
    """
    rate, weight = rates_and_weights(items, seed)
    rng = np.random.default_rng(seed + 1)
    evidence = Evidence()
    evidence.extend(
        [f"https://site{i % _SITES}/{i % 10}/{i}" for i in range(items)],
        weight=weight.tolist(),
        cost=[1.0] * items,
        group=[f"site{i % _SITES}" for i in range(items)],
    )
    quiet, changes = np.zeros(items), np.zeros(items, dtype=np.intp)
    found = []
    for _ in range(looks - 1):
        gap = np.exp(rng.normal(np.log(3.0), 1.0, items))
        changed = rng.random(items) < -np.expm1(-rate * gap)
        quiet += np.where(changed, 0.0, gap)
        changes += changed
        rows = np.flatnonzero(changed)
        below, share = classes(gap[rows])
        found += [(rows, below, 1.0 - share), (rows, below + 1, share)]
    last = -rng.exponential(3.0, items)
    evidence.restore(
        last_at=last.tolist(),
        tried_at=last.tolist(),
        looks=[looks] * items,
        changes=changes.tolist(),
        quiet=quiet.tolist(),
        seen=[int(Seen.PRESENT)] * items,
    )
    item, number, tally = (np.concatenate(part) for part in zip(*found, strict=True))
    some = tally > 0
    evidence.restore_gaps(item[some], number[some], tally[some])
    return evidence


def look(evidence: Evidence, plan: Plan, now: float, rng: np.random.Generator) -> None:
    """Carry out the first of a plan: a third of the looks find something new."""
    keys = plan.keys[:_NEW]
    new = rng.random(len(keys)) < 1 / 3
    known = [evidence.digest[row] for row in plan.rows[:_NEW].tolist()]
    digest = [f"{now}" if n else str(k) for n, k in zip(new, known, strict=True)]
    seen = np.full(len(keys), int(Seen.PRESENT), dtype=np.int8)
    at = np.full(len(keys), now)
    evidence.take(evidence.weigh(Observations(keys, at, seen, tuple(digest))))


def first_turn(
    evidence: Evidence, budget: Budget
) -> tuple[PoissonBelief, Plan, TimedTurns]:
    """Return a belief that learned all looks, its plan, and what the two took."""
    belief, rng = PoissonBelief(), np.random.default_rng(0)
    view, learning = timed(partial(belief, evidence, _MINUTE, _MINUTE))
    plan, planning = timed(partial(Index(), view, budget, rng))
    return belief, plan, learning + planning


class Again(NamedTuple):
    """One plan after new looks, made with a memory and without."""

    belief: TimedTurns
    planner: TimedTurns
    plain: TimedTurns
    weighed: int
    same: bool


def plan_again(
    belief: PoissonBelief, evidence: Evidence, plan: Plan, budget: Budget
) -> list[Again]:
    """Return what plans cost that follow 1000 new looks each."""
    rng, planner, rows = np.random.default_rng(0), Planner(), []
    planner(belief(evidence, _MINUTE, _MINUTE), budget, rng)
    for turn in range(2, 7):
        now = turn * _MINUTE
        look(evidence, plan, now, rng)
        view, learning = timed(partial(belief, evidence, now, _MINUTE))
        plan, quick = timed(partial(planner, view, budget, rng))
        whole, plain = timed(partial(Index(), view, budget, rng))
        same = plan.keys == whole.keys and bool(np.array_equal(plan.gain, whole.gain))
        rows.append(Again(learning, quick, plain, planner.weighed, same))
    return rows


def champion_turns(evidence: Evidence, budget: Budget) -> tuple[TimedTurns, TimedTurns]:
    """Return what a first turn of the champion costs, and one after 1000 looks."""
    belief, policy, rng = (
        Neighbours(),
        PatientIndex("freshness"),
        np.random.default_rng(0),
    )
    view, learning = timed(partial(belief, evidence, _MINUTE, _MINUTE))
    plan, planning = timed(partial(policy, view, budget, rng))
    later = []
    for turn in range(10, 13):
        now = turn * _MINUTE
        look(evidence, plan, now, rng)
        view, again = timed(partial(belief, evidence, now, _MINUTE))
        plan, quick = timed(partial(policy, view, budget, rng))
        later.append(again + quick)
    return learning + planning, min(later)


def run(items: int = 1_000_000, looks: int = 10, seed: int = 0) -> dict[str, object]:
    """Return what a first turn and later plans cost, and the memory they took."""
    evidence, budget = watched(items, looks, seed), Budget(max(items // 100, 1))
    built = _resident()
    full = [first_turn(evidence, budget)[2] for _ in range(_REPEATS - 1)]
    belief, plan, took = first_turn(evidence, budget)
    full.append(took)
    peak = _resident()
    again = plan_again(belief, evidence, plan, budget)
    first, later = champion_turns(evidence, budget)
    best = min(full)
    quick = min(row.belief + row.planner for row in again)
    thrift = min((row.belief + row.planner).processor for row in again)
    plain = min(row.belief + row.plain for row in again)
    return {
        "items": items,
        "looks": items * looks,
        "requests": budget.requests,
        "turn_seconds": best.wall,
        "turn_processor_seconds": min(row.processor for row in full),
        "resident_gb_before": built,
        "resident_gb": peak,
        "new_looks": _NEW,
        "replan_seconds": quick.wall,
        "replan_processor_seconds": thrift,
        "replan_belief_processor_seconds": min(row.belief.processor for row in again),
        "replan_plain_seconds": plain.wall,
        "replan_weighed": max(row.weighed for row in again),
        "replan_same_plan": all(row.same for row in again),
        "replan_ratio": best.wall / quick.wall,
        "champion_turn_seconds": first.wall,
        "champion_turn_processor_seconds": first.processor,
        "champion_again_seconds": later.wall,
        "champion_again_processor_seconds": later.processor,
        "champion_resident_gb": _resident(),
        "load": os.getloadavg()[0],
    }


def _resident() -> float:
    """Return the most memory that this process ever had resident, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def _main() -> None:
    parser = argparse.ArgumentParser(prog="lab.turns", description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--looks", type=int, default=10)
    parser.add_argument("--json", action="store_true", help="the only form there is")
    given = parser.parse_args()
    sys.stdout.write(json.dumps(run(given.items, given.looks), indent=1) + "\n")


if __name__ == "__main__":
    _main()
