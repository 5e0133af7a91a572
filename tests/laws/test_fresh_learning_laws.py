"""What a round of asking teaches about a form, exactly at the bounds."""

import math

import numpy as np
import pytest

from halflife.core.forms import Attribute, Interface, Query, Term
from halflife.queries.fresh.form_traits import FormTraits, progress_of
from halflife.queries.fresh.harvest import Harvest
from halflife.queries.fresh.metrics import requests_to, scores
from halflife.queries.fresh.outlook import (
    QueryState,
    ReadingProgress,
    RoundSetting,
    outlook,
)
from halflife.queries.fresh.prior import GROWTH, LATELY, GrowthPrior
from halflife.queries.local import LocalRecords, Origin

CITY, MAKE = Attribute("city", "select"), Attribute("make", "select")
TITLE = Attribute("title", "keyword")
OSLO = Query.of(Term("city", "Oslo"))


def local_of(n, *attributes, **interface):
    shape = Interface(attributes or (CITY,), **{"page_size": 3, **interface})
    return LocalRecords(shape, {f"k{i}": {"city": "Oslo"} for i in range(n)})


def heard(local, query, *, keys=0, pages=1, told=None, done=False):
    reading = local.reading(query)
    reading.pages, reading.total, reading.done = pages, told, done
    reading.keys |= {f"k{i}" for i in range(keys)}


@pytest.mark.parametrize(
    ("form", "reading", "row"),
    [
        (("exact", None), {"told": 9}, (9.0, 1.0, 4.0, False)),
        (("exact", 5), {"told": 9}, (9.0, 1.0, 4.0, False)),
        (("capped", 9), {"told": 8}, (8.0, 1.0, 4.0, False)),
        (("capped", 9), {"told": 9}, (math.nan, 1.0, 4.0, False)),
        (("capped", 8), {"told": 9}, (math.nan, 1.0, 4.0, False)),
        (("capped", None), {"told": 9}, (9.0, 1.0, 4.0, False)),
        (("none", None), {"pages": 2}, (math.nan, 2.0, 7.0, False)),
        (("none", None), {"pages": 0}, (math.nan, 0.0, 0.0, False)),
        (("none", None), {"keys": 5, "done": True}, (math.nan, 1.0, 5.0, True)),
        (("none", 5), {"keys": 5, "done": True}, (math.nan, 1.0, 6.0, True)),
        (("none", 6), {"keys": 5, "done": True}, (math.nan, 1.0, 5.0, True)),
        (("none", 4), {"keys": 5, "done": True}, (math.nan, 1.0, 6.0, True)),
    ],
)
def test_a_row_says_what_is_told_read_and_there_at_least(form, reading, row):
    counts, cap = form
    local = local_of(6, counts=counts, cap=cap)
    heard(local, OSLO, **reading)
    learned = FormTraits()
    learned.catch_up(local)
    for progress in (learned.progress(), progress_of(local, [OSLO])):
        found = [
            float(column[0])
            for column in (progress.total, progress.pages, progress.floor)
        ]
        np.testing.assert_array_equal(found, row[:3])
        assert progress.done.tolist() == [row[3]]


def test_only_queries_of_one_term_have_a_row_and_pairs_teach_as_well():
    local = local_of(6, CITY, TITLE)
    pair = Query.of(Term("city", "Oslo"), Term("title", "red"))
    heard(local, pair, keys=4, told=4, done=True)
    heard(local, Query.of(Term("city", "Bonn")), told=7)  # no record has it
    learned = FormTraits()
    learned.catch_up(local)
    assert learned.progress().pages.tolist() == [0.0]
    assert learned.setting(local).stays == pytest.approx((17 + 4) / (20 + 4))
    # a pair asks for both attributes, so it shows nothing without them
    assert learned.shown(local, 1.0) == {"city": 0.0, "title": 0.0}


