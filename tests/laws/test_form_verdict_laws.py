"""Judgements on forms at their thresholds, each from a few answers made by hand."""

import pytest
from hypothesis import given, strategies as st

from halflife.core.forms import Attribute, Interface, Query, ResultPage, Term
from halflife.queries.notes import ProbeNotes, ResultEnd, usual_ends
from halflife.queries.verdicts import (
    _conjunctive,
    _descends,
    _ignored,
    _shown,
    _unheard,
    judge_form,
)

CITY = Attribute("city", "select", ("Oslo", "Rome", "Lima"))
FORM = Interface(
    page_size=20,
    attributes=(CITY, Attribute("kind", "select"), Attribute("title", "keyword")),
)
OSLO, ROME, LIMA = (Term("city", city) for city in CITY.values)
RED, NEW = Term("title", "red"), Term("kind", "new")
ALL = Query()
one = Query.of


def rows(n, city="Oslo", first=0, **more):
    whole = {"city": city, "title": "red", **more}
    return {f"{city}{i}": whole for i in range(first, first + n)}


def notes_of(*answers, size=20, **more):
    """Return notes of (query, page, records, total)."""
    notes = ProbeNotes(FORM, size, **more)
    for query, page, records, total in answers:
        notes.pages[query, page] = ResultPage(records=records, total=total)
    return notes


def told(notes, what, date=""):
    """Return what was found out about something, and why."""
    for finding in judge_form(notes, 1, date).findings:
        if finding.what == what:
            return finding.verdict, finding.why
    return None


# The end of results


@pytest.mark.parametrize(
    ("total", "capped"), [(106, False), (107, True), (100, False), (None, False)]
)
def test_results_end_early_if_clearly_more_were_told(total, capped):
    # a hundred results within reach; a number of two digits may be 6 % off
    notes = notes_of(
        (one(OSLO), 0, rows(20), total), (one(ROME), 0, rows(3, "Rome"), 3)
    )
    notes.ends[one(OSLO)] = ResultEnd(4, 20, 5)
    found = judge_form(notes, 1)
    assert (found.cap, found.reached) == (100 if capped else None, 100)
    if capped:
        said = "city=Oslo has no page 6, although it reports 107 hits"
        assert told(notes, "end of results") == ("100", said)
    else:
        said = "result 100 of a query was reached"
        assert told(notes, "end of results") == ("none found", said)


def test_an_end_that_is_known_only_roughly_is_said_to_be_at_least_that():
    notes = notes_of((one(OSLO), 0, rows(20), 999))
    notes.ends[one(OSLO)] = ResultEnd(4, 20, 9)
    assert told(notes, "end of results") == (
        "at least 100", "city=Oslo has no page 10, although it reports 999 hits"
    )  # fmt: skip
    notes.shared = True
    assert told(notes, "end of results")[1].endswith(
        "reports 999 hits, nor has another query"
    )
    notes.pages[one(OSLO), 0] = ResultPage(rows(20), None)
    said = "city=Oslo has no page 10, nor has another query"
    assert told(notes, "end of results") == ("at least 100", said)


def test_a_number_that_lies_proves_no_end_and_one_that_stops_there_does():
    lying = notes_of((one(OSLO), 0, rows(20), 999), (one(ROME), 0, rows(3, "Rome"), 9))
    lying.ends[one(OSLO)] = ResultEnd(4, 20, 5)
    assert judge_form(lying, 1).counts == "lying"
    assert judge_form(lying, 1).cap is None
    capped = notes_of(
        (one(OSLO), 0, rows(20), 200), (one(ROME), 0, rows(20, "Rome"), 200)
    )
    capped.ends[one(OSLO)] = ResultEnd(9, 20, 10)
    assert judge_form(capped, 1).counts == "capped"
    assert judge_form(capped, 1).cap == 200
    capped.ends[one(OSLO)] = ResultEnd(9, 19, 10)  # one less than was told
    assert judge_form(capped, 1).cap is None


