"""At which hours of the week the pages of a host change, learned from fetches.

People edit pages on weekdays and in working hours: of the changes of 73 real sites 8 %
fall on weekends. A host's own time passes as its pages change; with p the pace in each
hour of the week, 1 in the mean,

    between(s, t) = integral of p over s..t,

which is t - s over whole weeks: the change of time of ``models.rhythm``, over a week.
The pace is a factor d for the day of the week times a factor h for the hour of the day.
With N the changes on a day (in an hour) as far as fetches tell, and E those expected
there at an even pace but for the other factor,

    d = (N / v + k) / (E / v + k),        k = 3 events,

is what a Gamma prior around 1 makes of a Poisson count (Clayton and Kaldor, "Empirical
Bayes estimates of age-standardized relative risks", Biometrics 1987). A change that
came somewhere between two fetches is shared out over the hours between them, as they
are likely now. Pages change together, so counts are divided by v, by how much more than
Poisson the number of changes found varies: v = sum((n - e)^2) / sum(e), 1 at least.

Each round of fetches is first foretold, by the rhythm and at an even pace; the sum of
the differences of the log scores (Dawid 1984) is the evidence for the rhythm, which is
used while that is 1 or more.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints

HOURS, DAYS = 24, 7
BINS = HOURS * DAYS  # from midnight UTC on a Thursday, as the epoch began
WEEK = 7.0
LONG = 7.0  # days between two fetches that tell nothing of the week any more
BRIEF = 1e-6  # days between two that tell nothing yet
LENT = 3.0  # events, as if that many had come at an even pace in each day or hour
HALF = 120.0  # days after which what was seen counts half
SURE, MOST = 1.0, 6.0  # the log score from which on it is used, and the highest kept
TESTED = 365.0  # days after which the score is half of what it was
_ROUNDS = 4  # between factors of days and of hours
_SOME = 4096  # fetches that are counted at once
_EVEN: Floats = np.ones(BINS)
_EDGES: Floats = np.arange(BINS + 1) / HOURS


@dataclass(frozen=True)
class WeekRhythm:
    """A host's own time: as many days in a week as there are, passing unevenly.

    Attributes:
        pace: How fast it passes in each hour of the week; 1 in the mean.

    >>> busy = np.where(np.arange(168) < 24, 7.0, 0.0)  # all changes come on Thursday
    >>> WeekRhythm(busy).between(np.array([0.0, 1.0, 1.0]), np.array([0.5, 7.0, 8.0]))
    array([3.5, 0. , 7. ])

    """

    pace: Floats = field(default_factory=_EVEN.copy)

    def time(self, at: Floats) -> Floats:
        """Return the host's own time at moments, in days; whole weeks are the same."""
        week = np.floor(at / WEEK)
        own = np.interp(at - week * WEEK, _EDGES, self._sum)
        return np.asarray(week * WEEK + own)

    def between(self, since: Floats, until: Floats | float) -> Floats:
        """Return the own days from one moment to another."""
        return np.asarray(self.time(np.asarray(until)) - self.time(since))

    @property
    def _sum(self) -> Floats:
        """The own days until each edge; the last is a week whatever was rounded."""
        total = np.concatenate([[0.0], np.cumsum(self.pace)])
        return np.asarray(total * (WEEK / total[-1]))


EVEN = WeekRhythm()


@dataclass(frozen=True)
class WeekCalendar:
    """How time passes for items from now on, by their groups.

    Attributes:
        now: The current time, in days.
        rhythms: The rhythms of those groups that have one.

    """

    now: float
    rhythms: Mapping[int, WeekRhythm]

    def __call__(self, group: Ints, age: Floats, later: float) -> tuple[Floats, Floats]:
        """Return own days for each day of the age, and own days until so much later."""
        pace, ahead = np.ones(age.size), np.full(age.size, later)
        for number, rhythm in self.rhythms.items():
            mine = (group == number) & np.isfinite(age)
            days = np.maximum(age[mine], BRIEF)
            pace[mine] = rhythm.between(self.now - days, self.now) / days
            ahead[mine] = rhythm.between(np.array(self.now), self.now + later)
        return pace, ahead


