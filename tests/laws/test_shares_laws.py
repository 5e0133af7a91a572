"""Shares of a budget: what one more request would buy, and corners of limits."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.value_curve import Worth
from halflife.market.curves import Decay, renewed_quality
from halflife.market.limits import Limits
from halflife.market.shares import hull, share


def worth(name, quality, weight=1.0, step=10.0):
    shown = np.array(quality)
    requests = np.arange(shown.size) * step
    return Worth(name, "recall", weight, requests, shown, shown, shown)


CURVES = st.lists(
    st.tuples(
        st.lists(st.integers(0, 20).map(lambda x: x / 20), min_size=2, max_size=5),
        st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    ),
    min_size=1,
    max_size=3,
)
LIMITS = st.builds(
    Limits,
    most=st.dictionaries(st.sampled_from("abc"), st.integers(0, 40)),
    host=st.dictionaries(st.sampled_from("abc"), st.just("h")),
    room=st.dictionaries(st.just("h"), st.integers(0, 60)),
)


def right_slope(one, at):
    """Return the weighted slope of a source's hull right of what it is given."""
    x, y = hull(one.requests, one.quality)
    for a, b, low, high in zip(x[:-1], x[1:], y[:-1], y[1:], strict=True):
        if a - 1e-9 <= at < b - 1e-9:
            return one.weight * (high - low) / (b - a)
    return 0.0


@given(CURVES, st.integers(0, 90), LIMITS)
def test_the_price_at_a_source_is_what_one_more_request_would_buy(
    curves, budget, limits
):
    worths = [worth("abc"[i], q, w) for i, (q, w) in enumerate(curves)]
    found = share(worths, budget, limits)
    for i, one in enumerate(worths):
        bought = right_slope(one, found.requests[i])
        assert found.host_price[i] == pytest.approx(max(found.price, bought), abs=1e-9)
        on_hull = np.interp(found.requests[i], *hull(one.requests, one.quality))
        assert found.quality[i] == pytest.approx(on_hull)
    weight = np.array([one.weight for one in worths])
    if weight.sum() > 0:
        mean = np.average(found.quality, weights=weight)
        assert found.total == pytest.approx(mean)
    else:
        assert found.total == 1.0
    assert found.spent == pytest.approx(found.requests.sum())


def test_what_is_worth_nothing_is_perfect_and_small_weights_count_in_proportion():
    assert share([worth("a", [0.2, 0.6], weight=0.0)], 5.0).total == 1.0
    found = share([worth("a", [0.2, 0.6], weight=0.25)], 5.0)
    assert found.total == pytest.approx(0.4)
    assert found.price == pytest.approx(0.25 * 0.04)
    none = share([], 5.0)
    assert (none.total, none.price, none.spent) == (1.0, 0.0, 0.0)


def test_a_host_that_is_full_gives_nothing_more():
    sources = [worth("a", [0.0, 0.9]), worth("b", [0.0, 0.5]), worth("c", [0.0, 0.1])]
    limits = Limits(host={"a": "h", "b": "h"}, room={"h": 4.0})
    found = share(sources, 100.0, limits)
    assert found.requests == pytest.approx([4.0, 0.0, 10.0])
    assert found.price == 0.0
    assert found.host_price == pytest.approx([0.09, 0.05, 0.0])


def test_leasts_beyond_a_host_or_the_budget_are_cut_in_proportion():
    sources = [worth(name, [0.0, 0.5]) for name in "abc"]
    limits = Limits(
        least={"a": 6.0, "b": 2.0, "c": 4.0}, host={"a": "h", "b": "h"}, room={"h": 4.0}
    )
    found = share(sources, 8.0, limits)
    assert found.requests == pytest.approx([3.0, 1.0, 4.0])
    assert found.short == pytest.approx(4.0)
    tight = share(sources, 4.0, limits)
    assert tight.requests == pytest.approx([1.5, 0.5, 2.0])
    assert tight.short == pytest.approx(8.0)
    nothing = share(sources, 0.0, Limits(room={"h": 0.0}, host={"a": "h"}))
    assert nothing.requests.tolist() == [0.0, 0.0, 0.0]


def test_limits_that_are_not_named_do_not_limit():
    limits = Limits(least={"a": 3.0, "b": 9.0}, most={"b": 2.0})
    assert limits.fewest(["a", "b", "c"]).tolist() == [3.0, 2.0, 0.0]
    assert limits.caps(["a", "b"]).tolist() == [np.inf, 2.0]
    rooms = Limits(host={"a": "k", "b": "h", "c": "k"}, room={"k": 5.0})
    group, room = rooms.hosts(["a", "x", "b", "c", "y"])
    assert group.tolist() == [1, 2, 0, 1, 3]
    assert room.tolist() == [np.inf, 5.0, np.inf, np.inf]
    assert Limits(most={"a": 0.0}, room={"h": 0.0}).caps(["a"]).tolist() == [0.0]


def test_bounds_of_quality_stay_between_none_and_all():
    wide = Decay(np.array([1.0, 9.0]), np.array([0.5, 0.1]), np.array([-2.0, -3.0]))
    mean, low, high = renewed_quality(wide, np.array([2.0]), 0.9)
    assert (low.tolist(), high.tolist()) == ([0.0], [1.0])
    assert 0.5 < mean[0] < 1.0


@given(
    CURVES,
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 30)),
    st.integers(0, 60),
)
def test_what_sources_get_at_least_takes_room_of_their_host(curves, least, room):
    worths = [worth("abc"[i], q, w) for i, (q, w) in enumerate(curves)]
    limits = Limits(least=least, host=dict.fromkeys("abc", "h"), room={"h": room})
    found = share(worths, 1000.0, limits)
    assert found.requests.sum() <= room + 1e-9
