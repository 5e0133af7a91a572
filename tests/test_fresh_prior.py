"""Laws of what is expected of terms before, and learned while, a round asks."""

import math

import numpy as np
import pytest

from halflife.core.forms import Attribute, Interface, Query, Term
from halflife.queries.fresh.form_traits import (
    DOUBT,
    STAYS,
    TRIED,
    FormTraits,
    progress_of,
)
from halflife.queries.fresh.prior import (
    GROWTH,
    HIDDEN,
    LATELY,
    SHAPE,
    SURE,
    UNHEARD,
    GrowthPrior,
)
from halflife.queries.local import Counter, LocalRecords, Origin

FORM = Interface(
    (Attribute("city", "select"), Attribute("title", "keyword")), page_size=2
)
COPY = {
    "a": {"city": "Oslo", "title": "red"},
    "b": {"city": "Oslo", "title": "red blue"},
    "c": {"city": "Rome", "title": "blue"},
}
OSLO, ROME, RED, BLUE = (
    Term("city", "Oslo"),
    Term("city", "Rome"),
    Term("title", "red"),
    Term("title", "blue"),
)


def by_term(local, values):
    return dict(zip(local.terms, values.tolist(), strict=True))


def test_a_terms_weight_is_its_records_and_late_ones_count_more():
    local = LocalRecords(FORM, COPY, came={"b": 10.0, "a": 1.0})
    prior = GrowthPrior(since=5.0)
    prior.grow(local)
    weight = by_term(local, prior.weight)
    assert weight == {OSLO: 1 + LATELY, RED: 1 + LATELY, BLUE: 1 + LATELY, ROME: 1.0}
    plain = GrowthPrior()
    plain.grow(local)
    assert by_term(local, plain.weight) == {OSLO: 2, RED: 2, BLUE: 2, ROME: 1}
    assert by_term(local, plain.shape) == {
        OSLO: SHAPE["select"],
        ROME: SHAPE["select"],
        RED: SHAPE["keyword"],
        BLUE: SHAPE["keyword"],
    }
    assert by_term(local, plain.group) == {OSLO: 0, ROME: 0, RED: 1, BLUE: 1}


def test_before_anything_is_seen_the_copy_grows_by_the_usual_share():
    local = LocalRecords(FORM, COPY, came={"b": 10.0})
    for since in (math.inf, 5.0):
        prior = GrowthPrior(since=since)
        prior.grow(local)
        mean = prior.mean(np.zeros(4), np.zeros(4))
        # over all terms as many new ones as GROWTH for each old one
        assert mean.sum() == pytest.approx(GROWTH * local.held.values.sum())


def test_growth_goes_from_the_usual_to_what_is_seen():
    local = LocalRecords(FORM, COPY)
    prior = GrowthPrior()
    prior.grow(local)
    place = {term: i for i, term in enumerate(local.terms)}
    fresh, share = np.zeros(4), np.zeros(4)
    fresh[place[OSLO]], share[place[OSLO]] = 6.0, 1.0
    mean = by_term(local, prior.mean(fresh, share))
    growth = (6.0 + SURE) / (1.0 * 2 + SURE / GROWTH)
    assert mean[OSLO] == pytest.approx(growth * 2)
    assert mean[ROME] == pytest.approx(growth * 1)  # the same attribute
    assert mean[RED] == pytest.approx(GROWTH * 2)  # another one


def test_terms_that_no_old_record_has_are_expected_by_kind():
    local = LocalRecords(FORM, COPY)
    prior = GrowthPrior()
    prior.grow(local)
    local.note("n", {"city": "Lima", "title": "green"}, Origin.HARVESTED)
    prior.grow(local)
    lima, green = Term("city", "Lima"), Term("title", "green")
    shape = by_term(local, prior.shape)
    assert shape[lima] == UNHEARD["select"][0]
    assert shape[green] == UNHEARD["keyword"][0]
    mean = by_term(local, prior.mean(np.zeros(6), np.zeros(6)))
    assert mean[lima] == UNHEARD["select"][1]
    assert mean[green] == UNHEARD["keyword"][1]
    assert mean[OSLO] == pytest.approx(GROWTH * 2)  # unheard ones are not counted
    before = prior.weight
    prior.grow(local)
    assert prior.weight is before  # nothing came


