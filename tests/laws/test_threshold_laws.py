"""Laws of the schedules that sync a whole set source, at the edges."""

import math

import numpy as np
import pytest
from numpy.random import default_rng
from scipy import stats

from halflife.core.lifetimes import Collection, Lives
from halflife.models.setquality import days_until_below
from halflife.policies.listings.pace import (
    FARTHEST,
    TurnoverPace,
    _gaps,
    _kept_and_new,
    _spread,
    expected,
    last_fetch,
    lower,
    moments,
    pace,
    worth,
)
from halflife.policies.listings.schedules import (
    FixedInterval,
    PacedThreshold,
    Priced,
    Threshold,
)
from set_lives import grown, seen

PACE = TurnoverPace(40.0, 0.05, 3.0, 60.0, 90.0, 1.7, 2.3)


def never_looked():
    nothing = np.zeros(0)
    lives = Lives((), nothing, nothing, nothing, nothing, {})
    return Collection("s", nothing, lives, nothing.astype(np.intp), nothing)


def test_before_the_first_look_nothing_is_known():
    empty = never_looked()
    assert last_fetch(empty) == 0.0
    assert pace(empty) == TurnoverPace(0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0)
    assert FixedInterval(3.0)(empty) == 3.0


@pytest.mark.parametrize("measure", ["recall", "precision"])
def test_a_threshold_holds_as_long_as_the_forecast_says(measure):
    known = grown(default_rng(1), (0.05,), days=6, start=30)
    schedule = Threshold(0.9, measure, 0.8)
    days = days_until_below(known, 6.0, measure, 0.9, 0.8)
    assert schedule.holds(known) == days
    assert schedule(known) == 6.0 + days


def test_a_threshold_waits_no_longer_than_a_year():
    still = seen("s", np.arange(3.0), np.full(400, -1.0), np.full(400, 999.0), {})
    assert days_until_below(still, 2.0, "recall", 0.1) is None
    assert Threshold(0.1).holds(still) == FARTHEST
    assert Threshold(0.1)(still) == 2.0 + FARTHEST


@pytest.mark.parametrize("window", [0.0, 3.0, 5.5, 99.0])
def test_gaps_are_counted_life_by_life(window):
    known = grown(default_rng(3), (0.1, 0.5), days=12, start=30)
    looks, lives = known.looks, known.lives
    size, ends, news, gap = _gaps(known, window)
    begin = next(i for i, at in enumerate(looks) if at >= looks[-1] - window - 1e-9)
    begin = min(begin, looks.size - 2)  # one gap at least
    later = range(begin + 1, looks.size)

    def there(at):
        return int(((lives.first_seen <= at) & (lives.gone_by > at)).sum())

    assert size.tolist() == [there(at) for at in looks[begin:]]
    assert ends.tolist() == [int((lives.gone_by == looks[i]).sum()) for i in later]
    assert news.tolist() == [int((lives.first_seen == looks[i]).sum()) for i in later]
    assert gap.tolist() == [looks[i] - looks[i - 1] for i in later]


def test_half_an_end_and_half_an_arrival_are_added():
    # ten objects that neither end nor are joined by others, over four days
    still = seen("s", np.arange(5.0), np.full(10, -1.0), np.full(10, 99.0), {})
    found = pace(still)
    gone = 0.5 / (10 * 4 + 4)  # of one object more
    assert found.gone == pytest.approx(gone)
    within = -math.expm1(-gone) / gone  # of a day's arrivals is seen at its end
    assert found.come == pytest.approx(0.5 / (4 * within))
    assert (found.ends, found.arrivals) == (0.0, 0.0)
    assert (found.gone_spread, found.come_spread) == (1.0, 1.0)
    assert found.size == 10.0


def test_a_source_that_ended_wholly_is_still_counted():
    known = seen("s", np.arange(3.0), np.full(4, -1.0), np.full(4, 0.5), {})
    found = pace(known)
    # all four of four ended on the first day, none of none on the second
    assert found.gone == pytest.approx((4 * math.log(4.5 / 0.5) + 0.5) / (4 + 2))
    assert (found.size, found.ends) == (0.0, 4.0)


def test_spread_is_of_squares_over_variances_of_three_gaps_or_more():
    found, mean = np.array([9.0, 1.0, 2.0, 7.0]), np.array([2.0, 2.0, 2.0, 0.0])
    variance = np.array([2.0, 2.0, 2.0, 0.0])  # the last tells nothing
    expected_ = (49 + 1 + 0) / 6 * 3 / 2
    assert _spread(found, mean, variance) == pytest.approx(expected_)
    assert _spread(found[:2], mean[:2], variance[:2]) == 1.0
    assert _spread(found[:3], mean[:3], variance[:3]) == pytest.approx(expected_)
    assert _spread(mean, mean, variance) == 1.0  # never less than chance


@pytest.mark.parametrize("gone", [0.0, 1e-13, 1e-5, 0.3])
def test_what_is_kept_and_what_is_new_follow_the_rates(gone):
    ahead = np.array([0.01, 1.0, 30.0])
    kept, new = _kept_and_new(PACE._replace(gone=gone), ahead)
    for i, t in enumerate(ahead):
        assert kept[i] == pytest.approx(40.0 * math.exp(-gone * t))
        steps = (np.arange(2000) + 0.5) / 2000 * t  # who came then is still there
        assert new[i] == pytest.approx(3.0 * t * np.exp(-gone * (t - steps)).mean())


