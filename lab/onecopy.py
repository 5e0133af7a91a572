"""A copy of one source of the mixed world, with what its looks have shown."""

from copy import deepcopy

import numpy as np
from numpy.random import default_rng

from halflife.allocation import index
from halflife.belief.neighbours import Neighbours
from halflife.core.arrays import Floats, Ints
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observations, Seen
from halflife.core.view import Survival, View
from halflife.market import price
from halflife.models.drift import WeibullSurvival
from halflife.models.poisson import Exponential
from halflife.models.rates.gamma import GammaPoisson
from halflife.policies.champion import PATIENCE
from lab.oneworld import TRAIN, Part

LENT = 20.0  # days at the mean pace of the source that each unit is lent
LATEST = 60  # pairs of summaries that count
RIDGE = 2.0  # how firmly p is 1
USUAL, SHAPE = 40.0, 1.5  # median life of summaries in days, and how lives are spread
OTHERS = 9.0  # looks that other databases count for
NEAR = 15  # days between two looks whose pairs tell how losses bend
HALF = 45.0  # days after which what flowed counts half
_FEW = 1e-6


class Changes:
    """Belief in things that stay what they are until they change.

    S(t) = exp(-r t**k) of a unit whose things go at the rate r. A count that grows
    leaves its bounds only after a while, so k is learned: ln(-ln S) grows like
    k ln(gap) over all pairs of looks, by least squares, drawn towards 1. The rates are
    those of things that change at random in the time t**k.
    """

    def __init__(self, part: Part) -> None:
        self.model = GammaPoisson()
        self.model.grow(len(part))
        self.shape = _bent(part, [0, *range(part.every, TRAIN, part.every), TRAIN])

    def learn(self, rows: Ints, gap: Floats, old: Floats, kept: Floats) -> None:
        """Learn from units looked at again: how much they had, and how much is true."""
        lost = old - kept
        item, days = np.tile(rows, 2), np.tile(gap**self.shape, 2)
        changed = np.repeat([True, False], rows.size)
        tally = np.concatenate([lost, kept])
        some = tally > 0
        self.model.add(item[some], days[some], changed[some], tally[some])

    def curve(self, size: Floats) -> tuple[Floats, Survival]:
        """Return the share of each unit in what there is to lose, and its survival."""
        share = size / max(float(size.sum()), _FEW)
        shape = np.full(size.size, self.shape)
        return share, WeibullSurvival(self.model.rate(), shape)


def _bent(part: Part, days: list[int]) -> float:
    """Return how the loss of a source's things bends with time, from its looks."""
    pairs = [(a, b) for a in days for b in days if 0 < b - a <= NEAR]
    old, new = np.array(pairs).T
    kept = part.kept[:, old, new].sum(axis=0, dtype=np.float64)
    there = part.kept[:, old, old].sum(axis=0, dtype=np.float64)
    x = np.log(new - old)
    y = np.log(-np.log(np.clip((kept + 0.5) / (there + 1.0), _FEW, 1.0 - _FEW)))
    centre = x - x.mean()
    k = (centre @ y + RIDGE) / (centre @ centre + RIDGE)
    return min(max(float(k), 0.5), 3.0)


class Pages:
    """Belief in pages that change together: the one that the program itself goes by."""

    def __init__(self, part: Part) -> None:
        self.evidence = Evidence.of(Item(key, group=part.name) for key in part.keys)
        self.belief = Neighbours()
        self.views: dict[int, tuple[int, View]] = {}

    def learn(self, rows: Ints, day: int, part: Part) -> None:
        """Learn from looks; a version is named by the first day that shows it."""
        version = part.kept[rows, : day + 1, day].argmax(axis=1)
        looks = Observations(
            tuple(part.keys[i] for i in rows.tolist()),
            np.full(rows.size, float(day)),
            np.full(rows.size, int(Seen.PRESENT), dtype=np.int8),
            tuple(map(str, version.tolist())),
        )
        self.evidence.take(self.evidence.weigh(looks))

    def view(self, day: int) -> View:
        """Return what is believed on a day, with what was seen so far."""
        made, view = self.views.get(day, (-1, None))
        if view is None or made != self.evidence.batches:
            view = self.belief(self.evidence, float(day), float(day))
            self.views = {day: (self.evidence.batches, view)}
        return view


