"""Features of a database when its summary is made, to predict the lifetime.

Ipeirotis et al., TODS 2007, section 4.3.2. Current features are taken in the week of
the start. Evolution features are means over all pairs of summaries k weeks apart
within ``training`` weeks. Both use nothing later than the start:

- ``before``: the training weeks are the last ones up to the start, the start itself
  among them;
- ``beginning``: they are the first ones recorded, as in the article.

Where the training weeks are incomplete at the start, the feature is NaN.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.summary.drift import SummaryDrift
from halflife.summary.metrics import METRICS
from halflife.summary.survival import Lifetimes

LAGS = 9
TRAINING = LAGS + 1


@dataclass(frozen=True, slots=True)
class Features:
    """Features of lifetimes, a row each.

    Attributes:
        names: Names of the columns.
        values: The features (lifetimes x names); NaN where unknown.
        stratum: The domain of the database of each lifetime.

    """

    names: tuple[str, ...]
    values: Floats
    stratum: tuple[str, ...]

    def column(self, name: str) -> Floats:
        """Return one feature."""
        if name not in self.names:
            raise ValueError(f"no feature {name!r}; one of {', '.join(self.names)}")
        return self.values[:, self.names.index(name)]

    def known(self, names: Sequence[str]) -> Bools:
        """Return which lifetimes have all of these features."""
        places = [self.names.index(name) for name in names]
        return np.asarray(np.isfinite(self.values[:, places]).all(axis=1))


def features(
    drifts: Sequence[SummaryDrift],
    lives: Lifetimes,
    *,
    training: int = TRAINING,
    when: Literal["before", "beginning"] = "before",
    topics: Mapping[str, str] | None = None,
) -> Features:
    """Return the features of lifetimes of these databases.

    tau; ln_size, ln_words; kl_1 ... kl_9, and so on for ur, up, wr and wp, as far
    as ``training`` weeks have such lags; topic_* are 1 for databases of that topic.
    """
    if training < 2 or when not in ("before", "beginning"):
        raise ValueError(f"no such training: {training} weeks, {when!r}")
    lags = min(LAGS, training - 1)
    tables = [_of_drift(drift, training, lags, when) for drift in drifts]
    names = (
        "ln_size",
        "ln_words",
        *(f"{m}_{k + 1}" for m in ORDER for k in range(lags)),
    )
    values = np.full((lives.start.size, len(names)), np.nan)
    for k, (drift, table) in enumerate(zip(drifts, tables, strict=True)):
        rows = lives.database == k
        values[rows] = table[np.searchsorted(drift.week, lives.start[rows])]
    topic_names, dummies = _dummies(drifts, lives, topics or {})
    return Features(
        ("tau", *names, *topic_names),
        np.column_stack((lives.tau, values, dummies)),
        tuple(drifts[k].stratum for k in lives.database.tolist()),
    )


ORDER = ("kl", *(m for m in METRICS if m != "kl"))


def _of_drift(drift: SummaryDrift, training: int, lags: int, when: str) -> Floats:
    """Return the features of a database in every week (weeks x features)."""
    if drift.made.shape != drift.week.shape or (drift.made != drift.week).any():
        raise ValueError(f"{drift.name}: features need a summary made in every week")
    size, words = (np.where(v > 0, v, np.nan) for v in (drift.size, drift.words))
    columns = [np.log(size), np.log(words)]
    for metric in ORDER:
        values = drift.change.of(metric)
        columns += [evolution(values, k, training, when) for k in range(1, lags + 1)]
    return np.column_stack(columns)


def evolution(values: Floats, lag: int, training: int, when: str) -> Floats:
    """Return the mean of a metric at a lag over the training weeks of each start.

    ``values`` are (weeks x weeks). Pairs without a value are left out of the mean.
    """
    weeks = values.shape[0]
    pair = np.diagonal(values, lag)
    finite = np.isfinite(pair)
    total = np.concatenate(([0.0], np.cumsum(np.where(finite, pair, 0.0))))
    number = np.concatenate(([0], np.cumsum(finite)))
    last: Ints = np.arange(weeks) if when == "before" else np.full(weeks, training - 1)
    trained = (np.arange(weeks) >= training - 1) & (training <= weeks)
    end = np.clip(last - lag + 1, 0, pair.size)
    begin = np.clip(last - training + 1, 0, pair.size)
    pairs = np.where(trained, number[end] - number[begin], 0)
    mean = (total[end] - total[begin]) / np.maximum(pairs, 1)
    return np.where(pairs > 0, mean, np.nan)


def _dummies(
    drifts: Sequence[SummaryDrift], lives: Lifetimes, topics: Mapping[str, str]
) -> tuple[tuple[str, ...], Floats]:
    """Return a column of 0 and 1 for each topic."""
    distinct = sorted(set(topics.values()))
    topic_of = [topics.get(drifts[k].name, "") for k in lives.database.tolist()]
    table = np.array(
        [[t == topic for topic in distinct] for t in topic_of], dtype=np.float64
    )
    names = tuple(f"topic_{topic}" for topic in distinct)
    return names, table.reshape(len(topic_of), len(distinct))
