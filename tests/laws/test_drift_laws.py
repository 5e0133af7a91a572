"""Drift models and their scores, spell by spell and pair by pair."""

import math
from copy import copy

import numpy as np
import pytest

from halflife.models.cox import CoxModel
from halflife.models.cox_baseline import weibull_curves
from halflife.models.drift import (
    ALL,
    PAPER,
    DriftModel,
    DriftPrediction,
    WeibullSurvival,
    _idle_rates,
    features,
)
from halflife.models.drift_scores import (
    Steps,
    _ranked,
    brier,
    calibration,
    concordance,
    kaplan_meier,
)
from halflife.models.drift_validation import Validation, validate
from halflife.models.spells import Spells

INF = math.inf


def curve_by_hand(time, ended):
    """Return the times and values of Kaplan and Meier's curve."""
    alive, points = 1.0, []
    for t in sorted(set(time)):
        left = sum(x >= t for x in time)
        died = sum(x == t and e for x, e in zip(time, ended, strict=True))
        alive *= 1 - died / left
        points.append((t, alive))
    return points


def value_at(points, t, *, before=False):
    passed = [s for at, s in points if at < t or (at == t and not before)]
    return passed[-1] if passed else 1.0


def brier_by_hand(alive, time, ended, grid):
    lost = curve_by_hand(time, [not e for e in ended])
    total = 0.0
    for row, t, died in zip(alive, time, ended, strict=True):
        for s, at in zip(row, grid, strict=True):
            if t <= at and died:
                total += s**2 / max(value_at(lost, t, before=True), 1e-12)
            elif t > at:
                total += (1 - s) ** 2 / max(value_at(lost, at), 1e-12)
    return total / (len(time) * len(grid))


def concordance_by_hand(risk, time, ended):
    good = pairs = 0.0
    for i in range(len(time)):
        for j in range(len(time)):
            later = time[j] > time[i] or (time[j] == time[i] and not ended[j])
            if i != j and ended[i] and later:
                pairs += 1
                good += (risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j])
    return good / pairs if pairs else 0.5, pairs


@pytest.mark.parametrize("seed", range(6))
def test_scores_are_what_counting_one_by_one_gives(seed):
    rng = np.random.default_rng(seed)
    n = 14
    time = rng.integers(1, 7, n).astype(float)
    ended = rng.random(n) < 0.6
    points = curve_by_hand(time.tolist(), ended.tolist())
    found = kaplan_meier(time, ended)
    assert found.time.tolist() == [t for t, _ in points]
    assert found.alive == pytest.approx([s for _, s in points])
    at = np.array([0.0, 1.0, 2.0, 2.5, 6.0, 9.0])
    assert found(at) == pytest.approx([value_at(points, t) for t in at])
    just = [value_at(points, t, before=True) for t in at]
    assert found.before(at) == pytest.approx(just)
    grid, alive = np.array([0.5, 1.0, 3.0, 4.5]), rng.uniform(0, 1, (n, 4))
    by_hand = brier_by_hand(alive, time.tolist(), ended.tolist(), grid)
    assert brier(alive, time, ended, grid) == pytest.approx(by_hand)
    off = [abs(alive[:, k].mean() - value_at(points, t)) for k, t in enumerate(grid)]
    assert calibration(alive, time, ended, grid) == pytest.approx(sum(off) / 4)
    risk = rng.integers(0, 5, n) / 3
    share, pairs = concordance_by_hand(risk, time, ended)
    assert concordance(risk, time, ended) == (pytest.approx(share), pairs)


def test_a_curve_of_nothing_is_one():
    none = np.zeros(0)
    empty = kaplan_meier(none, none > 0)
    assert isinstance(empty, Steps)
    assert empty(np.array([1.0, 2.0])).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("seed", range(4))
def test_ranks_below_and_equal_are_counted_among_the_first(seed):
    rng = np.random.default_rng(seed)
    rank, many = rng.integers(0, 11, 25), rng.integers(0, 26, 40)
    mine = rng.integers(0, 11, 40)
    below, same = _ranked(rank, many, mine)
    for k in range(40):
        first = rank[: many[k]]
        assert below[k] == (first < mine[k]).sum()
        assert same[k] == (first == mine[k]).sum()


