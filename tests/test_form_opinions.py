"""What answers of a form say about it: each judgement from hand-made answers."""

import pytest

from halflife.core.forms import Attribute, Interface, Query, ResultPage, Term
from halflife.queries.counts import judge_counts
from halflife.queries.notes import ProbeNotes, ResultEnd
from halflife.queries.verdicts import judge_form

SIZE = 5
CITY = Attribute("city", "select", ("Oslo", "Rome", "Paris"))
FORM = Interface(
    page_size=SIZE, attributes=(CITY, Attribute("title", "keyword")), counts="exact"
)
OSLO, ROME, PARIS = (Term("city", city) for city in ("Oslo", "Rome", "Paris"))
ALL = Query()


def rows(n, city="Oslo", first=0, **more):
    return {
        f"{city}{i}": {"city": city, "title": "red", **more}
        for i in range(first, first + n)
    }


def found(records, total=None):
    return ResultPage(records=records, total=total)


def notes_of(*answers, **more):
    """Return notes of (query, page, records, total)."""
    notes = ProbeNotes(FORM, SIZE, **more)
    for query, page, records, total in answers:
        notes.pages[query, page] = found(records, total)
    return notes


def counts(notes, ignored=(), conjunctive=True):
    return judge_counts(notes, ignored, conjunctive=conjunctive)[0]


def one(*terms):
    return Query.of(*terms)


# what numbers of hits are worth


def test_nothing_found_and_nothing_told():
    assert counts(notes_of((one(OSLO), 0, {}, 0))) == "unknown"
    assert counts(notes_of((one(OSLO), 0, rows(3), None))) == "none"
    # what only an ignored attribute was told is not heard
    told = notes_of((one(OSLO), 0, rows(3), 3))
    assert counts(told, ignored=("city",)) == "none"


def test_numbers_are_exact_when_a_query_that_fits_a_page_says_so():
    assert counts(notes_of((one(OSLO), 0, rows(3), 3))) == "exact"


def test_a_full_page_shows_nothing_about_its_number():
    assert counts(notes_of((one(OSLO), 0, rows(SIZE), 37))) == "unknown"


def test_a_last_page_where_it_should_be_is_a_proof():
    notes = notes_of((one(OSLO), 0, rows(SIZE), 12))
    notes.ends[one(OSLO)] = ResultEnd(2, 2)  # pages of 5, 5 and 2
    assert counts(notes) == "exact"
    notes.ends[one(OSLO)] = ResultEnd(1, 5)
    assert counts(notes) == "unknown"


@pytest.mark.parametrize(("told", "verdict"), [(3, "exact"), (9, "lying")])
def test_a_small_query_that_is_told_to_have_far_more_is_a_lie(told, verdict):
    assert counts(notes_of((one(OSLO), 0, rows(3), told))) == verdict


def test_one_record_too_many_once_is_forgiven_if_others_agree():
    fine = [
        (one(Term("title", f"w{i}")), 0, rows(4, first=10 * i), 4) for i in range(4)
    ]
    assert counts(notes_of(*fine, (one(ROME), 0, rows(4, "Rome"), 5))) == "exact"
    # without those the same number is not believed
    assert counts(notes_of((one(ROME), 0, rows(4, "Rome"), 5))) == "lying"
    # and twice is no accident
    twice = [(one(c), 0, rows(4, c.value), 5) for c in (ROME, PARIS)]
    assert counts(notes_of(*fine, *twice)) == "lying"


def test_more_shown_than_told_is_a_lie():
    notes = notes_of(
        (one(OSLO), 0, rows(5), 6),
        (one(OSLO), 1, rows(5, first=5), 6),
    )
    assert counts(notes) == "lying"
    enough = notes_of((one(OSLO), 0, rows(5), 10), (one(OSLO), 1, rows(5, first=5), 10))
    assert counts(enough) == "unknown"


def test_a_narrower_query_never_has_more_hits():
    red = Term("title", "red")
    answers = [(one(OSLO), 0, rows(5), 40), (one(OSLO, red), 0, rows(5), 60)]
    assert counts(notes_of(*answers)) == "lying"
    # where terms are alternatives, more of them find more
    assert counts(notes_of(*answers), conjunctive=False) == "unknown"
    fewer = [(one(OSLO), 0, rows(5), 60), (one(OSLO, red), 0, rows(5), 40)]
    assert counts(notes_of(*fewer)) == "unknown"


def test_the_parts_are_together_no_more_than_the_whole():
    whole = (ALL, 0, rows(5), 60)
    parts = [
        (one(c), 0, rows(5, c.value), n)
        for c, n in ((OSLO, 31), (ROME, 37), (PARIS, 23))
    ]
    assert counts(notes_of(whole, *parts)) == "lying"
    larger = (ALL, 0, rows(5), 93)
    assert counts(notes_of(larger, *parts)) == "unknown"


