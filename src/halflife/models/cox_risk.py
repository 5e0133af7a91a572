"""Who was at risk when: the partial likelihood over sorted columns.

At the death time g of a stratum let S0, S1 be the sums of r = w exp(x b) and of r x
over the spells at risk (entry < t <= time), D0, D1 the same over the m spells that
end there, and W the sum of their weights. Efron's log-likelihood is

    sum(w x b, ended) - sum over g of (W / m) sum(ln(S0 - f D0), f = 0, 1/m, ..)

and Breslow's has f = 0 throughout. With a = sum(W / m / (S0 - f D0)), the step of the
cumulative hazard, the gradient is X' (w ended - r A), where A adds up the steps a
spell was at risk for, and the information is X' diag(r A) X less the squares of the
means: only one column of sums, S1, is needed per covariate.
Efron, JASA 1977; Therneau and Grambsch, "Modeling Survival Data", 2000, s. 3.3.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from halflife.core.arrays import Bools, Floats, Ints

Ties: TypeAlias = Literal["efron", "breslow"]

_LARGEST = 300.0  # ln of how far below the largest a relative hazard may be


class Survived(NamedTuple):
    """Spells as columns; times in any one unit.

    Attributes:
        x: Covariates, one row a spell.
        time: Age at the end, or at the last look if it was still there.
        ended: Whether it is known to have ended.
        entry: Age from which it was watched; it is at risk after that.
        weight: How much it counts.
        stratum: Which baseline it has, 0, 1, ...

    """

    x: Floats
    time: Floats
    ended: Bools
    entry: Floats
    weight: Floats
    stratum: Ints

    def take(self, rows: Ints | Bools) -> "Survived":
        """Return some of the spells."""
        return Survived(
            self.x[rows],
            self.time[rows],
            self.ended[rows],
            self.entry[rows],
            self.weight[rows],
            self.stratum[rows],
        )


@dataclass(frozen=True)
class RiskSets:
    """Spells that were at risk at some death, sorted by stratum and time.

    Attributes:
        data: The spells.
        rows: Where they stood in the columns given.
        time: Death times, ascending within each stratum.
        stratum: Their strata.
        start: First death time of each stratum that has one, and one past the last.
        first: For each spell, the first death time that it was at risk for.
        last: One past the last of them.
        ties: How spells that end together are counted.

    """

    data: Survived
    rows: Ints
    time: Floats
    stratum: Ints
    start: Ints
    first: Ints
    last: Ints
    ties: Ties

    @classmethod
    def of(cls, given: Survived, ties: Ties) -> "RiskSets":
        """Sort the spells; those never at risk when one ended are left out."""
        counted = np.flatnonzero(given.weight > 0)
        some = given.take(counted)
        order = np.lexsort((some.time, some.stratum))
        some, rows = some.take(order), counted[order]
        new = np.ones(order.size, np.bool_)
        new[1:] = np.diff(some.time) != 0
        new[1:] |= np.diff(some.stratum) != 0
        tie = np.cumsum(new) - 1
        fatal = np.zeros(int(new.sum()), np.bool_)
        fatal[tie[some.ended & (some.entry < some.time)]] = True
        last = np.cumsum(fatal)[tie]
        when, who = some.time[new][fatal], some.stratum[new][fatal]
        first = _place(who, when, some)
        kept = np.flatnonzero(last > first)
        begins = np.flatnonzero(np.diff(who, prepend=-1))
        return cls(
            data=some.take(kept),
            rows=rows[kept],
            time=when,
            stratum=who,
            start=np.append(begins, when.size),
            first=first[kept],
            last=last[kept],
            ties=ties,
        )

    @cached_property
    def died(self) -> Ints:
        """Which spells ended at a death time."""
        return np.flatnonzero(self.data.ended)

    @cached_property
    def group(self) -> Ints:
        """The death time of each spell that ended."""
        return self.last[self.died] - 1

    @cached_property
    def tied(self) -> Ints:
        """How many spells ended at each death time."""
        return np.bincount(self.group, minlength=self.time.size)

    @cached_property
    def mass(self) -> Floats:
        """The weight of the spells that ended at each death time."""
        return totals(self.group, self.data.weight[self.died], self.time.size)

    @cached_property
    def fractions(self) -> tuple[Ints, Floats]:
        """For each term of Efron's likelihood, its death time and f."""
        at = np.repeat(np.arange(self.time.size), self.tied)
        begin = np.cumsum(self.tied) - self.tied
        return at, (np.arange(at.size) - begin[at]) / self.tied[at]

    @cached_property
    def _bins(self) -> Ints:
        """Where, among the sorted spells, those that leave at each death time begin."""
        return np.searchsorted(self.last, np.arange(1, self.time.size + 1))

    @cached_property
    def _late(self) -> Ints:
        """Spells that came after the first death of their stratum, by their entry."""
        late = np.flatnonzero(self.first > self.start[self.own])
        return late[np.argsort(self.first[late], kind="stable")]

    @cached_property
    def own(self) -> Ints:
        """The stratum of each spell, counted among those with a death."""
        return np.searchsorted(self.start, self.last - 1, "right") - 1

    def at_risk(self, columns: Floats) -> Floats:
        """Return the sums over the spells at risk at each death time.

        Spells go by column, here and below: sums along a row are the quicker ones.
        """
        net = np.add.reduceat(columns, self._bins, axis=-1)
        late = self._late
        if late.size:
            came = self.first[late]
            new = np.flatnonzero(np.diff(came, prepend=-1))
            net[..., came[new] - 1] -= np.add.reduceat(columns[..., late], new, axis=-1)
        for low, high in zip(self.start[:-1], self.start[1:], strict=True):
            part = net[..., low:high][..., ::-1]
            net[..., low:high] = np.cumsum(part, axis=-1)[..., ::-1]
        return net

    def at_death(self, columns: Floats) -> Floats:
        """Return the sums over the spells that end at each death time."""
        where = np.cumsum(self.tied) - self.tied
        return np.add.reduceat(columns[..., self.died], where, axis=-1)

    def lived(self, steps: Floats) -> Floats:
        """Return the sum of steps over the death times each spell was at risk for."""
        up = np.empty_like(steps)
        for low, high in zip(self.start[:-1], self.start[1:], strict=True):
            np.cumsum(steps[..., low:high], axis=-1, out=up[..., low:high])
        total: Floats = up[..., self.last - 1]
        total[..., self._late] -= up[..., self.first[self._late] - 1]
        return total


