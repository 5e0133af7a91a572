"""Targets: what they say, what they cost, and what to give up."""

from math import inf, isnan

import numpy as np
import pytest
from hypothesis import given, strategies as st

from halflife.core.value_curve import Worth
from halflife.market import SourceTarget, Target, parse, target_costs


def worth(name="jobs", top=1.0, doubt=0.1):
    """Quality rises to its top in a straight line of 100 requests."""
    x = np.array([0.0, 100.0])
    y = np.array([0.0, top])
    return Worth(name, "recall", 1.0, x, y, np.maximum(y - doubt, 0), y)


def need(text, name="jobs", whole=10.0, most=inf, **more):
    return SourceTarget(name, parse(text), worth(name, **more), whole, most)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("recall >= 0.9 with confidence 0.95", Target("recall", 0.9, 0.95)),
        ("Recall>=.9", Target("recall", 0.9)),
        ("freshness >= 95%", Target("freshness", 0.95)),
        ("content >= 0.9 with  confidence 90 %", Target("content", 0.9, 0.9)),
        ("age p95 <= 6 h", Target("age", 0.25, 0.95)),
        ("age p50 <= 2 days", Target("age", 2.0, 0.5)),
    ],
)
def test_targets_are_read_as_people_write_them(text, target):
    assert parse(text) == target


@pytest.mark.parametrize(
    "text",
    [
        "", "recall", "recall > 0.9", "recall >= 1.5", "recall >= 90", "speed >= 0.9",
        "age <= 6 h", "age p95 <= 6 parsecs", "age p100 <= 6 h", "recall >= 0",
        "recall >= 0.9 with confidence 2", "recall <= 0.9",
    ],
)  # fmt: skip
def test_what_is_no_target_is_refused_with_a_sample(text):
    with pytest.raises(ValueError, match="; write '"):
        parse(text)


@given(
    st.sampled_from(["recall", "freshness", "content", "summary"]),
    st.integers(1, 99),
    st.one_of(st.none(), st.integers(1, 99)),
)
def test_a_target_reads_back_what_it_writes(measure, level, sure):
    target = Target(measure, level / 100, None if sure is None else sure / 100)
    assert parse(str(target)) == target


def test_an_age_is_kept_by_an_interval():
    assert parse("age p95 <= 6 h").interval == pytest.approx(0.25 / 0.95)
    assert parse("recall >= 0.9").interval == inf
    uniform = np.linspace(0, parse("age p95 <= 6 h").interval, 100_001)
    assert np.quantile(uniform, 0.95) * 24 == pytest.approx(6.0, abs=1e-3)


def test_the_bill_is_the_sum_over_sources_of_their_dearest_target():
    found = target_costs(
        [
            need("recall >= 0.5"),  # 50 requests a day
            need("recall >= 0.5 with confidence 0.95"),  # 55.6, with its doubt
            need("age p50 <= 12 h", "site"),  # ten requests a day
        ],
        budget=100.0,
    )
    assert found.requests == pytest.approx((50.0, 500 / 9, 10.0))
    assert found.total == pytest.approx(500 / 9 + 10)
    assert found.covered
    assert found.relaxed is None


def test_the_cheapest_relaxation_lowers_one_target_least():
    found = target_costs(
        [need("recall >= 0.8", "a"), need("recall >= 0.4", "b")], 110.0
    )
    assert found.missing == pytest.approx(10.0)
    assert found.relaxed.source == "a"
    assert found.relaxed.to.level == pytest.approx(0.7)
    assert found.relaxed.share == pytest.approx(1 / 8)
    assert not found.covered


def test_a_relaxed_target_fits_the_budget():
    needs = [need("recall >= 0.8", "a"), need("age p95 <= 2 h", "b", whole=5.0)]
    found = target_costs(needs, 100.0)
    lowered = [
        SourceTarget(n.source, found.relaxed.to, n.worth, n.whole)
        if n.source == found.relaxed.source
        else n
        for n in needs
    ]
    assert target_costs(lowered, 100.0).missing == pytest.approx(0.0, abs=1e-9)


def test_if_lowering_one_is_not_enough_only_more_requests_help():
    found = target_costs([need("recall >= 0.8", n) for n in "abc"], 50.0)
    assert found.missing == pytest.approx(190.0)
    assert found.relaxed is None


def test_the_other_targets_of_a_source_hold_a_relaxation_back():
    needs = [need("recall >= 0.8"), need("recall >= 0.75 with confidence 0.5")]
    assert target_costs(needs, 40.0).relaxed is None


def test_a_target_out_of_reach_is_named_with_what_can_be_kept():
    found = target_costs(
        [need("recall >= 0.9", top=0.6), need("recall >= 0.3", "b")], 100.0
    )
    (lost,) = found.unreachable
    assert lost.source == "jobs"
    assert lost.to.level == pytest.approx(0.6)
    assert found.total == pytest.approx(30.0)
    assert not found.covered


def test_a_limit_of_the_source_may_put_a_target_out_of_reach():
    found = target_costs([need("age p50 <= 12 h", most=5.0)], 100.0)
    assert found.requests == (inf,)
    assert found.unreachable[0].to.level == pytest.approx(1.0)


def test_of_a_source_of_which_nothing_is_known_only_age_has_a_price():
    known = SourceTarget("form", parse("age p50 <= 12 h"), None, 3.0)
    unknown = SourceTarget("form", parse("content >= 0.9"), None, 3.0)
    found = target_costs([known, unknown], 100.0)
    assert found.requests[0] == pytest.approx(3.0)
    assert isnan(found.requests[1])


@given(st.lists(st.integers(1, 95), min_size=1, max_size=4), st.integers(0, 400))
def test_more_budget_never_lacks_more(levels, budget):
    needs = [need(f"recall >= 0.{n:02d}", str(n)) for n in levels]
    poor, rich = target_costs(needs, budget), target_costs(needs, budget + 10)
    assert rich.missing <= poor.missing
    assert poor.total == rich.total


def test_a_target_that_takes_all_that_may_be_spent_is_within_reach():
    exact = need("age p50 <= 12 h").requests()
    assert need("age p50 <= 12 h", most=exact).requests() == exact
    assert need("age p50 <= 12 h", most=exact * 0.999).requests() == inf
