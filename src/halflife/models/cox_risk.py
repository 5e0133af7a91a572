"""Spells at risk at each death: the partial likelihood over sorted columns.

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

_LARGEST = 300.0  # limit of ln(largest / relative hazard)


class Survived(NamedTuple):
    """Spells as columns; times in any one unit.

    Attributes:
        x: Covariates, one row a spell.
        time: Age at the end, or at the last observation if it was still there.
        ended: Whether it is known to have ended.
        entry: Age from which it was observed; it is at risk after that.
        weight: Its weight.
        stratum: The number of its baseline, 0, 1, ...

    """

    x: Floats
    time: Floats
    ended: Bools
    entry: Floats
    weight: Floats
    stratum: Ints

    def take(self, rows: Ints | Bools) -> "Survived":
        """Return the spells at these rows."""
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
        rows: Their rows in the given columns.
        time: Death times, ascending within each stratum.
        stratum: Their strata.
        start: First death time of each stratum that has one, and one past the last.
        first: For each spell, the first death time at which it was at risk.
        last: One past the last such time.
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
        """Sort the spells; those never at risk at a death are left out."""
        counted = np.flatnonzero(given.weight > 0)
        spells = given.take(counted)
        order = np.lexsort((spells.time, spells.stratum))
        spells, rows = spells.take(order), counted[order]
        new = np.ones(order.size, np.bool_)
        new[1:] = np.diff(spells.time) != 0
        new[1:] |= np.diff(spells.stratum) != 0
        tie = np.cumsum(new) - 1
        fatal = np.zeros(int(new.sum()), np.bool_)
        fatal[tie[spells.ended & (spells.entry < spells.time)]] = True
        last = np.cumsum(fatal)[tie]
        death_time, death_stratum = spells.time[new][fatal], spells.stratum[new][fatal]
        first = _entry_times(death_stratum, death_time, spells)
        kept = np.flatnonzero(last > first)
        begins = np.flatnonzero(np.diff(death_stratum, prepend=-1))
        return cls(
            data=spells.take(kept),
            rows=rows[kept],
            time=death_time,
            stratum=death_stratum,
            start=np.append(begins, death_time.size),
            first=first[kept],
            last=last[kept],
            ties=ties,
        )

    @cached_property
    def died(self) -> Ints:
        """The spells that ended at a death time."""
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
        """The first of the sorted spells that leave at each death time."""
        return np.searchsorted(self.last, np.arange(1, self.time.size + 1))

    @cached_property
    def _late(self) -> Ints:
        """Spells that entered after the first death of their stratum, by entry."""
        late = np.flatnonzero(self.first > self.start[self.own])
        return late[np.argsort(self.first[late], kind="stable")]

    @cached_property
    def own(self) -> Ints:
        """The stratum of each spell, counted among those with a death."""
        return np.searchsorted(self.start, self.last - 1, "right") - 1

    def at_risk(self, columns: Floats) -> Floats:
        """Return the sums over the spells at risk at each death time.

        Spells are columns, here and below: sums along a row are faster.
        """
        net = np.add.reduceat(columns, self._bins, axis=-1)
        late = self._late
        if late.size:
            entered = self.first[late]
            new = np.flatnonzero(np.diff(entered, prepend=-1))
            net[..., entered[new] - 1] -= np.add.reduceat(
                columns[..., late], new, axis=-1
            )
        for low, high in zip(self.start[:-1], self.start[1:], strict=True):
            part = net[..., low:high][..., ::-1]
            net[..., low:high] = np.cumsum(part, axis=-1)[..., ::-1]
        return net

    def at_death(self, columns: Floats) -> Floats:
        """Return the sums over the spells that end at each death time."""
        where = np.cumsum(self.tied) - self.tied
        return np.add.reduceat(columns[..., self.died], where, axis=-1)

    def lived(self, steps: Floats) -> Floats:
        """Return the sum of steps over the death times of each spell's time at risk."""
        up = np.empty_like(steps)
        for low, high in zip(self.start[:-1], self.start[1:], strict=True):
            np.cumsum(steps[..., low:high], axis=-1, out=up[..., low:high])
        total: Floats = up[..., self.last - 1]
        total[..., self._late] -= up[..., self.first[self._late] - 1]
        return total


