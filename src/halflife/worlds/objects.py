"""Made-up listings: objects that come in batches, change and go.

Objects belong to owners; a few owners have most of them. They come in batches of one
owner, on weekdays by the published statistics, in good and bad weeks. Their lifetimes
follow a Weibull law, and some go when their owner next cleans up. Snapshots see all
this only when they are taken.
"""

from dataclasses import dataclass
from itertools import product
from math import gamma

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Bools, Floats, Ints
from halflife.worlds.calibration import Statistics

LONGEST = 360.0  # days of a listing with daily snapshots
OFTEN, SOME_DAYS = 2.0, 14.0  # snapshots a day from which a listing lasts so many days
UNEQUAL = 0.9  # exponent of the Zipf law by which owners share the objects
CLEANED, CLEAN_UP = 0.3, 4.0  # share of objects that wait for a clean-up; days between
APART = 0.75  # size of a batch, as a share of what comes from an owner in a day
EAGER = 1.0  # shape of the gamma law by which objects differ in how often they change
MOVES = 0.2  # share of updates that change the place, not the value
PLACES, NOUNS = 24, 160
LONGEST_LIFE = 1e9  # mean days of objects that are never seen to go


@dataclass(frozen=True)
class ListingHistory:
    """The history of a listing as snapshots saw it; times in days of the story.

    Attributes:
        taken: When snapshots were taken, ascending.
        owner: The owner of each object.
        title: A few words for each, as numbers.
        place: Its first place.
        value: Its first value.
        first: The first snapshot that has it.
        last: The last snapshot that has it.
        changed: The object of each change that a snapshot found, in order.
        found_by: The snapshot that found it.
        daily: Whether snapshots have dates only, not times of day.

    """

    taken: Floats
    owner: Ints
    title: Ints
    place: Ints
    value: Floats
    first: Ints
    last: Ints
    changed: Ints
    found_by: Ints
    daily: bool


def listing(rng: Generator, statistics: Statistics, size: float) -> ListingHistory:
    """Return a listing like a recorded one, with ``size`` times its objects."""
    often = statistics["looks_a_day"] > OFTEN
    days = min(statistics["days"], SOME_DAYS if often else LONGEST)
    taken = _snapshot_times(rng, statistics["looks_a_day"], days)
    groups = max(round(statistics["groups"] * size), 3)
    law = (1.0 + np.arange(groups)) ** -UNEQUAL
    law = law / law.sum()
    scale, shape = _life(statistics)
    old = max(round(statistics["objects"] * size), 1)
    came, owner = _arrivals(rng, statistics, size, days, law)
    begin = np.concatenate([np.full(old, -1.0), came])
    owner = np.concatenate([rng.choice(groups, old, p=law), owner])
    # What comes between two snapshots is first seen by the later one.
    early = 0.5 * min(1.0 / statistics["looks_a_day"], 1.0)
    life = early + np.concatenate(
        [
            residual(rng, scale, shape, old) + 1.0,
            scale * rng.weibull(shape, came.size),
        ]
    )
    end = begin + life if often else _cleaned(rng, begin + life, owner)
    first, last = np.searchsorted(taken, begin), np.searchsorted(taken, end) - 1
    seen = first <= last
    first, last = first[seen], last[seen]
    changed, found_by = _updates(rng, statistics, taken, first, last)
    return ListingHistory(
        taken=taken,
        owner=owner[seen],
        title=rng.integers(NOUNS, size=(first.size, 3)),
        place=rng.integers(PLACES, size=first.size),
        value=np.asarray(np.exp(rng.normal(6.0, 1.2, first.size)), np.float64),
        first=first,
        last=last,
        changed=changed,
        found_by=found_by,
        daily=not often,
    )


def _snapshot_times(rng: Generator, a_day: float, days: float) -> Floats:
    """Return when snapshots are taken: at even times, or on some of the days."""
    if a_day > OFTEN:
        return np.arange(0.0, days, 1.0 / a_day)
    chosen = rng.random(int(days) + 1) < a_day
    chosen[[0, -1]] = True
    return np.flatnonzero(chosen).astype(np.float64)


