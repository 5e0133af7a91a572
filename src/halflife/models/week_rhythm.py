"""The weekly rhythm of a host's changes, learned from fetches.

People edit pages on weekdays and in working hours: of the changes of 73 real sites 8 %
fall on weekends. A host's own time passes as its pages change; with p the pace in each
hour of the week, 1 in the mean,

    between(s, t) = integral of p over s..t,

which is t - s over whole weeks: the change of time of ``models.rhythm``, over a week.
The pace is a factor d for the day of the week times a factor h for the hour of the day.
With N the estimated changes on a day (in an hour), and E those expected there at an
even pace but for the other factor,

    d = (N / v + k) / (E / v + k),        k = 3 events,

is the posterior mean of a Poisson rate under a Gamma prior around 1 (Clayton and
Kaldor, "Empirical Bayes estimates of age-standardized relative risks", Biometrics
1987). A change between two fetches is distributed over the hours between them by their
current probabilities. Pages change together, so counts are divided by v, the
over-dispersion of the number of changes found: v = sum((n - e)^2) / sum(e), at least 1.

Each round of fetches is first predicted, by the rhythm and at an even pace; the sum of
the differences of the log scores (Dawid 1984) is the evidence for the rhythm, which is
used while that is at least 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints

HOURS, DAYS = 24, 7
BINS = HOURS * DAYS  # from midnight UTC on a Thursday, as the epoch began
WEEK = 7.0
LONG = 7.0  # days between fetches from which on they are no evidence of the week
BRIEF = 1e-6  # days between fetches up to which they are ignored
LENT = 3.0  # prior events at an even pace in each day or hour
HALF = 120.0  # days after which a fetch counts half
SURE, MOST = 1.0, 6.0  # log score from which the rhythm is used, and its maximum
TESTED = 365.0  # half-life of the score, in days
_ROUNDS = 4  # of alternating between factors of days and of hours
_CHUNK = 4096  # fetches that are counted at once
_EVEN: Floats = np.ones(BINS)
_EDGES: Floats = np.arange(BINS + 1) / HOURS


@dataclass(frozen=True)
class WeekRhythm:
    """A host's own time: it passes unevenly within each week, and whole weeks agree.

    Attributes:
        pace: How fast it passes in each hour of the week; 1 in the mean.

    >>> busy = np.where(np.arange(168) < 24, 7.0, 0.0)  # all changes on Thursday
    >>> WeekRhythm(busy).between(np.array([0.0, 1.0, 1.0]), np.array([0.5, 7.0, 8.0]))
    array([3.5, 0. , 7. ])

    """

    pace: Floats = field(default_factory=_EVEN.copy)

    def time(self, at: Floats) -> Floats:
        """Return the host's own time at moments, in days; whole weeks agree."""
        week = np.floor(at / WEEK)
        own = np.interp(at - week * WEEK, _EDGES, self._sum)
        return np.asarray(week * WEEK + own)

    def between(self, since: Floats, until: Floats | float) -> Floats:
        """Return the own days from one moment to another."""
        return np.asarray(self.time(np.asarray(until)) - self.time(since))

    @property
    def _sum(self) -> Floats:
        """The own days until each edge; the last is exactly a week."""
        total = np.concatenate([[0.0], np.cumsum(self.pace)])
        return np.asarray(total * (WEEK / total[-1]))


EVEN = WeekRhythm()


@dataclass(frozen=True)
class WeekCalendar:
    """The passing of time for items of groups with a rhythm.

    Attributes:
        now: The current time, in days.
        rhythms: The rhythms of the groups that have one.

    """

    now: float
    rhythms: Mapping[int, WeekRhythm]

    def __call__(self, group: Ints, age: Floats, later: float) -> tuple[Floats, Floats]:
        """Return the own days per day of the age, and those until ``later``."""
        pace, ahead = np.ones(age.size), np.full(age.size, later)
        for number, rhythm in self.rhythms.items():
            in_group = (group == number) & np.isfinite(age)
            days = np.maximum(age[in_group], BRIEF)
            pace[in_group] = rhythm.between(self.now - days, self.now) / days
            ahead[in_group] = rhythm.between(np.array(self.now), self.now + later)
        return pace, ahead


