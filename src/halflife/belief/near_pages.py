"""Changes observed on the pages near a page since it was last fetched itself.

Near pages are close in the order of names (``grouping.name_order``). Two numbers are
kept for each page, both 0 after a fetch of it: the changes E expected in observations
of near pages, by site, folder and their own rates, and the changes C in them. An
observation of page j that covers (a, d], with x changes expected and
c = x / (1 - exp(-x)) of them if it found one, adds to each near page that was last
fetched at l < d

    o c to C and o x to E,   o = the share of (a, d] that lies after l,

measured in the site's time lived. The page is then believed to have been

    (C + k) / (E + k)

times as busy as its site and folder: a Gamma prior with mean 1 and variance 1 / k.
"""

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from halflife.core.arrays import Floats, Ints
from halflife.core.keys import Keys
from halflife.grouping.name_order import NameOrder, name_order
from halflife.models.bursts import Bursts

Kind = TypeVar("Kind", bound=np.generic)
PRIOR = 3.0  # changes; 1 is nearly as good on recorded sites, 10 too timid
MOST = 20.0  # times as busy as the site and the folder, at most
BLOCK = 8192  # observations that are spread at once: each has dozens of pages near it
SPARE, SHARE = 64, 0.02  # new pages, and their share of all, that may wait for an order


def with_room(column: NDArray[Kind], n: int) -> NDArray[Kind]:
    """Return a column with room for ``n`` items; those that are new have 0.

    New rows take memory only when something is written to them.
    """
    grown = np.zeros(n, dtype=column.dtype)
    grown[: column.size] = column
    return grown


class NewObservations(NamedTuple):
    """Observations of pages, one row each: the time they cover, and their changes.

    Attributes:
        pages: The pages, each once.
        since: When it was observed before.
        at: When it was observed.
        expected: Changes expected in between.
        changes: Changes that the observation stands for.

    """

    pages: Ints
    since: Floats
    at: Floats
    expected: Floats
    changes: Floats


class NearPages:
    """How busy the pages near each page were since its last fetch."""

    def __init__(self) -> None:
        self.expected, self.seen = np.zeros(0), np.zeros(0)
        self._order: NameOrder | None = None
        self._sorted = 0

    def grow(self, pages: int) -> None:
        """Make room for new pages."""
        self.expected = with_room(self.expected, pages)
        self.seen = with_room(self.seen, pages)

    def busy(self, pages: Ints) -> Floats:
        """Return how many times as busy as its site and folder each page was."""
        seen, expected = self.seen[pages] + PRIOR, self.expected[pages] + PRIOR
        return np.minimum(seen / expected, MOST)

    def learn(
        self,
        new: NewObservations,
        place: tuple[Keys, Ints, Ints],
        last: Floats,
        bursts: Bursts,
    ) -> None:
        """Learn from observations; ``last`` is the last fetch of each page.

        ``place`` are the names of all pages, their folders and their sites.
        """
        self.forget(new.pages)
        order = self._near(*place)
        ordered = np.flatnonzero(new.pages < order.rows.size)
        for start in range(0, ordered.size, BLOCK):
            self._spread(new, ordered[start : start + BLOCK], order, last, bursts)

    def _spread(
        self,
        new: NewObservations,
        some: Ints,
        order: NameOrder,
        last: Floats,
        bursts: Bursts,
    ) -> None:
        """Add some of the observations to the pages near theirs."""
        which, near = order.near(new.pages[some])
        which = some[which]
        since, at, seen = new.since[which], new.at[which], last[near]
        usable = np.flatnonzero((seen < at) & np.isfinite(seen) & (since < at))
        which, near = which[usable], near[usable]
        since, at, seen = since[usable], at[usable], seen[usable]
        pages = new.pages[which]
        after = bursts.site_lived(pages, np.maximum(seen, since), at)
        whole = bursts.site_lived(pages, since, at)
        share = np.minimum(after / np.maximum(whole, 1e-12), 1.0)
        np.add.at(self.seen, near, share * new.changes[which])
        np.add.at(self.expected, near, share * new.expected[which])

    def forget(self, pages: Ints) -> None:
        """Start again with pages that were fetched themselves."""
        self.expected[pages] = self.seen[pages] = 0.0

    def most_informative(self, most: int) -> Ints:
        """Return the pages with the most unusual neighbours, those first."""
        pages = np.flatnonzero(self.expected > 0)
        deviation = np.abs(np.log(self.busy(pages)))
        return pages[np.argsort(-deviation, kind="stable")[:most]]

    def _near(self, keys: Keys, folder: Ints, site: Ints) -> NameOrder:
        """Return the order of names, made again when there are many new pages."""
        n = len(keys)
        if self._order is None or n > self._sorted * (1.0 + SHARE) + SPARE:
            self._order, self._sorted = name_order(keys, folder, site), n
        return self._order
