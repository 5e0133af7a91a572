"""Every case of the guard's rules, decided by a table written from their words."""

from itertools import product

import pytest

from halflife.models.page_guard import (
    CONFIRMED,
    LEAST_TEXT,
    MANY,
    WITNESSES,
    AnswerVerdict,
    SiteEvidence,
    Sketch,
    WaitingAnswer,
    doubt,
    is_much_shorter,
    is_outage,
    is_rewritten,
    is_unsure,
    judge_unsure,
    judge_waiting,
)

YOUNG = WaitingAnswer("a", CONFIRMED, 1)  # shown once
OLD = WaitingAnswer("a", CONFIRMED, 2)
ALMOST = WaitingAnswer("a", CONFIRMED - 0.001, 9)


def words(*numbers):
    return frozenset(f"w{n}" for n in numbers)


@pytest.mark.parametrize("waiting", [[YOUNG], [OLD], [ALMOST], [OLD, OLD]])
@pytest.mark.parametrize("well", range(8))
@pytest.mark.parametrize("replaced", range(3))
def test_texts_that_tell_nothing_are_settled_by_the_pages_around(
    waiting, well, replaced
):
    for held, others in product(range(3), range(5)):
        same = len(waiting) + replaced
        sure = all(one == OLD for one in waiting)
        if held:
            more = well >= 2 and well >= same + held
            wanted = AnswerVerdict.BELIEVE if more else AnswerVerdict.HOLD
        elif same + others < 3 or well >= min(2, others) or sure:
            wanted = AnswerVerdict.BELIEVE
        else:
            wanted = AnswerVerdict.PROVISIONAL if same == 1 else AnswerVerdict.WAIT
        around = SiteEvidence(held, replaced, well, others)
        assert judge_unsure(waiting, around) is wanted


def test_many_with_a_text_that_tells_nothing_share_it_anyway():
    around = SiteEvidence(well=0, others=40)
    assert judge_unsure([YOUNG] * MANY, around) is AnswerVerdict.BELIEVE
    assert judge_unsure([YOUNG] * (MANY - 1), around) is AnswerVerdict.WAIT


@pytest.mark.parametrize("many", [1, 2, 3, 4])
@pytest.mark.parametrize("one", [YOUNG, OLD, ALMOST])
def test_answers_put_off_are_settled_by_witnesses_then_number_then_time(many, one):
    for well, others in product(range(7), range(7)):
        found = judge_waiting([one] * many, well, others)
        if others and well >= min(max(2, many), others):
            assert found is AnswerVerdict.BELIEVE
        elif many >= 3:
            assert found is AnswerVerdict.HOLD
        else:
            assert found is (
                AnswerVerdict.BELIEVE if one is OLD else AnswerVerdict.WAIT
            )


def test_one_page_that_is_not_confirmed_keeps_all_waiting():
    assert judge_waiting([OLD, YOUNG], 0, 9) is AnswerVerdict.WAIT
    assert judge_unsure([OLD, YOUNG], SiteEvidence(others=9)) is AnswerVerdict.WAIT
    assert WITNESSES == 2


def test_a_text_is_unsure_when_too_little_of_it_is_left():
    before = Sketch("a", 500, words=words(*range(10)))
    # Of 14 words 4 are in both: 4 / (10 + 4 - 4) = 0.4, which is too little.
    assert is_unsure(before, Sketch("b", 500, words=words(*range(4))))
    assert not is_unsure(before, Sketch("b", 500, words=words(*range(5))))
    assert not is_unsure(before, Sketch("a", 500, words=words(99)))  # the same text
    assert not is_unsure(Sketch("a", words=words(1)), Sketch("b"))  # no copy to lose


@pytest.mark.parametrize("length", [LEAST_TEXT - 1, LEAST_TEXT])
@pytest.mark.parametrize("told", [True, False])
def test_a_text_without_known_words_is_unsure_if_short_or_if_words_came(length, told):
    after = Sketch("b", 10, words=words(1) if told else frozenset())
    assert is_unsure(Sketch("a", length), after) == (length < LEAST_TEXT or told)


def test_doubt_begins_exactly_at_its_limits():
    page = Sketch("a", 400)
    assert is_much_shorter(page, Sketch("b", 100))
    assert not is_much_shorter(page, Sketch("b", 101))
    assert is_much_shorter(Sketch("a", LEAST_TEXT), Sketch("b", 0))
    assert not is_much_shorter(Sketch("a", LEAST_TEXT - 1), Sketch("b", 0))
    assert not is_much_shorter(Sketch("a"), Sketch("b", 1))
    assert not is_much_shorter(page, Sketch("b"))
    many = Sketch("a", 400, words=words(*range(20)))
    assert is_rewritten(many, Sketch("b", 400, words=words(*range(6))))  # 6 of 20
    assert not is_rewritten(many, Sketch("b", 400, words=words(*range(7))))
    assert not is_rewritten(many, Sketch("b", 400))
    few = Sketch("a", 400, words=words(*range(19)))
    assert not is_rewritten(few, Sketch("b", 400, words=words(99)))


def test_what_is_said_of_a_doubt_names_what_was_seen():
    page = Sketch("a", 400)
    assert doubt(page, Sketch("b", 300, leads=True)).verdict is AnswerVerdict.WAIT
    assert doubt(Sketch("a", 400, leads=True), Sketch("b", 300, leads=True)) is None
    same = doubt(Sketch("a", 400, "an error"), Sketch("b", 100, "an error"))
    assert (same.verdict, same.why) == (
        AnswerVerdict.WAIT,
        "it has 100 characters of text where it had 400",
    )
    login = Sketch("b", 400, "a login")
    assert doubt(page, login).verdict is AnswerVerdict.HOLD
    assert doubt(Sketch("a", 400, "a login"), login) is None


def test_an_outage_is_many_different_texts_that_became_one():
    changes = [("a", "x"), ("b", "x"), ("", "x"), ("x", "x"), ("c", "y")]
    assert not is_outage("x", changes)
    assert is_outage("x", [*changes, ("c", "x")])
