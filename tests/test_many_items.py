"""Of many items some are computed at a time; that changes nothing."""

from dataclasses import replace

import numpy as np
import pytest

from halflife.belief import neighbours
from halflife.belief.neighbours import Neighbours
from halflife.cli import answers
from halflife.cli.terms import terms
from halflife.core.evidence import Evidence
from halflife.core.item import Item
from halflife.core.observation import Observations, Seen
from halflife.kinds.pages import kind as pages_kind, state as pages_state
from halflife.models import quality
from halflife.models.poisson import Exponential
from halflife.models.quality import freshness_forecast
from halflife.policies.champion import champion, champion_of
from halflife.policies.rehearsal import long_run
from halflife.policies.view_rows import take_rows

NOW = 20_000.0
COLUMNS = ("age", "rate", "exposure", "doubt", "looks", "looked", "ready", "weight")


@pytest.fixture(scope="module")
def evidence():
    rng = np.random.default_rng(3)
    keys = [f"http://h{i % 5}/f{i % 3}/{i}" for i in range(101)]
    items = (Item(k, "s", weight=1 + i % 4, group=k[7:9]) for i, k in enumerate(keys))
    found = Evidence.of(items)
    for day in range(8):
        some = tuple(k for k in keys[:90] if rng.random() < 0.4)
        at = NOW - 9 + day + rng.random(len(some)) / 2
        seen = np.where(rng.random(len(some)) < 0.1, Seen.ABSENT, Seen.PRESENT)
        digest = tuple(f"{int(rng.random() < 0.5):032x}" for _ in some)
        looks = Observations(some, np.sort(at), seen.astype(np.int8), digest)
        found.take(found.weigh(looks))
    return found


def test_a_view_made_in_blocks_is_the_view_made_at_once(evidence, monkeypatch):
    whole = Neighbours()(evidence, NOW, NOW)
    monkeypatch.setattr(neighbours, "BLOCK", 8)
    view = Neighbours()(evidence, NOW, NOW)
    for name in COLUMNS:
        assert np.array_equal(getattr(view, name), getattr(whole, name)), name
    for name in ("shape", "exposure"):
        one, other = (getattr(v.survival, name) for v in (view, whole))
        assert np.array_equal(one, other), name
    assert view.keys == whole.keys


def test_a_view_of_some_made_in_blocks_is_the_one_made_at_once(evidence, monkeypatch):
    belief, rows = Neighbours(), np.arange(1, 100, 3)
    assert belief.learn(evidence, NOW)
    whole = belief.view_rows(evidence, rows, NOW, NOW)
    monkeypatch.setattr(neighbours, "BLOCK", 8)
    view = belief.view_rows(evidence, rows, NOW, NOW)
    for name in COLUMNS:
        assert np.array_equal(getattr(view, name), getattr(whole, name)), name
    assert np.array_equal(view.survival.shape, whole.survival.shape)
    assert view.keys[:] == whole.keys[:]


@pytest.mark.parametrize("doubt", [0.0, 0.5])
def test_a_forecast_made_in_blocks_is_the_forecast_made_at_once(
    evidence, monkeypatch, doubt
):
    view = Neighbours()(evidence, NOW, NOW)
    view = replace(view, doubt=np.where(view.held, doubt, 0.0))
    ahead = np.array([0.0, 0.5, 3.0])
    whole = freshness_forecast(view, ahead)
    monkeypatch.setattr(quality, "BLOCK", 8)
    cast = freshness_forecast(view, ahead)
    for name in ("mean", "low", "high"):
        assert np.allclose(getattr(cast, name), getattr(whole, name), rtol=1e-9)


def test_a_law_that_has_no_columns_is_computed_at_once(evidence, monkeypatch):
    class Law:
        def alive(self, t):
            return np.exp(-t)

    view = replace(Neighbours()(evidence, NOW, NOW), survival=Law())
    monkeypatch.setattr(quality, "BLOCK", 8)
    assert [at for at, _ in quality.item_blocks(view)] == [slice(0, 101)]


def test_what_requests_buy_at_very_many_pages_is_told_by_a_sample(monkeypatch):
    rng = np.random.default_rng(5)
    rate, weight = rng.lognormal(-2.0, 1.0, 4000), 1.0 + rng.integers(0, 3, 4000)
    items = (Item(f"http://h/{i}", "s", weight=w) for i, w in enumerate(weight))
    view = Neighbours()(Evidence.of(items), NOW, NOW)
    view = replace(view, rate=rate, survival=Exponential(rate))
    rows = np.arange(4000)
    share = np.array([0.05, 0.5])
    mean, variance = pages_kind.fresh(view, long_run(champion, view, 4000 * share))
    monkeypatch.setattr(pages_state, "SAMPLE", 1000)
    some = pages_state.sampled(rows)
    assert some.size == np.unique(some).size == 1000
    assert np.array_equal(some, pages_state.sampled(rows))
    few = take_rows(view, some)
    told, doubt = pages_kind.fresh(few, long_run(champion, few, 1000 * share))
    assert np.all(np.abs(told - mean) < 4 * np.sqrt(0.25 / 1000))
    assert np.all(doubt > variance)
    assert pages_state.sampled(rows[:2000]).size == 2000


@pytest.mark.parametrize("target", [0.05, 0.3, 0.5, 0.99])
def test_when_a_target_is_missed_is_found_with_few_forecasts(
    evidence, monkeypatch, target
):
    view = Neighbours()(evidence, NOW, NOW)
    _, slowly = answers.forecast_rows(view, [0.0, 30.0], target)
    monkeypatch.setattr(answers, "MANY", 10)
    _, quickly = answers.forecast_rows(view, [0.0, 30.0], target)
    assert quickly == pytest.approx(slowly, abs=1e-9)


def test_why_an_item_is_looked_at_is_the_same_when_some_are_weighed_at_once(
    evidence, monkeypatch
):
    view = Neighbours()(evidence, NOW, NOW)
    rule = champion_of("harmonic").policy.policy
    whole = terms(view, 7, rule, 20.0)
    monkeypatch.setattr(quality, "BLOCK", 8)
    assert terms(view, 7, rule, 20.0) == whole