def test_new_records_of_unheard_values_hide_from_the_other_attributes():
    local = LocalRecords(
        FORM, {f"k{i}": {"city": "Oslo", "title": "red"} for i in range(50)}
    )
    prior = GrowthPrior()
    prior.grow(local)
    local.note("n", {"city": "Lima", "title": "red"}, Origin.HARVESTED)
    prior.grow(local)
    hidden = by_term(local, prior.hidden(local, {"city": 0.25, "title": 0.0}))
    shape, part = HIDDEN
    usual = part * GROWTH * 50
    left = (shape + 1.0) / (shape / usual + 0.25) * 0.75
    assert hidden[RED] == pytest.approx(left / len(local))
    assert hidden[OSLO] == 0.0  # a keyword has many values a record
    all_shown = prior.hidden(local, {"city": 1.0, "title": 1.0})
    assert (all_shown == 0).all()


# what a round teaches


def columns(progress):
    return progress.total, progress.pages, progress.floor, progress.done


def read(local, query, keys, *, pages=1, total=None, done=True):
    reading = local.reading(query)
    reading.pages, reading.total, reading.done = pages, total, done
    reading.keys |= set(keys)
    for key in keys:
        local.note(key, COPY.get(key, {"city": "Lima"}), Origin.HARVESTED)


def test_what_stays_is_learned_from_queries_read_whole():
    local = LocalRecords(FORM, COPY)
    learned = FormTraits()
    learned.catch_up(local)
    before = learned.setting(local)
    assert before.stays == pytest.approx(STAYS[0] / STAYS[1])
    assert before.page == 2.0
    assert before.cap == math.inf
    assert before.doubt == pytest.approx(DOUBT["exact"])
    read(local, Query.of(OSLO), ["a"])
    local.note_missing("b")
    learned.catch_up(local)
    after = learned.setting(local)
    assert after.stays == pytest.approx((STAYS[0] + 1) / (STAYS[1] + 2))


def test_a_query_that_was_not_finished_teaches_nothing_of_what_stays():
    local = LocalRecords(FORM, COPY)
    learned = FormTraits()
    read(local, Query.of(OSLO), ["a"], total=2, done=False)
    learned.catch_up(local)
    found = learned.setting(local)
    assert found.stays == pytest.approx(STAYS[0] / STAYS[1])
    assert found.doubt == pytest.approx(DOUBT["exact"])


def test_counts_are_doubted_as_far_as_they_were_off():
    local = LocalRecords(FORM, COPY)
    learned = FormTraits()
    read(local, Query.of(OSLO), ["a", "b"], total=4)
    read(local, Query.of(ROME), ["c"], total=1)
    learned.catch_up(local)
    off = math.log(4 / 2) ** 2
    by_hand = math.sqrt((DOUBT["exact"] ** 2 * TRIED + off) / (TRIED + 2))
    assert learned.setting(local).doubt == pytest.approx(by_hand)
    learned.catch_up(local)  # nothing is counted twice
    assert learned.setting(local).doubt == pytest.approx(by_hand)


def test_the_share_shown_without_asking_for_an_attribute():
    local = LocalRecords(FORM, COPY)
    learned = FormTraits()
    read(local, Query.of(OSLO), ["a", "b", "new"])
    learned.catch_up(local)
    shown = learned.shown(local, 1.0)
    assert shown == {"city": 0.0, "title": pytest.approx(2 / 3)}
    assert learned.shown(local, 0.5) == {"city": 0.0, "title": 1.0}  # at most all
    read(local, Query.of(BLUE), ["c"])
    learned.catch_up(local)
    assert learned.shown(local, 1.0)["city"] == pytest.approx(1 / 3)


