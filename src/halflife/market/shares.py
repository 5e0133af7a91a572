"""Requests a day for each source, at one price for all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.core.value_curve import Worth
from halflife.market.limits import FREE, Limits

_LEVEL = 1e-12  # a slope below this buys nothing


@dataclass(frozen=True, slots=True)
class Shares:
    """The shares of sources in a budget, in the given order.

    Attributes:
        sources: Their names.
        requests: Requests a day.
        quality: The quality that they buy, on the concave hull of each value curve.
        total: The weighted mean of the qualities.
        price: Weighted quality that one more request a day would buy; 0 if none.
        host_price: The price at each source: higher where its own limit, or that of
            its host, keeps it from more requests.
        short: Requests a day by which the least requests of all exceed the budget.

    """

    sources: tuple[str, ...]
    requests: Floats
    quality: Floats
    total: float
    price: float
    host_price: Floats
    short: float = 0.0

    @property
    def spent(self) -> float:
        """All requests a day; less than the budget if no more can be used."""
        return float(self.requests.sum())


class _Pieces(NamedTuple):
    """Linear pieces of value curves.

    Attributes:
        source: The source of each.
        length: Requests a day that it covers, within the limits of the source.
        whole: The same without the limits of the source.
        slope: Weighted quality per request.

    """

    source: Ints
    length: Floats
    whole: Floats
    slope: Floats


def hull(requests: Floats, quality: Floats) -> tuple[Floats, Floats]:
    """Return the corners of the concave hull of a curve.

    A point between two corners stands for alternating between them. After the best
    quality further requests buy nothing.

    >>> hull(np.array([0.0, 1, 2, 3]), np.array([0.0, 0.1, 0.8, 0.8]))
    (array([0., 2., 3.]), array([0. , 0.8, 0.8]))
    """
    best = np.maximum.accumulate(quality)
    kept: list[int] = []
    for i in range(requests.size):
        while len(kept) > 1 and _sags(requests, best, kept[-2], kept[-1], i):
            kept.pop()
        kept.append(i)
    return requests[kept], best[kept]


def _sags(x: Floats, y: Floats, a: int, b: int, c: int) -> bool:
    """Return whether the middle of three points is on or below the line."""
    return bool((y[b] - y[a]) * (x[c] - x[a]) <= (y[c] - y[a]) * (x[b] - x[a]))


def share(worths: Sequence[Worth], budget: float, limits: Limits = FREE) -> Shares:
    """Return the requests a day that maximise the weighted mean quality.

    Maximises sum(weight * quality(requests)) subject to the budget, to the least and
    most requests of each source, and to the limits of hosts. Each curve is a chain of
    pieces of falling slope, and the limits are nested, so taking pieces in the order of
    slopes is exact; ties are broken by name. If the least requests of all do not fit
    they are reduced in proportion, and ``short`` is the difference.
    """
    if not budget >= 0:
        raise ValueError(f"a budget cannot be negative, got {budget}")
    names = tuple(worth.source for worth in worths)
    if not names:
        return Shares((), np.zeros(0), np.zeros(0), 1.0, 0.0, np.zeros(0))
    curves = [hull(worth.requests, worth.quality) for worth in worths]
    group, room = limits.hosts(names)
    least, short = _fitted(limits.fewest(names), group, room, budget)
    weight = np.array([worth.weight for worth in worths])
    pieces = _pieces(curves, weight, least, limits.caps(names))
    order = _by_slope(pieces, names)
    left = room - np.bincount(group, least, room.size)
    fits = _room_of_host(pieces, order, group, left)
    whole = np.cumsum(fits[order])
    rest = budget - float(least.sum())
    got = np.clip(rest - (whole - fits[order]), 0.0, fits[order])
    given = least + np.bincount(pieces.source[order], got, len(names))
    quality = np.array(
        [np.interp(x, *curve) for x, curve in zip(given, curves, strict=True)]
    )
    price = _next_slope(pieces.slope[order], fits[order] - got)
    lacks = pieces.whole[order] - got
    own = [
        max(price, _next_slope(pieces.slope[order][mine], lacks[mine]))
        for mine in (pieces.source[order] == i for i in range(len(names)))
    ]
    total = float(weight @ quality / weight.sum()) if weight.sum() > 0 else 1.0
    return Shares(names, given, quality, total, price, np.array(own), short)


def _pieces(
    curves: Sequence[tuple[Floats, Floats]], weight: Floats, least: Floats, caps: Floats
) -> _Pieces:
    """Return the pieces of each source beyond its least requests, in order.

    A piece that buys nothing is left out. A piece beyond the source's most requests is
    kept with length 0, so that its price is known.
    """
    pieces: list[tuple[Ints, Floats, Floats, Floats]] = []
    for i, (x, y) in enumerate(curves):
        low = np.maximum(x[:-1], least[i])
        high = np.maximum(np.minimum(x[1:], caps[i]), low)
        slope = weight[i] * np.diff(y) / np.diff(x)
        useful = (slope > _LEVEL) & (x[1:] > least[i])
        number = np.full(int(useful.sum()), i)
        pieces.append(
            (number, (high - low)[useful], (x[1:] - low)[useful], slope[useful])
        )
    none = np.zeros(0)
    source, length, whole, slope = (
        np.concatenate([*column, none]) for column in zip(*pieces, strict=True)
    )
    return _Pieces(source.astype(np.intp), length, whole, slope)


def _by_slope(pieces: _Pieces, names: Sequence[str]) -> Ints:
    """Return the order in which pieces are bought."""
    rank = np.empty(len(names), dtype=np.intp)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    place = np.arange(pieces.source.size)
    return np.lexsort((place, rank[pieces.source], -pieces.slope))


def _room_of_host(pieces: _Pieces, order: Ints, group: Ints, left: Floats) -> Floats:
    """Return how much of each piece fits into its host's limit, best pieces first."""
    fits = pieces.length.copy()
    of = group[pieces.source]
    for host in np.flatnonzero(np.isfinite(left)).tolist():
        mine = order[of[order] == host]
        before = np.cumsum(pieces.length[mine]) - pieces.length[mine]
        fits[mine] = np.clip(left[host] - before, 0.0, pieces.length[mine])
    return fits


def _fitted(
    least: Floats, group: Ints, room: Floats, budget: float
) -> tuple[Floats, float]:
    """Return the least requests that hosts and the budget allow, and the shortfall."""
    requested = np.bincount(group, least, room.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(requested > room, room / requested, 1.0)
    inside = least * share[group]
    spent = float(inside.sum())
    if spent > budget:
        inside = inside * (budget / spent)
    return inside, float(least.sum() - inside.sum())


def _next_slope(slope: Floats, left: Floats) -> float:
    """Return the slope of the first piece that is not used up."""
    unused = np.flatnonzero(left > 1e-9)
    return float(slope[unused[0]]) if unused.size else 0.0
