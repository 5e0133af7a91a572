"""Checks of summaries on recorded texts: what they find, and what they take.

Power: the documents that a database had in a week are summarised; then the database is
checked as it is, as it was weeks later, and with a share of its documents replaced by
another's, and the verdict is held against the divergence of its complete summaries.
Time: databases are looked at every week, some of which become another one on the way:
renewed each time, or checked and renewed only when a check is not passed.

The bounds of the check were found on recent documents of the sites of which 70 or more
are always there (``auditing_texts.databases``). None of those sites is used here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from halflife.core.search import Document
from halflife.kinds.search.dictionary import COMMON
from halflife.kinds.search.kind import SUMMARY
from halflife.kinds.search.runner import RESERVE
from halflife.kinds.search.selection import CHANGED
from halflife.probing.memory import InMemoryDatabase
from halflife.probing.query_sampling import query_based_sample
from halflife.probing.recheck import recheck
from halflife.probing.sample import Sample, frequency
from halflife.probing.size import estimate_size
from halflife.recordings import textdb
from halflife.summary.metrics import kl
from halflife.summary.weekly import Weekly
from lab.auditing_texts import FEWEST

LEAST, MOST = 100, 450  # documents of a database; of more, so many are drawn
MIXING = 2654435761  # by which numbers are put out of order (Knuth)
TRIALS, SPELLS = 20, 6  # databases whose checks are tried, and that are kept
SHARES = (0.5, 0.7, 0.8, 0.9, 1.0)  # of the documents, those of another database
LATER, WEEKS = 8, 14
BANDS = (0.0, 1e-9, 0.2, 0.35, 0.5, np.inf)  # divergences of complete summaries
PAGES = (20, 4)  # documents that a request shows


@dataclass(frozen=True, slots=True)
class Trial:
    """A check: how far the database truly is from its summary, and what came of it."""

    truth: float
    passed: bool
    requests: int


def databases(folder: Path, seed: int) -> tuple[Weekly, list[str]]:
    """Return all documents of sites, and some sites that no bound was found on."""
    weekly = textdb.load(folder)
    recent, weeks = weekly.recent(), range(weekly.recent().since, weekly.weeks)
    others = [
        site
        for site in weekly.sites
        if min(recent.present(site, week).size for week in weeks) < FEWEST
        and weekly.present(site, weekly.since).size >= LEAST
    ]
    return weekly, np.random.default_rng(seed).permutation(others).tolist()


def documents(weekly: Weekly, site: str, week: int, seed: int) -> list[Document]:
    """Return what a database had in a week; of very many, always the same ones."""
    rows = weekly.present(site, week)
    mixed_up = (rows.astype(np.uint64) + np.uint64(seed)) * np.uint64(MIXING)
    some = rows[np.argsort(mixed_up % np.uint64(2**32), kind="stable")[:MOST]]
    return [
        Document(str(weekly.page[row]), tuple(sorted(weekly.words[terms])))
        for row, terms in zip(some.tolist(), weekly.terms(some), strict=True)
    ]


def apart(old: Sequence[Document], new: Sequence[Document]) -> float:
    """Return the divergence of the complete summaries of two sets of documents."""
    return kl(frequency(old), frequency(new))


def sampled(database: InMemoryDatabase, rng: Generator) -> tuple[Sample, int]:
    """Return a sample as a summary of the service has it, and what that one takes."""
    page, most = database.page, SUMMARY - SUMMARY // RESERVE
    sample = query_based_sample(database, COMMON, rng, shown=page, requests=most)
    size = estimate_size(database, sample, rng, most=page)
    return sample, sample.requests + size.requests


def power(weekly: Weekly, sites: Sequence[str], page: int, seed: int) -> list[Trial]:
    """Return checks of databases that changed in known ways, or did not."""
    found = []
    for i in range(TRIALS):
        rng = np.random.default_rng([seed, i])
        site, other = sites[i % len(sites)], sites[(i + 1) % len(sites)]
        week = int(rng.integers(weekly.since, weekly.weeks - LATER))
        old = documents(weekly, site, week, seed)
        alien = documents(weekly, other, week, seed)
        sample, _ = sampled(InMemoryDatabase(old, page=page), rng)
        later = documents(weekly, site, week + LATER, seed)
        for new in (old, later, *(mixed(old, alien, s, rng) for s in SHARES)):
            told = checked(new, sample.documents, page, rng)
            found.append(Trial(apart(old, new), *told))
    return found


def mixed(
    mine: Sequence[Document], other: Sequence[Document], share: float, rng: Generator
) -> list[Document]:
    """Return a database of which a share of the documents is another's."""
    many = min(int(share * len(mine)), len(other))
    left = min(round(many * (1.0 - share) / share), len(mine))
    sides = (mine, left), (other, many)
    return [d[i] for d, n in sides for i in rng.permutation(len(d))[:n].tolist()]


