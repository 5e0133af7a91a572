"""The drift of a database's summaries: every week against every later one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from halflife.core.arrays import Floats, Ints
from halflife.summary import Summary
from halflife.summary.metrics import METRICS, SummaryChange
from halflife.summary.pairs import compare_all
from halflife.summary.weekly import Weekly, WeeklySummaries

# Makes a summary of a database as it was in a week, for example by querying it.
Maker: TypeAlias = Callable[[Weekly, str, int, Generator], Summary]


@dataclass(frozen=True, slots=True)
class SummaryDrift:
    """The summaries of one database, compared.

    Attributes:
        name: The database.
        stratum: Its domain.
        made: The weeks of the old summaries, ascending.
        week: The weeks of the summaries they are compared with, ascending.
        size: Documents in the database in each ``week``.
        words: Words of its complete summary in each ``week``.
        change: The metrics (made x week).

    """

    name: str
    stratum: str
    made: Ints
    week: Ints
    size: Floats
    words: Floats
    change: SummaryChange

    def age(self) -> Ints:
        """Return how old each summary is in each week; below 0 before it was made."""
        return self.week[None, :] - self.made[:, None]


def drift(weekly: Weekly, site: str) -> SummaryDrift:
    """Compare the complete summaries of a database in all weeks."""
    summaries = weekly.weekly_summaries(site)
    change = compare_all(summaries.count, summaries.count)
    return _drift(weekly, site, summaries, summaries.week, change)


def drifts(weekly: Weekly) -> tuple[SummaryDrift, ...]:
    """Compare the complete summaries of every database in all weeks."""
    return tuple(drift(weekly, site) for site in weekly.sites)


def sampled_drifts(
    weekly: Weekly,
    site: str,
    maker: Maker,
    rng: Generator,
    *,
    samples: int = 5,
    every: int = 1,
) -> tuple[SummaryDrift, ...]:
    """Compare summaries of a ``Maker`` with the complete ones of all weeks.

    So a sampled summary is judged by the truth, also at age 0. It is made ``samples``
    times in every ``every``-th week; one drift is returned for each.
    """
    complete = weekly.weekly_summaries(site)
    weeks = complete.week[::every]
    words = weekly.words[complete.term].tolist()
    drifts = []
    for made in _samples(weekly, site, maker, rng, weeks, samples):
        old = _matrix(made, words)
        new = np.pad(complete.count, ((0, 0), (0, old.shape[1] - len(words))))
        drifts.append(_drift(weekly, site, complete, weeks, compare_all(old, new)))
    return tuple(drifts)


def _samples(
    weekly: Weekly,
    site: str,
    maker: Maker,
    rng: Generator,
    weeks: Ints,
    samples: int,
) -> Iterator[tuple[Summary, ...]]:
    """Yield the summaries of all weeks, for each sample.

    All samples of a week are made in a row, so that a maker can keep its index.
    """
    made = [
        [maker(weekly, site, week, rng) for _ in range(samples)]
        for week in weeks.tolist()
    ]
    return zip(*made, strict=True)


def _matrix(made: Sequence[Summary], words: list[str]) -> Floats:
    """Return the counts (summaries x words), the given words first."""
    place = {w: k for k, w in enumerate(words)}
    for summary in made:
        for word in summary.words:
            place.setdefault(word, len(place))
    table = np.zeros((len(made), len(place)))
    for k, summary in enumerate(made):
        table[k, [place[w] for w in summary.words]] = summary.count
    return table


def _drift(
    weekly: Weekly,
    site: str,
    complete: WeeklySummaries,
    made: Ints,
    change: SummaryChange,
) -> SummaryDrift:
    return SummaryDrift(
        name=site,
        stratum=weekly.stratum[weekly.place(site)],
        made=made,
        week=complete.week,
        size=complete.size,
        words=np.count_nonzero(complete.count, axis=1).astype(np.float64),
        change=change,
    )


def complete(weekly: Weekly, site: str, week: int, _: Generator) -> Summary:
    """Make the complete summary: the ``Maker`` that reads every document."""
    return weekly.summary(site, week)


def sampling_maker(documents: int) -> Maker:
    """Return a ``Maker`` that reads ``documents`` uniformly drawn documents.

    No search box gives such a sample: its matches tend to be long documents, which have
    more words.
    """

    def made(weekly: Weekly, site: str, week: int, rng: Generator) -> Summary:
        rows = weekly.present(site, week)
        sample = np.sort(rng.choice(rows, min(documents, rows.size), replace=False))
        terms = np.concatenate([*weekly.terms(sample), np.zeros(0, np.int32)])
        term, count = np.unique(terms.astype(np.intp), return_counts=True)
        words = weekly.words[term].tolist()
        scale = rows.size / max(sample.size, 1)
        counts = dict(zip(words, (count * scale).tolist(), strict=True))
        return Summary.of(counts, float(rows.size), sample.size)

    return made


def by_age(drift: SummaryDrift, ages: Ints) -> Iterator[tuple[str, Floats]]:
    """Yield each metric with its mean over old summaries, by age; NaN for none."""
    age = drift.age()
    where = np.searchsorted(ages, age)
    in_ages = (where < ages.size) & (ages[np.minimum(where, ages.size - 1)] == age)
    for metric in METRICS:
        values = drift.change.of(metric)
        chosen = in_ages & np.isfinite(values)
        total = np.bincount(where[chosen], values[chosen], ages.size)
        number = np.bincount(where[chosen], minlength=ages.size)
        mean = np.where(number > 0, total / np.maximum(number, 1), np.nan)
        yield metric, mean
