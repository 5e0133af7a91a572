"""Pages that change together: how busy a group was, day by day.

An item with the usual rate r, in a group that was b(t) times as busy as usual at
time t, has not changed in (a, d] with probability exp(-r L), where

    L = integral of b(t) over a..d

is the time it has *lived*: its age, longer after a busy time and shorter after a quiet
one. An observation of one item is evidence about b, and so about every other item of
its group that was not observed since. That is the thesis of sampling with correlation
(Taleghani and Ugur-Ozekinci), without its cycles: the group need not be sampled again,
because every observation is a sample.

b is a step function, constant over a bin of time. It is the product of two: how busy
the site was, and how much busier the folder was than the site. Each has a Gamma prior
with mean 1 and variance 1 / k. With E the changes expected in the observations that
cover a bin, and C those that were seen, the posterior mean is

    (C + k) / (E + k).

A change seen between two observations may lie in any of the bins between; it is
distributed over them in proportion to their current estimates
(one step of expectation maximisation). An observation that found a change counts
x / (1 - exp(-x)) changes, the mean of a Poisson number with mean x = r L that is not 0.
"""

from dataclasses import dataclass, field

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.view import Unrest
from halflife.models.unrest import BELIEVED, unrest_by_group

BIN = 1.0  # days
MOST_BINS = 512  # kept; before that all groups count as busy as usual
SITE = 0.3  # weight of the prior of a site's bin, in changes
FOLDER = 0.1  # the same for a folder's
UNREST_BINS, MOST_SITES = 128, 2048  # used to estimate how unevenly sites change
FEW_SPANS = 8  # spans of time, over all sites, needed for that


def at_least_one(mean: Floats, load: Floats | float = 0.0) -> Floats:
    """Return the mean of a Poisson number given that it is not 0.

    With a ``load`` it may be 0, because with probability 1 - exp(-load) something else
    explains the observation: then it is mean / (1 - exp(-mean - load)).

    >>> at_least_one(np.array([0.0, 1.0])).round(3)
    array([1.   , 1.582])
    >>> at_least_one(np.array([0.0, 1.0]), np.log(2.0)).round(3)
    array([0.   , 1.225])
    """
    positive = np.maximum(mean, 1e-9)
    return np.minimum(positive / -np.expm1(-positive - load), 1.0 + mean)


@dataclass(frozen=True, slots=True)
class BurstCounts:
    """The result of a batch of observations, one row for each.

    Attributes:
        changes: How many changes each observation stands for.
        lived: The time lived since the previous observation, in days.

    """

    changes: Floats
    lived: Floats


@dataclass(frozen=True, slots=True)
class BurstMemory:
    """The learned state, for a later run; rows are groups, columns are bins.

    Attributes:
        origin: When the first bin begins, in days.
        sites: Changes expected and seen on each site, one above the other.
        folder: Folders that have rows of their own.
        parent: Their sites.
        folders: Changes expected and seen in each of them, likewise.
        pace: The pace of each site in each bin; empty if it never changed.

    """

    origin: float
    sites: Floats
    folder: Ints
    parent: Ints
    folders: Floats
    pace: Floats = field(default_factory=lambda: np.zeros((0, 0)))