def test_progress_tells_how_far_each_term_was_read():
    local = LocalRecords(FORM, COPY)
    learned = FormTraits()
    read(local, Query.of(OSLO), ["a", "b"], pages=1, total=3, done=False)
    read(local, Query.of(BLUE), ["b", "c"], pages=1, total=2)
    learned.catch_up(local)
    progress = learned.progress()
    place = {term: i for i, term in enumerate(local.terms)}
    row = {t: [c[i] for c in columns(progress)] for t, i in place.items()}
    assert row[OSLO] == [3.0, 1.0, 3.0, False]  # a full page: at least one more
    assert row[BLUE] == [2.0, 1.0, 2.0, True]
    assert np.isnan(row[RED][0])
    assert row[RED][1:] == [0.0, 0.0, False]
    queries = [Query.of(OSLO), Query.of(OSLO, RED)]
    total, pages, floor, done = columns(progress_of(local, queries))
    assert (total[0], pages.tolist(), floor.tolist()) == (3.0, [1.0, 0.0], [3.0, 0.0])
    assert done.tolist() == [False, False]


def test_a_count_at_the_cap_says_nothing_and_what_is_cut_may_have_more():
    capped = Interface(FORM.attributes, page_size=2, cap=2, counts="capped")
    local = LocalRecords(capped, COPY)
    read(local, Query.of(OSLO), ["a", "b"], total=2)
    total, _, floor, done = columns(progress_of(local, [Query.of(OSLO)]))
    assert np.isnan(total[0])
    assert floor[0] == 3.0  # two were shown, and one more may be there
    assert done[0]
    learned = FormTraits()
    learned.catch_up(local)
    assert learned.setting(local).stays == pytest.approx(STAYS[0] / STAYS[1])
    assert learned.setting(local).cap == 2.0
    below = LocalRecords(capped, COPY)
    read(below, Query.of(ROME), ["c"], total=1)
    total, _, floor, _ = columns(progress_of(below, [Query.of(ROME)]))
    assert (total[0], floor[0]) == (1.0, 1.0)


# the copy that all of it is read from


def test_within_a_query_terms_are_counted_among_its_records_alone():
    local = LocalRecords(FORM, COPY)
    local.note("a", COPY["a"], Origin.HARVESTED)
    local.note("n", {"city": "Oslo", "title": "green"}, Origin.HARVESTED)
    held, seen, fresh = (by_term(local, x) for x in local.within(Query.of(OSLO)))
    green = Term("title", "green")
    assert held == {OSLO: 2, RED: 2, BLUE: 1, ROME: 0, green: 0}
    assert seen == {OSLO: 1, RED: 1, BLUE: 0, ROME: 0, green: 0}
    assert fresh == {OSLO: 1, RED: 0, BLUE: 0, ROME: 0, green: 1}
    whole = [by_term(local, x) for x in local.within(Query())]
    assert whole[0] == by_term(local, local.held.values)
    assert whole[1] == by_term(local, local.seen.values)
    assert whole[2] == by_term(local, local.fresh.values)


def test_what_is_lost_changed_and_found_again_is_counted_where_it_is():
    local = LocalRecords(FORM, COPY, came={"a": 3.0, "b": 5.0})
    local.note_missing("b")
    local.note_missing("b")
    assert local.gone == {"b"}
    assert by_term(local, local.held.values) == {OSLO: 1, RED: 1, BLUE: 1, ROME: 1}
    assert local.matching(Query.of(OSLO)) == {"a"}
    assert local.note("b", COPY["b"], Origin.HARVESTED) is False  # it is back
    assert not local.gone
    assert by_term(local, local.held.values)[OSLO] == 2
    assert local.again == 1
    moved = {"city": "Rome", "title": "red"}
    assert local.note("a", moved, Origin.HARVESTED) is False
    assert local.updated == {"a"}
    assert by_term(local, local.held.values) == {OSLO: 1, RED: 2, BLUE: 2, ROME: 2}
    assert by_term(local, local.seen.values) == {OSLO: 1, RED: 2, BLUE: 1, ROME: 1}
    assert local.matching(Query.of(ROME)) == {"a", "c"}
    assert by_term(local, local.recent(4.0)) == {OSLO: 1, RED: 1, BLUE: 1, ROME: 0}
    local.note_missing("a")  # it was shown, and stays
    assert "a" not in local.gone


def test_numbers_grow_as_positions_come():
    numbers = Counter()
    numbers.add([4, 4, 1])
    assert numbers.values.tolist() == [0, 1, 0, 0, 2]
    numbers.add([40], 3)
    assert numbers.values.size == 41
    assert numbers.values[[1, 4, 40]].tolist() == [1, 2, 3]
    numbers.size(3)
    assert numbers.values.size == 41
