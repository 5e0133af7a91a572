"""What random checks say of a copy, and of what was believed of it."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from halflife.core.forecast import Forecast
from halflife.metrics.intervals import Interval
from halflife.models.audit import (
    BETS,
    audited_share,
    drift,
    estimated_total,
    mean_over_gaps,
    pooled_share,
    share_bounds,
)
from halflife.models.calibration import (
    FARTHEST,
    RECENT,
    WIDEST,
    Outcome,
    brier,
    coverage,
    effective_size,
    interval_score,
    lifetime_widening_factor,
    normal_score,
    reliability,
    right_parts_pmf,
    trust_factor,
    widen_forecast,
    widening_factor,
)

unit = st.floats(0.0, 1.0)


@given(
    values=st.lists(st.floats(-5, 5), min_size=2, max_size=7),
    n=st.integers(1, 6),
)
def test_sums_are_unbiased_over_all_samples(values, n):
    values, n = np.array(values), min(n, len(values))
    chance = np.full(n, n / values.size)
    found = [
        estimated_total(values[list(s)], chance)
        for s in combinations(range(values.size), n)
    ]
    assert np.mean(found) == pytest.approx(values.sum(), abs=1e-9)


def test_sums_are_unbiased_when_chances_differ():
    values, chance = np.array([3.0, 1.0, 7.0]), np.array([0.2, 0.5, 0.9])
    mean = 0.0
    for code in range(8):  # each part is drawn by itself
        drawn = np.array([bool(code >> i & 1) for i in range(3)])
        weight = np.prod(np.where(drawn, chance, 1.0 - chance))
        mean += weight * estimated_total(values[drawn], chance[drawn])
    assert mean == pytest.approx(11.0)


@given(fresh=st.lists(st.booleans(), min_size=2, max_size=9), n=st.integers(1, 8))
def test_the_share_is_unbiased_over_all_even_samples(fresh, n):
    fresh, n = np.array(fresh), min(n, len(fresh))
    chance = np.full(n, n / fresh.size)
    samples = combinations(range(fresh.size), n)
    found = [audited_share(fresh[list(s)], chance, np.ones(n)).mean for s in samples]
    assert np.mean(found) == pytest.approx(fresh.mean())


def test_the_interval_of_an_even_sample_is_that_of_a_binomial_share():
    fresh = np.arange(100) < 80
    found = audited_share(fresh, np.full(100, 1e-9), np.ones(100))
    n = 99 * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 99)) ** 2
    wanted = stats.beta.ppf(
        [0.025, 0.975], [0.8 * n, 0.8 * n + 1], [0.2 * n + 1, 0.2 * n]
    )
    assert found.mean == pytest.approx(0.8)
    assert found[1:] == pytest.approx(wanted)


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95, 1.0])
@pytest.mark.parametrize("n", [5, 20, 60])
def test_the_interval_holds_the_truth_of_a_small_population(share, n):
    held, right = 80, round(80 * share)
    hits = np.arange(max(0, n - held + right), min(n, right) + 1)
    chance = np.full(n, n / held)
    bounds = [audited_share(np.arange(n) < k, chance, np.ones(n)) for k in hits]
    inside = np.array([low - 1e-9 <= share <= high + 1e-9 for _, low, high in bounds])
    # every possible sample, each by its chance
    assert stats.hypergeom(held, right, n).pmf(hits) @ inside >= 0.94


def test_whoever_looks_at_everything_knows():
    found = audited_share(np.array([True, False]), np.ones(2), np.array([3.0, 1.0]))
    assert found == Interval(0.75, 0.75, 0.75)


@given(
    rows=st.lists(
        st.tuples(st.booleans(), st.floats(1e-6, 1.0), st.floats(0.0, 1e6)), max_size=20
    )
)
def test_audits_are_finite_on_whatever_was_drawn(rows):
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    kinds = (bool, float, float)
    fresh, chance, weight = (
        np.array(c, k) for c, k in zip(columns, kinds, strict=True)
    )
    mean, low, high = audited_share(fresh, chance, weight)
    assert 0.0 <= low <= mean <= high <= 1.0


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (3, 5), (5, 5), (70, 71)])
def test_bounds_of_a_share_are_those_of_scipy(hits, n):
    wanted = stats.binomtest(hits, n).proportion_ci(0.95, method="exact")
    assert share_bounds(hits, n, 0.95) == pytest.approx(tuple(wanted))


@given(
    pairs=st.lists(st.tuples(unit, st.booleans()), min_size=1, max_size=40),
    bins=st.integers(1, 12),
)
def test_the_parts_of_the_brier_score_add_up(pairs, bins):
    chance, came = np.array([p for p, _ in pairs]), np.array([y for _, y in pairs])
    parts = brier(chance, came, bins=bins)
    whole = parts.reliability - parts.resolution + parts.uncertainty + parts.within
    assert parts.score == pytest.approx(whole, abs=1e-12)
    assert parts.score == pytest.approx(np.mean((chance - came) ** 2))


def test_reliability_counts_what_came_true_bin_by_bin():
    chance = np.array([0.05, 0.93, 0.97, 1.0])
    table = reliability(chance, np.array([False, True, True, False]))
    assert table.size.tolist() == [1, 3]
    assert table.forecast == pytest.approx([0.05, 2.9 / 3])
    assert table.found == pytest.approx([0.0, 2 / 3])
    assert np.all((table.low <= table.found) & (table.found <= table.high))


def test_nothing_forecast_has_nothing_to_tell():
    none = np.zeros(0)
    assert reliability(none, none > 0).size.size == 0
    assert brier(none, none > 0).score == 0.0
    assert coverage(none) == Interval(0.95, 0.0, 1.0)
    assert effective_size(none, 5.0) == 0.0


@pytest.mark.parametrize("mean", [0.1, 0.5, 0.97])
@pytest.mark.parametrize("spread", [0.02, 0.1])
def test_right_ones_are_distributed_as_scipy_says(mean, spread):
    variance = spread**2
    both = mean * (1 - mean) / variance - 1
    wanted = stats.betabinom(12, mean * both, (1 - mean) * both).pmf(np.arange(13))
    assert right_parts_pmf(mean, variance, 12) == pytest.approx(wanted)
    assert right_parts_pmf(mean, 0.0, 12) == pytest.approx(
        stats.binom(12, mean).pmf(np.arange(13))
    )


@given(mean=unit, low=unit, high=unit, found=unit, looks=st.floats(0, 30), u=unit)
def test_scores_are_finite_and_agree_with_the_bounds(mean, low, high, found, looks, u):
    low, mean, high = sorted([low, mean, high])
    bounds = Interval(mean, low, high)
    sampled = normal_score(bounds, Outcome(found, looks), u, 0.95)
    assert abs(sampled) <= FARTHEST
    exact = normal_score(bounds, Outcome(found, np.inf), u, 0.95)
    if abs(found - low) > 1e-9 and abs(found - high) > 1e-9:
        assert (abs(exact) <= stats.norm.ppf(0.975)) == (low <= found <= high)


@pytest.mark.parametrize("n", [1, 3, 25])
def test_scores_of_true_forecasts_are_standard_normal(n):
    rng = np.random.default_rng(7)
    mean, spread = 0.9, 0.05
    both = mean * (1 - mean) / spread**2 - 1
    bounds = Interval(mean, mean - 1.96 * spread, mean + 1.96 * spread)
    bounds = bounds._replace(high=mean + 1.96 * spread)
    truth = rng.beta(mean * both, (1 - mean) * both, 600)
    hits = rng.binomial(n, truth)
    scores = [normal_score(bounds, Outcome(k / n, n), rng.random(), 0.95) for k in hits]
    assert stats.kstest(scores, "norm").pvalue > 0.01
    assert coverage(np.array(scores)).low < 0.95 < coverage(np.array(scores)).high


@given(
    scores=st.lists(st.floats(-20, 20), max_size=80),
    place=st.integers(0, 79),
    more=st.floats(0, 10),
)
def test_trust_is_monotone_in_misses(scores, place, more):
    before = trust_factor(np.array(scores))
    assert 1.0 <= before <= 4.2
    if scores:
        worse = np.array(scores)
        worse[place % worse.size] *= 1.0 + more
        assert trust_factor(worse) >= before - 1e-12


def test_trust_comes_back_when_forecasts_come_true():
    rng = np.random.default_rng(3)
    good, bad = rng.standard_normal(RECENT), np.full(30, 4.0)
    assert trust_factor(good) == pytest.approx(1.0, abs=0.25)
    assert trust_factor(np.concatenate([good, bad])) > 1.8
    assert trust_factor(np.concatenate([good, bad, good])) == trust_factor(good)


def test_trust_is_the_quantile_of_the_errors_when_there_are_many():
    scores = np.random.default_rng(1).standard_normal(RECENT) * 3.0
    lent = np.abs(stats.norm.ppf((np.arange(2000) + 0.5) / 2000))
    sizes = np.concatenate([np.abs(scores), lent])
    weight = np.concatenate([np.ones(RECENT), np.full(2000, 20.0 / 2000)])
    order = np.argsort(sizes)
    mass = np.cumsum(weight[order]) / weight.sum()
    least, most = sizes[order[np.searchsorted(mass, [0.93, 0.97])]]
    z = stats.norm.ppf(0.975)
    assert least / z * 0.97 <= trust_factor(scores) <= most / z


@given(mean=unit, low=unit, high=unit, less=st.floats(1, 5), more=st.floats(1, 5))
def test_a_larger_factor_gives_wider_bounds(mean, low, high, less, more):
    low, mean, high = sorted([low, mean, high])
    cast = Forecast("recall", *(np.array([x]) for x in (0.0, mean, low, high)))
    some, all_ = (widen_forecast(cast, f) for f in sorted([less, more]))
    assert 0.0 <= all_.low[0] <= some.low[0] + 1e-12
    assert some.low[0] <= low + 1e-12
    assert 1.0 >= all_.high[0] >= some.high[0] - 1e-12
    assert widen_forecast(cast, 1.0) is cast


@given(values=st.lists(unit, min_size=6, max_size=6))
def test_bounds_widened_by_the_gap_hold_what_was_found(values):
    low, mean, high = sorted(values[:3])
    found = Interval(*(sorted(values[3:])[i] for i in (1, 0, 2)))
    factor = widening_factor(Interval(mean, low, high), found)
    assert 1.0 <= factor <= WIDEST
    if 1.0 < factor < WIDEST:
        cast = Forecast("recall", *(np.array([x]) for x in (0.0, mean, low, high)))
        wide = widen_forecast(cast, factor)
        far = found.low if found.high < mean else found.high
        assert wide.low[0] - 1e-9 <= far <= wide.high[0] + 1e-9


def test_the_gap_grows_with_misses():
    believed, n = Interval(0.95, 0.93, 0.97), 40
    found = [
        audited_share(np.arange(n) >= k, np.full(n, 0.01), np.ones(n)) for k in range(n)
    ]
    factors = [widening_factor(believed, one) for one in found]
    assert factors == sorted(factors)
    assert factors[2] == 1.0
    assert factors[20] > 5.0


def audits(rng, turns, chance, truth, n=4):
    size = turns * n
    believed = np.full(size, chance)
    fresh = rng.random(size) < truth
    return believed, fresh, np.repeat(np.arange(turns), n), np.tile(np.arange(n), turns)


def test_a_belief_that_is_right_raises_few_alarms():
    rng = np.random.default_rng(5)
    runs = [drift(*audits(rng, 250, 0.9, 0.9)) for _ in range(40)]
    assert sum(run.alarms.size for run in runs) <= 10  # 10 000 turns, 1 in 1000 allowed


@pytest.mark.parametrize(("truth", "staler"), [(0.6, True), (0.999, False)])
def test_a_belief_that_is_wrong_is_found_out(truth, staler):
    found = drift(*audits(np.random.default_rng(2), 100, 0.85, truth))
    assert found.alarms.size
    assert found.staler[0] == staler
    if staler:
        assert found.alarms[0] < 12


def test_each_bet_pays_one_in_the_mean():
    for p in (0.02, 0.5, 0.9, 0.989):
        won = drift(np.array([p]), np.array([True]), np.zeros(1, int), np.zeros(1, int))
        lost = drift(
            np.array([p]), np.array([False]), np.zeros(1, int), np.zeros(1, int)
        )
        mean = p * won.evidence + (1 - p) * lost.evidence
        assert mean * 1000 == pytest.approx(1.0)
    assert len(BETS) > 1


def test_what_hangs_together_counts_once():
    believed, fresh = np.full(50, 0.9), np.zeros(50, bool)
    turn = np.zeros(50, int)
    one_site = drift(believed, fresh, turn, np.zeros(50, int))
    many = drift(believed, fresh, turn, np.arange(50))
    assert one_site.alarms.size == 0
    assert many.alarms.size == 1


@settings(max_examples=50)
@given(
    rows=st.lists(
        st.tuples(unit, st.booleans(), st.integers(0, 3), st.integers(0, 2)),
        max_size=30,
    )
)
def test_drift_is_finite_on_whatever_was_drawn(rows):
    rows = sorted(rows, key=lambda row: row[2])
    columns = zip(*rows, strict=True) if rows else ((), (), (), ())
    kinds = (float, bool, int, int)
    found = drift(*(np.array(c, k) for c, k in zip(columns, kinds, strict=True)))
    assert 0.0 <= found.evidence < 1.0


@pytest.mark.parametrize(("hits", "n"), [(0, 3), (2, 7), (9, 9), (88, 100)])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_bounds_of_a_share_are_those_of_statsmodels(hits, n, confidence):
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    wanted = proportion.proportion_confint(hits, n, 1.0 - confidence, method="beta")
    assert share_bounds(hits, n, confidence) == pytest.approx(wanted)


def test_quality_over_time_is_that_of_losses_at_any_moment():
    rng = np.random.default_rng(8)
    gap, end = np.array([1.0, 3.0, 2.0]), np.array([0.7, 0.9, 0.4])
    # All of a gap is lost at one moment, any as likely as another.
    moment = rng.random((40_000, 3))
    means = (gap * (moment + (1.0 - moment) * end)).sum(axis=1) / gap.sum()
    found = mean_over_gaps(gap, end)
    assert found.mean == pytest.approx(means.mean(), abs=0.002)
    reach = stats.norm.ppf(0.975) * means.std()
    assert found.high - found.mean == pytest.approx(reach, rel=0.02)
    inside = np.mean((means >= found.low) & (means <= found.high))
    assert inside >= 0.95  # sums of a few even chances have no tails


@given(
    rows=st.lists(st.tuples(st.floats(1e-3, 50.0), unit), min_size=1, max_size=20),
)
def test_quality_over_time_is_within_what_is_possible(rows):
    gap, end = np.array(rows).T
    mean, low, high = mean_over_gaps(gap, end)
    least = float(gap @ end / gap.sum())
    assert least - 1e-9 <= low <= mean <= high <= 1.0 + 1e-9
    assert mean == pytest.approx((1.0 + least) / 2.0)


def test_without_looks_nothing_is_known_of_quality_over_time():
    assert mean_over_gaps(np.zeros(0), np.zeros(0)) == Interval(0.5, 0.0, 1.0)
    assert mean_over_gaps(np.zeros(2), np.ones(2)) == Interval(0.5, 0.0, 1.0)


@given(
    believed=st.floats(1e-6, 1.0 - 1e-6),  # what is sure stays so, however hurried
    values=st.lists(unit, min_size=3, max_size=3),
)
def test_chances_hurried_by_the_gap_hold_what_was_found(believed, values):
    low, mean, high = sorted(values)
    found = Interval(mean, low, high)
    factor = lifetime_widening_factor(believed, found)
    assert 1.0 <= factor <= WIDEST
    if low <= believed <= high:
        assert factor == 1.0
    if 1.0 < factor < WIDEST:
        far = low if high < believed else high
        assert believed**factor - 1e-6 <= far <= believed ** (1.0 / factor) + 1e-6


def test_chances_must_be_hurried_more_the_fewer_lasted():
    n = 20
    shares = [Interval(k / n, *share_bounds(k, n, 0.95)) for k in range(n + 1)]
    factors = [lifetime_widening_factor(0.9, one) for one in shares]
    assert factors == sorted(factors, reverse=True)
    assert factors[18] == factors[20] == 1.0
    assert factors[0] == WIDEST
    # k = 12: all that the checks allow is 0.3605...0.8088, and 0.9^f = 0.3605
    assert factors[12] == pytest.approx(np.log(shares[12].low) / np.log(0.9))


@given(
    rows=st.lists(st.tuples(unit, st.floats(0.1, 30.0)), min_size=0, max_size=12),
)
def test_what_audits_found_together_is_never_surer_if_parts_may_be_alike(rows):
    found, looks = np.array(rows, dtype=float).reshape(-1, 2).T
    one, other = pooled_share(found, looks), pooled_share(found, looks, alike=True)
    assert 0.0 <= other.low <= one.low + 1e-9
    assert one.high - 1e-9 <= other.high <= 1.0
    assert one.mean == other.mean
    assert other.low <= other.mean <= other.high


def test_audits_of_groups_that_change_together_are_told_with_that_doubt():
    rng = np.random.default_rng(4)
    inside, plain = [], []
    for _ in range(300):
        # 12 audits of 10 records each, which are all right or all wrong
        found, looks = (rng.random(12) < 0.8).astype(float), np.full(12, 10.0)
        _, low, high = pooled_share(found, looks, alike=True)
        inside.append(low <= 0.8 <= high)
        _, low, high = pooled_share(found, looks)
        plain.append(low <= 0.8 <= high)
    assert np.mean(inside) >= 0.93
    assert np.mean(plain) < 0.6


def test_audits_of_single_parts_are_pooled_as_one_sample():
    found, looks = np.array([1.0, 0.0, 1.0, 1.0]), np.ones(4)
    assert pooled_share(found, looks)[1:] == pytest.approx(share_bounds(3.0, 4.0, 0.95))
    assert pooled_share(np.zeros(0), np.zeros(0)) == Interval(0.5, 0.0, 1.0)


@given(low=unit, high=unit, truth=unit)
def test_an_interval_costs_its_width_and_what_it_misses(low, high, truth):
    low, high = sorted([low, high])
    (cost,) = interval_score(*(np.array([x]) for x in (low, high, truth)))
    assert cost >= high - low - 1e-12
    if low <= truth <= high:
        assert cost == pytest.approx(high - low)
    else:
        off = max(low - truth, truth - high)
        assert cost == pytest.approx(high - low + 40 * off)


def test_no_interval_costs_less_in_the_mean_than_the_quantiles():
    truth = np.random.default_rng(7).beta(20.0, 2.0, 50_000)
    low, high = np.quantile(truth, [0.05, 0.95])

    def mean(down, up):
        bounds = (np.full(truth.size, x) for x in (low - down, high + up))
        return interval_score(*bounds, truth, confidence=0.9).mean()

    for down, up in ((0.02, 0.0), (-0.02, 0.0), (0.0, 0.01), (0.0, -0.01)):
        assert mean(down, up) > mean(0.0, 0.0)