class Flow:
    """Belief in things that come and go: m come a day, each goes at a rate a.

    Of a copy t days old m (1 - exp(-a t)) / a are missing: it is as if m / a things
    changed at the rate a.
    """

    def __init__(self, part: Part) -> None:
        n = len(part)
        self.come, self.days = np.zeros(n), np.zeros(n)
        self.gone, self.exposed = 0.0, 0.0

    def learn(
        self, rows: Ints, gap: Floats, old: Floats, kept: Floats, new: Floats
    ) -> None:
        """Learn from units looked at again."""
        whole = 0.5 ** (float(gap.mean()) * rows.size / self.come.size / HALF)
        ended = float((old * np.log((old + 0.5) / (kept + 0.5))).sum())
        self.gone = self.gone * whole + ended
        self.exposed = self.exposed * whole + float((old * gap).sum())
        x = np.maximum(self.rate * gap, 1e-9)
        fade = 0.5 ** (gap / HALF)
        self.come[rows] = self.come[rows] * fade + new * x / -np.expm1(-x)
        self.days[rows] = self.days[rows] * fade + gap

    @property
    def rate(self) -> float:
        """The rate at which things go."""
        return (max(self.gone, 0.0) + 0.5) / (self.exposed + 1.0)

    def curve(self, size: Floats) -> tuple[Floats, Survival]:
        """Return what each unit may miss, as a share of all, and at which rate."""
        mean = (self.come.sum() + 0.5) / (self.days.sum() + 1.0)
        pace = (self.come + mean * LENT) / (self.days + LENT)
        share = pace / (self.rate * max(float(size.sum()), 1.0))
        return share, Exponential(np.full(size.size, self.rate))


class Drifting:
    """Belief in a summary whose divergence grows like a power of its age.

    Every two summaries that were made tell how far one had drifted from the other:
    ln(divergence) = a + p ln(gap), by least squares, with p drawn towards 1. Where
    that line reaches the divergence that counts is a first guess of the median life.
    It tells little: divergence leaps when a site is redone. So ln(life) is drawn
    towards that of other databases, by the number of looks, and lives are spread like
    theirs, as a Weibull.
    """

    def __init__(self) -> None:
        self.pairs: list[tuple[float, float]] = []
        self.looks = 0

    def learn(self, gap: Floats, far: Floats) -> None:
        """Learn from a summary compared with all that were made before."""
        self.looks += 1
        self.pairs += zip(np.log(gap).tolist(), np.log(far).tolist(), strict=True)

    def curve(self, size: Floats) -> tuple[Floats, Survival]:
        """Return the share of the one unit, and its survival."""
        x, y = np.array(self.pairs[-LATEST:]).T if self.pairs else np.zeros((2, 1))
        centre = x - x.mean()
        p = (centre @ y + RIDGE) / (centre @ centre + RIDGE)
        p = min(max(float(p), 0.5), 3.0)
        line = min(max(float(x.mean() - y.mean() / p), 0.0), 7.0)
        own = self.looks / (self.looks + OTHERS)
        life = np.exp(own * line + (1.0 - own) * np.log(USUAL))
        shape = np.full(size.size, SHAPE)
        return np.ones(size.size), WeibullSurvival(np.log(2.0) / life**shape, shape)


