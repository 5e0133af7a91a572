"""Pages that change together: how busy a group was, day by day.

An item with the usual rate r, in a group that was b(t) times as busy as usual at
time t, has not changed in (a, d] with probability exp(-r L), where

    L = integral of b(t) over a..d

is the time it has *lived*: its age, longer after a busy time and shorter after a
quiet one. A look at one item tells about b, and so about every other item of its
group that was not looked at since. That is the thesis of sampling with correlation
(Taleghani and Ugur-Ozekinci), without its cycles: the group need not be sampled
anew, because every look is a sample.

b is a step function, constant over a bin of time. It is the product of two: how
busy the site was, and how much busier the folder was than the site. Each has a Gamma
prior with mean 1 and variance 1 / k. With E the changes that were to be expected of
the looks that cover a bin, and C those that were seen, the posterior mean is

    (C + k) / (E + k).

A change seen between two looks may lie in any of the bins between; it is dealt out to
them in proportion to what is believed of them at that time (one step of expectation
maximisation). A look that found a change counts x / (1 - exp(-x)) changes, the mean
of a Poisson number with mean x = r L that is not 0.
"""

from dataclasses import dataclass, field

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints
from halflife.core.view import Unrest
from halflife.models.unrest import BELIEVED, by_group

BIN = 1.0  # days
MOST_BINS = 512  # remembered; before that all groups count as busy as usual
SITE = 0.3  # changes that the prior of a site's bin is worth
FOLDER = 0.1  # the same for a folder's
TOLD_BINS, MOST_SITES = 128, 2048  # by which it is told how unevenly sites change
FEW_SPANS = 8  # spans of time, over all sites, that tell it


def at_least_one(mean: Floats, load: Floats | float = 0.0) -> Floats:
    """Return the mean of a Poisson number that is known not to be 0.

    With a ``load`` it may be 0 all the same, because something else explains what was
    seen, with chance 1 - exp(-load): then it is mean / (1 - exp(-mean - load)).

    >>> at_least_one(np.array([0.0, 1.0])).round(3)
    array([1.   , 1.582])
    >>> at_least_one(np.array([0.0, 1.0]), np.log(2.0)).round(3)
    array([0.   , 1.225])
    """
    some = np.maximum(mean, 1e-9)
    return np.minimum(some / -np.expm1(-some - load), 1.0 + mean)


@dataclass(frozen=True, slots=True)
class BurstCounts:
    """What a batch of looks added up to, one row a look.

    Attributes:
        changes: How many changes each look stands for.
        lived: The time lived since the look before, in days.

    """

    changes: Floats
    lived: Floats


@dataclass(frozen=True, slots=True)
class BurstMemory:
    """What was learned, to go on from later; rows are groups, columns are bins.

    Attributes:
        origin: When the first bin begins, in days.
        sites: Changes expected and seen on each site, one above the other.
        folder: Folders that were told apart from their sites.
        parent: Their sites.
        folders: Changes expected and seen in each of them, likewise.

    """

    origin: float
    sites: Floats
    folder: Ints
    parent: Ints
    folders: Floats