@dataclass(frozen=True)
class LearnedWeek:
    """What fetches have told of the rhythm of a host so far; older ones count less.

    Attributes:
        last: When the last fetch was; ``-inf`` if there was none.
        changes: Changes found, by the hours in which they are likely to have come.
        watched: Page-days that were watched, by hour.
        spread: The sum of (n - e)^2 over rounds of fetches.
        foretold: The sum of e over rounds.
        score: By how much, in nats, the rhythm has foretold fetches better than none.

    """

    last: float = -np.inf
    changes: Floats = field(default_factory=lambda: np.zeros(BINS), compare=False)
    watched: Floats = field(default_factory=lambda: np.zeros(BINS), compare=False)
    spread: float = 0.0
    foretold: float = 0.0
    score: float = 0.0

    @property
    def variation(self) -> float:
        """By how much more than Poisson the number of changes varies, 1 at least."""
        return max(self.spread / self.foretold, 1.0) if self.foretold > 0 else 1.0

    @property
    def is_proven(self) -> bool:
        """Whether it has foretold fetches better than an even pace."""
        return self.score >= SURE

    def fit(self) -> WeekRhythm:
        """Return the rhythm that is most likely."""
        found = float(self.changes.sum())
        total = float(self.watched.sum())
        if found <= 0 or total <= 0:
            return EVEN
        events = (self.changes / self.variation).reshape(DAYS, HOURS)
        even = (self.watched * (found / total / self.variation)).reshape(DAYS, HOURS)
        day, hour = np.ones((DAYS, 1)), np.ones((1, HOURS))
        for _ in range(_ROUNDS):
            day = factors(events.sum(axis=1), (even * hour).sum(axis=1))[:, None]
            hour = factors(events.sum(axis=0), (even * day).sum(axis=0))[None, :]
        pace = (day * hour).ravel()
        return WeekRhythm(pace / pace.mean())

    def after(self, at: Floats, since: Floats, changed: Bools) -> "LearnedWeek":
        """Return what is known after a round of fetches, each since the one before."""
        days = at - since
        some = (days > BRIEF) & (days < LONG)
        if not some.any():
            return self
        at, since, changed, days = at[some], since[some], changed[some], days[some]
        old, rhythm = self._faded(float(at.max())), self.fit()
        own = np.maximum(rhythm.between(since, at), 1e-6 * days)
        more, watched = counted(rhythm, since, at, changed)
        n, rate = float(np.count_nonzero(changed)), old.rate
        expected = rate * float(days.sum())
        gain = float(np.log(own[changed] / days[changed]).sum())
        gain -= rate * float((own - days).sum())
        known = replace(
            old,
            changes=old.changes + more,
            watched=old.watched + watched,
            spread=old.spread + ((n - expected) ** 2 if rate else 0.0),
            foretold=old.foretold + expected,
        )
        score = old.score + (gain / known.variation if rate else 0.0)
        return replace(known, score=min(max(score, -SURE), MOST))

    @property
    def rate(self) -> float:
        """Changes that were found for each page and day watched."""
        total = float(self.watched.sum())
        return float(self.changes.sum()) / total if total > 0 else 0.0

    def _faded(self, now: float) -> "LearnedWeek":
        """Return what is left of it by now."""
        days = max(now - self.last, 0.0) if np.isfinite(self.last) else 0.0
        part = 0.5 ** (days / HALF)
        return LearnedWeek(
            max(now, self.last),
            self.changes * part,
            self.watched * part,
            self.spread * part,
            self.foretold * part,
            self.score * 0.5 ** (days / TESTED),
        )


def factors(events: Floats, even: Floats) -> Floats:
    """Return by how much more events come than evenly, shrunk towards 1.

    >>> factors(np.array([24.0, 0.0]), np.array([8.0, 8.0]))
    array([2.45454545, 0.27272727])
    """
    return np.asarray((events + LENT) / (even + LENT))


def counted(
    rhythm: WeekRhythm, since: Floats, until: Floats, changed: Bools
) -> tuple[Floats, Floats]:
    """Return changes and page-days by hour of the week.

    A change is shared out over the hours since the fetch before, as likely as it came
    in each.
    """
    events, watched = np.zeros(BINS), np.zeros(BINS)
    for begin in range(0, since.size, _SOME):
        at = slice(begin, begin + _SOME)
        inside = overlaps(since[at], until[at])
        watched += inside.sum(axis=0)
        likely = inside[changed[at]] * rhythm.pace
        total = np.maximum(likely.sum(axis=1), 1e-300)
        events += (likely / total[:, None]).sum(axis=0)
    return events, watched


def overlaps(since: Floats, until: Floats) -> Floats:
    """Return the days of each interval in each hour of the week; none is a week."""
    start = since % WEEK
    end = start + (until - since)
    low = np.concatenate([_EDGES[:-1], WEEK + _EDGES[:-1]])
    high = low + 1.0 / HOURS
    inside = np.minimum(end[:, None], high) - np.maximum(start[:, None], low)
    inside = np.maximum(inside, 0.0)
    return np.asarray(inside[:, :BINS] + inside[:, BINS:])
