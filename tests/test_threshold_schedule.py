"""Laws of the schedules that sync a whole set source before it is too far off."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from scipy.integrate import quad

from halflife.policies.listings.pace import (
    FARTHEST,
    TurnoverPace,
    expected,
    lower,
    pace,
    worth,
)
from halflife.policies.listings.schedules import FixedInterval, PacedThreshold, Priced
from set_lives import grown, seen

PACE = TurnoverPace(40.0, 0.05, 3.0, 60.0, 90.0, 1.7, 2.3)
AHEAD = np.array([0.01, 0.5, 2.0, 9.0, 40.0])


def spells(looks, *lives):
    """Return a source whose objects were born and died at these moments."""
    born, died = (np.array(column, dtype=float) for column in zip(*lives, strict=True))
    return seen("s", np.array(looks, dtype=float), born, died, {})


def counted(known, window):
    """Return size before, ends, arrivals and days of each gap, object by object."""
    looks, lives = known.looks, known.lives
    rows = []
    for before, at in pairwise(looks):
        if before < looks[-1] - window - 1e-9:
            continue
        there = (lives.first_seen <= before) & (lives.gone_by > before)
        ends = there & (lives.gone_by == at)
        rows.append(
            (there.sum(), ends.sum(), (lives.first_seen == at).sum(), at - before)
        )
    return np.array(rows, dtype=float)


def paced(known, window=45.0):
    """Return the pace by the formulas of the docstring, gap by gap."""
    rows = counted(known, window)
    size, ends, news, gap = rows.T
    decay = sum(n * math.log((n + 0.5) / (n - e + 0.5)) for n, e, _, _ in rows)
    gone = (decay + 0.5) / sum((n + 1) * g for n, _, _, g in rows)
    seen_share = [(1 - math.exp(-gone * g)) / (gone * g) for g in gap]
    come = (news.sum() + 0.5) / sum(s * g for s, g in zip(seen_share, gap, strict=True))
    died = np.array([1 - math.exp(-gone * g) for g in gap])
    return (
        gone,
        come,
        (
            dispersion(ends, size * died, size * died * (1 - died)),
            dispersion(news, come * np.array(seen_share) * gap, None),
        ),
    )


def dispersion(found, mean, variance):
    """Return the sum of squared errors over the variance, of n - 1 free ones."""
    variance = mean if variance is None else variance
    n = len(found)
    return max(((found - mean) ** 2).sum() / variance.sum() * n / (n - 1), 1.0)


@pytest.mark.parametrize("gap", [0.5, 1.0, 3.0])
def test_the_pace_is_what_counting_gap_by_gap_gives(gap):
    known = grown(np.random.default_rng(2), (0.03, 0.4), arrivals=9.0, gap=gap)
    found = pace(known, 20.0)
    gone, come, (ended, arrived) = paced(known, 20.0)
    assert found.gone == pytest.approx(gone)
    assert found.come == pytest.approx(come)
    assert found.gone_spread == pytest.approx(ended)
    assert found.come_spread == pytest.approx(arrived)
    rows = counted(known, 20.0)
    assert (found.ends, found.arrivals) == (rows[:, 1].sum(), rows[:, 2].sum())
    assert found.size == known.lives.present(known.looks[-1]).sum()


def test_bursts_spread_more_than_chance_and_even_arrivals_do_not():
    looks = np.arange(0.0, 9.0)
    even = [(day - 0.5, 99.0) for day in range(9) for _ in range(4)]
    burst = [(day - 0.5, 99.0) for day in (0, 4) for _ in range(18)]
    assert pace(spells(looks, *even)).come_spread == 1.0
    found = pace(spells(looks, *burst))
    _, _, (_, arrived) = paced(spells(looks, *burst))
    assert found.come_spread == pytest.approx(arrived)
    assert found.come_spread > 10


def test_a_gap_twice_as_long_is_expected_to_bring_twice_as_many():
    looks = [0.0, 1.0, 3.0, 4.0, 6.0, 7.0, 9.0]
    born = [at - 0.01 for at in looks for _ in range(5 * (2 if at in {3, 6, 9} else 1))]
    steady = pace(spells(looks, *((b, 999.0) for b in born)))
    assert steady.come_spread == 1.0
    assert steady.come == pytest.approx((45 + 0.5) / 9, rel=0.01)


def test_only_the_looks_of_the_window_count_and_at_least_one_gap():
    looks = [0.0, 1.0, 2.0, 30.0]
    known = spells(looks, (-1, 99), (0.5, 99), (1.5, 99), (20, 99))
    assert pace(known, 5.0).arrivals == 1.0
    assert pace(known, 28.0).arrivals == 1.0
    assert pace(known, 29.0).arrivals == 2.0
    assert pace(known, 99.0).arrivals == 3.0


def test_without_a_gap_nothing_is_known_to_move():
    once = pace(spells([3.0], (2, 99), (1, 99)))
    assert once == TurnoverPace(2.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0)
    assert FixedInterval(2.5)(spells([3.0], (2, 99))) == 5.5


def test_expected_recall_is_the_mean_over_all_poisson_outcomes():
    few = PACE._replace(size=2.0, come=0.3)
    for ahead in AHEAD:
        kept = few.size * math.exp(-few.gone * ahead)
        new = few.come * (1 - math.exp(-few.gone * ahead)) / few.gone
        counts = range(40)
        mean = sum(
            stats.poisson.pmf(k, kept)
            * stats.poisson.pmf(m, new)
            * (k / (k + m) if k + m else 1.0)
            for k in counts
            for m in counts
        )
        found = expected(few, np.array([ahead]), "recall")[0]
        assert found == pytest.approx(mean, rel=1e-6)


def test_expected_precision_is_the_share_that_lasts():
    found = expected(PACE, AHEAD, "precision")
    np.testing.assert_allclose(found, [math.exp(-0.05 * t) for t in AHEAD])


def variances(paced, ahead):
    """Return the variance of the objects kept and of those that come."""
    last = math.exp(-paced.gone * ahead)
    kept, new = paced.size * last, paced.come * (1 - last) / paced.gone
    rate = paced.gone_spread * paced.gone**2 / max(paced.ends, 1.0)
    of_kept = paced.gone_spread * kept * (1 - last) + (kept * ahead) ** 2 * rate
    of_new = paced.come_spread * (new + new**2 / max(paced.arrivals, 1.0))
    return kept, new, of_kept, of_new


@pytest.mark.parametrize("few", [PACE, PACE._replace(ends=0.0, arrivals=0.0)])
def test_the_bound_is_the_delta_method_with_slopes_taken_by_differences(few):
    z, h = stats.norm.ppf(0.9), 1e-5
    found = lower(few, AHEAD, "recall", 0.9)
    for t, low in zip(AHEAD, found, strict=True):
        kept, new, of_kept, of_new = variances(few, t)
        recall = [
            (k / (k + n))
            for k, n in (
                (kept + h, new),
                (kept - h, new),
                (kept, new + h),
                (kept, new - h),
            )
        ]
        by_kept, by_new = (
            (recall[0] - recall[1]) / (2 * h),
            (recall[2] - recall[3]) / (2 * h),
        )
        spread = math.sqrt(by_kept**2 * of_kept + by_new**2 * of_new)
        mean = expected(few, np.array([t]), "recall")[0]
        assert low == pytest.approx(max(mean - z * spread, 0.0), rel=1e-4, abs=1e-6)


def test_the_bound_of_precision_is_that_of_the_kept_over_the_held():
    z = stats.norm.ppf(0.9)
    found = lower(PACE, AHEAD, "precision", 0.9)
    for t, low in zip(AHEAD, found, strict=True):
        kept, _, of_kept, _ = variances(PACE, t)
        bound = kept / PACE.size - z * math.sqrt(of_kept) / PACE.size
        assert low == pytest.approx(max(bound, 0.0))


@pytest.mark.parametrize("measure", ["recall", "precision"])
def test_a_sync_is_worth_what_the_integral_of_the_loss_says(measure):
    ahead = np.linspace(0.01, 60.0, 4000)

    def loss(t):
        return 1.0 - expected(PACE, np.array([t]), measure)[0]

    found = worth(PACE, ahead, measure)
    for at in (100, 1500, 3999):
        t = ahead[at]
        area = quad(loss, 0.0, t)[0]
        assert found[at] == pytest.approx(t * loss(t) - area, rel=1e-4)


@given(
    level=st.floats(0.5, 0.99),
    measure=st.sampled_from(["recall", "precision"]),
    arrivals=st.floats(0.5, 20.0),
)
def test_a_paced_threshold_holds_until_the_bound_falls_below_the_level(
    level, measure, arrivals
):
    known = grown(np.random.default_rng(1), (0.05,), arrivals=arrivals, days=30)
    schedule = PacedThreshold(level, measure)
    days, found = schedule.holds(known), pace(known)
    assert schedule(known) == 30.0 + days
    step = 1.05  # the moments looked at lie closer together than this
    after = lower(found, np.array([days * step]), measure, 0.95)[0]
    assert after < level or days == FARTHEST
    if lower(found, np.array([1e-9]), measure, 0.95)[0] >= level and days > 0.03:
        assert lower(found, np.array([days]), measure, 0.95)[0] >= level


@pytest.mark.parametrize("price", [0.01, 0.3, 2.0])
def test_a_priced_schedule_syncs_when_the_loss_reaches_the_price(price):
    known = grown(np.random.default_rng(1), (0.05,), days=30)
    days = Priced(price)(known) - 30.0
    found = pace(known)
    fine = np.linspace(0.0, days, 20_001)[1:]
    assert worth(found, fine, "recall")[-1] == pytest.approx(price, rel=0.1)


def test_nothing_is_put_off_for_more_than_a_year():
    still = spells([0.0, 1.0, 2.0], *((-1, 999) for _ in range(10_000)))
    assert PacedThreshold(0.5).holds(still) == FARTHEST
    assert Priced(1e9)(still) == 2.0 + FARTHEST


def test_ends_that_come_together_spread_more_than_a_binomial():
    looks = np.arange(0.0, 13.0)
    spans = [(-1.0, 999.0)] * 20
    for day, many in ((2.5, 30), (3.5, 2), (7.5, 25), (9.5, 1), (11.5, 40)):
        spans += [(-1.0, day)] * many
    known = spells(looks, *spans)
    found = pace(known)
    _, _, (ended, _) = paced(known)
    assert found.gone_spread == pytest.approx(ended)
    assert found.gone_spread > 3.0