def checked(
    new: Sequence[Document], old: Sequence[Document], page: int, rng: Generator
) -> tuple[bool, int]:
    """Return whether a check is passed, and the requests that it took."""
    database = _Counted(InMemoryDatabase(new, page=page))
    told = recheck(database, old, COMMON, rng, shown=page)
    return bool(told.holds), database.requests


class _Counted:
    """A database that counts what it is asked."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database, self.requests = database, 0

    def search(self, query: str, most: int, skip: int = 0) -> Any:  # noqa: ANN401
        answer = self._database.search(query, most, skip)
        self.requests += answer.requests
        return answer


def banded(found: Sequence[Trial]) -> list[dict[str, Any]]:
    """Return how many checks were not passed, by how far the truth is."""
    rows = []
    for low, high in pairwise(BANDS):
        some = [one for one in found if low <= one.truth < high]
        failed = sum(not one.passed for one in some)
        rows.append(
            {
                "from": low,
                "below": high if np.isfinite(high) else None,
                "checks": len(some),
                "not_passed": failed / max(len(some), 1),
                "requests": float(np.mean([one.requests for one in some] or [0])),
            }
        )
    return rows


@dataclass(slots=True)
class Kept:
    """What keeping a summary has taken, and for how many weeks it held."""

    requests: int = 0
    held: int = 0
    weeks: int = 0
    renewals: int = 0


def keep(
    weeks: Sequence[list[Document]], rng: Generator, *, checks: bool, page: int = 20
) -> Kept:
    """Return what came of a summary that is looked at every week.

    Whether it holds is asked at the end of each week, before the look: the complete
    summaries of then and of when it was made are no farther apart than ``CHANGED``.
    """
    kept = Kept()
    made, sample = weeks[0], sampled(InMemoryDatabase(weeks[0], page=page), rng)[0]
    for now in weeks[1:]:
        kept.weeks += 1
        kept.held += not apart(made, now) > CHANGED
        if checks:
            passed, requests = checked(now, sample.documents, page, rng)
            kept.requests += requests
            if passed:
                continue
        made, (sample, requests) = now, sampled(InMemoryDatabase(now, page=page), rng)
        kept.requests += requests
        kept.renewals += 1
    return kept


def spells(weekly: Weekly, sites: Sequence[str], seed: int) -> list[dict[str, Any]]:
    """Return what checks and renewals take, where databases change and do not."""
    found = []
    for spliced in (False, True):
        for checks in (False, True):
            each = []
            for i in range(SPELLS):
                rng = np.random.default_rng([seed, i, 1])
                turn = int(rng.integers(1, WEEKS)) if spliced else WEEKS
                names = sites[i % len(sites)], sites[(i + 1) % len(sites)]
                weeks = [
                    documents(weekly, names[k >= turn], weekly.since + k, seed)
                    for k in range(WEEKS)
                ]
                each.append(keep(weeks, rng, checks=checks))
            days = 7.0 * sum(one.weeks for one in each)
            found.append(
                {
                    "becomes_another": spliced,
                    "checks": checks,
                    "databases": len(each),
                    "requests_a_day": sum(one.requests for one in each) / days,
                    "renewals": sum(one.renewals for one in each),
                    "held": 7.0 * sum(one.held for one in each) / days,
                }
            )
    return found


def run(folder: Path, seed: int = 17) -> dict[str, Any]:
    """Return all figures of checks."""
    weekly, sites = databases(folder, seed)
    tried = {page: banded(power(weekly, sites, page, seed)) for page in PAGES}
    return {
        "sites": len(sites),
        "power": [{"page": page, "bands": rows} for page, rows in tried.items()],
        "weekly_looks": spells(weekly, sites, seed),
    }
