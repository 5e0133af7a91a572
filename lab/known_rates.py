"""How close the index policy comes to the bound, and what learning rates costs."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from halflife.allocation import allocate, mean_freshness
from halflife.belief.plain import KnownRates
from halflife.bench.population import poisson_recording, rates_and_weights
from halflife.core.arrays import Floats
from halflife.core.view import View
from halflife.metrics.intervals import mean_interval
from halflife.policies import Strategy
from halflife.policies.adaptive import nutch, stormcrawler
from halflife.policies.index import Index, freshness
from halflife.policies.simple import proportional, uniform
from halflife.replay.pages import Replay


def known_rates(
    items: int = 10_000, *, share: float = 0.2, days: int = 90, seed: int = 0
) -> dict[str, float]:
    """Return the freshness of the index policy with known rates against bound B0.

    With known rates the moments of the looks do not depend on what they find, so
    the expected freshness follows from them exactly: after a look a copy is
    fresh with chance exp(-rate t). ``realised`` is that of the one history drawn.
    ``given_up`` is the share of pages that the best frequencies never look at, and
    ``harmonic_ratio`` the freshness of the best harmonic frequencies against it.
    """
    rate, weight = rates_and_weights(items, seed)
    recording = poisson_recording(rate, weight, days, seed + 1)
    replay = Replay(recording, share * items, 0.0, days, ticks=40, warm=30.0)
    tick = 1.0 / replay.ticks
    expected: list[float] = []

    def watch(view: View, _: float) -> None:
        if view.now > replay.warm + tick / 2:
            lasted = np.exp(-rate * (view.age - tick)) - np.exp(-rate * view.age)
            expected.append(float(weight @ (lasted / rate)) / tick)

    known = Strategy(Index("freshness"), partial(KnownRates, rate))
    realised = replay.score(known, seed, watch).freshness
    reached = float(np.mean(expected) / weight.sum())
    best = allocate(rate, share * items, weight=weight)
    calm = allocate(rate, share * items, weight=weight, objective="harmonic")
    kept = np.average(mean_freshness(calm.frequency, rate), weights=weight)
    return {
        "items": items,
        "budget": share,
        "freshness": reached,
        "realised": realised,
        "bound": best.value,
        "ratio": reached / best.value,
        "given_up": float(np.mean(best.frequency == 0)),
        "harmonic_given_up": float(np.mean(calm.frequency == 0)),
        "harmonic_ratio": float(kept) / best.value,
    }


RIVALS = {
    "halflife": freshness,
    "uniform": uniform,
    "proportional": proportional,
    "nutch-adaptive": nutch,
    "stormcrawler-adaptive": stormcrawler,
}


def learning(
    seeds: int = 20,
    *,
    items: int = 2000,
    share: float = 0.2,
    days: int = 90,
    names: Sequence[str] = tuple(RIVALS),
) -> list[dict[str, object]]:
    """Return freshness of days 31 on, rates learned from nothing, against an oracle.

    Each seed is a population and a history of its own; on it every policy gets
    the same budget, and the oracle is the index policy that knows the rates.
    """
    rows: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for seed in range(seeds):
        rate, weight = rates_and_weights(items, seed)
        recording = poisson_recording(rate, weight, days, seed + 1000)
        replay = Replay(recording, share * items, 0.0, days, ticks=40, warm=30.0)
        oracle = Strategy(Index("freshness"), partial(KnownRates, rate))
        best = replay.score(oracle, seed).freshness
        for name in names:
            reached = replay.score(RIVALS[name], seed).freshness
            rows[name].append((reached, reached / best))
    return [_row(name, np.array(values)) for name, values in rows.items()]


def _row(name: str, values: Floats) -> dict[str, object]:
    return {
        "policy": name,
        "freshness": mean_interval(values[:, 0])._asdict(),
        "of_oracle": mean_interval(values[:, 1])._asdict(),
        "seeds": int(values.shape[0]),
    }