@dataclass(frozen=True)
class LearnedWeek:
    """The rhythm of a host estimated from fetches so far; older ones count less.

    Attributes:
        last: The time of the last fetch; ``-inf`` if there was none.
        changes: Changes found, distributed over the hours by probability.
        watched: Page-days observed, by hour.
        spread: The sum of (n - e)^2 over rounds of fetches.
        foretold: The sum of e over rounds.
        score: The gain in log score of the rhythm's predictions over none, in nats.

    """

    last: float = -np.inf
    changes: Floats = field(default_factory=lambda: np.zeros(BINS), compare=False)
    watched: Floats = field(default_factory=lambda: np.zeros(BINS), compare=False)
    spread: float = 0.0
    foretold: float = 0.0
    score: float = 0.0

    @property
    def variation(self) -> float:
        """The over-dispersion of the number of changes, at least 1."""
        return max(self.spread / self.foretold, 1.0) if self.foretold > 0 else 1.0

    @property
    def is_proven(self) -> bool:
        """Whether its predictions are better than those of an even pace."""
        return self.score >= SURE

    def fit(self) -> WeekRhythm:
        """Return the most likely rhythm."""
        changes = float(self.changes.sum())
        total = float(self.watched.sum())
        if changes <= 0 or total <= 0:
            return EVEN
        events = (self.changes / self.variation).reshape(DAYS, HOURS)
        even = (self.watched * (changes / total / self.variation)).reshape(DAYS, HOURS)
        day, hour = np.ones((DAYS, 1)), np.ones((1, HOURS))
        for _ in range(_ROUNDS):
            day = shrunken_factors(events.sum(axis=1), (even * hour).sum(axis=1))[
                :, None
            ]
            hour = shrunken_factors(events.sum(axis=0), (even * day).sum(axis=0))[
                None, :
            ]
        pace = (day * hour).ravel()
        return WeekRhythm(pace / pace.mean())

    def after(self, at: Floats, since: Floats, changed: Bools) -> "LearnedWeek":
        """Return the estimate after a round of fetches, each since the one before."""
        days = at - since
        usable = (days > BRIEF) & (days < LONG)
        if not usable.any():
            return self
        at, since, changed, days = (
            at[usable],
            since[usable],
            changed[usable],
            days[usable],
        )
        faded, rhythm = self._faded(float(at.max())), self.fit()
        own = np.maximum(rhythm.between(since, at), 1e-6 * days)
        events, watched = count_by_hour(rhythm, since, at, changed)
        n, rate = float(np.count_nonzero(changed)), faded.rate
        expected = rate * float(days.sum())
        gain = float(np.log(own[changed] / days[changed]).sum())
        gain -= rate * float((own - days).sum())
        updated = replace(
            faded,
            changes=faded.changes + events,
            watched=faded.watched + watched,
            spread=faded.spread + ((n - expected) ** 2 if rate else 0.0),
            foretold=faded.foretold + expected,
        )
        score = faded.score + (gain / updated.variation if rate else 0.0)
        return replace(updated, score=min(max(score, -SURE), MOST))

    @property
    def rate(self) -> float:
        """The changes found per page and day."""
        total = float(self.watched.sum())
        return float(self.changes.sum()) / total if total > 0 else 0.0

    def _faded(self, now: float) -> "LearnedWeek":
        """Return the estimate faded to ``now``."""
        days = max(now - self.last, 0.0) if np.isfinite(self.last) else 0.0
        factor = 0.5 ** (days / HALF)
        return LearnedWeek(
            max(now, self.last),
            self.changes * factor,
            self.watched * factor,
            self.spread * factor,
            self.foretold * factor,
            self.score * 0.5 ** (days / TESTED),
        )


def shrunken_factors(events: Floats, even: Floats) -> Floats:
    """Return the ratio of events to even ones, shrunk towards 1.

    >>> shrunken_factors(np.array([24.0, 0.0]), np.array([8.0, 8.0]))
    array([2.45454545, 0.27272727])
    """
    return np.asarray((events + LENT) / (even + LENT))


def count_by_hour(
    rhythm: WeekRhythm, since: Floats, until: Floats, changed: Bools
) -> tuple[Floats, Floats]:
    """Return changes and page-days by hour of the week.

    A change is distributed over the hours since the previous fetch by their
    probabilities.
    """
    events, watched = np.zeros(BINS), np.zeros(BINS)
    for begin in range(0, since.size, _CHUNK):
        at = slice(begin, begin + _CHUNK)
        inside = overlaps(since[at], until[at])
        watched += inside.sum(axis=0)
        weights = inside[changed[at]] * rhythm.pace
        total = np.maximum(weights.sum(axis=1), 1e-300)
        events += (weights / total[:, None]).sum(axis=0)
    return events, watched


def overlaps(since: Floats, until: Floats) -> Floats:
    """Return the days of each interval (under a week) in each hour of the week."""
    start = since % WEEK
    end = start + (until - since)
    low = np.concatenate([_EDGES[:-1], WEEK + _EDGES[:-1]])
    high = low + 1.0 / HOURS
    inside = np.minimum(end[:, None], high) - np.maximum(start[:, None], low)
    inside = np.maximum(inside, 0.0)
    return np.asarray(inside[:, :BINS] + inside[:, BINS:])
