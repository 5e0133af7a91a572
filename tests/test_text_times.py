"""Times in texts: found however they are written, and told from those that stand."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings, strategies as st

from halflife.readers.noise_masks import Mask, find_clocks, find_noise, hide
from halflife.readers.text_blocks import Block
from halflife.readers.text_times import (
    TIME,
    find_times,
    fits_pattern,
    time_pattern,
)
from lab.noise_sites import ago

FORMATS = (
    "%H:%M", "%H:%M:%S", "%Hh%M", "%I:%M %p", "%I:%M:%S %p GMT", "%d %B %Y",
    "%A, %d %B %Y", "%B %d, %Y", "%b %d, %Y %H:%M", "%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%d %H:%M:%S", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y %H:%M UTC", "%a %d %b %Y",
)  # fmt: skip
MOMENTS = st.datetimes(datetime(2001, 1, 1), datetime(2050, 1, 1))  # noqa: DTZ001
# At the same time of another day a clock seems to stand.
DAYS = st.floats(0.01, 40.0).filter(lambda days: 0.01 < days % 1.0 < 0.99)


def days_of(moment):
    return moment.replace(tzinfo=UTC).timestamp() / 86400.0


@given(moment=MOMENTS, days=DAYS, form=st.sampled_from(FORMATS))
@settings(max_examples=150)
def test_a_clock_or_date_of_now_goes_on_in_whatever_way_it_is_written(
    moment, days, form
):
    later = moment + timedelta(days=days)
    one, two = f"It is {moment:{form}} here", f"It is {later:{form}} here"
    pattern = time_pattern(one, two, days, days_of(later))
    if one == two:
        assert pattern == ""
        return
    assert pattern.startswith("It is ")
    assert pattern.endswith(" here")
    third = f"It is {later + timedelta(days=1.7):{form}} here"
    assert fits_pattern(pattern, third)
    edited = two.replace("here", "there")
    assert not fits_pattern(pattern, edited)
    assert time_pattern(one, edited, days, days_of(later)) == ""


@given(age=st.floats(0.0, 200.0), days=DAYS)
def test_an_age_in_words_goes_on(age, days):
    one, two = f"Ada, {ago(age)}", f"Ada, {ago(age + days)}"
    pattern = time_pattern(one, two, days, 20_000.0)
    assert pattern == ("" if one == two else f"Ada, {TIME}")
    assert find_times(one)[0].kind == "age"


@given(moment=MOMENTS, days=DAYS, jump=st.floats(4.0, 300.0))
def test_a_date_that_somebody_wrote_is_no_clock(moment, days, jump):
    other = moment + timedelta(days=jump)
    one, two = f"Opens {moment:%d %B %Y}", f"Opens {other:%d %B %Y}"
    for at in (days_of(moment) - 2.0, days_of(other) + 2.0):
        assert time_pattern(one, two, days, at) == ""


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("from 9:30 to 17:00", ["clock", "clock"]),
        ("vor 3 Stunden", ["age"]),
        ("il y a 2 jours, hace 5 minutos", ["age", "age"]),
        ("version 1.2.2024 of 12.50", ["date"]),
        ("12:75, 2026-13-40, 31.31.2020", []),
        ("a ratio of 3:1 in chapter 10.15", []),
        ("am 3. März 2026 um 10:15", ["date", "clock"]),
        ("le 3 août 2026", ["date"]),
        ("x12:30y and abc2026-01-01", []),
        ("an hour ago, just now, yesterday", ["age", "age", "age"]),
    ],
)
def test_times_are_told_from_other_numbers(text, kinds):
    assert [one.kind for one in find_times(text)] == kinds


def test_a_clock_with_its_date_is_one_mask_for_all_days():
    at = 20_773.6301  # 2026-11-16 15:07:21 UTC
    line = "Monday, 16 November 2026, 03:07:{} PM GMT"
    news = Block("h1", "News of the day, which are longer than any date on this page")
    first, second = ([news, Block("p", line.format(n))] for n in (21, 23))
    masks = find_noise(first, second, (), at)
    assert masks == [Mask("times", "p", (f"{TIME}, {TIME}",))]
    night = Block("p", "Tuesday, 17 November 2026, 01:12:00 AM GMT")
    assert hide([night], masks) == hide(second[1:], masks)
    edited = Block("p", "Open on Tuesday, 17 November 2026, 01:12:00 AM GMT")
    assert hide([edited], masks) == [edited]


def test_a_date_of_publishing_beside_a_clock_is_not_hidden():
    at = 20_773.6301
    one = [Block("p", "Published 3 May 2024, now 15:07:21 and more")]
    two = [Block("p", "Published 3 May 2024, now 15:08:21 and more")]
    (mask,) = find_clocks(one, two, 1 / 1440, at)
    other = [Block("p", "Published 4 May 2024, now 15:08:21 and more")]
    assert hide(one, [mask]) == hide(two, [mask]) != hide(other, [mask])
    assert find_clocks(one, other, 1 / 1440, at) == []


def test_no_text_makes_the_search_for_times_slow():
    for piece in ("1", "12:", "1 January ", "a ", "2026-11-", "vor 1 ", "Mon, "):
        text = piece * 20_000
        assert len(find_times(text)) <= len(text)
        assert not fits_pattern(f"x {TIME} y", text)


@given(st.lists(st.sampled_from("0123456789:./-hT aZ年٣").map(str), max_size=24))
def test_any_text_is_read_without_an_error(letters):
    text = "".join(letters)
    for one in find_times(text):
        assert one.values
        assert 0 <= one.start < one.end <= len(text)
