"""Decides whether an answer that lacks many objects is this listing at all.

An answer whose losses are not credible is one of two things: the listing with some of
it cut off, or something else, such as a login page, another list or another language.
The first shows objects that are true; the second shows none.
"""

from typing import Self

from halflife.core.arrays import Floats, Ints
from halflife.core.tracker import ShownObjects
from halflife.models.guard import DeleteGuard

LEAST = 10  # known objects that an answer shows; fewer may be there by chance


class ListingIdentity:
    """Judges whether an answer shows the objects of a listing.

    Backwards in time an arrival is a loss: of the n objects listed, each was not there
    a gap g ago with probability 1 - exp(-b g). So the law of the delete guard, fitted
    to past arrivals, says how many unknown objects an answer may have, and, fitted to
    past changes, how many of the known ones may differ. An answer is this listing if

    - at least 10 of its objects, and at least half, are known,
    - so many unknown ones are usual, and so many changed ones, and
    - of these at most half are as they were before; else it is an old answer.

    The limit of what is usual is that of the guard, a third of what was expected to
    stay. Its other limit, 1 in 10 000, is not used: a source that was read eight times
    between two of its nightly batches has learned that nothing ever comes, and must
    not take its own next batch for another list.

    >>> import numpy as np
    >>> n, few, gap = np.full(30, 100), np.arange(30) % 5, np.ones(30)
    >>> listing = ListingIdentity().fit(n, few, few, gap)
    >>> listing.is_shown_by(ShownObjects(listed=50, known=48, changed=3), 1.0)
    True
    >>> listing.is_shown_by(ShownObjects(listed=50, known=48, changed=48), 1.0)
    False
    >>> listing.is_shown_by(ShownObjects(listed=50, known=28, changed=0), 1.0)
    False

    """

    def __init__(self, *, least: int = LEAST) -> None:
        self.least = least
        self.arrivals_ = DeleteGuard()
        self.changes_ = DeleteGuard()

    def fit(self, listed: Ints, arrived: Ints, changed: Ints, gap: Floats) -> Self:
        """Learn from past snapshots: objects, new and changed ones, days before."""
        self.arrivals_.fit(listed, arrived, gap)
        self.changes_.fit(listed - arrived, changed, gap)
        return self

    def is_shown_by(self, shown: ShownObjects, gap: float) -> bool:
        """Say whether an answer ``gap`` days after the last snapshot is the listing."""
        new = shown.listed - shown.known
        if shown.known < self.least or new > shown.known:
            return False
        if 2 * shown.former > new + shown.changed:
            return False
        return self.arrivals_.is_usual(
            shown.listed, new, gap
        ) and self.changes_.is_usual(shown.known, shown.changed, gap)