def test_results_that_can_be_reached_beyond_what_was_told_are_a_lie():
    notes = notes_of((one(OSLO), 0, rows(5), 12))
    notes.ends[one(OSLO)] = ResultEnd(4, 5)
    assert counts(notes) == "lying"


def test_two_queries_with_the_same_large_number_were_cut_off():
    answers = [(one(OSLO), 0, rows(5), 1000), (one(ROME), 0, rows(5, "Rome"), 1000)]
    assert counts(notes_of(*answers)) == "capped"
    other = [(one(OSLO), 0, rows(5), 1000), (one(ROME), 0, rows(5, "Rome"), 997)]
    assert counts(notes_of(*other)) != "capped"
    small = [(one(OSLO), 0, rows(5), 37), (one(ROME), 0, rows(5, "Rome"), 37)]
    assert counts(notes_of(*small)) == "unknown"


def test_a_number_that_was_said_to_be_the_cap_is_one():
    notes = notes_of((one(OSLO), 0, rows(5), 500))
    notes.claimed = Interface(page_size=SIZE, attributes=(CITY,), cap=500)
    assert counts(notes) == "capped"
    notes.claimed = Interface(page_size=SIZE, attributes=(CITY,), cap=501)
    assert counts(notes) != "capped"


def test_large_numbers_of_two_digits_and_zeros_are_rounded():
    terms = [Term("title", f"w{i}") for i in range(3)]
    large = (1200, 3400, 5600)
    answers = [(one(t), 0, rows(5), n) for t, n in zip(terms, large, strict=True)]
    assert counts(notes_of(*answers)) == "rounded"
    odd = [(one(t), 0, rows(5), n + 7) for t, n in zip(terms, large, strict=True)]
    assert counts(notes_of(*odd)) == "unknown"
    # one such number may be so by chance
    assert counts(notes_of(answers[0])) == "unknown"


def test_a_last_page_with_other_records_than_told_shows_rounding():
    notes = notes_of((one(OSLO), 0, rows(5), 100))
    notes.ends[one(OSLO)] = ResultEnd(19, 3)  # 98 are there
    assert counts(notes) == "rounded"


# the other judgements


def test_the_end_of_results_is_a_cap_if_more_were_told():
    notes = notes_of((one(OSLO), 0, rows(5), 3000), (one(ROME), 0, rows(3, "Rome"), 3))
    notes.ends[one(OSLO)] = ResultEnd(19, 5, 20)
    told = judge_form(notes, 9)
    assert (told.cap, told.reached) == (100, 100)
    assert told.requests == 9
    notes.ends[one(OSLO)] = ResultEnd(19, 5)  # no page was seen to be empty
    assert (judge_form(notes, 9).cap, judge_form(notes, 9).reached) == (None, 100)


def test_results_that_end_where_they_were_told_to_have_no_cap():
    notes = notes_of((one(OSLO), 0, rows(5), 12))
    notes.ends[one(OSLO)] = ResultEnd(2, 2, 3)
    told = judge_form(notes, 1)
    assert (told.cap, told.reached) == (None, 12)


def test_two_queries_that_end_at_one_place_share_a_cap():
    notes = notes_of((one(OSLO), 0, rows(5), None))
    notes.ends[one(OSLO)] = ResultEnd(9, 5, 10)
    assert judge_form(notes, 1).cap is None
    notes.shared = True
    assert judge_form(notes, 1).cap == 50


def test_pages_asked_for_twice_must_be_the_same():
    first = rows(5)
    notes = notes_of((one(OSLO), 0, first, None))
    assert judge_form(notes, 1).stable is None
    notes.repeated[one(OSLO)] = found(dict(first))
    assert judge_form(notes, 1).stable is True
    notes.repeated[one(OSLO)] = found(dict(reversed(first.items())))
    assert judge_form(notes, 1).stable is False
    one_new = dict(list(first.items())[:4]) | rows(1, first=9)
    notes.repeated[one(OSLO)] = found(one_new)  # four of five stayed: records come
    assert judge_form(notes, 1).stable is True
    two_new = dict(list(first.items())[:3]) | rows(2, first=9)
    notes.repeated[one(OSLO)] = found(two_new)
    assert judge_form(notes, 1).stable is False


def test_a_record_on_two_pages_shows_an_unstable_order():
    overlap = notes_of(
        (one(OSLO), 0, rows(5), None), (one(OSLO), 1, rows(5, first=4), None)
    )
    assert judge_form(overlap, 1).stable is False
    apart = notes_of(
        (one(OSLO), 0, rows(5), None), (one(OSLO), 1, rows(5, first=5), None)
    )
    assert judge_form(apart, 1).stable is None


