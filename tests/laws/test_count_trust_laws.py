"""Laws of the trust in numbers of hits: what confirms them, and what refutes them."""

import pytest

from halflife.core.forms import Query, ResultPage, Term
from halflife.queries.count_trust import CountTrust
from halflife.queries.notes import LUCK, SLACK

ALL, RED, BIG = Query(), Query.of(Term("colour", "red")), Query.of(Term("size", "big"))
BOTH = Query.of(*RED, *BIG)


def page(n, total=None, start=0):
    return ResultPage({f"k{i}": {} for i in range(start, start + n)}, total)


def heard(*answers, counts="exact", cap=None):
    """Return the trust after answers (query, page, records on it, total)."""
    trust, shown = CountTrust(counts), {}
    for query, number, n, total in answers:
        mine = shown.setdefault(query, set())
        found = page(n, total, len(mine))
        mine.update(found.records)
        trust.note_answer(query, number, found, mine, cap)
    return trust


# Confirmed


def test_a_whole_answer_of_as_many_as_were_told_confirms_by_its_size():
    """A number that lies agrees with k records with a chance of LUCK / k."""
    for answers, size in (
        ([(ALL, 0, 5, 7), (ALL, 1, 2, 7)], 7),
        ([(ALL, 0, 5, 5), (RED, 0, 3, 3)], 3),  # only the second ends within a page
    ):
        trust = heard(*answers)
        assert trust.luck == pytest.approx(min(LUCK / size, 1.0))
    both = heard((ALL, 0, 5, 9), (ALL, 1, 4, 9), (RED, 0, 4, 4))
    assert both.luck == pytest.approx(min(LUCK / 9, 1.0) * min(LUCK / 4, 1.0))


def test_answers_that_may_go_on_confirm_nothing():
    assert heard((ALL, 0, 5, 7)).luck == 1.0  # the page is full
    assert heard((ALL, 0, 5, 9), (ALL, 2, 4, None)).luck == 1.0  # a page was left out
    assert heard((ALL, 0, 5, 9), (ALL, 1, 4, 9), counts="none").luck == 1.0
    assert heard((ALL, 0, 5, None), (ALL, 1, 4, None)).luck == 1.0
    assert heard((RED, 0, 5, 5), (ALL, 0, 0, 0)).luck == 1.0  # nothing, as was told


def test_cut_off_answers_tell_nothing_unless_the_number_is_below_the_cap():
    whole = [(ALL, 0, 5, 7), (ALL, 1, 2, 7)]
    assert heard(*whole, cap=8).luck < 1.0
    assert heard(*whole, cap=7).luck == 1.0
    assert heard(*whole, cap=8, counts="capped").luck < 1.0
    assert heard(*whole, cap=7, counts="capped").luck == 1.0
    assert heard(*whole, counts="capped").luck < 1.0


def test_numbers_agree_once_they_were_checked_beyond_a_page():
    more = heard((ALL, 0, 5, 9), (ALL, 1, 4, 9))
    assert more.agrees
    assert more.confirmed == more.luck < 1.0
    within = heard((RED, 0, 5, 5), (ALL, 0, 4, 4), (BIG, 0, 4, 4), (BOTH, 0, 4, 4))
    assert within.luck <= 0.5
    assert not within.agrees  # it may count the records on the page
    assert within.confirmed == 1.0
    half = CountTrust(luck=0.5, _past_page=True)
    assert half.agrees
    assert not CountTrust(luck=0.51, _past_page=True).agrees
    assert not CountTrust(luck=0.5, _past_page=True, refuted="off").agrees
    assert not CountTrust(luck=0.5, _past_page=True, _against={ALL: "off"}).agrees
    empty = heard((ALL, 0, 0, 9))
    assert not empty._past_page


def test_what_was_confirmed_before_goes_on():
    trust = CountTrust(luck=0.5)
    trust.recall(1.0)
    assert (trust.luck, trust.agrees) == (0.5, False)
    trust.recall(0.5)
    assert (trust.luck, trust.agrees) == (0.25, True)


