"""The daily rhythm of a source's changes, learned from intervals in which it changed.

Many databases are changed by a nightly job: nothing happens all day, and everything at
one hour. Such a source has a time of its own, which stands still while nothing changes
and jumps at its hour; in that time it decays evenly. ``Rhythm`` is this change of time,
``LearnedRhythm`` its estimate from fetches.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from halflife.core.arrays import Floats

BINS = 24  # of a day, UTC
LENT = 0.5  # prior events of all bins together, spread evenly (Jeffreys)
HALF = 30.0  # days after which a fetch counts half
LONG = 1.0  # days between fetches from which on they are no evidence of the hour
BRIEF = 1e-6  # days between fetches up to which they are ignored
MOMENTS = 96  # points of an interval
SURE, MOST = 3.0, 6.0  # log score from which the rhythm is used, and its maximum
TESTED = 14.0  # half-life of the score, in days
FADED = 1e-3  # changed records below which a row is dropped
_ROUNDS, _CLOSE = 400, 1e-7
_EDGES: Floats = np.arange(BINS + 1) / BINS
_EVEN = (1.0 / BINS,) * BINS


@dataclass(frozen=True)
class Rhythm:
    """A source's own time: it passes unevenly within each day, and whole days agree.

    Attributes:
        share: Of a day's changes, those in each of its ``BINS``; they sum to 1.

    >>> nightly = Rhythm((0.0, 0.0, 0.0, 1.0) + (0.0,) * 20)
    >>> nightly.between(np.array([7.0, 7.5]), np.array([7.125, 9.5])).tolist()
    [0.0, 2.0]

    """

    share: tuple[float, ...] = _EVEN

    @property
    def flat(self) -> bool:
        """Whether the own time is plain time."""
        return self.share == _EVEN

    def time(self, at: Floats) -> Floats:
        """Return the source's own time at moments, in days; midnights agree."""
        return at if self.flat else _shift_within_day(at, _EDGES, self._sum)

    def moment_of(self, time: Floats) -> Floats:
        """Return a moment at which the source's own time is ``time``."""
        return time if self.flat else _shift_within_day(time, self._sum, _EDGES)

    def between(self, since: Floats, until: Floats) -> Floats:
        """Return the effective days from one moment to another."""
        return np.asarray(self.time(until) - self.time(since))

    def passed(self, since: Floats, until: Floats) -> Floats:
        """Return the share of an interval's effective days that had passed.

        At ``MOMENTS`` moments, spaced evenly over its plain days; they are the last
        axis.
        """
        share = np.append((np.arange(MOMENTS) + 0.5) / MOMENTS, 1.0)
        begin = np.asarray(since)[..., None]
        own = self.between(begin, begin + (until - since)[..., None] * share)
        return np.asarray(own[..., :-1] / np.maximum(own[..., -1:], 1e-12))

    def share_after(self, since: Floats, until: Floats) -> tuple[Floats, Floats]:
        """Return the share of an interval after the event in it: mean and variance.

        The event occurs by the rhythm. With F the share that has passed by u, from 0 to
        1, the mean is the integral of F, and that of the square is twice the integral
        of (1 - u) F. Without a rhythm: 1/2 and 1/12.
        """
        passed = self.passed(since, until)
        place = (np.arange(MOMENTS) + 0.5) / MOMENTS
        mean, first = passed.mean(axis=-1), (passed * place).mean(axis=-1)
        return mean, np.maximum(2.0 * (mean - first) - mean**2, 0.0)

    @property
    def _sum(self) -> Floats:
        """The share until each edge; the last is exactly 1."""
        total = np.concatenate([[0.0], np.cumsum(self.share)])
        return np.asarray(total / total[-1])


FLAT = Rhythm()


def _shift_within_day(at: Floats, old: Floats, new: Floats) -> Floats:
    """Return moments shifted within their days as the edges are."""
    finite = np.where(np.isfinite(at), at, 0.0)
    day = np.floor(finite)
    return np.asarray(
        np.where(np.isfinite(at), day + np.interp(finite - day, old, new), at)
    )


@dataclass(frozen=True)
class ObservedRecords:
    """The records seen by one fetch, by when they were seen before.

    Attributes:
        at: The time of the fetch, in days.
        since: When they had been seen before, one moment for each group of records.
        shown: How many records of each group were shown, or would have been.
        changed: How many of them had changed.

    """

    at: float
    since: Floats
    shown: Floats
    changed: Floats


