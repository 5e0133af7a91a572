"""The expected number of new records of a term, before it is queried."""

from collections.abc import Mapping
from math import inf

import numpy as np

from halflife.core.arrays import Floats, Ints
from halflife.queries.local import LocalRecords

GROWTH = 0.3  # new records for each old one, before anything is known
SURE = 5.0  # new records after which observations weigh as much as the prior
LATELY = 2.0  # the weight of a recent record: it predicts as much as two others
SHAPE = {"select": 4.0, "range": 10.0, "keyword": 15.0}
# Shape and mean of terms that no old record has.
UNHEARD = {"select": (0.5, 3.0), "range": (1.0, 1.0), "keyword": (1.0, 0.3)}

HIDDEN = (2.0, 0.1)  # new records of unknown values: shape, share of the new records


class GrowthPrior:
    """Expected new records by term, scaled by the findings of the round.

    The weight of a term is the number of its records in the copy, recent ones counted
    ``LATELY`` times; its mean is the weight times the growth of its attribute. The
    shape states how little terms differ from that: a company hires or does not, words
    are steadier. For a term that no old record has, one new record changes most.

    Args:
        since: Records that came after this day are recent.

    Attributes:
        weight: The weight of each term.
        shape: The shape of each term.
        group: The attribute of each term, as its position in the interface.

    """

    def __init__(self, since: float = inf) -> None:
        self.since = since
        self.weight: Floats = np.zeros(0)
        self.shape: Floats = np.zeros(0)
        self.group: Ints = np.zeros(0, dtype=np.intp)
        self._unknown: Floats = np.zeros(0)
        self._usual = GROWTH

    def grow(self, local: LocalRecords) -> None:
        """Add the terms that came since the last call."""
        size = self.weight.size
        if size == len(local.terms):
            return
        names = [attribute.name for attribute in local.interface.attributes]
        kinds = [attribute.kind for attribute in local.interface.attributes]
        new = local.terms[size:]
        group = np.array([names.index(term.attribute) for term in new], dtype=np.intp)
        if size:
            weight = np.zeros(len(new))
        else:
            recent = local.recent(self.since)
            weight = local.held.values + (LATELY - 1.0) * recent
            self._usual = GROWTH * local.held.values.sum() / max(weight.sum(), 1.0)
            self._usual = max(self._usual, GROWTH / LATELY)
        shape = np.array([SHAPE[kinds[i]] for i in group.tolist()])
        rare = np.array([UNHEARD[kinds[i]] for i in group.tolist()])
        unknown = weight == 0
        shape[unknown] = rare[unknown, 0]
        self.weight = np.r_[self.weight, weight]
        self.shape = np.r_[self.shape, shape]
        self.group = np.r_[self.group, group]
        self._unknown = np.r_[self._unknown, np.where(unknown, rare[:, 1], 0.0)]

    def mean(self, fresh: Floats, share: Floats) -> Floats:
        """Return the expected new records of each term.

        The growth of an attribute is the number of new records seen over the weight
        that was open to view, sum(f) / sum(rho w) over its terms, shrunk towards
        the usual growth.
        """
        known = self.weight > 0
        n = int(self.group.max(initial=0)) + 1
        found = np.bincount(self.group, fresh * known, n)
        shown = np.bincount(self.group, share * self.weight, n)
        growth = (found + SURE) / (shown + SURE / self._usual)
        mean: Floats = np.where(known, growth[self.group] * self.weight, self._unknown)
        return mean

    def hidden(self, local: LocalRecords, shown: Mapping[str, float]) -> Floats:
        """Return the new records for each hit that other attributes hide, by term.

        Records of an unknown value (a new company) are found only by querying other
        attributes. With u of them ~ Gamma(k, mean m), of which a share rho was open to
        view and f were seen, (k + f) / (k / m + rho) (1 - rho) are left. An attribute
        reveals those of the other attributes that have one value a record.
        """
        attributes = local.interface.attributes
        unknown = local.fresh.values * (self.weight == 0)
        found = np.bincount(self.group, unknown, len(attributes))
        shape, proportion = HIDDEN
        usual = max(proportion * GROWTH * local.old, 1.0)
        density = np.zeros(len(attributes))
        for i, attribute in enumerate(attributes):
            share = shown[attribute.name]
            left = (shape + found[i]) / (shape / usual + share) * (1.0 - share)
            others = np.arange(len(attributes)) != i
            if attribute.kind == "select":
                density[others] += left / max(len(local), 1)
        spread: Floats = density[self.group]
        return spread
