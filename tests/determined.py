"""A small world, planned: prints the plan's bytes; run with different hash seeds."""

import sys

import numpy as np

from halflife.core.budget import Budget
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.policies.champion import champion
from halflife.policies.shortlist import Shortlist
from halflife.stores.sqlite import SqliteStore

NOW = 20_000.0


def item(number: int) -> Item:
    host = f"h{number % 5}.example"
    return Item(f"https://{host}/f{number % 3}/{number}", "site", group=host)


def fill(store: SqliteStore) -> None:
    """Look at sixty items, again and again."""
    rng = np.random.default_rng(0)
    store.add(item(i) for i in range(60))
    run = store.begin(["site"], NOW - 9.0, lease=99.0)
    for day in range(6):
        rows = rng.choice(60, 30, replace=False).tolist()
        store.append(
            run,
            Observations.of(
                Observation(
                    item(i).key,
                    NOW - 9.0 + day + i / 100.0,
                    Seen.PRESENT,
                    str(rng.integers(3)),
                )
                for i in rows
            ),
        )
    store.finish(run, NOW - 3.0)


def main() -> None:
    with SqliteStore.open(sys.argv[1], create=True) as store:
        if not store.items():
            fill(store)
        evidence = store.evidence(["site"])
        belief, policy = champion.belief(), champion.policy
        view = belief(evidence, NOW, NOW)
        plans = [
            policy(view, Budget(20), np.random.default_rng(3)),
            Shortlist(champion.belief(), policy, size=16, block=16).plan(
                evidence, NOW, NOW, Budget(2), np.random.default_rng(3)
            ),
        ]
    for plan in plans:
        for step, gain in zip(plan, plan.gain.tolist(), strict=True):
            print(step.request.key, gain.hex(), step.why)  # noqa: T201


if __name__ == "__main__":
    main()
