"""The best cut of blocks of objects in two, and its significance."""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from halflife.core import lazy_scipy
from halflife.core.arrays import Floats, Ints

SIMULATIONS = 999


class Cut(NamedTuple):
    """The best split of blocks in two.

    Attributes:
        gain: Twice the log-likelihood ratio of two rates against one.
        left: The blocks of one side, ascending.
        chance: The probability of such a gain under equal rates, over all possible cuts
            of the blocks.

    """

    gain: float
    left: tuple[int, ...]
    chance: float


class Blocks(NamedTuple):
    """Objects counted by category, or by range of a number.

    Attributes:
        deaths: Ends in each block.
        time: Days at risk in each block.
        ordered: Whether only adjacent blocks may stay together (ranges of a number).
        loose: Whether the last block (missing values) may go to either side.

    """

    deaths: Floats
    time: Floats
    ordered: bool
    loose: bool


def best_cut(
    blocks: Blocks, least: float, widened: float, rng: Generator, level: float
) -> Cut:
    """Return the best cut that leaves each side ``least`` expected ends.

    With d ends in E days at risk on either side, a cut gains 2 (sum of d log(d/E) over
    sides - d log(d/E) of all). The best of all splits of categories cuts the list
    sorted by rate (Breiman et al., CART, 1984, s. 9.4), so a scan finds it.

    ``chance`` is an upper bound where that decides whether it is below ``level``,
    otherwise simulated with as many ends as were seen, distributed at random in
    proportion to the days at risk. The bound: no cut gains more than all blocks
    separately, which is chi-squared with one degree of freedom fewer than blocks.
    ``widened`` is the dispersion by which gains are divided first.
    """
    gains, sides = _scan(blocks.deaths[None], blocks, least)
    where = int(np.argmax(gains[0]))
    gain = float(gains[0, where])
    left = tuple(sorted(np.flatnonzero(sides(0, where)).tolist()))
    if not np.isfinite(gain):
        return Cut(0.0, (), 1.0)
    scaled, free = gain / widened, int(np.count_nonzero(blocks.time)) - 1
    bound = _beyond(free, scaled)
    if bound <= level or _beyond(1, scaled) > level:
        return Cut(gain, left, bound)
    share = blocks.time / blocks.time.sum()
    total = int(blocks.deaths.sum())
    drawn = rng.multinomial(total, share, size=SIMULATIONS).astype(np.float64)
    rival, _ = _scan(drawn, blocks, least)
    reached = int(np.count_nonzero(rival.max(axis=1) >= scaled))
    return Cut(gain, left, (1 + reached) / (1 + SIMULATIONS))


def _beyond(free: int, value: float) -> float:
    """Return the probability that chi-squared exceeds a value."""
    return float(lazy_scipy.gammaincc(max(free, 1) / 2.0, max(value, 0.0) / 2.0))


def gain_of(deaths: Floats, time: Floats) -> Floats:
    """Return d log(d/E), the log-likelihood of a rate at its best, less d.

    >>> gain_of(np.array([0.0, 2.0]), np.array([1.0, 2.0]))
    array([0., 0.])
    """
    positive = (deaths > 0) & (time > 0)
    ratio = np.divide(deaths, time, out=np.ones_like(deaths), where=positive)
    return deaths * np.log(ratio)


def carried_gain(early: Blocks, late: Blocks, side: Ints) -> float:
    """Return the log-likelihood that early rates by side gain later over one rate.

    sum over sides of d log(r/r0) - (r - r0) E, with d and E of ``late`` and the
    rates r and r0 of ``early``, each with half an end added so that none is 0.
    """
    e, et = (np.bincount(side, v, 2) for v in (early.deaths, early.time))
    d, dt = (np.bincount(side, v, 2) for v in (late.deaths, late.time))
    if np.any(et <= 0):
        return 0.0
    rate, one = (e + 0.5) / et, (e.sum() + 0.5) / et.sum()
    return float((d * np.log(rate / one) - (rate - one) * dt).sum())


class _Sides:
    """The blocks left of each cut, computed on demand."""

    def __init__(self, orders: list[Ints]) -> None:
        self._orders = orders

    def __call__(self, row: int, cut: int) -> Ints:
        order = self._orders[cut // (self._orders[0].shape[1] - 1)]
        position = cut % (order.shape[1] - 1)
        left = np.zeros(order.shape[1], dtype=np.intp)
        left[order[min(row, order.shape[0] - 1), : position + 1]] = 1
        return left


def _scan(deaths: Floats, blocks: Blocks, least: float) -> tuple[Floats, _Sides]:
    """Return the gain of every cut of every row of deaths; -inf where too small."""
    orders = _orders(deaths, blocks)
    count = blocks.time.size
    if count < 2:
        return np.full((deaths.shape[0], 1), -np.inf), _Sides(
            [np.zeros((1, 2), np.intp)]
        )
    gains = [_gains(deaths, blocks.time, order, least) for order in orders]
    return np.concatenate(gains, axis=1), _Sides(orders)


def _orders(deaths: Floats, blocks: Blocks) -> list[Ints]:
    count = blocks.time.size
    if blocks.ordered:
        plain = np.arange(count)[None]
        return [plain, np.roll(plain, 1, axis=1)] if blocks.loose else [plain]
    rate = deaths / np.maximum(blocks.time, 1e-300)
    return [np.argsort(rate, axis=1, kind="stable")]


def _gains(deaths: Floats, time: Floats, order: Ints, least: float) -> Floats:
    order = np.broadcast_to(order, deaths.shape)
    d = np.cumsum(np.take_along_axis(deaths, order, axis=1), axis=1)
    t = np.cumsum(time[order], axis=1)
    left, right = (d[:, :-1], t[:, :-1]), (d[:, -1:] - d[:, :-1], t[:, -1:] - t[:, :-1])
    whole = gain_of(d[:, -1:], t[:, -1:])
    gain = 2.0 * (gain_of(*left) + gain_of(*right) - whole)
    smaller = np.minimum(left[1], right[1]) * d[:, -1:] / np.maximum(t[:, -1:], 1e-300)
    result: Floats = np.where(smaller >= least, gain.clip(0.0), -np.inf)
    return result