def databases(seed=0, count=7, each=16):
    rng = np.random.default_rng(seed)
    domain = np.array(["com", "edu", "com", "edu", "com", "edu", "org"])[:count]
    size, kappa = np.exp(rng.normal(7, 1.5, count)), rng.gamma(2.0, 0.05, count)
    database = np.repeat(np.arange(count), each)
    tau = rng.choice([0.2, 0.4, 0.6], database.size)
    x = features(size[database], kappa[database], tau)
    rate, shape = 0.4 * np.exp(-0.1 * x[:, 0] + x[:, 1] - x[:, 2]), 1.2
    gone = (rng.exponential(size=rate.size) / rate) ** (1 / shape) + 0.01
    seen = rng.uniform(1, 12, rate.size)
    ended = gone <= seen
    time = np.where(ended, gone, seen)
    spells = Spells.of(np.zeros(rate.size), time, np.where(ended, time, INF))
    return spells, x, domain[database], database


def test_each_database_is_scored_by_a_model_that_did_not_see_it():
    spells, x, domain, database = databases()
    model = DriftModel(ridge=1.0)
    found = validate(model, spells, x, domain=domain, database=database)
    assert found.database == tuple("0123456")
    assert not hasattr(model, "drift_")
    whole = copy(model).fit(spells, x, domain=domain)
    time, ended = spells.lower, spells.ended
    middle, risks, seen = float(np.median(time)), {}, []
    for k in range(7):
        mine = database == k
        assert (found.spells[k], found.deaths[k]) == (16, ended[mine].sum())
        if k == 6:  # nothing else is known of its domain
            row = found.brier[k], found.plain[k], found.off[k], found.concordance[k]
            assert row == (0, 0, 0, 0.5)
            assert not found.predictable[k]
            continue
        assert found.predictable[k]
        seen += np.flatnonzero(mine).tolist()
        other = copy(model).fit(
            spells.take(~mine),
            x[~mine],
            domain=domain[~mine],
            start=whole.drift_.coefficient,
        )
        rate, shape = other.drift_.rates(domain[mine].tolist(), x[mine])
        grid = [time[mine].max() * (i + 0.5) / 40 for i in range(40)]
        alive = np.array(
            [
                [math.exp(-r * t**s) for t in grid]
                for r, s in zip(rate, shape, strict=True)
            ]
        )
        own = time[mine].tolist(), ended[mine].tolist()
        assert found.brier[k] == pytest.approx(brier_by_hand(alive, *own, grid))
        near = ~mine & (domain == domain[mine][0])
        plain = curve_by_hand(time[near].tolist(), ended[near].tolist())
        flat = np.tile([value_at(plain, t) for t in grid], (16, 1))
        assert found.plain[k] == pytest.approx(brier_by_hand(flat, *own, grid))
        points = curve_by_hand(*own)
        off = [
            abs(alive[:, i].mean() - value_at(points, t)) for i, t in enumerate(grid)
        ]
        assert found.off[k] == pytest.approx(np.mean(off))
        risk = [1 - math.exp(-r * middle**s) for r, s in zip(rate, shape, strict=True)]
        risks |= dict(zip(np.flatnonzero(mine).tolist(), risk, strict=True))
        assert found.concordance[k] == pytest.approx(concordance_by_hand(risk, *own)[0])
    overall = concordance_by_hand(
        [round(risks[i], 12) for i in seen], time[seen], ended[seen]
    )
    assert found.overall == (pytest.approx(overall[0]), overall[1])


def test_skill_is_what_the_plain_curve_errs_more_weighed_by_spells():
    def validation(model, plain):
        none = np.zeros(2)
        return Validation(
            ("a", "b"),
            none > 0,
            np.array([10.0, 30.0]),
            none,
            np.array(model),
            np.array(plain),
            none,
            none,
            concordance(none, none, none > 0),
        )

    found = validation([0.1, 0.2], [0.2, 0.3])
    assert found.skill == pytest.approx(1 - (1 + 6) / (2 + 9))
    assert validation([0.1, 0.2], [0.0, 0.0]).skill == 0.0


def test_drift_is_the_domains_rate_times_what_covariates_say():
    drift = DriftPrediction(
        ("a", "b"),
        np.array([0.1, 0.3]),
        np.array([0.8, 1.5]),
        ("x", "y"),
        np.array([0.5, -0.2]),
        days=7.0,
    )
    x = np.array([[1.0, 2.0], [0.0, -1.0], [3.0, 0.0]])
    rate, shape = drift.rates(["b", "a", "b"], x)
    by_hand = [0.3 * math.exp(0.1), 0.1 * math.exp(0.2), 0.3 * math.exp(1.5)]
    assert rate == pytest.approx(by_hand)
    assert shape.tolist() == [1.5, 0.8, 1.5]
    alive = drift.survival(["b", "a", "b"], x).alive(np.full(3, 14.0))
    weeks = [math.exp(-r * 2**s) for r, s in zip(by_hand, shape, strict=True)]
    assert alive == pytest.approx(weeks)


