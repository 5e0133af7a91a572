"""How the summaries of a database drift apart: every week against every later one."""

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

# Makes a summary of a database as it was in a week, say by querying it.
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
    told = weekly.counted(site)
    change = compare_all(told.count, told.count)
    return _drift(weekly, site, told, told.week, change)


def drifts(weekly: Weekly) -> tuple[SummaryDrift, ...]:
    """Compare the complete summaries of every database in all weeks."""
    return tuple(drift(weekly, site) for site in weekly.sites)


def made_drifts(
    weekly: Weekly,
    site: str,
    maker: Maker,
    rng: Generator,
    *,
    samples: int = 5,
    every: int = 1,
) -> tuple[SummaryDrift, ...]:
    """Compare summaries that a ``Maker`` makes with the complete ones of all weeks.

    So a made summary is judged by the truth, also at age 0. It is made ``samples``
    times in every ``every``-th week; one drift is returned for each.
    """
    told = weekly.counted(site)
    weeks = told.week[::every]
    known = weekly.words[told.term].tolist()
    found = []
    for made in _made(weekly, site, maker, rng, weeks, samples):
        old = _matrix(made, known)
        new = np.pad(told.count, ((0, 0), (0, old.shape[1] - len(known))))
        found.append(_drift(weekly, site, told, weeks, compare_all(old, new)))
    return tuple(found)


def _made(
    weekly: Weekly,
    site: str,
    maker: Maker,
    rng: Generator,
    weeks: Ints,
    samples: int,
) -> Iterator[tuple[Summary, ...]]:
    """Yield the summaries of all weeks, for each sample.

    All samples of a week are made in turn, so that a maker can keep its index.
    """
    made = [
        [maker(weekly, site, week, rng) for _ in range(samples)]
        for week in weeks.tolist()
    ]
    return zip(*made, strict=True)


def _matrix(made: Sequence[Summary], known: list[str]) -> Floats:
    """Return the counts (summaries x words), the known words first."""
    place = {w: k for k, w in enumerate(known)}
    for summary in made:
        for word in summary.words:
            place.setdefault(word, len(place))
    table = np.zeros((len(made), len(place)))
    for k, summary in enumerate(made):
        table[k, [place[w] for w in summary.words]] = summary.count
    return table


def _drift(
    weekly: Weekly, site: str, told: WeeklySummaries, made: Ints, change: SummaryChange
) -> SummaryDrift:
    return SummaryDrift(
        name=site,
        stratum=weekly.stratum[weekly.place(site)],
        made=made,
        week=told.week,
        size=told.size,
        words=np.count_nonzero(told.count, axis=1).astype(np.float64),
        change=change,
    )


def complete(weekly: Weekly, site: str, week: int, _: Generator) -> Summary:
    """Make the complete summary: the ``Maker`` that reads every document."""
    return weekly.summary(site, week)


def drawn(documents: int) -> Maker:
    """Return a ``Maker`` that reads so many documents, each as likely as another.

    No search box gives such a sample: matches are likelier to be wordy documents,
    which know more words.
    """

    def made(weekly: Weekly, site: str, week: int, rng: Generator) -> Summary:
        rows = weekly.present(site, week)
        some = np.sort(rng.choice(rows, min(documents, rows.size), replace=False))
        terms = np.concatenate([*weekly.terms(some), np.zeros(0, np.int32)])
        term, count = np.unique(terms.astype(np.intp), return_counts=True)
        words = weekly.words[term].tolist()
        scale = rows.size / max(some.size, 1)
        found = dict(zip(words, (count * scale).tolist(), strict=True))
        return Summary.of(found, float(rows.size), some.size)

    return made


def by_age(found: SummaryDrift, ages: Ints) -> Iterator[tuple[str, Floats]]:
    """Yield each metric with its mean over old summaries, by age; NaN for none."""
    age = found.age()
    where = np.searchsorted(ages, age)
    asked = (where < ages.size) & (ages[np.minimum(where, ages.size - 1)] == age)
    for metric in METRICS:
        values = found.change.of(metric)
        some = asked & np.isfinite(values)
        total = np.bincount(where[some], values[some], ages.size)
        number = np.bincount(where[some], minlength=ages.size)
        mean = np.where(number > 0, total / np.maximum(number, 1), np.nan)
        yield metric, mean
