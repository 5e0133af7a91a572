"""What targets cost and which to lower, by trying every one."""

from itertools import product
from math import inf, isfinite, isnan
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.value_curve import Worth
from halflife.market.targets import (
    SourceTarget,
    Target,
    TargetCosts,
    _lowered,
    days_of,
    parse,
    target_costs,
)


def worth(name, quality, low):
    shown, bottom = np.array(quality), np.array(low)
    return Worth(
        name, "recall", 1.0, np.arange(shown.size) * 10.0, shown, bottom, shown
    )


@st.composite
def needs(draw):
    name = draw(st.sampled_from("abc"))
    most = draw(st.sampled_from([inf, inf, 25.0]))
    whole = draw(st.sampled_from([1.0, 4.0]))
    if draw(st.booleans()):
        days = draw(st.sampled_from([0.1, 0.2, 0.5]))
        return SourceTarget(name, Target("age", days, 0.5), None, whole, most)
    steps = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    quality = np.minimum(0.2 + np.cumsum([0, *steps]) / 20, 1.0)
    sure = draw(st.sampled_from([None, 0.9]))
    level = draw(st.sampled_from([0.15, 0.3, 0.45, 0.6, 0.8]))
    known = draw(st.sampled_from([True, True, True, False]))
    curve = worth(name, quality, quality - 0.1) if known else None
    return SourceTarget(name, Target("recall", level, sure), curve, whole, most)


def priced(need):
    """Return the requests a day that one target takes, by a fine walk up its curve."""
    if need.target.measure == "age":
        found = need.whole * need.target.confidence / need.target.level
        return found if found <= need.most else inf
    if need.worth is None:
        return None
    curve = need.worth.low if need.target.confidence else need.worth.quality
    end = float(need.worth.requests[-1])
    if curve.max() < need.target.level:
        return inf
    if curve[0] >= need.target.level:
        return 0.0
    low, high = 0.0, end
    for _ in range(60):
        middle = (low + high) / 2
        reached = np.interp(middle, need.worth.requests, curve) >= need.target.level
        low, high = (low, middle) if reached else (middle, high)
    return high if high <= need.most else inf


def total_of(asks, names):
    by = {}
    for name, one in zip(names, asks, strict=True):
        if one is not None and isfinite(one):
            by[name] = max(by.get(name, 0.0), one)
    return sum(by.values())


@given(st.lists(needs(), max_size=4), st.sampled_from([0.0, 5.0, 12.0, 30.0, 500.0]))
def test_a_bill_is_what_trying_every_target_says(given_, budget):
    found = target_costs(given_, budget)
    asks = [priced(need) for need in given_]
    names = [need.source for need in given_]
    for said, wanted in zip(found.requests, asks, strict=True):
        assert (
            isnan(said) if wanted is None else said == pytest.approx(wanted, abs=1e-6)
        )
    total = total_of(asks, names)
    missing = max(total - budget, 0.0)
    assert found.total == pytest.approx(total, abs=1e-6)
    assert found.missing == pytest.approx(missing, abs=1e-6)
    unreachable = [n for n, one in zip(given_, asks, strict=True) if one == inf]
    assert [(r.source, r.target) for r in found.unreachable] == [
        (n.source, n.target) for n in unreachable
    ]
    assert found.covered == (missing <= 1e-9 and not unreachable)
    options = []
    for i, (need, one) in enumerate(zip(given_, asks, strict=True)):
        if missing <= 1e-6 or one is None or one == inf:
            continue
        lowered = [*asks[:i], max(one - missing, 0.0), *asks[i + 1 :]]
        if one >= missing - 1e-9 and total_of(lowered, names) <= budget + 1e-6:
            to = need.kept_by(one - missing)
            old, new = need.target.level, to.level
            if isfinite(new):
                by_age = need.target.measure == "age"
                options.append(1 - (old / new if by_age else new / old))
    if found.relaxed is None:
        assert not options
    else:
        assert found.relaxed.share == pytest.approx(min(options), abs=1e-6)


def test_the_strictest_target_that_requests_keep():
    age = SourceTarget("a", Target("age", 0.25, 0.5), None, 4.0)
    assert age.requests() == 8.0
    assert age.kept_by(4.0) == Target("age", 0.5, 0.5)
    assert age.kept_by(80.0) == age.target  # never stricter than what is asked for
    assert age.kept_by(0.5).level == 4.0
    assert age.kept_by(0.0).level == inf
    curve = worth("a", [0.2, 0.8, 0.6], [0.1, 0.5, 0.4])
    mean = SourceTarget("a", Target("recall", 0.7), curve, 1.0)
    sure = SourceTarget("a", Target("recall", 0.7, 0.9), curve, 1.0)
    assert mean.kept_by(5.0).level == pytest.approx(0.5)
    assert mean.kept_by(20.0).level == 0.7
    assert sure.kept_by(5.0).level == pytest.approx(0.3)
    assert sure.kept_by(99.0).level == 0.5


