"""Guards of deletions and of pages at the very edges of their rules."""

import math

import numpy as np
import pytest

from halflife.models.guard import LEAST_CYCLES, DeleteGuard, _moments, log_pmf
from halflife.models.page_guard import (
    AnswerVerdict,
    Sketch,
    WaitingAnswer,
    distinct_predecessors,
    doubt,
    is_much_shorter,
    is_outage,
    is_rewritten,
    judge_waiting,
)


@pytest.mark.parametrize(
    ("held", "gone", "share", "tail", "known", "fault"),
    [
        (0, 0, 0.1, 1.0, True, False),  # nothing was there
        (10, 10, 0.1, 0.9, True, True),  # nothing is left of ten
        (9, 9, 0.1, 0.06, True, False),
        (9, 9, 0.1, 0.05, True, False),
        (9, 9, 0.1, 0.04, True, True),
        (9, 9, 0.1, 0.9, False, True),  # nobody knows what is usual
        (9, 10, 0.1, 0.9, True, False),
        (1000, 9, 0.0001, 1e-9, True, False),  # nine may always go
        (1000, 10, 0.0001, 1e-5, True, True),
        (1000, 10, 0.0001, 1e-4, True, False),
        (100, 40, 0.1, 0.5, True, False),  # a third of the ninety that should stay
        (100, 41, 0.1, 0.5, True, True),
        (100, 28, 0.1, 0.5, False, False),  # a fifth of them
        (100, 29, 0.1, 0.5, False, True),
        (100, 12, 0.1, 1e-9, False, False),  # the law counts only once it is known
        (100, 99, 0.995, 0.5, True, False),
    ],
)
def test_a_loss_is_not_credible_by_these_rules(held, gone, share, tail, known, fault):
    guard = DeleteGuard()
    guard.cycles_ = LEAST_CYCLES if known else LEAST_CYCLES - 1
    assert guard._is_fault(held, gone, share, tail) is fault


def test_what_is_usual_is_told_in_words_once_it_is_known():
    guard = DeleteGuard()
    guard.cycles_, guard.rate_ = LEAST_CYCLES, 0.05
    found = guard.judge(50, 4, 1.0)
    assert found.why == (
        f"4 of 50 objects are missing; between {found.low} and {found.high} "
        "were expected"
    )
    guard.cycles_ = LEAST_CYCLES - 1
    early = guard.judge(50, 4, 1.0)
    assert early.why.endswith("4 earlier cycles are too few to know what is usual")
    assert (early.held, early.gone, early.credible) == (50, 4, True)


@pytest.mark.parametrize("gap", [-1.0, 0.0, 2.0])
def test_the_tail_is_the_chance_of_so_many_or_more(gap):
    guard = DeleteGuard()
    guard.cycles_, guard.rate_, guard.dispersion_ = 9, 0.1, 0.03
    share = 1 - math.exp(-0.1 * max(gap, 0.0))
    chance = np.exp(log_pmf(20, share, 0.03))
    for gone in (0, 3, 20):
        found = guard.judge(20, gone, gap)
        assert found.tail == pytest.approx(min(chance[gone:].sum(), 1.0), abs=1e-12)
        below = [k for k in range(21) if chance[: k + 1].sum() >= 1e-3]
        above = [k for k in range(21) if chance[k:].sum() >= 1e-3]
        assert (found.low, found.high) == (min(below), max(above))
    assert guard.judge(20, 21, gap).tail == 0.0
    assert guard.judge(0, 0, gap).credible


def test_single_objects_tell_nothing_of_what_goes_together():
    one, gap = np.ones(6), np.full(6, 2.0)
    rate, dispersion = _moments(one, np.array([1.0, 0, 0, 0, 0, 0]), gap)
    assert (rate, dispersion) == (pytest.approx(1.5 / 12), 0.02)
    assert _moments(np.zeros(0), np.zeros(0), np.zeros(0)) == (0.0, 0.02)
    # Fewer object-days than one count as one.
    short = _moments(np.full(2, 2.0), np.zeros(2), np.full(2, 0.1))
    assert short[0] == pytest.approx(0.5)