def _life(statistics: Statistics) -> tuple[float, float]:
    """Return scale and shape of a Weibull law with the published rate of deaths.

    In the long run as many objects go as come, so the mean life is one over that rate.
    A shape far below 1 is that of a law with two kinds of objects; 0.5 is the least.
    """
    shape = max(statistics["shape"], 0.5)
    mean = min(1.0 / max(statistics["deaths"], 1e-9), LONGEST_LIFE)
    return mean / gamma(1.0 + 1.0 / shape), shape


def residual(rng: Generator, scale: float, shape: float, many: int) -> Floats:
    """Return the remaining lifetimes of objects that exist at a random moment.

    A moment is more likely to fall into long lifetimes: these are drawn in proportion
    to their length, and the moment is uniform within them.
    """
    lives = scale * rng.weibull(shape, max(50 * many, 1000))
    chosen = rng.choice(lives, many, p=lives / lives.sum())
    return np.asarray(chosen * rng.random(many))


def _arrivals(
    rng: Generator, statistics: Statistics, size: float, days: float, law: Floats
) -> tuple[Floats, Ints]:
    """Return when objects come, in batches, and their owners."""
    count = int(np.ceil(days))
    width = 1 if statistics["looks_a_day"] > OFTEN else 7
    excess = max(statistics["arrivals_excess"], 0.01)
    weeks = rng.gamma(1.0 / excess, excess, count // width + 1)
    weekday = 7.0 * np.tile(statistics["weekday"], count // 7 + 1)[:count]
    if statistics["looks_a_day"] < 0.5:  # its weekdays are those of the snapshots
        weekday = np.ones(count)
    # Batches that come on the same day seem to be one: they are smaller than that.
    batch = max(APART * statistics["batch"], 1.0)
    mean = statistics["arrivals"] * size / batch
    batches = rng.poisson(mean * weekday * np.repeat(weeks, width)[:count])
    # Snapshots are taken at the beginning of days and show what came the day before.
    at = np.repeat(np.arange(count), batches) - rng.random(int(batches.sum()))
    many = rng.geometric(1.0 / batch, at.size)
    owner = rng.choice(law.size, at.size, p=law)
    return np.repeat(at, many), np.repeat(owner, many)


def _cleaned(rng: Generator, end: Floats, owner: Ints) -> Floats:
    """Return when objects go; some go together, when their owner cleans up."""
    phase = rng.random(int(owner.max(initial=0)) + 1)[owner]
    later = CLEAN_UP * (np.ceil(end / CLEAN_UP - phase) + phase)
    waits: Bools = rng.random(end.size) < CLEANED
    return np.where(waits, later, end)


def _updates(
    rng: Generator, statistics: Statistics, taken: Floats, first: Ints, last: Ints
) -> tuple[Ints, Ints]:
    """Return which object changed by which snapshot, each pair once, in order."""
    gap = float(np.mean(np.diff(taken)))
    seen = min(statistics["updates"] * gap, 0.95)
    mean = EAGER * ((1.0 - seen) ** (-1.0 / EAGER) - 1.0)  # changes within a gap
    length = last - first
    pace = mean * rng.gamma(EAGER, 1.0 / EAGER, first.size)
    count = rng.poisson(pace * length)
    item = np.repeat(np.arange(first.size), count)
    found_by = first[item] + 1 + np.floor(rng.random(item.size) * length[item])
    code = np.unique(item * np.int64(taken.size + 1) + found_by.astype(np.int64))
    changed, at = np.divmod(code, taken.size + 1)
    return changed, at


NAMES = tuple("".join(p) for p in product("bdgklmnprst", "aeiou", "lnrst"))


def name(number: int) -> str:
    """Return a made-up name, different for each number.

    >>> name(0), name(1), name(275)
    ('Bal', 'Ban', 'Balban')
    """
    more, first = divmod(number, len(NAMES))
    return (NAMES[first] + (NAMES[more] if more else "")).capitalize()