def test_a_query_whose_end_was_not_seen_does_not_hide_that_of_another():
    notes = notes_of((one(OSLO), 0, rows(20), 999), (one(ROME), 0, rows(20), 999))
    notes.ends |= {one(ROME): ResultEnd(9, 20), one(OSLO): ResultEnd(4, 20, 5)}
    assert (judge_form(notes, 1).cap, judge_form(notes, 1).reached) == (100, 200)


def test_the_furthest_result_of_all_queries_was_reached():
    notes = notes_of((one(OSLO), 0, rows(20), None), (one(ROME), 0, rows(9, "Rome"), 9))
    assert judge_form(notes, 1).reached == 0
    assert told(notes, "end of results") is None
    notes.ends |= {one(OSLO): ResultEnd(2, 5), one(ROME): ResultEnd(0, 9, 1)}
    assert judge_form(notes, 1).reached == 45


# The order of results


@pytest.mark.parametrize(("kept", "stable"), [(4, True), (3, False), (5, True)])
def test_four_of_five_records_must_be_there_again(kept, stable):
    first = rows(5)
    notes = notes_of((one(OSLO), 0, first, None))
    notes.repeated[one(OSLO)] = ResultPage(
        dict(list(first.items())[:kept]) | rows(2, first=9)
    )
    assert judge_form(notes, 1).stable is stable
    verdict = told(notes, "order of results")
    same = "was the same" if stable else "was different"
    word = "stable" if stable else "unstable"
    assert verdict == (word, f"the same page, requested twice, {same}")


def test_records_that_came_between_do_not_change_the_order_of_the_others():
    first = rows(5)
    notes = notes_of((one(OSLO), 0, first, None))
    between = dict(list(first.items())[:2]) | rows(1, first=9) | first
    notes.repeated[one(OSLO)] = ResultPage(between)
    assert judge_form(notes, 1).stable is True


def test_a_record_of_the_page_before_shows_that_pages_shift():
    notes = notes_of((one(OSLO), 0, rows(1), None), (one(OSLO), 1, rows(5), None))
    assert judge_form(notes, 1).stable is False
    assert told(notes, "order of results") == (
        "unstable", "1 record of a page also came on the previous page"
    )  # fmt: skip
    # a page that is shown again as a whole shows that there are no others
    same = notes_of((one(OSLO), 0, rows(5), None), (one(OSLO), 1, rows(5), None))
    assert judge_form(same, 1).stable is None
    # two pages further on, or of another query, it shows nothing
    apart = notes_of((one(OSLO), 0, rows(5), None), (one(OSLO), 2, rows(6), None))
    assert judge_form(apart, 1).stable is None
    other = notes_of((one(OSLO), 0, rows(5), None), (one(ROME), 1, rows(6), None))
    other.pages[one(ROME), 0] = ResultPage(rows(6, first=20))
    assert judge_form(other, 1).stable is None


# Pages


def test_pages_follow_if_the_second_has_others():
    notes = notes_of(
        (one(OSLO), 0, rows(4), None), (one(OSLO), 1, rows(3, first=3), None)
    )
    assert judge_form(notes, 1).page_size == 4
    assert told(notes, "pages") == (
        "4 records each", "its second page shows 2 other records"
    )  # fmt: skip
    same = notes_of((one(OSLO), 0, rows(4), None), (one(OSLO), 1, rows(2), None))
    assert told(same, "pages") == (
        "only the first", "its second page shows the same records as its first"
    )  # fmt: skip
    assert (judge_form(same, 1).paged, judge_form(same, 1).page_size) == (False, 4)
    third = notes_of((one(OSLO), 0, rows(4), None), (one(OSLO), 2, rows(4), None))
    assert judge_form(third, 1).paged is None


def test_a_page_with_more_than_was_claimed_tells_its_size():
    assert told(notes_of((one(OSLO), 0, rows(20), None)), "pages") is None
    full = notes_of((one(OSLO), 0, rows(21), None), (one(ROME), 0, rows(3, "Rome"), 3))
    assert told(full, "pages") == ("21 records", "a page showed so many")
    assert judge_form(full, 1).page_size == 21
    assert judge_form(notes_of(), 1).page_size is None


# The newest


