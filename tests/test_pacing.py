"""How long a host is left alone."""

import pytest
from hypothesis import given, strategies as st

from halflife.core.host import HostState
from halflife.net.dates import SECONDS, from_http, from_iso, to_http
from halflife.net.pacing import (
    FIRST_CLOSURE,
    LONGEST_CLOSURE,
    after_answer,
    after_silence,
    back_off,
    closed_for,
    retry_after,
)

NOW = 20_000.0
HOST = HostState("https://example.org:443")
names = st.text(max_size=40)


@given(names, st.integers(1, 10_000))
def test_a_closure_grows_with_the_failures_up_to_a_day(name, failures):
    first, then = back_off(name, failures), back_off(name, failures + 1)
    assert FIRST_CLOSURE <= first <= then <= LONGEST_CLOSURE
    assert then == pytest.approx(min(2 * first, LONGEST_CLOSURE))


def test_hosts_that_fail_together_do_not_come_back_together():
    times = {back_off(f"https://host{i}:443", 1) for i in range(200)}
    assert len(times) > 100


@given(st.text(max_size=40) | st.integers().map(str) | st.floats().map(str))
def test_whatever_retry_after_says_the_host_opens_within_a_day(text):
    wait = retry_after(text, NOW)
    assert wait is None or 0 <= wait <= LONGEST_CLOSURE


@pytest.mark.parametrize("text", ["", "soon", "-1", "1.5", "\u0662", "0x10", "1 2"])
def test_nonsense_is_no_time(text):
    assert retry_after(text, NOW) is None


def test_a_date_that_has_passed_asks_for_nothing():
    assert retry_after(to_http(NOW - 1), NOW) == 0.0


@given(
    st.lists(st.sampled_from([200, 304, 404, 429, 500, 502, 503, 0]), max_size=40),
    st.text(max_size=12),
)
def test_no_course_of_events_closes_a_host_for_more_than_a_day(statuses, told):
    state, now = HOST, NOW
    for status in statuses:
        state = (
            after_answer(state, status, told, now)
            if status
            else after_silence(state, now)
        )
        assert 0 <= closed_for(state, now) <= LONGEST_CLOSURE
        assert 0 <= state.failures <= len(statuses)
        if status in {200, 304, 404}:
            assert (state.failures, closed_for(state, now)) == (0, 0.0)
        now += closed_for(state, now)


def test_a_good_answer_of_a_good_host_changes_nothing():
    assert after_answer(HOST, 200, "", NOW) is HOST


def test_two_failures_are_forgiven_and_the_third_is_not():
    once = after_silence(HOST, NOW)
    twice = after_answer(once, 500, "", NOW)
    thrice = after_silence(twice, NOW)
    assert [closed_for(s, NOW) > 0 for s in (once, twice, thrice)] == [
        False,
        False,
        True,
    ]


@given(st.floats(0, 40_000))
def test_a_moment_written_as_http_does_is_read_back_to_the_second(days):
    assert from_http(to_http(days)) == pytest.approx(days, abs=1.1 / SECONDS)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("1970-01-02", 1.0),
        ("1970-01-01T06:00:00-06:00", 0.5),
        ("1970-01-01T12:00:00.5Z", 0.5 + 0.5 / SECONDS),
        ("1970-01-01 12:00", 0.5),
        ("19700102", 1.0),
        ("1970", 0.0),
        ("1970-02", 31.0),
        ("yesterday", None),
        ("", None),
        ("9999999", None),
        ("2024-13-01", None),
    ],
)
def test_iso_dates_are_read_in_their_many_forms(text, days):
    assert from_iso(text) == (None if days is None else pytest.approx(days))
