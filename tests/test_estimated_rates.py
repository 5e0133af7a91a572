"""Laws of the belief that any estimator of change rates makes of the evidence."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.belief import AHEAD, FIRST_PAUSE, LONGEST_PAUSE, days_since, ready
from halflife.belief.rates import EstimatedRates, merge_gaps
from halflife.core.evidence import Evidence
from halflife.core.gap_bins import class_length, classes
from halflife.core.history import Gaps
from halflife.core.item import Item
from halflife.core.observation import Observation, Observations, Seen
from halflife.models.rates.counts import Counted, naive
from halflife.models.rates.likelihood import MaximumLikelihood, Moment
from halflife.models.rates.tally import GapTally


class Watched(Counted):
    """Counts gaps, and can be asked what it was given."""

    given: list

    def __init__(self):
        super().__init__(naive)
        Watched.given = []

    def add(self, item, length, changed, tally=None):
        Watched.given.append(Gaps(item, length, changed, tally))
        super().add(item, length, changed, tally)


def evidence_of(n):
    return Evidence.of(Item(f"k{i}") for i in range(n))


def fold(evidence, looks):
    """Fold (key, time, digest) in order of time."""
    ordered = sorted(looks, key=lambda look: look[1])
    seen = [Observation(k, at, Seen.PRESENT, digest) for k, at, digest in ordered]
    evidence.take(evidence.weigh(Observations.of(seen)))


def test_the_first_look_ends_no_gap():
    evidence = evidence_of(1)
    # five looks a day apart, one change: three quiet gaps of a day and one that saw it
    fold(evidence, [("k0", float(day), "aaabb"[day]) for day in range(5)])
    EstimatedRates(Watched)(evidence, 4.0, 4.0)
    (gaps,) = Watched.given
    quiet = ~gaps.changed
    assert gaps.tally[quiet].sum() == pytest.approx(3.0)
    assert (gaps.length * gaps.tally)[quiet].sum() == pytest.approx(3.0)
    assert gaps.length[quiet] == pytest.approx([1.0])
    assert gaps.tally[gaps.changed].sum() == pytest.approx(1.0)


@given(
    days=st.lists(
        st.tuples(st.integers(1, 40), st.booleans()), min_size=1, max_size=12
    ),
    split=st.integers(0, 12),
)
def test_quiet_days_and_looks_are_counted_once_however_they_are_batched(days, split):
    at, digest, looks = 0.0, 0, [("k0", 0.0, "0")]
    for gap, changed in days:
        at, digest = at + gap, digest + changed
        looks.append(("k0", at, str(digest)))
    evidence = evidence_of(1)
    belief = EstimatedRates(Watched)
    for part in (looks[: split + 1], looks[split + 1 :]):
        if part:
            fold(evidence, part)
            belief(evidence, at, at)
    quiet = [gap for gap, changed in days if not changed]
    found = [(gaps.length * gaps.tally)[~gaps.changed].sum() for gaps in Watched.given]
    times = [gaps.tally[~gaps.changed].sum() for gaps in Watched.given]
    assert sum(found) == pytest.approx(sum(quiet))
    assert sum(times) == pytest.approx(len(quiet))
    changes = [gaps.tally[gaps.changed].sum() for gaps in Watched.given]
    assert sum(changes) == pytest.approx(sum(changed for _, changed in days))


def test_an_item_without_a_gap_is_as_fast_as_all_items_together():
    evidence = evidence_of(3)
    looks = [("k0", float(day), "ab"[day % 2]) for day in range(9)]  # 8 changes
    looks += [("k1", float(day), "a") for day in range(0, 13, 4)]  # 3 quiet gaps of 4
    looks += [("k2", 1.0, "a")]
    fold(evidence, looks)
    view = EstimatedRates(lambda: Counted(naive))(evidence, 12.0, 12.0)
    days = 8.0 + 12.0
    assert view.rate[2] == pytest.approx((8 + 0.5) / (days + 0.5), rel=1e-3)
    assert view.rate[0] == pytest.approx(1.0, rel=1e-3)


def test_before_anything_is_known_half_a_change_in_half_a_day_is_believed():
    evidence = evidence_of(2)
    view = EstimatedRates(lambda: Counted(naive))(evidence, 1.0, 1.0)
    np.testing.assert_allclose(view.rate, 1.0)


def test_rates_stay_within_what_may_be_believed():
    evidence = evidence_of(2)
    fold(evidence, [("k0", float(day), "a") for day in range(50)])
    fold(evidence, [("k1", 50 + day / 10, str(day)) for day in range(50)])
    belief = EstimatedRates(lambda: Counted(naive), slowest=0.25, fastest=5.0)
    view = belief(evidence, 60.0, 60.0)
    assert view.rate[0] == 0.25
    assert view.rate[1] == 5.0


def test_other_evidence_is_learned_from_the_beginning():
    one, two = evidence_of(1), evidence_of(1)
    fold(one, [("k0", float(day), str(day)) for day in range(9)])
    fold(two, [("k0", float(day), "a") for day in range(9)])
    belief = EstimatedRates(lambda: Counted(naive))
    belief(one, 9.0, 9.0)
    again = belief(two, 9.0, 9.0)
    alone = EstimatedRates(lambda: Counted(naive))(two, 9.0, 9.0)
    assert again.rate.tolist() == alone.rate.tolist()


def test_a_single_change_gets_its_gap_back_and_several_keep_their_classes():
    length = np.array([5.0, 7.0, 11.0])
    below, share = classes(length)
    both = np.concatenate([below, below + 1])
    item = np.array([0, 1, 1] * 2)
    gaps = Gaps(
        np.concatenate([item, [2]]),
        np.concatenate([class_length(both), [6.0]]),
        np.array([True] * 6 + [False]),
        np.concatenate([1 - share, share, [1.0]]),
    )
    found = merge_gaps(gaps, np.array([0, 0, 3]), 3)
    one = found.item == 0
    np.testing.assert_allclose(found.length[one], 5.0, rtol=1e-3)
    np.testing.assert_allclose(found.tally[one], 1.0)
    several = found.item == 1
    assert found.tally[several].sum() == pytest.approx(2.0)
    assert several.sum() == 4
    quiet = found.item == 2
    assert not found.changed[quiet].any()
    assert found.length[quiet] == pytest.approx([2.0])  # six days as three gaps
    assert found.tally[quiet] == pytest.approx([3.0])


# GapTally


@given(
    gaps=st.lists(
        st.tuples(st.integers(0, 4), st.floats(0.01, 500.0), st.floats(0.1, 3.0)),
        min_size=1,
        max_size=20,
    ),
    split=st.integers(0, 20),
)
def test_a_tally_keeps_each_items_count_and_sum_of_logs(gaps, split):
    item, length, times = (np.array(column) for column in zip(*gaps, strict=True))
    tally = GapTally()
    for part in (slice(None, split), slice(split, None)):
        if item[part].size:
            tally.add(item[part], length[part], times[part])
    rows = np.array([4, 1, 3])
    found = tally.of(rows)
    for place, row in enumerate(rows):
        mine, here = item == row, found.item == place
        assert found.tally[here].sum() == pytest.approx(times[mine].sum())
        logs = (found.tally * np.log(found.length))[here].sum()
        exact = (times * np.log(length))[mine].sum()
        assert logs == pytest.approx(exact, abs=1e-3 * times.sum())
    assert found.changed.all()


def test_equal_gaps_share_a_class_and_neighbouring_items_do_not():
    tally = GapTally()
    tally.add(np.array([0, 1, 1, 2]), np.array([1.0, 4.0, 4.0, 0.25]), np.ones(4))
    tally.add(np.array([1]), np.array([4.0]), np.ones(1))
    found = tally.of(np.arange(3))
    assert found.item.tolist() == [0, 1, 2]
    assert found.length.tolist() == [1.0, 4.0, 0.25]
    assert found.tally.tolist() == [1.0, 3.0, 1.0]


@pytest.mark.parametrize("rate", [0.05, 0.7])
def test_a_tally_serves_the_likelihood_as_well_as_the_gaps_themselves(rate):
    rng = np.random.default_rng(4)
    length = rng.uniform(0.5, 9.0, 400)
    changed = rng.random(400) < -np.expm1(-rate * length)
    item = np.zeros(400, int)
    exact, tallied = MaximumLikelihood(), MaximumLikelihood()
    for model in (exact, tallied):
        model.grow(1)
    exact.add(item, length, changed)
    tally = GapTally()
    tally.add(item[changed], length[changed], np.ones(changed.sum()))
    kept = tally.of(np.zeros(1, int))
    tallied.add(kept.item, kept.length, kept.changed, kept.tally)
    tallied.add(item[~changed], length[~changed], changed[~changed])
    np.testing.assert_allclose(tallied.rate(), exact.rate(), rtol=2e-3)


def test_a_look_from_a_wrong_clock_may_be_as_old_as_the_clock_was_wrong():
    at = np.array([9.0, 10.0, 10.0 + AHEAD / 2, 10.0 + 3 * AHEAD, -np.inf])
    found = days_since(at, 10.0)
    assert found.tolist() == pytest.approx([1.0, 0.0, 0.0, 3 * AHEAD, np.inf])


@given(failures=st.integers(0, 60), waited=st.floats(0.0, 40.0))
def test_the_pause_doubles_with_each_failure_up_to_the_longest(failures, waited):
    pause = min(FIRST_PAUSE * 2.0 ** (failures - 1), LONGEST_PAUSE) if failures else 0
    found = ready(np.array([failures]), np.array([100.0 - waited]), 100.0)
    if abs(waited - pause) > 1e-9:
        assert found[0] == (waited > pause)


def test_items_without_a_gap_have_one_rate_by_moments():
    model = Moment()
    model.grow(1)
    alone = model.rate()
    model.grow(3)
    assert model.rate().tolist() == alone.tolist() * 3
