"""The ageing of summaries of recorded text databases, and their lifetimes."""

from typing import Any

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Bools, Floats, Ints
from halflife.models.spells import Spells
from halflife.models.survival_curves import KaplanMeier
from halflife.probing.focused_probe import focused_sample
from halflife.probing.hierarchy import Hierarchy
from halflife.probing.memory import InMemoryDatabase
from halflife.probing.query_sampling import query_based_sample
from halflife.probing.rules import TopicProbes, learn_probes
from halflife.probing.sample import Sample
from halflife.summary import Summary
from halflife.summary.age_curves import YEAR, AgeCurves, age_curves
from halflife.summary.drift import (
    Maker,
    SummaryDrift,
    drifts,
    sampled_drifts,
    sampling_maker,
)
from halflife.summary.metrics import METRICS
from halflife.summary.survival import lifetimes
from halflife.summary.weekly import Weekly

AGES = (0, 1, 2, 4, 8, 13, 25, 36, 46, 48, 52)
TAUS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5)
DICTIONARY = 20_000  # words that a sample may start with
EVERY = 8  # weeks between samples
TAUGHT = 30  # documents of each site from which probes are learned


class LatestDatabase:
    """The documents of a site in one week as a database; the latest one is kept."""

    def __init__(self) -> None:
        self._of: tuple[str, int] = ("", -1)
        self._database = InMemoryDatabase(())

    def take(self, weekly: Weekly, site: str, week: int) -> InMemoryDatabase:
        """Return the database of a site in a week."""
        if self._of != (site, week):
            self._of = site, week
            self._database = InMemoryDatabase(weekly.documents(site, week))
        return self._database


def _summary(found: Sample, database: InMemoryDatabase) -> Summary:
    """Return the summary of a sample, scaled to the true size of its database."""
    if not found.documents:
        return Summary((), np.zeros(0), 0.0, 0)
    return found.summary(float(len(database.documents)))


class QueryBased:
    """Makes summaries by query-based sampling of 300 documents."""

    def __init__(self, weekly: Weekly) -> None:
        self.dictionary: list[str] = weekly.words[:DICTIONARY].tolist()
        self.latest = LatestDatabase()

    def __call__(self, weekly: Weekly, site: str, week: int, rng: Generator) -> Summary:
        """Return the summary of one sample; it is scaled to the true size."""
        database = self.latest.take(weekly, site, week)
        return _summary(query_based_sample(database, self.dictionary, rng), database)


class FocusedSummaries:
    """Makes summaries by probes that a classifier over the domains chooses.

    The domains (com, org, ...) are the only labels that recorded sites have. Probes
    for a site are learned from documents of the others, in the first week.
    """

    def __init__(self, weekly: Weekly, rng: Generator) -> None:
        self.latest = LatestDatabase()
        self.probes: dict[str, TopicProbes] = {}
        self.taught = {site: _taught(weekly, site, rng) for site in weekly.sites}

    def __call__(self, weekly: Weekly, site: str, week: int, rng: Generator) -> Summary:
        """Return the summary of one sample; it is scaled to the true size."""
        database = self.latest.take(weekly, site, week)
        if site not in self.probes:
            self.probes[site] = self._learn(site, rng)
        found = focused_sample(database, self.probes[site]).sample
        return _summary(found, database)

    def _learn(self, site: str, rng: Generator) -> TopicProbes:
        """Return probes learned from all other sites."""
        others = [
            pair for name, docs in self.taught.items() if name != site for pair in docs
        ]
        labels = [label for _, label in others]
        hierarchy = Hierarchy.of(sorted(set(labels)))
        return learn_probes(hierarchy, [words for words, _ in others], labels, rng)


def _taught(
    weekly: Weekly, site: str, rng: Generator
) -> list[tuple[tuple[str, ...], str]]:
    """Return the words of some documents of a site, and its domain."""
    domain = weekly.stratum[weekly.place(site)]
    shelf = weekly.documents(site, 0)
    chosen = rng.permutation(len(shelf))[:TAUGHT]
    return [(shelf[int(i)].words, domain) for i in chosen]


def rows(name: str, found: AgeCurves) -> list[dict[str, Any]]:
    """Return the curves at the ages ``AGES``, a row each."""
    rows = []
    for metric in METRICS:
        curve = found.curves[metric]
        for k, age in enumerate(found.age.tolist()):
            if age in AGES and curve.databases[k]:
                rows.append(
                    {
                        "summaries": name,
                        "metric": metric,
                        "age": age,
                        "mean": round(float(curve.mean[k]), 5),
                        "low": round(float(curve.low[k]), 5),
                        "high": round(float(curve.high[k]), 5),
                        "databases": int(curve.databases[k]),
                    }
                )
    return rows


def survival(name: str, found: tuple[SummaryDrift, ...]) -> list[dict[str, Any]]:
    """Return how many lifetimes there are at each threshold, and their median."""
    rows = []
    for tau in TAUS:
        lives = lifetimes(found, (tau,))
        rows.append(
            {
                "summaries": name,
                "tau": tau,
                "lifetimes": lives.length.size,
                "events": int(lives.event.sum()),
                "median_weeks": median(lives.length, lives.event),
            }
        )
    return rows


def median(length: Floats, event: Bools) -> float | None:
    """Return the Kaplan-Meier median of lifetimes; None if it is not reached."""
    if not event.any():
        return None
    spells = Spells.of(np.zeros(length.size), length, np.where(event, length, np.inf))
    curve = KaplanMeier().fit(spells)
    low = np.flatnonzero(curve.survival_ <= 0.5)
    return float(curve.time_[low[0]]) if low.size else None


def sample_ageing(weekly: Weekly, number: int, rng: Generator) -> dict[str, AgeCurves]:
    """Return the ageing of sampled and of complete summaries of some databases."""
    places = np.linspace(0, len(weekly.sites) - 1, number).round().astype(int)
    selected = weekly.select(tuple(weekly.sites[k] for k in np.unique(places)))
    ages: Ints = np.arange(min(YEAR + 1, weekly.weeks))
    makers: dict[str, Maker] = {
        "query-based sample": QueryBased(weekly),
        "focused probes": FocusedSummaries(weekly, rng),
        "even sample": sampling_maker(300),
    }
    found = {"complete, same databases": list(drifts(selected))} | {
        name: [
            drift
            for site in selected.sites
            for drift in sampled_drifts(selected, site, maker, rng, every=EVERY)
        ]
        for name, maker in makers.items()
    }
    return {name: age_curves(each, rng, ages=ages) for name, each in found.items()}