def test_pages_follow_each_other_if_the_second_shows_others():
    apart = notes_of(
        (one(OSLO), 0, rows(4), None), (one(OSLO), 1, rows(4, first=4), None)
    )
    told = judge_form(apart, 1)
    assert (told.paged, told.page_size) == (True, 4)
    stuck = notes_of((one(OSLO), 0, rows(4), None), (one(OSLO), 1, rows(4), None))
    told = judge_form(stuck, 1)
    assert (told.paged, told.page_size) == (False, 4)
    none = notes_of((one(OSLO), 0, rows(4), None), (one(OSLO), 1, {}, None))
    assert judge_form(none, 1).paged is None
    fuller = judge_form(notes_of((one(OSLO), 0, rows(SIZE + 1), None)), 1)
    assert (fuller.paged, fuller.page_size) == (None, SIZE + 1)
    assert judge_form(notes_of((one(OSLO), 0, rows(SIZE), None)), 1).page_size is None


def dated(*days, who="k"):
    return {f"{who}{i}": {"city": "Oslo", "day": day} for i, day in enumerate(days)}


def test_the_newest_come_first_if_a_date_falls_that_did_not_before():
    notes = notes_of((one(OSLO), 0, dated(2, 5, 1, 4), None))
    notes.newest[one(OSLO)] = found(dated(9, 7, 7, 3, who="n"))
    assert judge_form(notes, 1).newest is True
    notes.newest[one(OSLO)] = found(dated(7, 9, 7, 3, who="n"))
    assert judge_form(notes, 1).newest is None
    assert judge_form(notes, 1, date="day").newest is False
    notes.newest[one(OSLO)] = found(dated(2, 5, 1, 4))
    assert judge_form(notes, 1).newest is False  # sorting made no difference
    notes.newest[one(OSLO)] = None
    assert judge_form(notes, 1).newest is False
    notes.newest.clear()
    assert judge_form(notes, 1).newest is None


def test_a_date_that_always_falls_or_hardly_varies_proves_no_sorting():
    notes = notes_of((one(OSLO), 0, dated(8, 6, 5, 4), None))
    notes.newest[one(OSLO)] = found(dated(9, 7, 7, 3, who="n"))
    assert judge_form(notes, 1).newest is None
    notes = notes_of((one(OSLO), 0, dated(1, 6, 5, 4), None))
    notes.newest[one(OSLO)] = found(dated(9, 9, 3, 3, who="n"))  # two values only
    assert judge_form(notes, 1).newest is None
    assert judge_form(notes, 1, date="day").newest is True


def test_texts_fall_as_iso_dates_do_and_mixtures_do_not():
    notes = notes_of((one(OSLO), 0, dated(1, 3, 2), None))
    for days, falls in (
        (("2026-03", "2026-02", "2026-01"), True),
        (("2026-03", "2026-01", "2026-02"), False),
        (("2026-03", 2, 1), False),
        ((3, None, 1), False),
    ):
        notes.newest[one(OSLO)] = found(dated(*days))
        assert judge_form(notes, 1, date="day").newest is falls


def test_a_key_is_looked_up_if_it_is_found_and_nobodys_is_not():
    notes = notes_of((one(OSLO), 0, rows(3), None))
    assert judge_form(notes, 1).lookup is None
    notes.lookups["Oslo1"] = found(rows(3))
    assert judge_form(notes, 1).lookup is True
    notes.absent = True
    assert judge_form(notes, 1).lookup is False
    notes.absent = False
    notes.lookups = {"Oslo1": found({})}
    assert judge_form(notes, 1).lookup is False
    notes.lookups = {"Oslo1": None}
    assert judge_form(notes, 1).lookup is False


def test_terms_hold_together_if_what_is_found_meets_all_of_them():
    red = Term("title", "red")
    both = notes_of((one(OSLO, red), 0, rows(4), None))
    assert judge_form(both, 1).conjunctive is True
    assert (
        judge_form(notes_of((one(OSLO, red), 0, rows(2), None)), 1).conjunctive is None
    )
    either = rows(2) | rows(3, "Rome")
    some = notes_of((one(OSLO, red), 0, either, None), (one(OSLO), 0, rows(5), None))
    assert judge_form(some, 1).conjunctive is False


def test_what_finds_the_same_as_anything_is_ignored():
    same = rows(3) | rows(2, "Rome")
    notes = notes_of((one(PARIS), 0, same, None), (one(ROME), 0, same, None))
    told = judge_form(notes, 1)
    assert told.ignored == ("city",)
    assert [f.what for f in told.findings if "ignored" in f.verdict] == ["attributes"]
    heard = notes_of(
        (one(OSLO), 0, rows(5), None), (one(ROME), 0, rows(5, "Rome"), None)
    )
    assert judge_form(heard, 1).ignored == ()
    as_all = notes_of((ALL, 0, rows(5, first=20), 70), (one(PARIS), 0, same, 70))
    assert judge_form(as_all, 1).ignored == ("city",)
    fewer = notes_of((ALL, 0, rows(5, first=20), 70), (one(PARIS), 0, same, 20))
    assert judge_form(fewer, 1).ignored == ()


