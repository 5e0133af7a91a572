"""A simulated web site: the changes of each of its pages.

Rates of change are distributed as on real sites, over five orders of magnitude; some
pages change in bursts, some at every fetch; a few deploys touch a tenth of the site
each; pages are deleted and created. The same seed makes the same world, so policies can
be compared on it, and the truth is known.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.recordings.pages import Recording

MEDIAN_RATE = 0.1  # changes a day
SPREAD = 1.8  # standard deviation of the logarithm of the rate
FASTEST = 24.0
RESTLESS = 0.02  # share of pages that differ at every fetch
RESTLESS_RATE = 96.0  # changes a day: four in the shortest time between fetches
BURSTY = 0.2  # share of pages whose changes come in bursts
BURST_SIZE = 3.0  # mean number of changes in one
BURST_DAYS = 0.1  # mean time between two of them
DEPLOYS = 3
TOUCHED = 0.1  # share of pages that a deploy touches
DELETED = 0.03
BORN = 0.03
HEAVIEST = 20

SECTIONS = ("docs", "guide", "news", "notes", "people", "prices", "status", "blog")


@dataclass(frozen=True)
class DemoWorld:
    """The history of every page of the site; times in days.

    Attributes:
        recording: The changes, creation and deletion of every page.
        rate: Changes a day of each page in the long run, bursts counted once.
        restless: Pages that differ at every fetch.
        seed: The seed of all random numbers.
        began: The start of the simulation.
        days: Its length.

    """

    recording: Recording
    rate: Floats
    restless: Bools
    seed: int
    began: float
    days: float

    def __len__(self) -> int:
        return len(self.recording)

    @property
    def paths(self) -> tuple[str, ...]:
        """The pages' paths on the site; they are the keys of the recording."""
        return self.recording.keys

    def version(self, page: Ints | int, t: float) -> Ints:
        """Return how often each page has changed by ``t``."""
        return self.recording.states(np.atleast_1d(np.asarray(page)), t)

    def alive(self, page: Ints | int, t: float) -> Bools:
        """Return whether each page exists at ``t``."""
        rows = np.atleast_1d(np.asarray(page))
        born, died = self.recording.born[rows], self.recording.died[rows]
        there: Bools = (born <= t) & (t < died)
        return there

    def truth(self, t: float) -> tuple[Ints, Bools]:
        """Return the version of every page, and whether it exists, at ``t``."""
        every = np.arange(len(self))
        return self.version(every, t), self.alive(every, t)

    def modified(self, page: int, t: float) -> float:
        """Return when a page last changed before ``t``; the start if never."""
        start, moments = self.recording.moments
        number = int(self.version(page, t)[0])
        return float(moments[start[page] + number - 1]) if number else self.began

    @cached_property
    def founders(self) -> Recording:
        """The history of the pages that exist from the start."""
        whole = self.recording
        # Pages created later come last.
        n = int(np.count_nonzero(whole.born <= self.began))
        return Recording(
            keys=whole.keys[:n],
            start=whole.start[: n + 1],
            at=whole.at[: whole.start[n]],
            weight=whole.weight[:n],
            born=whole.born[:n],
            died=whole.died[:n],
        )


def build(
    seed: int = 1, pages: int = 300, days: float = 40.0, began: float = 0.0
) -> DemoWorld:
    """Return the world of a seed; ``pages`` exist at the start."""
    rng = np.random.default_rng(seed)
    newborn = max(1, round(BORN * pages))
    n = pages + newborn
    rate = np.minimum(MEDIAN_RATE * np.exp(SPREAD * rng.standard_normal(n)), FASTEST)
    restless = _random_mask(rng, n, RESTLESS)
    rate[restless] = RESTLESS_RATE
    bursty = _random_mask(rng, n, BURSTY) & ~restless
    item, at = _changes(rng, rate, bursty, days)
    touched, when = _deploys(rng, n, days)
    item, at = np.concatenate([item, touched]), np.concatenate([at, when])
    born, died = _lifetimes(rng, n, newborn, days)
    order = np.lexsort((at, item))
    start = np.zeros(n + 1, dtype=np.intp)
    np.cumsum(np.bincount(item, minlength=n), out=start[1:])
    recording = Recording(
        keys=_paths(n),
        start=start,
        at=began + at[order],
        weight=_weights(rng, n),
        born=began + born,
        died=began + died,
    )
    bursts = np.where(bursty, rate / BURST_SIZE, rate)
    return DemoWorld(
        recording=recording,
        rate=bursts + DEPLOYS * TOUCHED / days,
        restless=restless,
        seed=seed,
        began=began,
        days=days,
    )


def _random_mask(rng: np.random.Generator, n: int, share: float) -> Bools:
    """Return a random mask with this share of ``n`` set, at least one."""
    chosen = np.zeros(n, dtype=np.bool_)
    chosen[rng.permutation(n)[: max(1, round(share * n))]] = True
    return chosen


def _changes(
    rng: np.random.Generator, rate: Floats, bursty: Bools, days: float
) -> tuple[Ints, Floats]:
    """Return when pages change: single changes, or bursts of the same mean rate."""
    count = rng.poisson(np.where(bursty, rate / BURST_SIZE, rate) * days)
    item = np.repeat(np.arange(rate.size), count)
    at = rng.uniform(0.0, days, item.size)
    more = np.where(bursty[item], rng.poisson(BURST_SIZE - 1.0, item.size), 0)
    # Each further change follows the one before it after a short wait.
    wait = rng.exponential(BURST_DAYS, int(more.sum()))
    burst = np.repeat(np.arange(more.size), more)
    later = np.cumsum(wait) - np.repeat(
        np.concatenate([[0.0], np.cumsum(wait)])[np.cumsum(more) - more], more
    )
    item = np.concatenate([item, item[burst]])
    at = np.concatenate([at, at[burst] + later])
    return item[at < days], at[at < days]


def _deploys(rng: np.random.Generator, n: int, days: float) -> tuple[Ints, Floats]:
    when = rng.uniform(0.1 * days, days, DEPLOYS)
    touched = [rng.permutation(n)[: round(TOUCHED * n)] for _ in when]
    size = [t.size for t in touched]
    return np.concatenate(touched), np.repeat(when, size)


def _lifetimes(
    rng: np.random.Generator, n: int, newborn: int, days: float
) -> tuple[Floats, Floats]:
    """Return when pages are created and deleted; those created later come last."""
    born, died = np.full(n, -np.inf), np.full(n, np.inf)
    born[n - newborn :] = rng.uniform(0.05, 0.9, newborn) * days
    deleted = _random_mask(rng, n - newborn, DELETED)
    died[: n - newborn][deleted] = rng.uniform(0.0, days, int(deleted.sum()))
    return born, died


def _weights(rng: np.random.Generator, n: int) -> Floats:
    """Return weights: most pages count once, a few up to twenty times."""
    return np.minimum(np.floor(rng.pareto(1.6, n) + 1.0), HEAVIEST)


def _paths(n: int) -> tuple[str, ...]:
    return tuple(f"/{SECTIONS[i % len(SECTIONS)]}/{i:04d}.html" for i in range(n))