def totals(group: Ints, values: Floats, n: int) -> Floats:
    """Return the sum of values in each of ``n`` groups."""
    return np.bincount(group, values, n).astype(np.float64, copy=False)


def _entry_times(stratum: Ints, time: Floats, data: Survived) -> Ints:
    """Return the number of death times up to each spell's entry."""
    first: Ints = np.searchsorted(stratum, data.stratum)
    rows = np.flatnonzero(first < stratum.size)
    late = rows[data.entry[rows] >= time[first[rows]]]
    n = stratum.size
    keys = ((time, data.entry[late]), (stratum, data.stratum[late]))
    after = np.arange(n + late.size) >= n
    order = np.lexsort((after, *(np.concatenate(pair) for pair in keys)))
    counted = np.empty(order.size, np.intp)
    counted[order] = np.cumsum(order < n)
    first[late] = counted[n:]
    return first


class RiskSums(NamedTuple):
    """The sums behind the likelihood and the residuals; death times are columns.

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
    terms = np.empty((z.shape[0] + 1, r.size))
    terms[0] = r
    np.multiply(z, r, out=terms[1:])
    risk, dead = sets.at_risk(terms), sets.at_death(terms)
    died = sets.died
    ended = float(sets.data.weight[died] @ shifted[died])
    fell, step, tied_step, square = _terms(sets, risk[0], dead[0])
    return RiskSums(ended - fell, r, top, risk, dead, step, tied_step, square)


def _terms(
    sets: RiskSets, risk: Floats, dead: Floats
) -> tuple[float, Floats, Floats, Floats]:
    """Return the negative term of the likelihood, and the sums of v at death times."""
    n = sets.time.size
    if sets.ties == "breslow" or sets.tied.max() <= 1:
        step, zeros = sets.mass / risk, np.zeros(n)
        square = np.array([step / risk, zeros, zeros])
        return float(sets.mass @ np.log(risk)), step, zeros, square
    at, f = sets.fractions
    left = risk[at] - f * dead[at]
    share = (sets.mass / sets.tied)[at]
    v = share / left
    step, tied_step = (totals(at, v * f**k, n) for k in range(2))
    square = np.array([totals(at, v / left * f**k, n) for k in range(3)])
    return float(share @ np.log(left)), step, tied_step, square


def expected_deaths(sets: RiskSets, risk_sums: RiskSums) -> Floats:
    """Return r A for each spell: its deaths expected by the model."""
    hazard = sets.lived(risk_sums.step)
    hazard[sets.died] -= risk_sums.tied_step[sets.group]
    expected: Floats = risk_sums.relative * hazard
    return expected


def slopes(sets: RiskSets, z: Floats, risk_sums: RiskSums) -> tuple[Floats, Floats]:
    """Return the gradient and the information at the ``beta`` of the sums."""
    expected = expected_deaths(sets, risk_sums)
    residual = np.where(sets.data.ended, sets.data.weight, 0.0) - expected
    s, d = risk_sums.risk[1:], risk_sums.dead[1:]
    q0, q1, q2 = risk_sums.square
    squares = (s * q0) @ s.T
    if sets.ties == "efron":
        cross = (s * q1) @ d.T
        squares += (d * q2) @ d.T - cross - cross.T
    return z @ residual, (z * expected) @ z.T - squares


def score_residuals(sets: RiskSets, z: Floats, risk_sums: RiskSums) -> Floats:
    """Return each spell's share in the gradient, w dU / dw, as a column."""
    s, d = risk_sums.risk[1:], risk_sums.dead[1:]
    q0, q1, q2 = risk_sums.square
    pulled = sets.lived(s * q0 - d * q1)
    died, group = sets.died, sets.group
    pulled[:, died] -= (s * q1 - d * q2)[:, group]
    score: Floats = risk_sums.relative * pulled - expected_deaths(sets, risk_sums) * z
    mean = expected_covariates(sets, risk_sums)[:, group]
    score[:, died] += sets.data.weight[died] * (z[:, died] - mean)
    return score


def expected_covariates(sets: RiskSets, risk_sums: RiskSums) -> Floats:
    """Return the mean covariates of the spells that end, as expected by the model."""
    weighed = (
        risk_sums.risk[1:] * risk_sums.step - risk_sums.dead[1:] * risk_sums.tied_step
    )
    mean: Floats = weighed / sets.mass
    return mean