def test_an_attribute_that_is_never_met_where_others_are_is_ignored():
    answers = [
        (one(PARIS, Term("title", "red")), 0, rows(5), None),
        (one(ROME, Term("title", "red")), 0, rows(5, first=9), None),
    ]
    assert judge_form(notes_of(*answers), 1).ignored == ("city",)
    assert judge_form(notes_of(answers[0]), 1).ignored == ()  # too few to tell
    mostly = [  # four of five are what was asked for
        (one(OSLO, Term("title", "red")), 0, rows(4) | rows(1, "Rome"), None),
        (one(ROME, Term("title", "red")), 0, rows(4, "Rome", 9) | rows(1), None),
    ]
    assert judge_form(notes_of(*mostly), 1).ignored == ()
    single = (one(OSLO), 0, rows(5, first=30), None)  # heard when asked alone
    assert judge_form(notes_of(*answers, single), 1).ignored == ()


def test_what_was_said_of_the_empty_query_and_failures_is_told():
    notes = notes_of((one(OSLO), 0, rows(3), None), everything=False)
    notes.note_failure("no route")
    notes.note_failure("too slow")
    told = judge_form(notes, 4)
    assert told.everything is False
    assert told.failures == 2
    verdicts = {f.what: (f.verdict, f.why) for f in told.findings}
    assert verdicts["empty query"] == ("not answered", "too slow")
    assert verdicts["answers"] == ("2 failed", "no route")
    notes.everything = True
    verdicts = {f.what: f.verdict for f in judge_form(notes, 4).findings}
    assert verdicts["empty query"] == "answered"


# notes


@pytest.mark.parametrize(
    ("end", "reach", "usual", "sharp"),
    [
        (ResultEnd(9, 5, 10), 50, True, True),  # ten pages
        (ResultEnd(19, 5, 20), 100, True, True),  # a hundred results
        (ResultEnd(6, 5, 7), 35, False, True),
        (ResultEnd(6, 3, 7), 33, False, True),
        (ResultEnd(6, 5, 12), 35, True, False),  # somewhere about ten pages
        (ResultEnd(6, 5), 35, False, False),
        (ResultEnd(9, 5), 50, True, False),
    ],
)
def test_sites_end_results_at_round_numbers(end, reach, usual, sharp):
    assert end.reach(SIZE) == reach
    assert end.usual(SIZE) is usual
    assert end.sharp is sharp


def test_notes_are_read_back_by_query():
    notes = notes_of(
        (one(OSLO), 0, rows(5), 8),
        (one(OSLO), 1, rows(3, first=5), 8),
        (one(ROME), 0, rows(2, "Rome"), 2),
        (one(PARIS), 0, {}, None),
    )
    assert notes.keys(one(OSLO)) == {f"Oslo{i}" for i in range(8)}
    assert notes.totals() == {one(OSLO): 8, one(ROME): 2}
    assert notes.total(one(PARIS)) is None
    assert [q for q, _ in notes.first_pages()] == [one(OSLO), one(ROME), one(PARIS)]
    assert list(notes.one_page_answers()) == [(one(ROME), 2, 2)]
    assert notes.biggest() == one(OSLO)
    assert notes.shares()[OSLO] == pytest.approx(8 / 10)
    assert notes.shares()[ROME] == pytest.approx(2 / 10)
    assert len(notes.records()) == 10
    assert not notes.repeats(one(OSLO), 1)
    notes.pages[one(OSLO), 2] = found(rows(3, first=5))
    assert notes.repeats(one(OSLO), 2)


def test_luck_shrinks_with_every_number_that_agrees():
    terms = [Term("title", f"w{i}") for i in range(3)]
    notes = notes_of(*((one(t), 0, rows(4), 4) for t in terms[:2]))
    assert notes.luck() == pytest.approx((1.25 / 4) ** 2)
    notes.pages[one(terms[2]), 0] = found(rows(1), 1)
    assert notes.luck() == pytest.approx((1.25 / 4) ** 2)  # one hit is no proof
    notes.pages[one(terms[2]), 0] = found(rows(2), 3)
    assert notes.luck() == pytest.approx((1.25 / 4) ** 2)
    assert notes.wrong_counts() == [(one(terms[2]), 3, 2)]


@pytest.mark.parametrize(("told", "lied"), [(5, False), (6, True), (2, True)])
def test_a_small_number_may_be_one_too_high_but_no_more(told, lied):
    assert notes_of((one(OSLO), 0, rows(4), told)).counts_lie() is lied