def test_terms_that_came_later_have_rows_of_their_own():
    local = local_of(2)
    learned = FormTraits()
    heard(local, OSLO, told=5)
    learned.catch_up(local)
    local.note("n", {"city": "Rome"}, Origin.HARVESTED)
    learned.catch_up(local)
    progress = learned.progress()
    assert progress.total[0] == 5.0
    assert math.isnan(progress.total[1])
    assert progress.pages.tolist() == [1.0, 0.0]
    heard(local, OSLO, told=5, pages=2)
    learned.catch_up(local)
    assert learned.progress().pages.tolist() == [2.0, 0.0]


@pytest.mark.parametrize(
    ("cap", "keys", "stayed"), [(None, 4, 4), (5, 4, 4), (4, 4, 0), (3, 4, 0)]
)
def test_a_query_that_may_have_been_cut_off_teaches_nothing(cap, keys, stayed):
    local = local_of(6, cap=cap)
    heard(local, OSLO, keys=keys, told=8, done=True)
    learned = FormTraits()
    learned.catch_up(local)
    found = learned.setting(local)
    assert found.stays == pytest.approx((17 + stayed) / (20 + stayed))
    off = math.log(8 / 4) ** 2 if stayed else 0.0
    tried = 1 if stayed else 0
    doubt = math.sqrt((2.0 * 0.01**2 + off) / (2.0 + tried))
    assert found.doubt == pytest.approx(doubt)
    assert found.cap == (math.inf if cap is None else cap)


def test_new_records_do_not_tell_what_stays_and_no_count_is_not_off():
    local = local_of(2)
    local.note("k2", {"city": "Oslo"}, Origin.HARVESTED)
    heard(local, OSLO, keys=3, told=0, done=True)
    learned = FormTraits()
    learned.catch_up(local)
    assert learned.setting(local).stays == pytest.approx((17 + 2) / (20 + 2))
    assert learned.setting(local).doubt == pytest.approx(0.01)
    empty = local_of(2)
    heard(empty, OSLO, keys=0, told=5, done=True)
    learned = FormTraits()
    learned.catch_up(empty)
    assert learned.setting(empty).doubt == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("old", "stays", "shown"),
    [(4, 1.0, 0.5), (4, 0.8, 0.625), (4, 0.2, 1.0), (2, 0.3, 1.0)],
)
def test_the_share_that_other_attributes_show_is_of_those_that_stay(old, stays, shown):
    local = local_of(old, CITY, TITLE)
    heard(local, OSLO, keys=2)
    learned = FormTraits()
    learned.catch_up(local)
    assert learned.shown(local, stays)["title"] == pytest.approx(shown)
    assert learned.shown(local, stays)["city"] == 0.0
    tiny = LocalRecords(local.interface, {})
    assert FormTraits().shown(tiny, 1.0) == {"city": 0.0, "title": 0.0}


# what is expected


def test_late_records_weigh_double_and_the_usual_growth_is_shared_out():
    shape = Interface((CITY,))
    rows = {f"k{i}": {"city": "Oslo" if i < 6 else "Rome"} for i in range(8)}
    local = LocalRecords(shape, rows, {"k0": 5.0, "k1": 5.0 + 1e-9, "k7": 9.0})
    prior = GrowthPrior(5.0)
    prior.grow(local)
    assert prior.weight.tolist() == [7.0, 3.0]
    mean = prior.mean(np.zeros(2), np.zeros(2))
    assert mean == pytest.approx([GROWTH * 8 / 10 * 7, GROWTH * 8 / 10 * 3])
    late = GrowthPrior(-1.0)
    lately = LocalRecords(shape, rows, dict.fromkeys(rows, 0.0))
    late.grow(lately)
    assert late.weight.tolist() == [6 * LATELY, 2 * LATELY]
    assert late._usual == pytest.approx(GROWTH / LATELY)


