"""The scores of a round of queries, given the true records.

Liu, Xiao and Yang, "A Sample-Guided Approach to Incremental Structured Web Database
Crawling", section II.D; Eq. 1 is lost in print and CCR is defined nowhere, so both
are given here as their tables need them.
"""

from collections.abc import Collection
from dataclasses import dataclass
from math import nan

from halflife.queries.fresh.harvest import Harvest


@dataclass(frozen=True, slots=True)
class RoundScores:
    """Coverage and cost of a round.

    Attributes:
        tcr: Total coverage: different records crawled / records there (Eq. 1).
        ccr: Coverage of the copy afterwards: (records of old that are still there +
            new ones crawled) / records there = 1 - (1 - ICR) times the share of new
            records. (The tables of the paper fit this and nothing else.)
        icr: Incremental coverage: new records crawled / new records there (Eq. 2).
        pnr: New records crawled / records returned, the same one counted as often as
            it was returned (Eq. 3).
        gone: Share of the deleted records that the round found missing.
        false: Share of the records it found missing that still exist.
        requests: Requests, sample and probes included.

    """

    tcr: float
    ccr: float
    icr: float
    pnr: float
    gone: float
    false: float
    requests: int


def scores(
    harvest: Harvest, before: Collection[str], now: Collection[str]
) -> RoundScores:
    """Return the scores of a round, given the copy before and all records now.

    >>> done = Harvest(new={"c": {}}, requests=2, returned=4, unique=3)
    >>> scores(done, {"a", "b"}, {"a", "b", "c", "d"})
    RoundScores(tcr=0.75, ccr=0.75, icr=0.5, pnr=0.25, gone=nan, false=nan, requests=2)
    """
    there, held = set(now), set(before)
    fresh, deleted = there - held, held - there
    new = len(fresh & harvest.new.keys())
    return RoundScores(
        tcr=_share(harvest.unique, len(there)),
        ccr=_share(len(there & held) + new, len(there)),
        icr=_share(new, len(fresh)),
        pnr=_share(new, harvest.returned),
        gone=_share(len(deleted & harvest.absent), len(deleted)),
        false=_share(len(there & harvest.absent), len(harvest.absent)),
        requests=harvest.requests,
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else nan


def requests_to(curve: Collection[tuple[int, int]], new: float) -> int | None:
    """Return the requests after which so many new records were found; None if never.

    >>> requests_to([(3, 5), (7, 9)], 6)
    7
    """
    return next((requests for requests, found in curve if found >= new), None)
