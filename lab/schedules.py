"""How close every schedule comes to the bound, with rates known and learned.

``python -m lab.schedules`` prints, for a population of pages that change
at random, the freshness of each policy divided by bound B0, the best that any
schedule without news of changes can reach. Freshness is expected freshness: after a
look a copy is current with chance exp(-rate t), whatever was seen before.
"""

import json
import sys
from collections.abc import Callable
from functools import partial

import numpy as np

from halflife.allocation import allocate
from halflife.belief import Belief
from halflife.belief.plain import KnownRates
from halflife.belief.schedule import Scheduled
from halflife.bench.population import poisson_recording, rates_and_weights
from halflife.core.arrays import Floats
from halflife.core.view import View
from halflife.policies import Policy, Strategy, adaptive, cgm, explore, index, simple
from halflife.policies.azar import azar, azar_even, rates as azar_rates
from halflife.policies.best_schedule import BestSchedule
from halflife.policies.dates import due_by_chance, due_first
from halflife.policies.lambdacrawl import (
    approx,
    lambdacrawl,
    lambdacrawl_approx,
    lambdacrawl_even,
    lambdacrawl_published,
    rates as lambdacrawl_rates,
)
from halflife.policies.mirror import mirror_sync
from halflife.policies.weibull import weibull
from halflife.replay.pages import Replay

ITEMS, DAYS, WARM, TICKS = 1000, 60, 20.0, 10
SHARES = (0.2, 0.04)

LEARNED: dict[str, Strategy] = {
    "round-robin": simple.round_robin,
    "uniform": simple.uniform,
    "proportional": simple.proportional,
    "weight-proportional": simple.weight_proportional,
    "nutch-adaptive": adaptive.nutch,
    "stormcrawler-adaptive": adaptive.stormcrawler,
    "cgm-freshness": cgm.freshness,
    "cgm-age": cgm.age,
    "azar": azar,
    "azar-even": azar_even,
    "lambdacrawl": lambdacrawl,
    "lambdacrawl-even": lambdacrawl_even,
    "lambdacrawl-published": lambdacrawl_published,
    "lambdacrawl-approx": lambdacrawl_approx,
    "explore-commit": explore.explore_commit_over(DAYS),
    "mirror-sync": mirror_sync,
    "weibull": weibull,
    "freshness": index.freshness,
    "age": index.age,
    "harmonic": index.harmonic,
}


# What is left of each policy when it is told the rates.
KNOWN: dict[str, tuple[Policy, Callable[[Belief], Belief] | None]] = {
    "proportional": (simple.most_missed, None),
    "cgm-freshness": (due_first, partial(Scheduled, BestSchedule("freshness"))),
    "cgm-age": (due_first, partial(Scheduled, BestSchedule("age"))),
    "azar": (due_by_chance, partial(Scheduled, azar_rates)),
    "azar-even": (due_first, partial(Scheduled, azar_rates)),
    "lambdacrawl": (due_by_chance, partial(Scheduled, lambdacrawl_rates)),
    "lambdacrawl-even": (due_first, partial(Scheduled, lambdacrawl_rates)),
    "lambdacrawl-approx": (due_by_chance, partial(Scheduled, approx)),
    "freshness": (index.Index("freshness"), None),
    "age": (index.Index("age"), None),
    "harmonic": (index.Index("harmonic"), None),
}


def told(name: str, rate: Floats) -> Strategy:
    """Return a policy that was told the change rates."""
    policy, belief = KNOWN[name]
    known = KnownRates(rate)
    return Strategy(policy, lambda: known if belief is None else belief(known))


def expected(replay: Replay, strategy: Strategy, rate: Floats, seed: int) -> float:
    """Return the freshness to be expected from the looks that a strategy made."""
    weight, tick = replay.recording.weight, 1.0 / replay.ticks
    seen: list[float] = []

    def watch(view: View, _: float) -> None:
        if view.now > replay.warm + tick / 2:
            lasted = np.exp(-rate * (view.age - tick)) - np.exp(-rate * view.age)
            seen.append(float(weight @ (lasted / rate)) / tick)

    replay.score(strategy, seed, watch)
    return float(np.mean(seen) / weight.sum())


def run(
    share: float, *, items: int = ITEMS, days: int = DAYS, seed: int = 0
) -> list[dict[str, object]]:
    """Return each policy's freshness over bound B0, at ``share`` looks a page a day."""
    rate, weight = rates_and_weights(items, seed)
    recording = poisson_recording(rate, weight, days, seed + 1)
    warm = min(WARM, days / 3)
    replay = Replay(recording, share * items, 0.0, days, ticks=TICKS, warm=warm)
    bound = allocate(rate, share * items, weight=weight).value
    rows: list[dict[str, object]] = []
    for name, strategy in LEARNED.items():
        row: dict[str, object] = {"policy": name, "budget": share}
        row["learned"] = expected(replay, strategy, rate, seed) / bound
        if name in KNOWN:
            row["known"] = expected(replay, told(name, rate), rate, seed) / bound
        rows.append(row)
    return rows


if __name__ == "__main__":
    found = [row for share in SHARES for row in run(share)]
    sys.stdout.write(json.dumps({"results": found}, indent=1))
