"""The page guard as a model: worked numbers, an oracle, and laws."""

from collections import Counter

import pytest
from hypothesis import given, strategies as st

from halflife.core.observation import Content, Observation, Outgoing, Seen
from halflife.models.page_guard import (
    CONFIRMED,
    LOGIN,
    MANY,
    AnswerVerdict,
    Sketch,
    WaitingAnswer,
    distinct_predecessors,
    doubt,
    is_outage,
    judge_waiting,
)
from halflife.readers.page_sketch import is_login, sketch, sketch_of

KEY = "https://a.org/p/some-long-name"
words = st.frozensets(st.sampled_from("abcdefghij"), min_size=1)
sketches = st.builds(
    Sketch,
    shape=st.sampled_from("uvwxyz"),
    length=st.none() | st.integers(0, 5000),
    sign=st.sampled_from(["", LOGIN, "an error"]),
    words=words,
    leads=st.booleans(),
)


def html(text, key=KEY):
    return sketch(key, Content("text/html", text.encode()))


def test_a_quarter_of_the_text_is_where_doubt_begins():
    page = Sketch("a", 4000)
    assert doubt(page, Sketch("b", 1001)) is None
    found = doubt(page, Sketch("b", 1000))
    assert found.verdict is AnswerVerdict.WAIT
    assert "1000 characters of text where it had 4000" in found.why


def test_resemblance_of_three_tenths_is_where_doubt_begins():
    page = Sketch("a", 100, words=frozenset("abcdefghijklmnopqrst"))
    # 6 of 20 words in both, none besides: 0.3; 7 of 20: 0.35
    assert doubt(page, Sketch("b", 100, words=frozenset("abcdef"))) is not None
    assert doubt(page, Sketch("b", 100, words=frozenset("abcdefg"))) is None


def test_a_page_of_a_few_words_may_change_them_all():
    page = Sketch("a", 60, words=frozenset("abc"))
    assert doubt(page, Sketch("b", 60, words=frozenset("xyz"))) is None
    assert doubt(page, Sketch("b", 0)) is None


def test_an_error_is_held_only_where_there_was_a_text_before():
    assert (
        doubt(Sketch("a", 900), Sketch("b", 90, "an error")).verdict
        is AnswerVerdict.HOLD
    )
    assert doubt(Sketch("a", 90, "an error"), Sketch("b", 80, "an error")) is None
    assert doubt(Sketch("a", 100), Sketch("b", 90, "an error")) is None


def test_a_login_is_held_at_once_unless_the_page_always_had_one():
    assert doubt(Sketch("a", 50), Sketch("b", 60, LOGIN)).verdict is AnswerVerdict.HOLD
    assert doubt(Sketch("a", 50, LOGIN), Sketch("b", 60, LOGIN)) is None


@given(sketches)
def test_the_same_text_is_never_doubted(page):
    assert doubt(page, page) is None


@given(sketches, sketches)
def test_resemblance_is_symmetric_and_a_share(one, other):
    found = one.resemblance(other)
    assert found == other.resemblance(one)
    assert 0.0 <= found <= 1.0
    assert one.resemblance(one) == 1.0


@given(sketches, st.integers(0, 5000), st.integers(0, 5000))
def test_less_text_is_never_less_doubtful(before, one, other):
    short, long = sorted((one, other))
    plain = {"shape": "new", "words": before.words}
    if doubt(before, Sketch(length=long, **plain)) is not None:
        assert doubt(before, Sketch(length=short, **plain)) is not None


changes = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abxy")))


@given(changes)
def test_alike_counts_texts_that_were_lost(found):
    """The oracle counts pairs; a text that stays what it was is not lost."""
    pairs = Counter(found)
    for shape in "abxy":
        lost = {b for (b, a), n in pairs.items() if n and a == shape and b != shape}
        assert distinct_predecessors(shape, found) == len(lost)
        assert is_outage(shape, found) == (len(lost) >= MANY)