def test_an_empty_source_misses_nothing_until_something_comes():
    empty = TurnoverPace(0.0, 0.1, 0.0, 0.0, 0.0, 1.0, 1.0)
    assert expected(empty, np.array([1.0, 9.0]), "recall").tolist() == [1.0, 1.0]
    busy = empty._replace(come=2.0)
    found = expected(busy, np.array([0.5]), "recall")[0]
    new = 2.0 * -math.expm1(-0.05) / 0.1
    assert found == pytest.approx(math.exp(-new))  # unless none came
    low = lower(empty, np.array([1.0, 9.0]), "precision", 0.9)
    assert low == pytest.approx([math.exp(-0.1), math.exp(-0.9)])
    assert lower(empty, np.array([1.0]), "recall", 0.9).tolist() == [1.0]


def test_bounds_stay_between_none_and_all():
    wild = PACE._replace(gone_spread=500.0, come_spread=500.0)
    ahead = np.geomspace(1e-3, 300.0, 30)
    for measure in ("recall", "precision"):
        found = lower(wild, ahead, measure, 0.99)
        assert ((found >= 0) & (found <= 1)).all()
        assert (found == 0).any()
        sure = lower(PACE, ahead, measure, 0.5)  # with even chances it is the mean
        np.testing.assert_allclose(sure, expected(PACE, ahead, measure))


def test_the_bound_of_a_few_objects_is_worked_by_hand():
    few = TurnoverPace(0.5, 0.2, 0.4, 0.0, 0.0, 1.5, 2.0)
    t, z = 2.0, stats.norm.ppf(0.8)
    last = math.exp(-0.4)
    kept, new = 0.5 * last, 0.4 * (1 - last) / 0.2
    of_kept = 1.5 * kept * (1 - last) + kept**2 * 1.5 * 0.4**2  # of one end, at least
    of_new = 2.0 * (new + new**2)
    variance = (new**2 * of_kept + kept**2 * of_new) / (kept + new) ** 4
    share = kept / (kept + new)
    mean = share + (1 - share) * math.exp(-kept - new)
    found = lower(few, np.array([t]), "recall", 0.8)[0]
    assert found == pytest.approx(max(mean - z * math.sqrt(variance), 0.0))
    found = lower(few, np.array([t]), "precision", 0.8)[0]
    # of one object, at least
    assert found == pytest.approx(max(last - z * math.sqrt(of_kept), 0.0))


def test_worth_is_a_sum_of_trapezes():
    ahead = np.array([1.0, 3.0, 4.0])
    loss = [0.0, *(1.0 - expected(PACE, ahead, "recall"))]
    times = [0.0, 1.0, 3.0, 4.0]
    area = 0.0
    for i in range(1, 4):
        area += (times[i] - times[i - 1]) * (loss[i] + loss[i - 1]) / 2
        found = worth(PACE, ahead, "recall")[i - 1]
        assert found == pytest.approx(times[i] * loss[i] - area)


def test_moments_ahead_begin_where_a_thousandth_has_moved_and_end_in_a_year():
    for gone, come, size in ((0.05, 3.0, 40.0), (2.0, 0.0, 9.0), (0.1, 5.0, 0.0)):
        found = moments(TurnoverPace(size, gone, come, 1.0, 1.0, 1.0, 1.0))
        turnover = gone + come / max(size, 1.0)
        assert found[0] == pytest.approx(1e-3 / turnover)
        assert found[-1] == pytest.approx(FARTHEST)
        ratio = found[1:] / found[:-1]
        assert np.ptp(ratio) < 1e-9
        assert found.size == 400
    still = moments(TurnoverPace(40.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0))
    assert still[0] == pytest.approx(FARTHEST / 10.0)


@pytest.mark.parametrize("measure", ["recall", "precision"])
def test_a_paced_threshold_holds_for_the_last_moment_not_below_the_level(measure):
    known = grown(default_rng(1), (0.05,), arrivals=4.0, days=30)
    found = pace(known, 20.0)
    ahead = moments(found)
    for level in (0.6, 0.8, 0.9, 0.999999):
        schedule = PacedThreshold(level, measure, 0.9, 20.0)
        low = lower(found, ahead, measure, 0.9)
        first = next(i for i, value in enumerate(low) if value < level)
        assert schedule.holds(known) == ahead[max(first - 1, 0)]
        assert schedule(known) == 30.0 + schedule.holds(known)


@pytest.mark.parametrize("measure", ["recall", "precision"])
def test_a_priced_schedule_syncs_at_the_first_moment_that_is_worth_it(measure):
    known = grown(default_rng(1), (0.05,), arrivals=4.0, days=30)
    found = pace(known, 20.0)
    ahead = moments(found)
    bought = worth(found, ahead, measure)
    for row in (3, 100, 250):  # exactly at the price it is worth it
        price = float(bought[row])
        assert Priced(price, measure, 20.0)(known) == 30.0 + ahead[row]
