"""Refreshes by classification: naive Bayes on the age and features of a summary.

Ipeirotis et al., TODS 2007, s. 5.2 and Appendix A. Every pair of weeks p < q of a
database is an example: has its summary of week p changed by week q, kl > tau? The
features are age, ln age, ln|D| and kappa in week p and a dummy for each domain, with
all squares and products. Each is normal in both classes.
"""

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from halflife.core.arrays import Bools, Floats, Ints
from halflife.policies.texts import RefreshWish, SummaryShelf, best
from halflife.policies.texts.lessons import Lessons
from halflife.summary.features import evolution

_FLAT = 1e-6  # variance, relative to all examples, below which a feature is constant


class Bayes:
    """Refreshes the summaries that have most likely changed.

    Args:
        odds: Log odds of a change, databases x age in weeks.
        bounded: Whether the most likely are refreshed within the budget; if not, all
            that have more likely changed than not, as in the paper, whose classifier
            ignores the budget.

    """

    def __init__(self, odds: Floats, *, bounded: bool) -> None:
        self.odds = odds
        self.bounded = bounded

    def score(self, shelf: SummaryShelf, age: Floats) -> Floats:
        """Return ln(1 + odds of a change), positive and increasing with the odds.

        The log odds are interpolated between weeks, and constant after the last.
        """
        del shelf
        last = self.odds.shape[1] - 1
        week = np.clip(age, 0.0, last)
        before = np.minimum(week.astype(np.intp), max(last - 1, 0))
        row, after = np.arange(age.size), np.minimum(before + 1, last)
        low, high = self.odds[row, before], self.odds[row, after]
        return np.asarray(np.logaddexp(0.0, low + (week - before) * (high - low)))

    def __call__(
        self, shelf: SummaryShelf, budget: float, rng: Generator
    ) -> RefreshWish:
        """Return the summaries that have most likely changed."""
        most = self.odds.shape[1] - 1
        odds = self.odds[np.arange(shelf.age.size), np.minimum(shelf.age, most)]
        if not self.bounded:
            return RefreshWish(np.flatnonzero((odds > 0) & (shelf.age > 0)))
        gain = odds - odds.min(initial=0.0) + 1.0
        return best(np.where(shelf.age > 0, gain, 0.0), budget, rng)


def odds_of(lessons: Lessons) -> Floats:
    """Return the log odds of a change, with each database predicted from the others."""
    ages = np.arange(1, lessons.kl.shape[2])
    raw = [_examples(lessons, i) for i in range(len(lessons.found))]
    queries = [_queries(lessons, i, ages) for i in range(len(raw))]
    # Scaled by values at the start: a database's own future must not leak in.
    known = np.concatenate(queries)
    mean, spread = known.mean(axis=0), known.std(axis=0)
    spread[spread == 0] = 1.0
    sums = [_sums(_products((one - mean) / spread), gone) for one, gone in raw]
    total = np.sum(sums, axis=0)
    odds = np.zeros((len(raw), ages.size + 1))
    for i, own in enumerate(sums):
        now = (queries[i] - mean) / spread
        odds[i, 1:] = _odds(total - own, _products(now))
    return odds


def _kappa(lessons: Lessons, i: int) -> Floats:
    return evolution(lessons.kl[i], 1, lessons.history, "before")


def _features(lessons: Lessons, i: int, week: Ints, age: Ints) -> Floats:
    kinds = np.arange(lessons.stratum.max() + 1) == lessons.stratum[i]
    size, kappa = lessons.found[i].size[week], _kappa(lessons, i)[week]
    return features(age, size, kappa, np.tile(kinds, (age.size, 1)))


def features(age: ArrayLike, size: Floats, kappa: Floats, kinds: Bools) -> Floats:
    """Return the features of examples, a row each; ages in weeks, above 0."""
    return np.column_stack(
        (
            age,
            np.log(age),
            np.log(np.maximum(size, 1.0)),
            kappa,
            kinds.astype(np.float64),
        )
    )


def classify(x: Floats, gone: Bools, queries: Floats) -> Floats:
    """Return the log odds of a change for queries, learned from examples."""
    mean, spread = x.mean(axis=0), x.std(axis=0)
    spread[spread == 0] = 1.0
    sums = _sums(_products((x - mean) / spread), gone)
    return _odds(sums, _products((queries - mean) / spread))


def _examples(lessons: Lessons, i: int) -> tuple[Floats, Bools]:
    """Return the features of all pairs of weeks, and whether they had changed."""
    first, second = np.triu_indices(lessons.kl.shape[1], 1)
    late = first >= lessons.history - 1  # so that kappa is known
    first, second = first[late], second[late]
    gone = lessons.kl[i, first, second] > lessons.tau
    return _features(lessons, i, first, second - first), gone


def _queries(lessons: Lessons, i: int, ages: Ints) -> Floats:
    return _features(lessons, i, np.full(ages.size, lessons.begin), ages)


def _products(x: Floats) -> Floats:
    """Return features with their squares and products."""
    i, j = np.triu_indices(x.shape[1])
    return np.column_stack((x, x[:, i] * x[:, j]))


def _sums(x: Floats, gone: Bools) -> Floats:
    """Return number, sum and sum of squares of both classes (2 x 3 x features)."""
    return np.array(
        [
            (np.full(x.shape[1], mine.sum()), x[mine].sum(0), (x[mine] ** 2).sum(0))
            for mine in (~gone, gone)
        ]
    )


def _odds(sums: Floats, x: Floats) -> Floats:
    """Return log odds of the second class; 0 if one class has no example."""
    number = sums[:, 0]
    if number.min() < 2:
        return np.zeros(x.shape[0])
    mean = sums[:, 1] / number
    variance = sums[:, 2] / number - mean**2
    whole = number.sum(axis=0)
    middle = sums[:, 1].sum(axis=0) / whole
    total_variance = sums[:, 2].sum(axis=0) / whole - middle**2
    is_informative = total_variance > _FLAT
    floor = np.maximum(_FLAT, 1e-3 * total_variance)
    variance = np.maximum(variance, floor)
    each = -0.5 * np.log(variance)[:, None] - 0.5 * (
        (x - mean[:, None]) ** 2 / variance[:, None]
    )
    likely = each[:, :, is_informative].sum(axis=2) + np.log(number[:, :1])
    return np.asarray(likely[1] - likely[0])
