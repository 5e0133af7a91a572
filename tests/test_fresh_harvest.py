"""What a round notes: records gone, records changed, the local copy, the scores."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from form_worlds import ATTRIBUTES, behind, cars
from halflife.core.forms import Interface, Query, Term
from halflife.queries.fresh import Choice
from halflife.queries.fresh.expected_gain import ExpectedGainRule
from halflife.queries.fresh.harvest import Harvest, harvest, read
from halflife.queries.fresh.metrics import requests_to, scores
from halflife.queries.fresh.outlook import (
    QueryState,
    ReadingProgress,
    RoundSetting,
    outlook,
)
from halflife.queries.fresh.simple import Exhaustive
from halflife.queries.ledger import Ledger
from halflife.queries.local import LocalRecords, Origin
from halflife.queries.table_form import TableFaults

FORM = Interface(ATTRIBUTES, 5)
KEYS = st.sets(st.integers(0, 30))
OSLO = Query.of(Term("city", "Oslo"))


def test_records_gone_are_found_missing_and_none_that_is_there() -> None:
    before = cars(300)
    now = {key: before[key] for key in list(before)[60:]}
    local = LocalRecords(FORM, before)
    done = harvest(Exhaustive(), local, Ledger(behind(now)), np.random.default_rng(0))
    assert done.absent == before.keys() - now.keys()
    assert scores(done, before, now).gone == 1.0
    assert scores(done, before, now).false == 0.0


def test_pages_that_shift_while_read_make_nothing_missing() -> None:
    before = cars(200)
    form = behind(before, faults=TableFaults(unstable=True))
    done = harvest(
        Exhaustive(), LocalRecords(FORM, before), Ledger(form), np.random.default_rng(0)
    )
    assert done.absent == set()


def test_a_query_cut_off_says_nothing_of_what_it_does_not_show() -> None:
    before = cars(200)
    form = behind(before, cap=10)
    local = LocalRecords(form.interface, before)
    done = harvest(ExpectedGainRule(), local, Ledger(form), np.random.default_rng(0))
    assert done.absent == set()


def test_a_record_with_other_values_is_updated_and_counts_where_it_is() -> None:
    before = {"a": {"city": "Oslo", "title": "red", "price": 5.0}}
    local = LocalRecords(FORM, before)
    moved = {**before["a"], "city": "Rome"}
    assert not local.note("a", moved, Origin.HARVESTED)
    assert local.updated == {"a"}
    assert local.matching(OSLO) == set()
    assert local.matching(Query.of(Term("city", "Rome"))) == {"a"}
    rome = local.number(Term("city", "Rome"))
    assert (local.held.values[rome], local.seen.values[rome]) == (1, 1)


def test_a_record_found_missing_that_turns_up_is_back() -> None:
    local = LocalRecords(FORM, {"a": {"city": "Oslo"}})
    local.note_missing("a")
    assert local.count.tolist() == [0]
    local.note("a", {"city": "Oslo"}, Origin.HARVESTED)
    assert local.gone == set()
    assert local.count.tolist() == [1]


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("anl")), max_size=40))
def test_counts_are_those_of_counting_again(events) -> None:
    records = cars(10)
    local = LocalRecords(FORM, {k: records[k] for k in list(records)[:5]})
    for i, event in events:
        key = f"car{i}"
        if event == "l" and key in local:
            local.note_missing(key)
        elif event == "n":
            local.note(key, records[key], Origin.HARVESTED)
        elif event == "a":
            local.note(key, {**records[key], "city": "Rome"}, Origin.HARVESTED)
    for number, term in enumerate(local.terms):
        keys = {k for k in local.keys if FORM.meets(local[k], Query.of(term))}
        assert local.count[number] == len(keys - local.gone)
        again = {k for k in keys & local.shown if not local.origin(k)}
        assert local.seen.values[number] == len(again)


def test_what_came_lately_is_counted_by_term() -> None:
    records = {"a": {"city": "Oslo"}, "b": {"city": "Oslo"}, "c": {"city": "Rome"}}
    local = LocalRecords(FORM, records, {"a": 3.0, "b": 9.0})
    assert local.recent(5.0).tolist() == [1, 0]


def test_a_first_page_is_not_paid_twice() -> None:
    ledger = Ledger(behind(cars(100)))
    first = ledger.first(OSLO)
    pages = list(read(ledger, Choice(OSLO, 0, None)))
    assert pages[0] is first
    assert ledger.requests == len(pages)


def test_reading_goes_on_where_it_ended() -> None:
    ledger = Ledger(behind(cars(100)))
    whole = [list(f.records) for f in read(ledger, Choice(OSLO, 0, None))]
    rest = [list(f.records) for f in read(ledger, Choice(OSLO, 2, 1))]
    assert rest == [whole[2]]


def test_requests_to_a_level_never_reached_are_none() -> None:
    assert requests_to([(1, 0), (2, 3)], 4) is None


@given(
    st.sets(st.integers(0, 30)),
    st.sets(st.integers(0, 30)),
    st.sets(st.integers(0, 30)),
)
def test_coverage_of_the_copy_is_one_less_what_is_missed_of_the_new(a, b, c) -> None:
    before, now = set(map(str, a)), set(map(str, b))
    fresh = now - before
    done = Harvest(new={k: {} for k in fresh & set(map(str, c))}, returned=9)
    told = scores(done, before, now)
    if fresh:
        missed = (1 - told.icr) * len(fresh) / len(now)
        assert told.ccr == pytest.approx(1 - missed)


def standing(**values: float) -> QueryState:
    def one(name: str, usual: float) -> np.ndarray:
        return np.array([values.get(name, usual)])

    progress = ReadingProgress(
        one("total", np.nan), one("pages", 0), one("floor", 0), one("done", 0) > 0
    )
    columns = {"held": 30, "seen": 0, "fresh": 0, "mean": 10, "shape": 4}
    return QueryState(
        **{name: one(name, usual) for name, usual in columns.items()},
        shown=one("shown", 0),
        hidden=one("hidden", 0),
        progress=progress,
    )


USUAL = RoundSetting(page=20.0, cap=np.inf, stays=1.0, doubt=0.0)


def test_before_anything_is_seen_the_mean_is_expected() -> None:
    ahead = outlook(standing(), USUAL)
    assert ahead.left == pytest.approx([10.0])
    assert ahead.hits == pytest.approx([40.0])
    assert ahead.gain == pytest.approx([5.0])


def test_an_honest_count_with_all_old_records_seen_is_believed() -> None:
    ahead = outlook(standing(total=37, seen=30, fresh=3, shown=0.0), USUAL)
    assert ahead.left[0] == pytest.approx(4.0, abs=0.1)


def test_a_count_in_doubt_moves_little() -> None:
    doubtful = RoundSetting(page=20.0, cap=np.inf, stays=1.0, doubt=5.0)
    assert outlook(standing(total=100), doubtful).left[0] == pytest.approx(
        10.0, rel=0.01
    )


def test_a_query_read_whole_has_nothing_left_unless_it_was_cut_off() -> None:
    whole = standing(done=1, pages=2, floor=40, total=40, seen=30, fresh=5)
    assert outlook(whole, USUAL).left.tolist() == [0.0]
    cut = RoundSetting(page=20.0, cap=20.0, stays=1.0, doubt=0.0)
    assert outlook(whole, cut).left[0] > 0
    assert outlook(whole, cut).gain.tolist() == [0.0]


@given(
    st.integers(0, 200),
    st.floats(0, 1),
    st.integers(0, 50),
    st.floats(0.01, 100),
    st.floats(0.1, 1),
    st.integers(0, 400),
)
def test_no_page_brings_more_than_it_holds(
    held, part, fresh, mean, stays, told
) -> None:
    at = standing(held=held, seen=int(part * held), fresh=fresh, mean=mean, total=told)
    ahead = outlook(at, RoundSetting(20.0, np.inf, stays, 0.05))
    assert 0 <= ahead.gain[0] <= 20.0 + 1e-9
    assert ahead.left[0] >= 0