def test_features_are_columns_in_the_order_asked_for():
    found = features([10.0, 100.0], [0.1, 0.2], 0.5, ["threshold", "size"])
    assert found == pytest.approx(np.array([[0.5, math.log(10)], [0.5, math.log(100)]]))
    whole = features(math.e, 0.3, 0.4)
    assert whole == pytest.approx(np.array([[1.0, 0.3, 0.4]]))
    assert len(ALL) == 3
    assert PAPER.names == tuple(ALL)


@pytest.mark.parametrize("shape", [0.6, 1.0, 2.0])
def test_mean_lives_have_a_closed_form(shape):
    one = WeibullSurvival(np.array([0.3, 2.0]), np.full(2, shape))
    life = [math.gamma(1 + 1 / shape) * r ** (-1 / shape) for r in (0.3, 2.0)]
    assert one.life() == pytest.approx(life)
    late = np.full(2, 1e3 if shape >= 1 else 1e9)
    assert one.lasting(late) == pytest.approx(life, rel=1e-6)
    second = [math.gamma(2 / shape) / shape * r ** (-2 / shape) for r in (0.3, 2.0)]
    assert one.moment(np.full(2, INF)) == pytest.approx(second)
    tiny = np.full(2, 1e-14)
    assert one.lasting(tiny) == pytest.approx(tiny, rel=1e-6)
    assert one.moment(tiny) == pytest.approx(tiny**2 / 2, rel=1e-6)


@pytest.mark.parametrize("origin", ["mean", "zero"])
def test_curves_go_through_coxs_baselines_where_covariates_are(origin):
    spells, x, domain, _ = databases(2)
    model = DriftModel(origin=origin, days=3.0).fit(spells, x, domain=domain)
    cox = CoxModel().fit(x, spells.lower, spells.ended, strata=domain, names=ALL)
    point = x.mean(axis=0) if origin == "mean" else np.zeros(3)
    curves = weibull_curves(cox.baseline(point))
    drift = model.drift_
    assert drift.coefficient == pytest.approx(cox.coefficient_)
    assert drift.shape == pytest.approx(curves.shape)
    assert drift.rate * np.exp(point @ cox.coefficient_) == pytest.approx(curves.rate)
    assert drift.days == 3.0
    assert model.status_ is cox.status_
    assert model.learned_.weibull is None
    alive = model.predict(["edu"], x[:1]).alive(np.array([6.0]))
    rate, shape = drift.rates(["edu"], x[:1])
    assert alive == pytest.approx(np.exp(-rate * 2.0**shape))


def test_an_idle_domain_has_half_a_death_in_its_relative_time():
    spells, x, domain, _ = databases(3)
    upper = np.where(domain == "org", INF, spells.upper)
    late = Spells.of(spells.lower / 4, spells.lower, upper, weight=np.full(112, 2.0))
    cox = CoxModel().fit(
        x, late.lower, late.ended, strata=domain, entry=late.entry, weight=late.weight
    )
    found = _idle_rates(cox, late, x, domain)
    for k, name in enumerate(("com", "edu", "org")):
        days = sum(
            2 * 0.75 * late.lower[i] * math.exp(x[i] @ cox.coefficient_)
            for i in np.flatnonzero(domain == name)
        )
        assert found[k] == pytest.approx(0.5 / days)
    model = DriftModel().fit(late, x, domain=domain)
    assert model.idle_ == ("org",)
    assert model.drift_.rate[2] == pytest.approx(found[2])
    assert model.drift_.shape[2] == 1.0


@pytest.mark.parametrize("late", [0.0, 0.5])
def test_spells_that_some_met_late_are_at_risk_from_then_on(late):
    spells, x, domain, database = databases(4)
    entry = np.where(database < 3, late * spells.lower, 0.0)
    some = Spells.of(entry, spells.lower, spells.upper)
    model = DriftModel().fit(some, x, domain=domain, database=database)
    cox = CoxModel().fit(
        x, some.lower, some.ended, strata=domain, cluster=database,
        entry=entry if late else None,
    )  # fmt: skip
    assert model.drift_.coefficient == pytest.approx(cox.coefficient_)
    assert model.learned_.cox.standard_error_ == pytest.approx(cox.standard_error_)
