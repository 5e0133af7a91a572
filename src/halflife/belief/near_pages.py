"""What was seen of the pages near a page since the page itself was seen.

Near are those that stand close by in the order of names (``grouping.name_order``).
Of each page two numbers are kept, both 0 after a look at it: the changes E that were
to be expected of looks at near pages, by site, folder and their own rates, and those
that they stand for, C. A look at page j that covers (a, d], with x changes expected
and c = x / (1 - exp(-x)) of them if it found one, adds to each near page that was
seen last at l < d

    o c to C and o x to E,   o = the share of (a, d] that lies after l,

measured in the time that the site has lived. The page is then believed to have been

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
SPARE, SHARE = 64, 0.02  # new pages, and their share of all, that may wait for an order


def wider(column: NDArray[Kind], n: int) -> NDArray[Kind]:
    """Return a column with room for ``n`` items; those that are new have 0.

    What is new takes memory only when something is written to it.
    """
    wide = np.zeros(n, dtype=column.dtype)
    wide[: column.size] = column
    return wide


class NewLooks(NamedTuple):
    """Looks at pages, one row each: what they cover, and what they found.

    Attributes:
        pages: The pages, each once.
        since: The look before.
        at: The look.
        expected: Changes that were to be expected between.
        changes: Changes that the look stands for.

    """

    pages: Ints
    since: Floats
    at: Floats
    expected: Floats
    changes: Floats


class NearPages:
    """How busy the pages near each page were since it was seen last."""

    def __init__(self) -> None:
        self.expected, self.seen = np.zeros(0), np.zeros(0)
        self._order: NameOrder | None = None
        self._sorted = 0

    def grow(self, pages: int) -> None:
        """Make room for pages that became known."""
        self.expected = wider(self.expected, pages)
        self.seen = wider(self.seen, pages)

    def busy(self, pages: Ints) -> Floats:
        """Return how many times as busy as its site and folder each page was."""
        some = self.seen[pages] + PRIOR, self.expected[pages] + PRIOR
        return np.minimum(some[0] / some[1], MOST)

    def learn(
        self, looks: NewLooks, place: tuple[Keys, Ints], last: Floats, bursts: Bursts
    ) -> None:
        """Take in looks; ``last`` is when each page was seen last, these included."""
        self.forget(looks.pages)
        order = self._near(*place)
        filed = np.flatnonzero(looks.pages < order.rows.size)
        which, near = order.near(looks.pages[filed])
        which = filed[which]
        since, at, seen = looks.since[which], looks.at[which], last[near]
        known = np.flatnonzero((seen < at) & np.isfinite(seen) & (since < at))
        which, near = which[known], near[known]
        since, at, seen = since[known], at[known], seen[known]
        pages = looks.pages[which]
        after = bursts.site_lived(pages, np.maximum(seen, since), at)
        whole = bursts.site_lived(pages, since, at)
        share = np.minimum(after / np.maximum(whole, 1e-12), 1.0)
        np.add.at(self.seen, near, share * looks.changes[which])
        np.add.at(self.expected, near, share * looks.expected[which])

    def forget(self, pages: Ints) -> None:
        """Begin anew with pages that were seen themselves."""
        self.expected[pages] = self.seen[pages] = 0.0

    def telling(self, most: int) -> Ints:
        """Return pages of which most was seen since, the latest news first."""
        told = np.flatnonzero(self.expected > 0)
        far = np.abs(np.log(self.busy(told)))
        return told[np.argsort(-far, kind="stable")[:most]]

    def _near(self, keys: Keys, folder: Ints) -> NameOrder:
        """Return the order of names, made anew when many pages became known."""
        n = len(keys)
        if self._order is None or n > self._sorted * (1.0 + SHARE) + SPARE:
            self._order, self._sorted = name_order(keys, folder), n
        return self._order
