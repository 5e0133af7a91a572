"""Servers that say "not modified": believed as far as they proved honest."""

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from halflife.core.observation import Observation, Seen
from halflife.core.request import Fetch
from halflife.kinds.pages.validators import (
    ETAG,
    MODIFIED,
    MOST_CHECKS,
    UNCONDITIONAL,
    Conditions,
    ValidatorMemory,
)
from halflife.models.validator_trust import (
    BELIEVED,
    FIRST_CHECKS,
    LEAST_CHECKS,
    TrustRecord,
)
from halflife.stores.memory import MemoryStore
from halflife.stores.notes.validator_trust import VALIDATOR_TRUST, doubted
from lab import lying_validators
from web_parts import TODAY

KEY = "http://a.example/x"
HELD = Observation(KEY, TODAY, Seen.PRESENT, "d", "r", '"1"', TODAY - 5.0)
TOLD = Observation(KEY, TODAY, Seen.PRESENT, "e", "q", '"2"', TODAY)
BOTH = {"If-None-Match", "If-Modified-Since"}


def asked_often(memory, held=HELD, many=2000):
    """Return what is asked at many times."""
    found = []
    for i in range(many):
        found.append(memory.conditions(Fetch(KEY, held), TODAY + i / 1000.0))
        memory.save()  # each is a round of its own
    return found


def test_in_one_round_few_requests_to_a_host_are_checks():
    mine = memory()
    found = [mine.conditions(Fetch(f"{KEY}{i}", HELD), TODAY) for i in range(200)]
    assert MOST_CHECKS <= sum(one.check for one in found) <= MOST_CHECKS + 8


def memory():
    return ValidatorMemory(MemoryStore(), "s")


def test_a_server_that_proved_nothing_is_checked_each_time():
    found = asked_often(memory())
    assert all(one.check for one in found)
    assert all(one.headers["If-None-Match"] != HELD.etag for one in found)


def test_a_server_that_told_of_one_change_is_checked_half_the_time():
    mine = memory()
    mine.learn(Conditions({"If-None-Match": '"1"'}, ETAG), HELD, TOLD, TODAY)
    found = asked_often(mine)
    checks = [one for one in found if one.check]
    assert 0.8 * 0.5 < len(checks) / len(found) < 1.2 * 0.5
    assert all(set(one.headers) == BOTH for one in found if not one.check)


def test_a_page_is_checked_at_the_same_times_wherever_it_is_served():
    here, there = (
        [
            memory_that_was_told(host).conditions(Fetch(f"{host}/x?y", HELD), at).check
            for at in range(100)
        ]
        for host in ("http://127.0.0.1:4711", "https://b.example")
    )
    assert here == there
    assert len(set(here)) == 2


def memory_that_was_told(host):
    mine = memory()
    told = replace(TOLD, key=f"{host}/x")
    mine.learn(Conditions({"If-None-Match": '"1"'}, ETAG), HELD, told, TODAY)
    return mine


def test_a_server_that_told_of_changes_is_checked_seldom():
    mine = memory()
    for _ in range(200):
        mine.learn(Conditions({"If-None-Match": '"1"'}, ETAG), HELD, TOLD, TODAY)
    checks = sum(one.check for one in asked_often(mine, many=5000))
    assert 0.5 * LEAST_CHECKS < checks / 5000 < 1.8 * LEAST_CHECKS


def test_an_etag_that_stays_when_the_text_changes_is_not_sent_any_more():
    mine = memory()
    new = Observation(KEY, TODAY, Seen.PRESENT, "e", "q", '"1"', TODAY)
    mine.learn(Conditions({}, ETAG, check=True), HELD, new, TODAY)
    mine.learn(Conditions({"x": "y"}, MODIFIED), HELD, TOLD, TODAY)  # by its date
    sent = [set(one.headers) for one in asked_often(mine) if not one.check]
    assert {"If-Modified-Since"} in sent
    assert BOTH not in sent
    assert doubted(mine._trust, TODAY) == ["a.example"]