@dataclass(slots=True)
class _Level:
    """Changes expected and seen in each bin; one row for each group."""

    prior: float
    expected: Floats = field(default_factory=lambda: np.zeros((0, 1)))
    seen: Floats = field(default_factory=lambda: np.zeros((0, 1)))

    def fit(self, groups: int, bins: int) -> None:
        """Make room for groups and bins, with some to spare."""
        rows, columns = self.seen.shape
        if groups > rows or bins > columns:
            rows = max(groups, rows if groups <= rows else rows * 3 // 2)
            columns = max(bins, columns if bins <= columns else columns * 3 // 2)
            self.expected = _pad(self.expected, rows, columns)
            self.seen = _pad(self.seen, rows, columns)

    def forget(self, bins: int) -> None:
        """Drop the oldest bins."""
        self.expected = _shift(self.expected, bins)
        self.seen = _shift(self.seen, bins)

    def counts(self, first: int, end: int) -> Floats:
        """Return changes expected and seen in these bins."""
        return np.stack([self.expected[:, first:end], self.seen[:, first:end]])

    def set(self, counts: Floats) -> None:
        """Set changes expected and seen, as they were saved."""
        self.expected, self.seen = counts[0].copy(), counts[1].copy()

    def busy(self, rows: Ints) -> Floats:
        """Return the posterior mean of how busy each group was in each bin."""
        k = self.prior
        return np.asarray((self.seen[rows] + k) / (self.expected[rows] + k))

    def variance(self, rows: Ints) -> Floats:
        """Return the posterior variance of how busy each group was in each bin."""
        k = self.prior
        return np.asarray((self.seen[rows] + k) / (self.expected[rows] + k) ** 2)


class Bursts:
    """How busy sites and folders were, learned from observations of their pages.

    Folders get estimates of their own only once a change was seen in them.

    Args:
        site: The weight of the prior of a site's bin, in changes.
        folder: The same for a folder's.
        step: Days in a bin.

    """

    def __init__(
        self, *, site: float = SITE, folder: float = FOLDER, step: float = BIN
    ) -> None:
        self.step = step
        self._sites, self._folders = _Level(site), _Level(folder)
        self._site_of = self._folder_of = np.zeros(0, dtype=np.intp)  # of items
        self._row = np.zeros(0, dtype=np.intp)  # of folders; -1: like the site
        self._parent = np.zeros(0, dtype=np.intp)  # the site of each folder's row
        self._origin, self._bins, self._began = 0.0, 1, False
        # Running totals of the time lived, of sites and below them of folders' rows.
        self._total = self._lived = self._lived_in = self._doubt = np.zeros((0, 2))
        self._pace, self._paced = np.ones((0, 1)), np.zeros((0, 2))  # of sites
        self._outside = np.ones((2, 0))  # the pace before the bins and after them

    def place(self, site: Ints, folder: Ints) -> None:
        """Set the sites and folders of items; those of known items must not change."""
        self._site_of, self._folder_of = site, folder
        folders = int(folder.max(initial=-1)) + 1
        new = np.full(max(folders - self._row.size, 0), -1, dtype=np.intp)
        self._row = np.concatenate([self._row, new])
        sites = int(site.max(initial=-1)) + 1
        if sites > self._lived.shape[0]:
            self._sites.fit(sites, self._bins)
            self._add_up(np.arange(sites))

    def reach(self, now: float) -> None:
        """Advance time to ``now``."""
        if not self._began:
            self._origin, self._began = np.floor(now / self.step) * self.step, True
        needed = int(np.floor((now - self._origin) / self.step)) + 1
        if needed > MOST_BINS:
            dropped = needed - MOST_BINS // 2
            self._sites.forget(dropped)
            self._folders.forget(dropped)
            self._pace = self._pace[:, min(dropped, self._pace.shape[1] - 1) :]
            self._origin += dropped * self.step
            needed -= dropped
            self._bins = 1
        if needed > self._bins:
            self._bins = needed
            self._sites.fit(self._lived.shape[0], needed)
            self._folders.fit(self._parent.size, needed)
            self._add_up(np.arange(self._lived.shape[0]))

    def set_pace(self, pace: Floats) -> None:
        """Set the pace of each site from the present bin on (``models.pace``)."""
        known = pace[: self._pace.shape[0]]
        self._pace[: known.size, self._bins - 1 :] = known[:, None]
        self._add_up(np.arange(self._lived.shape[0]))

    def pace(self, rows: Ints) -> Floats:
        """Return the present pace of the sites of items."""
        present: Floats = self._pace[self._site_of[rows], self._bins - 1]
        return present

    def paced(self, rows: Ints, since: Floats, now: Floats | float) -> Floats:
        """Return the days at the usual pace between two moments."""
        return self._between(self._paced, self._site_of[rows], since, now)

    def lived(self, rows: Ints, since: Floats, now: Floats | float) -> Floats:
        """Return the time that items have lived between two moments, in days."""
        site, own = self._site_of[rows], self._row[self._folder_of[rows]]
        line = np.where(own >= 0, own + self._lived.shape[0], site)
        return self._between(self._total, line, since, now)

    def site_lived(self, rows: Ints, since: Floats, at: Floats) -> Floats:
        """Return the time that the sites of items have lived between two moments."""
        return self._between(self._lived, self._site_of[rows], since, at)

    def doubt(self, rows: Ints, since: Floats, now: float) -> Floats:
        """Return the standard deviation of the time lived, on the level of sites."""
        between = self._between(self._doubt, self._site_of[rows], since, now, power=2)
        return np.sqrt(np.maximum(between, 0.0))

    def unrest(self) -> Unrest:
        """Return how unevenly sites change, and how fast, from the latest bins."""
        latest = slice(max(self._bins - UNREST_BINS, 0), self._bins)
        level, every = self._sites, self._sites.seen.shape[0] // MOST_SITES + 1
        counts = level.expected[:, latest], level.seen[:, latest]
        unrest_days, pace = unrest_by_group(
            *counts, self.step, fewest=FEW_SPANS, some=every
        )
        days = (latest.stop - latest.start) * self.step
        return Unrest(unrest_days, days, pace**BELIEVED)

    def learn(
        self,
        rows: Ints,
        since: Floats,
        at: Floats,
        changed: Bools,
        rate: Floats,
        load: Floats | float = 0.0,
    ) -> BurstCounts:
        """Learn from observations of items with these rates; return their counts.

        ``load`` is the worth of the hints before an observation: an announced change is
        no evidence about other items, since it was the reason for the fetch.
        """
        lived = self.lived(rows, since, at)
        changes = np.where(changed, at_least_one(rate * lived, load), 0.0)
        # Distributed over the bins: changes per day of the time lived.
        density = changes / np.maximum(lived, 1e-9)
        site, folder = self._site_of[rows], self._folder_of[rows]
        self._separate(folder[changed], site[changed])
        window = _Window(*self._bin(since), *self._bin(at), self._bins)
        sites, place = np.unique(site, return_inverse=True)
        busy = self._sites.busy(sites)[:, : self._bins]
        pace = self._pace[sites, : self._bins]
        days = window.over(place, sites.size, rate) * self.step * pace
        seen = window.over(place, sites.size, density) * self.step * busy * pace
        own = self._row[folder]
        in_folder = np.flatnonzero(own >= 0)
        if in_folder.size:
            inner, nest = np.unique(own[in_folder], return_inverse=True)
            window_in = window.take(in_folder)
            extra = self._folders.busy(inner)[:, : self._bins] - 1.0
            parent = np.searchsorted(sites, self._parent[inner])
            days_in = window_in.over(nest, inner.size, rate[in_folder]) * self.step
            days_in = days_in * pace[parent]
            seen_in = window_in.over(nest, inner.size, density[in_folder]) * self.step
            seen_in = seen_in * busy[parent] * pace[parent]
            np.add.at(days, parent, days_in * extra)
            np.add.at(seen, parent, seen_in * extra)
            self._folders.expected[inner, : self._bins] += days_in * busy[parent]
            self._folders.seen[inner, : self._bins] += seen_in * (extra + 1.0)
        self._sites.expected[sites, : self._bins] += days
        self._sites.seen[sites, : self._bins] += seen
        self._add_up(sites)
        return BurstCounts(changes, lived)

    def kept(self, bins: int = MOST_BINS) -> BurstMemory:
        """Return the learned state of the last ``bins`` bins."""
        first = max(self._bins - bins, 0)
        folders = np.flatnonzero(self._row >= 0)
        folders = folders[np.argsort(self._row[folders])]
        return BurstMemory(
            self._origin + first * self.step,
            self._sites.counts(first, self._bins),
            folders,
            self._parent.copy(),
            self._folders.counts(first, self._bins)[:, : folders.size],
            self._pace[:, first : self._bins].copy(),
        )

    def restore(self, kept: BurstMemory) -> None:
        """Continue from a saved state; nothing must be learned yet."""
        self._origin, self._began, self._bins = kept.origin, True, kept.sites.shape[2]
        self._sites.set(kept.sites)
        self._row[kept.folder] = np.arange(kept.folder.size)
        self._parent = kept.parent.copy()
        self._folders.set(kept.folders)
        self._sites.fit(self._lived.shape[0], self._bins)
        if kept.pace.size:
            self._pace = kept.pace.copy()
        self._add_up(np.arange(self._sites.seen.shape[0]))

    def _separate(self, folder: Ints, site: Ints) -> None:
        """Give folders in which a change was seen a row of their own."""
        new, first = np.unique(folder, return_index=True)
        fresh = self._row[new] < 0
        new, first = new[fresh], first[fresh]
        if not new.size:
            return
        self._row[new] = self._parent.size + np.arange(new.size)
        self._parent = np.concatenate([self._parent, site[first]])
        self._folders.fit(self._parent.size, self._bins)

    def _add_up(self, sites: Ints) -> None:
        """Update the running totals of these sites and their folders."""
        shape = (self._sites.seen.shape[0], self._bins + 1)
        n_sites, n_folders = shape[0], self._parent.size
        if self._doubt.shape != shape or self._lived_in.shape != (n_folders, shape[1]):
            self._total, self._doubt = (
                np.zeros((n_sites + n_folders, shape[1])),
                np.zeros(shape),
            )
            self._lived, self._lived_in = self._total[:n_sites], self._total[n_sites:]
            sites = np.arange(n_sites)
        self._pace = _lengthen(self._pace, n_sites, self._bins)
        if self._paced.shape != shape:
            self._paced, sites = np.zeros(shape), np.arange(n_sites)
        pace = self._pace[sites, : self._bins]
        self._paced[sites, 1:] = np.cumsum(pace, axis=1) * self.step
        ends = self._pace[:n_sites, [0, self._bins - 1]].T
        self._outside = np.concatenate([ends, ends[:, self._parent]], axis=1)
        busy = self._sites.busy(sites)[:, : self._bins] * pace
        self._lived[sites, 1:] = np.cumsum(busy, axis=1) * self.step
        unsure = self._sites.variance(sites)[:, : self._bins] * pace**2
        self._doubt[sites, 1:] = np.cumsum(unsure, axis=1) * self.step**2
        place = np.full(shape[0], -1, dtype=np.intp)
        place[sites] = np.arange(sites.size)
        inner = np.flatnonzero(place[self._parent] >= 0)
        busy_in = self._folders.busy(inner)[:, : self._bins]
        busy_in = busy_in * busy[place[self._parent[inner]]]
        self._lived_in[inner, 1:] = np.cumsum(busy_in, axis=1) * self.step

    def _bin(self, moment: Floats) -> tuple[Ints, Floats]:
        """Return the bin of each moment, and how far into it the moment is."""
        place = np.clip((moment - self._origin) / self.step, 0.0, self._bins)
        number = np.minimum(place.astype(np.intp), self._bins - 1)
        return number, place - number

    def _between(
        self,
        total: Floats,
        rows: Ints,
        since: Floats,
        now: Floats | float,
        *,
        power: int = 1,
    ) -> Floats:
        """Return totals between two moments.

        Outside the bins they grow by this power of the pace a day.
        """
        upto = self._upto(total, rows, np.asarray(now), power)
        return upto - self._upto(total, rows, since, power)

    def _upto(self, total: Floats, rows: Ints, moment: Floats, power: int) -> Floats:
        number, fraction = self._bin(moment)
        if np.ndim(number) == 0:  # one moment for all: use a column
            line = total[:, number]
            upto = (line + fraction * (total[:, number + 1] - line))[rows]
        else:
            place = rows * total.shape[1]
            place += number
            upto = total.take(place)
            place += 1
            fraction *= total.take(place) - upto
            upto += fraction
        first, end = self._origin, self._origin + self._bins * self.step
        if moment.size and float(moment.min()) < first:
            upto += np.minimum(moment - first, 0.0) * self._outside[0, rows] ** power
        if moment.size and float(moment.max()) > end:
            upto += np.maximum(moment - end, 0.0) * self._outside[1, rows] ** power
        return upto


@dataclass(frozen=True, slots=True)
class _Window:
    """Stretches of time: from ``part`` into bin ``first`` to ``end`` into ``last``."""

    first: Ints
    part: Floats
    last: Ints
    end: Floats
    bins: int

    def take(self, rows: Ints) -> "_Window":
        """Return the stretches at these rows."""
        return _Window(
            self.first[rows],
            self.part[rows],
            self.last[rows],
            self.end[rows],
            self.bins,
        )

    def over(self, group: Ints, groups: int, amount: Floats) -> Floats:
        """Return, for each group and bin, amounts times the part of it they cover."""
        columns, size = self.bins + 1, groups * (self.bins + 1)
        base = group * columns

        def add_up(place: Ints, values: Floats) -> Floats:
            flat: Floats = np.bincount(base + place, values, size).astype(np.float64)
            return flat.reshape(groups, columns)

        # Whole bins strictly between, as steps up and down; then the two ends.
        whole = add_up(self.first + 1, amount) - add_up(self.last, amount)
        ends = add_up(self.first, amount * (1.0 - self.part))
        ends += add_up(self.last, amount * self.end)
        return np.asarray((np.cumsum(whole, axis=1) + ends)[:, : self.bins])


def _pad(table: Floats, rows: int, columns: int) -> Floats:
    padded = np.zeros((rows, columns))
    padded[: table.shape[0], : table.shape[1]] = table
    return padded


def _lengthen(pace: Floats, rows: int, columns: int) -> Floats:
    """Return paces with room for so many groups and bins; they stay as they were."""
    groups, bins = pace.shape
    if rows <= groups and columns <= bins:
        return pace
    grown = np.ones((max(rows, groups), max(columns, bins)))
    grown[:groups, :bins] = pace
    grown[:groups, bins:] = pace[:, -1:]
    return grown


def _shift(table: Floats, columns: int) -> Floats:
    shifted = np.zeros_like(table)
    rest = max(table.shape[1] - columns, 0)
    shifted[:, :rest] = table[:, table.shape[1] - rest :]
    return shifted
