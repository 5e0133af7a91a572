"""When in the day a source changes, learned from looks between which it did.

Many databases are changed by a nightly job: nothing happens all day, and everything at
one hour. Such a source has a time of its own, which stands still while nothing changes
and leaps at its hour; in that time it decays evenly. ``Rhythm`` is this change of time,
``LearnedRhythm`` what looks have told of it.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from halflife.core.arrays import Floats

BINS = 24  # of a day, UTC
LENT = 0.5  # events that are lent to all bins together, evenly (Jeffreys)
HALF = 30.0  # days after which what a look has told counts half
LONG = 1.0  # days between two looks that tell nothing of the hour any more
BRIEF = 1e-6  # days between two that tell nothing yet
MOMENTS = 96  # of an interval
SURE, MOST = 3.0, 6.0  # the log score from which on it is used, and the highest kept
TESTED = 14.0  # days after which the score is half of what it was
FADED = 1e-3  # records that changed, below which a row is forgotten
_ROUNDS, _CLOSE = 400, 1e-7
_EDGES: Floats = np.arange(BINS + 1) / BINS
_EVEN = (1.0 / BINS,) * BINS


@dataclass(frozen=True)
class Rhythm:
    """A source's own time: as many days as there are, passing unevenly in each.

    Attributes:
        share: Of a day's changes, those in each of its ``BINS``; they sum to 1.

    >>> nightly = Rhythm((0.0, 0.0, 0.0, 1.0) + (0.0,) * 20)
    >>> nightly.between(np.array([7.0, 7.5]), np.array([7.125, 9.5])).tolist()
    [0.0, 2.0]

    """

    share: tuple[float, ...] = _EVEN

    @property
    def flat(self) -> bool:
        """Whether it is time as it passes for all."""
        return self.share == _EVEN

    def time(self, at: Floats) -> Floats:
        """Return the source's own time at moments, in days; midnights are the same."""
        return at if self.flat else _moved(at, _EDGES, self._sum)

    def when(self, time: Floats) -> Floats:
        """Return a moment at which the source's own time is so much."""
        return time if self.flat else _moved(time, self._sum, _EDGES)

    def between(self, since: Floats, until: Floats) -> Floats:
        """Return the effective days from one moment to another."""
        return np.asarray(self.time(until) - self.time(since))

    def passed(self, since: Floats, until: Floats) -> Floats:
        """Return the share of an interval's effective days that had passed.

        At ``MOMENTS`` moments, evenly over its plain days; the last axis is theirs.
        """
        share = np.append((np.arange(MOMENTS) + 0.5) / MOMENTS, 1.0)
        begin = np.asarray(since)[..., None]
        own = self.between(begin, begin + (until - since)[..., None] * share)
        return np.asarray(own[..., :-1] / np.maximum(own[..., -1:], 1e-12))

    def late(self, since: Floats, until: Floats) -> tuple[Floats, Floats]:
        """Return the share of an interval after the event in it: mean and variance.

        The event comes by the rhythm. With F the share that has passed by u, from 0 to
        1, the mean is the integral of F, and that of the square is twice the integral
        of (1 - u) F. Without a rhythm: 1/2 and 1/12.
        """
        grown = self.passed(since, until)
        place = (np.arange(MOMENTS) + 0.5) / MOMENTS
        mean, first = grown.mean(axis=-1), (grown * place).mean(axis=-1)
        return mean, np.maximum(2.0 * (mean - first) - mean**2, 0.0)

    @property
    def _sum(self) -> Floats:
        """The share until each edge; the last is 1 whatever was rounded."""
        total = np.concatenate([[0.0], np.cumsum(self.share)])
        return np.asarray(total / total[-1])


FLAT = Rhythm()


def _moved(at: Floats, old: Floats, new: Floats) -> Floats:
    """Return moments with the part of each day moved as edges are; days stay."""
    some = np.where(np.isfinite(at), at, 0.0)
    day = np.floor(some)
    return np.asarray(
        np.where(np.isfinite(at), day + np.interp(some - day, old, new), at)
    )


@dataclass(frozen=True)
class Look:
    """What one look showed of records, by when they were seen before.

    Attributes:
        at: When, in days.
        since: When they had been seen before, a moment for each group of them.
        shown: How many were shown, or would have been.
        changed: How many of them had changed.

    """

    at: float
    since: Floats
    shown: Floats
    changed: Floats


