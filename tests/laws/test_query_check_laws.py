"""When a database is suspected to ignore queries, and when it is found out."""

import pytest

from halflife.core.search import Document, SearchAnswer
from halflife.probing.query_check import (
    ALIKE,
    MET,
    NONSENSE,
    UNMET,
    WATCHED,
    QueryCheck,
)


def shown(keys, total=None, words=(), *, whole=True):
    return SearchAnswer(
        total, tuple(Document(key, tuple(words), whole) for key in keys)
    )


NOTHING = shown("")


class Database:
    """Answers from a table, else with nothing, and remembers what it was asked."""

    def __init__(self, **answers):
        self.answers, self.asked = answers, []

    def __call__(self, query):
        self.asked.append(query)
        return self.answers.get(query, NOTHING)


def heard(database, *answers):
    check = QueryCheck(database)
    for query, answer in answers:
        check.add(query, answer)
    return check


def alike(n, total=None, words=("a", "b", "c", "d", "e")):
    return [(query, shown("xy", total, words)) for query in "abcde"[:n]]


def test_two_answers_that_are_the_same_may_be_chance_and_three_are_suspicious():
    database = Database(**{NONSENSE: shown("xy")})
    assert not heard(database, *alike(ALIKE - 1)).ignored
    assert database.asked == []
    assert heard(database, *alike(ALIKE)).ignored
    assert database.asked == [NONSENSE]


def test_answers_without_documents_say_nothing():
    database = Database(**{NONSENSE: shown("xy")})
    empty = [("q", NOTHING)] * 20
    assert not heard(database, *empty, *alike(2), *empty).ignored
    assert database.asked == []
    assert heard(database, *empty, *alike(3)).ignored


def test_who_finds_nothing_for_nonsense_heeds_queries_and_is_asked_once():
    database = Database()
    check = heard(database, *alike(5))
    assert not check.ignored
    assert database.asked == [NONSENSE]


def test_other_documents_for_the_same_query_are_a_database_that_shows_anything():
    three = [("a", shown("p", 7)), ("b", shown("q", 7)), ("c", shown("r", 7))]
    same = Database(**{NONSENSE: shown("s"), "a": shown("p")})
    assert not heard(same, *three).ignored
    assert same.asked == [NONSENSE, "a"]
    other = Database(**{NONSENSE: shown("s"), "a": shown("t")})
    assert heard(other, *three).ignored
    none = Database(**{NONSENSE: shown("s")})
    assert not heard(none, *three).ignored


def test_one_total_for_all_queries_is_suspicious_and_no_total_is_not():
    held = ("a", "b", "c")
    told = [(q, shown(q, 7, held)) for q in "abc"]
    unlike = [(q, shown(q, n, held)) for n, q in enumerate("abc")]
    silent = [(q, shown(q, None, held)) for q in "abc"]
    for answers, asked in ((told, [NONSENSE]), (unlike, []), (silent, [])):
        database = Database()
        heard(database, *answers)
        assert database.asked == asked


def test_one_answer_that_differs_is_enough_to_trust_the_keys():
    answers = [*alike(2), ("c", shown("xz", None, ("c",)))]
    database = Database(**{NONSENSE: shown("xy")})
    assert not heard(database, *answers).ignored
    assert database.asked == []


@pytest.mark.parametrize(("holding", "asked"), [(0, [NONSENSE]), (1, []), (5, [])])
def test_documents_must_hold_what_was_asked_for_in_one_case_of_five(holding, asked):
    words = [("a",)] * holding + [("z",)] * (5 - holding)
    documents = tuple(Document(f"k{i}", w) for i, w in enumerate(words))
    database = Database()
    heard(
        database,
        ("A", SearchAnswer(None, documents)),
        ("b", shown("x", None, ("b",), whole=False)),
        ("c", shown("y", None, ("z",), whole=False)),
    )
    assert UNMET == 1 / 5
    assert database.asked == asked


def test_every_word_of_a_query_must_be_held():
    database = Database()
    heard(database, *((f"a {q}", shown(q, None, ("a",))) for q in "bcd"))
    assert database.asked == [NONSENSE]
    fine = Database()
    heard(fine, *((f"a {q}", shown(q, None, ("a", q))) for q in "bcd"))
    assert fine.asked == []


def test_snippets_do_not_say_what_a_document_lacks():
    database = Database()
    heard(database, *((q, shown(q, None, ("z",), whole=False)) for q in "abcd"))
    assert database.asked == []


def test_the_tenth_answer_is_the_last_and_then_most_must_hold_what_was_asked():
    fine = [(f"q{i}", shown([f"k{i}"], i, (f"q{i}",))) for i in range(9)]
    wrong = [(f"w{i}", shown([f"x{i}"], i, ("z",))) for i in range(20)]
    assert (WATCHED, MET) == (10, 0.8)
    ninth, tenth, later = Database(), Database(), Database()
    heard(ninth, *fine[:7], *wrong[:2])
    assert ninth.asked == []
    heard(tenth, *fine[:7], *wrong[:3])  # 7 of 10 hold what was asked for
    assert tenth.asked == [NONSENSE]
    heard(later, *fine[:8], *wrong[:2], *wrong)  # 8 of 10 do, and that was it
    assert later.asked == []