WORDS = frozenset(f"w{i}" for i in range(20))


@pytest.mark.parametrize(
    ("before", "after", "shorter"),
    [
        (80, 20, True),
        (80, 21, False),
        (79, 0, False),  # too short to tell
        (400, 100, True),
        (400, 101, False),
        (None, 10, False),
        (400, None, False),
    ],
)
def test_a_quarter_or_less_of_a_text_is_much_shorter(before, after, shorter):
    assert is_much_shorter(Sketch("a", before), Sketch("b", after)) is shorter


def test_three_tenths_of_all_words_or_fewer_are_hardly_any():
    page = Sketch("a", words=WORDS)

    def other(shared, fresh):
        own = frozenset(f"n{i}" for i in range(fresh))
        return Sketch("b", words=frozenset(sorted(WORDS)[:shared]) | own)

    assert page.resemblance(other(9, 10)) == pytest.approx(9 / 30)
    assert is_rewritten(page, other(9, 10))
    assert not is_rewritten(page, other(9, 9))
    assert not is_rewritten(Sketch("a", words=WORDS - {"w0"}), other(0, 30))  # too few
    assert not is_rewritten(page, Sketch("b"))  # not known
    assert Sketch("a").resemblance(Sketch("b")) == 1.0
    assert page.resemblance(Sketch("b")) == 0.0


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (Sketch("a", 400), Sketch("a", 10), None),
        (Sketch("a", 400), Sketch("b", 400, "a login"), AnswerVerdict.HOLD),
        (Sketch("a", 400, "a login"), Sketch("b", 400, "a login"), None),
        (Sketch("a", 400), Sketch("b", 400, leads=True), AnswerVerdict.WAIT),
        (Sketch("a", 400, leads=True), Sketch("b", 400, leads=True), None),
        (Sketch("a", 400), Sketch("b", 100), AnswerVerdict.WAIT),
        (Sketch("a", 400), Sketch("b", 101), None),
        (Sketch("a", 400), Sketch("b", 100, "an error"), AnswerVerdict.HOLD),
        (
            Sketch("a", 400, "an error"),
            Sketch("b", 100, "an error"),
            AnswerVerdict.WAIT,
        ),
        (Sketch("a", 400), Sketch("b", 400, "an error"), None),
        (
            Sketch("a", words=WORDS),
            Sketch("b", words=frozenset("x")),
            AnswerVerdict.WAIT,
        ),
    ],
)
def test_what_speaks_against_one_answer(before, after, verdict):
    found = doubt(before, after)
    assert (found and found.verdict) == verdict


def test_three_texts_that_became_one_are_an_outage():
    two = [("a", "x"), ("b", "x"), ("x", "x"), ("", "x"), ("c", "y")]
    assert distinct_predecessors("x", two) == 2
    assert not is_outage("x", two)
    assert is_outage("x", [*two, ("d", "x")])


@pytest.mark.parametrize(
    ("rows", "well", "others", "verdict"),
    [
        ([(1.0, 2), (1.0, 2)], 0, 0, AnswerVerdict.BELIEVE),
        ([(1.0, 2), (0.9, 2)], 0, 0, AnswerVerdict.WAIT),
        ([(1.0, 2), (1.0, 1)], 0, 0, AnswerVerdict.WAIT),
        ([(9.0, 9)] * 3, 0, 0, AnswerVerdict.HOLD),
        ([(0.1, 1)], 2, 2, AnswerVerdict.BELIEVE),
        ([(0.1, 1)], 1, 2, AnswerVerdict.WAIT),
        ([(0.1, 1)] * 4, 4, 9, AnswerVerdict.BELIEVE),
        ([(0.1, 1)] * 4, 3, 9, AnswerVerdict.HOLD),
        ([(0.1, 1)] * 4, 2, 2, AnswerVerdict.BELIEVE),
    ],
)
def test_answers_put_off_are_settled_by_witnesses_or_by_time(
    rows, well, others, verdict
):
    waiting = [WaitingAnswer("s", days, seen) for days, seen in rows]
    assert judge_waiting(waiting, well, others) is verdict
