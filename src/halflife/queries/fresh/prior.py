"""How many new records a term is likely to have, before it was asked for."""

from collections.abc import Mapping
from math import inf

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.queries.local import LocalRecords

GROWTH = 0.3  # new records for each old one, before anything is known
SURE = 5.0  # new records after which what is seen weighs as much as that
LATELY = 2.0  # a record that came lately tells of as many new ones as so many others
SHAPE = {"select": 4.0, "range": 10.0, "keyword": 15.0}
UNHEARD = {"select": (0.5, 3.0), "range": (1.0, 1.0), "keyword": (1.0, 0.3)}

HIDDEN = (2.0, 0.1)  # new records of unheard values: shape, share of the new records


class GrowthPrior:
    """Expected new records by term, scaled by what the round finds.

    A term's weight is its records in the copy, those that came lately ``LATELY``
    times; its mean is the weight times the growth of its attribute. The shape says
    how much terms differ from that: a company hires or does not, words are steadier.
    Of a term that no old record has, one seen new record tells most.

    Args:
        since: Records that came after this day came lately.

    Attributes:
        weight: Of each term.
        shape: Of each term.
        group: The attribute of each term, as its position in the interface.

    """

    def __init__(self, since: float = inf) -> None:
        self.since = since
        self.weight: Floats = np.zeros(0)
        self.shape: Floats = np.zeros(0)
        self.group: Ints = np.zeros(0, dtype=np.intp)
        self._unheard: Floats = np.zeros(0)
        self._usual = GROWTH

    def grow(self, local: LocalRecords) -> None:
        """Take in the terms that came since."""
        known = self.weight.size
        if known == len(local.terms):
            return
        names = [attribute.name for attribute in local.interface.attributes]
        kinds = [attribute.kind for attribute in local.interface.attributes]
        new = local.terms[known:]
        group = np.array([names.index(term.attribute) for term in new], dtype=np.intp)
        if known:
            weight = np.zeros(len(new))
        else:
            recent = local.recent(self.since)
            weight = local.held.values + (LATELY - 1.0) * recent
            self._usual = GROWTH * local.held.values.sum() / max(weight.sum(), 1.0)
            self._usual = max(self._usual, GROWTH / LATELY)
        shape = np.array([SHAPE[kinds[i]] for i in group.tolist()])
        rare = np.array([UNHEARD[kinds[i]] for i in group.tolist()])
        unheard = weight == 0
        shape[unheard] = rare[unheard, 0]
        self.weight = np.r_[self.weight, weight]
        self.shape = np.r_[self.shape, shape]
        self.group = np.r_[self.group, group]
        self._unheard = np.r_[self._unheard, np.where(unheard, rare[:, 1], 0.0)]

    def mean(self, fresh: Floats, share: Floats) -> Floats:
        """Return the expected new records of each term.

        The growth of an attribute is the new records that were seen for the weight
        that was open to view, sum(f) / sum(rho w) over its terms, drawn towards
        what is usual.
        """
        heard = self.weight > 0
        n = int(self.group.max(initial=0)) + 1
        found = np.bincount(self.group, fresh * heard, n)
        shown = np.bincount(self.group, share * self.weight, n)
        growth = (found + SURE) / (shown + SURE / self._usual)
        mean: Floats = np.where(heard, growth[self.group] * self.weight, self._unheard)
        return mean

    def hidden(self, local: LocalRecords, shown: Mapping[str, float]) -> Floats:
        """Return the new records for each hit that other attributes hide, by term.

        Records of a value that nobody has heard of (a new company) come to light
        only by asking for something else. With u of them ~ Gamma(k, mean m), of which
        a share rho was open to view and f were seen, (k + f) / (k / m + rho) (1 - rho)
        are left; an attribute is concerned by those of the others that have one
        value a record.
        """
        attributes = local.interface.attributes
        unheard = local.fresh.values * (self.weight == 0)
        found = np.bincount(self.group, unheard, len(attributes))
        shape, part = HIDDEN
        usual = max(part * GROWTH * local.old, 1.0)
        density = np.zeros(len(attributes))
        for i, attribute in enumerate(attributes):
            share = shown[attribute.name]
            left = (shape + found[i]) / (shape / usual + share) * (1.0 - share)
            others = np.arange(len(attributes)) != i
            if attribute.kind == "select":
                density[others] += left / max(len(local), 1)
        spread: Floats = density[self.group]
        return spread
