"""Laws of what is known of a server's validators and promises, by hand."""

from math import exp

import pytest

from halflife.models.promise_trust import BELIEVED, BROKEN, PromiseRecord
from halflife.models.validator_trust import (
    DOUBTED_CHECKS,
    LEAST_CHECKS,
    PASSED,
    TrustRecord,
)

# Promises


def test_within_a_promise_the_changes_that_would_have_come_are_expected():
    """Four changes in eight days: one day later a change comes with 1 - exp(-1/2)."""
    seen = PromiseRecord(days=8.0, changes=4.0, at=3.0)
    chance = 1.0 - exp(-0.5)
    quiet = seen.after(3.0, 1.0, changed=False, within=True)
    assert quiet == PromiseRecord(9.0, 4.0, chance, 0.0, chance, 3.0)
    broken = seen.after(3.0, 1.0, changed=True, within=True)
    assert broken == PromiseRecord(9.0, 5.0, chance, 1.0, chance, 3.0)
    outside = seen.after(3.0, 1.0, changed=True, within=False)
    assert outside == PromiseRecord(9.0, 5.0, 0.0, 0.0, 0.0, 3.0)
    first = PromiseRecord().after(0.0, 2.0, changed=False, within=True)
    assert first == PromiseRecord(days=2.0)  # how often pages change is not known


def test_a_day_counts_one_change_at_most():
    seen = PromiseRecord(days=1.0, changes=9.0, today=0.75, at=3.5)
    found = seen.after(3.5, 1.0, changed=False, within=True)
    assert (found.expected, found.today) == (0.25, 1.0)
    full = found.after(3.5, 1.0, changed=False, within=True)
    assert (full.expected, full.today) == (0.25, 1.0)
    over = PromiseRecord(days=1.0, changes=9.0, today=1.5, at=3.5)
    assert over.after(3.5, 1.0, changed=False, within=True).today == 1.5
    same_day = found.after(3.9, 0.0, changed=False, within=True)
    assert same_day.today == 1.0
    next_day = found.after(4.0, 0.0, changed=False, within=True)
    assert next_day.today == 0.0


def test_what_was_seen_of_promises_fades_and_no_clock_runs_back():
    seen = PromiseRecord(8.0, 4.0, 2.0, 1.0, 0.5, 10.0)
    assert seen.faded(10.0) is seen
    assert seen.faded(9.0) is seen
    half = seen.faded(40.0)
    assert half == PromiseRecord(4.0, 2.0, 1.0, 0.5, 0.0, 40.0)
    twice = seen.faded(25.0).faded(40.0)
    assert twice.days == pytest.approx(half.days)
    assert twice.broken == pytest.approx(half.broken)


@pytest.mark.parametrize(
    ("expected", "broken", "believed"),
    [(4.0, 0.0, True), (3.9, 0.0, False), (24.0, 1.0, True), (23.9, 1.0, False)],
)
def test_promises_are_believed_while_one_in_twenty_is_broken(
    expected, broken, believed
):
    record = PromiseRecord(expected=expected, broken=broken)
    share = (broken + BROKEN) / (expected + 1.0)
    assert record.broken_share(0.0) == pytest.approx(share)
    assert record.is_believed(0.0) is believed
    assert (share <= BELIEVED) is believed


# Validators


def test_truths_lies_and_passed_checks_are_added_to_what_has_faded():
    old = TrustRecord(4.0, 2.0, 0.0)
    assert old.with_truth(30.0) == TrustRecord(3.0, 1.0, 30.0)
    assert old.with_lie(30.0) == TrustRecord(2.0, 2.0, 30.0)
    assert old.with_pass(30.0) == TrustRecord(2.0 + PASSED, 1.0, 30.0)
    assert old.faded(0.0) is old
    assert old.faded(-1.0) is old


def test_the_chance_of_a_lie_is_the_share_of_lies_with_one_in_fifty_lent():
    record = TrustRecord(truths=3.0, lies=2.0)
    assert record.lie_chance(0.0) == pytest.approx(2.02 / 6.0)
    assert record.lie_chance(30.0) == pytest.approx(1.02 / 3.5)
    assert TrustRecord(truths=19.4, lies=1.0).is_believed(0.0)
    assert not TrustRecord(truths=18.3, lies=1.0).is_believed(0.0)


def test_requests_check_a_server_less_the_more_it_has_proved():
    assert TrustRecord(truths=1.0).check_share(0.0) == 0.5
    assert TrustRecord(truths=1.0).check_share(30.0) == pytest.approx(1 / 1.5)
    assert TrustRecord(truths=1e6).check_share(0.0) == LEAST_CHECKS
    assert TrustRecord(lies=1.0).check_share(0.0) == DOUBTED_CHECKS