def test_what_is_out_of_reach_is_told_with_the_best_that_can_be_kept():
    curve = worth("a", [0.2, 0.6], [0.1, 0.4])
    needed = [
        SourceTarget("a", Target("recall", 0.8), curve, 1.0),
        SourceTarget("a", Target("recall", 0.5), curve, 1.0, most=5.0),
        SourceTarget("b", Target("age", 0.1, 0.5), None, 1.0, most=2.5),
    ]
    found = target_costs(needed, 100.0)
    best = [r.to.level for r in found.unreachable]
    assert best == pytest.approx([0.6, 0.4, 0.2])
    assert [r.share for r in found.unreachable] == pytest.approx([0.25, 0.2, 0.5])
    assert (found.total, found.missing, found.relaxed) == (0.0, 0.0, None)
    assert not found.covered


def test_with_one_out_of_reach_the_others_are_still_relaxed():
    curve = worth("a", [0.0, 1.0], [0.0, 1.0])
    never = SourceTarget(
        "z", Target("recall", 0.9), worth("z", [0.0, 0.1], [0.0, 0.1]), 1.0
    )
    half = SourceTarget("a", Target("recall", 0.5), curve, 1.0)
    found = target_costs([never, half], 4.5)
    assert found.missing == pytest.approx(0.5)
    assert found.relaxed.to.level == pytest.approx(0.45)
    assert found.relaxed.share == pytest.approx(0.1)


def test_of_equal_relaxations_the_first_name_is_taken():
    curve = worth("x", [0.0, 1.0], [0.0, 1.0])
    both = [SourceTarget(name, Target("recall", 0.5), curve, 1.0) for name in "ba"]
    assert target_costs(both, 9.0).relaxed.source == "a"


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (Target("age", 0.25, 0.95), "age p95 <= 6 h"),
        (Target("age", 2.0, 0.5), "age p50 <= 48 h"),
        (Target("recall", 0.9), "recall >= 0.9"),
        (Target("recall", 0.91239, 0.95), "recall >= 0.9124 with confidence 0.95"),
    ],
)
def test_targets_are_written_as_they_are_read(target, text):
    assert str(target) == text
    assert parse(text).measure == target.measure
    assert parse(text).confidence == target.confidence


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("86400 s", 1),
        ("720min", 0.5),
        ("36 h", 1.5),
        ("2 d", 2),
        ("1 day", 1),
        (".5 w", 3.5),
    ],
)
def test_stretches_of_time_are_read_in_days(text, days):
    assert days_of(text) == pytest.approx(days)


@pytest.mark.parametrize("sign", ["0", "1", "100 %", "0 %"])
def test_shares_lie_between_0_and_1_and_are_neither(sign):
    with pytest.raises(ValueError, match="not between"):
        parse(f"recall >= {sign}")


def test_a_bill_is_covered_when_nothing_is_missing_and_all_is_in_reach():
    for missing, lost in product((0.0, 1.0), ((), (object(),))):
        one = TargetCosts((), (), 0.0, missing, lost, None)
        assert one.covered == (missing == 0.0 and not lost)


def test_a_target_may_be_lowered_to_what_no_request_keeps():
    curve = worth("a", [0.2, 1.0], [0.2, 1.0])
    found = target_costs([SourceTarget("a", Target("recall", 0.6), curve, 1.0)], 0.0)
    assert found.missing == pytest.approx(5.0)
    assert found.relaxed.to.level == pytest.approx(0.2)
    age = target_costs([SourceTarget("a", Target("age", 0.5, 0.5), None, 1.0)], 0.0)
    assert age.relaxed is None  # without a request nothing is ever looked at


def test_an_age_without_a_share_of_moments_can_be_written():
    assert str(Target("age", 0.25)) == "age p0 <= 6 h"


def test_lowering_one_target_saves_down_to_the_next_of_its_source():
    """Of targets that take 10, 6 and 2 requests the first saves 4 at most."""
    takes = [10.0, 6.0, 2.0]
    need = SimpleNamespace(
        source="a",
        target=Target("recall", 0.9),
        kept_by=lambda requests: Target("recall", requests / 20.0),
    )
    (found,) = _lowered(need, 10.0, takes, 4.0)
    assert found.to.level == pytest.approx(6.0 / 20.0)
    assert found.share == pytest.approx(1.0 - 0.3 / 0.9)
    assert _lowered(need, 10.0, takes, 4.5) == []
    assert _lowered(need, 6.0, takes, 1.0) == []  # a dearer one would stay
    (alone,) = _lowered(need, 10.0, [10.0], 9.0)
    assert alone.to.level == pytest.approx(1.0 / 20.0)