def dated(*days, who="k", name="day"):
    return {f"{who}{i}": {"city": "Oslo", name: day} for i, day in enumerate(days)}


def newest(usual, found, date=""):
    notes = notes_of((one(OSLO), 0, usual, None))
    notes.newest[one(OSLO)] = found if found is None else ResultPage(found)
    notes.trouble = "no route"
    return judge_form(notes, 1, date).newest, told(notes, "newest first", date)


def test_the_newest_first_are_told_by_what_falls():
    usual = dated(2, 5, 1)
    assert newest(usual, dated(9, 7, 3, who="n")) == (
        True, ("yes", "day falls from record to record")
    )  # fmt: skip
    assert newest(usual, dated(9, 3, 7), "day") == (
        False, ("no", "day does not fall from record to record")
    )  # fmt: skip
    assert newest(usual, dated(2, 5, 1)) == (
        False, ("no", "sorting made no difference to the first page")
    )  # fmt: skip
    assert newest(usual, dated(9, 3, 7, who="n")) == (
        None,
        (
            "not checked",
            "the order differs, but no attribute shown falls down the page",
        ),
    )
    assert newest(usual, None) == (False, ("no", "there was no answer: no route"))


def test_three_different_values_must_fall_that_did_not_before():
    usual = dated(2, 5, 1)
    assert newest(usual, dated(9, 9, 3, who="n"))[0] is None
    assert newest(usual, dated(9, 9, 3, 2, who="n"))[0] is True
    assert newest(dated(5, 2, 1), dated(9, 7, 3, who="n"))[0] is None
    # a name that is the record's own key says nothing
    keyed = {str(n): {"number": n} for n in (9, 7, 3)}
    other = {str(n): {"number": n} for n in (4, 6, 5)}
    assert newest(other, keyed)[0] is None


@pytest.mark.parametrize(
    ("values", "falls"),
    [
        ([], False),
        ([1], True),
        ([2, 2], True),
        ([2, 3], False),
        ([3, 2.5, 1], True),
        (["b", "a"], True),
        (["a", "b"], False),
        (["2", 1], False),
        ([2, None], False),
        ([None, None], False),
        (["b", None], False),
    ],
)
def test_values_fall_if_none_rises_and_all_are_of_one_kind(values, falls):
    assert _descends(values) is falls


# Look-ups


def test_a_key_is_looked_up_and_nobodys_key_is_not_found():
    notes = notes_of((one(OSLO), 0, rows(3), None))
    notes.trouble = "no route"
    notes.lookups["Oslo1"] = ResultPage(rows(3))
    yes = ("yes", "Oslo1 is found, and a made-up key is not")
    assert told(notes, "look-up by key") == yes
    notes.absent = True
    assert told(notes, "look-up by key") == ("no", "a key that does not exist is found")
    notes.lookups = {"Oslo7": ResultPage(rows(3))}
    assert told(notes, "look-up by key") == ("no", "Oslo7 was shown, but is not found")
    notes.lookups = {"Oslo1": None}
    assert told(notes, "look-up by key") == ("no", "there was no answer: no route")


# Several terms


@pytest.mark.parametrize(
    ("joined", "alone", "holds"),
    [
        ((2, 0), None, None),  # three records must be seen
        ((3, 0), None, True),
        ((8, 2), None, True),  # four of five
        ((7, 3), None, False),
        ((7, 3), (9, 1), False),  # 0.7 is less than 0.8 of 0.9
        ((8, 2), (10, 0), True),
        ((61, 39), (3, 1), True),  # single terms are met by three of four only
        ((59, 41), (3, 1), False),
        ((6, 4), (2, 0), False),  # two say nothing of what is usual
        ((7, 3), (2, 1), True),
    ],
)
def test_terms_hold_together_as_well_as_single_ones(joined, alone, holds):
    """Right and wrong records that a query for two terms found, and one for one."""
    right, wrong = joined
    both = rows(right) | rows(wrong, "Rome")
    notes = notes_of((one(OSLO, RED), 0, both, None))
    if alone is not None:
        good, bad = alone
        single = rows(good, first=200) | rows(bad, "Rome", first=200)
        notes.pages[one(OSLO), 0] = ResultPage(single)
    found, why = _conjunctive(notes, ())
    assert found is holds
    if holds is None:
        assert why is None
    else:
        share = f"{right / (right + wrong):.0%} of {right + wrong} records"
        assert why.why == f"{share} that they found meet all of them"
        assert why.verdict == ("all hold" if holds else "not all hold")


