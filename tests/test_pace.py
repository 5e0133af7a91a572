import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings

from halflife.belief.site_paces import SitePaces
from halflife.models.bursts import Bursts
from halflife.models.pace import (
    ALL,
    HALF_LIVES,
    MEMORY,
    MISSES,
    NEVER,
    OWN,
    GapChanges,
    Pace,
)
from halflife.models.poisson import GammaSurvival

PRIOR = np.array([*np.full(6, (1 - NEVER) / 6), NEVER])


def play(days):
    """Return paces and doubt after days of changes: usual, expected and counted."""
    pace = Pace()
    pace.grow(days.shape[2])
    for usual, expected, counted in days:
        gaps = GapChanges(usual, expected, counted, np.ones(usual.size))
        pace.add(np.arange(usual.size), gaps)
        found = pace.step(1.0, 0.0)
    return found, pace.doubt, pace.weight


def slowly(days):
    """Return the same from all days again, with scipy's negative binomial."""
    number, weight, level = len(days), PRIOR, np.zeros((2, days.shape[2]))
    likely, missed, size = np.zeros(7), 0.0, 0.0

    def levels(end):
        """Return changes expected and counted until a day, by half-life and group."""
        ages = end - np.arange(end) - 1.0
        share = np.array([[2 ** (-a / h) for a in ages] for h in HALF_LIVES])
        some = share.reshape(7, end)
        return some @ days[:end, 0], some @ days[:end, 2]

    for day, (usual, expected, counted) in enumerate(days):
        seen = [sums * 2 ** (-1 / HALF_LIVES[:, None]) for sums in levels(day)]
        b, a = (sums.sum(axis=1) + ALL for sums in seen)
        chance = scipy.stats.nbinom.logpmf(counted.sum(), a, b / (b + usual.sum()))
        likely = np.exp(-1 / MEMORY) * likely + chance
        mean = (level[1].sum() + ALL) / (level[0].sum() + ALL) * expected.sum()
        missed = missed * 2 ** (-1 / MISSES) + (counted.sum() - mean) ** 2 - mean
        size = size * 2 ** (-1 / MISSES) + mean**2
        weight = PRIOR * np.exp(likely - likely.max())
        weight = weight / weight.sum()
        level += weight[-1] * np.stack([expected, counted])
    usual, counted = levels(number)
    overall = (counted.sum(axis=1) + ALL) / (usual.sum(axis=1) + ALL)
    own = (counted + OWN * overall[:, None]) / (usual + OWN)
    calm = (level[1].sum() + ALL) / (level[0].sum() + ALL)
    pace = weight @ own / ((level[1] + OWN * calm) / (level[0] + OWN))
    logs = np.log(overall)
    between = weight @ (logs - weight @ logs) ** 2
    doubt = np.sqrt(between + (1 - weight[-1]) * max(missed, 0) / max(size, 1.0))
    return pace, doubt, weight


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.floats(0.3, 6.0))
def test_paces_are_those_of_all_days_counted_again(seed, number, faster):
    rng = np.random.default_rng(seed)
    expected = rng.uniform(0.5, 20.0, (number, 3))
    usual = expected / rng.uniform(0.5, 3.0, (number, 1))
    counted = rng.poisson(
        expected * np.where(np.arange(number) > 6, faster, 1)[:, None]
    )
    days = np.stack([usual, expected, counted.astype(float)], axis=1)
    for found, again in zip(play(days), slowly(days), strict=True):
        assert found == pytest.approx(again, rel=1e-7, abs=1e-9)


