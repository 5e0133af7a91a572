"""What requests buy at a source in the long run."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.value_curve import Offers, Worth, join_offers

SHARES = st.lists(st.floats(0.001, 1.0), min_size=1, max_size=8)


def worth(quality: list[float]) -> Worth:
    shown = np.array(quality)
    requests = np.arange(shown.size) * 10.0
    return Worth("shop", "recall", 1.0, requests, shown, shown - 0.1, shown + 0.1)


def test_between_two_points_quality_is_a_line() -> None:
    assert worth([0.2, 0.6, 0.8]).at(15.0) == pytest.approx(0.7)


def test_what_a_level_needs_is_read_off_the_line() -> None:
    shop = worth([0.2, 0.6, 0.8])
    assert shop.needed(0.7) == pytest.approx(15.0)
    assert shop.needed(0.7, sure=True) == pytest.approx(20.0)
    assert shop.needed(0.1) == 0.0
    assert shop.needed(0.9) == np.inf


@given(SHARES, st.floats(0.0, 1.0))
def test_what_is_needed_is_enough_and_no_more_than_that(
    steps: list[float], level: float
) -> None:
    shop = worth((np.cumsum([0.0, *steps]) / (sum(steps) + 1.0)).tolist())
    needed = shop.needed(level)
    if needed < np.inf:
        assert shop.at(needed) >= level - 1e-9
        assert needed == 0.0 or shop.at(needed - 1e-6) <= level + 1e-9


@pytest.mark.parametrize("requests", [[], [1.0, 2.0], [0.0, 2.0, 2.0]])
def test_worth_begins_at_nothing_and_ascends(requests: list[float]) -> None:
    column = np.array(requests)
    with pytest.raises(ValueError, match="shop"):
        Worth("shop", "recall", 1.0, column, column, column, column)


def test_joined_offers_keep_their_sources() -> None:
    one = Offers(("a", "b"), np.array([1, 0]), np.ones(2), np.array([3.0, 2.0]))
    two = Offers(("c",), np.array([0]), np.ones(1), np.array([5.0]))
    both = join_offers([one, two])
    assert [both.sources[i] for i in both.source] == ["b", "a", "c"]
    assert both.gain.tolist() == [3.0, 2.0, 5.0]
    assert len(join_offers([])) == 0
