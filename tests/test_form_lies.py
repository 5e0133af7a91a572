"""What is said of a copy whose form says a wrong number of hits: never too much."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from form_worlds import ATTRIBUTES, behind, cars
from halflife.core.forms import Attribute, Query, Term
from halflife.core.object_store import Register
from halflife.kinds.form.value import held_share
from halflife.queries.count_trust import CountTrust
from halflife.queries.first_crawl import first_crawl, start_crawl
from halflife.queries.form_copy import FormCopy, FormWish
from halflife.queries.form_probe import measure
from halflife.queries.ledger import Ledger
from halflife.queries.unseen import PossibleLoss, estimate_overflow, estimate_unseen
from lying_forms import CAP, NAMES, AsAsked, Lying

THERE = 397
RICH, WORDED, CITIES = ATTRIBUTES, ATTRIBUTES[:2], ATTRIBUTES[:1]
OSLO, ROME = (Query.of(Term("city", city)) for city in ("Oslo", "Rome"))


def crawled(form, *, probed=False):
    """Return how many records were found, and the recall that is believed."""
    asked = AsAsked(form)
    ledger = Ledger(asked, refuted=asked.distrust)
    if probed:
        seeds = [Term("city", "Oslo"), Term("city", "Rome")]
        facts = measure(ledger, seeds, np.random.default_rng(0))
        asked.interface = facts.interface(asked.interface)
        ledger.forget()
    walk = start_crawl(ledger, FormCopy.of(Register()))
    done = first_crawl(walk, 1.0)
    told = done.reported if asked.interface.counts != "none" else None
    copy = replace(
        FormCopy.of(Register()),
        records=walk.records,
        reported=told,
        unseen=done.unseen,
    )
    return len(walk.records), held_share(copy, FormWish("new")), done, ledger


@pytest.mark.parametrize("attributes", [RICH, WORDED, CITIES], ids=["3", "2", "1"])
@pytest.mark.parametrize("lie", NAMES)
def test_the_true_recall_lies_within_the_bounds_whatever_is_counted(lie, attributes):
    for seed, probed in ((0, False), (1, True)):
        form = Lying(lie, cars(THERE, seed), seed=seed, attributes=attributes)
        held, (likely, least, most), done, _ = crawled(form, probed=probed)
        assert least - 1e-9 <= held / THERE <= most + 1e-9
        assert least <= likely <= most + 1e-9
        if held < THERE:
            assert done.stop != "everything was read"
            assert least < 1.0


@pytest.mark.parametrize("lie", NAMES)
def test_a_form_that_can_be_divided_is_read_to_its_end_whatever_is_counted(lie):
    held, (likely, least, _), _, ledger = crawled(Lying(lie, cars(THERE)))
    assert held == THERE
    assert ledger.requests < 400  # about 60 if its numbers are right
    if lie != "right parts, twice the total":
        assert likely > 0.99
        assert least > 0.93


@pytest.mark.parametrize("probed", [False, True])
@pytest.mark.parametrize("attributes", [RICH, WORDED], ids=["3", "2"])
def test_a_form_that_counts_right_is_believed(attributes, probed):
    shape = {"attributes": attributes, "page_size": 10, "cap": CAP, "everything": True}
    held, said, done, ledger = crawled(behind(cars(THERE), **shape), probed=probed)
    assert (held, said) == (THERE, (1.0, 1.0, 1.0))
    assert done.complete
    assert done.stop == "everything was read"
    assert ledger.trust.agrees


def test_records_that_an_attribute_hides_are_in_the_bounds():
    """A tenth has no price, and nothing but the price divides what is asked for."""
    rows = cars(THERE)
    for key in list(rows)[::10]:
        rows[key] = {**rows[key], "price": None}
    price = (ATTRIBUTES[2],)
    for seed in range(4):
        form = Lying("not said", rows, seed=seed, attributes=price)
        held, (likely, least, most), _, _ = crawled(form)
        assert held < THERE
        assert least <= held / THERE <= most
        assert abs(likely - held / THERE) < 0.08


# the numbers of hits, held against what is shown


def heard(*answers, counts="exact", cap=None):
    """Return what answers (query, page, records shown there, told) say."""
    trust, shown = CountTrust(counts), {}
    for query, page, records, told in answers:
        before = shown.setdefault(query, set())
        first = len(before)
        keys = {f"{query}{i}": {} for i in range(first, first + records)}
        before.update(keys)
        answer = behind({}).ask(OSLO)
        trust.note_answer(
            query, page, replace(answer, records=keys, total=told), before, cap
        )
    return trust


def test_numbers_that_are_met_are_believed_and_two_that_are_not_refute_them():
    right = heard((OSLO, 0, 10, 14), (OSLO, 1, 4, 14))
    assert right.agrees
    assert right.luck == pytest.approx(1.25 / 14)
    fine, cap = (Query(), 0, 10, 400), {"cap": 50}
    once = heard(fine, (OSLO, 0, 9, 12), **cap)
    assert not once.agrees
    assert not once.refuted
    twice = heard(fine, (OSLO, 0, 9, 12), (ROME, 0, 8, 11), **cap)
    assert twice.refuted == "city=Rome: 11 reported, 8 found"
    assert heard(fine, (OSLO, 0, 9, 30), **cap).refuted  # off by far: once is enough
    assert not heard(fine, (OSLO, 0, 9, 10), **cap).refuted  # one may be unreadable
    assert not heard(fine, (OSLO, 0, 9, 30), counts="none", **cap).refuted
    # where nothing is cut off, a number that is too high hides nothing
    assert not heard(fine, (OSLO, 0, 9, 30), (ROME, 0, 8, 11)).refuted


def test_more_shown_than_told_and_narrower_ones_with_more_are_contradictions():
    assert heard((OSLO, 0, 10, 3)).refuted == "city=Oslo: 3 reported, 10 shown"
    both = Query.of(*OSLO.terms, Term("title", "red"))
    narrow = heard((OSLO, 0, 10, 40), (both, 0, 10, 60), (both, 0, 0, 90))
    assert narrow.refuted == "" or "city=Oslo & title=red" in narrow.refuted
    assert not narrow.agrees
    again = heard(
        (OSLO, 0, 10, 40), (OSLO, 0, 0, 80), (ROME, 0, 10, 9), (ROME, 0, 0, 5)
    )
    assert again.refuted


def test_what_ends_at_the_cap_says_nothing_about_its_number():
    cut = heard((Query(), 0, 10, 80), (OSLO, 0, 10, 80), (OSLO, 1, 2, 80), cap=12)
    assert not cut.refuted
    assert cut.past_cap
    assert heard((OSLO, 0, 10, 10), cap=10).past_cap is False


@pytest.mark.parametrize(
    ("told", "rough"), [((400, 37), 0.06), ((397, 37), 0.0), ((37, 12), 0.0)]
)
def test_numbers_of_two_digits_may_be_rounded(told, rough):
    answers = [(Query.of(Term("title", str(n))), 0, 10, n) for n in told]
    assert heard(*answers).rough == pytest.approx(rough)
    assert heard(*answers, counts="rounded").rough == pytest.approx(
        0.06 if max(told) > 99 else 0.0
    )


# how many were never shown


@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 500))
def test_fewer_found_again_means_more_that_are_hidden(sample, again, total):
    again = min(again, sample)
    total += again + 10
    likely, most = PossibleLoss(sample, again, total).unseen()
    assert 0.0 < likely <= most
    if again:
        less = PossibleLoss(sample, again - 1, total).unseen()
        assert less[0] > likely
        assert less[1] > most - 1e-9


@given(st.integers(0, 200), st.integers(0, 200))
def test_records_shown_twice_speak_for_fewer_that_are_hidden(once, twice):
    loss = PossibleLoss(10, 10, once + twice, once, twice, overlaps=True)
    likely, most = loss.unseen()
    assert 0.25 <= likely <= most
    fewer = replace(loss, twice=twice + 5).unseen()
    assert fewer[0] <= likely


def test_recapture_bounds_hold_nearly_always_for_random_samples():
    """An oracle: n of N are reached by the parts; m are drawn of all N at random."""
    rng, covered, runs = np.random.default_rng(0), 0, 400
    for _ in range(runs):
        there, lost = 400, int(rng.integers(0, 60))
        again = int(rng.hypergeometric(there - lost, lost, 50))
        covered += PossibleLoss(50, again, there - lost).unseen()[1] >= lost
    assert covered / runs >= 0.95


def test_chao_bounds_hold_for_records_that_are_caught_at_random():
    rng, covered, runs = np.random.default_rng(0), 0, 300
    for _ in range(runs):
        caught = rng.poisson(rng.gamma(2.0, 1.0, 400))
        once, twice = int((caught == 1).sum()), int((caught == 2).sum())
        seen = int((caught > 0).sum())
        loss = PossibleLoss(50, 50, seen, once, twice, overlaps=True)
        covered += loss.unseen()[1] >= 400 - seen
    assert covered / runs >= 0.95


def test_a_query_that_overflows_has_half_of_the_time_more_than_twice_what_it_shows():
    assert estimate_overflow([]) == (0.0, 0.0)
    assert estimate_overflow([50, 10]) == pytest.approx((60.0, 60.0 * 39.0))
    both = estimate_unseen([PossibleLoss(50, 50, 400)], [50])
    assert both.queries == 2
    assert both.likely == pytest.approx(50.0 + 400 * 0.5 / 58.5)
    assert both.words().startswith("2 queries may have more than shown: at most ")
    assert estimate_unseen([], []).words() == ""


def test_a_form_of_one_page_needs_no_number():
    city = (Attribute("city", "select", ("Oslo",)),)
    form = Lying("huge", dict(list(cars(7).items())), attributes=city)
    held, said, done, _ = crawled(form)
    assert held == 7
    assert said[2] == 1.0
    assert done.stop


def test_what_earlier_answers_confirmed_is_still_believed():
    trust = CountTrust("exact")
    trust.recall(1.0)  # nothing was confirmed
    assert not trust.agrees
    trust.recall(0.001)
    assert trust.agrees
    assert trust.confirmed == pytest.approx(0.001)