def totals(group: Ints, values: Floats, n: int) -> Floats:
    """Return the sum of values in each of ``n`` groups."""
    return np.bincount(group, values, n).astype(np.float64, copy=False)


def _place(who: Ints, when: Floats, data: Survived) -> Ints:
    """Return how many death times come no later than each spell's entry."""
    first: Ints = np.searchsorted(who, data.stratum)
    some = np.flatnonzero(first < who.size)
    late = some[data.entry[some] >= when[first[some]]]
    n = who.size
    keys = ((when, data.entry[late]), (who, data.stratum[late]))
    after = np.arange(n + late.size) >= n
    order = np.lexsort((after, *(np.concatenate(pair) for pair in keys)))
    place = np.empty(order.size, np.intp)
    place[order] = np.cumsum(order < n)
    first[late] = place[n:]
    return first


class RiskSums(NamedTuple):
    """What the likelihood and the residuals are made of; death times go by column.

    Attributes:
        value: The log-likelihood.
        relative: r of each spell, in units of the largest of its stratum.
        top: ln of that unit, by stratum with a death.
        risk: S0 and S1.
        dead: D0 and D1.
        step: sum of v = W / m / (S0 - f D0).
        tied_step: sum of f v.
        square: sums of v / (S0 - f D0) times 1, f and f**2.

    """

    value: float
    relative: Floats
    top: Floats
    risk: Floats
    dead: Floats
    step: Floats
    tied_step: Floats
    square: Floats


def sums(sets: RiskSets, z: Floats, beta: Floats) -> RiskSums:
    """Return the sums at ``beta``; ``z`` has a column for each spell of the sets."""
    eta = beta @ z
    top = np.maximum.reduceat(eta, np.flatnonzero(np.diff(sets.own, prepend=-1)))
    shifted = eta - top[sets.own]
    r = sets.data.weight * np.exp(np.maximum(shifted, -_LARGEST))
    both = np.empty((z.shape[0] + 1, r.size))
    both[0] = r
    np.multiply(z, r, out=both[1:])
    risk, dead = sets.at_risk(both), sets.at_death(both)
    died = sets.died
    ended = float(sets.data.weight[died] @ shifted[died])
    fell, step, tied_step, square = _terms(sets, risk[0], dead[0])
    return RiskSums(ended - fell, r, top, risk, dead, step, tied_step, square)


def _terms(
    sets: RiskSets, risk: Floats, dead: Floats
) -> tuple[float, Floats, Floats, Floats]:
    """Return what is taken off the likelihood, and the sums of v at death times."""
    n = sets.time.size
    if sets.ties == "breslow" or sets.tied.max() <= 1:
        step, none = sets.mass / risk, np.zeros(n)
        square = np.array([step / risk, none, none])
        return float(sets.mass @ np.log(risk)), step, none, square
    at, f = sets.fractions
    left = risk[at] - f * dead[at]
    share = (sets.mass / sets.tied)[at]
    v = share / left
    step, tied_step = (totals(at, v * f**k, n) for k in range(2))
    square = np.array([totals(at, v / left * f**k, n) for k in range(3)])
    return float(share @ np.log(left)), step, tied_step, square


def expected(sets: RiskSets, found: RiskSums) -> Floats:
    """Return r A for each spell: the deaths that the model expects of it."""
    hazard = sets.lived(found.step)
    hazard[sets.died] -= found.tied_step[sets.group]
    expects: Floats = found.relative * hazard
    return expects


def slopes(sets: RiskSets, z: Floats, found: RiskSums) -> tuple[Floats, Floats]:
    """Return the gradient and the information at the ``beta`` of the sums."""
    expects = expected(sets, found)
    left = np.where(sets.data.ended, sets.data.weight, 0.0) - expects
    s, d = found.risk[1:], found.dead[1:]
    q0, q1, q2 = found.square
    squares = (s * q0) @ s.T
    if sets.ties == "efron":
        cross = (s * q1) @ d.T
        squares += (d * q2) @ d.T - cross - cross.T
    return z @ left, (z * expects) @ z.T - squares


def score_residuals(sets: RiskSets, z: Floats, found: RiskSums) -> Floats:
    """Return each spell's share in the gradient, w dU / dw, as a column."""
    s, d = found.risk[1:], found.dead[1:]
    q0, q1, q2 = found.square
    pulled = sets.lived(s * q0 - d * q1)
    died, group = sets.died, sets.group
    pulled[:, died] -= (s * q1 - d * q2)[:, group]
    score: Floats = found.relative * pulled - expected(sets, found) * z
    mean = means(sets, found)[:, group]
    score[:, died] += sets.data.weight[died] * (z[:, died] - mean)
    return score


def means(sets: RiskSets, found: RiskSums) -> Floats:
    """Return the mean covariates that the model expects of who ends."""
    drawn = found.risk[1:] * found.step - found.dead[1:] * found.tied_step
    mean: Floats = drawn / sets.mass
    return mean