def test_who_takes_a_made_up_tag_for_its_own_is_asked_without_conditions():
    mine = memory()
    mine.caught(Conditions({"If-None-Match": "x"}, ETAG, check=True), KEY, TODAY)
    assert all(not one.headers for one in asked_often(mine) if not one.check)
    other = Fetch("http://b.example/x", HELD)
    told = replace(TOLD, key=other.key)
    mine.learn(Conditions({"If-None-Match": '"1"'}, ETAG), HELD, told, TODAY)
    assert any(
        mine.conditions(other, TODAY + i).headers.get("If-None-Match") == HELD.etag
        for i in range(20)
    )


def test_a_server_that_mends_its_ways_is_believed_again():
    record = TrustRecord().with_lie(0.0)
    assert not record.is_believed(0.0)
    for day in range(60):
        record = record.with_truth(float(day))
    assert record.is_believed(60.0)
    assert not TrustRecord().with_lie(0.0).is_believed(90.0)
    assert TrustRecord().with_lie(0.0).is_believed(200.0)


def test_the_chance_of_a_lie_is_the_one_worked_by_hand():
    record = TrustRecord(truths=8.0, lies=2.0, at=0.0)
    assert record.lie_chance(0.0) == pytest.approx(2.02 / 11.0)
    assert record.lie_chance(30.0) == pytest.approx(1.02 / 6.0)


@given(st.lists(st.sampled_from(["with_truth", "with_lie", "with_pass"]), max_size=30))
@settings(max_examples=60, deadline=None)
def test_truths_raise_trust_and_lies_lower_it(events):
    record = TrustRecord()
    for at, event in enumerate(events):
        now = float(at)
        before = record.lie_chance(now)
        record = getattr(record, event)(now)
        after = record.lie_chance(now)
        assert after > before if event == "with_lie" else after < before
        assert LEAST_CHECKS <= record.check_share(now) <= FIRST_CHECKS
        assert record.is_believed(now) == (after <= BELIEVED)


def test_without_a_validator_nothing_is_asked_of_the_server():
    bare = Observation(KEY, TODAY, Seen.PRESENT, "d", "r")
    assert memory().conditions(Fetch(KEY, bare), TODAY) is UNCONDITIONAL
    assert memory().conditions(Fetch(KEY), TODAY) is UNCONDITIONAL


def test_a_page_as_it_was_speaks_a_little_for_a_server_that_was_checked():
    mine = memory()
    mine.learn(Conditions({"x": "y"}, ETAG, check=True), HELD, HELD, TODAY)
    assert 0.0 < mine.record(KEY, ETAG).truths < 1.0
    assert mine.record(KEY, MODIFIED).truths == 0.0


def test_trust_outlives_the_program():
    store = MemoryStore()
    one = ValidatorMemory(store, "s")
    one.caught(Conditions({}, ETAG, check=True), KEY, TODAY)
    one.save()
    again = ValidatorMemory(store, "s")
    assert again.record(KEY, ETAG) == one.record(KEY, ETAG)
    assert VALIDATOR_TRUST.load(store, "other") is None


@pytest.mark.parametrize("seed", [1, 8])
def test_liars_cost_less_than_a_point_of_freshness_and_honest_servers_nothing(seed):
    found = lying_validators.measure(20, 20, seed, first=6, ways=["learned"])
    for server in lying_validators.SERVERS:
        assert found[server]["learned"] >= found[server]["ignored"] - 0.01, server
    assert found["honest"]["learned_bodies"] < 0.7 * found["honest"]["ignored_bodies"]


def test_who_believes_every_server_keeps_old_copies_of_a_liar():
    found = lying_validators.measure(10, 12, 1, servers=["always-304"], ways=["blind"])[
        "always-304"
    ]
    assert found["blind"] < found["ignored"] - 0.1