def world(rng, days, groups=4, each=10.0, faster=()):
    """Return days of changes at random; some groups are five times as fast at last."""
    mean = np.full((days, groups), each)
    mean[days // 2 :, list(faster)] *= 5.0
    usual = np.full((days, groups), each)
    return np.stack([usual, usual, rng.poisson(mean).astype(float)], axis=1)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_at_an_even_pace_nothing_changes(seed):
    found, doubt, weight = play(world(np.random.default_rng(seed), 40))
    assert found == pytest.approx(np.ones(4), abs=0.25)
    assert weight[-1] > 0.3
    assert doubt < 0.2


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_a_change_of_all_groups_is_followed_within_days(seed):
    days = world(np.random.default_rng(seed), 40, faster=range(4))
    assert play(days[:20])[0] == pytest.approx(np.ones(4), abs=0.25)
    assert play(days[:26])[0].mean() == pytest.approx(4.4, abs=1.0)
    assert play(days)[0].mean() == pytest.approx(5.0, abs=0.8)


def test_only_the_groups_that_changed_are_faster():
    found, *_ = play(world(np.random.default_rng(1), 60, each=30.0, faster=[0]))
    assert 4.0 < found[0] < 5.6
    assert found[1:] == pytest.approx(np.ones(3), abs=0.4)


def test_a_busy_day_of_a_restless_group_is_no_change_of_pace():
    calm, restless = Pace(), Pace()
    for pace, unrest in ((calm, 0.0), (restless, 7.0)):
        pace.grow(1)
        for day in range(30):
            each = np.full(1, 10.0)
            counted = np.full(1, 60.0 if day == 29 else 10.0)
            pace.add(np.zeros(1, int), GapChanges(each, each, counted, np.ones(1)))
            found = pace.step(1.0, unrest)
    assert calm.weight[-1] < 0.01
    assert restless.weight[-1] > 0.6
    assert found == pytest.approx([1.0], abs=0.35)


@given(st.floats(0.1, 28.0), st.lists(st.floats(0.01, 3.0), min_size=1, max_size=9))
def test_gaps_of_the_same_length_count_as_they_are(days, changes):
    expected, pace = np.array(changes), Pace()
    pace.grow(1)
    lengths = np.full(expected.size, days)
    gaps = GapChanges(expected / 2.0, expected, 3.0 * expected, lengths)
    pace.add(np.zeros(expected.size, dtype=int), gaps)
    total = expected.sum()
    assert pace.today[:, 0] == pytest.approx([total / 2.0, total, 3.0 * total])


def test_a_long_gap_counts_for_its_days():
    pace = Pace()
    pace.grow(1)
    each = np.ones(2)
    gaps = GapChanges(each, each, np.array([5.0, 1.0]), np.array([1.0, 4.0]))
    pace.add(np.zeros(2, dtype=int), gaps)
    # (1 * 5 + 4 * 1) / 5 of the changes expected, of which (1 + 4)^2 / (1 + 16) count.
    assert pace.today[1] == pytest.approx([25 / 17])
    assert pace.today[2] / pace.today[1] == pytest.approx([9 / 5])


def slow_lived(paces, since, now):
    """Return the days at the usual pace between two moments, bin by bin."""
    days = np.arange(len(paces))
    part = np.maximum(np.minimum(now, days + 1) - np.maximum(since, days), 0.0)
    return float(part @ paces) + max(-since, 0.0) * paces[0]


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_time_runs_at_the_pace_of_each_day(seed):
    rng = np.random.default_rng(seed)
    paces, bursts = [1.0], Bursts()
    bursts.reach(0.0)
    bursts.place(np.zeros(3, dtype=int), np.zeros(3, dtype=int))
    for day in range(1, 9):
        bursts.reach(float(day))
        if rng.random() < 0.5:
            paces.append(float(rng.uniform(0.2, 5.0)))
            bursts.set_pace(np.array([paces[-1]]))
        else:
            paces.append(paces[-1])
    now = 8.0 + rng.random()
    since = np.sort(rng.uniform(-2.0, 8.0, 3))
    rows = np.arange(3)
    expected = [slow_lived(np.array(paces), a, now) for a in since]
    assert bursts.paced(rows, since, now) == pytest.approx(expected)
    assert bursts.lived(rows, since, now) == pytest.approx(expected)
    assert bursts.pace(rows) == pytest.approx(np.full(3, paces[-1]))


def test_the_pace_of_a_site_without_pages_is_not_needed():
    bursts = Bursts()
    bursts.reach(0.0)
    bursts.place(np.zeros(1, dtype=int), np.zeros(1, dtype=int))
    bursts.set_pace(np.array([2.0, 3.0]))
    assert bursts.pace(np.zeros(1, dtype=int)).tolist() == [2.0]


def test_counts_of_a_day_are_those_expected_at_its_pace():
    bursts = Bursts()
    bursts.reach(0.0)
    bursts.place(np.zeros(4, dtype=int), np.zeros(4, dtype=int))
    bursts.set_pace(np.array([3.0]))
    bursts.reach(1.0)
    rows = np.arange(4)
    bursts.learn(rows, np.zeros(4), np.ones(4), rows < 0, np.full(4, 0.1))
    # Nothing of 4 * 0.1 * 3 changes: the day counts k / (E + k) of three days.
    assert bursts.lived(rows, np.zeros(4), 1.0) == pytest.approx(3 * 0.3 / (1.2 + 0.3))


def taught(days=30):
    """Return paces of two sites, one of which got faster, and their model of time."""
    paces, bursts = SitePaces(), Bursts()
    site = np.repeat([0, 1], 50)
    bursts.reach(0.0)
    bursts.place(site, site)
    paces.begin(site, np.zeros(100))
    paces.grow(2)
    rng = np.random.default_rng(3)
    law = GammaSurvival(np.full(100, 20.0), np.full(100, 100.0))
    for day in range(1, days + 1):
        now = float(day)
        bursts.reach(now)
        paces.reach(now, bursts)
        since, at = np.full(100, now - 1.0), np.full(100, now)
        true = np.where(site == 0, 5.0 if day > 15 else 1.0, 1.0)
        changed = rng.random(100) < -np.expm1(-0.2 * true)
        paced = bursts.paced(np.arange(100), since, at)
        paces.learn(site, law, at - since, paced, changed)
    return paces, bursts


def test_a_later_run_goes_on_at_the_pace_in_units_of_its_rates():
    paces, bursts = taught()
    kept = paces.memory()
    assert bursts.pace(np.array([0]))[0] > 2.5
    assert kept.mean[0] == pytest.approx(paces.spent[1, 0] / paces.spent[0, 0])
    again = SitePaces()
    again.grow(3)
    again.restore(kept, [2, None])  # another number, and a site that is gone
    new = Bursts()
    new.reach(30.0)
    new.place(np.arange(3), np.arange(3))
    for one, model in ((paces, bursts), (again, new)):
        model.reach(31.0)
        one.reach(31.0, model)
    before, after = bursts.pace(np.array([0]))[0], new.pace(np.array([2]))[0]
    assert after * kept.mean[0] == pytest.approx(before, rel=0.15)
    assert new.pace(np.array([0, 1])) != pytest.approx(np.full(2, after))


def test_a_day_is_learned_once_and_a_wrong_clock_is_forgiven():
    paces, bursts = taught(3)
    sums = paces.pace.sums.copy()
    paces.reach(3.9, bursts)
    paces.reach(2.5, bursts)  # the clock was set back a little
    assert (paces.pace.sums == sums).all()
    paces.reach(-500.0, bursts)  # it had been far ahead
    paces.reach(-499.0, bursts)
    assert (paces.pace.sums != sums).any()


def test_nothing_is_known_at_first():
    assert np.isinf(HALF_LIVES[-1])
    assert Pace().weight == pytest.approx(PRIOR)
    assert Pace().doubt == 0.0