@given(changes)
def test_the_order_of_changes_does_not_matter(found):
    assert distinct_predecessors("x", found) == distinct_predecessors(
        "x", list(reversed(found))
    )


waiting = st.lists(
    st.builds(
        WaitingAnswer,
        shape=st.just("x"),
        days=st.floats(0.0, 3.0),
        seen=st.integers(1, 5),
    ),
    min_size=1,
    max_size=8,
)


@given(waiting, st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_more_pages_that_are_well_never_speak_against_a_site(rows, well, more, others):
    if judge_waiting(rows, well, others) is AnswerVerdict.BELIEVE:
        assert judge_waiting(rows, well + more, others) is AnswerVerdict.BELIEVE


@given(waiting, st.integers(MANY, 50))
def test_many_that_nobody_outnumbers_are_held(rows, others):
    verdict = judge_waiting(rows * MANY, 0, others)
    assert verdict is AnswerVerdict.HOLD


@pytest.mark.parametrize(
    ("rows", "well", "others", "verdict"),
    [
        (1, 0, 40, AnswerVerdict.WAIT),
        (1, 1, 40, AnswerVerdict.WAIT),
        (1, 2, 40, AnswerVerdict.BELIEVE),
        (1, 1, 1, AnswerVerdict.BELIEVE),  # all there is besides is well
        (2, 2, 40, AnswerVerdict.BELIEVE),
        (3, 2, 40, AnswerVerdict.HOLD),
        (3, 3, 40, AnswerVerdict.BELIEVE),
        (1, 0, 0, AnswerVerdict.WAIT),
    ],
)
def test_witnesses_decide(rows, well, others, verdict):
    assert judge_waiting([WaitingAnswer("x", 0.01, 1)] * rows, well, others) is verdict


def test_a_page_without_witnesses_is_believed_after_a_day():
    assert (
        judge_waiting([WaitingAnswer("x", CONFIRMED, 2)], 0, 0) is AnswerVerdict.BELIEVE
    )
    assert judge_waiting([WaitingAnswer("x", CONFIRMED, 1)], 0, 0) is AnswerVerdict.WAIT
    assert (
        judge_waiting([WaitingAnswer("x", CONFIRMED / 2, 9)], 0, 0)
        is AnswerVerdict.WAIT
    )


def test_times_ids_and_the_address_do_not_change_the_shape_of_a_text():
    one = html("<p>Down since 05:12, request 7f3a-99 XkQzPq. Not at /p/some-long-name")
    other = html(
        "<p>Down since 06:40, request 1b2c-07 aBcDe. Not at /p/another-name-x",
        "https://a.org/p/another-name-x",
    )
    assert one.shape == other.shape
    assert html("<p>Down since yesterday").shape != one.shape


def test_signs_are_read_from_short_texts_only():
    assert html("<p>Page not found</p>").sign == "a missing page"
    assert html("<p>503 Service Unavailable").sign == "an error"
    assert html("<p>How 404 pages work. " + "A long text on errors. " * 200).sign == ""
    assert html("<form><input type='password'>" + "word " * 2000).sign == LOGIN


def test_a_redirect_to_a_login_is_one_whatever_it_shows():
    look = Observation(KEY, 1.0, Seen.PRESENT, "d", note="redirected to https://a.org/")
    assert sketch_of(look).sign == ""
    to = "https://sso.a.org/auth/start?back=1"
    look = Observation(KEY, 1.0, Seen.PRESENT, "d", links=Outgoing(same=to))
    assert sketch_of(look) == Sketch("d", sign=LOGIN, leads=True)
    assert not is_login("https://a.org/signin", "https://a.org/login")
    assert not is_login(KEY, "https://a.org/author/ann")


def test_what_is_no_web_page_is_compared_by_its_bytes():
    one = sketch(KEY, Content("application/pdf", b"%PDF one"))
    assert (one.length, one.words) == (8, frozenset())
