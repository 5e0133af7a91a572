"""The quality that requests buy at a source in the long run."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Worth:
    """Quality of a source's copy against the requests a day that are spent on it.

    Quality lies between 0 and 1 for every measure: the share of pages that are up to
    date, the recall of a list, the share of tuples that are true, the share of time in
    which a summary holds. So a point of quality at one source can be compared with a
    point at another, by the weights.

    Attributes:
        source: The source.
        measure: The measure of quality: ``freshness``, ``recall``, ``content``,
            ``summary``.
        weight: How much a point of its quality matters.
        requests: Requests a day, ascending, from 0 on.
        quality: Mean quality over time at each number of requests.
        low: Its lower bound.
        high: Its upper bound.

    """

    source: str
    measure: str
    weight: float
    requests: Floats
    quality: Floats
    low: Floats
    high: Floats

    def __post_init__(self) -> None:
        if self.requests.size == 0 or self.requests[0] != 0.0:
            raise ValueError(f"{self.source}: worth must begin at no requests")
        if np.any(np.diff(self.requests) <= 0):
            raise ValueError(f"{self.source}: requests must ascend")

    def at(self, requests: float | Floats) -> Floats:
        """Return the mean quality at so many requests a day, interpolated linearly."""
        return np.asarray(np.interp(requests, self.requests, self.quality))

    def needed(self, level: float, *, sure: bool = False) -> float:
        """Return the requests a day that keep the mean quality at a level.

        ``inf`` if none do. With ``sure`` the lower bound has to reach it.
        """
        reached = np.maximum.accumulate(self.low if sure else self.quality)
        if reached[-1] < level:
            return float("inf")
        first = int(np.argmax(reached >= level))
        if first == 0:
            return 0.0
        share = (level - reached[first - 1]) / (reached[first] - reached[first - 1])
        step = self.requests[first] - self.requests[first - 1]
        return float(self.requests[first - 1] + share * step)


@dataclass(frozen=True, slots=True)
class Offers:
    """Possible next actions, one row for each.

    Attributes:
        sources: The names of the sources.
        source: The source of each offer, an index into ``sources``.
        cost: Requests that it costs.
        gain: The quality-days it gains, times the weight of the source: how much higher
            the mean quality would be if it were always done at this gain. Equal gains
            per request are worth the same at every source.

    """

    sources: tuple[str, ...]
    source: Ints
    cost: Floats
    gain: Floats

    def __len__(self) -> int:
        return self.cost.size


def join_offers(offers: Sequence[Offers]) -> Offers:
    """Return the offers of several sets of sources as one."""
    if len(offers) == 1:
        return offers[0]
    start = np.cumsum([0, *(len(offer.sources) for offer in offers)])
    return Offers(
        tuple(name for offer in offers for name in offer.sources),
        np.concatenate(
            [
                offer.source + first
                for offer, first in zip(offers, start[:-1], strict=True)
            ]
            or [np.zeros(0, dtype=np.intp)]
        ),
        np.concatenate([np.zeros(0), *(offer.cost for offer in offers)]),
        np.concatenate([np.zeros(0), *(offer.gain for offer in offers)]),
    )