def test_values_nobody_has_heard_of_hide_from_all_other_attributes():
    rows = {f"k{i}": {"city": "Oslo", "make": "m", "title": "red"} for i in range(9)}
    local = LocalRecords(Interface((CITY, MAKE, TITLE)), rows)
    prior = GrowthPrior()
    prior.grow(local)
    for i in range(3):
        record = {"city": f"new{i}", "make": "m", "title": "blue"}
        local.note(f"n{i}", record, Origin.HARVESTED)
    prior.grow(local)
    shown = {"city": 0.5, "make": 0.25, "title": 0.0}
    found = dict(zip(local.terms, prior.hidden(local, shown), strict=True))
    city = (2.0 + 3.0) / (2.0 / 1.0 + 0.5) * 0.5  # nine old ones: one at least
    make = 2.0 / (2.0 / 1.0 + 0.25) * 0.75
    assert found[Term("city", "Oslo")] == pytest.approx(make / 12)
    assert found[Term("make", "m")] == pytest.approx(city / 12)
    assert found[Term("title", "red")] == pytest.approx((city + make) / 12)
    assert found[Term("title", "blue")] == pytest.approx((city + make) / 12)


# what is left


def at(n, **columns):
    names = ("held", "seen", "fresh", "mean", "shape", "shown", "hidden")
    usual = {"mean": 3.0, "shape": 2.0}
    values = [np.full(n, columns.get(name, usual.get(name, 0.0))) for name in names]
    told, pages, floor, done = (
        np.full(n, columns.get(name, default))
        for name, default in (
            ("told", np.nan),
            ("pages", 0.0),
            ("floor", 0.0),
            ("done", 0),
        )
    )
    return QueryState(*values, ReadingProgress(told, pages, floor, done > 0))


def test_what_may_be_cut_off_is_what_has_more_hits_than_the_cap():
    # nothing held, three expected: the hits are three
    for cap, left in ((2.9, 3.0), (3.0, 0.0), (9.0, 0.0)):
        setting = RoundSetting(page=5.0, cap=cap, stays=1.0, doubt=0.0)
        found = outlook(at(1, done=1), setting)
        assert found.left.tolist() == [left]
        assert found.gain.tolist() == [0.0]


def test_a_page_brings_its_part_of_what_was_not_read():
    setting = RoundSetting(page=5.0, cap=np.inf, stays=1.0, doubt=0.0)
    plain = outlook(
        at(1, held=17.0, mean=3.0), setting
    )  # twenty hits, three of them new
    assert plain.gain.tolist() == pytest.approx([3.0 * 5.0 / 20.0])
    read = outlook(at(1, held=17.0, mean=3.0, pages=2.0), setting)
    assert read.gain.tolist() == pytest.approx([3.0 * 5.0 / 10.0])
    nearly = outlook(at(1, held=17.0, mean=3.0, pages=3.5), setting)
    assert nearly.gain.tolist() == pytest.approx([2.5])  # no more than is not read
    over = outlook(at(1, held=17.0, mean=3.0, pages=9.0), setting)
    assert over.gain.tolist() == pytest.approx([1.0])


# scores


def test_scores_are_shares_of_what_is_there_new_or_gone():
    before, now = set("abcdef"), set("cdefuvwxyz")
    done = Harvest(
        new={key: {} for key in "uvwxq"},  # q was there for a moment
        absent=set("ace"),
        requests=8,
        returned=16,
        unique=7,
    )
    found = scores(done, before, now)
    assert found.tcr == 0.7
    assert found.ccr == 0.8  # c to f, and u to x
    assert found.icr == pytest.approx(4 / 6)
    assert found.pnr == 0.25
    assert found.gone == 0.5  # of a and b
    assert found.false == pytest.approx(2 / 3)  # c and e are there
    assert found.requests == 8
    nothing = scores(Harvest(), set(), set())
    assert all(math.isnan(x) for x in (nothing.tcr, nothing.ccr, nothing.icr))
    assert requests_to([(1, 2), (4, 5)], 2) == 1
    assert requests_to([(1, 2), (4, 5)], 2.5) == 4
    assert requests_to([], 0) is None
