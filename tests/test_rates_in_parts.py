"""Rates fitted part by part are those of one fit of all."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from halflife.core.history import Gaps
from halflife.executors.local import InProcess
from halflife.models.empirical_bayes import Posterior
from halflife.models.poisson import GammaSurvival
from lab.rates.empirical_bayes import EmpiricalBayesRate
from lab.rates.rates_in_parts import fit_prior_in_parts, fit_rates


@dataclass
class Kept:
    """A part in memory."""

    start: int
    items: int
    all_gaps: Gaps
    believed: Posterior | None = None

    def gaps(self) -> Gaps:
        item = self.all_gaps.item
        mine = (item >= self.start) & (item < self.start + self.items)
        some = Gaps(*(column[mine] for column in self.all_gaps))
        return some._replace(item=some.item - self.start)

    def write(self, believed: Posterior) -> None:
        self.believed = believed


def _population(items: int, looks: int, seed: int) -> Gaps:
    rng = np.random.default_rng(seed)
    rate = np.repeat(rng.lognormal(np.log(0.1), 1.8, items), looks)
    item = np.repeat(np.arange(items), looks)
    length = rng.lognormal(0.5, 1.0, item.size)
    changed = rng.random(item.size) < -np.expm1(-rate * length)
    return Gaps(item, length, changed, np.ones(item.size))


def _cut(gaps: Gaps, ends: list[int]) -> list[Kept]:
    starts = [0, *ends[:-1]]
    return [Kept(a, b - a, gaps) for a, b in zip(starts, ends, strict=True)]


@pytest.fixture(scope="module")
def many() -> Gaps:
    return _population(12_000, 10, 1)


def test_the_prior_and_every_rate_are_those_of_one_fit(many: Gaps) -> None:
    whole = EmpiricalBayesRate().fit(many.item, many.length, many.changed)
    parts = _cut(many, [4111, 4112, 9000, 12_000])
    prior = fit_rates(parts, InProcess())
    assert prior == pytest.approx(whole.prior_, abs=1e-9)
    shape, exposure, rate = np.concatenate([np.stack(p.believed) for p in parts], 1)
    assert rate == pytest.approx(whole.rate_, rel=1e-9)
    day = np.full(rate.size, 30.0)
    alive = GammaSurvival(shape, exposure).alive(day)
    assert alive == pytest.approx(whole.survival().alive(day), abs=1e-6)


def test_parts_of_whole_chunks_give_the_very_rates_of_one_fit() -> None:
    gaps = _population(2 * 8192, 4, 2)
    whole = EmpiricalBayesRate().fit(gaps.item, gaps.length, gaps.changed)
    parts = _cut(gaps, [8192, 2 * 8192])
    fit_rates(parts, InProcess())
    believed = np.concatenate([np.stack(p.believed) for p in parts], 1)
    expected = np.stack([whole.shape_, whole.exposure_, whole.rate_])
    assert believed == pytest.approx(expected, rel=1e-9)


@settings(max_examples=20)
@given(cut=st.integers(1, 299), seed=st.integers(0, 5))
def test_wherever_the_parts_are_cut_the_prior_is_the_same(cut: int, seed: int) -> None:
    gaps = _population(300, 3, seed)
    one = fit_prior_in_parts(_cut(gaps, [300]), InProcess())
    two = fit_prior_in_parts(_cut(gaps, [cut, 300]), InProcess())
    assert two == pytest.approx(one, abs=1e-9)


def test_items_without_gaps_and_empty_parts_count() -> None:
    gaps = Gaps(np.array([5]), np.ones(1), np.ones(1, bool), np.ones(1))
    whole = EmpiricalBayesRate().fit(gaps.item, gaps.length, gaps.changed, n_items=8)
    parts = _cut(gaps, [3, 3, 8])
    prior = fit_rates(parts, InProcess())
    assert prior == pytest.approx(whole.prior_, abs=1e-12)
    assert parts[2].believed is not None
    assert parts[2].believed.mean == pytest.approx(whole.rate_[3:], rel=1e-6)
