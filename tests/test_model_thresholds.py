"""Schedules by the paper's models: worked numbers, oracles, groups."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from halflife.models.census import METRICS, Census
from halflife.models.experts import Experts
from halflife.models.parametric import lower_bounds, model_bounds
from halflife.policies.listings.schedules import (
    FARTHEST,
    GroupThreshold,
    ModelThreshold,
    _at_last_look,
    _crossing,
    group_values,
)
from set_lives import grown, seen

SERIES = ("static-ar", "adaptive-ar", "kalman-ar", "chosen-ar")
AHEAD = np.array([0.3, 1.0, 2.5, 6.0, 30.0])


def clockwork(replaced=(10,) * 40, held=100):
    """Return a listing of which so many of the oldest are replaced day by day."""
    looks = np.arange(0.0, len(replaced) + 1.0)
    day = np.repeat(np.arange(len(replaced)), replaced) + 0.5
    born = np.concatenate([np.full(held, -1.0), day])
    died = np.concatenate([day, np.full(held, 1e6)])
    return seen("clockwork", looks, born, died, {})


@pytest.mark.parametrize("model", SERIES)
@pytest.mark.parametrize(("level", "days"), [(0.9, 1.0), (0.81, 2.0), (0.95, 0.487)])
def test_a_tenth_replaced_a_day_leaves_nine_tenths_after_a_day(model, level, days):
    # recall is 0.9 after a day, every day: d = log 0.9, no noise, t = log level / d
    found = ModelThreshold(model, level).holds(clockwork())
    assert found == pytest.approx(days, rel=0.01)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("model", [*SERIES, "exponential", "weibull", "last-cycle"])
def test_bounds_after_the_last_look_are_those_of_its_copy(model, metric):
    known = grown(np.random.default_rng(5), [0.05], arrivals=6.0, days=40)
    experts = Experts(Census.of(known))
    found = lower_bounds(experts, model, AHEAD, metric, 0.9)
    for days, low in zip(AHEAD.tolist(), found, strict=True):
        ahead = np.full(known.looks.size, days)
        loss = experts.expected(model, days, ahead)
        bounds = model_bounds(experts, model, loss, ahead, 0.8)
        assert low == pytest.approx(bounds[METRICS.index(metric), 0, -1], abs=1e-8)


def test_the_static_schedule_is_the_papers_formula_solved_by_hand():
    """Solve the bound of s. 3.3 by bisection, with counts made object by object."""
    known = grown(np.random.default_rng(5), [0.05], arrivals=6.0, days=40)
    looks, lives = known.looks, known.lives
    at = [lives.present(look) for look in looks]
    kept = [int((a & b).sum()) for a, b in pairwise(at)]
    gone = sum(int(a.sum()) - k for a, k in zip(at, kept, strict=False))
    news = [int(b.sum()) - k for b, k in zip(at[1:], kept, strict=True)]
    lived = sum((int(a.sum()) + k) / 2 for a, k in zip(at, kept, strict=False))
    size, days = int(at[-1].sum()), float(looks[-1] - looks[0])
    a, m = (gone + 0.5) / lived, (sum(news) + 0.5) / days
    theta = np.var(news) / np.mean(news)

    def low(t):
        left = size * math.exp(-a * t)
        new = m * (1 - math.exp(-a * t)) / a
        recall = left / (left + new)
        of_left = (1 - left / size) / left + (a * t) ** 2 / gone
        of_new = theta / new + 1 / (m * days)
        spread = recall * (1 - recall) * math.sqrt(of_left + of_new)
        return recall - stats.norm.ppf(0.95) * spread

    early, late = 0.0, 30.0
    while late - early > 1e-9:
        middle = (early + late) / 2
        early, late = (middle, late) if low(middle) >= 0.9 else (early, middle)
    assert ModelThreshold("exponential", 0.9).holds(known) == pytest.approx(
        early, rel=0.01
    )


def test_the_adaptive_schedule_follows_a_listing_that_speeds_up():
    known = clockwork((2,) * 35 + (10,) * 40)
    by = {m: ModelThreshold(m, confidence=0.5).holds(known) for m in SERIES}
    assert by["static-ar"] == pytest.approx(math.log(0.9) / math.log(0.98), rel=0.01)
    assert by["adaptive-ar"] == pytest.approx(1.0, rel=0.05)
    assert by["kalman-ar"] == pytest.approx(1.0, rel=0.2)
    assert by["chosen-ar"] in {by["adaptive-ar"], by["kalman-ar"]}


def test_the_first_group_that_is_due_decides():
    rng = np.random.default_rng(2)
    known = grown(rng, [0.01, 0.4], arrivals=60.0, days=60, start=400)
    rule = GroupThreshold("kind")
    parts = rule.parts(known)
    assert len(parts) == 2
    assert sorted(len(set(p.lives.attributes["kind"])) for p in parts) == [1, 1]
    alone = [ModelThreshold("exponential").holds(part) for part in parts]
    assert rule.holds(known) == min(alone)
    assert max(alone) > 3 * min(alone)
    assert rule(known) == known.looks[-1] + min(alone)


def test_groups_have_the_values_that_the_last_full_fetch_showed():
    rng = np.random.default_rng(2)
    known = grown(rng, [0.01, 0.4], arrivals=60.0, days=60, start=400)
    rule = GroupThreshold("kind")
    named = sorted(group_values(part, "kind") for part in rule.parts(known))
    assert len(named) == 2
    assert sorted(rule.groups(known)) == named
    # What one group showed after the last full fetch changes nothing.
    late = replace(known, looks=known.looks[:-20])
    last = late.looks[-1]
    then = _at_last_look(late)
    assert len(then.lives) == (known.lives.first_seen <= last).sum() < len(known.lives)
    assert then.lives.last_seen.max() == last
    assert sorted(rule.groups(late)) == named
    assert GroupThreshold("no such attribute").groups(known) == [("",)]


def test_objects_that_decay_alike_are_one_group():
    known = grown(np.random.default_rng(2), [0.05], arrivals=5.0)
    one = ModelThreshold("exponential").holds(known)
    assert GroupThreshold("kind").holds(known) == one
    assert GroupThreshold("no such attribute").holds(known) == one


@pytest.mark.parametrize("model", ["exponential", *SERIES])
def test_one_look_or_nothing_held_says_nothing_of_the_next(model):
    known = grown(np.random.default_rng(2), [0.05], arrivals=5.0)
    assert ModelThreshold(model).holds(known.until(0.0)) == FARTHEST
    empty = grown(np.random.default_rng(0), [1.0], days=9, arrivals=0.0, start=0)
    assert ModelThreshold(model).holds(empty) == FARTHEST


def test_a_curve_crosses_a_level_between_two_moments():
    ahead = np.array([1.0, 2.0, 4.0])

    def low(days):
        return 1.0 - 0.04 * days

    assert _crossing(low, ahead, 0.9) == pytest.approx(2.5)
    assert _crossing(low, ahead, 0.98) == pytest.approx(0.5)
    assert _crossing(low, ahead, 0.5) == FARTHEST
    assert _crossing(lambda days: 0.5 + 0.0 * days, ahead, 0.9) < 0.1
