"""Listings that never were: objects that come in batches, change and go.

Objects belong to owners; a few owners have most of them. They come in batches of one
owner, on weekdays as the published statistics say, in good and bad weeks. They last as
a Weibull law says, and some go when their owner next cleans up. Snapshots see all this
only when they are taken.
"""

from dataclasses import dataclass
from itertools import product
from math import gamma

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Bools, Floats, Ints
from halflife.worlds.calibration import Statistics

LONGEST = 360.0  # days of a listing that is looked at daily
OFTEN, SOME_DAYS = 2.0, 14.0  # looks a day of one that lasts only so many days
UNEQUAL = 0.9  # exponent of how unequally owners share the objects
CLEANED, CLEAN_UP = 0.3, 4.0  # share of objects that wait for a clean-up; days between
APART = 0.75  # size of a batch, as a share of what comes from an owner in a day
EAGER = 1.0  # shape of the gamma law by which objects differ in how often they change
MOVES = 0.2  # share of updates that change the place, not the value
PLACES, NOUNS = 24, 160
LONGEST_LIFE = 1e9  # mean days of what is never seen to go


@dataclass(frozen=True)
class ListingHistory:
    """What snapshots of a listing saw; times in days of the story.

    Attributes:
        looks: When snapshots were taken, ascending.
        owner: The owner of each object.
        title: A few words for each, as numbers.
        place: Its place at first.
        value: Its number at first.
        first: The first look that has it.
        last: The last look that has it.
        changed: The object of each change that a look found, in order.
        look: The look that found it.
        daily: Whether looks are days, not moments.

    """

    looks: Floats
    owner: Ints
    title: Ints
    place: Ints
    value: Floats
    first: Ints
    last: Ints
    changed: Ints
    look: Ints
    daily: bool


def listing(rng: Generator, told: Statistics, size: float) -> ListingHistory:
    """Return a listing with this share of the objects of the one it is like."""
    often = told["looks_a_day"] > OFTEN
    days = min(told["days"], SOME_DAYS if often else LONGEST)
    looks = _looks(rng, told["looks_a_day"], days)
    groups = max(round(told["groups"] * size), 3)
    law = (1.0 + np.arange(groups)) ** -UNEQUAL
    law = law / law.sum()
    scale, shape = _life(told)
    old = max(round(told["objects"] * size), 1)
    came, owner = _arrivals(rng, told, size, days, law)
    begin = np.concatenate([np.full(old, -1.0), came])
    owner = np.concatenate([rng.choice(groups, old, p=law), owner])
    # What comes between two looks is seen first by the later one.
    early = 0.5 * min(1.0 / told["looks_a_day"], 1.0)
    life = early + np.concatenate(
        [
            residual(rng, scale, shape, old) + 1.0,
            scale * rng.weibull(shape, came.size),
        ]
    )
    end = begin + life if often else _cleaned(rng, begin + life, owner)
    first, last = np.searchsorted(looks, begin), np.searchsorted(looks, end) - 1
    seen = first <= last
    first, last = first[seen], last[seen]
    changed, look = _updates(rng, told, looks, first, last)
    return ListingHistory(
        looks=looks,
        owner=owner[seen],
        title=rng.integers(NOUNS, size=(first.size, 3)),
        place=rng.integers(PLACES, size=first.size),
        value=np.asarray(np.exp(rng.normal(6.0, 1.2, first.size)), np.float64),
        first=first,
        last=last,
        changed=changed,
        look=look,
        daily=not often,
    )


def _looks(rng: Generator, a_day: float, days: float) -> Floats:
    """Return when snapshots are taken: at even times, or on some of the days."""
    if a_day > OFTEN:
        return np.arange(0.0, days, 1.0 / a_day)
    chosen = rng.random(int(days) + 1) < a_day
    chosen[[0, -1]] = True
    return np.flatnonzero(chosen).astype(np.float64)


def _life(told: Statistics) -> tuple[float, float]:
    """Return scale and shape of a Weibull law with the published rate of deaths.

    In the long run as many go as come, so the mean life is one over that rate. A
    shape far below 1 is that of a law with two kinds of objects; half is the least.
    """
    shape = max(told["shape"], 0.5)
    mean = min(1.0 / max(told["deaths"], 1e-9), LONGEST_LIFE)
    return mean / gamma(1.0 + 1.0 / shape), shape


def residual(rng: Generator, scale: float, shape: float, many: int) -> Floats:
    """Return how long objects last from now on that are there at a random moment.

    A moment falls into long lives more often: lives are drawn by their length, and
    the moment lies anywhere in them.
    """
    lives = scale * rng.weibull(shape, max(50 * many, 1000))
    chosen = rng.choice(lives, many, p=lives / lives.sum())
    return np.asarray(chosen * rng.random(many))


def _arrivals(
    rng: Generator, told: Statistics, size: float, days: float, law: Floats
) -> tuple[Floats, Ints]:
    """Return when objects come, in batches, and whose they are."""
    count = int(np.ceil(days))
    width = 1 if told["looks_a_day"] > OFTEN else 7
    excess = max(told["arrivals_excess"], 0.01)
    weeks = rng.gamma(1.0 / excess, excess, count // width + 1)
    weekday = 7.0 * np.tile(told["weekday"], count // 7 + 1)[:count]
    if told["looks_a_day"] < 0.5:  # its weekdays are those of the looks
        weekday = np.ones(count)
    # Batches that fall on the same day look like one: they are smaller than that.
    batch = max(APART * told["batch"], 1.0)
    mean = told["arrivals"] * size / batch
    batches = rng.poisson(mean * weekday * np.repeat(weeks, width)[:count])
    # Looks are at the beginning of days: what a look finds came the day before.
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
    rng: Generator, told: Statistics, looks: Floats, first: Ints, last: Ints
) -> tuple[Ints, Ints]:
    """Return which object had changed at which look, each pair once, in order."""
    gap = float(np.mean(np.diff(looks)))
    seen = min(told["updates"] * gap, 0.95)
    mean = EAGER * ((1.0 - seen) ** (-1.0 / EAGER) - 1.0)  # of what a gap brings
    each = last - first
    pace = mean * rng.gamma(EAGER, 1.0 / EAGER, first.size)
    count = rng.poisson(pace * each)
    item = np.repeat(np.arange(first.size), count)
    look = first[item] + 1 + np.floor(rng.random(item.size) * each[item])
    code = np.unique(item * np.int64(looks.size + 1) + look.astype(np.int64))
    changed, at = np.divmod(code, looks.size + 1)
    return changed, at


NAMES = tuple("".join(p) for p in product("bdgklmnprst", "aeiou", "lnrst"))


def name(number: int) -> str:
    """Return a made-up name, another one for each number.

    >>> name(0), name(1), name(275)
    ('Bal', 'Ban', 'Balban')
    """
    more, one = divmod(number, len(NAMES))
    return (NAMES[one] + (NAMES[more] if more else "")).capitalize()