def test_terms_that_are_ignored_or_shown_by_other_names_say_nothing():
    wrong = rows(5, "Rome")
    notes = notes_of((one(OSLO, RED), 0, wrong, None))
    assert _conjunctive(notes, ())[0] is False
    assert _conjunctive(notes, ("city",)) == (None, None)
    # the values of city are codes: nothing that is asked for is shown so
    notes.pages[one(OSLO), 0] = ResultPage(rows(5, "Rome", first=9))
    assert _conjunctive(notes, ())[0] is None


@pytest.mark.parametrize(
    ("right", "wrong", "shown"),
    [
        (0, 0, True),
        (1, 5, False),
        (1, 3, True),
        (3, 7, True),
        (2, 9, False),
        (0, 1, False),
    ],
)
def test_values_are_shown_as_asked_for_if_more_than_a_fifth_of_records_do(
    right, wrong, shown
):
    notes = notes_of((one(OSLO), 0, rows(right) | rows(wrong, "Rome"), None))
    assert _shown(notes, OSLO) is shown


# What is ignored


def test_what_finds_the_same_as_something_else_is_ignored():
    same = rows(2) | rows(3, "Rome")
    other = (one(RED), 0, same, None)

    def ignored(records, *more):
        return list(_ignored(notes_of((one(LIMA), 0, records, None), *more)))

    assert ignored(same, other) == ["city"]
    assert ignored(same) == []
    reordered = dict(reversed(same.items()))
    assert ignored(same, (one(RED), 0, reordered, None)) == []
    few = rows(2)
    assert ignored(few, (one(RED), 0, few, None)) == []  # three must be seen
    three = rows(3)
    assert ignored(three, (one(RED), 0, three, None)) == ["city"]
    met = rows(4, "Lima") | rows(1, "Rome")
    assert ignored(met, (one(RED), 0, met, None)) == []  # four of five meet it
    hardly = rows(3, "Lima") | rows(2, "Rome")
    assert ignored(hardly, (one(RED), 0, hardly, None)) == ["city"]


@pytest.mark.parametrize(
    ("everything", "mine", "ignored"),
    [(70, 70, True), (70, 69, False), (None, 70, False), (70, None, False),
     (None, None, False)],
)  # fmt: skip
def test_what_finds_as_many_as_everything_is_ignored(everything, mine, ignored):
    notes = notes_of(
        (ALL, 0, rows(5, first=20), everything), (one(LIMA), 0, rows(5), mine)
    )
    assert list(_ignored(notes)) == ["city"] * ignored


def test_queries_of_two_terms_are_not_taken_for_one_that_is_ignored():
    same = rows(5)
    notes = notes_of((one(LIMA, NEW), 0, same, 9), (one(RED), 0, same, 9))
    assert list(_ignored(notes)) == []


def joined(n, right, first=0):
    """Return records found for Oslo and red, of which so many are in Oslo."""
    return rows(right, first=first) | rows(n - right, "Rome", first=first)


@pytest.mark.parametrize(
    ("n", "right", "deaf"),
    [(10, 5, True), (9, 0, False), (10, 6, False), (20, 12, False), (20, 11, True)],
)
def test_ten_records_of_which_less_than_three_in_five_fit_show_deafness(n, right, deaf):
    notes = notes_of((one(OSLO, RED), 0, joined(n, right), None))
    assert list(_unheard(notes)) == ["city"] * deaf


