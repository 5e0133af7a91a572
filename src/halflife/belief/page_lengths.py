"""What the length of a page says of its rate: long pages change more often.

A page of length n is believed to change m times as often as its folder says,

    m = (n + 1) ** g / (the mean of this over the measured pages of its site),

from 1 / 20 to 20 times; a page that nobody has measured has m = 1. The exponent g
of a site is the mean of a few values, each weighed by how likely it makes what was
counted on the site, and by how common it is: at first by what is known of other
webs, then by what was found on other sites (``fit``). Where length says nothing, g
goes to 0.

Lengths are kept in classes, eight to the octave, a byte each. The first is kept.
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
LARGEST = 20.0  # times as often, at most; and at least one over this
STEPS = 10  # in which it is found out how common exponents are
_OCTAVE = 8.0  # classes in one
_LONGEST = 255

Classes = NDArray[np.uint8]


def usual() -> Floats:
    """Return how common each exponent is, before any site is known."""
    common = np.exp(-0.5 * ((EXPONENTS - USUAL) / SPREAD) ** 2)
    return np.asarray(common / common.sum())


def classes(lengths: Floats) -> Classes:
    """Return the class of each length; 0 stands for one that is not known.

    >>> classes(np.array([0.0, 1.0, 3.0])).tolist()
    [1, 9, 17]
    """
    octaves = np.log2(np.maximum(lengths, 0.0) + 1.0)
    number = np.minimum(1.0 + np.rint(_OCTAVE * octaves), _LONGEST)
    return number.astype(np.uint8)


class PageLengths:
    """How long pages are, and on each site how much that says of their rates."""

    def __init__(self) -> None:
        self.of: Classes = np.zeros(0, dtype=np.uint8)
        self.exponent = np.zeros(0)
        self._waiting: dict[str, float] = {}
        self._moved = False

    def measure(self, lengths: Mapping[str, float]) -> None:
        """Take note of the lengths of pages, which may not be known yet."""
        self._waiting.update(lengths)

    def begin(self, kept: Classes, evidence: Evidence) -> None:
        """Begin anew with lengths ``kept`` by the items' numbers in a store."""
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
        """Take in what was measured; say whether ``prone`` says something new."""
        moved, self._moved = self._moved, False
        if len(evidence) > self.of.size:
            wide: Classes = np.zeros(len(evidence), dtype=np.uint8)
            wide[: self.of.size] = self.of
            self.of, moved = wide, True
        more = max(len(evidence.groups) - self.exponent.size, 0)
        self.exponent = np.append(self.exponent, np.full(more, USUAL))
        waiting, self._waiting = self._waiting, {}
        for key, number in zip(
            waiting, classes(np.array([*waiting.values()])), strict=True
        ):
            row = evidence.row(key)
            if row is not None and not self.of[row]:
                self.of[row], moved = number, True
        return moved

    def prone(self, site: Ints) -> Floats | None:
        """Return how often pages change by their length; None if it says nothing."""
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
        """Learn the exponent of each site from what was counted of its pages.

        Of what ``PageRates.fit`` says is likely, only the mean rate r of a page
        depends on the exponent. For each the rates of a site are made to expect as
        many changes on the whole, so that lengths tell pages apart and no more.
        """
        some = np.flatnonzero((pages.lived > 0) & (self.of > 0))
        some = some[:: max(some.size // SAMPLE, 1)]
        if not some.size:
            return
        site, sites, k = pages.site[some], self.exponent.size, pages.shape
        x, t, octaves = pages.changes[some], pages.lived[some], self.of[some] / _OCTAVE
        mean = around.at(some)
        folder = mean if pages.prone is None else mean / pages.prone[some]
        due = np.bincount(site, mean * t, sites)
        likely = np.empty((EXPONENTS.size, sites))
        for row, g in enumerate(EXPONENTS):
            rate = folder * np.exp2(g * octaves)
            rate *= (due / np.maximum(np.bincount(site, rate * t, sites), 1e-300))[site]
            each = k * np.log(k / rate) - (x + k) * np.log(t + k / rate)
            likely[row] = np.bincount(site, each, sites)
        self.exponent = EXPONENTS @ _weights(likely)


def _weights(likely: Floats) -> Floats:
    """Return the weight of each exponent on each site, a column each.

    How common exponents are is learned from all sites (expectation maximisation).
    """
    found, common = np.exp(likely - likely.max(axis=0)), usual()
    for _ in range(STEPS):
        weight = found * common[:, None]
        weight /= weight.sum(axis=0)
        told = weight.sum(axis=1) + WORTH * usual()
        common = told / told.sum()
    return np.asarray(weight)
