"""Audits of summaries on recorded texts: whether new samples tell what truly changed.

Samples of the documents that a database had in two weeks are compared as audits do, and
with its complete summaries of both. Then a summary is made every four weeks and the
next one says whether it held; in half of the worlds the database is another one every
time from the middle on.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats
from halflife.core.search import Document
from halflife.engine import audit_report
from halflife.kinds.pages.audit import outcome
from halflife.kinds.search.selection import CHANGED
from halflife.models.drift import features, paper
from halflife.models.drift_tables import SIZE
from halflife.recordings import textdb
from halflife.stores.forecasts import IssuedForecast, columns
from halflife.summary.drift import drift
from halflife.summary.split_test import excess
from halflife.summary.weekly import Weekly

SITES, FEWEST, SAMPLE = 12, 70, 60  # databases, documents of each, documents read
LAGS = (4, 13, 26)  # weeks
TAU = 0.05  # a divergence that some of them reach within these lags
EVERY, SUMMARIES = 4, 11  # weeks between two summaries, and how many there are


def databases(folder: Path, seed: int) -> tuple[Weekly, list[str]]:
    """Return recent documents of sites, and those that have enough of them."""
    weekly = textdb.load(folder).recent()
    weeks = range(weekly.since, weekly.weeks)
    enough = [
        site
        for site in weekly.sites
        if min(weekly.present(site, week).size for week in weeks) >= FEWEST
    ]
    some = np.random.default_rng(seed).permutation(enough)[:SITES].tolist()
    return weekly, some


def sample(weekly: Weekly, site: str, week: int, rng: Generator) -> list[Document]:
    """Return documents of a database, each as likely as another."""
    rows = weekly.present(site, week)
    some = rng.choice(rows, min(SAMPLE, rows.size), replace=False)
    terms = weekly.terms(some)
    return [
        Document(str(row), tuple(weekly.words[t].tolist()))
        for row, t in zip(some.tolist(), terms, strict=True)
    ]


def compared(weekly: Weekly, sites: list[str], seed: int) -> list[dict[str, Any]]:
    """Return what samples say of divergences beside the truth, by lag."""
    rng, rows = np.random.default_rng(seed), []
    for lag in LAGS:
        found: list[tuple[float, float, float]] = []
        for site in sites:
            apart = drift(weekly, site).change.kl
            begin = int(rng.integers(weekly.since, weekly.weeks - lag))
            old, new = (sample(weekly, site, w, rng) for w in (begin, begin + lag))
            told = excess(old, new, rng)
            if told is not None:
                place = begin - weekly.since
                found.append(
                    (told.found, told.excess, float(apart[place, place + lag]))
                )
        rows.append({"weeks": lag, **_row(np.array(found).T)})
    return rows


def _row(columns: Floats) -> dict[str, Any]:
    raw, less, truth = columns
    return {
        "databases": truth.size,
        "truth": float(truth.mean()),
        "error_of_samples": float(np.mean(raw - truth)),
        "error_less_chance": float(np.mean(less - truth)),
        "right_verdicts_of_samples": float(np.mean((raw <= TAU) == (truth <= TAU))),
        "right_verdicts_less_chance": float(np.mean((less <= TAU) == (truth <= TAU))),
    }


@dataclass(frozen=True, slots=True)
class Row:
    """A summary that was replaced: forecast, whether it held, and trust before."""

    number: int
    mean: float
    held: float
    trust: float


def kept(weekly: Weekly, sites: list[str], seed: int, *, spliced: bool) -> list[Row]:
    """Return what came of summaries made every four weeks."""
    rng, rows = np.random.default_rng(seed), []
    for i, site in enumerate(sites):
        told: list[IssuedForecast] = []
        old = sample(weekly, site, weekly.since, rng)
        for k in range(1, SUMMARIES):
            now = 7.0 * EVERY * k
            other = spliced and k > SUMMARIES // 2 and k % 2
            name = sites[(i + 1) % len(sites)] if other else site
            new = sample(weekly, name, weekly.since + EVERY * k, rng)
            mean = holds(weekly.present(site, weekly.since).size)
            alarms, _ = audit_report.alarms_and_evidence(columns([]), told)
            trust = audit_report.trust_in(told, alarms, now).factor
            differs = excess(old, new, rng)
            held = float(differs is not None and differs.excess <= CHANGED)
            cast = IssuedForecast(
                site, "summary", now - 7.0 * EVERY, 7.0 * EVERY, *(mean,) * 3
            )
            told.append(outcome(cast, now, held, 1.0, rng))
            rows.append(Row(k, mean, held, trust))
            old = new
    return rows


def holds(documents: int) -> float:
    """Return the chance that a summary holds until the next one is made."""
    x = features(float(documents), 0.0, CHANGED, SIZE)
    alive = paper("QBS", SIZE).survival(["misc"], x).alive(np.array([7.0 * EVERY]))
    return float(alive[0])


def phase(rows: list[Row], begin: int, end: int) -> dict[str, Any]:
    """Return forecast and found shares, and how often bounds hold what was found."""
    some = [row for row in rows if begin <= row.number < end]
    mean, held, trust = np.array([(r.mean, r.held, r.trust) for r in some]).T
    share = float(held.mean())
    low, high = mean**trust, mean ** (1.0 / trust)
    return {
        "summaries": len(some),
        "forecast": float(mean.mean()),
        "held": share,
        "trust": float(trust.mean()),
        "share_within_bounds": float(np.mean((low <= share) & (share <= high))),
    }


def summaries(folder: Path, seed: int = 7) -> dict[str, Any]:
    """Return how audits and forecasts of recorded databases came true."""
    weekly, sites = databases(folder, seed)
    calm = kept(weekly, sites, seed, spliced=False)
    spliced = kept(weekly, sites, seed, spliced=True)
    middle = SUMMARIES // 2 + 1
    return {
        "databases": len(sites),
        "compared": compared(weekly, sites, seed),
        "as_recorded": phase(calm, 1, SUMMARIES),
        "before_the_change": phase(spliced, 1, middle),
        "right_after": phase(spliced, middle, middle + 2),
        "later": phase(spliced, middle + 2, SUMMARIES),
    }
