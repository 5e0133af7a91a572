"""Of many items some are computed at a time; that changes nothing."""

from dataclasses import replace

import numpy as np
import pytest

from halflife.belief import neighbours
from halflife.belief.neighbours import Neighbours
from halflife.evidence import Evidence
from halflife.item import Item
from halflife.models import quality
from halflife.models.quality import freshness_forecast
from halflife.observation import Looks, Seen

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
        looks = Looks(some, np.sort(at), seen.astype(np.int8), digest)
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
    assert [at for at, _ in quality.parts(view)] == [slice(0, 101)]
