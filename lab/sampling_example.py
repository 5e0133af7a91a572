"""The worked example of sampling with correlation, in the real loop.

Two sites of 100 pages; five categories of 40 pages, 20 from each site; 100 requests
(Taleghani and Ugur-Ozekinci, s. 2.3, Table 1). ``python -m
lab.sampling_example`` prints the mean ChangeRatio over 300 seeds, with
intervals. The paper, whose samples show the exact shares, has 0.66 and 0.77.
"""

import json
import sys

import numpy as np

from halflife.belief.plain import PlainRates
from halflife.core.arrays import Floats
from halflife.metrics.intervals import mean_interval
from halflife.policies import Strategy
from halflife.policies.sampling import Sampling, Spend, topic_sampling
from halflife.policies.sampling.sizes import FixedSize
from halflife.recordings.pages import Recording
from halflife.replay.pages import Replay

CHANGES = {"A": (20, 20, 20, 10, 0), "B": (20, 10, 0, 0, 0)}  # by category
SEEDS = 300


def example(times: int = 1) -> Replay:
    """Return the example, each page ``times`` over; what changes does so by day 1."""
    pages = [
        (f"{site}/C{c}/{page}", site, page < times * changed)
        for site, row in CHANGES.items()
        for c, changed in enumerate(row, start=1)
        for page in range(times * 20)
    ]
    keys, group, changed = zip(*pages, strict=True)
    n = len(keys)
    recording = Recording(
        keys=keys,
        start=np.concatenate([[0], np.cumsum(changed)]).astype(np.intp),
        at=np.full(sum(changed), 0.5),
        weight=np.ones(n),
        born=np.full(n, -np.inf),
        died=np.full(n, np.inf),
        group=group,
    )
    return Replay(recording, 100.0 * times, 0.0, 2.0, ticks=1)


def by_site(samples: int = 10, spend: Spend = "greedy") -> Strategy:
    """Return sampling without correlation."""
    return Strategy(Sampling(spend=spend, size=FixedSize(samples)), PlainRates)


def by_topic(replay: Replay, samples: int = 4) -> Strategy:
    """Return sampling with correlation."""
    topics = {key: (key.split("/")[1],) for key in replay.recording.keys}
    return topic_sampling(topics, size=FixedSize(samples))


def ratios(replay: Replay, strategy: Strategy, seeds: int = SEEDS) -> Floats:
    """Return the ChangeRatio for each seed."""
    found = [replay.score(strategy, seed).change_ratio for seed in range(seeds)]
    return np.array(found)


if __name__ == "__main__":
    once = example()
    rivals = {
        "by site": by_site(),
        "by site, proportional": by_site(spend="proportional"),
        "by topic": by_topic(once),
    }
    told = {
        name: mean_interval(ratios(once, strategy))._asdict()
        for name, strategy in rivals.items()
    }
    sys.stdout.write(json.dumps(told, indent=1))