@dataclass(slots=True)
class _Level:
    """Changes expected and seen in each bin; one row a group."""

    prior: float
    expected: Floats = field(default_factory=lambda: np.zeros((0, 1)))
    seen: Floats = field(default_factory=lambda: np.zeros((0, 1)))

    def fit(self, groups: int, bins: int) -> None:
        """Make room; there is always some to spare."""
        rows, columns = self.seen.shape
        if groups > rows or bins > columns:
            rows = max(groups, rows if groups <= rows else rows * 3 // 2)
            columns = max(bins, columns if bins <= columns else columns * 3 // 2)
            self.expected = _padded(self.expected, rows, columns)
            self.seen = _padded(self.seen, rows, columns)

    def forget(self, bins: int) -> None:
        """Let the oldest bins go."""
        self.expected = _shifted(self.expected, bins)
        self.seen = _shifted(self.seen, bins)

    def both(self, first: int, end: int) -> Floats:
        """Return changes expected and seen in some of the bins."""
        return np.stack([self.expected[:, first:end], self.seen[:, first:end]])

    def set(self, both: Floats) -> None:
        """Set changes expected and seen, as they were kept."""
        self.expected, self.seen = both[0].copy(), both[1].copy()

    def busy(self, rows: Ints) -> Floats:
        """Return how busy each group was believed to be in each bin."""
        k = self.prior
        return np.asarray((self.seen[rows] + k) / (self.expected[rows] + k))

    def variance(self, rows: Ints) -> Floats:
        """Return how unsure that is: the variance of the Gamma posterior."""
        k = self.prior
        return np.asarray((self.seen[rows] + k) / (self.expected[rows] + k) ** 2)


class Bursts:
    """How busy sites and folders were, learned from looks at their pages.

    Folders are told apart from their site only once a change was seen in them.

    Args:
        site: Changes that the prior of a site's bin is worth.
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

    def place(self, site: Ints, folder: Ints) -> None:
        """Say where the items are; places of those known must not change."""
        self._site_of, self._folder_of = site, folder
        folders = int(folder.max(initial=-1)) + 1
        new = np.full(max(folders - self._row.size, 0), -1, dtype=np.intp)
        self._row = np.concatenate([self._row, new])
        sites = int(site.max(initial=-1)) + 1
        if sites > self._lived.shape[0]:
            self._sites.fit(sites, self._bins)
            self._add_up(np.arange(sites))

    def reach(self, now: float) -> None:
        """Let time go on to ``now``."""
        if not self._began:
            self._origin, self._began = np.floor(now / self.step) * self.step, True
        needed = int(np.floor((now - self._origin) / self.step)) + 1
        if needed > MOST_BINS:
            gone = needed - MOST_BINS // 2
            self._sites.forget(gone)
            self._folders.forget(gone)
            self._origin += gone * self.step
            needed -= gone
            self._bins = 1
        if needed > self._bins:
            self._bins = needed
            self._sites.fit(self._lived.shape[0], needed)
            self._folders.fit(self._parent.size, needed)
            self._add_up(np.arange(self._lived.shape[0]))

    def lived(self, rows: Ints, since: Floats, now: Floats | float) -> Floats:
        """Return the time that items have lived between two moments, in days."""
        site, own = self._site_of[rows], self._row[self._folder_of[rows]]
        line = np.where(own >= 0, own + self._lived.shape[0], site)
        return self._between(self._total, line, since, now)

    def site_lived(self, rows: Ints, since: Floats, at: Floats) -> Floats:
        """Return the time that the sites of items have lived between two moments."""
        return self._between(self._lived, self._site_of[rows], since, at)

    def doubt(self, rows: Ints, since: Floats, now: float) -> Floats:
        """Return the standard deviation of the time lived, as far as sites go."""
        between = self._between(self._doubt, self._site_of[rows], since, now)
        return np.sqrt(np.maximum(between, 0.0))

    def unrest(self) -> Unrest:
        """Return how unevenly sites change, and how fast; by the latest bins."""
        some = slice(max(self._bins - TOLD_BINS, 0), self._bins)
        level, every = self._sites, self._sites.seen.shape[0] // MOST_SITES + 1
        both = level.expected[:, some], level.seen[:, some]
        found, pace = by_group(*both, self.step, fewest=FEW_SPANS, some=every)
        days = (some.stop - some.start) * self.step
        return Unrest(found, days, pace**BELIEVED)

    def learn(
        self,
        rows: Ints,
        since: Floats,
        at: Floats,
        changed: Bools,
        rate: Floats,
        load: Floats | float = 0.0,
    ) -> BurstCounts:
        """Take in looks at items with these rates; return what each stands for.

        ``load`` is what hints that came before a look are worth: a change that was
        announced says nothing of others, since it is why we looked.
        """
        lived = self.lived(rows, since, at)
        changes = np.where(changed, at_least_one(rate * lived, load), 0.0)
        # Dealt out to the bins: this much a day of the time lived.
        dealt = changes / np.maximum(lived, 1e-9)
        site, folder = self._site_of[rows], self._folder_of[rows]
        self._tell_apart(folder[changed], site[changed])
        window = _Window(*self._bin(since), *self._bin(at), self._bins)
        sites, place = np.unique(site, return_inverse=True)
        busy = self._sites.busy(sites)[:, : self._bins]
        days = window.over(place, sites.size, rate) * self.step
        seen = window.over(place, sites.size, dealt) * self.step * busy
        own = self._row[folder]
        told = np.flatnonzero(own >= 0)
        if told.size:
            inner, nest = np.unique(own[told], return_inverse=True)
            some = window.take(told)
            extra = self._folders.busy(inner)[:, : self._bins] - 1.0
            parent = np.searchsorted(sites, self._parent[inner])
            days_in = some.over(nest, inner.size, rate[told]) * self.step
            seen_in = some.over(nest, inner.size, dealt[told]) * self.step
            seen_in = seen_in * busy[parent]
            np.add.at(days, parent, days_in * extra)
            np.add.at(seen, parent, seen_in * extra)
            self._folders.expected[inner, : self._bins] += days_in * busy[parent]
            self._folders.seen[inner, : self._bins] += seen_in * (extra + 1.0)
        self._sites.expected[sites, : self._bins] += days
        self._sites.seen[sites, : self._bins] += seen
        self._add_up(sites)
        return BurstCounts(changes, lived)

    def kept(self, bins: int = MOST_BINS) -> BurstMemory:
        """Return what was learned of the last so many bins."""
        first = max(self._bins - bins, 0)
        told = np.flatnonzero(self._row >= 0)
        told = told[np.argsort(self._row[told])]
        return BurstMemory(
            self._origin + first * self.step,
            self._sites.both(first, self._bins),
            told,
            self._parent.copy(),
            self._folders.both(first, self._bins)[:, : told.size],
        )

    def restore(self, kept: BurstMemory) -> None:
        """Go on from what was learned before; nothing must be learned yet."""
        self._origin, self._began, self._bins = kept.origin, True, kept.sites.shape[2]
        self._sites.set(kept.sites)
        self._row[kept.folder] = np.arange(kept.folder.size)
        self._parent = kept.parent.copy()
        self._folders.set(kept.folders)
        self._sites.fit(self._lived.shape[0], self._bins)
        self._add_up(np.arange(self._sites.seen.shape[0]))

    def _tell_apart(self, folder: Ints, site: Ints) -> None:
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
        """Bring the running totals of these sites and their folders up to date."""
        shape = (self._sites.seen.shape[0], self._bins + 1)
        every, told = shape[0], self._parent.size
        if self._doubt.shape != shape or self._lived_in.shape != (told, shape[1]):
            self._total, self._doubt = (
                np.zeros((every + told, shape[1])),
                np.zeros(shape),
            )
            self._lived, self._lived_in = self._total[:every], self._total[every:]
            sites = np.arange(every)
        busy = self._sites.busy(sites)[:, : self._bins]
        self._lived[sites, 1:] = np.cumsum(busy, axis=1) * self.step
        unsure = self._sites.variance(sites)[:, : self._bins]
        self._doubt[sites, 1:] = np.cumsum(unsure, axis=1) * self.step**2
        place = np.full(shape[0], -1, dtype=np.intp)
        place[sites] = np.arange(sites.size)
        inner = np.flatnonzero(place[self._parent] >= 0)
        both = self._folders.busy(inner)[:, : self._bins]
        both = both * busy[place[self._parent[inner]]]
        self._lived_in[inner, 1:] = np.cumsum(both, axis=1) * self.step

    def _bin(self, moment: Floats) -> tuple[Ints, Floats]:
        """Return the bin that each moment lies in, and how far into it."""
        place = np.clip((moment - self._origin) / self.step, 0.0, self._bins)
        number = np.minimum(place.astype(np.intp), self._bins - 1)
        return number, place - number

    def _between(
        self, total: Floats, rows: Ints, since: Floats, now: Floats | float
    ) -> Floats:
        """Return totals between two moments; outside the bins they grow by 1 a day."""
        return self._upto(total, rows, np.asarray(now)) - self._upto(total, rows, since)

    def _upto(self, total: Floats, rows: Ints, moment: Floats) -> Floats:
        number, part = self._bin(moment)
        if np.ndim(number) == 0:  # one moment for all: a column does
            line = total[:, number]
            found = (line + part * (total[:, number + 1] - line))[rows]
        else:
            place = rows * total.shape[1]
            place += number
            found = total.take(place)
            place += 1
            part *= total.take(place) - found
            found += part
        first, end = self._origin, self._origin + self._bins * self.step
        if moment.size and float(moment.min()) < first:
            found += np.minimum(moment - first, 0.0)
        if moment.size and float(moment.max()) > end:
            found += np.maximum(moment - end, 0.0)
        return found


@dataclass(frozen=True, slots=True)
class _Window:
    """Stretches of time: from ``part`` into bin ``first`` to ``end`` into ``last``."""

    first: Ints
    part: Floats
    last: Ints
    end: Floats
    bins: int

    def take(self, rows: Ints) -> "_Window":
        """Return some of the stretches."""
        return _Window(
            self.first[rows],
            self.part[rows],
            self.last[rows],
            self.end[rows],
            self.bins,
        )

    def over(self, group: Ints, groups: int, amount: Floats) -> Floats:
        """Return, for each group and bin, amounts times the part of it they cover."""
        wide, size = self.bins + 1, groups * (self.bins + 1)
        base = group * wide

        def put(place: Ints, what: Floats) -> Floats:
            flat: Floats = np.bincount(base + place, what, size).astype(np.float64)
            return flat.reshape(groups, wide)

        # Whole bins strictly between, as steps up and down; then the two ends.
        whole = put(self.first + 1, amount) - put(self.last, amount)
        ends = put(self.first, amount * (1.0 - self.part))
        ends += put(self.last, amount * self.end)
        return np.asarray((np.cumsum(whole, axis=1) + ends)[:, : self.bins])


def _padded(table: Floats, rows: int, columns: int) -> Floats:
    wider = np.zeros((rows, columns))
    wider[: table.shape[0], : table.shape[1]] = table
    return wider


def _shifted(table: Floats, columns: int) -> Floats:
    kept = np.zeros_like(table)
    rest = max(table.shape[1] - columns, 0)
    kept[:, :rest] = table[:, table.shape[1] - rest :]
    return kept
