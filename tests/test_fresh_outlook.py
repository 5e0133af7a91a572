"""What is left in queries: Bayes' rule for Gamma means, weighed with counts."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.queries.fresh.outlook import (
    UNEVEN,
    QueryState,
    ReadingProgress,
    RoundSetting,
    outlook,
    viewed_share,
)

small, share = st.floats(0.0, 30.0), st.floats(0.0, 1.0)


def standing(*, held, seen, fresh, mean, shape=2.0, shown=0.0, hidden=0.0, total=np.nan,
             pages=0.0, floor=0.0, done=False):  # fmt: skip
    def one(value):
        return np.array([float(value)])

    progress = ReadingProgress(one(total), one(pages), one(floor), np.array([done]))
    return QueryState(
        one(held), one(seen), one(fresh), one(mean), one(shape), one(shown),
        one(hidden), progress,
    )  # fmt: skip


SETTING = RoundSetting(page=10.0, cap=np.inf, stays=0.9, doubt=0.05)


def believed(held, seen, fresh, mean, shape, shown):
    """Return what is there of old, and mean and variance of what is left."""
    there = seen + 0.9 * max(held - seen, 0.0)
    rho = min((seen + shown) / (there + 1.0), 1.0)
    post, rate = shape + fresh, shape / max(mean, 1e-9) + rho
    left = post / rate * (1 - rho)
    return there, left, left + post * ((1 - rho) / rate) ** 2


@given(
    held=small,
    part=share,
    fresh=small,
    mean=small,
    shown=share,
    pages=st.integers(0, 3),
)
def test_without_a_count_what_is_left_is_the_gammas_mean(
    held, part, fresh, mean, shown, pages
):
    seen = held * part
    at = standing(
        held=held, seen=seen, fresh=fresh, mean=mean, shown=shown, pages=pages
    )
    found = outlook(at, SETTING)
    there, left, _ = believed(held, seen, fresh, mean, 2.0, shown)
    hits = there + fresh + left
    assert found.left[0] == pytest.approx(left)
    assert found.hits[0] == pytest.approx(hits)
    unread = max(hits - pages * 10.0, 1.0)
    gain = min(left, unread) * min(10.0 / unread, 1.0)
    assert found.gain[0] == pytest.approx(gain)


@given(
    held=small, part=share, fresh=small, mean=st.floats(0.1, 20), total=st.floats(0, 99)
)
def test_a_count_is_weighed_by_what_it_is_off(held, part, fresh, mean, total):
    seen = held * part
    at = standing(held=held, seen=seen, fresh=fresh, mean=mean, total=total)
    found = outlook(at, SETTING)
    there, left, spread = believed(held, seen, fresh, mean, 2.0, 0.0)
    unseen = held - seen
    deaths = unseen * 0.9 * 0.1 + (unseen * UNEVEN) ** 2
    lies = (total * 0.05) ** 2
    trust = spread / (spread + deaths + lies + 1e-9)
    after = max(left + trust * (total - there - fresh - left), 0.0)
    sure = (spread + deaths) / (spread + deaths + lies + 1e-9)
    hits = there + fresh + left
    hits = max(hits + sure * (total - hits), 0.0)
    assert found.left[0] == pytest.approx(after, abs=1e-9)
    assert found.hits[0] == pytest.approx(hits, abs=1e-9)


def test_an_exact_count_of_a_copy_that_was_all_seen_leaves_the_rest():
    exact = RoundSetting(page=10.0, cap=np.inf, stays=1.0, doubt=0.0)
    at = standing(held=4, seen=4, fresh=2, mean=50.0, shape=1.0, total=9)
    found = outlook(at, exact)
    assert found.left[0] == pytest.approx(3.0, rel=1e-3)
    assert found.hits[0] == pytest.approx(9.0, rel=1e-6)


def test_there_are_at_least_as_many_hits_as_were_shown():
    at = standing(held=2, seen=0, fresh=0, mean=0.1, pages=2, floor=21)
    assert outlook(at, SETTING).hits[0] == 21.0


def test_what_was_read_to_its_end_has_nothing_left_unless_it_was_cut():
    at = standing(held=8, seen=2, fresh=1, mean=9.0, done=True, hidden=0.5)
    found = outlook(at, SETTING)
    assert (found.left[0], found.gain[0]) == (0.0, 0.0)
    cut = outlook(at, RoundSetting(10.0, 5.0, 0.9, 0.05))
    _, left, _ = believed(8, 2, 1, 9.0, 2.0, 0.0)
    assert cut.left[0] == pytest.approx(left)  # more is there than can be reached
    assert cut.gain[0] == 0.0


def test_what_other_attributes_hide_is_added_for_each_hit_not_read():
    plain = standing(held=8, seen=2, fresh=1, mean=3.0, pages=1)
    more = standing(held=8, seen=2, fresh=1, mean=3.0, pages=1, hidden=0.25)
    one, two = (
        outlook(at, RoundSetting(2.0, np.inf, 0.9, 0.05)) for at in (plain, more)
    )
    unread = max(one.hits[0] - 2.0, 1.0)
    assert two.left[0] - one.left[0] == pytest.approx(0.25 * unread)
    assert two.hits[0] == one.hits[0]


def test_the_share_open_to_view_is_that_of_old_records_seen():
    found = viewed_share(
        np.array([3.0, 0.0, 9.0]), np.array([5.0, 0.0, 7.0]), np.array([0.0, 0.4, 1.0])
    )
    assert found == pytest.approx([0.5, 0.4, 1.0])