def test_a_number_above_the_cap_says_that_counting_goes_on_there():
    for total, past in ((21, True), (20, False)):
        assert heard((ALL, 0, 5, total), cap=20).past_cap is past
    assert not heard((ALL, 0, 5, 21)).past_cap
    assert heard((ALL, 0, 5, 21), (RED, 0, 5, 3), cap=20).past_cap
    assert not heard((ALL, 1, 5, 21), cap=20).past_cap  # only a first page counts


# Refuted


def test_more_shown_than_told_speaks_against_a_number():
    """One record of ten may come in between; two of ten are too many."""
    one = heard((ALL, 0, 11, 10))
    assert (one.refuted, one._against) == ("", {})
    two = heard((ALL, 0, 12, 10))
    assert two._against == {ALL: "everything: 10 reported, 12 shown"}
    assert two.refuted == ""  # once may be chance
    again = heard((ALL, 0, 12, 10), (RED, 0, 12, 10))
    assert again.refuted == f"{RED}: 10 reported, 12 shown"
    same = heard((ALL, 0, 12, 10), (ALL, 1, 1, None))
    assert same.refuted == ""  # the same query is one witness


def test_a_number_that_is_grossly_wrong_is_refuted_at_once():
    """Off by more than a quarter, and by more than five records."""
    assert heard((ALL, 0, 20, 14)).refuted == "everything: 14 reported, 20 shown"
    assert heard((ALL, 0, 20, 15)).refuted == ""
    assert heard((ALL, 0, 40, 30)).refuted == ""
    assert heard((ALL, 0, 40, 29)).refuted != ""


def test_fewer_there_than_told_speak_against_where_answers_are_cut_off():
    """Without a cap a number that is too high hides no record."""
    answers = [(ALL, 0, 50, 70), (ALL, 1, 10, 70)]
    assert heard(*answers, cap=90).refuted == ""
    assert heard(*answers, cap=90)._against == {
        ALL: "everything: 70 reported, 60 found"
    }
    assert heard(*answers)._against == {}
    assert heard(*answers, cap=60)._against == {}


def test_numbers_of_one_query_stay_about_the_same():
    trust = heard((ALL, 0, 5, 100), (ALL, 0, 5, 111))
    assert trust._against == {ALL: "everything: 100 reported, then 111"}
    assert heard((ALL, 0, 5, 100), (ALL, 0, 5, 110))._against == {}
    rounded = heard((ALL, 0, 5, 100), (ALL, 0, 5, 125), counts="rounded")
    assert rounded._against == {}
    assert heard((ALL, 0, 5, 100), (ALL, 0, 5, 126), counts="rounded")._against
    assert heard((ALL, 0, 5, 100), (ALL, 0, 5, 300), counts="none")._against == {}


def test_a_narrower_query_has_no_more_hits_than_a_wider_one():
    for query, wide in ((RED, ALL), (BOTH, RED), (BOTH, BIG)):
        trust = heard((wide, 0, 5, 100), (query, 0, 5, 111))
        assert trust._against == {query: f"{query}: 111 reported, but 100 for {wide}"}
        assert heard((wide, 0, 5, 100), (query, 0, 5, 110))._against == {}
        assert heard((wide, 0, 5, 100), (query, 0, 5, 20))._against == {}
    assert heard((ALL, 0, 5, 100), (BOTH, 0, 5, 300))._against == {}  # a step apart


def test_what_is_refuted_stays_so_for_the_first_reason():
    trust = heard((ALL, 0, 20, 10), (RED, 0, 20, 10))
    assert trust.refuted == "everything: 10 reported, 20 shown"
    assert trust._against.keys() == {ALL}


# Rounded


@pytest.mark.parametrize(
    ("told", "counts", "rough"),
    [
        ([99], "exact", False),  # too few for rounding to show
        ([100], "exact", True),
        ([120, 3400], "exact", True),
        ([120, 3410], "exact", False),
        ([3410], "rounded", True),
        ([], "rounded", False),
    ],
)
def test_large_numbers_are_rough_unless_one_has_three_digits_of_its_own(
    told, counts, rough
):
    queries = [Query.of(Term("n", str(i))) for i in range(len(told))]
    trust = heard(
        *((query, 0, 5, n) for query, n in zip(queries, told, strict=True)),
        counts=counts,
    )
    assert trust.rough == (SLACK - 1.0 if rough else 0.0)
