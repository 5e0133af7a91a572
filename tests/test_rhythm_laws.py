"""The parts of what is learned of a source's hour, each by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.models import rhythm as r
from halflife.models.rhythm import (
    BINS,
    LearnedRhythm,
    ObservedRecords,
    Rhythm,
    overlaps,
)

SHARE = tuple((np.arange(1.0, BINS + 1) / np.arange(1.0, BINS + 1).sum()).tolist())
hours = st.floats(0.0, 0.999)


@given(start=hours, length=st.floats(0.01, 0.95))
def test_an_interval_is_dealt_out_to_the_hours_it_lies_in(start, length):
    found = overlaps(np.array([start + 5.0]), np.array([start + length + 5.0]))[0]
    fine = np.linspace(start, start + length, 24_001)
    middle = (fine[1:] + fine[:-1]) / 2 % 1.0
    by_hand = np.bincount((middle * BINS).astype(int), minlength=BINS)
    np.testing.assert_allclose(found, by_hand * length / 24_000, atol=1e-3)
    assert found.sum() == pytest.approx(length)


@given(since=st.floats(0.0, 9.0), length=st.floats(0.05, 4.0))
def test_effective_days_are_those_of_a_fine_walk(since, length):
    own = Rhythm(SHARE)
    fine = np.linspace(since, since + length, 20_001)
    middle = (fine[1:] + fine[:-1]) / 2
    pace = np.array(SHARE)[((middle % 1.0) * BINS).astype(int)] * BINS
    found = own.between(np.array([since]), np.array([since + length]))[0]
    assert found == pytest.approx((pace * (fine[1] - fine[0])).sum(), abs=1e-2)
    back = own.moment_of(own.time(np.array([since])))
    assert back[0] == pytest.approx(since, abs=1e-6)


def test_midnights_are_the_same_and_a_flat_rhythm_is_plain_time():
    own = Rhythm(SHARE)
    days = np.array([0.0, 3.0, 7.0, -2.0])
    np.testing.assert_allclose(own.time(days), days)
    assert np.isneginf(own.time(np.array([-np.inf]))[0])
    assert Rhythm().flat
    assert not own.flat
    at = np.array([0.3, 4.7])
    assert Rhythm().time(at) is at


@pytest.mark.parametrize("share", [(1.0 / BINS,) * BINS, SHARE])
def test_what_comes_after_the_event_has_the_mean_and_variance_of_drawing(share):
    own, since, until = Rhythm(share), 2.2, 2.9
    fine = np.linspace(since, until, 7001)
    passed = own.between(np.full(7001, since), fine)
    passed = passed / passed[-1]
    draws = np.interp((np.arange(50_000) + 0.5) / 50_000, passed, fine)
    after = (until - draws) / (until - since)
    mean, variance = own.share_after(np.array([since]), np.array([until]))
    assert mean[0] == pytest.approx(after.mean(), abs=5e-3)
    assert variance[0] == pytest.approx(after.var(), abs=5e-3)
    grown = own.passed(np.array([since]), np.array([until]))[0]
    assert (np.diff(grown) >= 0).all()
    assert grown[-1] <= 1.0


def test_changes_that_come_together_count_once():
    assert LearnedRhythm().size == 1.0
    assert LearnedRhythm(found=30.0, squares=300.0).size == 10.0
    assert LearnedRhythm(found=30.0, squares=15.0).size == 1.0


def test_a_rhythm_is_used_once_it_has_proved_itself():
    assert LearnedRhythm(share=SHARE, score=r.SURE).rhythm.share == SHARE
    assert LearnedRhythm(share=SHARE, score=r.SURE - 1e-6).rhythm.flat


def test_what_was_learned_fades_with_the_days():
    rows = np.array([[4.0, 0.1, 0.2], [2 * r.FADED, 0.3, 0.4]])
    known = LearnedRhythm(
        last=10.0, rows=rows, exposure=np.ones(BINS), found=4.0, squares=16.0, score=2.0
    )
    left = known._faded(10.0 + 2 * r.HALF)
    assert left.rows.tolist() == [[1.0, 0.1, 0.2]]
    assert left.exposure.tolist() == [0.25] * BINS
    assert (left.found, left.squares) == (1.0, 4.0)
    assert left.score == pytest.approx(2.0 * 0.5 ** (2 * r.HALF / r.TESTED))
    assert (
        LearnedRhythm(score=2.0)._faded(99.0).score == 2.0
    )  # there was no look before


def test_a_look_adds_what_it_watched_and_found():
    since = np.array([3.2, 3.4, 1.0, 3.6, 3.7])  # the third is too long ago
    shown = np.array([10.0, 5.0, 7.0, 3.0, 0.0])
    changed = np.array([2.0, 0.0, 7.0, 1.0, 0.0])
    known = LearnedRhythm().after(ObservedRecords(3.7, since, shown, changed))
    watched = 10.0 * 0.5 + 5.0 * 0.3 + 3.0 * 0.1
    assert known.exposure.sum() == pytest.approx(watched)
    assert known.found == 3.0
    assert known.squares == 9.0
    assert known.last == 3.7
    assert known.rows[:, 0].sum() == 3.0
    assert sum(known.share) == pytest.approx(1.0)
    assert (
        known.after(ObservedRecords(3.7, since, shown, changed)) is known
    )  # of the past


def test_the_score_is_that_of_poisson_counts_with_and_without_the_rhythm():
    before = LearnedRhythm(
        last=4.0, exposure=np.full(BINS, 2.0), found=24.0, squares=48.0, share=SHARE
    )
    since, shown, changed = (
        np.array([4.2, 4.5]),
        np.array([8.0, 4.0]),
        np.array([3.0, 1.0]),
    )
    look = ObservedRecords(4.9, since, shown, changed)
    after = before.after(look)
    faded = before._faded(4.9)
    rate = faded.found / faded.exposure.sum()
    own = Rhythm(SHARE).between(since, np.full(2, 4.9))
    days = 4.9 - since

    def fit(mean_days):
        mean = rate * shown * mean_days
        return float((changed * np.log(mean) - mean).sum())

    size = after.size
    assert size == pytest.approx((faded.squares + 16.0) / (faded.found + 4.0))
    assert after.score == pytest.approx((fit(own) - fit(days)) / size)


def test_scores_stay_within_their_limits():
    quick = LearnedRhythm(last=0.0, exposure=np.ones(BINS), found=1.0, squares=1.0)
    night = tuple([1.0] + [0.0] * (BINS - 1))
    sure = LearnedRhythm(
        last=0.0, exposure=np.ones(BINS), found=9.0, squares=9.0, share=night,
        score=5.9,
    )  # fmt: skip
    hit = sure.after(
        ObservedRecords(1.01, np.array([0.5]), np.array([50.0]), np.array([50.0]))
    )
    assert hit.score <= r.MOST
    miss = sure.after(
        ObservedRecords(0.9, np.array([0.3]), np.array([50.0]), np.array([50.0]))
    )
    assert miss.score == -r.SURE
    assert math.isfinite(quick.score)


@given(
    rows=st.lists(
        st.tuples(st.floats(0.1, 9.0), hours, hours), min_size=1, max_size=20
    ).map(np.array)
)
def test_rows_of_the_same_hours_are_joined_by_their_means(rows):
    found = r._merge_rows(rows)
    assert found[:, 0].sum() == pytest.approx(rows[:, 0].sum())
    for column in (1, 2):
        before, after = (x[:, 0] @ x[:, column] for x in (rows, found))
        assert after == pytest.approx(before)

    def key(row):
        return int(row[1] * BINS), int(row[2] * BINS), bool(row[2] <= row[1])

    assert len(found) == len({key(row) for row in rows})