@dataclass(frozen=True)
class LearnedRhythm:
    """The rhythm of a source estimated from fetches so far; older ones count less.

    A fetch that finds n changes shows that they occurred since the previous fetch.
    Simultaneous changes are evidence of the hour only once: n count as n / size events,
    with size = sum(n^2) / sum(n) over fetches, which is n if they are always as many,
    and 1 + mean for changes one by one.

    Attributes:
        last: The time of the last fetch; ``-inf`` if there was none.
        rows: Changes found, and the phases of the day between which they occurred.
        exposure: Record-days observed, by bin.
        found: The number of changes.
        squares: The sum over fetches of their squares.
        score: The gain in log score of the rhythm's predictions over none, in nats.
        share: The most likely rhythm.

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
        """How many records change together, at least 1."""
        return max(self.squares / self.found, 1.0) if self.found > 0 else 1.0

    @property
    def rhythm(self) -> Rhythm:
        """The rhythm, if its predictions are better than none; flat otherwise."""
        return Rhythm(self.share) if self.score >= SURE else FLAT

    def after(self, read: ObservedRecords) -> "LearnedRhythm":
        """Return the estimate after another fetch; one of the past is ignored."""
        if read.at <= self.last:
            return self
        days = read.at - read.since
        short = (days > BRIEF) & (days < LONG) & (read.shown > 0)
        columns = read.since, read.shown, read.changed
        usable = ObservedRecords(read.at, *(column[short] for column in columns))
        faded = self._faded(read.at)
        n = float(usable.changed.sum())
        updated = replace(
            faded,
            last=read.at,
            exposure=faded.exposure + usable.shown @ overlaps(usable.since, read.at),
            found=faded.found + n,
            squares=faded.squares + n * n,
        )
        score = min(max(faded.score + _score_gain(faded, updated, usable), -SURE), MOST)
        rows = _merge_rows(np.concatenate([faded.rows, _rows(usable)]))
        updated = replace(updated, rows=rows, score=score)
        return replace(updated, share=tuple(updated.fit().tolist()))

    def _faded(self, now: float) -> "LearnedRhythm":
        """Return the estimate faded to ``now``."""
        days = now - self.last if np.isfinite(self.last) else 0.0
        factor = 0.5 ** (days / HALF)
        rows = self.rows * np.array([factor, 1.0, 1.0])
        return replace(
            self,
            rows=rows[rows[:, 0] > FADED],
            exposure=self.exposure * factor,
            found=self.found * factor,
            squares=self.squares * factor,
            # Fetches at the right hour alone would not show that it has moved.
            score=self.score * 0.5 ** (days / TESTED),
        )

    def fit(self) -> Floats:
        """Return the most likely share of each bin, by ``intensity``."""
        count, start, end = self.rows.T
        inside = overlaps(start, end)
        begin = np.array(self.share)
        rates = intensity(count / self.size, inside, self.exposure, begin)
        return np.asarray(rates / rates.sum())


def intensity(count: Floats, inside: Floats, exposure: Floats, begin: Floats) -> Floats:
    """Return the events per record-day in each bin.

    A Poisson process with intensity h_b in bin b of the day, observed in intervals:
    c_i events somewhere in an interval that lies in bin b for ``inside[i, b]`` days.
    The maximum of

        sum_i c_i log(sum_b h_b inside_ib) - sum_b h_b exposure_b
            + a sum_b (log h_b - h_b / r),    r = sum(c) / sum(exposure),

    a = ``LENT`` / ``BINS``: independent Gamma priors around the even rate r, so the
    shares have a uniform Dirichlet prior that counts as half an event in all. By EM:
    events are distributed over bins by their probabilities, and then
    h_b = (events_b + a) / (exposure_b + a / r). Shepp and Vardi, "Maximum likelihood
    reconstruction for emission tomography", IEEE TMI 1982; Turnbull, JRSS B 1976. It is
    concave: there is one maximum. Without events all bins are equal.
    """
    total, days = float(count.sum()), float(exposure.sum())
    if total <= 0 or days <= 0:
        return np.full(BINS, 1.0 / BINS)
    rate, prior = total / days, LENT / BINS
    now = np.asarray(rate * BINS * np.maximum(begin, FADED / BINS))
    for _ in range(_ROUNDS):
        chance = inside * now
        mean = np.maximum(chance.sum(axis=1), 1e-300)
        events = (count / mean) @ chance
        after = (events + prior) / (exposure + prior / rate)
        done = float(np.max(np.abs(after - now))) <= _CLOSE * rate
        now = after
        if done:
            break
    return now


def overlaps(since: Floats, until: Floats | float) -> Floats:
    """Return the days of each interval, shorter than a day, in each bin of the day.

    An interval that ends at an earlier hour than it began passes midnight.
    """
    start, end = since - np.floor(since), until - np.floor(until)
    end = np.where(end <= start, end + 1.0, end)
    low, high = np.concatenate([_EDGES[:-1], 1.0 + _EDGES[:-1]]), 1.0 / BINS
    inside = np.minimum(end[:, None], low + high) - np.maximum(start[:, None], low)
    inside = np.maximum(inside, 0.0)
    return np.asarray(inside[:, :BINS] + inside[:, BINS:])


def _score_gain(
    before: LearnedRhythm, after: LearnedRhythm, read: ObservedRecords
) -> float:
    """Return the gain in log score of the earlier rhythm for a fetch, over none.

    The log score of the changes found, as Poisson with the mean of each: c
    log(e / g) - r (e - g), e the effective and g the plain days of records. The sum
    over fetches, each predicted from those before it, is the evidence for the rhythm
    (Dawid, "Statistical theory: the prequential approach", JRSS A 1984).
    """
    days_observed = float(before.exposure.sum())
    if days_observed <= 0 or not read.since.size:
        return 0.0
    days = read.at - read.since
    own = Rhythm(before.share).between(read.since, np.full(days.size, read.at))
    own = np.maximum(own, 1e-6 * days)
    rate = before.found / days_observed
    gain = read.changed @ np.log(own / days) - rate * (read.shown @ (own - days))
    return float(gain) / after.size


def _rows(read: ObservedRecords) -> Floats:
    """Return the changes of a fetch and the hours between which they occurred."""
    changed = read.changed > 0
    since = read.since[changed]
    until = np.full(since.size, read.at - np.floor(read.at))
    return np.stack([read.changed[changed], since - np.floor(since), until], axis=1)


def _merge_rows(rows: Floats) -> Floats:
    """Return rows with those in the same bins merged."""
    if not rows.size:
        return rows
    count, start, end = rows.T
    first, last = ((phase * BINS).astype(np.intp) for phase in (start, end))
    key = (first * BINS + last) * 2 + (end <= start)
    kept, place = np.unique(key, return_inverse=True)
    total = np.bincount(place, count, kept.size)
    means = [np.bincount(place, count * c, kept.size) / total for c in (start, end)]
    return np.stack([total, *means], axis=1)