class Copy:
    """A copy of a source: when each unit was last looked at, and what is believed."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.made = np.zeros(len(part), dtype=np.intp)
        self.mixed = default_rng(0).permutation(len(part))
        self.belief: Flow | Changes | Drifting | Pages
        self.today = 0
        if part.far.size:
            self.belief = Drifting()
        elif part.keys:
            self.belief = Pages(part)
        else:
            self.belief = Flow(part) if part.flows else Changes(part)
        self.versions = [0]
        self.ratios: list[tuple[float, float]] = []
        everyone = np.arange(len(part))
        if isinstance(self.belief, Pages):
            self.belief.learn(everyone, 0, part)
        for day in [*range(part.every, TRAIN, part.every), TRAIN]:
            self.sync(everyone, day)

    def again(self) -> "Copy":
        """Return another copy that was taught the same."""
        part, self.part = self.part, None  # type: ignore[assignment]  # not copied
        other = deepcopy(self)
        self.part = other.part = part
        return other

    def _size(self) -> Floats:
        rows = np.arange(len(self.part))
        return self.part.kept[rows, self.made, self.made].astype(np.float64)

    def losses(self, day: int) -> Floats:
        """Return the quality that each unit is believed to lack on a day."""
        if isinstance(self.belief, Pages):
            view = self.belief.view(self.today)
            later = view.exposure + (day - self.today)
            return (1.0 - view.survival.alive(later)) / len(self.part)
        share, survival = self.belief.curve(self._size())
        age = (day - self.made).astype(np.float64)
        return share * (1.0 - survival.alive(age))

    def gains(self, day: int) -> Floats:
        """Return what a look at each unit buys: share times U(age), quality-days.

        Of pages that change too fast none is left alone for ever (``champion``).
        """
        if isinstance(self.belief, Pages):
            view = self.belief.view(day)
            bought = index(view.survival, view.exposure, "freshness")
            late = index(view.survival, view.exposure, "harmonic")
            return (bought + PATIENCE * late) / len(self.part)
        share, survival = self.belief.curve(self._size())
        age = (day - self.made).astype(np.float64)
        gain: Floats = share * (survival.lasting(age) - age * survival.alive(age))
        return gain

    def prospects(self, day: int) -> Floats:
        """Return what looks buy at the ages of ``pricing`` (units x ages)."""
        n = len(self.part)
        if isinstance(self.belief, Pages):
            return price.gains(self.belief.view(day).survival, n) / n
        share, survival = self.belief.curve(self._size())
        return share[:, None] * price.gains(survival, n)

    def sync(self, rows: Ints, day: int) -> None:
        """Look at units on a day, and learn from what they show."""
        self.today = day
        rows = rows[self.made[rows] < day]
        if rows.size == 0:
            return
        made = self.made[rows]
        believed = float(self.losses(day)[rows].sum()) if self.belief_ready else 0.0
        old = self.part.kept[rows, made, made].astype(np.float64)
        kept = self.part.kept[rows, made, day].astype(np.float64)
        now = self.part.kept[rows, day, day].astype(np.float64)
        gap = (day - made).astype(np.float64)
        if isinstance(self.belief, Flow):
            self.belief.learn(rows, gap, old, kept, now - kept)
            lacked = float((now - kept).sum())
        elif isinstance(self.belief, Pages):
            self.belief.learn(rows, day, self.part)
            lacked = float((old - kept).sum())
        elif isinstance(self.belief, Drifting):
            before = np.array(self.versions)
            self.belief.learn(day - before, self.part.far[before, day])
            lacked = float((old - kept).sum())
        else:
            self.belief.learn(rows, gap, old, kept)
            lacked = float((old - kept).sum())
        self.made[rows] = day
        self.versions.append(day)
        whole = max(float(self._size().sum()), 1.0)
        self.ratios.append((lacked / whole, believed))

    @property
    def belief_ready(self) -> bool:
        """Whether anything was ever learned."""
        return bool(self.ratios)

    def quality(self, day: int) -> float:
        """Return how good the copy truly is on a day."""
        return self.part.quality(self.made, day)