def test_all_other_terms_must_always_be_met():
    wrong = joined(10, 0)
    wrong["Rome0"] = {"city": "Rome", "title": "blue"}
    assert list(_unheard(notes_of((one(OSLO, RED), 0, wrong, None)))) == []
    old = {**rows(5, "Rome", kind="old"), **rows(5, "Rome", first=5, kind="new")}
    assert list(_unheard(notes_of((one(OSLO, RED, NEW), 0, old, None)))) == []
    blind = notes_of((one(OSLO, LIMA), 0, joined(10, 0), None))
    assert list(_unheard(blind)) == []  # there is no other


@pytest.mark.parametrize(
    ("n", "right", "heard"),
    [(3, 3, True), (2, 2, False), (10, 8, True), (10, 7, False), (4, 3, False)],
)
def test_a_term_that_is_heard_alone_is_not_deaf(n, right, heard):
    notes = notes_of(
        (one(OSLO, RED), 0, joined(10, 0), None),
        (one(OSLO), 0, joined(n, right, first=50), None),
    )
    assert (list(_unheard(notes)) == []) is heard


def test_what_is_ignored_is_named_once():
    same = rows(5)
    notes = notes_of((one(LIMA), 0, same, None), (one(ROME), 0, same, None))
    assert judge_form(notes, 1).ignored == ("city",)
    assert told(notes, "attributes") == (
        "city ignored", "querying it finds the same as not querying it"
    )  # fmt: skip
    assert told(notes_of((one(OSLO), 0, rows(5), None)), "attributes") is None


def test_the_empty_query_and_failures_are_told_if_they_were_tried():
    notes = notes_of((one(OSLO), 0, rows(3), None))
    assert told(notes, "empty query") is None
    assert told(notes, "answers") is None
    notes.everything = True
    assert told(notes, "empty query") == ("answered", "it shows records")
    notes.everything = False
    assert told(notes, "empty query") == ("not answered", "it shows nothing")
    notes.note_failure("no route")
    notes.note_failure("too slow")
    assert told(notes, "empty query") == ("not answered", "too slow")
    assert told(notes, "answers") == ("2 failed", "no route")


# Notes


