"""Lifetimes of summaries: until the divergence first exceeds a threshold.

The lifetime of the summary made in week s is the least t > 0 with

    kl(summary of week s, summary of week s + t) > tau.

Ipeirotis et al., TODS 2007, definition 4.1, which counts back from the current
summary; a schedule has to know what lies ahead, so here lifetimes count forward. The
divergence may fall below tau again: the first crossing counts. It is observed only
weekly, so that a length of t means a crossing in (t - 1, t].

A lifetime is censored where the recording ends, and before the first week in which
the divergence is undefined (the database is empty, or shares fewer than two words with
the summary). One that is censored at once has no information and is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.summary.drift import SummaryDrift


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Lifetimes of summaries: one row each database, start and threshold.

    Lifetimes of one database overlap and are far from independent: errors must be
    clustered by ``database``.

    Attributes:
        database: Which of the databases.
        start: The week in which the summary was made.
        tau: The threshold.
        length: Weeks until the first crossing, or until it was censored.
        event: Whether it crossed; else the lifetime is censored.

    """

    database: Ints
    start: Ints
    tau: Floats
    length: Floats
    event: Bools

    @property
    def days(self) -> Floats:
        """The lengths in days."""
        return 7.0 * self.length


def first_crossings(
    made: Ints, week: Ints, kl: Floats, tau: float
) -> tuple[Floats, Bools]:
    """Return length and event of each summary; a length of 0 if nothing was observed.

    ``kl`` is (made x week), as in ``SummaryDrift``.
    """
    after = week[None, :] > made[:, None]
    over = after & (kl > tau)
    undefined = after & ~np.isfinite(kl)
    end = np.where(over.any(axis=1), over.argmax(axis=1), week.size)
    censored = np.where(undefined.any(axis=1), undefined.argmax(axis=1), week.size)
    event = end < censored
    weeks = np.append(week, week[-1] + 1)
    last = np.where(event, weeks[np.minimum(end, week.size)], weeks[censored] - 1)
    return np.maximum(last - made, 0).astype(np.float64), event


def lifetimes(drifts: Sequence[SummaryDrift], taus: Sequence[float]) -> Lifetimes:
    """Return the lifetimes of all summaries of all databases at each threshold."""
    if not all(0 < tau < np.inf for tau in taus):
        raise ValueError(f"thresholds must be above 0 and finite: {list(taus)}")
    parts: list[tuple[Ints, Ints, Floats, Floats, Bools]] = []
    for k, drift in enumerate(drifts):
        for tau in taus:
            length, event = first_crossings(
                drift.made, drift.week, drift.change.kl, tau
            )
            observed = length > 0
            n = int(observed.sum())
            parts.append(
                (
                    np.full(n, k),
                    drift.made[observed],
                    np.full(n, tau),
                    length[observed],
                    event[observed],
                )
            )
    none = np.zeros(0)
    database, start, tau_, length, event = (
        np.concatenate([*column, none])
        for column in (zip(*parts, strict=True) if parts else [()] * 5)
    )
    whole = database.astype(np.intp), start.astype(np.intp)
    return Lifetimes(*whole, tau_, length, event.astype(np.bool_))
