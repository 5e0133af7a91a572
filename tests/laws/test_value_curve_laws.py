"""What a level needs, at the corners of a curve exactly."""

from math import inf

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.value_curve import Offers, Worth, join_offers


def worth(quality, low=None):
    shown = np.array(quality)
    requests = np.arange(shown.size) * 10.0
    bottom = shown if low is None else np.array(low)
    return Worth("shop", "recall", 1.0, requests, shown, bottom, shown)


@pytest.mark.parametrize(
    ("level", "requests"),
    [
        (0.2, 0.0),
        (0.2 + 1e-9, 0.0),
        (0.4, 5.0),
        (0.6, 10.0),  # and not 20, where it is still 0.6
        (0.7, 25.0),
        (0.8, 30.0),
        (0.8 + 1e-9, inf),
    ],
)
def test_a_level_is_kept_by_the_fewest_requests_that_reach_it(level, requests):
    shop = worth([0.2, 0.6, 0.6, 0.8])
    assert shop.needed(level) == pytest.approx(requests, abs=1e-6)
    assert worth([0.2, 0.6, 0.6, 0.8, 0.7]).needed(level) == pytest.approx(
        requests, abs=1e-6
    )


def test_to_be_sure_the_lower_bound_has_to_reach_it():
    shop = worth([0.2, 0.6, 0.8], low=[0.0, 0.2, 0.4])
    assert shop.needed(0.4, sure=True) == 20.0
    assert shop.needed(0.3, sure=True) == pytest.approx(15.0)
    assert shop.needed(0.41, sure=True) == inf


@pytest.mark.parametrize("requests", [[0.0, 2.0, 1.0], [-1.0, 0.0], [0.0, 0.0]])
def test_requests_begin_at_0_and_ascend(requests):
    column = np.array(requests)
    with pytest.raises(ValueError, match="shop"):
        Worth("shop", "recall", 1.0, column, column, column, column)


OFFERS = st.builds(
    lambda names, rows: Offers(
        tuple(names),
        np.array([r % len(names) for r, _, _ in rows] if names else [], np.intp),
        np.array([c for _, c, _ in rows] if names else [], float),
        np.array([g for _, _, g in rows] if names else [], float),
    ),
    st.lists(st.sampled_from("abc"), max_size=3),
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(1, 5), st.integers(0, 5)), max_size=4
    ),
)


@given(st.lists(OFFERS, max_size=4))
def test_joined_offers_are_all_offers_one_after_the_other(several):
    both = join_offers(several)
    wanted = [
        (one.sources[i], cost, gain)
        for one in several
        for i, cost, gain in zip(one.source, one.cost, one.gain, strict=True)
    ]
    names = [both.sources[i] for i in both.source]
    found = list(zip(names, both.cost, both.gain, strict=True))
    assert found == wanted
    assert len(both) == len(wanted)
    assert both.sources == tuple(name for one in several for name in one.sources)