@given(size=st.integers(1, 60))
def test_results_end_after_round_numbers_of_results_or_pages(size):
    usual = {10, 20, 50, 100}
    for results in (100, 200, 500, 1000, 2000, 5000, 10_000):
        usual.add(results // size + (results % size > 0))
    assert usual_ends(size) == usual


@pytest.mark.parametrize(
    ("end", "usual"),
    [
        (ResultEnd(9, 20, 10), True),  # ten pages
        (ResultEnd(10, 20, 11), False),
        (ResultEnd(10, 20, 20), True),  # somewhere up to twenty
        (ResultEnd(10, 20, 19), False),
        (ResultEnd(9, 20), True),
        (ResultEnd(8, 20), False),
        (ResultEnd(9, 19, 10), False),  # the last page is cut short
        (ResultEnd(4, 20, 5), True),  # a hundred results
        (ResultEnd(33, 6, 34), False),
        (ResultEnd(9, 19, 12), True),  # or it is only the last that was seen
    ],
)
def test_an_end_is_usual_if_a_round_number_may_lie_there(end, usual):
    assert end.usual(20) is usual


def test_a_round_number_of_results_is_usual_on_a_page_that_is_cut_short():
    assert ResultEnd(33, 2, 34).usual(6)  # 200 results
    assert not ResultEnd(33, 3, 34).usual(6)
    assert ResultEnd(3, 2).reach(6) == 20
    assert ResultEnd(3, 2, 4).sharp
    assert not ResultEnd(3, 2, 5).sharp
    assert not ResultEnd(3, 2).sharp


@pytest.mark.parametrize(
    ("shown", "total", "lied"),
    [
        (20, 22, False),  # a tenth more
        (20, 23, True),
        (20, 18, False),
        (20, 17, True),
        (5, 6, False),  # one more
        (5, 7, True),
        (5, 5, False),
    ],
)
def test_one_small_number_may_be_off_by_one_or_a_tenth(shown, total, lied):
    notes = notes_of((one(OSLO), 0, rows(shown), total), size=30)
    assert notes.counts_lie() is lied
    again = (one(ROME), 0, rows(5, "Rome"), 6)
    twice = notes_of((one(OSLO), 0, rows(shown), total), again, size=30)
    assert twice.counts_lie() is (lied or shown != total)


def test_queries_that_one_page_answers_are_those_that_do_not_fill_it():
    notes = notes_of(
        (one(OSLO), 0, rows(19), 19), (one(ROME), 0, rows(20, "Rome"), 20),
        (one(LIMA), 0, {}, 0), (ALL, 0, rows(1), 1), (one(RED), 0, rows(2), None),
        (one(NEW), 0, rows(1), 4),
    )  # fmt: skip
    assert list(notes.one_page_answers()) == [(one(OSLO), 19, 19), (one(NEW), 4, 1)]
    assert notes.wrong_counts() == [(one(NEW), 4, 1)]
    assert notes.luck() == pytest.approx(1.25 / 19)
    assert notes_of((one(OSLO), 0, rows(1), 1)).luck() == 1.0
    assert notes_of().luck() == 1.0


def test_the_biggest_query_has_most_hits_then_most_records_then_fewest_terms():
    def biggest(*answers):
        return notes_of(*answers).biggest()

    many = (one(ROME), 0, rows(1, "Rome"), 9)
    assert biggest((one(OSLO), 0, rows(5), 5), many) == one(ROME)
    assert biggest((one(OSLO), 0, rows(5), None), many) == one(ROME)
    single = (one(ROME), 0, rows(1, "Rome"), 1)
    assert biggest((one(OSLO), 0, rows(5), None), single) == one(ROME)
    shown = (one(OSLO), 0, rows(5), None)
    assert biggest((one(ROME), 0, rows(4, "Rome"), None), shown) == one(OSLO)
    assert biggest((one(OSLO, RED), 0, rows(5), None), shown) == one(OSLO)
    assert biggest((one(OSLO), 0, {}, 9)) is None
    assert biggest() is None


def test_a_page_repeats_only_an_earlier_one_of_its_query():
    notes = notes_of(
        (one(OSLO), 0, rows(5), None), (one(OSLO), 1, rows(4), None),
        (one(OSLO), 2, rows(5), None), (one(ROME), 0, rows(5), None),
        (one(ROME), 1, rows(4), None),
    )  # fmt: skip
    repeats = {at: notes.repeats(*at) for at in notes.pages}
    assert [at for at, again in repeats.items() if again] == [(one(OSLO), 2)]


def test_records_are_read_back_by_query_and_term():
    notes = notes_of(
        (one(OSLO), 0, rows(3), 8), (one(OSLO), 1, rows(1, first=3), 8),
        (one(ROME), 0, rows(1, "Rome", kind="new"), 2), (one(LIMA), 0, {}, None),
    )  # fmt: skip
    assert notes.keys(one(OSLO)) == {"Oslo0", "Oslo1", "Oslo2", "Oslo3"}
    assert notes.keys(one(LIMA)) == set()
    assert [query for query, _ in notes.first_pages()] == [
        one(OSLO),
        one(ROME),
        one(LIMA),
    ]
    assert notes.totals() == {one(OSLO): 8, one(ROME): 2}
    assert notes.total(one(OSLO)) == 8
    assert notes.total(one(LIMA)) is notes.total(one(RED)) is None
    assert notes.shares() == {OSLO: 4 / 5, ROME: 1 / 5, RED: 1.0, NEW: 1 / 5}
    assert notes.meets_terms(one(OSLO), [OSLO]) == [True] * 4
    assert notes.meets_terms(one(ROME), [OSLO, RED]) == [False]
    assert notes.meets_terms(one(ROME), [ROME, NEW]) == [True]
    assert (
        notes.meets_terms(one(OSLO), [OSLO, NEW]) == []
    )  # they do not show their kind
    blank = notes_of((one(OSLO), 0, {"a": {"city": ""}, "b": {"city": "Oslo"}}, None))
    assert blank.meets_terms(one(OSLO), [OSLO]) == [True]
    changed = notes_of((one(OSLO), 0, rows(1), 1), (ALL, 0, rows(1, title="blue"), 1))
    assert changed.records()["Oslo0"]["title"] == "red"  # as first shown
