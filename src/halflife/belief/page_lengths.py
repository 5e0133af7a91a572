"""Change rates by the lengths of pages: long pages change more often.

A page of length n is expected to change m times as often as its folder's mean,

    m = (n + 1) ** g / (the mean of this over the measured pages of its site),

from 1 / 20 to 20 times; a page of unknown length has m = 1. The exponent g of a site is
the mean of a few values, each weighed by its likelihood on the site's counts and by its
prior: at first from recorded sites, then learned from the other sites (``fit``). Where
length is irrelevant, g goes to 0.

Lengths are stored in classes, eight to the octave, a byte each. The first is kept.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from halflife.belief.page_rates import SAMPLE, PageRates, RatesAround
from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence

EXPONENTS: Floats = np.array([0.0, 0.15, 0.3, 0.45, 0.6, 0.8])
USUAL, SPREAD = 0.35, 0.2  # exponents on recorded sites
WORTH = 2.0  # sites that this is worth
LARGEST = 20.0  # times as often at most; at least 1 / LARGEST
STEPS = 10  # of the estimation of how common exponents are
_OCTAVE = 8.0  # classes in one
_LONGEST = 255

Classes = NDArray[np.uint8]


def prior_weights() -> Floats:
    """Return how common each exponent is before any site is known."""
    common = np.exp(-0.5 * ((EXPONENTS - USUAL) / SPREAD) ** 2)
    return np.asarray(common / common.sum())


def classes(lengths: Floats) -> Classes:
    """Return the class of each length; 0 stands for an unknown length.

    >>> classes(np.array([0.0, 1.0, 3.0])).tolist()
    [1, 9, 17]
    """
    octaves = np.log2(np.maximum(lengths, 0.0) + 1.0)
    number = np.minimum(1.0 + np.rint(_OCTAVE * octaves), _LONGEST)
    return number.astype(np.uint8)


class PageLengths:
    """The lengths of pages, and for each site how strongly rates depend on them."""

    def __init__(self) -> None:
        self.of: Classes = np.zeros(0, dtype=np.uint8)
        self.exponent = np.zeros(0)
        self._waiting: dict[str, float] = {}
        self._moved = False

    def measure(self, lengths: Mapping[str, float]) -> None:
        """Note the lengths of pages, also of pages that are not known yet."""
        self._waiting.update(lengths)

    def begin(self, kept: Classes, evidence: Evidence) -> None:
        """Start again with lengths ``kept`` by the items' numbers in a store."""
        number, self.exponent, self._moved = evidence.number, np.zeros(0), True
        self.of = np.zeros(len(evidence), dtype=np.uint8)
        known = np.flatnonzero((number >= 0) & (number < kept.size))
        self.of[known] = kept[number[known]]

    def kept(self, evidence: Evidence) -> Classes:
        """Return the lengths by the items' numbers in a store."""
        number = evidence.number[: self.of.size]
        known = np.flatnonzero((number >= 0) & (self.of > 0))
        size = int(number[known].max(initial=-1)) + 1
        kept: Classes = np.zeros(size, dtype=np.uint8)
        kept[number[known]] = self.of[known]
        return kept

    def follow(self, evidence: Evidence) -> bool:
        """Use the new lengths; return whether ``prone`` changed."""
        moved, self._moved = self._moved, False
        if len(evidence) > self.of.size:
            of: Classes = np.zeros(len(evidence), dtype=np.uint8)
            of[: self.of.size] = self.of
            self.of, moved = of, True
        n_new = max(len(evidence.groups) - self.exponent.size, 0)
        self.exponent = np.append(self.exponent, np.full(n_new, USUAL))
        waiting, self._waiting = self._waiting, {}
        for key, number in zip(
            waiting, classes(np.array([*waiting.values()])), strict=True
        ):
            row = evidence.row(key)
            if row is not None and not self.of[row]:
                self.of[row], moved = number, True
        return moved

    def prone(self, site: Ints) -> Floats | None:
        """Return the relative rates of pages by length, None if all are unknown."""
        known = np.flatnonzero(self.of)  # of very many pages perhaps a few
        if not known.size:
            return None
        place = site[known]
        power = np.exp2(self.exponent[place] * (self.of[known] / _OCTAVE))
        mean = np.bincount(place, power) / np.maximum(np.bincount(place), 1)
        relative = power / np.maximum(mean, 1e-300)[place]
        prone = np.ones(self.of.size)
        prone[known] = np.clip(relative, 1.0 / LARGEST, LARGEST)
        return prone

    def fit(self, pages: PageRates, around: RatesAround) -> None:
        """Learn the exponent of each site from the counts of its pages.

        In the likelihood of ``PageRates.fit`` only the mean rate r of a page depends on
        the exponent. For each exponent the rates of a site are scaled to the same total
        of expected changes, so that lengths only distinguish its pages.
        """
        rows = np.flatnonzero((pages.lived > 0) & (self.of > 0))
        rows = rows[:: max(rows.size // SAMPLE, 1)]
        if not rows.size:
            return
        site, sites, k = pages.site[rows], self.exponent.size, pages.shape
        x, t, octaves = pages.changes[rows], pages.lived[rows], self.of[rows] / _OCTAVE
        mean = around.at(rows)
        folder = mean if pages.prone is None else mean / pages.prone[rows]
        expected = np.bincount(site, mean * t, sites)
        log_likelihood = np.empty((EXPONENTS.size, sites))
        for row, g in enumerate(EXPONENTS):
            rate = folder * np.exp2(g * octaves)
            rate *= (expected / np.maximum(np.bincount(site, rate * t, sites), 1e-300))[
                site
            ]
            terms = k * np.log(k / rate) - (x + k) * np.log(t + k / rate)
            log_likelihood[row] = np.bincount(site, terms, sites)
        self.exponent = EXPONENTS @ _weights(log_likelihood)


def _weights(log_likelihood: Floats) -> Floats:
    """Return the weight of each exponent on each site, a column each.

    The prior of the exponents is learned from all sites (expectation maximisation).
    """
    likelihood, common = (
        np.exp(log_likelihood - log_likelihood.max(axis=0)),
        prior_weights(),
    )
    for _ in range(STEPS):
        weight = likelihood * common[:, None]
        weight /= weight.sum(axis=0)
        total = weight.sum(axis=1) + WORTH * prior_weights()
        common = total / total.sum()
    return np.asarray(weight)