@dataclass(frozen=True)
class LearnedRhythm:
    """What looks have told of a source's rhythm so far; older ones count less.

    A look that finds n changes says that they came at some moment since the look
    before. Changes that come together tell the hour once, however many they are: n
    count as n / size events, with size = sum(n^2) / sum(n) over looks, which is n if
    they are always as many, and 1 + mean for changes one by one.

    Attributes:
        last: When the last look was; ``-inf`` if there was none.
        rows: Changes found, and the hours (phase of the day) they came between.
        exposure: Record-days that were watched, by bin.
        found: Changes, in all.
        squares: The sum of their squares, look by look.
        score: By how much, in nats, the rhythm has foretold looks better than none.
        share: The rhythm that is most likely.

    """

    last: float = -np.inf
    rows: Floats = field(default_factory=lambda: np.zeros((0, 3)), compare=False)
    exposure: Floats = field(default_factory=lambda: np.zeros(BINS), compare=False)
    found: float = 0.0
    squares: float = 0.0
    score: float = 0.0
    share: tuple[float, ...] = _EVEN

    @property
    def size(self) -> float:
        """How many records change together, 1 at least."""
        return max(self.squares / self.found, 1.0) if self.found > 0 else 1.0

    @property
    def rhythm(self) -> Rhythm:
        """The rhythm, if it has foretold looks better than none; flat otherwise."""
        return Rhythm(self.share) if self.score >= SURE else FLAT

    def after(self, look: Look) -> "LearnedRhythm":
        """Return what is known after another look; one of the past tells nothing."""
        if look.at <= self.last:
            return self
        days = look.at - look.since
        short = (days > BRIEF) & (days < LONG) & (look.shown > 0)
        columns = look.since, look.shown, look.changed
        some = Look(look.at, *(column[short] for column in columns))
        faded = self._faded(look.at)
        n = float(some.changed.sum())
        known = replace(
            faded,
            last=look.at,
            exposure=faded.exposure + some.shown @ overlaps(some.since, look.at),
            found=faded.found + n,
            squares=faded.squares + n * n,
        )
        score = min(max(faded.score + _told(faded, known, some), -SURE), MOST)
        rows = _merged(np.concatenate([faded.rows, _rows(some)]))
        known = replace(known, rows=rows, score=score)
        return replace(known, share=tuple(known.fit().tolist()))

    def _faded(self, now: float) -> "LearnedRhythm":
        """Return what is left of it by now."""
        days = now - self.last if np.isfinite(self.last) else 0.0
        part = 0.5 ** (days / HALF)
        rows = self.rows * np.array([part, 1.0, 1.0])
        return replace(
            self,
            rows=rows[rows[:, 0] > FADED],
            exposure=self.exposure * part,
            found=self.found * part,
            squares=self.squares * part,
            # Looks at the right hour alone would not show that it has moved.
            score=self.score * 0.5 ** (days / TESTED),
        )

    def fit(self) -> Floats:
        """Return the share of each bin that is most likely, by ``intensity``."""
        count, start, end = self.rows.T
        inside = overlaps(start, end)
        begin = np.array(self.share)
        found = intensity(count / self.size, inside, self.exposure, begin)
        return np.asarray(found / found.sum())


def intensity(count: Floats, inside: Floats, exposure: Floats, begin: Floats) -> Floats:
    """Return the events in each bin for each record-day watched.

    A Poisson process whose intensity is h_b in bin b of the day, seen through looks:
    c_i events somewhere in an interval that lies in bin b for ``inside[i, b]`` days.
    The maximum of

        sum_i c_i log(sum_b h_b inside_ib) - sum_b h_b exposure_b
            + a sum_b (log h_b - h_b / r),    r = sum(c) / sum(exposure),

    a = ``LENT`` / ``BINS``: independent Gamma priors around the even rate r, so the
    shares have a uniform Dirichlet prior that counts as half an event in all. By EM:
    events are put into bins as likely as these are, and then h_b = (events_b + a) /
    (exposure_b + a / r). Shepp and Vardi, "Maximum likelihood reconstruction for
    emission tomography", IEEE TMI 1982; Turnbull, JRSS B 1976. It is concave: there is
    one maximum. With nothing found all bins are alike.
    """
    total, watched = float(count.sum()), float(exposure.sum())
    if total <= 0 or watched <= 0:
        return np.full(BINS, 1.0 / BINS)
    rate, lent = total / watched, LENT / BINS
    now = np.asarray(rate * BINS * np.maximum(begin, FADED / BINS))
    for _ in range(_ROUNDS):
        chance = inside * now
        mean = np.maximum(chance.sum(axis=1), 1e-300)
        events = (count / mean) @ chance
        after = (events + lent) / (exposure + lent / rate)
        done = float(np.max(np.abs(after - now))) <= _CLOSE * rate
        now = after
        if done:
            break
    return now


def overlaps(since: Floats, until: Floats | float) -> Floats:
    """Return the days of each interval in each bin of the day; none lasts a day.

    An interval that ends at an earlier hour than it began goes past midnight.
    """
    start, end = since - np.floor(since), until - np.floor(until)
    end = np.where(end <= start, end + 1.0, end)
    low, high = np.concatenate([_EDGES[:-1], 1.0 + _EDGES[:-1]]), 1.0 / BINS
    inside = np.minimum(end[:, None], low + high) - np.maximum(start[:, None], low)
    inside = np.maximum(inside, 0.0)
    return np.asarray(inside[:, :BINS] + inside[:, BINS:])


def _told(before: LearnedRhythm, after: LearnedRhythm, look: Look) -> float:
    """Return by how much the rhythm of before foretold a look better than none.

    The log score of what was found, as Poisson with the mean of each: c log(e / g) -
    r (e - g), e the effective and g the plain days of records. The sum over looks, each
    foretold by those before it, is the evidence for the rhythm (Dawid, "Statistical
    theory: the prequential approach", JRSS A 1984).
    """
    watched = float(before.exposure.sum())
    if watched <= 0 or not look.since.size:
        return 0.0
    days = look.at - look.since
    own = Rhythm(before.share).between(look.since, np.full(days.size, look.at))
    own = np.maximum(own, 1e-6 * days)
    rate = before.found / watched
    gain = look.changed @ np.log(own / days) - rate * (look.shown @ (own - days))
    return float(gain) / after.size


def _rows(look: Look) -> Floats:
    """Return the changes of a look and the hours between which they came."""
    some = look.changed > 0
    since = look.since[some]
    until = np.full(since.size, look.at - np.floor(look.at))
    return np.stack([look.changed[some], since - np.floor(since), until], axis=1)


def _merged(rows: Floats) -> Floats:
    """Return rows with those joined that lie in the same bins: few remain."""
    if not rows.size:
        return rows
    count, start, end = rows.T
    first, last = ((phase * BINS).astype(np.intp) for phase in (start, end))
    key = (first * BINS + last) * 2 + (end <= start)
    kept, place = np.unique(key, return_inverse=True)
    total = np.bincount(place, count, kept.size)
    means = [np.bincount(place, count * c, kept.size) / total for c in (start, end)]
    return np.stack([total, *means], axis=1)
